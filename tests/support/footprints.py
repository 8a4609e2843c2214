"""Holds steps to what they declare: walk at random, then change everything that a step says it does not look at, and see that nothing else changes.

A step may look at the head of the slot that it takes, the slots that it reads, and its selector.  It may write those that it reads and add words at
the end of those that it appends to.  Whatever else it does is a Cheat.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from roamcheck.model.interface import Disabled, Effect, Footprint, FootprintError, Model, Slot, State, Step, Value, fire

NOTHING = "(nothing)"
Pools = tuple[tuple[Value, ...], ...]  # for each slot, the values seen in a walk


class Cheat(AssertionError):
    """A step touches what it does not declare, or does not answer equal questions equally."""


@dataclass(frozen=True)
class Seen:
    """One step in one state: its footprint and effect, or the guard that refused it."""

    footprint: Footprint | None
    outcome: Effect | Disabled


def name_of(step: Step) -> str:
    """The action; for attach and detach with the kind of client."""
    return f"{step.action} {step.arguments[0][0]}" if step.action in ("attach", "detach") else step.action


def enabled(model: Model, state: State) -> Iterator[tuple[Step, State]]:
    """The steps that can fire, each with the state after it."""
    for step in model.steps:
        after = fire(model, step, state)
        if not isinstance(after, Disabled):
            yield step, after


def walk(model: Model, seed: int, states: int, length: int = 16) -> list[State]:
    """So many distinct states, or all within reach of many walks; rare actions are preferred, so that each has its turn."""
    rng, seen, taken = random.Random(seed), {model.initial_states[0]: None}, dict[str, int]()
    for _ in range(states):
        state = model.initial_states[0]
        for _ in range(length):
            choices = list(enabled(model, state))
            if not choices or len(seen) >= states:
                break
            names = list(dict.fromkeys(name_of(step) for step, _ in choices))
            (name,) = rng.choices(names, [1 / (1 + taken.get(name, 0)) for name in names])
            taken[name] = taken.get(name, 0) + 1
            _, state = rng.choice([(step, after) for step, after in choices if name_of(step) == name])
            seen[state] = None
        if len(seen) >= states:
            break
    return list(seen)


def pools_of(states: Sequence[State]) -> Pools:
    """The values of each slot seen in these states, in order of first sight."""
    return tuple(tuple(dict.fromkeys(values)) for values in zip(*states, strict=True))


def look(step: Step, state: State) -> Seen:
    """What the step does in `state`, before it is lifted: nothing but its declared arguments is handed to it."""
    footprint = step.footprint(state)
    if isinstance(footprint, Disabled):
        return Seen(None, footprint)
    head = None
    if footprint.takes is not None:
        channel = state[footprint.takes]
        if not channel:
            return Seen(footprint, Disabled("empty"))
        head = channel[0]  # type: ignore[index]
    return Seen(footprint, step.react(head, tuple(state[slot] for slot in footprint.reads)))


def check_step(model: Model, step: Step, state: State, pools: Pools, rng: random.Random) -> bool:
    """Raise Cheat unless the step keeps to its footprint in `state`; whether it was enabled there."""
    step = replace(step, only_when_quiescent=False)  # quiescence is asked of the whole state, by `fire` and not by the step
    seen = look(step, state)
    if seen != look(step, state) or seen != look(step, copy.deepcopy(state)):
        raise Cheat(f"{step}: equal arguments, different answers")
    if step.guard is not None and step.guard[1](state[step.guard[0]]) is not None and not isinstance(seen.outcome, Disabled):
        raise Cheat(f"{step}: fires where its guard refuses")
    if step.claims is not None:
        _claims_apart(step, seen, state, pools, rng)
    if step.narrows is not None and isinstance(seen.outcome, Effect):
        allowed = step.narrows[1](state[step.narrows[0]])
        if any(slot not in allowed for slot, _ in seen.outcome.appended):
            raise Cheat(f"{step}: appends to more than it narrows itself to")
    if seen.footprint is None:
        _changed_elsewhere(step, seen, state, pools, rng, kept={step.selector})
        return False
    _well_formed(model, step, seen.footprint)
    _changed_elsewhere(step, seen, state, pools, rng, kept={step.selector, seen.footprint.takes, *seen.footprint.reads})
    _changed_tail(step, seen, state, pools, rng)
    if isinstance(seen.outcome, Disabled):
        return False
    try:
        hash(seen.outcome)
    except TypeError as error:
        raise Cheat(f"{step}: {error}") from None
    _lifts(model, step, seen.footprint, seen.outcome, state)
    _lifts(model, step, seen.footprint, seen.outcome, changed(state, pools, rng, {step.selector, seen.footprint.takes, *seen.footprint.reads}))
    return True


def changed(state: State, pools: Pools, rng: random.Random, kept: set[Slot | None]) -> State:
    """Every slot that is not kept holds another value seen elsewhere, where there is one."""
    others = ([value for value in pool if value != old] for pool, old in zip(pools, state, strict=True))
    return tuple(old if slot in kept or not other else rng.choice(other) for (slot, old), other in zip(enumerate(state), others, strict=True))


def _changed_elsewhere(step: Step, seen: Seen, state: State, pools: Pools, rng: random.Random, kept: set[Slot | None]) -> None:
    for _ in range(2):
        if look(step, changed(state, pools, rng, kept)) != seen:
            raise Cheat(f"{step}: looks at what it does not declare")


def _claims_apart(step: Step, seen: Seen, state: State, pools: Pools, rng: random.Random) -> None:
    """What the guard does not refuse changes nothing but itself, and what becomes of it is what the step says that it claims."""
    assert step.guard is not None
    assert step.claims is not None
    slot, refuses = step.guard
    if refuses(state[slot]) is not None or (seen.footprint is not None and slot not in seen.footprint.reads):
        return
    elsewhere = look(step, changed(state, pools, rng, {slot}))
    if any(left not in (NOTHING, step.claims(state[slot])) for left, _ in (_parted(seen, slot), _parted(elsewhere, slot))):
        raise Cheat(f"{step}: what it leaves is not what it claims of what it finds there")
    for other in pools[slot]:
        if refuses(other) is None and _parted(look(step, (*state[:slot], other, *state[slot + 1 :])), slot)[1] != _parted(seen, slot)[1]:
            raise Cheat(f"{step}: what it does depends on what it finds where it claims")


def _parted(seen: Seen, slot: Slot) -> tuple[Value, object]:
    """What is left in the slot, and all else."""
    if seen.footprint is None or isinstance(seen.outcome, Disabled):
        return NOTHING, seen
    at = seen.footprint.reads.index(slot)
    values = seen.outcome.values
    return values[at], (seen.footprint, values[:at], values[at + 1 :], seen.outcome.appended)


def _changed_tail(step: Step, seen: Seen, state: State, pools: Pools, rng: random.Random) -> None:
    takes = seen.footprint.takes if seen.footprint else None
    if takes is None or not state[takes]:
        return
    head, *tail = state[takes]  # type: ignore[misc]
    for other in {(), (head,), rng.choice(pools[takes])} - {tuple(tail)}:  # type: ignore[operator]
        if look(step, (*state[:takes], (head, *other), *state[takes + 1 :])) != seen:  # type: ignore[misc]
            raise Cheat(f"{step}: looks behind the head of the channel")


def _well_formed(model: Model, step: Step, footprint: Footprint) -> None:
    slots = (*footprint.reads, *footprint.appends, *(() if footprint.takes is None else (footprint.takes,)))
    if not all(0 <= slot < len(model.layout.slots) for slot in slots):
        raise Cheat(f"{step}: declares a slot that is not there")
    if len(set(footprint.reads)) < len(footprint.reads) or len(set(footprint.appends)) < len(footprint.appends):
        raise Cheat(f"{step}: declares a slot twice")
    if footprint.takes in footprint.reads:
        raise Cheat(f"{step}: reads the whole of the channel of which it takes the head")
    if step.selector is not None and step.within is not None and not lies_within(footprint, step.within):
        raise Cheat(f"{step}: goes beyond what it promises")


def lies_within(footprint: Footprint, most: Footprint) -> bool:
    """Whatever is taken or read may be read, and whatever is appended to may be appended to."""
    touched = {*footprint.reads, *(() if footprint.takes is None else (footprint.takes,))}
    return touched <= {*most.reads, most.takes} and set(footprint.appends) <= set(most.appends)


def _lifts(model: Model, step: Step, footprint: Footprint, effect: Effect, state: State) -> None:
    """What `fire` does is the effect and nothing else, whatever the slots outside hold."""
    try:
        after = fire(model, step, state)
    except FootprintError as error:
        raise Cheat(str(error)) from None
    if isinstance(after, Disabled):
        raise Cheat(f"{step}: refused because of what it does not declare")
    written = dict(zip(footprint.reads, effect.values, strict=True))
    for slot, value in written.items():
        if type(value) is not type(state[slot]):
            raise Cheat(f"{step}: leaves a {type(value).__name__} in {model.layout.slots[slot].name}")
    appended = dict(effect.appended)
    if len(appended) < len(effect.appended) or not all(appended.values()):
        raise Cheat(f"{step}: appends to a slot twice, or appends nothing")
    for slot, spec in enumerate(model.layout.slots):
        before = written.get(slot, state[slot])
        if slot == footprint.takes:
            before = before[1:]  # type: ignore[index]
        words = appended.get(slot, ())
        if isinstance(before, tuple) and after[slot] != (*before, *words):
            raise Cheat(f"{step}: {spec.name} is not what was there and then the words appended")
        for word in words if not isinstance(before, tuple) else ():  # a ghost record folds them in, one by one
            before = spec.append(before, (word,))
        if not isinstance(before, tuple) and after[slot] != before:
            raise Cheat(f"{step}: {spec.name} changes otherwise than declared")


def check_walk(model: Model, states: Sequence[State], seed: int) -> set[str]:
    """Check every step in every one of these states; the names of those that were enabled somewhere."""
    rng, pools, exercised = random.Random(seed), pools_of(states), set[str]()
    for state in states:
        for step in model.steps:
            if check_step(model, step, state, pools, rng):
                exercised.add(name_of(step))
    return exercised
