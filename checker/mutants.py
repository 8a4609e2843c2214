"""Mutants: one-line faults planted in copies of the algorithms, each of which a property must catch on a bundled scenario.

The registry is data: `mutant_registry` says what is changed where, `mutant_kills` what catches it (found by benchmarks/hunt_mutants.py).
A kill is a property that the mutant violates where the printed text keeps it, or "step-failed": a step raises where the printed text's does not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Any

from roamcheck.spec.protocols import PROTOCOLS
from roamcheck.spec.readings import NAMED_SETS

from .engines.reference import explore
from .files import bundled, load_scenario
from .mutant_kills import KILLS
from .mutant_registry import EQUIVALENT, ROWS
from .question import Question, question
from .recompiled import claims, functions_of, recompile, source, tags
from .verdict import Counts, Exploration, Holds, StepFailed, Violated

STEP_FAILED = "step-failed"  # in place of a property
QUICK = 6_000  # states: what the hunt looks at
DESCRIBED = {"clients": "TR19 §3.2", "returns": "TR19 §5"}  # modules that transcribe no algorithm


class MutantError(ValueError):
    """No such mutant, or one that does not apply; one line that says which."""


@dataclass(frozen=True, slots=True)
class Kill:
    """What catches a mutant."""

    scenario: str
    protocol: str
    readings: str  # a named set
    property: str  # or STEP_FAILED


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault: on the printed line, or in the function, `original` becomes `replacement`."""

    name: str
    algorithm: str  # "TR19 Alg. 6"
    line: str  # "24"; or the name of a function, for what bears no printed line
    module: str
    original: str
    replacement: str
    says: str
    killed_by: Kill | None
    reason: str = ""  # why nothing can catch it


# ---- the registry ------------------------------------------------------------------------------------


def _mutants() -> Iterator[Mutant]:
    for module, rows in ROWS.items():
        algorithm = claims(module)[0].algorithm if claims(module) else DESCRIBED[module]
        for name, line, original, replacement, says in rows:
            kill = Kill(*KILLS[name].split()) if name in KILLS else None
            yield Mutant(name, algorithm, line, module, original, replacement, says, kill, EQUIVALENT.get(name, ""))


MUTANTS: dict[str, Mutant] = {mutant.name: mutant for mutant in _mutants()}


def as_rows() -> list[dict[str, Any]]:
    """A row for each mutant, for `roamcheck list mutants`."""
    return [
        {
            "name": m.name,
            "algorithm": m.algorithm,
            "line": m.line,
            "status": "killed" if m.killed_by else "equivalent",
            "killed_by": {
                "scenario": m.killed_by.scenario,
                "property": m.killed_by.property,
                "protocol": m.killed_by.protocol,
                "readings": m.killed_by.readings,
            }
            if m.killed_by
            else None,
        }
        for m in MUTANTS.values()
    ]


# ---- planting a fault --------------------------------------------------------------------------------


def apply(name: str) -> Mapping[str, ModuleType]:
    """The algorithms with one fault, for `Question.model`.  Raises MutantError."""
    if name not in MUTANTS:
        raise MutantError(f"no mutant is called {name!r}; see `roamcheck list mutants`")
    mutant = MUTANTS[name]
    text = mutated(mutant)
    return recompile(lambda module, unchanged: text if module == mutant.module else unchanged)


def mutated(mutant: Mutant) -> str:
    """The module's text with the fault; raises MutantError unless the original occurs exactly once where it should."""
    lines = source(mutant.module).splitlines(keepends=True)
    first, last = _place(mutant)
    part = "".join(lines[first - 1 : last])
    found = part.count(mutant.original)
    if found != 1:
        raise MutantError(f"mutant {mutant.name}: {mutant.original!r} occurs {found} times, not once, at {mutant.module} {mutant.line}")
    return "".join((*lines[: first - 1], part.replace(mutant.original, mutant.replacement), *lines[last:]))


def function_of(mutant: Mutant) -> str:
    """The function that bears the fault."""
    line = _place(mutant)[0]
    return next(f.name for f in _functions(mutant.module) if f.lineno <= line <= (f.end_lineno or f.lineno))


