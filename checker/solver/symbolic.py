"""Running a Python function on every value at once: integers that are unknown, and values that are chosen when somebody looks.

The function under scrutiny is the real one, unchanged.  Where it compares unknown integers it is given a plain True or False, and the path taken is
remembered; where it looks at a Lazy value, one of its options is taken.  `paths` runs the function again and again until each way through has been
seen once.  Z3 says which ways some integers take; what it says of a set of comparisons is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Generic, TypeVar, overload

import z3

from roamcheck.checker.interrupts import heed

from .asking import Undecided, new_solver

T = TypeVar("T")

Terms = tuple[tuple[str, int], ...]  # unknowns with their coefficients, in order of name, none zero
Atom = tuple[str, Terms, int]  # ("<=" or "=", terms, constant): terms + constant <= 0, or = 0
Literal = tuple[Atom, bool]


class Infeasible(Exception):
    """No integers lead here: the path is left."""


class Integer:
    """A linear term over unknown integers.  Comparing two asks the oracle which way to go, and answers a plain bool."""

    __slots__ = ("constant", "oracle", "terms")

    def __init__(self, oracle: Oracle, terms: Terms, constant: int = 0) -> None:
        self.oracle, self.terms, self.constant = oracle, terms, constant

    def _plus(self, other: object, sign: int) -> Integer | None:
        """self + sign · other; None if that is no integer."""
        if isinstance(other, int):
            return Integer(self.oracle, self.terms, self.constant + sign * other)
        if not isinstance(other, Integer):
            return None
        sums = dict(self.terms)
        for name, factor in other.terms:
            sums[name] = sums.get(name, 0) + sign * factor
        return Integer(self.oracle, tuple(sorted(item for item in sums.items() if item[1])), self.constant + sign * other.constant)

    def __add__(self, other: object) -> Any:
        found = self._plus(other, 1)
        return NotImplemented if found is None else found

    __radd__ = __add__

    def __sub__(self, other: object) -> Any:
        found = self._plus(other, -1)
        return NotImplemented if found is None else found

    def __rsub__(self, other: object) -> Any:
        return (-self) + other

    def __neg__(self) -> Integer:
        return Integer(self.oracle, tuple((name, -factor) for name, factor in self.terms), -self.constant)

    def _compare(self, other: object, relation: str, sign: int, shift: int) -> Any:
        """sign · (self − other) + shift, held against 0."""
        found = self._plus(other, -1)
        if found is None:
            return NotImplemented
        found = found if sign > 0 else -found
        return self.oracle.decide((relation, found.terms, found.constant + shift))

    def __le__(self, other: object) -> Any:
        return self._compare(other, "<=", 1, 0)

    def __lt__(self, other: object) -> Any:
        return self._compare(other, "<=", 1, 1)

    def __ge__(self, other: object) -> Any:
        return self._compare(other, "<=", -1, 0)

    def __gt__(self, other: object) -> Any:
        return self._compare(other, "<=", -1, 1)

    def __eq__(self, other: object) -> Any:
        found = self._plus(other, -1)
        if found is None:
            return NotImplemented
        if found.terms and found.terms[0][1] < 0:  # one form for a = b and b = a
            found = -found
        return self.oracle.decide(("=", found.terms, found.constant))

    def __hash__(self) -> int:
        return 0  # equality decides

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __str__(self) -> str:
        parts = [name if factor == 1 else f"{factor}·{name}" for name, factor in self.terms]
        return " + ".join([*parts, *([str(self.constant)] if self.constant or not parts else [])])

    __repr__ = __str__


class Lazy(Sequence[T], Generic[T]):
    """A sequence that is one of several, chosen when somebody looks; what is only handed on is never chosen."""

    __slots__ = ("chosen", "options", "oracle")

    def __init__(self, oracle: Oracle, options: Sequence[tuple[T, ...]]) -> None:
        self.oracle, self.options = oracle, options
        self.chosen: tuple[T, ...] | None = None

    def look(self) -> tuple[T, ...]:
        """What it is, from now on."""
        if self.chosen is None:
            self.chosen = self.options[self.oracle.choose(len(self.options))]
        return self.chosen

    def __iter__(self) -> Iterator[T]:
        return iter(self.look())

    def __len__(self) -> int:
        return len(self.look())

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: Any) -> Any:
        return self.look()[index]

    def __contains__(self, item: object) -> bool:
        return item in self.look()

    def __eq__(self, other: object) -> bool:
        return self.look() == (other.look() if isinstance(other, Lazy) else other)

    def __hash__(self) -> int:
        return hash(self.look())


class _Path:
    """What was found to hold so far, comparison by comparison; where it leads on is kept."""

    __slots__ = ("literals", "ways")

    def __init__(self, literals: tuple[Literal, ...]) -> None:
        self.literals = literals
        self.ways: dict[Atom, tuple[_Path | None, _Path | None]] = {}  # if the comparison holds, and if not; None: no integers do that


class Oracle:
    """Which way a run goes.  Branches are taken depth first, the first option first."""

    def __init__(self, deadline: float | None = None) -> None:
        self.deadline = deadline  # of time.monotonic()
        self.queries = 0  # that Z3 was asked
        self._trail: list[list[int]] = []  # for each branch on the way: the option taken, and how many there are
        self._at = 0
        self._start = self._path = _Path(())
        self._solver = new_solver()
        self._unknowns: dict[str, Any] = {}

    # -- what a run asks -------------------------------------------------------------------------------

    def unknown(self, name: str) -> Integer:
        """The integer of that name."""
        return Integer(self, ((name, 1),))

    def choose(self, options: int) -> int:
        """One of so many."""
        return self._branch(options) if options > 1 else 0

    def pick(self, options: Sequence[T]) -> T:
        """One of these."""
        return options[self.choose(len(options))]

    def decide(self, atom: Atom) -> bool:
        """Whether the comparison holds on this path; both ways are taken if there are integers for either."""
        relation, terms, constant = atom
        if not terms:
            return constant <= 0 if relation == "<=" else constant == 0
        yes, no = self._ways(atom)
        holds = no is None or (yes is not None and self._branch(2) == 0)
        way = yes if holds else no
        assert way is not None
        self._path = way
        return holds

    def at_most(self, lower: object, upper: object) -> None:
        """From here on lower <= upper; the path is left where that cannot be."""
        difference = lower - upper  # type: ignore[operator]
        if isinstance(difference, int):
            self.assume(difference <= 0)
        else:
            way, _ = self._ways(("<=", difference.terms, difference.constant))
            if way is None:
                raise Infeasible
            self._path = way

    def assume(self, condition: bool) -> None:
        """Leave the path unless the condition holds."""
        if not condition:
            raise Infeasible

    # -- the tree of runs ------------------------------------------------------------------------------

    def begin(self) -> None:
        """A new run, along the trail.  Raises Undecided, KeyboardInterrupt."""
        heed()
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise Undecided("out of time")
        self._at, self._path = 0, self._start

    def next(self) -> bool:
        """Turn to the next way at the last branch that has one; False when all have been taken."""
        del self._trail[self._at :]
        while self._trail and self._trail[-1][0] + 1 == self._trail[-1][1]:
            self._trail.pop()
        if self._trail:
            self._trail[-1][0] += 1
        return bool(self._trail)

    def _branch(self, options: int) -> int:
        if self._at == len(self._trail):
            self._trail.append([0, options])
        taken, there = self._trail[self._at]
        if there != options:
            raise Undecided("the function does not take the same way twice: it is not pure")
        self._at += 1
        return taken

    # -- Z3 --------------------------------------------------------------------------------------------

    def _ways(self, atom: Atom) -> tuple[_Path | None, _Path | None]:
        """Where the path leads if the comparison holds, and if not.  Raises Undecided."""
        path = self._path
        if atom not in path.ways:
            yes, no = ((*path.literals, (atom, holds)) for holds in (True, False))
            if not self._feasible(yes):
                path.ways[atom] = (None, path)
            elif not self._feasible(no):
                path.ways[atom] = (path, None)
            else:
                path.ways[atom] = (_Path(yes), _Path(no))
        return path.ways[atom]

    def _feasible(self, literals: Sequence[Literal]) -> bool:
        return self._ask(map(self._expression, literals)) is not None

    def solution(self) -> Mapping[str, int]:
        """Integers that take this path, small ones if there are any; an unknown that was never compared is not among them."""
        wanted = [self._expression(literal) for literal in self._path.literals]
        names = sorted({name for (_, terms, _), _ in self._path.literals for name, _ in terms})
        for most in (2, 8, None):
            bounds = [] if most is None else [z3.And(self._unknowns[name] >= 0, self._unknowns[name] <= most) for name in names]
            model = self._ask([*wanted, *bounds])
            if model is not None:
                return {name: model.eval(self._unknowns[name], model_completion=True).as_long() for name in names}
        raise Infeasible

    def _ask(self, expressions: Iterable[Any]) -> Any:
        """A model, or None if there is none.  Raises Undecided."""
        self.queries += 1
        self._solver.push()
        try:
            if self.deadline is not None:
                self._solver.set("timeout", max(1, int(1000 * (self.deadline - time.monotonic()))))
            self._solver.add(*expressions)
            answer = self._solver.check()
            if answer == z3.unknown:
                raise Undecided(f"Z3 answers unknown: {self._solver.reason_unknown()}")
            return self._solver.model() if answer == z3.sat else None
        finally:
            self._solver.pop()

    def _expression(self, literal: Literal) -> Any:
        (relation, terms, constant), holds = literal
        for name, _ in terms:
            if name not in self._unknowns:
                self._unknowns[name] = z3.Int(name)
        term = z3.Sum([factor * self._unknowns[name] for name, factor in terms]) + constant
        expression = term <= 0 if relation == "<=" else term == 0
        return expression if holds else z3.Not(expression)


def paths(body: Callable[[Oracle], T], oracle: Oracle) -> Iterator[T]:
    """Run `body` along each of its paths, and answer what it returns; until the next is asked for, the oracle stands at the end of this one."""
    while True:
        oracle.begin()
        try:
            answer = body(oracle)
        except Infeasible:
            pass
        else:
            yield answer
        if not oracle.next():
            return


def concrete(value: Any, solution: Mapping[str, int]) -> Any:
    """The value with every unknown replaced by its number, and every Lazy by what it is, or by its first option if nobody looked."""
    if isinstance(value, Integer):
        return sum(factor * solution.get(name, 1) for name, factor in value.terms) + value.constant
    if isinstance(value, Lazy):
        return concrete(value.options[0] if value.chosen is None else value.chosen, solution)
    if isinstance(value, tuple):
        parts = [concrete(part, solution) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if is_dataclass(value) and not isinstance(value, type):
        return type(value)(**{field.name: concrete(getattr(value, field.name), solution) for field in fields(value) if field.init})
    return value
