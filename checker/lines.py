"""Which printed lines a step executes: the step runs once more, watched, and the source lines that it passes are read by their tags.

In `spec/algorithms/` a guard or an effect ends in the tag of the printed line that it stands for, `# l.16` or `# l.16 | WN23 l.22`: the
number in its own document, and the one in the journal version.  A protocol says whose margin its readers look at.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import CodeType, FrameType
from typing import Any, Final

from roamcheck.model.interface import Disabled, State, Step
from roamcheck.spec import algorithms

Place = tuple[str, str]  # ("TR19", "Alg. 6")
Passed = tuple[str, int]  # a module of spec/algorithms, by its short name, and a line of its source

PRINTED: Final[Mapping[str, tuple[Place, Place | None]]] = {  # where a module is printed: in its own document, and in the journal version
    "alg1_mobile_clients": (("TR19", "Alg. 1"), None),
    "alg2_replay": (("TR19", "Alg. 2"), ("WN23", "Alg. 2")),
    "alg3_mobile_brokers": (("TR19", "Alg. 3"), None),
    "alg4_timestamped_clients": (("TR19", "Alg. 4"), ("WN23", "Alg. 1")),
    "alg5_migrate": (("TR19", "Alg. 5"), ("WN23", "Alg. 3")),
    "alg6_bmig": (("TR19", "Alg. 6"), ("WN23", "Alg. 4")),
    "alg7_consistency": (("TR19", "Alg. 7"), ("WN23", "Alg. 5")),
    "rp16_alg1_static": (("RP16", "Alg. 1"), None),
    "rp16_alg2_dynamic_clients": (("RP16", "Alg. 2"), None),
    "rp16_alg3_dynamic_brokers": (("RP16", "Alg. 3"), None),
}  # clients and returns are printed nowhere
_TAG: Final = re.compile(r"#\s*l\.(?P<own>[0-9–, ]+?)\s*(?:\|\s*WN23 l\.(?P<journal>[0-9–, ]+?))?\s*$")


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
    found: dict[Place, set[int]] = {}
    for module, line in executed(step, state):
        own, journal = PRINTED.get(module, (None, None))
        numbers, journals = _tags(module).get(line, ((), ()))
        if journal is not None and margin == journal[0] and journals:
            found.setdefault(journal, set()).update(journals)
        elif own is not None and numbers:
            found.setdefault(own, set()).update(numbers)
    return tuple(Lines(*place, tuple(sorted(numbers))) for place, numbers in found.items())


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
def _tags(module: str) -> dict[int, tuple[tuple[int, ...], tuple[int, ...]]]:
    """For each line of the source: the lines of its own document and of the journal version that it stands for."""
    source = inspect.getsource(import_module(f"{algorithms.__name__}.{module}"))
    texts = source.split("\n")
    tags: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    for number, text in enumerate(texts, 1):
        tag = _TAG.search(text)
        if tag is not None:
            tags[number] = (tuple(_numbers(tag["own"])), tuple(_numbers(tag["journal"] or "")))
    for line, first in _elses(ast.parse(source), texts):
        if line in tags:  # `else:` itself is never run: it counts when the first statement behind it is
            own, journal = tags.get(first, ((), ()))
            tags[first] = (tags[line][0] + own, tags[line][1] + journal)
    return tags


def _elses(tree: ast.AST, texts: list[str]) -> Iterator[tuple[int, int]]:
    """The line of each `else:` and of the statement behind it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and node.orelse:
            first = node.orelse[0].lineno
            line = next((number for number in range(first - 1, node.lineno, -1) if texts[number - 1].strip().startswith("else:")), None)
            if line is not None and line > (node.body[-1].end_lineno or 0):
                yield line, first


def _numbers(text: str) -> Iterator[int]:
    for part in filter(None, (part.strip() for part in text.split(","))):
        first, _, last = part.partition("–")
        yield from range(int(first), int(last or first) + 1)
