"""The visited set: which states were found, and their numbers.  Its loops are in `visited`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import visited
from .store import Part, where

if TYPE_CHECKING:
    from .candidates import Candidates


class VisitedSet:
    """In parts, told apart by the fingerprint.  `each` runs a task for each tuple of arguments, on all workers."""

    def __init__(self, width: int, folder: Path | None, each: Callable[..., list[Any]]) -> None:
        self.parts = [Part(width, folder) for _ in range(visited.PARTS)]
        self.each = each

    def insert(self, c: Candidates, rows: int, shares: list[tuple[int, int]], base: int) -> int:
        """Look up the candidates of so many rows, and add those that are new, which get the numbers from `base` on.

        Answers how many they are.  Raises StoreError.
        """
        away = [p for p, part in enumerate(self.parts) if part.away]
        return self._insert_by_parts(c, rows, shares, base, away) if away else self._insert(c, rows, base)

    @property
    def here(self) -> bool:
        """All of it is in memory."""
        return not any(part.away for part in self.parts)

    def _insert(self, c: Candidates, rows: int, base: int) -> int:
        """As `insert`, where all parts are in memory.  One thread does it all: that is less than half of what shares would have to do together."""
        c.late, row, fresh = False, 0, 0
        while row < rows:
            left = np.array([part.left for part in self.parts])
            before = left.copy()
            row, fresh = visited.insert(where(self.parts), left, c.prints, c.start, c.size, row, rows, base, fresh, c.target, c.new, c.origin)
            self.each(Part.grow, [(self.parts[p],) for p in self._fill(before - left, left == 0)])
        return fresh

    def _insert_by_parts(self, c: Candidates, rows: int, shares: list[tuple[int, int]], base: int, away: list[int]) -> int:
        """As `insert`, in shares; first in the parts that are in memory, and then in each one that is away."""
        c.late, size = True, c.size[:rows].astype(np.int64)
        ahead = np.cumsum(size) - size
        counts = self._insert_parts(c, shares, ahead, base, [p for p in range(visited.PARTS) if p not in away])
        before = [part.count for part in self.parts]
        for p in away:
            self.parts[p].fetch()
            counts += self._insert_parts(c, shares, ahead, base, [p])
            self.parts[p].put_away(self.parts[p].count > before[p])
        places, fresh, after = where(self.parts), int(counts.sum()), np.cumsum(counts).tolist()
        self.each(visited.number_new, [
            (places, c.prints, c.target, c.place, c.start, c.size, ahead, lo, hi, base, count, c.final, c.new, c.origin)
            for (lo, hi), count in zip(shares, [0, *after], strict=False)
        ])  # fmt: skip
        part_of = c.prints[c.new[:fresh], 0] >> visited.PART_SHIFT
        for p in away:
            added = np.flatnonzero(part_of == p)
            self.parts[p].number_later(c.place[c.new[added]], (base + added).astype(np.uint32))
        return fresh

    def _insert_parts(self, c: Candidates, shares: list[tuple[int, int]], ahead: Any, base: int, parts: list[int]) -> Any:
        """Look candidates up in some parts, which are in memory; `ahead` of each row there are so many of them.  How many are new, by share."""
        asked, moved, row = np.zeros(visited.PARTS, np.uint8), np.zeros(visited.PARTS, np.uint8), [lo for lo, _ in shares]
        asked[parts] = 1
        while todo := [share for share, (_, hi) in enumerate(shares) if row[share] < hi]:
            places, before = where(self.parts), np.array([[part.left // len(todo) for part in self.parts]] * len(todo))
            left = before.copy()
            done = self.each(visited.insert_some, [
                (places, asked, left[k], c.prints, c.start, c.size, ahead, row[share], shares[share][1], base, c.target, c.place)
                for k, share in enumerate(todo)
            ])  # fmt: skip
            for share, reached in zip(todo, done, strict=True):
                row[share] = reached
            growing = self._fill((before - left).sum(axis=0), asked.astype(bool) & (left == 0).any(axis=0))
            self.each(Part.grow, [(self.parts[p],) for p in growing])
            moved[growing] = 1
        places = where(self.parts)
        if moved.any():
            self.each(visited.place_again, [(places, moved, c.prints, c.start, c.size, lo, hi, base, c.target, c.place) for lo, hi in shares])
        return np.array(self.each(visited.find_first, [
            (places, asked, c.prints, c.start, c.size, ahead, lo, hi, base, c.target, c.place) for lo, hi in shares
        ]))  # fmt: skip

    def _fill(self, more: Any, full: Any) -> list[int]:
        """The parts have so many more.  Answers which are to grow: if there are full ones, these and those that nearly are."""
        for part, added in zip(self.parts, more.tolist(), strict=True):
            part.count += added
        return [p for p, part in enumerate(self.parts) if full[p] or (full.any() and not part.away and 32 * part.left <= part.count)]
