"""Replays what a search by runs found, by the definition of a step: before that it is a candidate and no more."""

from __future__ import annotations

from roamcheck.checker.verdict import Counterexample, goes_on_for_ever
from roamcheck.model.interface import Disabled, Kind, Model, Property, Scope, State, fire


def why_not(model: Model, of: Property, found: Counterexample) -> str | None:
    """Why this is no counterexample to the property after all; None if it is one."""
    states = [model.initial_states[found.initial]]
    for number, index in enumerate(found.steps, 1):
        after = fire(model, model.steps[index], states[-1])
        if isinstance(after, Disabled):
            return f"step {number}, {model.steps[index]}, cannot fire: {after.guard}"
        states.append(after)
    return _breached(model, of, found, states[-1]) if found.loop is None else _goes_on(model, found, found.loop, states)


def _breached(model: Model, of: Property, found: Counterexample, last: State) -> str | None:
    if of.scope is not Scope.EVERY_STATE and not model.quiescent(last):
        return "its last state is not quiescent"
    if of.scope is Scope.RUN and not _spent(model, last):
        return "the environment's budget is not spent in its last state"
    answers = [predicate.check(tuple(last[slot] for slot in predicate.reads)) for predicate in of.predicates]
    return None if found.breach in answers else f"{of.name} holds at its end, or fails in another way"


def _goes_on(model: Model, found: Counterexample, loop: int, states: list[State]) -> str | None:
    turn = [model.steps[index] for index in found.steps[loop:]]
    if states[loop] != states[-1]:
        return "its turn does not lead back"
    if any(step.kind is not Kind.PROTOCOL for step in turn) or not _spent(model, states[loop]):
        return "the environment acts in its turn, or may"
    served = {step.serves for step in turn}
    starved = [slot for slot in range(len(states[0])) if slot not in served and not any(model.idle(slot, state[slot]) for state in states[loop:])]
    if starved:
        return f"its turn is not fair: {model.layout.slots[starved[0]].name} is never served"
    return None if found.breach == goes_on_for_ever(turn) else "its turn is another"


def _spent(model: Model, state: State) -> bool:
    return model.spent(tuple(state[slot] for slot in model.budget))
