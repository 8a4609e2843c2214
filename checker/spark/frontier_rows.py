"""Blocks: many states as one row of a table, each state a few words of packed numbers.  They are shuffled, and the frontier is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from . import frontier_kernels as kernels
from .frontier_values import Content, Damaged, Translation, joined, parted

CELLS = ("prints", "labels", "flags", "words", "widths", "base", "extra")  # the columns of a block, octets all of them


class Packing(NamedTuple):
    """Where the number of each slot stands in the words of a row."""

    word: Any  # I64
    shift: Any  # U64
    mask: Any  # U64
    words: int


@lru_cache(maxsize=256)
def packing(widths: bytes) -> Packing:
    """Slots of so many bits, each in the first word that has room."""
    room: list[int] = [64]
    word, shift = [], []
    for width in widths:
        at = next((w for w, left in enumerate(room) if left >= width), len(room))
        if at == len(room):
            room.append(64)
        word.append(at)
        shift.append(64 - room[at] if width else 0)
        room[at] -= width
    mask = [(1 << width) - 1 for width in widths]
    return Packing(np.array(word, np.int64), np.array(shift, np.uint64), np.array(mask, np.uint64), len(room))


def widths_of(counts: Iterable[int]) -> bytes:
    """By slot, how many bits tell so many values apart."""
    return bytes(max(0, count - 1).bit_length() for count in counts)


@dataclass(slots=True)
class Block:
    """States, or candidates."""

    prints: Any  # [state] U64
    labels: Any  # [state] U64
    flags: Any  # [state] U8, or nothing
    words: Any  # [state, word] U64
    widths: bytes  # by slot: bits
    base: Any  # [slot] I32: how many shared numbers there were; those from there on stand for
    extra: list[Content]  # of the slot, in this order

    def __len__(self) -> int:
        return len(self.prints)

    def cells(self) -> dict[str, bytes]:
        """As octets."""
        arrays = {"prints": self.prints, "labels": self.labels, "flags": self.flags, "words": self.words, "base": self.base}
        octets = {name: np.ascontiguousarray(array).tobytes() for name, array in arrays.items()}
        return {**octets, "widths": self.widths, "extra": joined(self.extra)}

    def take(self, at: Any) -> Block:
        """Some of it."""
        flags = self.flags[at] if len(self.flags) else self.flags
        return Block(self.prints[at], self.labels[at], flags, self.words[at], self.widths, self.base, self.extra)


def block_of(cells: Mapping[str, Any]) -> Block:
    """Of octets.  Raises Damaged."""
    try:
        prints, labels, words = (np.frombuffer(cells[name], np.uint64).copy() for name in ("prints", "labels", "words"))
        flags, base = np.frombuffer(cells["flags"], np.uint8), np.frombuffer(cells["base"], np.int32)
        widths = bytes(cells["widths"])
        if len(labels) != len(prints) or len(flags) not in (0, len(prints)) or len(base) != len(widths):
            raise ValueError
        words = words.reshape(len(prints), packing(widths).words)
    except ValueError:
        raise Damaged("a block has columns of other lengths than its states") from None
    return Block(prints, labels, flags, words, widths, base, parted(bytes(cells["extra"])))


def encode(rows: Any, prints: Any, labels: Any, flags: Any, base: Sequence[int], known: Translation) -> Block:
    """Rows of this process's tables as a block."""
    marks = np.zeros(len(known.tables.values), np.uint8)
    kernels.used(rows, marks)
    number, counts, extra = known.numbering(base, marks)
    widths = widths_of(counts)
    where = packing(widths)
    words = np.zeros((len(rows), where.words), np.uint64)
    kernels.pack(rows, number, where.word, where.shift, words)
    return Block(prints, labels, flags, words, widths, np.array(base, np.int32), extra)


def decode(block: Block, known: Translation) -> Any:
    """The rows of a block, in this process's numbers.  Raises Damaged."""
    values, begin = known.values_of(block.base.tolist(), block.extra, block.widths)
    where, kind = packing(block.widths), np.uint16 if len(known.tables.values) < 1 << 16 else np.uint32
    rows = np.empty((len(block), len(block.widths)), kind)
    kernels.unpack(block.words, where.word, where.shift, where.mask, values, begin, rows)
    if len(rows) and rows.max() == np.iinfo(kind).max:
        raise Damaged("a block has a value that is not there")
    return rows


def unified(blocks: Sequence[Block]) -> Block:
    """One block of several that were encoded over the same base, in their order."""
    first = blocks[0]
    prints, labels, flags = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("prints", "labels", "flags"))
    if all(block.widths == first.widths and not block.extra for block in blocks):
        return Block(prints, labels, flags, np.concatenate([block.words for block in blocks]), first.widths, first.base, [])
    base = first.base.tolist()
    counts, extra, number = list(base), [], {}
    for block in blocks:
        for one in block.extra:
            if (one.slot, one.key) not in number:
                number[one.slot, one.key] = counts[one.slot]
                counts[one.slot] += 1
                extra.append(one)
    widths = widths_of(counts)
    where, words = packing(widths), []
    for block in blocks:
        if block.widths == widths and not block.extra:
            words.append(block.words)
            continue
        table = [[*range(known)] for known in base]
        for one in block.extra:
            table[one.slot].append(number[one.slot, one.key])
        begin = np.cumsum([0, *map(len, table)])[:-1].astype(np.int64)
        was = packing(block.widths)
        words.append(np.zeros((len(block), where.words), np.uint64))
        flat = np.array([shared for some in table for shared in some] or [0], np.int32)
        kernels.repack(block.words, was.word, was.shift, was.mask, flat, begin, where.word, where.shift, words[-1])
    return Block(prints, labels, flags, np.concatenate(words), widths, first.base, extra)
