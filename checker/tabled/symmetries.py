"""Symmetries: states that a renaming leads to from one another are taken for one, and every entry of the tables is held to each renaming once.

Of each such class the search explores the state that it finds first.  Let a state u be the image g(r) of one that is explored, and let step j lead
from u to v.  The step i whose image is j was looked up in r, and what was learnt there says that it leads to a state whose image is v.  So by
induction every reachable state is the image of one that is found, after as many steps; and predicates, idleness and the spent budget, held to the
renamings as well, say the same of both.  The least fingerprint of all images tells a class if the renamings and the identity are a group.

This goes together with stubborn sets (`stubborn`).  Let T be the set that was chosen in r.  Its image is stubborn in u: which steps conflict, which
may enable which and which serve or settle a slot is symmetric (`Images.relations`, `Images.narrowed`), and why a step is disabled was looked up in r.
So of a run from u to a quiescent state, or of a fair one that never ends, a step of T's image could have come first, and it leads to the image of a
state that was found.  A cycle of states that were not explored in full is one of classes too, and that is what the proviso looks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from roamcheck.model.interface import Disabled, Effect, Footprint, Model, Slot, Step, Symmetry, Value, Word, extend

from .contents import keys
from .stubborn import Touch, visible

Batches = tuple[tuple[Word, ...], ...]  # words appended one batch after the other
Question = tuple[int, Callable[[tuple[Value, ...]], Any], tuple[Slot, ...]]  # a property, a function, the slots of its arguments
Footprints = tuple[Footprint | None, ...]  # by symmetry


class Asymmetric(Exception):
    """A symmetry failed, and the search is to be done again without it."""


class Images:
    """What becomes of values, steps and checks under each symmetry.  Those that fail are put down in `odd`, and held to nothing any more."""

    def __init__(self, model: Model, symmetries: tuple[Symmetry, ...], questions: Sequence[Question]) -> None:
        self.model, self.symmetries, self.questions = model, symmetries, questions
        self.odd: set[int] = set()
        self.twins: list[dict[int, int]] = [{} for _ in symmetries]  # by symmetry: of each question, its image

    def hold(self, same: Callable[[int, Symmetry], object]) -> None:
        """Put down the symmetries of which this is false; what raises is false."""
        for k, g in enumerate(self.symmetries):
            if k not in self.odd:
                try:
                    kept = same(k, g)
                except Exception:
                    kept = False
                if not kept:
                    self.odd.add(k)

    def begin(self) -> None:
        """The initial states are those of all images, and each question has its image: of the same property, about the images of the slots."""
        if not self.symmetries:
            return
        initial = set(self.model.initial_states)
        alike: dict[tuple[int, frozenset[Slot]], list[int]] = {}
        for number, (of, _, slots) in enumerate(self.questions):
            alike.setdefault((of, frozenset(slots)), []).append(number)

        def same(k: int, g: Symmetry) -> bool:
            for (of, slots), numbers in alike.items():
                others = alike[of, frozenset(g.slots[slot] for slot in slots)]
                mine = sorted(numbers, key=lambda number: [g.slots[slot] for slot in self.questions[number][2]])
                yours = sorted(others, key=lambda number: self.questions[number][2])
                self.twins[k].update(zip(mine, yours, strict=True))
            everything = tuple(range(len(g.slots)))
            moved = (_moved(g, everything, state) for state in initial)
            return all(tuple(state[slot] for slot in everything) in initial for state in moved)

        self.hold(same)

    # ---- values ---------------------------------------------------------------------------------------

    def value(self, slot: Slot, value: Value) -> list[tuple[int, int]]:
        """The keys of its images, which are idle if it is."""
        if not self.symmetries:
            return []
        found = [(0, 0)] * len(self.symmetries)

        def same(k: int, g: Symmetry) -> bool:
            image = g.rename(slot, value)
            found[k] = keys(self.model.layout.slots[g.slots[slot]].name, image)
            return self.model.idle(g.slots[slot], image) == self.model.idle(slot, value)

        self.hold(same)
        return found

    def taken(self, slot: Slot, value: Value) -> None:
        """A channel that is taken from is renamed word by word, at least in front."""
        assert isinstance(value, tuple)
        self.hold(lambda k, g: g.rename(slot, value) == ((g.rename_word(slot, value[0]), *_words(g.rename(slot, value[1:]))) if value else ()))

    def appended(self, slot: Slot, before: Value, batches: Batches, after: Value) -> None:
        """To rename and then to append is to append and then to rename."""
        if not self.symmetries:
            return

        def same(k: int, g: Symmetry) -> bool:
            image = g.rename(slot, before)
            for words in batches:
                image = self.model.layout.slots[g.slots[slot]].append(image, _renamed(g, slot, words))
            return image == g.rename(slot, after)

        self.hold(same)

    # ---- steps ------------------------------------------------------------------------------------------

    def step(self, index: int) -> Footprints:
        """The images of the step's fixed footprint."""
        step = self.model.steps[index]

        def slots(of: Step, place: Callable[[Slot], Slot]) -> list[object]:
            selector = None if of.select is None else of.selector
            return [None if slot is None else place(slot) for slot in (of.serves, selector, None if of.guard is None else of.guard[0])]

        def same(k: int, g: Symmetry) -> bool:
            other = self.model.steps[g.steps[index]]
            alike = step.kind is other.kind and step.only_when_quiescent == other.only_when_quiescent
            return alike and slots(step, g.slots.__getitem__) == slots(other, lambda slot: slot)

        self.hold(same)
        return self.footprints(step.fixed, [self.model.steps[g.steps[index]].fixed for g in self.symmetries])

    def footprints(self, footprint: Footprint, images: Sequence[Footprint | None]) -> Footprints:
        """The images, where they are of the same shape."""

        def same(k: int, g: Symmetry) -> bool:
            image = images[k]
            return image is not None and (
                (None if footprint.takes is None else g.slots[footprint.takes]) == image.takes
                and sorted(g.slots[slot] for slot in footprint.reads) == sorted(image.reads)
                and sorted(g.slots[slot] for slot in footprint.appends) == sorted(image.appends)
            )

        self.hold(same)
        return tuple(images)

    def refused(self, index: int, slot: Slot, value: Value, refused: Disabled | None) -> None:
        """The image's guard says the same of the renamed value."""
        if not self.symmetries:
            return

        def same(k: int, g: Symmetry) -> bool:
            guard = self.model.steps[g.steps[index]].guard
            return guard is not None and _answer(guard[1](g.rename(slot, value))) == _answer(refused)

        self.hold(same)

    def selected(self, index: int, slot: Slot, value: Value, footprint: Footprint | Disabled) -> Footprints:
        """What the image selects at the renamed value."""
        images: list[Footprint | None] = [None] * len(self.symmetries)

        def same(k: int, g: Symmetry) -> bool:
            select = self.model.steps[g.steps[index]].select
            assert select is not None
            image = select(g.rename(slot, value))
            images[k] = None if isinstance(image, Disabled) else image
            return _answer(image) == _answer(footprint)

        self.hold(same)
        return tuple(images) if isinstance(footprint, Disabled) else self.footprints(footprint, images)

    def reacted(
        self, index: int, footprint: Footprint, images: Footprints, word: Word | None, values: tuple[Value, ...], effect: Effect | Disabled
    ) -> None:
        """The image reacts alike to the renamed word and values."""
        if not self.symmetries:
            return

        def same(k: int, g: Symmetry) -> bool:
            step, image = self.model.steps[g.steps[index]], images[k]
            assert image is not None
            before = _moved(g, footprint.reads, values)
            head = None if footprint.takes is None else g.rename_word(footprint.takes, word)
            other = step.react(head, tuple(before[slot] for slot in image.reads))
            if isinstance(effect, Disabled) or isinstance(other, Disabled):
                return _answer(effect) == _answer(other)
            appended = _by_slot((g.slots[slot], _renamed(g, slot, words)) for slot, words in effect.appended)
            after = dict(zip(image.reads, other.values, strict=True))
            return _moved(g, footprint.reads, effect.values) == after and appended == _by_slot(other.appended)

        self.hold(same)

    # ---- checks -----------------------------------------------------------------------------------------

    def answered(self, number: int, values: tuple[Value, ...], answer: bool) -> None:
        """The image of the question has the same answer."""
        if not self.symmetries:
            return
        slots = self.questions[number][2]

        def same(k: int, g: Symmetry) -> bool:
            _, function, images = self.questions[self.twins[k][number]]
            renamed = _moved(g, slots, values)
            return (function(tuple(renamed[slot] for slot in images)) is not None) == answer

        self.hold(same)

    # ---- stubborn sets ------------------------------------------------------------------------------------

    def relations(self, touches: Sequence[Touch], narrowing: Slot) -> None:
        """All that the relations between steps are made of is symmetric."""
        if not self.symmetries:
            return
        steps, specs, unordered = self.model.steps, self.model.layout.slots, self.model.unordered
        seen = {(frozenset(predicate.reads), frozenset(predicate.blind)) for predicate in visible(self.model)}
        shared = {
            (slot, i, j): unordered(slot, steps[i], steps[j])
            for i, one in enumerate(touches)
            for j, other in enumerate(touches)
            if i != j
            for slot in (one.changes & (other.changes | other.looks)) | (one.looks & other.changes)
        }

        def same(k: int, g: Symmetry) -> bool:
            def moved(slots: Iterable[Slot]) -> frozenset[Slot]:
                return frozenset(g.slots[slot] for slot in slots)

            return (
                all(Touch(*map(moved, touched)) == touches[g.steps[i]] for i, touched in enumerate(touches))
                and {(moved(reads), moved(blind)) for reads, blind in seen} == seen
                and all((specs[slot].append is extend) == (specs[image].append is extend) for slot, image in enumerate(g.slots))
                and all(shared[g.slots[slot], g.steps[i], g.steps[j]] == answer for (slot, i, j), answer in shared.items())
                and (narrowing < 0 or g.slots[narrowing] == narrowing)
            )

        self.hold(same)

    def narrowed(self, slot: Slot, value: Value) -> None:
        """What steps promise to append to at most while a slot holds a value is symmetric."""

        def same(k: int, g: Symmetry) -> bool:
            image = g.rename(slot, value)
            pairs = [(step.narrows, self.model.steps[g.steps[index]].narrows) for index, step in enumerate(self.model.steps)]
            return all(
                one is other is None or (one and other and {g.slots[most] for most in one[1](value)} == other[1](image)) for one, other in pairs
            )

        self.hold(same)


