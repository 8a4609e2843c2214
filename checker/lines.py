"""Which printed lines a step executes: the step runs once more, watched, and the source lines that it passes are read by their tags.

In `spec/algorithms/` a guard or an effect ends in the tag of the printed line that it stands for, `# l.16` or `# l.16 | WN23 l.22`: the
number in its own document, and the one in the journal version.  A protocol says whose margin its readers look at.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import CodeType, FrameType
from typing import Any

from roamcheck.model.interface import Disabled, State, Step
from roamcheck.spec import algorithms
from roamcheck.spec.protocols import ALGORITHMS

from .recompiled import Printed, source, tags

Passed = tuple[str, int]  # a module of spec/algorithms, by its short name, and a line of its source


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of one printed algorithm."""

    source: str  # "TR19"
    algorithm: str  # "Alg. 6"
    numbers: tuple[int, ...]  # in order

    def __str__(self) -> str:
        return f"{self.source} {self.algorithm} l.{ranges(self.numbers)}"


def ranges(numbers: tuple[int, ...]) -> str:
    """13–16, 18"""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)


def describe(lines: tuple[Lines, ...]) -> str:
    """TR19 Alg. 6 l.13–16, 18; Alg. 7 l.59–63"""
    said, source = [], ""
    for part in lines:
        said.append(str(part).removeprefix(f"{part.source} ") if part.source == source else str(part))
        source = part.source
    return "; ".join(said)


def printed_lines(step: Step, state: State, margin: str) -> tuple[Lines, ...]:
    """What `step` executes in `state`, algorithm by algorithm as they were entered; `margin` is Protocol.margin."""
    found: dict[tuple[str, str], set[int]] = {}
    for module, line in executed(step, state):
        for printed in in_margin(claimed(module).get(line, ()), margin):
            found.setdefault((printed.paper, f"Alg. {printed.number}"), set()).update(range(printed.first, printed.last + 1))
    return tuple(Lines(*place, tuple(sorted(numbers))) for place, numbers in found.items())


def in_margin(printed: tuple[Printed, ...], margin: str) -> tuple[Printed, ...]:
    """Those of the margin's paper; the algorithm's own where that paper does not print it."""
    wanted = tuple(claim for claim in printed if claim.paper == margin)
    return wanted or tuple(claim for claim in printed if claim.paper != "WN23")


# ---- watching ----------------------------------------------------------------------------------------------------------------


def executed(step: Step, state: State) -> tuple[Passed, ...]:
    """The lines of spec/algorithms that `step` runs in `state`, each once, in the order in which they were first reached."""
    footprint = step.footprint(state)
    if isinstance(footprint, Disabled):
        return ()
    head: Any = None
    if footprint.takes is not None:
        channel: Any = state[footprint.takes]
        if not channel:
            return ()
        head = channel[0]
    passed: dict[Passed, None] = {}
    before = sys.gettrace()
    sys.settrace(_watch(passed))
    try:
        step.react(head, tuple(state[slot] for slot in footprint.reads))
    except Exception:  # what the step raises is for those who fire it
        pass
    finally:
        sys.settrace(before)
    return tuple(passed)


def _watch(passed: dict[Passed, None]) -> Any:
    prefix = algorithms.__name__ + "."
    known: dict[CodeType, str] = {}  # by code: the module, or "" outside of the algorithms

    def enter(frame: FrameType, event: str, _: Any) -> Any:
        module = known.get(frame.f_code)
        if module is None:
            name = str(frame.f_globals.get("__name__", ""))
            module = known[frame.f_code] = name.removeprefix(prefix) if name.startswith(prefix) else ""
        if not module:
            return None
        passed.setdefault((module, frame.f_lineno))
        return watch

    def watch(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            passed.setdefault((known[frame.f_code], frame.f_lineno))
        return watch

    return enter


# ---- reading the tags --------------------------------------------------------------------------------------------------------


@cache
def claimed(module: str) -> Mapping[int, tuple[Printed, ...]]:
    """For each line of the source, the printed lines that it stands for; nothing for what bears no tag."""
    if module not in ALGORITHMS:
        return {}
    text, found = source(module), dict(tags(module))
    for line, first in _elses(ast.parse(text), text.split("\n")):
        if line in found:  # `else:` itself is never run: it counts when the first statement behind it is
            found[first] = (*found[line], *found.get(first, ()))
    return found


def _elses(tree: ast.AST, texts: list[str]) -> Iterator[tuple[int, int]]:
    """The line of each `else:` and of the statement behind it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and node.orelse:
            first = node.orelse[0].lineno
            line = next((number for number in range(first - 1, node.lineno, -1) if texts[number - 1].strip().startswith("else:")), None)
            if line is not None and line > (node.body[-1].end_lineno or 0):
                yield line, first
