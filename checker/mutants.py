"""Mutants: one-line faults planted in copies of the transition functions.  A property that no mutant can violate checks nothing.

A mutant is *killed* on a bundled scenario by a property that it violates there and that holds without it, or by "step-failed": a step
raises with it and none does without it.  A mutant that changes no behaviour is *equivalent*: the graph of every scenario stays the same.

The faults are in `mutant_registry`, what kills them in `mutant_kills`.  A fault that only says again what the receiver knows already is not
planted: no property asks for thrift.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any

from roamcheck.spec.protocols import PROTOCOLS
from roamcheck.spec.readings import NAMED_SETS

from .files import bundled, load_scenario
from .mutant_kills import KILLS
from .mutant_registry import EQUIVALENT, FAULTS
from .question import Question, QuestionError, question
from .recompiled import functions_of, recompile, source, tags
from .verdict import Holds, Violated

STEP_FAILED = "step-failed"
LARGE = 40_000  # states; a mutant that keeps sending may have no end, and what was found until then stands


class MutantError(QuestionError):
    """No such mutant, or one that no longer fits the source; one line that says which."""


@dataclass(frozen=True, slots=True)
class Kill:
    """Where a mutant is caught."""

    scenario: str
    protocol: str
    readings: str  # a named set
    property: str  # or STEP_FAILED


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault.  `line` is a printed line of the algorithm, or where the papers print none, a function of the module."""

    name: str
    algorithm: str  # "TR19 Alg. 6"; "clients", "returns"
    line: str
    module: str
    original: str  # occurs once in what `line` names
    replacement: str
    says: str
    killed_by: Kill | None
    reason: str = ""  # why it is equivalent

    @property
    def status(self) -> str:
        """ "killed" or "equivalent"; a survivor is "survives", and the tests allow none."""
        return "killed" if self.killed_by else "equivalent" if self.reason else "survives"


def _registry() -> Iterator[Mutant]:
    for (algorithm, module, prefix), faults in FAULTS.items():
        for line, slug, original, replacement, says in faults:
            name = f"{prefix}-{'l' if line.isdigit() else ''}{line.replace('_', '-')}-{slug}"
            kill = Kill(*KILLS[name]) if name in KILLS else None
            yield Mutant(name, algorithm, line, module, original, replacement, says, kill, EQUIVALENT.get(name, ""))


MUTANTS: Mapping[str, Mutant] = {mutant.name: mutant for mutant in _registry()}


def as_rows() -> list[dict[str, Any]]:
    """A row for each mutant, as `roamcheck list mutants` shows it."""
    return [_row(mutant) for mutant in MUTANTS.values()]


def _row(mutant: Mutant) -> dict[str, Any]:
    kill = mutant.killed_by
    where = {"scenario": kill.scenario, "property": kill.property, "protocol": kill.protocol, "readings": kill.readings} if kill else None
    return {"name": mutant.name, "algorithm": mutant.algorithm, "line": mutant.line, "status": mutant.status, "killed_by": where}


# ---- planting ----------------------------------------------------------------------------------------


def apply(name: str) -> Mapping[str, ModuleType]:
    """The algorithms with the mutant's fault, for `Question.model`.  Raises MutantError."""
    if name not in MUTANTS:
        raise MutantError(f"no mutant is called {name!r}; `roamcheck list mutants` names them")
    mutant = MUTANTS[name]
    changed = planted(mutant)
    return recompile(lambda module, text: changed if module == mutant.module else text)


def planted(mutant: Mutant) -> str:
    """The module's text with the fault.  Raises MutantError unless the original stands there exactly once."""
    lines = source(mutant.module).splitlines(keepends=True)
    hits = [number for number in lines_of(mutant) for _ in range(lines[number - 1].count(mutant.original))]
    if len(hits) != 1:
        raise MutantError(f"{mutant.name}: {mutant.original!r} occurs {len(hits)} times at {mutant.algorithm} l.{mutant.line}; it must occur once")
    lines[hits[0] - 1] = lines[hits[0] - 1].replace(mutant.original, mutant.replacement)
    return "".join(lines)