def least(prints: Any, width: int) -> Any:
    """Of each state, the least of its fingerprints."""
    groups = prints.reshape(len(prints), -1, width)
    found = groups[:, 0].copy()
    for k in range(1, groups.shape[1]):
        other = groups[:, k]
        less = (other[:, 0] < found[:, 0]) | ((other[:, 0] == found[:, 0]) & (other[:, -1] < found[:, -1]))
        found = np.where(less[:, None], other, found)
    return found


def closed(symmetries: tuple[Symmetry, ...], odd: set[int], values: Sequence[tuple[Slot, Value]]) -> tuple[Symmetry, ...]:
    """As many as can be found of those that are not odd, so that they and the identity are a group; they are told apart by what they do to slots,
    steps and these values."""
    if len(odd) == len(symmetries):
        return ()
    slots, steps = range(len(symmetries[0].slots)), range(len(symmetries[0].steps))
    members = (Symmetry(tuple(slots), tuple(steps), lambda slot, value: value, lambda slot, word: word), *symmetries)
    renamed = cache(lambda m: [members[m].rename(slot, value) for slot, value in values])

    @cache
    def product(a: int, b: int) -> int:
        """The number of what first b and then a does, 0 for the identity; -1 if it is not there."""
        one, other = members[a], members[b]
        place = tuple(one.slots[slot] for slot in other.slots), tuple(one.steps[step] for step in other.steps)
        candidates = [m for m, member in enumerate(members) if (member.slots, member.steps) == place]
        images = [one.rename(other.slots[slot], image) for (slot, _), image in zip(values, renamed(b), strict=True)] if candidates else []
        return next((m for m in candidates if m - 1 not in odd and renamed(m) == images), -1)

    def generated(generators: list[int]) -> set[int]:
        """The group that they generate; none if it has members that are not there."""
        group = [0]
        for member in group:  # grows
            for generator in generators:
                found = product(generator, member)
                if found < 0:
                    return set()
                if found not in group:
                    group.append(found)
        return set(group)

    best: set[int] = set()
    left = [m for m in range(1, len(members)) if m - 1 not in odd]
    for start in left:
        generators, group = [start], generated([start])
        for other in left if group else []:
            if other not in group and (more := generated([*generators, other])):
                generators, group = [*generators, other], more
        best = max(best, group, key=len)
    return tuple(members[m] for m in sorted(best - {0}))


def _answer(of: object) -> object:
    """What a guard, a selection or a reaction says to the engine, without what it changes."""
    return ("disabled", of.for_good) if isinstance(of, Disabled) else "enabled"


def _moved(g: Symmetry, slots: tuple[Slot, ...], values: tuple[Value, ...]) -> dict[Slot, Value]:
    return {g.slots[slot]: g.rename(slot, value) for slot, value in zip(slots, values, strict=True)}


def _renamed(g: Symmetry, slot: Slot, words: tuple[Word, ...]) -> tuple[Word, ...]:
    return tuple(g.rename_word(slot, word) for word in words)


def _words(channel: Value) -> tuple[Word, ...]:
    assert isinstance(channel, tuple)
    return channel


def _by_slot(appended: Iterable[tuple[Slot, tuple[Word, ...]]]) -> dict[Slot, Batches]:
    found: dict[Slot, Batches] = {}
    for slot, words in appended:
        found[slot] = (*found.get(slot, ()), words)
    return found
