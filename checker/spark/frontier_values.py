"""Values on their way between processes: as data that runs nothing when it is read, and by numbers on which all processes agree.

A value that everyone knows goes by its *shared number*, which counts the values of its slot in the order in which the driver heard of them.
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
from collections.abc import Iterable, Sequence
from dataclasses import is_dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from roamcheck.checker.tabled.contents import keys
from roamcheck.checker.tabled.tables import Tables
from roamcheck.model.interface import Slot, Value

HEAD = struct.Struct("<HI16s")


class Damaged(Exception):
    """A file does not hold what was written to it; one line."""


class Content(NamedTuple):
    """A value of a slot: a key that tells it from every other one, and itself as data."""

    slot: Slot
    key: bytes
    data: bytes


class Reader(pickle.Unpickler):
    """Makes values of records, enums and frozen sets that the model has brought along, and calls nothing else, whoever wrote them."""

    def find_class(self, module: str, name: str) -> Any:
        """Raises Damaged."""
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if isinstance(found, type) and (is_dataclass(found) or issubclass(found, Enum | frozenset | tuple)):
            return found
        raise Damaged(f"{module}.{name} is no value of a state")


def to_data(value: Value) -> bytes:
    """A value as data."""
    return pickle.dumps(value, protocol=5)


def from_data(data: bytes) -> Value:
    """The value.  Raises Damaged."""
    try:
        value: Value = Reader(io.BytesIO(data)).load()
    except Exception as error:  # whatever comes of octets that nobody wrote
        raise Damaged(f"a value cannot be read: {error}") from None
    return value


def joined(contents: Iterable[Content]) -> bytes:
    """Contents as octets."""
    return b"".join(HEAD.pack(one.slot, len(one.data), one.key) + one.data for one in contents)


def parted(octets: bytes) -> list[Content]:
    """Contents of octets.  Raises Damaged."""
    found, at = [], 0
    try:
        while at < len(octets):
            slot, length, key = HEAD.unpack_from(octets, at)
            at += HEAD.size + length
            found.append(Content(slot, key, octets[at - length : at]))
    except struct.error:
        raise Damaged("the values of a block end too early") from None
    return found


class Shared:
    """The shared numbers, as the driver gives them out."""

    def __init__(self, slots: int) -> None:
        self.known: list[set[bytes]] = [set() for _ in range(slots)]

    @property
    def counts(self) -> list[int]:
        """By slot, how many values it has."""
        return [len(some) for some in self.known]

    def add(self, contents: Iterable[Content]) -> list[Content]:
        """Those that are new, in the order of their shared numbers, which depends on nothing but what was there."""
        new: list[Content] = []
        for one in sorted(contents, key=lambda one: (one.slot, one.key)):
            if one.key not in self.known[one.slot]:
                self.known[one.slot].add(one.key)
                new.append(one)
        return new


class Translation:
    """Between the shared numbers and those of this process's tables."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.own: list[list[int]] = [[] for _ in tables.numbers]  # by slot and shared number
        self._shared = np.full(1 << 10, -1, np.int32)  # by own number

    def learn(self, contents: Iterable[Content]) -> None:
        """The values with the shared numbers that follow.  Raises Damaged."""
        for one in contents:
            number = self.own_number(one)
            self.own[one.slot].append(number)
            self.shared[number] = len(self.own[one.slot]) - 1

    def own_number(self, one: Content) -> int:
        """Of a value of another process.  Raises Damaged."""
        return self.tables.number(one.slot, from_data(one.data))

    @property
    def shared(self) -> Any:
        """By own number, the shared one or -1."""
        more = len(self.tables.values) - len(self._shared)
        if more > 0:
            self._shared = np.concatenate([self._shared, np.full(max(more, len(self._shared)), -1, np.int32)])
        return self._shared

    def content(self, number: int) -> Content:
        """The value with an own number."""
        slot, value = self.tables.slots[number], self.tables.values[number]
        return Content(slot, struct.pack("<QQ", *keys(self.tables.model.layout.slots[slot].name, value)), to_data(value))

    def numbering(self, base: Sequence[int], marks: Any) -> tuple[Any, list[int], list[Content]]:
        """Numbers for the values that are marked: by own number; how many each slot has; and what is not among the first `base` of them."""
        number = self.shared[: len(self.tables.values)].copy()
        base_of = np.array(base, np.int32)[self.tables.slots]
        unknown = np.flatnonzero((marks[: len(number)] > 0) & ((number < 0) | (number >= base_of))).tolist()
        counts, extra = list(base), []
        for own in unknown:
            content = self.content(own)
            number[own] = counts[content.slot]
            counts[content.slot] += 1
            extra.append(content)
        return number, counts, extra

    def values_of(self, base: Sequence[int], extra: Iterable[Content], widths: bytes) -> tuple[Any, Any]:
        """The own numbers by slot and number, one slot after the other, and where each slot begins; `extra` follows on the first `base`.

        What the widths of the slots have room for beyond is -1.  Raises Damaged.
        """
        found = [self.own[slot][:known] for slot, known in enumerate(base)]
        for one in extra:
            found[one.slot].append(self.own_number(one))
        for width, some in zip(widths, found, strict=True):
            some.extend([-1] * ((1 << width) - len(some)))
        begin = np.cumsum([0, *map(len, found)])[:-1].astype(np.int64)
        return np.array([number for some in found for number in some], np.int32), begin
