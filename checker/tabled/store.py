"""What the search keeps of the states that it has found: a set of fingerprints, and logs by the states' numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .visited import move_part

PARTS = 32  # of the visited set, told apart by the top bits of the fingerprint
PART_SHIFT = np.uint64(64 - 5)
FULLEST = 0.75


class Part:
    """A hash table from fingerprints to numbers of states: open addressing, at most three quarters full, grown by half."""

    def __init__(self, width: int) -> None:
        self.keys = np.zeros((64, width), np.uint64)
        self.numbers = np.zeros(64, np.uint32)
        self.count = 0

    def reserve(self, more: int) -> None:
        """Make room for that many more."""
        room, need = len(self.numbers), self.count + more
        if need <= FULLEST * room:
            return
        while need > FULLEST * room:
            room = room * 3 // 2
        keys, numbers = np.zeros((room, self.keys.shape[1]), np.uint64), np.zeros(room, np.uint32)
        move_part(self.keys, self.numbers, keys, numbers)
        self.keys, self.numbers = keys, numbers


class Log:
    """A sequence of numbers that grows at its end, in blocks, so that growing copies nothing."""

    BLOCK = 1 << 20

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.blocks: list[NDArray[Any]] = []
        self.length = 0

    def __len__(self) -> int:
        return self.length

    def extend(self, values: NDArray[Any]) -> None:
        """Add at the end."""
        done = 0
        while done < len(values):
            at = self.length % self.BLOCK
            if at == 0 and self.length == len(self.blocks) * self.BLOCK:
                self.blocks.append(np.empty(self.BLOCK if self.length else 4096, self.dtype))
            block = self.blocks[-1]
            if len(block) < self.BLOCK and at + len(values) - done > len(block):  # the first block starts small
                self.blocks[-1] = block = np.concatenate([block, np.empty(min(self.BLOCK, 2 * (at + len(values))) - len(block), self.dtype)])
            part = min(len(block) - at, len(values) - done)
            block[at : at + part] = values[done : done + part]
            self.length += part
            done += part

    def __getitem__(self, index: int) -> int:
        return int(self.blocks[index // self.BLOCK][index % self.BLOCK])

    def put(self, indices: NDArray[Any], value: int) -> None:
        """Overwrite those at these indices."""
        for index in indices.tolist():
            self.blocks[index // self.BLOCK][index % self.BLOCK] = value

    def at(self, indices: NDArray[Any]) -> NDArray[Any]:
        """Those at these indices."""
        out = np.empty(len(indices), self.dtype)
        for b in np.unique(indices // self.BLOCK).tolist():
            here = indices // self.BLOCK == b
            out[here] = self.blocks[b][indices[here] % self.BLOCK]
        return out

    def read(self, lo: int, hi: int) -> NDArray[Any]:
        """A copy of lo…hi-1."""
        first, last = lo // self.BLOCK, (hi - 1) // self.BLOCK if hi > lo else lo // self.BLOCK - 1
        parts = [self.blocks[b][max(0, lo - b * self.BLOCK) : hi - b * self.BLOCK] for b in range(first, last + 1)]
        return np.concatenate(parts) if parts else np.empty(0, self.dtype)
