"""Which guards of the printed algorithms a run has seen true and which false: instrumented copies of the algorithms count them.

A guard is the condition of an `if`, `elif`, `while`, conditional expression or comprehension on a line that bears the tag of a printed
line; a condition that asks only the readings is none.  Where a handler's own where-clause is written `if not …: return`, what counts is the
printed condition.  ("foreach b ∈ N_i where b ≠ z" is `broadcast`, and not looked into.)

An engine that runs a reaction once per distinct combination of values evaluates a guard once for it: whether a guard was ever seen true
or false is exact, how often is the number of distinct evaluations.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from roamcheck.spec.protocols import ALGORITHMS, Protocol

from .recompiled import Printed, functions_of, recompile, source, tags

_RECORDER = "__guard__"


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition of a printed algorithm."""

    module: str
    function: str
    printed: tuple[Printed, ...]  # the lines that it stands for: the module's own, then WN23's
    text: str  # the condition, in Python

    def name(self, margin: str = "") -> str:
        """ "TR19 Alg. 6 l.24", or as the protocol's margin numbers it."""
        return str(next((lines for lines in self.printed if lines.paper == margin), self.printed[0]))

    def __str__(self) -> str:
        return self.name()


@dataclass(slots=True)
class Seen:
    """How many distinct evaluations of a guard gave what."""

    true: int = 0
    false: int = 0


class GuardCoverage:
    """Give `algorithms` to `Question.model`, explore, and read `seen`."""

    def __init__(self) -> None:
        self.seen: dict[Guard, Seen] = {guard: Seen() for guard in guards()}
        by_name = {guard.name(): seen for guard, seen in self.seen.items()}

        def record(name: str, value: object) -> object:
            if value:
                by_name[name].true += 1
            else:
                by_name[name].false += 1
            return value

        self.algorithms: Mapping[str, ModuleType] = recompile(_instrumented, {_RECORDER: record})


def never(coverage: GuardCoverage, protocol: Protocol) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Of the guards of the functions that the protocol calls: those reached but never true, reached but never false, and never reached.

    They are named as the protocol's margin numbers them.
    """
    used = functions_of(protocol)
    asked = [(guard.name(protocol.margin), seen) for guard, seen in coverage.seen.items() if (guard.module, guard.function) in used]
    return (
        tuple(name for name, seen in asked if seen.false and not seen.true),
        tuple(name for name, seen in asked if seen.true and not seen.false),
        tuple(name for name, seen in asked if not seen.true and not seen.false),
    )


@cache
def guards() -> tuple[Guard, ...]:
    """All guards of all algorithms, in the order of ALGORITHMS and of their lines."""
    return tuple(guard for module in ALGORITHMS for guard in _visited(module, source(module)).guards)


def _instrumented(module: str, text: str) -> ast.Module:
    return _visited(module, text).tree


def _visited(module: str, text: str) -> _Instrument:
    instrument = _Instrument(module)
    instrument.tree = ast.fix_missing_locations(instrument.visit(ast.parse(text)))
    return instrument


class _Instrument(ast.NodeTransformer):
    """Wraps the conditions on tagged lines into calls of the recorder."""

    tree: ast.Module

    def __init__(self, module: str) -> None:
        self.module, self.tags = module, tags(module)
        self.guards: list[Guard] = []
        self.function = ""
        self.readings: set[str] = set()  # local names that hold what the readings say
        self.where: int | None = None  # the line of the where-clause of the function at hand

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Note whose guards follow."""
        self.function = node.name
        self.readings = {
            target.id
            for assign in ast.walk(node)
            if isinstance(assign, ast.Assign) and "rules.readings" in ast.unparse(assign.value)
            for target in assign.targets
            if isinstance(target, ast.Name)
        }
        lines = [line for line in self.tags if node.lineno <= line <= (node.end_lineno or node.lineno)]
        self.where = lines[0] if lines and lines[0] != node.lineno else None
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST:
        """`if`, `elif`."""
        if node.lineno == self.where and isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not):
            node.test.operand = self.recorded(node.test.operand)
        else:
            node.test = self.recorded(node.test)
        return self.generic_visit(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        """`while`."""
        node.test = self.recorded(node.test)
        return self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """`… if … else …`."""
        node.test = self.recorded(node.test)
        return self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """`for … in … if …`."""
        node.ifs = [self.recorded(test) for test in node.ifs]
        return self.generic_visit(node)

    def recorded(self, test: ast.expr) -> ast.expr:
        """The condition, recorded if it is a guard."""
        names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
        if test.lineno not in self.tags or names <= {"rules", *self.readings}:
            return test
        guard = Guard(self.module, self.function, self.tags[test.lineno], ast.unparse(test))
        self.guards.append(guard)
        call = ast.Call(ast.Name(_RECORDER, ast.Load()), [ast.Constant(guard.name()), test], [])
        return ast.copy_location(call, test)
