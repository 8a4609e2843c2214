"""Which steps a reduction may take to be independent, by what a model promises; and what holds of independent steps, over `fire`.

Two steps are independent if they are harmless on every slot that both touch: both only look at it, to select their footprints; or one takes the head
of a sequence to which the other appends; or the model says that what they do there is unordered.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from roamcheck.model.interface import Disabled, Footprint, Model, Slot, State, Step, extend, fire

Touched = Mapping[Slot, frozenset[str]]  # how a step may ever touch a slot: "looks", "takes", "reads", "appends"
Unordered = Callable[[Slot, Step, Step], bool]


class Dependent(AssertionError):
    """Two steps that pass for independent are not."""


@dataclass(frozen=True)
class Pair:
    """Two independent steps, by number; `feeds`: one may append what the other takes, and so enable it."""

    one: int
    other: int
    feeds: bool


def touched(model: Model, step: Step) -> Touched:
    """All slots that the step may ever touch.  One that waits for quiescence looks everywhere."""
    found: dict[Slot, set[str]] = {}
    footprint = bound(model, step)
    for how, slots in (("takes", [] if footprint.takes is None else [footprint.takes]), ("reads", footprint.reads), ("appends", footprint.appends)):
        for slot in slots:
            found.setdefault(slot, set()).add(how)
    for slot in range(len(model.layout.slots)) if step.only_when_quiescent else [] if step.selector is None else [step.selector]:
        found.setdefault(slot, set()).add("looks")
    return {slot: frozenset(hows) for slot, hows in found.items()}


def bound(model: Model, step: Step) -> Footprint:
    """A footprint that no footprint of the step exceeds: everything, where nothing is promised."""
    everything = tuple(range(len(model.layout.slots)))
    return step.fixed if step.selector is None else step.within or Footprint(None, everything, everything)


def independent(model: Model, unordered: Unordered | None = None) -> list[Pair]:
    """All pairs of independent steps; `unordered` stands in for what the model says."""
    unordered = unordered or model.unordered
    reach = [touched(model, step) for step in model.steps]
    found = []
    for one, first in enumerate(model.steps):
        for other in range(one):
            shared = reach[one].keys() & reach[other].keys()
            fed = {slot for slot in shared if feeds(model, slot, reach[one][slot], reach[other][slot])}
            looks = {slot for slot in shared if reach[one][slot] == reach[other][slot] == {"looks"}}
            if all(unordered(slot, first, model.steps[other]) for slot in shared - fed - looks):
                found.append(Pair(one, other, bool(fed)))
    return found


def feeds(model: Model, slot: Slot, *hows: frozenset[str]) -> bool:
    """One takes the head of a sequence, the other appends to it."""
    return model.layout.slots[slot].append is extend and set(hows) == {frozenset({"takes"}), frozenset({"appends"})}


def check_commute(model: Model, pairs: Iterable[Pair], states: Collection[State]) -> int:
    """Raise Dependent unless independent steps commute in these states and do not disable each other, nor enable but by feeding; how many did."""
    listed, commuted = list(pairs), 0
    for state in states:
        after = [fire(model, step, state) for step in model.steps]
        for pair in listed:
            one, other = after[pair.one], after[pair.other]
            first, second = model.steps[pair.one], model.steps[pair.other]
            if isinstance(one, Disabled) and isinstance(other, Disabled):
                continue
            both = None if isinstance(one, Disabled) else fire(model, second, one)
            again = None if isinstance(other, Disabled) else fire(model, first, other)
            if both is None or again is None:
                if not pair.feeds and not isinstance(again if both is None else both, Disabled):
                    raise Dependent(f"one of {first} and {second} enables the other")
                continue
            if isinstance(both, Disabled) or isinstance(again, Disabled):
                raise Dependent(f"one of {first} and {second} disables the other")
            if both != again:
                raise Dependent(f"{first} and {second} do not commute")
            commuted += 1
    return commuted


def check_blame(model: Model, states: Iterable[State], altered: Callable[[State, Slot], Iterable[State]]) -> set[str]:
    """Raise Dependent if a step fires though the slot that was blamed is as it was; the guards for which one was blamed."""
    blamed = set()
    steps = [replace(step, only_when_quiescent=False) for step in model.steps]
    for state in states:
        for step in steps:
            refused = fire(model, step, state)
            if isinstance(refused, Disabled) and refused.slot is not None:
                blamed.add(refused.guard)
                for other in altered(state, refused.slot):
                    if not isinstance(fire(model, step, other), Disabled):
                        raise Dependent(f"{step}: {model.layout.slots[refused.slot].name} alone is not to blame for {refused.guard!r}")
    return blamed


def check_for_good(model: Model, most: int) -> set[str]:
    """Raise Dependent if a step fires, among the states nearest to the start, after it was disabled for good; the guards that said so."""
    dead = dict.fromkeys(model.initial_states, 0)  # a bit for each step that was disabled for good on some way here
    after: dict[State, list[State | Disabled]] = {}
    guards, frontier = set(), list(dead)
    for state in frontier:  # grows; a state comes again whenever more is dead there
        if state not in after:
            after[state] = [fire(model, step, state) for step in model.steps]
        for number, result in enumerate(after[state]):
            if isinstance(result, Disabled) and result.for_good:
                guards.add(result.guard)
                dead[state] |= 1 << number
            elif not isinstance(result, Disabled) and dead[state] >> number & 1:
                raise Dependent(f"{model.steps[number]} was disabled for good, and fires")
        for result in after[state]:
            known = None if isinstance(result, Disabled) else dead.get(result)
            if isinstance(result, Disabled) or (known is None and len(dead) >= most) or (known is not None and known | dead[state] == known):
                continue
            dead[result] = (known or 0) | dead[state]
            frontier.append(result)
    return guards
