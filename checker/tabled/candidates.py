"""What the steps of a batch lead to, before it is known which of it is new; and what its pieces note while that is found out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .kernels import apart
from .store import Chunk, Distant

EACH = 8  # candidates of a row that there is room for at first, on the average
MISSES = 1 << 12


class Candidates:
    """Room for the candidates of a batch, `each` for each of its rows, and `more` for each share of them.

    Those of row r are the places start[r]…start[r] + size[r] - 1, in the order of the steps.
    """

    def __init__(self, rows: int, places: int, width: int, each: int = EACH, more: int = 0) -> None:
        self.rows, self.each, self.more = rows, each, more
        self.prints, self.step, self.reaction = np.empty((places, width), np.uint64), np.empty(places, np.uint16), np.empty(places, np.int32)
        # What they lead to: its number, or if `late` that in `final`, by rank in the order of the rows, for one that is new.
        self.target, self.final, self.place, self.new, self.origin = (np.empty(places, np.uint32) for _ in range(5))
        self.late = False
        self.start, self.size = np.empty(rows, np.uint32), np.zeros(rows, np.uint16)

    def room_for(self, rows: int, shares: int, each: int, more: int) -> Candidates:
        """These, or others with enough room."""
        each, rows, there = max(each, self.each), max(rows, self.rows), len(self.final)
        if rows > self.rows or each * rows + shares * more > there:
            return Candidates(rows, max(each * rows + shares * more, there), self.prints.shape[1], each, more)
        self.each, self.more = each, more
        return self

    def begin(self, share: int, row: int) -> int:
        """The place at which those of a share begin, if its first row is this one; before it those of the share before end."""
        return self.each * row + self.more * share

    def cut(self, row: int, step: int) -> None:
        """Drop what comes after the candidate of this row and step."""
        self.size[row + 1 :] = 0
        at = int(self.start[row])
        self.size[row] = np.count_nonzero(self.step[at : at + int(self.size[row])] <= step)

    @property
    def numbers(self) -> Any:
        """The numbers of the new states, if `late`."""
        return self.final if self.late else self.final[:0]

    def fired(self, rows: int, steps: int) -> Any:
        """How often each step is there."""
        return np.bincount(self.step[self.by_row(rows)[1]].astype(np.int64), minlength=steps)

    def by_row(self, rows: int) -> tuple[Any, Any]:
        """All of so many rows, one row after the other: the row and the place of each."""
        size = self.size[:rows].astype(np.int64)
        at = np.repeat(self.start[:rows].astype(np.int64) - np.cumsum(size) + size, size) + np.arange(size.sum())
        return np.repeat(np.arange(rows), size), at


class Notes:
    """What a piece of a batch notes: keys that have no answer, and the answers to those that were looked up last."""

    def __init__(self, keys: int) -> None:
        self.misses, self.seen = np.zeros((MISSES, 3), np.int64), np.zeros(4 * MISSES, np.int64)
        self.keys, self.answers = apart((keys,), np.int64), apart((keys,), np.int64)
        self.keys.fill(-1)
        self._asked: Any = None

    def begin(self, tables: Any) -> None:
        """Look-ups go to these tables from now on: what was answered by others is forgotten."""
        if self._asked is not tables:
            self._asked = tables
            self.keys.fill(-1)

    def missed(self, count: int) -> Any:
        """What was missed, [count, 3]; then, nothing is."""
        self.seen.fill(0)
        return self.misses[:count].copy()


@dataclass(slots=True)
class Expanded:
    """A batch whose candidates are known, and not yet which of them are new."""

    batch: Chunk
    full: Any  # [row] U8: whether all that is enabled was fired
    candidates: Candidates
    fired: Any  # [step] I64: how often
    fired_by: Any  # [share, step] I64
    failed: tuple[int, int] | None
    children: list[Chunk | Distant]  # where the new states go
    deepens: bool  # it is the first of its level
