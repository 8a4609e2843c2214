"""What the search keeps of the states that it has found: a set of fingerprints, logs by the states' numbers, and the states still to be explored.

All of it can be moved to files, which bear no names unless they belong to a checkpoint, so that nothing is left behind whatever ends the process.
"""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from .visited import Places, move_part

FULLEST = 0.75
FIRST, SMALL = 1 << 9, 1 << 17  # places of a part at first; one with fewer than so many grows faster


class StoreError(Exception):
    """A file could not be written or read; one line."""


@contextmanager
def told(where: str) -> Iterator[None]:
    """Say what the operating system says as a StoreError."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{where}: {error.strerror or error}") from None


def nameless(folder: Path | None) -> BinaryIO:
    """A file without a name, in this folder or in the one for temporary files."""
    with told(str(folder or tempfile.gettempdir())):
        return tempfile.TemporaryFile(buffering=0, dir=folder)


def octets(values: NDArray[Any]) -> memoryview:
    """The array's bytes, not a copy of them."""
    return memoryview(cast(Any, values)).cast("B") if values.size else memoryview(b"")


def write(file: BinaryIO, at: int, values: NDArray[Any]) -> None:
    """Write them all."""
    with told("the files of the search"):
        file.seek(at)
        left = octets(np.ascontiguousarray(values))
        while left:
            left = left[file.write(left) :]


def read(file: BinaryIO, at: int, values: NDArray[Any]) -> NDArray[Any]:
    """Fill the array from the file."""
    with told("the files of the search"):
        file.seek(at)
        left = octets(values)
        while left:
            got = file.readinto(left)  # type: ignore[attr-defined]
            if not got:
                raise StoreError("the files of the search: one ends too early")
            left = left[got:]
    return values


class Part:
    """A hash table from fingerprints to numbers of states: open addressing, at most three quarters full, grown by half once it is large.

    While it is `away`, it is in a file; its arrays are empty then.
    """

    def __init__(self, width: int, folder: Path | None = None) -> None:
        self.folder, self.width, self.count, self.room, self.away = folder, width, 0, FIRST, False
        self.data = self._new()
        self._file: BinaryIO | None = None
        self._late: list[tuple[NDArray[Any], NDArray[Any]]] = []  # places, and the numbers to be written there
        self._amended = False

    def _new(self) -> NDArray[np.uint8]:
        """Memory for the first words, the second ones and the numbers of all places, from the beginning of a cache line on."""
        data = np.zeros(self.size + 64, np.uint8)
        ahead = -data.ctypes.data % 64
        self.address = data.ctypes.data + ahead
        data = data[ahead:][: len(data) - 64]
        data[8 * self.width * self.room :] = 0xFF  # no number
        return data

    @property
    def numbers(self) -> NDArray[np.uint32]:
        """By place, the number of the state there."""
        return self.data[8 * self.width * self.room :].view(np.uint32)

    @property
    def bytes(self) -> int:
        """How much memory it takes."""
        return int(self.data.nbytes)

    @property
    def size(self) -> int:
        """How much it would take if it were here."""
        return self.room * (8 * self.width + 4)

    @property
    def left(self) -> int:
        """How many more there is room for."""
        return int(FULLEST * self.room) - self.count

    def grow(self) -> None:
        """Make room for more."""
        before, kept = where([self]), self.data
        self.room = self.room * 2 if self.room < SMALL else self.room * 3 // 16 * 8
        self.data = self._new()
        filled = np.zeros(self.room >> 3, np.uint8)  # to ask for eight words one of which was just written is slow
        move_part(before, where([self]), 0, self.width, filled)
        del kept  # not before: its address was in use

    def put_away(self, changed: bool = True) -> None:
        """Move it to its file, or forget it if the file has the same.  Raises StoreError."""
        if self._file is None:
            self._file, changed = nameless(self.folder), True
        if changed or self._amended:
            write(self._file, 0, self.data)
        self.data, self._amended, self.away = self.data[:0].copy(), False, True

    def fetch(self) -> None:
        """Have it in memory again.  Raises StoreError."""
        assert self._file is not None
        self.data = read(self._file, 0, self._new())
        self.away, self._amended = False, bool(self._late)
        for places, numbers in self._late:
            self.numbers[places] = numbers
        self._late = []

    def number_later(self, places: NDArray[Any], numbers: NDArray[Any]) -> None:
        """Numbers of states that were added before their numbers were known, while it is away."""
        if len(places):
            self._late.append((places, numbers))


