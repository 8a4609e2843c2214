"""The algebra of filters, decided exactly by Z3: satisfiable, covers, overlaps, equivalent (the language of `roamcheck.spec.filters`).

Only the order of an attribute's value among the constants matters, so a value is a rank: 2k is the k-th constant, 2k + 1 anything between it and
the next.  Under order "values" a gap is left out that no value lies in (no string lies between "a" and "a\\0", no number between 2^60 and 2^60 + 1);
under order "dense" there is always something between, which is what `roamcheck.spec.filters.satisfiable` assumes.  An event that is given under
"values" has been judged by the filters themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any, Literal, cast

import z3

from roamcheck.spec.filters import Attributes, Constraint, Filter, Value, matches, show

from .asking import Undecided, new_solver

Order = Literal["values", "dense"]
LEAST, MOST = Fraction(-(2**63)), Fraction(2**63 - 1)  # of the integers
LAST = 0x10FFFF  # code point


# ---- values between constants ------------------------------------------------------------------------


def after_prefix(text: str) -> str | None:
    """The least string that is above all that begin with `text`; None if there is none.  Code points of surrogates are in no value."""
    for length in range(len(text), 0, -1):
        code = ord(text[length - 1])
        if code < LAST:
            return text[: length - 1] + chr(0xE000 if code + 1 == 0xD800 else code + 1)
    return None


def string_between(low: str, high: str | None) -> str | None:
    """A string above `low` and below `high` (None: no bound); None if there is none."""
    following = low + "\0"
    return following if high is None or following < high else None


def number_between(low: Fraction | None, high: Fraction | None) -> int | float | None:
    """A 64-bit integer or finite float above `low` and below `high` (None: no bound); None if there is none."""
    whole = max(LEAST, Fraction(math.floor(low) + 1)) if low is not None else LEAST if high is None or high > LEAST else None
    if whole is not None and whole <= MOST and (high is None or whole < high):
        return int(whole)
    near = -math.inf if low is None else _float(low)
    for candidate in (near, math.nextafter(near, math.inf)):
        if math.isfinite(candidate) and (low is None or Fraction(candidate) > low) and (high is None or Fraction(candidate) < high):
            return int(candidate) if candidate.is_integer() and abs(candidate) < 2**63 else candidate
    return None


def _float(x: Fraction) -> float:
    """The float nearest to x, or that one of the two next to it that is below."""
    near = float(x)
    return math.nextafter(near, -math.inf) if Fraction(near) > x else near


# ---- one attribute -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Attribute:
    """An attribute of an unknown event: is it there, of which kind, and where among the constants of its kind."""

    name: str
    there: Any
    kind: Any  # 0 bool, 1 number, 2 string
    truth: Any
    rank: Any
    numbers: tuple[Fraction, ...]
    strings: tuple[str, ...]  # the first is ""; ends of prefixes are among them
    order: Order

    def rules(self) -> Iterator[Any]:
        """The rank is one that a value of its kind has."""
        yield z3.And(self.kind >= 0, self.kind <= 2)
        for kind, constants in ((1, self.numbers), (2, self.strings)):
            ranks = [rank for rank in range(-1, 2 * len(constants)) if rank % 2 == 0 or self.between(kind, rank) is not None]
            yield z3.Implies(self.kind == kind, z3.Or([self.rank == rank for rank in ranks]))

    def between(self, kind: int, rank: int) -> Value | None:
        """A value of an odd rank; None if there is none."""
        at = rank // 2
        if kind == 2:
            if at < 0:
                return None
            high = self.strings[at + 1] if at + 1 < len(self.strings) else None
            return string_between(self.strings[at], high) if self.order == "values" else ""
        low = self.numbers[at] if at >= 0 else None
        above = self.numbers[at + 1] if at + 1 < len(self.numbers) else None
        return number_between(low, above) if self.order == "values" else 0

    def value(self, model: Any) -> Value | None:
        """What the model says it is; None where it is not there."""
        if not z3.is_true(model.eval(self.there, model_completion=True)):
            return None
        kind, rank = (model.eval(x, model_completion=True).as_long() for x in (self.kind, self.rank))
        if kind == 0:
            return bool(z3.is_true(model.eval(self.truth, model_completion=True)))
        if rank % 2:
            return self.between(int(kind), int(rank))
        if kind == 2:
            return self.strings[int(rank) // 2]
        number = self.numbers[int(rank) // 2]
        return int(number) if number.denominator == 1 and abs(number) < 2**63 else float(number)

    def equals(self, kind: str, constant: Value) -> Any:
        """It is the constant."""
        if kind == "b":
            return z3.And(self.kind == 0, self.truth == bool(constant))
        return z3.And(self.kind == (1 if kind == "n" else 2), self.rank == self._rank(constant))

    def _rank(self, constant: Value) -> int:
        return 2 * (self.strings.index(constant) if isinstance(constant, str) else self.numbers.index(Fraction(constant)))

    def meets(self, c: Constraint) -> Any:
        """The constraint holds."""
        if c.operator == "exists":
            return self.there == bool(c.value)
        constants = list(c.constants())
        if c.operator == "in":
            return z3.And(self.there, z3.Or([self.equals(k, v) for k, v in constants]))
        ((k, v),) = constants
        if c.operator in ("=", "!="):
            return z3.And(self.there, self.equals(k, v) if c.operator == "=" else z3.Not(self.equals(k, v)))
        rank, kind = self._rank(v), self.kind == (1 if k == "n" else 2)
        if c.operator == "prefix":
            end = after_prefix(str(v))
            return z3.And(self.there, kind, self.rank >= rank, *([self.rank < self._rank(end)] if end is not None else []))
        holds = {"<": self.rank < rank, "<=": self.rank <= rank, ">": self.rank > rank, ">=": self.rank >= rank}[c.operator]
        return z3.And(self.there, kind, holds)


def _attributes(filters: tuple[Filter, ...], order: Order) -> dict[str, _Attribute]:
    constraints: dict[str, list[Constraint]] = {}
    for c in (c for f in filters for c in f.constraints):
        constraints.setdefault(c.attribute, []).append(c)
    return {name: _attribute(name, cs, order) for name, cs in sorted(constraints.items())}


def _attribute(name: str, cs: list[Constraint], order: Order) -> _Attribute:
    constants = [constant for c in cs for constant in c.constants()]
    strings = {"", *(str(v) for k, v in constants if k == "s")}
    strings |= {end for c in cs if c.operator == "prefix" and (end := after_prefix(str(c.value))) is not None}
    numbers = {Fraction(cast(float, v)) for k, v in constants if k == "n"}
    return _Attribute(
        name, z3.Bool(f"{name} there"), z3.Int(f"{name} kind"), z3.Bool(f"{name} true"), z3.Int(f"{name} rank"), tuple(sorted(numbers)),
        tuple(sorted(strings)), order,
    )  # fmt: skip


# ---- whole filters -----------------------------------------------------------------------------------


def event(matching: tuple[Filter, ...], missing: tuple[Filter, ...] = (), order: Order = "values") -> Attributes | None:
    """The attributes of an event that matches each of the first and none of the others; None if there is none.

    Under order = dense some value may be wrong: only whether there is one counts.  Raises Undecided.
    """
    attributes = _attributes((*matching, *missing), order)

    def says(f: Filter) -> Any:
        return z3.And([attributes[c.attribute].meets(c) for c in f.constraints])

    solver = new_solver()
    solver.add(*(rule for a in attributes.values() for rule in a.rules()), *map(says, matching), *(z3.Not(says(f)) for f in missing))
    answer = solver.check()
    if answer == z3.unknown:
        raise Undecided(f"Z3 answers unknown: {solver.reason_unknown()}")
    if answer == z3.unsat:
        return None
    values = ((a.name, a.value(solver.model())) for a in attributes.values())
    found: Attributes = tuple((name, value) for name, value in values if value is not None)
    if order == "values" and not (all(matches(f, found) for f in matching) and not any(matches(f, found) for f in missing)):
        raise Undecided(f"the filters do not confirm the event {shown(found)} that Z3 gives")
    return found


def satisfiable(f: Filter, order: Order = "values") -> bool:
    """Some event matches."""
    return event((f,), (), order) is not None


def covers(f: Filter, g: Filter, order: Order = "values") -> bool:
    """Every event that matches g matches f."""
    return event((g,), (f,), order) is None


def overlaps(f: Filter, g: Filter, order: Order = "values") -> bool:
    """Some event matches both."""
    return event((f, g), (), order) is not None


def equivalent(f: Filter, g: Filter, order: Order = "values") -> bool:
    """The same events match."""
    return covers(f, g, order) and covers(g, f, order)


# ---- told --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Relation:
    """How one filter lies to another, or to nothing, with an event that shows it where there is one."""

    one: str
    says: str  # "equivalent", "covers", "overlaps", "disjoint", "unsatisfiable"
    other: str
    shows: Attributes | None

    def as_row(self) -> list[str]:
        """A line of a table."""
        return [self.one, self.says, self.other, "" if self.shows is None else shown(self.shows)]

    def as_record(self) -> dict[str, Any]:
        """An object of `--json`."""
        return {"filter": self.one, "relation": self.says, "other": self.other or None, "event": None if self.shows is None else dict(self.shows)}


def relations(filters: Mapping[str, Filter]) -> Iterator[Relation]:
    """Which cannot match, and of each pair of the others the closest relation that holds, with an event that both match, or that one alone does."""
    alive = []
    for name, f in filters.items():
        if satisfiable(f):
            alive.append(name)
        else:
            yield Relation(name, "unsatisfiable", "", None)
    for one, other in permutations(alive, 2):
        f, g = filters[one], filters[other]
        if covers(f, g):
            both = covers(g, f)
            if not both or one < other:
                yield Relation(one, "equivalent" if both else "covers", other, None if both else event((f,), (g,)))
        elif one < other and not covers(g, f):
            common = event((f, g))
            yield Relation(one, "disjoint" if common is None else "overlaps", other, common)


def shown(attributes: Attributes) -> str:
    """An event as a table of TOML."""
    return "{ " + ", ".join(f"{name} = {show(value)}" for name, value in attributes) + " }" if attributes else "{}"
