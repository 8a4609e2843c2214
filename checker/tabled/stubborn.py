"""What a partial order reduction knows of the steps beforehand: which may get into each other's way, and what can bring a disabled one about.

In a state, a set T of steps is *stubborn* here if (1) with an enabled step it holds all that conflict with it, (2) with a disabled one it holds
all that could enable it, and (3) it holds every step that serves some busy slot or could leave it idle.  A run from the state to a quiescent
one, or a fair one that never ends, must then take a step of T, and the first that it takes could as well have come first.  So every quiescent state
is reached, by runs of the same length, when the enabled steps of T alone are explored.  That no step is put off for ever is seen to afterwards
(`proviso`).

Each slot sees the same values one after the other, whichever of these runs is taken, and so does each predicate that looks at one slot.  A predicate
on several slots that can be mended makes the steps that touch different ones of them conflict.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from roamcheck.model.interface import Kind, Model, Predicate, Scope, Slot, Step, Value, extend

from .kernels import EMPTY, OTHER, REASONS, REFUSED, UNSELECTED, Stubborn

Masks = NDArray[np.uint64]
NO_REDUCTION = Stubborn(
    np.zeros((0, 0, 1), np.uint64), np.zeros((0, 0, REASONS, 1), np.uint64), np.zeros((0, 1), np.uint64), np.zeros(0, np.int32),
    np.zeros(0, np.uint8),
    -1, np.zeros(1, np.uint64), np.zeros(1, np.int32),
)  # fmt: skip


class Touch(NamedTuple):
    """How a step may touch slots, at any time."""

    takes: frozenset[Slot]
    writes: frozenset[Slot]
    appends: frozenset[Slot]
    looks: frozenset[Slot]

    @property
    def changes(self) -> frozenset[Slot]:
        """All but those that it only looks at."""
        return self.takes | self.writes | self.appends


MOST_VARIANTS = 256


class Reduction:
    """The relations, in general and for each value of the slot that narrows what steps append to, once nothing can change that slot any more."""

    def __init__(self, model: Model) -> None:
        self.model = model
        steps, slots = range(len(model.steps)), range(len(model.layout.slots))
        self.touches = [touch(model, step) for step in model.steps]
        narrowing = {step.narrows[0] for step in model.steps if step.narrows is not None}
        self.slot = narrowing.pop() if len(narrowing) == 1 else -1
        changers = mask(len(steps), (j for j in steps if self.slot in self.touches[j].changes)) if self.slot >= 0 else mask(len(steps), ())
        conflicts, enablers = relations(model, self.touches)
        self.numbers = np.full(64, -1, np.int32)  # by value: the number of its relations
        self.arrays = Stubborn(
            conflicts[None],
            enablers[None],
            np.array([mask(len(steps), (j for j in steps if settles(model, model.steps[j], self.touches[j], slot))) for slot in slots]),
            np.array([-1 if step.serves is None else step.serves for step in model.steps], np.int32),
            np.array([step.kind is Kind.PROTOCOL for step in model.steps], np.uint8),
            self.slot,
            changers,
            self.numbers,
        )

    def learn(self, number: int, value: Value) -> None:
        """Work the relations out for a value of the narrowing slot, which bears this number; beyond a few, the general ones serve."""
        if number >= len(self.numbers):
            self.numbers = np.concatenate([self.numbers, np.full(number + 1, -1, np.int32)])
        known = len(self.arrays.conflicts)
        self.numbers[number] = known if known < MOST_VARIANTS else 0
        self.arrays = self.arrays._replace(numbers=self.numbers)
        if known < MOST_VARIANTS:
            pairs = zip(self.model.steps, self.touches, strict=True)
            narrow = [t if s.narrows is None else t._replace(appends=t.appends & s.narrows[1](value)) for s, t in pairs]
            conflicts, enablers = relations(self.model, narrow)
            self.arrays = self.arrays._replace(
                conflicts=np.concatenate([self.arrays.conflicts, conflicts[None]]), enablers=np.concatenate([self.arrays.enablers, enablers[None]])
            )


def relations(model: Model, touches: list[Touch]) -> tuple[Masks, Masks]:
    """Which steps conflict, and which may enable which."""
    steps, changed, predicates = range(len(model.steps)), [touched.changes for touched in touches], visible(model)
    told = [{k: through for k, predicate in enumerate(predicates) if (through := seen(predicate, touched))} for touched in touches]
    conflicts: list[list[int]] = [[] for _ in steps]
    for i in steps:
        for j in range(i):
            shared = (changed[i] & changed[j]) | (changed[i] & touches[j].looks) | (touches[i].looks & changed[j])
            if order_is_told(told[i], told[j], shared) or any(not commute(model, touches, i, j, slot) for slot in shared):
                conflicts[i].append(j)
                conflicts[j].append(i)
    bring_about = np.zeros((len(steps), REASONS, words(len(steps))), np.uint64)
    for i in steps:
        step, touched = model.steps[i], touches[i]
        bring_about[i, UNSELECTED] = enablers(model, changed, i, frozenset(() if step.selector is None else (step.selector,)))
        bring_about[i, REFUSED] = enablers(model, changed, i, frozenset(() if step.guard is None else (step.guard[0],)))
        fed = mask(len(steps), (j for j in steps if touched.takes & changed[j]))
        bring_about[i, OTHER] = enablers(model, changed, i, touched.writes | touched.looks) | fed
        bring_about[i, EMPTY] = fed if step.selector is None else bring_about[i, OTHER]
    return np.array([mask(len(steps), others) for others in conflicts]), bring_about


def words(steps: int) -> int:
    """How many 64-bit words a mask has."""
    return -(-steps // 64)


def mask(steps: int, members: Iterable[int]) -> Masks:
    """A set of steps as bits."""
    bits = np.zeros(words(steps), np.uint64)
    for member in members:
        bits[member // 64] |= np.uint64(1 << (member % 64))
    return bits


def touch(model: Model, step: Step) -> Touch:
    """What a step may touch under any of its footprints."""
    looks = frozenset(() if step.selector is None else (step.selector,)) | frozenset(() if step.guard is None else (step.guard[0],))
    footprint = step.fixed if step.selector is None or step.select is None else step.within
    if footprint is None:
        return Touch(frozenset(), frozenset(range(len(model.layout.slots))), frozenset(), looks)
    takes = frozenset(() if footprint.takes is None else (footprint.takes,))
    return Touch(takes, frozenset(footprint.reads), frozenset(footprint.appends), looks)


def order_is_told(one: dict[int, frozenset[Slot]], other: dict[int, frozenset[Slot]], shared: frozenset[Slot]) -> bool:
    """A predicate may tell in which order two steps came that share some slots: by predicate, the slots through which they may change its answer."""
    through = [one[k] | other[k] for k in one.keys() & other.keys()]
    return any(len(slots) > 1 or slots <= shared for slots in through)


def commute(model: Model, touches: list[Touch], i: int, j: int, slot: Slot) -> bool:
    """Steps i and j commute on a slot that the one changes and the other touches, in whatever state they are enabled."""
    one, other = touches[i], touches[j]
    closed = one.writes | one.looks | other.writes | other.looks
    if slot not in closed and (slot in one.takes) != (slot in other.takes) and model.layout.slots[slot].append is extend:
        return True  # the one takes the first word, the other adds behind the last
    first, second = model.steps[i], model.steps[j]
    return model.unordered(slot, first, second) and model.unordered(slot, second, first)


def visible(model: Model) -> list[Predicate]:
    """What can be breached and mended again, and depends on more than the words that are somewhere."""
    asked = [predicate for of in model.properties if of.scope is Scope.EVERY_STATE and of.mendable for predicate in of.predicates]
    return [predicate for predicate in asked if not predicate.wordwise]


def seen(predicate: Predicate, touched: Touch) -> frozenset[Slot]:
    """The slots through which the step may change the predicate's answer."""
    return (touched.takes | touched.writes | (touched.appends.difference(predicate.blind))).intersection(predicate.reads)


def enablers(model: Model, changed: list[frozenset[Slot]], i: int, slots: frozenset[Slot]) -> Masks:
    """The steps that may enable step i by changing one of these slots; `changed` are those that each step may change."""
    steps = range(len(model.steps))

    def may(j: int) -> bool:
        return any(not model.unordered(slot, model.steps[i], model.steps[j]) for slot in slots & changed[j])

    return mask(len(steps), (j for j in steps if j != i and may(j)))


def settles(model: Model, step: Step, touched: Touch, slot: Slot) -> bool:
    """The step serves the slot or may leave it idle: adding words to a channel does not."""
    adds = slot in touched.appends and model.layout.slots[slot].append is not extend
    return step.serves == slot or slot in touched.takes | touched.writes or adds
