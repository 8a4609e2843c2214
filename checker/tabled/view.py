"""What was learnt, as the compiled loops look it up."""

from __future__ import annotations

import numpy as np

from .column import ENOUGH, flat
from .kernels import Arrays, store_answers


class View:
    """The answers as an array for kernels that run at the same time: what is added for some others must not meet these at their look-ups."""

    def __init__(self) -> None:
        self.asked = np.zeros((ENOUGH, 2), np.int64)
        self.shift = np.uint64(64 - (ENOUGH.bit_length() - 1))
        self.given = 0  # so many of the new answers are there
        self.size: tuple[int, ...] = ()
        self.arrays: Arrays | None = None  # of tables of this size

    def give(self, answers: list[tuple[int, int]], known: int) -> None:
        """Add the answers that are new here; with them, so many are known."""
        places = len(self.asked)
        while 2 * known >= places:
            places *= 2
        if places > len(self.asked):
            asked = np.zeros((places, 2), np.int64)
            self.shift = np.uint64(64 - (places.bit_length() - 1))
            store_answers(self.asked, asked, self.shift)
            self.asked = asked
        store_answers(flat(answers[self.given :], 2, np.int64), self.asked, self.shift)
        self.given = len(answers)
