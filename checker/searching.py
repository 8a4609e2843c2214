"""Asks one question by single runs: a strategy searches; what it finds is shrunk, replayed by the pure steps, and held against the shortest."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from roamcheck.model.build import build
from roamcheck.model.interface import Model, Scope
from roamcheck.model.measures import measures
from roamcheck.model.scenario import warnings as scenario_warnings
from roamcheck.spec.breach import Breach

from .check import STEP_FAILED, Answer, readings_label, verdict_record, verdicts_asked
from .engines import random_runs, tabled
from .interrupts import held_back
from .mutants import apply
from .question import Question
from .sampling.confirming import why_not
from .sampling.runs import Enough, Sampled, Sampler
from .sampling.shrinking import shrink
from .trace import Trace, assumptions_data, record
from .verdict import CannotBegin, Counterexample, ExitCode, NotApplicable, StepFailed, Unknown, Verdict, Violated


@dataclass(frozen=True, slots=True)
class Effort:
    """How to search, and for how long."""

    strategy: str = "hypothesis"
    targets: bool = True  # of hypothesis: follow the measures
    examples: int = 2_000  # runs
    longest: int = 200  # steps of a run
    seed: int = 0
    seconds: float | None = None
    database: Path | None = None  # of hypothesis: a folder of runs that found something
    compare: int = 20_000  # states to explore breadth first for the shortest counterexamples; 0: none

    def says(self) -> str:
        """How the runs were chosen."""
        how = self.strategy if self.strategy != "hypothesis" else f"hypothesis, {'with' if self.targets else 'without'} targets"
        return f"by {how}, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class Hit:
    """How a counterexample came about."""

    example: int  # the number of the run, from 1
    length: int  # of the run as it was found
    shrunk: int
    shortest: int | None = None  # breadth first; None where that is not known


@dataclass(frozen=True, slots=True)
class Searched:
    """What came of a search."""

    answer: Answer
    effort: Effort
    examples: int = 0
    steps: int = 0  # of all runs
    reached: int = 0  # steps of the longest
    states: int = 0  # distinct ones seen
    seconds: float = 0.0
    hits: Mapping[str, Hit] = field(default_factory=dict)
    interrupted: bool = False
    failed: StepFailed | None = None
    disagreements: tuple[str, ...] = ()  # what was found and does not replay

    @property
    def exit_code(self) -> ExitCode:
        """Interrupted before disagreeing before violated before undecided."""
        if self.interrupted:
            return ExitCode.INTERRUPTED
        return ExitCode.DISAGREES if self.disagreements else self.answer.exit_code


def search(
    question: Question,
    effort: Effort,
    *,
    named: frozenset[str] = frozenset(),
    observe: Callable[[Sampled], None] | None = None,
    mutant: str | None = None,
    algorithms: Mapping[str, ModuleType] | None = None,
) -> Searched:
    """Search runs of the question's model.  At an interrupt from the keyboard, what was found stands.

    `algorithms` do what the printed ones do, and take notes of it.  Raises MutantError, CannotBegin.
    """
    odd, why = scenario_warnings(question.as_asked()), question.why_not_applicable()
    if why is not None:
        verdicts: dict[str, Verdict] = {name: NotApplicable(why) for name in question.properties}
        return Searched(Answer(question, effort.strategy, None, None, verdicts, {}, named, odd, mutant=mutant), effort)
    world = question.world(apply(mutant) if mutant is not None else algorithms)
    model = build(world, question.properties)
    sampler = Sampler(
        model, measures=measures(world), examples=effort.examples, longest=effort.longest, seconds=effort.seconds, observe=observe
    )  # fmt: skip
    interrupted = run(sampler, effort, None if effort.database is None else effort.database / label(question))
    seconds = sampler.elapsed
    hits, verdicts, disagreements = judge(question, sampler, effort)
    traces = {} if mutant is not None else record_all(question, model, sampler, verdicts, effort)
    hits = hits if interrupted else held_against_shortest(build(world, tuple(hits)), hits, effort.compare)
    answer = Answer(question, effort.strategy, model, None, verdicts, traces, named, odd, mutant=mutant)
    return Searched(
        answer, effort, sampler.done, sampler.steps, sampler.reached, len(sampler.graph.nodes), seconds, hits, interrupted, sampler.failed,
        disagreements,
    )  # fmt: skip


def run(sampler: Sampler, effort: Effort, folder: Path | None = None) -> bool:
    """Search until the budget is spent; whether it was interrupted.  Hypothesis keeps in `folder` what it found.  Raises CannotBegin."""
    try:
        with held_back():
            choose(sampler, effort, folder)
    except Enough:
        pass
    except KeyboardInterrupt:
        return True
    return False


def choose(sampler: Sampler, effort: Effort, folder: Path | None) -> None:
    """Have the strategy choose runs.  Raises Enough, CannotBegin."""
    match effort.strategy:
        case "random":
            random_runs.uniform(sampler, effort.seed)
        case "swarm":
            random_runs.swarm(sampler, effort.seed)
        case _:
            imported().guided(sampler, effort.seed, effort.targets, folder)


def imported() -> ModuleType:
    """The engine that Hypothesis drives.  Raises CannotBegin."""
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.devnull)  # it would leave a folder behind for what it caches
    try:
        from .engines import hypothesis_guide  # slow to import, and optional
    except ModuleNotFoundError as missing:
        raise CannotBegin(f"{missing.name} is not installed: pip install 'roamcheck[guides]', or choose --strategy swarm") from None
    return hypothesis_guide


def label(question: Question) -> str:
    """The name of the folder in the database that holds what this question's search has found."""
    return f"{question.scenario.name}.{question.protocol}.{readings_label(question).rstrip('.') or 'printed'}"