def _place(mutant: Mutant) -> tuple[int, int]:
    """The first and last line, in the file, of what the mutant changes."""
    if mutant.line.isdigit():
        places = [(line, line) for line, printed in tags(mutant.module).items() if int(mutant.line) in printed[0]]
    else:
        places = [(f.lineno, f.end_lineno or f.lineno) for f in _functions(mutant.module) if f.name == mutant.line]
    if len(places) != 1:
        raise MutantError(f"mutant {mutant.name}: {mutant.module} has no line or function {mutant.line}")
    return places[0]


@cache
def _functions(module: str) -> tuple[ast.FunctionDef, ...]:
    return tuple(node for node in ast.parse(source(module)).body if isinstance(node, ast.FunctionDef))


# ---- catching it -------------------------------------------------------------------------------------


def is_killed(mutant: Mutant, kill: Kill) -> bool:
    """Does the property hold of what is printed, and catch the mutant?"""
    named = () if kill.property == STEP_FAILED else (kill.property,)
    asked = question(load_scenario(kill.scenario), protocol=kill.protocol, readings=kill.readings, properties=named)
    found = explore(asked.model())
    if not found.complete or not all(isinstance(found.verdicts[name], Holds) for name in named):
        return False
    return caught(mutant, asked, named, found.counts.states) == kill.property


def caught(mutant: Mutant, asked: Question, holding: tuple[str, ...], states: int) -> str | None:
    """Which of the properties, which hold of what is printed, catches the mutant first, if one does.  `states` is how many there were."""
    model = replace(asked, properties=holding).model(apply(mutant.name))
    try:
        found = explore(model, first=True, max_states=10 * states + 500)  # a fault may have no end
    except StepFailed:
        return STEP_FAILED
    violated = {name: v.counterexample.length for name, v in found.verdicts.items() if isinstance(v, Violated)}
    return min(violated, key=violated.__getitem__, default=None)


def graphs(mutant: Mutant, asked: Question) -> tuple[Counts, Counts]:
    """The counts of what is printed and of the mutant."""
    return explore(asked.model()).counts, explore(asked.model(apply(mutant.name))).counts


def hunt(mutant: Mutant, quick: int = QUICK) -> Kill | None:
    """What catches the mutant, on the smallest scenario that does; scenarios with more than `quick` states are passed over."""
    for scenario, protocol, readings in chances(mutant):
        asked, found = _unmutated(scenario, protocol, readings, quick)
        if asked is None or found is None or not found.complete:
            continue
        holding = tuple(name for name, verdict in found.verdicts.items() if isinstance(verdict, Holds))
        how = caught(mutant, asked, holding, found.counts.states)
        if how is not None:
            return Kill(scenario, protocol, readings, how)
    return None


def chances(mutant: Mutant) -> Iterator[tuple[str, str, str]]:
    """Bundled scenario, protocol that runs the mutant's function, named set of readings; small scenarios first, and none of peers-*."""
    where = (mutant.module, function_of(mutant))
    protocols = [name for name, protocol in PROTOCOLS.items() if where in functions_of(protocol)]
    for scenario in _by_size():
        for protocol in protocols:
            for readings in NAMED_SETS:
                yield scenario, protocol, readings


@cache
def _by_size() -> tuple[str, ...]:
    def size(name: str) -> int:
        s = load_scenario(name)
        free = s.free.publish + s.free.client_moves + s.free.link_failures + s.free.broker_moves + s.free.merges + s.free.crashes
        return len(s.brokers) + 2 * len(s.moves) + 3 * len(s.events) + 5 * (free + s.free.volatile_crashes)

    return tuple(sorted((name for name in bundled() if not name.startswith("peers-")), key=size))


@cache
def _unmutated(scenario: str, protocol: str, readings: str, quick: int) -> tuple[Question | None, Exploration | None]:
    asked = question(load_scenario(scenario), protocol=protocol, readings=readings)
    if asked.why_not_applicable() is not None:
        return None, None
    return asked, explore(asked.model(), max_states=quick)
