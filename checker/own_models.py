"""A model of one's own against the narrow waist, for tests: explored, and whatever is wrong with it told clearly.

A protocol may raise, give two answers to one question, write what it does not declare, or be no model at all: each has its message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from roamcheck.model.interface import Disabled, Effect, FootprintError, Kind, Model, Predicate, Property, State, Step, Value, Word
from roamcheck.spec.breach import Breach

from . import retelling
from .engines import reference, tabled
from .findings import ClaimError, Findings, Search, extent
from .sampled import SearchFailed, sample_model
from .verdict import CannotBegin, Counterexample, StepFailed, Verdict, Violated

HASHABLE = "use tuples, frozensets and frozen dataclasses"
Looked = tuple[Mapping[str, Verdict], str, StepFailed | None]  # the verdicts, how much was explored, the step that failed


class NotPure(Exception):
    """A reaction gave two answers to the same arguments."""


class PredicateRaised(Exception):
    """A property of one's own raised: a defect of the property."""

    def __init__(self, model: Model, of: Property, predicate: Predicate, values: tuple[Value, ...], cause: Exception) -> None:
        asked = ", ".join(f"{model.layout.slots[slot].name} = {value}" for slot, value in zip(predicate.reads, values, strict=True))
        super().__init__(f"the property {of.name} raised when it was asked of {asked}\n{retelling.raised(cause)}")


def of_model(model: Model, search: Search) -> Findings:
    """Explore a model against the narrow waist; every reaction is asked twice.  Raises ClaimError, and KeyboardInterrupt as it comes."""
    wrong = next(misfits(model), None)
    if wrong is not None:
        raise ClaimError(f"{model.name} is no model: {wrong}")
    watched = watch(model)
    try:
        verdicts, looked, raised = explore(watched, search)
    except (PredicateRaised, CannotBegin, SearchFailed) as error:
        raise ClaimError(f"{model.name}: {error}") from None
    except Exception as error:  # of what nobody guards: `idle`, `spent`; or two looks at the model that do not fit together
        verdicts, looked, raised = second_look(watched, search, error)
    decisive = tuple(of.name for of in model.properties if of.decisive)

    def tell(name: str) -> str:
        verdict = verdicts[name]
        assert isinstance(verdict, Violated)
        run = verdict.counterexample
        return retelling.story(model, run, name, run.breach, run.loop)

    failed = None if raised is None else told_failure(model, raised)
    longer = frozenset(verdicts) if search.engine == "search" else frozenset()
    return Findings(model.name, verdicts, decisive, search, looked, tell, lambda name: tell(name) + "\n", ".txt", failed, longer)


def explore(model: Model, search: Search) -> Looked:
    """By the engine that is asked for.  Raises SearchFailed, CannotBegin."""
    match search.engine:
        case "tabled":
            found = tabled.explore(model, max_states=search.max_states, debug=search.debug)
        case "reference":
            found = reference.explore(model, max_states=search.max_states)
        case _:
            return sample_model(model, search.examples, search.seed)
    if found.interrupted:
        raise KeyboardInterrupt
    return found.verdicts, extent(found), found.failed


def second_look(model: Model, search: Search, error: Exception) -> Looked:
    """The engine broke over the model: if debug mode finds a step that cheats, that is why.  Raises ClaimError where it finds none."""
    if search.engine == "tabled" and not search.debug:
        try:
            looked = explore(model, replace(search, debug=True))
        except Exception:  # the first error is the one to tell
            pass
        else:
            if looked[2] is not None:
                return looked
    raise ClaimError(f"{model.name} raised while it was explored\n{retelling.raised(error)}") from error


def told_failure(model: Model, failed: StepFailed) -> str:
    """Which step failed, how, and the way there."""
    run = Counterexample(failed.initial, failed.steps, None, Breach(""))
    match failed.cause:
        case NotPure():
            what = f"{failed.step} is not pure: {failed.cause}"
        case FootprintError():
            what = f"a step does not do what it declares: {failed.cause}"
        case cause:
            what = f"{failed.step} raised {retelling.raised(cause)}"
    return f"{what}\nthe way there, {len(failed.steps)} step{'' if len(failed.steps) == 1 else 's'}:\n{retelling.story(model, run)}".rstrip("\n:")


