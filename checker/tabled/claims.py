"""Reactions of steps that claim something: the environment's moves, each of which is paid for.

What such a step does to the slot of its guard and what it does besides are independent of one another.  So it reacts once to each claim and once to
all else that it sees, and not to each combination of the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from roamcheck.model.interface import Slot, Word

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
        if not step.claims or step.guard is None or step.guard[0] not in footprint.reads or tables.images.symmetries:
            return tables.evaluate(move, word, read, index)
        slot = step.guard[0]
        at = footprint.reads.index(slot)
        before, rest = read[at], (move, word, *read[:at], *read[at + 1 :])
        known, after = self.besides.get(rest), self.claimed.get((index, before))
        if known is not None and known.reaction < 0:
            return known.reaction
        if known is not None and after is not None:
            return self._together(known, slot, before, after)
        found = tables.evaluate(move, word, read, index)
        if found >= 0:
            _, lo, hi, *_ = tables.reactions[found]
            after = self.claimed[index, before] = dict(tables.change.items[lo:hi]).get(slot, before)
        if found != FAILED and (after is None or after != before):
            self.besides[rest] = Known(found, before, before if after is None else after)
        return found

    def _together(self, known: Known, slot: Slot, before: int, after: int) -> int:
        """A reaction that does the same as one that is known, with another claim."""
        tables, key = self.tables, self.tables.key
        taken, lo, hi, begin, end, *_ = tables.reactions[known.reaction]
        now = dict(tables.change.items[lo:hi])
        now[slot] = after
        parts = tables.delta[known.reaction], key[known.before], key[known.after], key[before], key[after]
        tables.delta.append(tuple([a ^ b ^ c ^ d ^ e for a, b, c, d, e in zip(*parts, strict=True)]))
        touched = {*now, *(slot for slot, _ in tables.appended.items[begin:end]), *(() if taken < 0 else (taken,))}
        return tables.reactions.append((taken, *tables.change.extend([*now.items()]), begin, end, *tables.add_touched(touched, now)))