def where(parts: list[Part]) -> Places:
    """Where the parts are, as long as none of them grows or is moved."""
    keys = np.array([part.address for part in parts], np.uint64)
    room = np.array([0 if part.away else part.room for part in parts], np.int64)
    seconds = keys + 8 * room.astype(np.uint64)
    return Places(keys, seconds, keys + np.array([8 * part.width for part in parts], np.uint64) * room.astype(np.uint64), room)


class Log:
    """A sequence of numbers that grows at its end, in blocks, so that growing copies nothing.  What is in its file need not be in memory."""

    def __init__(self, dtype: Any, folder: Path | None = None, block: int = 1 << 19) -> None:
        self.dtype, self.folder, self.BLOCK = np.dtype(dtype), folder, block
        self.blocks: list[NDArray[Any] | None] = [np.empty(self.BLOCK, self.dtype)]  # None: in the file
        self.length = self.written = self.checksum = 0
        self.file: BinaryIO | None = None

    def __len__(self) -> int:
        return self.length

    @property
    def bytes(self) -> int:
        """How much memory it takes."""
        here = sum(block is not None for block in self.blocks[:-1]) * self.BLOCK
        return int(self.dtype.itemsize) * (here + self.length - self.BLOCK * (len(self.blocks) - 1))

    def space(self, more: int) -> NDArray[Any]:
        """Room for so many more, to be given to `extend` before anything else is: most often where they are to stay, so that nothing is copied."""
        at = self.length - self.BLOCK * (len(self.blocks) - 1)
        block = self.blocks[-1]
        return block[at : at + more] if block is not None and at + more <= self.BLOCK else np.empty(more, self.dtype)

    def extend(self, values: NDArray[Any]) -> None:
        """Add at the end."""
        done = 0
        while done < len(values):
            at = self.length - self.BLOCK * (len(self.blocks) - 1)
            if at == self.BLOCK:
                self.blocks.append(np.empty(self.BLOCK, self.dtype))  # takes no memory before it is written to
                at = 0
            block = self.blocks[-1]
            assert block is not None
            part = min(self.BLOCK - at, len(values) - done)
            here = block[at : at + part]
            if here.ctypes.data != values.ctypes.data:  # it is not there already
                here[:] = values[done : done + part]
            self.length += part
            done += part

    def _block(self, number: int) -> NDArray[Any]:
        return self._piece(number, 0, self.BLOCK)

    def _piece(self, number: int, lo: int, hi: int) -> NDArray[Any]:
        """Those that are lo…hi-1 in a block."""
        block = self.blocks[number]
        if block is not None:
            return block[lo:hi]
        assert self.file is not None
        return read(self.file, (number * self.BLOCK + lo) * self.dtype.itemsize, np.empty(hi - lo, self.dtype))

    def __getitem__(self, index: int) -> int:
        return int(self._block(index // self.BLOCK)[index % self.BLOCK])

    def at(self, indices: NDArray[Any]) -> NDArray[Any]:
        """Those at these indices, which are in order."""
        ends = np.searchsorted(indices, np.arange(self.BLOCK, self.length + self.BLOCK, self.BLOCK)).tolist()
        found = [self._block(number)[indices[lo:hi] - number * self.BLOCK] for number, (lo, hi) in enumerate(pairwise([0, *ends])) if lo < hi]
        return found[0] if len(found) == 1 else np.concatenate([np.empty(0, self.dtype), *found])

    def read(self, lo: int, hi: int) -> NDArray[Any]:
        """Those from lo to hi-1; not to be written to."""
        numbers = range(lo // self.BLOCK, (hi - 1) // self.BLOCK + 1 if hi > lo else lo // self.BLOCK)
        parts = [self._piece(b, max(0, lo - b * self.BLOCK), min(self.BLOCK, hi - b * self.BLOCK)) for b in numbers]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, self.dtype), *parts])

    # ---- its file ----------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write what is not in the file yet.  Raises StoreError."""
        if self.file is None:
            self.file = nameless(self.folder)
        while self.written < self.length:
            number = self.written // self.BLOCK
            end = min(self.length, (number + 1) * self.BLOCK)
            block = self.blocks[number]
            assert block is not None
            values = block[self.written - number * self.BLOCK : end - number * self.BLOCK]
            write(self.file, self.written * self.dtype.itemsize, values)
            self.checksum = zlib.crc32(octets(values), self.checksum)
            self.written = end

    def put_away(self) -> None:
        """Keep no more in memory than what the next numbers are added to.  Raises StoreError."""
        self.flush()
        for number in range(len(self.blocks) - 1):
            self.blocks[number] = None

    def restore(self, length: int, checksum: int) -> bool:
        """Read so many from the file, and say whether they are those that had this checksum.  Raises StoreError."""
        assert self.file is not None
        for lo in range(0, length, self.BLOCK):
            values = read(self.file, lo * self.dtype.itemsize, np.empty(min(self.BLOCK, length - lo), self.dtype))
            self.checksum = zlib.crc32(octets(values), self.checksum)
            self.extend(values)
        self.written = length
        return self.checksum == checksum