def watch(model: Model) -> Model:
    """The model, whose reactions are asked twice, and whose properties say what they were asked when they raise."""

    def property(of: Property) -> Property:
        return replace(of, predicates=tuple(replace(predicate, check=asked(of, predicate)) for predicate in of.predicates))

    def asked(of: Property, predicate: Predicate) -> Callable[[tuple[Value, ...]], Breach | None]:
        def check(values: tuple[Value, ...]) -> Breach | None:
            try:
                return predicate.check(values)
            except Exception as cause:
                raise PredicateRaised(model, of, predicate, values, cause) from cause

        return check

    steps = tuple(replace(step, react=twice(step)) for step in model.steps)
    return replace(model, steps=steps, properties=tuple(map(property, model.properties)))


def twice(step: Step) -> Callable[[Word | None, tuple[Value, ...]], Any]:
    """React, and react again.  Raises NotPure when the answers differ, FootprintError for what is no answer."""

    def react(head: Word | None, values: tuple[Value, ...]) -> Any:
        once, again = step.react(head, values), step.react(head, values)
        if not isinstance(once, Effect | Disabled):
            raise FootprintError(f"{step} answers {once!r}, which is neither an Effect nor a Disabled")
        if once != again:
            given = f"({head}, {values})" if head is not None else str(values)
            raise NotPure(f"asked twice with {given}, it answers {answered(once)} and then {answered(again)}")
        try:
            hash(once)
        except TypeError as error:
            raise FootprintError(f"{step} answers {answered(once)}: {error}; {HASHABLE}") from None
        return once

    return react


def answered(reaction: Any) -> str:
    """An answer in short."""
    if isinstance(reaction, Effect):
        return str(reaction.values) + (f" and appends {reaction.appended}" if reaction.appended else "")
    return str(reaction)


def misfits(model: Model) -> Iterator[str]:
    """What no engine could make sense of, a line each."""
    slots, names = len(model.layout.slots), [of.name for of in model.properties]
    if not model.initial_states:
        yield "it has no initial state"
    for state in model.initial_states:
        yield from misfits_of_state(model, state)
    for step in model.steps:
        if not isinstance(step, Step):
            yield f"{step!r} stands among its steps and is no Step"
        elif not isinstance(step.kind, Kind):
            yield f"{step} is of kind {step.kind!r}, which is no Kind"
        elif step.select is None:
            yield from misfits_of_footprint(model, step)
    for of in model.properties:
        read = [slot for predicate in of.predicates for slot in predicate.reads]
        yield from (f"the property {of.name} reads slot {slot}, and there are slots 0 to {slots - 1}" for slot in read if not 0 <= slot < slots)
    yield from (f"two of its properties are called {name}" for name in dict.fromkeys(names) if names.count(name) > 1)


def misfits_of_footprint(model: Model, step: Step) -> Iterator[str]:
    """Likewise, of a step whose footprint is always the same."""
    takes, slots = step.fixed.takes, model.layout.slots
    for slot in (*(() if takes is None else (takes,)), *step.fixed.reads, *step.fixed.appends):
        if not 0 <= slot < len(slots):
            yield f"{step} touches slot {slot}, and there are slots 0 to {len(slots) - 1}"
    if takes is not None and not all(isinstance(state[takes], tuple) for state in model.initial_states):
        yield f"{step} takes the first word of {slots[takes].name}, which does not start as a tuple"


def misfits_of_state(model: Model, state: State) -> Iterator[str]:
    """Likewise, of an initial state."""
    slots = model.layout.slots
    if not isinstance(state, tuple) or len(state) != len(slots):
        yield f"an initial state is a tuple of {len(slots)} values, one for each slot ({', '.join(spec.name for spec in slots)}), not {state!r}"
        return
    for spec, value in zip(slots, state, strict=True):
        try:
            hash(value)
        except TypeError:
            yield f"{spec.name} starts as {value!r}, which cannot be hashed; {HASHABLE}"
