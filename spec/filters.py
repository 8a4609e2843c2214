"""Filters and events: f(e) of the papers, a pure predicate (TR19 section 2 leaves its form open).

Here a filter is a conjunction of constraints on the attributes of an event, in TOML:
`hot = { topic = "t6", value = { ge = 30, lt = 50 } }`; an empty one matches every event.  What the operators mean:

* every constraint but `exists = false` asks for an attribute that is there, `ne` too: it is the negation of `eq` on the events
  that carry the attribute;
* a string, a number and a bool are never equal (true is not 1), and ordering between different types is false, not an error;
* ints and floats share one number line: 30 and 30.0 are the same value, and are stored alike.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, get_args

Value = str | int | float | bool
Attributes = tuple[tuple[str, Value], ...]
"""Of an event: sorted by name, each name once.  Python's == takes (name, True) and (name, 1) for the same: key tables by event names."""

Operator = Literal["=", "!=", "<", "<=", ">", ">=", "in", "prefix", "exists"]
OPERATORS: Mapping[str, Operator] = dict(zip(("eq", "ne", "lt", "le", "gt", "ge", "in", "prefix", "exists"), get_args(Operator), strict=True))
_KEYS: Mapping[Operator, str] = {sign: key for key, sign in OPERATORS.items()}
_COMPARE: Mapping[Operator, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "prefix": lambda value, prefix: bool(value[: len(prefix)] == prefix),
}  # fmt: skip

_ORDERED = ("ns", "an order is between numbers or between strings")
_FITTING: Mapping[Operator, tuple[str, str]] = {
    "<": _ORDERED, "<=": _ORDERED, ">": _ORDERED, ">=": _ORDERED,
    "prefix": ("s", "prefix takes a string"), "exists": ("b", "exists takes true or false"),
}  # fmt: skip

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
NAME_RULE = "a name is 1 to 64 letters, digits, '_', '.' or '-', the first a letter or a digit"
_VALUE_RULE = "a value is a string, a 64-bit integer, a finite float, true or false"


class FilterError(ValueError):
    """What was found in a filter or an event, where in its table, what is wrong with it, and what would be right."""

    def __init__(self, path: tuple[str, ...], found: str, problem: str, hint: str) -> None:
        super().__init__(path, found, problem, hint)
        self.path, self.found, self.problem, self.hint = path, found, problem, hint

    def __str__(self) -> str:
        place = ".".join(part if NAME.fullmatch(part) else show(part) for part in self.path)
        return f"{place} = {self.found}: {self.problem}; {self.hint}" if place else f"{self.found}: {self.problem}; {self.hint}"