def lines_of(mutant: Mutant) -> list[int]:
    """The lines of the file that `mutant.line` names: by their tag, or those of a function."""
    if mutant.line.isdigit():
        return [number for number, printed in tags(mutant.module).items() if int(mutant.line) in printed[0]]
    return [number for name, first, last in _functions(mutant.module) if name == mutant.line for number in range(first, last + 1)]


def protocols_of(mutant: Mutant) -> list[str]:
    """The protocols that run the function with the fault."""
    places = {name for number in lines_of(mutant) for name, first, last in _functions(mutant.module) if first <= number <= last}
    return [p.name for p in PROTOCOLS.values() if any((mutant.module, name) in functions_of(p) for name in places)]


@cache
def _functions(module: str) -> tuple[tuple[str, int, int], ...]:
    tree = ast.parse(source(module))
    return tuple((node.name, node.lineno, node.end_lineno or node.lineno) for node in tree.body if isinstance(node, ast.FunctionDef))


# ---- killing -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plain:
    """What holds without a mutant."""

    states: int
    holds: tuple[str, ...]
    complete: bool


@cache
def ask(scenario: str, protocol: str, readings: str) -> Question:
    """The question about a bundled scenario."""
    return question(load_scenario(scenario), protocol=protocol, readings=readings)


@cache
def unmutated(scenario: str, protocol: str, readings: str, max_states: int = LARGE) -> Plain | None:
    """The verdicts on the algorithms as printed; None where the scenario does not apply."""
    asked = ask(scenario, protocol, readings)
    if asked.why_not_applicable():
        return None
    from .engines.tabled import explore

    found = explore(asked.model(), max_states=max_states, reduce=True)
    return Plain(found.counts.states, tuple(name for name, verdict in found.verdicts.items() if isinstance(verdict, Holds)), found.complete)


def is_killed(mutant: Mutant, kill: Kill) -> bool:
    """The property holds there without the mutant and is violated with it."""
    plain = unmutated(kill.scenario, kill.protocol, kill.readings)
    if plain is None or not plain.complete or kill.property not in (*plain.holds, STEP_FAILED):
        return False
    wanted = plain.holds if kill.property == STEP_FAILED else (kill.property,)
    return kill.property in violated(mutant, kill.scenario, kill.protocol, kill.readings, wanted)


def violated(mutant: Mutant, scenario: str, protocol: str, readings: str, properties: tuple[str, ...], max_states: int = LARGE) -> tuple[str, ...]:
    """Which of the properties the mutant violates first, or STEP_FAILED."""
    if not properties:
        return ()
    asked = question(load_scenario(scenario), protocol=protocol, readings=readings, properties=properties)
    from .engines.tabled import explore

    found = explore(asked.model(apply(mutant.name)), max_states=max_states, first=True, reduce=True)
    if found.failed is not None:
        return (STEP_FAILED,)
    return tuple(name for name, verdict in found.verdicts.items() if isinstance(verdict, Violated))


@dataclass(slots=True)
class Hunt:
    """Looks for kills among bundled scenarios, the small ones first."""

    sizes: tuple[int, ...] = (60, 400, 2_500, 12_000)  # states without the mutant; each limit is a round
    skip: Callable[[str], bool] = field(default=lambda scenario: scenario.startswith("peers-"))

    def hunt(self, mutant: Mutant) -> Kill | None:
        """The first kill, or None."""
        below = 0
        for limit in self.sizes:
            for scenario in bundled():
                for protocol in protocols_of(mutant):
                    for readings in NAMED_SETS if not self.skip(scenario) else ():
                        plain = unmutated(scenario, protocol, readings, limit)
                        if plain is not None and plain.complete and below < plain.states:
                            found = violated(mutant, scenario, protocol, readings, plain.holds, 4 * limit)
                            if found:
                                return Kill(scenario, protocol, readings, found[0])
            below = limit
        return None


def hunt(mutant: Mutant) -> Kill | None:
    """A kill on a bundled scenario, or None if none of up to 12,000 states catches the mutant."""
    return Hunt().hunt(mutant)
