"""What the steps of a batch lead to, before it is known which of it is new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .store import Chunk, Distant


class Candidates:
    """Room for the candidates of a batch; those of each worker start at a multiple of `room`.

    Those of row r are the places start[r]…start[r] + size[r] - 1, in the order of the steps.
    """

    def __init__(self, workers: int, rows: int, room: int, width: int) -> None:
        places = workers * room
        self.room, self.rows = room, rows
        self.prints, self.step, self.reaction = np.empty((places, width), np.uint64), np.empty(places, np.uint16), np.empty(places, np.int32)
        # What they lead to: its number, or if `late` that in `final`, by rank in the order of the rows, for one that is new.
        self.target, self.final, self.place, self.new, self.origin = (np.empty(places, np.uint32) for _ in range(5))
        self.late = False
        self.start, self.size = np.empty(rows, np.uint32), np.zeros(rows, np.uint16)

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
