"""Lists that grow at their ends, for Python, and arrays of the same, for the compiled loops."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

ENOUGH = 1024


def flat(tuples: Sequence[tuple[int, ...]], width: int, dtype: Any) -> Any:
    """[n, width]: an array of tuples that are `width` long each; numpy itself takes twice as long for it."""
    return np.fromiter(chain.from_iterable(tuples), dtype, width * len(tuples)).reshape(-1, width)


class Column:
    """A list that grows at its end, and an array of the same for the kernels."""

    def __init__(self, dtype: Any, width: int | None = None) -> None:
        self.width = 1 if width is None else width
        self.items: list[Any] = []  # numbers, or tuples of them
        self._array = np.zeros(ENOUGH if width is None else (ENOUGH, width), dtype)
        self._done = 0  # so many are in the array

    def append(self, value: Any) -> int:
        """Its index."""
        self.items.append(value)
        return len(self.items) - 1

    def extend(self, values: Sequence[Any]) -> tuple[int, int]:
        """The range of their indices."""
        start = len(self.items)
        self.items.extend(values)
        return start, len(self.items)

    def __getitem__(self, index: int) -> Any:
        return self.items[index]

    def __setitem__(self, index: int, value: Any) -> None:
        self.items[index] = value
        if index < self._done:
            self._array[index] = value

    @property
    def array(self) -> Any:
        """With some room at its end."""
        if self._done < len(self.items):
            while len(self.items) > len(self._array):
                self._array = np.concatenate([self._array, np.zeros_like(self._array)])
            new = self.items[self._done :]
            if self.width > 1:
                self._array[self._done : len(self.items)] = flat(new, self.width, self._array.dtype)
            else:
                self._array[self._done : len(self.items)] = new
            self._done = len(self.items)
        return self._array
