"""One job: explored to its end or within its budget, or searched by the runs of one seed; and the rows that say what came of it.

A row is the same wherever and however often its job is done, but for `seconds`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from time import monotonic
from typing import Any

from roamcheck import __version__
from roamcheck.checker.batch import to_the_end
from roamcheck.checker.causes import CauseFinder
from roamcheck.checker.check import WORDS, never_fired, verdicts_asked
from roamcheck.checker.passing import LineCoverage
from roamcheck.checker.question import Question
from roamcheck.checker.searching import Effort, search
from roamcheck.checker.tabled.loading import load
from roamcheck.checker.trace import Trace, dumps, record
from roamcheck.checker.verdict import CannotBegin, HoldsWithin, NotApplicable, Unknown, Verdict, Violated
from roamcheck.model.interface import Model
from roamcheck.spec.properties import PROPERTIES
from roamcheck.spec.protocols import PROTOCOLS

from .jobs import Budget, Job, Radio, signature

Row = dict[str, Any]
OUTCOMES = ("error", "violated", "undecided", "holds", "not-applicable")  # the first that is so


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a job: its row, and one for each violation."""

    job: Row
    violations: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """What a process keeps between jobs to be quick; no row depends on it."""

    causes: CauseFinder
    lines: LineCoverage


@cache
def known() -> Known:
    """Of this process, ready to start."""
    load()
    return Known(CauseFinder(), LineCoverage())


def do(job: Job, budget: Budget) -> Done:
    """Answer one question.  What fails in the model, or in roamcheck itself, is an error of the job; what the machine lacks is raised.

    Raises OSError, MemoryError, CannotBegin, KeyboardInterrupt.
    """
    began = monotonic()
    try:
        done = searched(job, budget) if job.seed is not None else explored(job, budget)
    except (OSError, MemoryError, CannotBegin):
        raise
    except Exception as error:  # a defect: it would come again wherever the job is tried
        done = Done({**about(job, budget), "outcome": "error", "error": f"roamcheck failed: {type(error).__name__}: {error}"})
    done.job["seconds"] = monotonic() - began
    return done


def explored(job: Job, budget: Budget) -> Done:
    """All states, or as many as the budget allows."""
    asked, row = job.question, about(job, budget)
    if asked is None:
        return Done({**row, "outcome": "error", "error": job.error})
    why = asked.why_not_applicable()
    if why is not None:
        verdicts: dict[str, Verdict] = {name: NotApplicable(why) for name in asked.properties}
        return Done({**row, "complete": True, "outcome": "not-applicable", "verdicts": verdict_rows(verdicts), "warnings": [why]})
    lines = known().lines
    lines.clear()
    model = asked.model(lines.algorithms)
    found = to_the_end(model, budget.max_states)
    counts, verdicts = found.counts, verdicts_asked(asked, found.verdicts)
    violations = violation_rows(job, budget, model, verdicts, found.longer, {})
    failed = None if found.failed is None else f"the model failed: {found.failed}"
    row |= {
        "complete": found.complete,
        "states": counts.states,
        "transitions": counts.transitions,
        "depth": counts.depth,
        "quiescent": counts.quiescent,
        "reductions": list(found.reductions),
        "error": failed,
        **told(job, verdicts, found.longer, failed, never_fired(model, found)),
    }
    return Done(row, tuple(violations))


def searched(job: Job, budget: Budget) -> Done:
    """The runs of one seed."""
    asked = job.question
    assert asked is not None
    assert job.seed is not None
    lines = known().lines
    lines.clear()
    effort = Effort(budget.strategy, examples=budget.examples, longest=budget.longest, seed=job.seed, compare=0)
    found = search(asked, effort, algorithms=lines.algorithms)
    if found.interrupted:
        raise KeyboardInterrupt
    model, verdicts = found.answer.model, found.answer.verdicts
    assert model is not None, "a question without a model is not searched"
    longer = frozenset(asked.properties)
    violations = violation_rows(job, budget, model, verdicts, longer, found.answer.traces)
    failed = f"the model failed: {found.failed}" if found.failed is not None else "; ".join(found.disagreements) or None
    row = {
        **about(job, budget),
        "states": found.states,
        "depth": found.reached,
        "runs": found.examples,
        "steps": found.steps,
        "error": failed,
        **told(job, verdicts, longer, failed, ()),
    }
    return Done(row, tuple(violations))


