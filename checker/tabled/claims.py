"""Reactions of steps that claim something: the environment's moves, each of which is paid for.

What such a step does to the slot of its guard and what it does besides are independent of one another.  So it reacts once to all else that it sees,
and what it leaves in that slot is asked of the claim alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from roamcheck.model.interface import FootprintError, Slot, Value, Word

from .kernels import FAILED

if TYPE_CHECKING:
    from .tables import Tables


class Known(NamedTuple):
    """A reaction, or that there is none, and which values it found and left in the slot of the guard."""

    reaction: int
    before: int
    after: int


class Claims:
    """What was learnt of the steps that claim."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.besides: dict[tuple[int | Word | None, ...], Known] = {}  # by what is seen besides the slot of the guard
        self.claimed: dict[tuple[int, int], int] = {}  # by step and value of that slot: the value that is left there

    def react(self, move: int, word: Word | None, read: list[int], index: int) -> int:
        """As `Tables.evaluate`, or put together from what is known.  With symmetries each reaction is held to them, and evaluated."""
        tables, (step, footprint, _) = self.tables, self.tables.moves[move]
        if step.claims is None or step.guard is None or step.guard[0] not in footprint.reads or tables.images.symmetries:
            return tables.evaluate(move, word, read, index)
        slot = step.guard[0]
        at = footprint.reads.index(slot)
        before, rest = read[at], (move, word, *read[:at], *read[at + 1 :])
        known = self.besides.get(rest)
        if known is None:
            found = tables.evaluate(move, word, read, index)
            if found == FAILED:
                return found
            known = self.besides[rest] = Known(found, before, self._left_by(found, slot, before))
        if known.reaction < 0:
            return known.reaction
        try:
            after = self._left(index, slot, before, step.claims)
        except Exception as cause:
            return tables.failed(index, cause)
        if before != known.before:
            return self._together(known, slot, before, after)
        return known.reaction if after == known.after else tables.failed(index, FootprintError(f"{step} leaves something else than it claims"))

    def _left_by(self, reaction: int, slot: Slot, before: int) -> int:
        """The number of what a reaction, or none, leaves in a slot."""
        if reaction < 0:
            return before
        _, lo, hi, *_ = self.tables.reactions[reaction]
        return int(dict(self.tables.change.items[lo:hi]).get(slot, before))

    def _left(self, index: int, slot: Slot, before: int, claims: Callable[[Value], Value]) -> int:
        """The number of what a claim leaves.  Raises what the claim raises."""
        after = self.claimed.get((index, before))
        if after is None:
            after = self.claimed[index, before] = self.tables.number(slot, claims(self.tables.values[before]))
        return after

    def _together(self, known: Known, slot: Slot, before: int, after: int) -> int:
        """A reaction that does the same as one that is known, with another claim."""
        tables, key = self.tables, self.tables.key
        taken, lo, hi, begin, end, *_ = tables.reactions[known.reaction]
        now = dict(tables.change.items[lo:hi])
        now.pop(slot, None)
        if after != before:
            now[slot] = after
        parts = tables.delta[known.reaction], key[known.before], key[known.after], key[before], key[after]
        tables.delta.append(tuple([a ^ b ^ c ^ d ^ e for a, b, c, d, e in zip(*parts, strict=True)]))
        touched = {*now, *(slot for slot, _ in tables.appended.items[begin:end]), *(() if taken < 0 else (taken,))}
        return tables.reactions.append((taken, *tables.change.extend([*now.items()]), begin, end, *tables.add_touched(touched, now)))