def printable(text: str) -> str:
    """The text with its control characters, line breaks and the like escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def show(value: object) -> str:
    """A foreign value as a message may print it: on one line, short, no control characters."""
    if isinstance(value, str):
        return f'"{printable(json.dumps(value[:60], ensure_ascii=False)[1:-1])}{"..." if len(value) > 60 else ""}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) < 2**64 else "a huge integer"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list | tuple):
        shown = ", ".join("[...]" if isinstance(item, list | tuple) else show(item) for item in value[:6])
        return f"[{shown}{', ...' if len(value) > 6 else ''}]"
    if value is None:
        return "null"
    return "a table" if isinstance(value, Mapping) else f"a {type(value).__name__}"


def _kind(value: Value) -> Literal["b", "n", "s"]:
    """Bool, number or string.  Bool first: to Python it is an int."""
    return "b" if isinstance(value, bool) else "s" if isinstance(value, str) else "n"


def _value(path: tuple[str, ...], value: object) -> Value:
    """Checked, and in canonical form: 30.0 becomes 30."""
    if isinstance(value, float) and math.isfinite(value):
        return int(value) if value.is_integer() and abs(value) < 2**63 else value
    if isinstance(value, bool) or (isinstance(value, int) and -(2**63) <= value < 2**63):
        return value
    if isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value):
        return value
    raise FilterError(path, show(value), "not a value", _VALUE_RULE)


@dataclass(frozen=True, slots=True)
class Constraint:
    """One attribute, one operator, one constant (a tuple of them for `in`); refused when they do not fit."""

    attribute: str
    operator: Operator
    value: Value | tuple[Value, ...]
    kinds: str = field(init=False, repr=False)  # of each constant, a letter: keeps true and 1 apart in == and hash

    def __post_init__(self) -> None:
        path = (self.attribute, _KEYS[self.operator])
        if not NAME.fullmatch(self.attribute):
            raise FilterError(path, show(self.value), "not an attribute name", NAME_RULE)
        value: Value | tuple[Value, ...]
        if self.operator == "in":
            if not isinstance(self.value, list | tuple):
                raise FilterError(path, show(self.value), "not a list", "in takes a list of values")
            constants = tuple(v for _, v in sorted({(_kind(v), v) for v in (_value(path, v) for v in self.value)}))
            value, kinds = constants, "".join(map(_kind, constants))
        else:
            value = _value(path, self.value)
            kinds = _kind(value)
        fitting, rule = _FITTING.get(self.operator, ("bns", ""))
        if not set(kinds) <= set(fitting):
            raise FilterError(path, show(value), f"of the wrong type for {path[1]}", rule)
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "kinds", kinds)

    def constants(self) -> Iterator[tuple[str, Value]]:
        """Each constant with its kind."""
        return zip(self.kinds, self.value if isinstance(self.value, tuple) else (self.value,), strict=True)


def _order(c: Constraint) -> tuple[object, ...]:
    return (c.attribute, get_args(Operator).index(c.operator), c.kinds, c.value)


@dataclass(frozen=True, slots=True)
class Filter:
    """The conjunction of its constraints, sorted and each once: filters that say the same in the same words are equal."""

    constraints: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "constraints", tuple(sorted(set(self.constraints), key=_order)))


def matches(f: Filter, attributes: Attributes) -> bool:
    """f(e)."""
    values = dict(attributes)
    return all(_holds(c, _kind(values[c.attribute]), values[c.attribute]) if c.attribute in values else _holds_absent(c) for c in f.constraints)


def _code_points(value: Value) -> Any:
    return tuple(map(ord, value)) if isinstance(value, str) else value


def _holds_absent(c: Constraint) -> bool:
    return c.operator == "exists" and not c.value


def _holds(c: Constraint, kind: str, value: Any, embed: Callable[[Value], Any] = lambda constant: constant) -> bool:
    """Whether a value that is there meets a constraint.  `embed` takes the constants to where the value lives."""
    if c.operator == "exists":
        return bool(c.value)
    if c.operator == "in":
        return any(k == kind and embed(v) == value for k, v in c.constants())
    ((k, constant),) = c.constants()
    if c.operator == "!=":
        return k != kind or bool(embed(constant) != value)
    return k == kind and _COMPARE[c.operator](value, embed(constant))


def satisfiable(f: Filter) -> bool:
    """Whether some event matches.  Attributes are independent of each other, so one at a time decides it, exactly, over the dense
    rationals and a dense order of strings bounded below by "" (so `gt = "a", lt = "a\\0"` counts as satisfiable, though no string lies between)."""
    by_attribute: dict[str, list[Constraint]] = {}
    for c in f.constraints:
        by_attribute.setdefault(c.attribute, []).append(c)
    return all(_satisfiable(cs) for cs in by_attribute.values())


def _satisfiable(cs: Sequence[Constraint]) -> bool:
    fixed = next((c for c in cs if c.operator in ("=", "in")), None)
    samples = ((kind, _code_points(v)) for kind, v in fixed.constants()) if fixed else _samples(cs)
    return all(map(_holds_absent, cs)) or any(all(_holds(c, kind, v, _code_points) for c in cs if c is not fixed) for kind, v in samples)


def _samples(cs: Sequence[Constraint]) -> Iterator[tuple[str, Any]]:
    """Values enough to decide constraints without `=` and `in`: none of them tells apart two numbers that lie between the same constants,
    and the strings that meet them all are an interval, less finitely many, that begins at a constant or at "".
    Just above a string is the one that continues it with a character lower than any other (as tuples of code points: -1)."""
    yield from (("b", True), ("b", False))
    constants = [constant for c in cs for constant in c.constants()]
    numbers = sorted({Fraction(0)} | {Fraction(v) for k, v in constants if k == "n"})
    between = [(low + high) / 2 for low, high in pairwise(numbers)]
    yield from (("n", v) for v in (numbers[0] - 1, *numbers, *between, numbers[-1] + 1))
    for text in {""} | {str(v) for k, v in constants if k == "s"}:
        yield from (("s", _code_points(text)), ("s", (*_code_points(text), -1)))


def parse_filter(table: object) -> Filter:
    """From a TOML or JSON table; raises FilterError."""
    constraints = []
    for name, given in _items(table, 'a filter is a table of attributes, such as { topic = "t6", value = { ge = 30 } }'):
        if not isinstance(given, Mapping):
            constraints.append(Constraint(name, "=", _value((name,), given)))
        elif not given:
            raise FilterError((name,), "{}", "says nothing", f"operators are {', '.join(OPERATORS)}")
        else:
            for key, value in given.items():
                if key not in OPERATORS:
                    raise FilterError((name, str(key)), show(value), "no such operator", f"operators are {', '.join(OPERATORS)}")
                constraints.append(Constraint(name, OPERATORS[key], value))
    return Filter(tuple(constraints))


def parse_attributes(table: object) -> Attributes:
    """From a TOML or JSON table; raises FilterError."""
    items = _items(table, 'attributes are a table, such as { topic = "t6", value = 31 }')
    return tuple(sorted(((name, _value((name,), value)) for name, value in items), key=lambda item: item[0]))


def _items(table: object, rule: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(table, Mapping):
        raise FilterError((), show(table), "not a table", rule)
    for name, value in table.items():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise FilterError((str(name),), show(value), "not an attribute name", NAME_RULE)
        yield name, value


def filter_table(f: Filter) -> dict[str, Any]:
    """What parse_filter takes back to an equal filter.  A table has room for each operator once an attribute: ValueError if that is not enough."""
    table: dict[str, dict[str, Value | list[Value]]] = {}
    for c in f.constraints:
        operators = table.setdefault(c.attribute, {})
        if _KEYS[c.operator] in operators:
            raise ValueError(f"{c.attribute} has two constraints {c.operator}: a table has room for one")
        operators[_KEYS[c.operator]] = list(c.value) if isinstance(c.value, tuple) else c.value
    return {name: _plain(operators) for name, operators in table.items()}


def _plain(operators: dict[str, Value | list[Value]]) -> Value | dict[str, Value | list[Value]]:
    equal = operators.get("eq")
    return operators if len(operators) > 1 or equal is None or isinstance(equal, list) else equal


def describe(f: Filter) -> str:
    """topic = t6 and value >= 30"""
    return " and ".join(map(_describe, f.constraints)) or "anything"


def _describe(c: Constraint) -> str:
    if c.operator == "exists":
        return f"{c.attribute} {'is there' if c.value else 'is not there'}"
    shown = [v if isinstance(v, str) and NAME.fullmatch(v) and v[0].isalpha() and v not in ("true", "false") else show(v) for _, v in c.constants()]
    return f"{c.attribute} {c.operator} " + (f"[{', '.join(shown)}]" if c.operator == "in" else shown[0])
