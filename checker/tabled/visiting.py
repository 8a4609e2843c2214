"""The visited set: which states were found, and their numbers.  Its loops are in `visited`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import visited
from .store import Part, where

if TYPE_CHECKING:
    from .search import Candidates


class VisitedSet:
    """In parts, told apart by the fingerprint.  `each` runs a task for each tuple of arguments, on all workers."""

    def __init__(self, width: int, folder: Path | None, each: Callable[..., list[Any]]) -> None:
        self.parts = [Part(width, folder) for _ in range(visited.PARTS)]
        self.each = each

    def insert(self, c: Candidates, rows: int, shares: list[tuple[int, int]], base: int) -> int:
        """Look up the candidates of so many rows, each worker those of its share, and add those that are new, which get the numbers from `base` on.

        Answers how many they are.  Raises StoreError.
        """
        away = [p for p, part in enumerate(self.parts) if part.away]
        if len(shares) > 1 or away:
            return self._insert_apart(c, rows, shares, base, away)
        c.late, row, fresh = False, 0, 0
        while row < rows:
            left = self._room_left()
            row, fresh = visited.insert(where(self.parts), left, c.prints, c.start, c.size, row, rows, base, fresh, c.target, c.new, c.origin)
            self._fill(left)
        return fresh

    def _insert_apart(self, c: Candidates, rows: int, shares: list[tuple[int, int]], base: int, away: list[int]) -> int:
        """As `insert`, each worker for parts of its own, and then each part that is away for itself."""
        here = [p for p in range(visited.PARTS) if p not in away]
        c.late = True
        self._insert_parts(c, rows, base, [[p for p in here if p % len(shares) == share] for share in range(len(shares))])
        before = [part.count for part in self.parts]
        for p in away:
            self.parts[p].fetch()
            self._insert_parts(c, rows, base, [[p]])
            self.parts[p].put_away(self.parts[p].count > before[p])
        counts = self.each(visited.count_new, [(c.target, c.start, c.size, lo, hi, base) for lo, hi in shares])
        places, fresh = where(self.parts), int(sum(counts))
        self.each(visited.number_new, [
            (places, c.prints, c.target, c.place, c.start, c.size, lo, hi, base, sum(counts[:share]), c.final, c.new, c.origin)
            for share, (lo, hi) in enumerate(shares)
        ])  # fmt: skip
        if away:
            new = c.new[:fresh]
            part_of = c.prints[new, 0] >> visited.PART_SHIFT
            for p in away:
                added = new[part_of == p]
                self.parts[p].number_later(c.place[added], c.final[added])
        return fresh

    def _insert_parts(self, c: Candidates, rows: int, base: int, chosen: list[list[int]]) -> None:
        """Look candidates up in some parts, which are in memory: in some on each worker."""
        mine, row = np.zeros((len(chosen), visited.PARTS), np.uint8), [0] * len(chosen)
        moved = np.zeros(visited.PARTS, np.uint8)
        for share, parts in enumerate(chosen):
            mine[share, parts] = 1
        while todo := [share for share in range(len(chosen)) if row[share] < rows]:
            places, left = where(self.parts), self._room_left()
            done = self.each(visited.insert_some, [
                (places, mine[share], left, c.prints, c.start, c.size, row[share], rows, base, c.target, c.place) for share in todo
            ])  # fmt: skip
            for share, reached in zip(todo, done, strict=True):
                row[share] = reached
            moved[self._fill(left)] = 1
        if moved.any():
            visited.place_again(where(self.parts), moved, c.prints, c.start, c.size, rows, base, c.target, c.place)

    def _room_left(self) -> Any:
        """How many more states each part has room for."""
        return np.array([part.left for part in self.parts])

    def _fill(self, left: Any) -> list[int]:
        """The parts have been filled so far; if one is full, those that nearly are grow.  Answers which did."""
        for part, more in zip(self.parts, left.tolist(), strict=True):
            part.count += part.left - more
        growing = [] if left.all() else [p for p, part in enumerate(self.parts) if not part.away and 32 * part.left <= part.count]
        self.each(Part.grow, [(self.parts[p],) for p in growing])
        return growing
