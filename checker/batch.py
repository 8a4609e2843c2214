"""Many scenarios, one after the other or on several processes: each is explored to the end, and what is violated is grouped by its cause."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing.connection import wait
from typing import Any

from roamcheck.model.interface import Model
from roamcheck.model.scenario import Scenario
from roamcheck.spec.properties import PROPERTIES

from .causes import Cause, CauseFinder
from .check import WORDS, never_fired, verdicts_asked
from .mutants import apply
from .question import Question
from .verdict import ExitCode, Exploration, Violated

SMALL = 20_000  # states up to which a search without reductions is the quicker one
CHUNK = 32  # scenarios that a process is given at once


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked of each scenario; can be sent to other processes."""

    ask: Callable[[Scenario], Question]
    mutant: str | None = None
    max_states: int | None = None
    max_depth: int | None = None
    reduce: bool = True  # where there are many states


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one scenario."""

    scenario: Scenario
    states: int
    verdicts: tuple[tuple[str, str, int | None], ...]  # property, verdict, length of the counterexample
    causes: tuple[tuple[Cause, int], ...]  # of each violation, and its length
    warnings: tuple[str, ...]
    failed: str | None = None  # a step raised

    @property
    def counted(self) -> list[str]:
        """The verdicts that the exit code counts."""
        return [verdict for name, verdict, _ in self.verdicts if PROPERTIES[name].decisive]


def explore(scenario: Scenario, task: Task, finder: CauseFinder) -> Finding:
    """One scenario, to the end or as far as the task allows.  Raises MutantError, KeyboardInterrupt."""
    question = task.ask(scenario)
    why = question.why_not_applicable()
    if why is not None:
        return Finding(scenario, 0, tuple((name, "not-applicable", None) for name in question.properties), (), (why,))
    model = question.model(None if task.mutant is None else apply(task.mutant))
    found = to_the_end(model, task.max_states, task.max_depth, task.reduce)
    verdicts, causes = [], []
    for name, verdict in verdicts_asked(question, found.verdicts).items():
        length = None
        if isinstance(verdict, Violated):
            length = verdict.counterexample.length
            causes.append((finder.cause(question, model, name, verdict.counterexample, task.mutant is None), length))
        verdicts.append((name, WORDS[type(verdict)], length))
    failed = None if found.failed is None else str(found.failed)
    return Finding(scenario, found.counts.states, tuple(verdicts), tuple(causes), never_fired(model, found), failed)


def to_the_end(model: Model, max_states: int | None, max_depth: int | None = None, reduce: bool = True) -> Exploration:
    """Explore all states; if they are many, with reductions.  Raises KeyboardInterrupt: what is half explored is no finding."""
    from .engines import tabled

    limit = min(SMALL, max_states or SMALL) if reduce else max_states
    found = tabled.explore(model, max_states=limit, max_depth=max_depth)
    if reduce and not found.complete and found.failed is None and not found.interrupted and (max_states or SMALL + 1) > SMALL:
        found = tabled.explore(model, max_states=max_states, max_depth=max_depth, reduce=True, symmetric=True)
    if found.interrupted:
        raise KeyboardInterrupt
    return found


@dataclass(slots=True)
class Example:
    """Counterexamples of one cause: how many scenarios have one, and the shortest."""

    count: int
    length: int
    scenario: Scenario


@dataclass(slots=True)
class Tally:
    """What came of all of them so far."""

    scenarios: int = 0
    violating: int = 0
    states: int = 0
    undecided: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)  # a scenario, and what a step raised
    violated: Counter[str] = field(default_factory=Counter)  # by property, how many scenarios
    shortest: dict[str, int] = field(default_factory=dict)
    causes: dict[Cause, Example] = field(default_factory=dict)
    unfired: int = 0  # scenarios with a move that fires in no run

    def add(self, finding: Finding) -> None:
        """One more."""
        self.scenarios += 1
        self.states += finding.states
        self.violating += "violated" in finding.counted
        self.undecided += bool({"unknown", "holds-within"} & {*finding.counted})
        self.unfired += any("fired in no run" in warning for warning in finding.warnings)
        if finding.failed is not None:
            self.failed.append((finding.scenario.name, finding.failed))
        for cause, length in finding.causes:
            self.violated[cause.property] += 1
            self.shortest[cause.property] = min(length, self.shortest.get(cause.property, length))
            known = self.causes.get(cause)
            if known is None:
                self.causes[cause] = Example(1, length, finding.scenario)
            else:
                known.count += 1
                if length < known.length:
                    known.length, known.scenario = length, finding.scenario

    @property
    def exit_code(self) -> ExitCode:
        """Violated before undecided before holds."""
        return ExitCode.VIOLATED if self.violating else ExitCode.UNDECIDED if self.undecided or self.failed else ExitCode.HOLDS

    def ordered(self) -> list[tuple[Cause, Example]]:
        """The causes, those of the properties that the papers promise first, and of these the commonest."""
        return sorted(
            self.causes.items(), key=lambda item: (not PROPERTIES[item[0].property].decisive, -item[1].count, item[1].length, str(item[0]))
        )  # fmt: skip


# ---- on several processes ------------------------------------------------------------------------------------


def findings(scenarios: Iterable[Scenario], task: Task, processes: int = 1) -> Iterator[Finding]:
    """What came of each scenario, in order, whatever the number of processes."""
    if processes == 1:
        from .tabled.loading import load

        load()
        finder = CauseFinder()
        yield from (explore(scenario, task, finder) for scenario in scenarios)
        return
    waiting: deque[Future[list[Finding]]] = deque()
    source = iter(scenarios)
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=_begin) as pool:
        try:
            while chunk := list(islice(source, CHUNK)):
                waiting.append(pool.submit(_explore_all, chunk, task))
                while len(waiting) > 4 * processes or (waiting and waiting[0].done()):
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        except BaseException:  # what is still waiting is not to be explored first
            pool.shutdown(cancel_futures=True)
            raise


_finder = CauseFinder()


def _begin() -> None:
    from .tabled.loading import load

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks deals with it
    threading.Thread(target=_end_with_the_asker, daemon=True).start()
    load()


def _end_with_the_asker() -> None:
    """A process of the pool waits for more for ever when the one that asks was killed."""
    asker = multiprocessing.parent_process()
    assert asker is not None
    wait([asker.sentinel])
    os._exit(1)


def _explore_all(scenarios: Sequence[Scenario], task: Task) -> list[Finding]:
    return [explore(scenario, task, _finder) for scenario in scenarios]


# ---- told as data ----------------------------------------------------------------------------------------------


def finding_record(finding: Finding) -> dict[str, Any]:
    """One scenario's line of `--json`."""
    properties = {name: {"verdict": verdict, "length": length} for name, verdict, length in finding.verdicts}
    return {"scenario": finding.scenario.name, "title": finding.scenario.title, "states": finding.states, "properties": properties}


def tally_record(tally: Tally, complete: bool, seconds: float) -> dict[str, Any]:
    """The last line of `--json`."""
    return {
        "scenarios": tally.scenarios,
        "complete": complete,
        "violating": tally.violating,
        "undecided": tally.undecided,
        "states": tally.states,
        "seconds": round(seconds, 3),
        "violated": dict(sorted(tally.violated.items())),
        "shortest": dict(sorted(tally.shortest.items())),
        "causes": [
            {
                "protocol": cause.protocol, "property": cause.property, "conjunct": cause.conjunct, "lines": [str(some) for some in cause.lines],
                "scenarios": example.count, "length": example.length, "example": example.scenario.name,
            }
            for cause, example in tally.ordered()
        ],
    }  # fmt: skip
