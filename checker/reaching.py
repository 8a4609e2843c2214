"""`search --guide z3 --reach`: a run on which a condition arises, or that there is none, or that none was found and within which bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from roamcheck.model.interface import Model

from .conditions import arises, condition, watching
from .engines import tabled
from .question import Question
from .solver.interleavings import Interleavings
from .trace import Trace, record
from .verdict import ExitCode, Holds, Progress, Violated

ARISES, CANNOT, NOT_FOUND = "arises", "cannot arise", "not found"


@dataclass(frozen=True, slots=True)
class Reach:
    """What came of it."""

    question: Question
    text: str
    answer: str  # ARISES, CANNOT or NOT_FOUND
    how: str  # which search says so, within which bounds
    trace: Trace | None
    solutions: int  # orders that Z3 gave
    replayed: int  # how many of them were runs

    @property
    def exit_code(self) -> ExitCode:
        """0 it arises, 1 it cannot, 3 it was not found."""
        return {ARISES: ExitCode.HOLDS, CANNOT: ExitCode.VIOLATED, NOT_FOUND: ExitCode.UNDECIDED}[self.answer]


def reach(
    question: Question,
    text: str,
    *,
    solutions: int = 200,
    seed: int = 0,
    max_states: int = 1_000_000,
    stop: Callable[[], bool] = lambda: False,
    observe: Callable[[Progress], None] | None = None,
) -> Reach:
    """Have Z3 order events so that the condition arises; where it finds nothing, all states decide, if they are no more than `max_states`.

    Raises ConditionError, and KeyboardInterrupt when the exploration was interrupted.
    """
    w = question.world()
    wanted, model = condition(text, w), question.model()
    found = Interleavings(w, model, wanted, seed).search(solutions, stop=stop)
    counts = found.solutions, found.replayed
    if found.steps is not None:
        length = arises(w, model, wanted, found.steps)
        assert length == len(found.steps), "the condition arises with the last step"
        trace = recorded(question, model, found.steps, "z3", seed)
        return Reach(question, text, ARISES, "by an order of events that Z3 gave, replayed", trace, *counts)
    explored = tabled.explore(watching(w, model, wanted), max_states=max_states, first=True, observe=observe)
    if explored.interrupted:
        raise KeyboardInterrupt
    verdict, states = explored.verdicts["reach"], explored.counts.states
    if isinstance(verdict, Violated):
        trace = recorded(question, model, verdict.counterexample.steps, "tabled", seed)
        return Reach(question, text, ARISES, "by exploring: Z3 found no order", trace, *counts)
    if isinstance(verdict, Holds):
        return Reach(question, text, CANNOT, f"all {states:,} states were explored", None, *counts)
    return Reach(question, text, NOT_FOUND, f"within {found.solutions:,} orders and {states:,} states", None, *counts)


@dataclass(frozen=True, slots=True)
class Way:
    """A run to be recorded for its own sake."""

    initial: int
    steps: tuple[int, ...]


def recorded(question: Question, model: Model, steps: tuple[int, ...], engine: str, seed: int) -> Trace:
    """The run as a trace."""
    return record(question, model, Way(0, steps), engine=engine, seed=seed)


def as_record(found: Reach, path: Any) -> dict[str, Any]:
    """The object of `--json`."""
    return {
        "scenario": found.question.scenario.name,
        "protocol": found.question.protocol,
        "reach": found.text,
        "answer": found.answer,
        "how": found.how,
        "length": None if found.trace is None else found.trace.header.length,
        "trace": None if path is None else str(path),
        "solutions": found.solutions,
        "replayed": found.replayed,
    }
