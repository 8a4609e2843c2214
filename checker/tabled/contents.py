"""Keys by content: 128 bits for each value of each slot, the same in every process and in whatever order values turn up.

A state's fingerprint is the exclusive or of the keys of its values, so a step changes it in the slots that it touches and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, lru_cache, partial
from hashlib import blake2b
from struct import unpack
from types import NoneType
from typing import Any

from roamcheck.model.interface import Value


class Unkeyed(TypeError):
    """A value of a kind that has no canonical form."""


def keys(slot_name: str, value: Value) -> tuple[int, int]:
    """Two 64-bit numbers, a random function of the slot's name and of the value.  Equal values have equal keys.  Raises Unkeyed."""
    former = _former(type(value))
    form = _record.__wrapped__(value) if former is _record else former(value)  # it comes once: its parts alone are worth remembering
    x, y = unpack("<QQ", blake2b(_text(b"s", slot_name) + form, digest_size=16).digest())
    return x, y


def _form(value: Any) -> bytes:
    """A prefix code: what is inside is counted before it is listed, so that no two values share a form unless they are equal."""
    return _former(type(value))(value)  # type: ignore[arg-type]  # types can be hashed


@cache
def _former(kind: type) -> Callable[[Any], bytes]:
    """What gives values of this kind their form."""
    if issubclass(kind, str):
        return partial(_text, b"s")
    if issubclass(kind, int):  # 1 == True
        return _whole
    if issubclass(kind, tuple):
        return _sequence
    if issubclass(kind, frozenset):
        return _set
    if kind is NoneType:
        return lambda _: b"N"
    if issubclass(kind, Enum):  # and not one whose members equal strings or numbers
        return lambda value: _text(b"E", f"{kind.__qualname__}.{value.name}")
    if issubclass(kind, float):
        return lambda value: _whole(value) if value.is_integer() else _text(b"f", value.hex())
    if issubclass(kind, bytes):
        return lambda value: b"b%d:" % len(value) + value
    if is_dataclass(kind):
        return _record
    raise Unkeyed(f"a {kind.__name__} has no key; use None, numbers, strings, bytes, tuples, frozensets, enums and frozen dataclasses")


def _whole(value: float) -> bytes:
    return _text(b"i", str(int(value)))


def _sequence(value: tuple[object, ...]) -> bytes:
    return b"t%d:" % len(value) + b"".join([_form(part) for part in value])


def _set(value: frozenset[object]) -> bytes:
    return b"S%d:" % len(value) + b"".join(sorted([_form(part) for part in value]))


@lru_cache(maxsize=1 << 14)  # values are made of parts that many of them share
def _record(value: Hashable) -> bytes:
    """The form of a dataclass."""
    mark, compared = _compared(type(value))
    return mark + b"".join([_form(getattr(value, name)) for name in compared])


@cache
def _compared(kind: type) -> tuple[bytes, tuple[str, ...]]:
    """How values of a dataclass begin, and the fields that make them equal."""
    compared = tuple(f.name for f in fields(kind) if f.compare)
    return _text(b"d", kind.__qualname__) + b"%d:" % len(compared), compared


@lru_cache(maxsize=1 << 14)
def _text(mark: bytes, text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return b"%s%d:" % (mark, len(data)) + data
