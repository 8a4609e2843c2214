"""Keys by content: 128 bits for each value of each slot, the same in every process and in whatever order values turn up.

A state's fingerprint is the exclusive or of the keys of its values, so a step changes it in the slots that it touches and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from hashlib import blake2b

from roamcheck.model.interface import Value


class Unkeyed(TypeError):
    """A value of a kind that has no canonical form."""


def keys(slot_name: str, value: Value) -> tuple[int, int]:
    """Two 64-bit numbers, a random function of the slot's name and of the value.  Equal values have equal keys.  Raises Unkeyed."""
    digest = blake2b(b"".join(_parts(slot_name)) + b"".join(_parts(value)), digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


def _parts(value: object) -> Iterator[bytes]:
    """A prefix code: what is inside is counted before it is listed, so that no two values share a form unless they are equal."""
    match value:
        case None:
            yield b"N"
        case Enum() if not isinstance(value, int | str):  # an IntEnum equals its number
            yield _text(b"E", f"{type(value).__qualname__}.{value.name}")
        case str():
            yield _text(b"s", value)
        case bool() | int():  # 1 == True
            yield _text(b"i", str(int(value)))
        case float():
            yield _text(b"i", str(int(value))) if value.is_integer() else _text(b"f", value.hex())
        case bytes():
            yield b"b%d:" % len(value) + value
        case tuple():
            yield b"t%d:" % len(value)
            for part in value:
                yield from _parts(part)
        case frozenset():
            yield b"S%d:" % len(value)
            yield from sorted(b"".join(_parts(part)) for part in value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            mark, compared = _form(type(value))
            yield mark
            for name in compared:
                yield from _parts(getattr(value, name))
        case _:
            raise Unkeyed(f"a {type(value).__name__} has no key; use None, numbers, strings, bytes, tuples, frozensets, enums and frozen dataclasses")


@cache
def _form(kind: type) -> tuple[bytes, tuple[str, ...]]:
    """How values of a dataclass begin, and the fields that make them equal."""
    compared = tuple(f.name for f in fields(kind) if f.compare)
    return _text(b"d", kind.__qualname__) + b"%d:" % len(compared), compared


def _text(mark: bytes, text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return b"%s%d:" % (mark, len(data)) + data