# ---- rows ------------------------------------------------------------------------------------------------------------------------


def about(job: Job, budget: Budget) -> Row:
    """What the rows of a job begin with."""
    asked, engine = job.question, "tabled" if job.seed is None else budget.strategy
    row: Row = {"job": job.name(budget), "number": job.number, "place": job.place, "engine": engine, "seed": job.seed, "version": __version__}
    if asked is None:
        return row
    assume, losses = asked.assume, asked.scenario.free.losses
    return {
        **row,
        "scenario": asked.scenario.name,
        "protocol": asked.protocol,
        "readings": job.readings,
        "in_flight": assume.in_flight,
        "bounce": assume.bounce,
        "client_links": assume.client_links,
        "radio": str(Radio(assume.radio, losses if assume.radio != "reliable" else 0)),
        "reading_values": asked.readings.as_dict(),
    }


def told(job: Job, verdicts: Mapping[str, Verdict], longer: frozenset[str], failed: str | None, warnings: Iterable[str]) -> Row:
    """The verdicts, and what they come to."""
    assert job.question is not None
    return {
        "outcome": "error" if failed is not None else outcome(verdicts),
        "verdicts": verdict_rows(verdicts, longer),
        "violations": sum(isinstance(verdict, Violated) for verdict in verdicts.values()),
        "warnings": list(warnings),
        "lines": list(known().lines.printed(PROTOCOLS[job.question.protocol])),
    }


def outcome(verdicts: Mapping[str, Verdict]) -> str:
    """What the verdicts on the properties that the papers promise come to."""
    counted = [verdict for name, verdict in verdicts.items() if PROPERTIES[name].decisive] or list(verdicts.values())
    if any(isinstance(verdict, Violated) for verdict in counted):
        return "violated"
    if any(isinstance(verdict, HoldsWithin | Unknown) for verdict in counted):
        return "undecided"
    return "not-applicable" if all(isinstance(verdict, NotApplicable) for verdict in counted) else "holds"


def verdict_rows(verdicts: Mapping[str, Verdict], longer: frozenset[str] = frozenset()) -> list[Row]:
    """One for each property."""
    rows = []
    for name, verdict in verdicts.items():
        violated = isinstance(verdict, Violated)
        why = verdict.why if isinstance(verdict, Unknown | NotApplicable) else verdict.bound if isinstance(verdict, HoldsWithin) else None
        length, shortest = (verdict.counterexample.length, name not in longer) if isinstance(verdict, Violated) else (None, None)
        rows.append({"property": name, "verdict": WORDS[type(verdict)], "length": length, "shortest": shortest if violated else None, "why": why})
    return rows


def violation_rows(
    job: Job, budget: Budget, model: Model, verdicts: Mapping[str, Verdict], longer: frozenset[str], traces: Mapping[str, Trace]
) -> list[Row]:
    """One for each violated property, with the trace: one of `traces`, or else recorded now."""
    assert job.question is not None
    common = about(job, budget)
    del common["reading_values"]
    return [
        {**common, **violation(job.question, common["engine"], model, name, verdict, traces.get(name)), "shortest": name not in longer}
        for name, verdict in verdicts.items()
        if isinstance(verdict, Violated)
    ]


def violation(asked: Question, engine: str, model: Model, name: str, verdict: Violated, trace: Trace | None) -> Row:
    """What fails, by which lines, and on which run."""
    found = verdict.counterexample
    cause = known().causes.cause(asked, model, name, found)
    trace = trace or record(asked, model, found, property=name, engine=engine)
    return {
        "property": name,
        "promised": PROPERTIES[name].decisive,
        "length": found.length,
        "conjunct": found.breach.conjunct,
        "values": dict(found.breach.values),
        "cause": signature(cause.protocol, cause.property, cause.conjunct, [str(lines) for lines in cause.lines]),
        "cause_lines": [str(lines) for lines in cause.lines],
        "trace": dumps(trace),
    }
