"""Which printed lines an exploration has passed: copies of the algorithms note each tagged line that they come to.

An engine that runs a reaction once per distinct combination of values passes every line that any state passes.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from types import ModuleType

from roamcheck.spec.protocols import PROTOCOLS, Protocol

from .lines import claimed, in_margin
from .recompiled import functions_of, recompile, source, tags

_RECORDER = "__passed__"
Lines = set[tuple[str, int]]  # modules of spec/algorithms, and lines of their source


class LineCoverage:
    """Give `algorithms` to `Question.model`, explore, and read `passed`; `clear` it before the next."""

    def __init__(self) -> None:
        self.passed: Lines = set()

        def record(module: str, first: int, last: int) -> None:
            self.passed.update((module, line) for line in range(first, last + 1))

        self.algorithms: Mapping[str, ModuleType] = recompile(_instrumented, {_RECORDER: record})

    def clear(self) -> None:
        """Begin anew."""
        self.passed.clear()

    def printed(self, protocol: Protocol) -> tuple[str, ...]:
        """The printed lines that were passed, as the protocol's margin numbers them: "TR19 Alg. 6 l.24", in order."""
        return tuple(name for name, lines in printed_lines(protocol.name).items() if lines & self.passed)


@cache
def printed_lines(name: str) -> Mapping[str, frozenset[tuple[str, int]]]:
    """Every printed line of the functions that the protocol calls, and the lines of source that stand for it; in the papers' order."""
    protocol = PROTOCOLS[name]
    found: dict[tuple[str, int, int, int], set[tuple[str, int]]] = {}
    for module, function in functions_of(protocol):
        first, last = _extent(module)[function]
        for line in range(first, last + 1):
            for printed in in_margin(claimed(module).get(line, ()), protocol.margin):
                found.setdefault((printed.paper, printed.number, printed.first, printed.last), set()).add((module, line))
    return {
        f"{paper} Alg. {number} l.{first}" + (f"–{last}" if last > first else ""): frozenset(found[paper, number, first, last])
        for paper, number, first, last in sorted(found)
    }


@cache
def _extent(module: str) -> Mapping[str, tuple[int, int]]:
    functions = (node for node in ast.parse(source(module)).body if isinstance(node, ast.FunctionDef))
    return {node.name: (node.lineno, node.end_lineno or node.lineno) for node in functions}


def _instrumented(module: str, text: str) -> ast.Module:
    tree = _Instrument(module).visit(ast.parse(text))
    assert isinstance(tree, ast.Module)
    return ast.fix_missing_locations(tree)


class _Instrument(ast.NodeTransformer):
    """Puts a call of the recorder before each statement that bears a tag, and at the head of each function that does."""

    def __init__(self, module: str) -> None:
        self.module, self.tags = module, {*tags(module), *claimed(module)}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Its own line counts when it is entered."""
        self.generic_visit(node)
        first = node.body[0].lineno
        after = 1 if ast.get_docstring(node, clean=False) is not None else 0
        node.body[after:after] = self.record(node, node.lineno, first - 1)
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Each statement of a body, after a call."""
        super().generic_visit(node)
        if isinstance(node, ast.Module | ast.ClassDef):
            return node
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            if isinstance(statements, list):
                setattr(node, field, [some for statement in statements for some in (*self.before(statement), statement)])
        return node

    def before(self, statement: ast.stmt) -> list[ast.stmt]:
        """The call, if any line of the statement, or of its head, bears a tag."""
        if isinstance(statement, ast.FunctionDef | ast.Import | ast.ImportFrom):
            return []
        body = getattr(statement, "body", None)
        last = body[0].lineno - 1 if isinstance(body, list) and body else statement.end_lineno or statement.lineno
        return self.record(statement, statement.lineno, max(statement.lineno, last))

    def record(self, where: ast.AST, first: int, last: int) -> list[ast.stmt]:
        """A call for these lines."""
        if not self.tags & {*range(first, last + 1)}:
            return []
        call = ast.Call(ast.Name(_RECORDER, ast.Load()), [ast.Constant(self.module), ast.Constant(first), ast.Constant(last)], [])
        return [ast.copy_location(ast.Expr(call), where)]
