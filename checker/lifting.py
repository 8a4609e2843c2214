"""A model over numbers: what is local is computed once, and a whole state is cheap to make, to compare and to keep.

The values of a slot are numbered from 0 as they appear, and a state is the tuple of these numbers.  Whatever depends on a few slots
(`select`, `react`, taking, appending, predicates) is remembered by their numbers.  Nothing is lost: two numbers of a slot are equal iff the
values are, and a step means what `roamcheck.model.interface.fire` says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, TypeVar

from roamcheck.model.interface import Disabled, Footprint, FootprintError, Model, Property, Scope, Slot, State, Step, Value, Word
from roamcheck.spec.breach import Breach

K = TypeVar("K")
V = TypeVar("V")
Numbers = tuple[int, ...]  # a state: the number of each slot's value
Key = Any  # the numbers of some slots, as itemgetter gives them: a tuple, but a bare number for a single slot
Pick = Callable[[Numbers], Key]


class Memo(dict[K, V]):
    """A pure function, computed when a key is first looked up."""

    __slots__ = ("_compute",)

    def __init__(self, compute: Callable[[K], V]) -> None:
        self._compute = compute

    def __missing__(self, key: K) -> V:
        value = self[key] = self._compute(key)
        return value


@dataclass(frozen=True, slots=True)
class Check:
    """A predicate of the property `of`."""

    of: Property
    reads: frozenset[Slot]
    pick: Pick
    breach: Memo[Key, Breach | None]


@dataclass(frozen=True, slots=True)
class Reaction:
    """What a step does, given its head and its reads."""

    changes: tuple[tuple[Slot, int], ...]  # the slot's new number
    appends: tuple[tuple[Slot, Memo[int, int]], ...]  # the slot's number before -> after
    checks: tuple[Check, ...]  # those in every state that look at a slot which may have changed


@dataclass(frozen=True, slots=True)
class Move:
    """A step with one of its footprints."""

    takes: Slot | None
    pick: Pick  # what it reads
    reactions: Memo[tuple[int, Key], Reaction | None]  # by head (any number if it takes nothing) and reads; None: disabled


@dataclass(frozen=True, slots=True)
class LiftedStep:
    """A step, with the moves that it makes by the number of the slot that selects its footprint; None: disabled."""

    selector: Slot  # a fixed footprint is selected by any slot
    moves: Memo[int, Move | None]
    only_when_quiescent: bool


class LiftedModel:
    """Grows as values appear."""

    def __init__(self, model: Model) -> None:
        slots = range(len(model.layout.slots))
        self.model = model
        self.values: list[list[Value]] = [[] for _ in slots]  # by slot and number
        self.numbers: list[Memo[Value, int]] = [Memo(partial(self._number, slot)) for slot in slots]
        self.idle: list[list[bool]] = [[] for _ in slots]  # by slot and number
        self.owing: list[Slot] = []  # the slots that have a value which is not idle
        self.popped: list[Memo[int, tuple[int, int] | None]] = [Memo(partial(self._pop, slot)) for slot in slots]
        self.appended: Memo[tuple[Slot, tuple[Word, ...]], Memo[int, int]] = Memo(lambda what: Memo(partial(self._append, *what)))
        self.checks = {scope: self._checks(scope) for scope in Scope}
        self.steps = [self._lift(step) for step in model.steps]
        self._pick_budget, self._spent = self._local(model.budget, model.spent)

    def state(self, values: State) -> Numbers:
        """The numbers of a state's values."""
        return tuple(self.numbers[slot][value] for slot, value in enumerate(values))

    def quiescent(self, state: Numbers) -> bool:
        """All slots are idle."""
        for slot in self.owing:  # noqa: SIM110 – called for every state, and all() takes twice as long
            if not self.idle[slot][state[slot]]:
                return False
        return True

    def busy(self, state: Numbers) -> frozenset[Slot]:
        """The slots that are not idle."""
        return frozenset(slot for slot in self.owing if not self.idle[slot][state[slot]])

    def spent(self, state: Numbers) -> bool:
        """The environment's budget is used up."""
        return self._spent[self._pick_budget(state)]

    def _number(self, slot: Slot, value: Value) -> int:
        idle = self.model.idle(slot, value)
        if not idle and slot not in self.owing:
            self.owing.append(slot)
        self.idle[slot].append(idle)
        self.values[slot].append(value)
        return len(self.values[slot]) - 1

    def _pop(self, slot: Slot, number: int) -> tuple[int, int] | None:
        """The channel with its head alone, and without its head; None if it is empty."""
        channel = self.values[slot][number]
        assert isinstance(channel, tuple)
        return (self.numbers[slot][channel[:1]], self.numbers[slot][channel[1:]]) if channel else None

    def _append(self, slot: Slot, words: tuple[Word, ...], number: int) -> int:
        return self.numbers[slot][self.model.layout.slots[slot].append(self.values[slot][number], words)]

    def _values(self, slots: tuple[Slot, ...], key: Key) -> tuple[Value, ...]:
        numbers = (key,) if len(slots) == 1 else key
        return tuple(self.values[slot][number] for slot, number in zip(slots, numbers, strict=True))

    def _local(self, slots: tuple[Slot, ...], function: Callable[[tuple[Value, ...]], V]) -> tuple[Pick, Memo[Key, V]]:
        """A function of the values of `slots`: how to pick its key out of a state, and its answers by key."""
        return _picker(slots), Memo(lambda key: function(self._values(slots, key)))

    def _checks(self, scope: Scope) -> tuple[Check, ...]:
        asked = [(of, predicate) for of in self.model.properties if of.scope is scope for predicate in of.predicates]
        return tuple(Check(of, frozenset(predicate.reads), *self._local(predicate.reads, predicate.check)) for of, predicate in asked)

    def _lift(self, step: Step) -> LiftedStep:
        selector, select = step.selector, step.select
        moves = Memo(partial(self._move, step))  # by footprint

        def choose(number: int) -> Move | None:
            footprint = step.fixed if selector is None or select is None else select(self.values[selector][number])
            return None if isinstance(footprint, Disabled) else moves[footprint]

        return LiftedStep(selector or 0, Memo(choose), step.only_when_quiescent)

    def _move(self, step: Step, footprint: Footprint) -> Move:
        return Move(footprint.takes, _picker(footprint.reads), Memo(lambda key: self._react(step, footprint, *key)))

    def _react(self, step: Step, footprint: Footprint, head: int, key: Key) -> Reaction | None:
        """React once.  Values that stay are left out, except where the slot is also taken from: there they undo the taking, as in `fire`."""
        word = None
        if footprint.takes is not None:
            channel = self.values[footprint.takes][head]
            assert isinstance(channel, tuple)
            word = channel[0]
        before = self._values(footprint.reads, key)
        effect = step.react(word, before)
        if isinstance(effect, Disabled):
            return None
        if len(effect.values) != len(footprint.reads):
            raise FootprintError(f"{step} reads {len(footprint.reads)} slots and returns {len(effect.values)} values")
        for slot, _ in effect.appended:
            if slot not in footprint.appends:
                raise FootprintError(f"{step} appends to {self.model.layout.slots[slot].name}, which it does not declare")
        old, new = dict(zip(footprint.reads, before, strict=True)), dict(zip(footprint.reads, effect.values, strict=True))
        changes = {slot: self.numbers[slot][value] for slot, value in new.items() if slot == footprint.takes or value != old[slot]}
        appends = tuple((slot, self.appended[slot, words]) for slot, words in effect.appended)
        touched = {footprint.takes, *changes, *(slot for slot, _ in appends)}
        return Reaction(tuple(changes.items()), appends, tuple(check for check in self.checks[Scope.EVERY_STATE] if touched & check.reads))


def _picker(slots: tuple[Slot, ...]) -> Pick:
    return itemgetter(*slots) if slots else lambda _: ()