def judge(question: Question, sampler: Sampler, effort: Effort) -> tuple[dict[str, Hit], dict[str, Verdict], tuple[str, ...]]:
    """Shrink and replay what was found; a verdict on each property asked, and what does not replay."""
    model, hits, disagreements = sampler.model, {}, []
    of_model: dict[str, Verdict] = {}
    for of, asked in enumerate(model.properties):
        verdict = sampler.verdict(of, effort.says())
        if isinstance(verdict, Violated):
            found = sampler.found[asked.name]
            shrunk = shrink(sampler.graph, of, found.counterexample)
            why = why_not(model, asked, shrunk)
            verdict = Violated(shrunk) if why is None else Unknown(f"a run was found that does not replay: {why}")
            if why is None:
                hits[asked.name] = Hit(found.example, found.counterexample.length, shrunk.length)
            else:
                disagreements.append(f"{asked.name}: the run that was found does not replay: {why}")
        of_model[asked.name] = verdict
    return hits, verdicts_asked(question, of_model), tuple(disagreements)


def record_all(question: Question, model: Model, sampler: Sampler, verdicts: Mapping[str, Verdict], effort: Effort) -> dict[str, Trace]:
    """A trace for each violation, and one of the run to a step that raised."""
    traces = {
        name: record(question, model, verdict.counterexample, property=name, engine=effort.strategy, seed=effort.seed)
        for name, verdict in verdicts.items()
        if isinstance(verdict, Violated)
    }
    if sampler.failed is not None:
        failed = sampler.failed
        run = Counterexample(failed.initial, failed.steps, None, Breach(str(failed)))
        traces[STEP_FAILED] = record(question, model, run, engine=effort.strategy, seed=effort.seed)
    return traces


def held_against_shortest(model: Model, hits: Mapping[str, Hit], states: int) -> dict[str, Hit]:
    """With the length of the shortest counterexample, where exploring so many states breadth first finds it."""
    if not hits or not states:
        return dict(hits)
    explored = tabled.explore(model, max_states=states)
    known = {}
    for of in model.properties:
        verdict = explored.verdicts[of.name]
        if isinstance(verdict, Violated) and (explored.complete or of.scope is not Scope.RUN):
            known[of.name] = verdict.counterexample.length
    return {name: Hit(hit.example, hit.length, hit.shrunk, known.get(name)) for name, hit in hits.items()}


def with_answer(given: Searched, answer: Answer) -> Searched:
    """The same with another answer: the one that knows where its traces are."""
    return replace(given, answer=answer)


def as_record(given: Searched) -> dict[str, Any]:
    """The object of `--json`: everything but `seconds` is the same in every run with one seed."""
    answer, effort = given.answer, given.effort
    question = answer.question
    return {
        "scenario": question.scenario.name,
        "protocol": question.protocol,
        "readings": question.readings.as_dict(question.protocol),
        "assumptions": assumptions_data(question.assume),
        "engine": effort.strategy,
        **({"mutant": answer.mutant} if answer.mutant is not None else {}),
        "targets": effort.strategy == "hypothesis" and effort.targets,
        "seed": effort.seed,
        "complete": False,
        "examples": given.examples,
        "steps": given.steps,
        "longest": given.reached,
        "states": given.states,
        "seconds": round(given.seconds, 3),
        "properties": {name: property_record(given, name, verdict) for name, verdict in answer.verdicts.items()},
        "warnings": list(answer.warnings),
    }


def property_record(given: Searched, name: str, verdict: Verdict) -> dict[str, Any]:
    """One property's part of it."""
    hit = given.hits.get(name)
    if hit is None:
        return verdict_record(verdict, None, shortest=False)
    shortest = hit.shortest is not None and hit.shrunk <= hit.shortest
    more = {"found_in_example": hit.example, "found_length": hit.length, "shortest_length": hit.shortest}
    return {**verdict_record(verdict, given.answer.paths.get(name), shortest), **more}

