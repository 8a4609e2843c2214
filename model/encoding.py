"""One canonical encoding of everything that a state can hold: readable data, and a digest that is the same in every process.

`to_data` is for readers: JSON with the names of the fields.  `digest` is for machines: each type bears its name and equal states alone
encode equally, so that neither the salt of `hash()` nor the platform shows.  `message_from_data` takes a message back, and checks it.
"""

from __future__ import annotations

import json
import re
import types
import typing
from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import blake2b
from typing import Any, get_args, get_origin, get_type_hints

from roamcheck.spec.arrow_state import ArrowBroker
from roamcheck.spec.filters import NAME, NAME_RULE, show
from roamcheck.spec.messages import INFINITE, KINDS, Message
from roamcheck.spec.state import Broker

from .interface import State, Value
from .overlay import Overlay
from .scenario import JSON
from .world import Budget

DIGEST = re.compile(r"[0-9a-f]{32}")  # what `digest` returns
MAPS = {
    (Broker, "timestamps"), (Broker, "queues"), (ArrowBroker, "timestamps"), (ArrowBroker, "queues"), (ArrowBroker, "directions"),
    (ArrowBroker, "greeted"), (Overlay, "parents"), (Budget, "left"),
}  # sorted pairs of a name and a value  # fmt: skip
_HOPS = re.compile(r"∞(\+[1-9][0-9]{0,17})?")


class NoMessage(ValueError):
    """Data that is no message: `path` leads to the part that is wrong, `found` is there, and `hint` says what would be right."""

    def __init__(self, path: tuple[str, ...], found: str | None, problem: str, hint: str) -> None:
        super().__init__(path, found, problem, hint)
        self.path, self.found, self.problem, self.hint = path, found, problem, hint


# ---- data, to be read --------------------------------------------------------------------------------------------------------


def to_data(value: Any) -> JSON:
    """A value as JSON: fields by name, a message with its kind, a set as a sorted list, the hop count ∞ as "∞".

    Raises TypeError for a value that has no place in a state.
    """
    if isinstance(value, Enum):
        return value.name
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if value < INFINITE else "∞" if value == INFINITE else f"∞+{value - INFINITE}"
    if isinstance(value, frozenset):
        return [to_data(item) for item in sorted(value, key=canonical)]
    names = _field_names(type(value))
    if names is not None:
        data: dict[str, JSON] = {"kind": KINDS[type(value)]} if type(value) in KINDS else {}
        for name in names:
            item = getattr(value, name)
            data[name] = {key: to_data(part) for key, part in item} if (type(value), name) in MAPS else to_data(item)
        return data
    if isinstance(value, tuple):
        return [to_data(item) for item in value]
    raise TypeError(f"a {type(value).__name__} has no place in a state")


def _field_names(of: type) -> tuple[str, ...] | None:
    """The fields of a dataclass or a NamedTuple that make up its value, in order; None for any other type."""
    if is_dataclass(of):
        return tuple(field.name for field in fields(of) if field.compare)
    return getattr(of, "_fields", None) if issubclass(of, tuple) else None


# ---- digests -----------------------------------------------------------------------------------------------------------------


def canonical(value: Value) -> str:
    """A text in ASCII that is the same for equal values and for no others of types with different names."""
    return json.dumps(_tagged(value), separators=(",", ":"))


def digest(state: State) -> str:
    """128 bits of BLAKE2b over the canonical encoding of a whole state, in hexadecimal."""
    return blake2b(canonical(tuple(state)).encode("ascii"), digest_size=16).hexdigest()


def _tagged(value: Any) -> Any:
    """What has parts becomes a list that begins with its type; none of the tags of the built-in types can be the name of a class."""
    if isinstance(value, Enum):
        return ["enum " + type(value).__qualname__, value.name]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, frozenset):
        return ["{}", *sorted((_tagged(item) for item in value), key=json.dumps)]
    names = _field_names(type(value))
    if names is not None:
        return [type(value).__qualname__, *(_tagged(getattr(value, name)) for name in names)]
    if isinstance(value, tuple):
        return ["()", *map(_tagged, value)]
    raise TypeError(f"a {type(value).__name__} has no place in a state")


# ---- messages, taken back ----------------------------------------------------------------------------------------------------


def message_from_data(data: object) -> Message:
    """The message that `to_data` gave; raises NoMessage."""
    table = _table((), data, None)
    kinds = sorted(set(KINDS.values()))
    named = table.get("kind")
    if not isinstance(named, str) or named not in kinds:
        raise NoMessage(("kind",), None if named is None else show(named), "no kind of message", f"kinds are {', '.join(kinds)}")
    candidates = [of for of, name in KINDS.items() if name == named]
    of = next((of for of in candidates if set(table) == {"kind", *(_field_names(of) or ())}), candidates[-1])
    return typing.cast(Message, _fields_of(of, (), {key: value for key, value in table.items() if key != "kind"}))


def _fields_of(of: type, path: tuple[str, ...], data: object) -> object:
    names = _field_names(of) or ()
    table = _table(path, data, names)
    hints = get_type_hints(of)
    return of(*(_decoded(hints[name], (*path, name), table[name]) for name in names))


def _table(path: tuple[str, ...], data: object, names: tuple[str, ...] | None) -> dict[str, object]:
    if not isinstance(data, dict):
        raise NoMessage(path, show(data), "not a table", f"keys are {', '.join(names)}" if names else "a message is a table with its kind and fields")
    for name in data if names is not None else ():
        if names is not None and name not in names:
            raise NoMessage((*path, name), show(data[name]), "unknown key", f"keys are {', '.join(names)}" if names else "there are no fields")
    for name in names or ():
        if name not in data:
            raise NoMessage(path, None, f"{name} is missing", f"keys are {', '.join(names or ())}")
    return data


def _decoded(hint: Any, path: tuple[str, ...], data: object) -> object:
    """A field of a message, as its type wants it."""
    if hint is int:
        return _number(path, data)
    if hint == Message:
        return message_from_data(data)
    if hint is bool:
        if not isinstance(data, bool):
            raise NoMessage(path, show(data), "not a truth value", "true or false")
        return data
    if get_origin(hint) is tuple:
        if not isinstance(data, list):
            raise NoMessage(path, show(data), "not a list", "a set or a sequence is a list")
        return tuple(_decoded(get_args(hint)[0], (*path, str(index)), item) for index, item in enumerate(data, 1))
    if isinstance(hint, type) and _field_names(hint) is not None:
        return _fields_of(hint, path, data)
    assert hint is str or isinstance(hint, typing.NewType) or get_origin(hint) in (typing.Union, types.UnionType)
    if not isinstance(data, str) or not (data == "" or NAME.fullmatch(data)):  # "": nobody
        raise NoMessage(path, show(data), "not a name", NAME_RULE)
    return data


def _number(path: tuple[str, ...], data: object) -> int:
    if isinstance(data, str) and _HOPS.fullmatch(data):
        return INFINITE + int(data[1:] or "0")
    if isinstance(data, bool) or not isinstance(data, int) or not 0 <= data < INFINITE:
        raise NoMessage(path, show(data), "not a count", 'a count is an integer from 0, or "∞"')
    return data