@dataclass(slots=True)
class Chunk:
    """Some states of a level, in the order of their numbers."""

    rows: Any  # [state, slot] U16 or U32
    prints: Any  # [state, word] U64: with symmetries, of all images
    busy: Any  # [state] U16: how many slots are not idle
    first: int  # the number of the first state

    def part(self, lo: int, hi: int) -> Chunk:
        """The states lo…hi-1."""
        return Chunk(self.rows[lo:hi], self.prints[lo:hi], self.busy[lo:hi], self.first + lo)

    def fetch(self) -> Chunk:
        """It is here."""
        return self

    def __len__(self) -> int:
        return len(self.busy)

    @property
    def bytes(self) -> int:
        """How much memory it takes."""
        return int(self.rows.nbytes + self.prints.nbytes + self.busy.nbytes)


def joined(*chunks: Chunk) -> Chunk:
    """One chunk of several that follow on each other."""
    kind = np.result_type(*(chunk.rows for chunk in chunks))
    return Chunk(
        np.concatenate([chunk.rows.astype(kind, copy=False) for chunk in chunks]),
        np.concatenate([chunk.prints for chunk in chunks]),
        np.concatenate([chunk.busy for chunk in chunks]),
        chunks[0].first,
    )


class Distant:
    """A chunk in a file.  Raises StoreError when it cannot be written or read."""

    bytes = 0

    def __init__(self, chunk: Chunk, file: BinaryIO) -> None:
        self.shapes = [(some.shape, some.dtype) for some in (chunk.rows, chunk.prints, chunk.busy)]
        self.first, self.file = chunk.first, file
        file.seek(0, 2)
        self.at = at = file.tell()
        for some in (chunk.rows, chunk.prints, chunk.busy):
            write(file, at, some)
            at += some.nbytes

    def __len__(self) -> int:
        return int(self.shapes[2][0][0])

    def fetch(self) -> Chunk:
        """Read it."""
        at, found = self.at, []
        for shape, dtype in self.shapes:
            found.append(read(self.file, at, np.empty(shape, dtype)))
            at += found[-1].nbytes
        return Chunk(found[0], found[1], found[2], self.first)


def named(path: Path, new: bool) -> BinaryIO:
    """A file of a checkpoint, to be read and written.  Raises StoreError."""
    with told(str(path)):
        return path.open("w+b" if new else "r+b", buffering=0)
