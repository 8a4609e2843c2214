"""Keys by content: 128 bits for each value of each slot, the same in every process and in whatever order values turn up.

A state's fingerprint is the exclusive or of the keys of its values, so a step changes it in the slots that it touches and nowhere else.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, lru_cache
from hashlib import blake2b
from struct import unpack

from roamcheck.model.interface import Value


class Unkeyed(TypeError):
    """A value of a kind that has no canonical form."""


def keys(slot_name: str, value: Value) -> tuple[int, int]:
    """Two 64-bit numbers, a random function of the slot's name and of the value.  Equal values have equal keys.  Raises Unkeyed."""
    whole = is_dataclass(value) and not isinstance(value, type)
    form = _record.__wrapped__(value) if whole else _form(value)  # it comes once: its parts alone are worth remembering
    return unpack("<QQ", blake2b(_form(slot_name) + form, digest_size=16).digest())


def _form(value: object) -> bytes:
    """A prefix code: what is inside is counted before it is listed, so that no two values share a form unless they are equal."""
    match value:
        case str():
            return _text(b"s", value)
        case bool() | int():  # 1 == True
            return _text(b"i", str(int(value)))
        case tuple():
            return b"t%d:" % len(value) + b"".join([_form(part) for part in value])
        case frozenset():
            return b"S%d:" % len(value) + b"".join(sorted([_form(part) for part in value]))
        case None:
            return b"N"
        case Enum():  # and not one whose members equal strings or numbers
            return _text(b"E", f"{type(value).__qualname__}.{value.name}")
        case float():
            return _text(b"i", str(int(value))) if value.is_integer() else _text(b"f", value.hex())
        case bytes():
            return b"b%d:" % len(value) + value
        case _ if is_dataclass(value) and not isinstance(value, type):
            return _record(value)  # type: ignore[arg-type]
        case _:
            raise Unkeyed(f"a {type(value).__name__} has no key; use None, numbers, strings, bytes, tuples, frozensets, enums and frozen dataclasses")


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
