"""The algorithm modules again, from their source text with one change: mutants, and copies that record what happens in them.

The copies are isolated: they import each other and nobody imports them, so the real modules are never touched.  File names and line numbers
are those of the real files; what a line's tag says (`# l.16 | WN23 l.22`) is read here too.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import resolve_name
from types import CodeType, FunctionType, ModuleType
from typing import Any

from roamcheck.spec.protocols import ALGORITHMS, Protocol

Transform = Callable[[str, str], str | ast.Module]  # (the module's name among ALGORITHMS, its text) -> what to run instead
Function = tuple[str, str]  # (the module's name among ALGORITHMS, the function's)

PACKAGE = "roamcheck.spec.algorithms"
_CLAIM = re.compile(r"(TR19|RP16|WN23|MFTR) Algorithm (\d)[^;]*?\(lines (\d+)–(\d+)\)")
_TAG = re.compile(r"# l\.(\d+)(?:–(\d+))?(?: \| (WN23) l\.(\d+)(?:–(\d+))?)?$")


# ---- copies ------------------------------------------------------------------------------------------


def source(module: str) -> str:
    """The text of an algorithm module."""
    try:  # not by its loader alone: pytest's, which rewrites the modules of plugins, gives none
        return inspect.getsource(ALGORITHMS[module])
    except OSError as error:
        raise ImportError(f"{module} is installed without its source") from error


def recompile(transform: Transform, given: Mapping[str, object] | None = None) -> dict[str, ModuleType]:
    """A copy of each algorithm module, for `Question.model`.  `given` are names that the copies see besides Python's own."""
    copies: dict[str, ModuleType] = {}
    scope = {**vars(builtins), **(given or {}), "__import__": _importer(copies)}
    for name, real in ALGORITHMS.items():
        copy = ModuleType(real.__name__, real.__doc__)
        vars(copy).update(__package__=PACKAGE, __file__=real.__file__, __builtins__=scope)
        changed = transform(name, source(name))
        exec(_code(changed, str(real.__file__)), vars(copy))
        copies[name] = copy
    return copies


def _code(changed: str | ast.Module, file: str) -> CodeType:
    return _compiled(changed, file) if isinstance(changed, str) else compile(changed, file, "exec", dont_inherit=True)


@lru_cache(maxsize=64)
def _compiled(text: str, file: str) -> CodeType:
    return compile(text, file, "exec", dont_inherit=True)


def _importer(copies: Mapping[str, ModuleType]) -> Callable[..., Any]:
    """`__import__` as the copies see it: a sibling is a copy, everything else is what it always is."""

    def import_(
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        absolute = resolve_name("." * level + name, (globals or {}).get("__package__"))
        package, _, sibling = absolute.rpartition(".")
        if package == PACKAGE and sibling in ALGORITHMS and fromlist:
            if sibling not in copies:
                raise ImportError(f"{sibling} is imported by a module that comes before it in ALGORITHMS")
            return copies[sibling]
        if absolute == PACKAGE or package == PACKAGE:
            raise ImportError(f"an algorithm module imports its siblings as `from .{sibling} import …`")
        return __import__(name, globals, locals, fromlist or (), level)

    return import_


# ---- what a protocol runs ----------------------------------------------------------------------------


def functions_of(protocol: Protocol) -> frozenset[Function]:
    """The functions of the algorithm modules that the protocol may call, directly or through each other."""
    called = [*protocol.handlers.values(), *(path for path in (protocol.migrate, protocol.fall, protocol.returned) if path)]
    pending = [_function(*path.split(".")) for path in called]
    pending += [f for f in vars(ALGORITHMS["clients"]).values() if isinstance(f, FunctionType)]
    found: dict[Function, None] = {}
    while pending:
        f = pending.pop()
        package, _, module = f.__module__.rpartition(".")
        if package == PACKAGE and (module, f.__name__) not in found:
            found[module, f.__name__] = None
            if f.__name__ == "on_return" and not protocol.queues:
                continue  # it looks no further
            pending += [g for name in _names(f.__code__) if isinstance(g := f.__globals__.get(name), FunctionType)]
    return frozenset(found)


def _function(module: str, name: str) -> FunctionType:
    f = getattr(ALGORITHMS[module], name)
    assert isinstance(f, FunctionType)
    return f


def _names(code: CodeType) -> list[str]:
    """Every global name in the code, in comprehensions too."""
    inner = (name for constant in code.co_consts if isinstance(constant, CodeType) for name in _names(constant))
    return [*code.co_names, *inner]


# ---- line tags ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Printed:
    """Lines of a printed algorithm."""

    paper: str  # "TR19", "RP16", "WN23" or "MFTR"
    number: int  # of the algorithm
    first: int
    last: int

    @property
    def algorithm(self) -> str:
        """As the papers are cited: "TR19 Alg. 6"."""
        return f"{self.paper} Alg. {self.number}"

    def __str__(self) -> str:
        return f"{self.algorithm} l.{self.first}" + (f"–{self.last}" if self.last > self.first else "")

    def __contains__(self, line: object) -> bool:
        return line in range(self.first, self.last + 1)


@cache
def claims(module: str) -> tuple[Printed, ...]:
    """The printed algorithms that a module transcribes, as its docstring says; none for one that the papers only describe."""
    says = (ALGORITHMS[module].__doc__ or "").partition("\n")[0]
    return tuple(Printed(paper, int(number), int(first), int(last)) for paper, number, first, last in _CLAIM.findall(says))


@cache
def tags(module: str) -> Mapping[int, tuple[Printed, ...]]:
    """Line of the file -> the printed lines that its tag claims, in the order of `claims`."""
    found: dict[int, tuple[Printed, ...]] = {}
    for line, text in enumerate(source(module).splitlines(), 1):
        if tag := _TAG.search(text):
            own = claims(module)
            printed = [_lines(own[0], tag[1], tag[2])]
            if tag[3]:
                printed.append(_lines(next(claim for claim in own if claim.paper == tag[3]), tag[4], tag[5]))
            found[line] = tuple(printed)
    return found


def _lines(claim: Printed, first: str, last: str | None) -> Printed:
    return Printed(claim.paper, claim.number, int(first), int(last or first))
