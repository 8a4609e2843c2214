"""Asks one question: explores the model, records a trace for each violation, and says it all in a form that can be printed or stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from roamcheck import __version__
from roamcheck.model.interface import Kind, Model
from roamcheck.model.scenario import as_data
from roamcheck.model.scenario import warnings as scenario_warnings
from roamcheck.spec.breach import Breach
from roamcheck.spec.properties import PROPERTIES
from roamcheck.spec.protocols import PROTOCOLS
from roamcheck.spec.readings import NAMED_SETS, PRINTED

from .files import write_text
from .guards import GuardCoverage, never
from .mutants import apply
from .question import Question
from .trace import Trace, assumptions_data, dumps, record
from .verdict import Counterexample, ExitCode, Exploration, Holds, HoldsWithin, NotApplicable, Progress, Unknown, Verdict, Violated

Engine = Callable[..., Exploration]
ENGINES = ("tabled", "reference")  # those that need no Spark; each is imported when it is asked, since that takes a while
STEP_FAILED = "step-failed"  # the run to a step that raised, among the traces
WORDS: dict[type, str] = {
    Holds: "holds",
    Violated: "violated",
    HoldsWithin: "holds-within",
    Unknown: "unknown",
    NotApplicable: "not-applicable",
}


REDUCTIONS = frozenset(("partial-order", "symmetry"))


@dataclass(frozen=True, slots=True)
class Limits:
    """Where to stop, and how much to take."""

    max_states: int | None = None
    max_depth: int | None = None
    first: bool = False
    workers: int = 1  # threads, of the tabled engine
    reductions: frozenset[str] = REDUCTIONS  # that the tabled engine may use
    fingerprint_bits: int = 64  # of the tabled engine: 64 or 128
    max_memory: int | None = None  # bytes that the process may take, of the tabled engine
    checkpoint: Path | None = None  # a folder to which the engines tabled and spark write how far they have come
    resume: bool = False  # and go on from what is there
    master: str | None = None  # of Spark, and Spark's properties, and the partitions of the states; of the engine spark
    conf: Mapping[str, str] = field(default_factory=dict)
    partitions: int | None = None
    debug: bool = False  # hold every step to its footprint, in the tabled engine


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a question."""

    question: Question
    engine: str
    model: Model | None  # None when the scenario does not apply as a whole
    exploration: Exploration | None
    verdicts: Mapping[str, Verdict]  # for every property asked, those that do not apply among them
    traces: Mapping[str, Trace]
    named: frozenset[str]  # properties asked for by name
    warnings: tuple[str, ...] = ()
    coverage: GuardCoverage | None = None
    mutant: str | None = None  # the fault that was planted
    paths: Mapping[str, Path] = field(default_factory=dict)  # where the traces were written

    @property
    def exit_code(self) -> ExitCode:
        """Violated before undecided before holds; what the papers do not promise counts when it was asked for by name."""
        if self.exploration is not None and self.exploration.interrupted:
            return ExitCode.INTERRUPTED
        counted = [verdict for name, verdict in self.verdicts.items() if PROPERTIES[name].decisive or name in self.named]
        if any(isinstance(verdict, Violated) for verdict in counted):
            return ExitCode.VIOLATED
        if any(isinstance(verdict, HoldsWithin | Unknown) for verdict in counted):
            return ExitCode.UNDECIDED
        return ExitCode.HOLDS


def answer(
    question: Question,
    *,
    engine: str = "tabled",
    limits: Limits | None = None,
    named: frozenset[str] = frozenset(),
    observe: Callable[[Progress], None] | None = None,
    counts: bool = False,
    mutant: str | None = None,
) -> Answer:
    """Explore the question's model.

    `counts` also records which guards of the algorithms were seen true and false, which takes an exploration without reductions.  `mutant` plants
    that fault; no trace comes of it, since a trace is replayed by the algorithms as printed.  Raises MutantError, CannotBegin.
    """
    limits = limits or Limits()
    odd = scenario_warnings(question.as_asked())
    why = question.why_not_applicable()
    if why is not None:
        verdicts: dict[str, Verdict] = {name: NotApplicable(why) for name in question.properties}
        return Answer(question, engine, None, None, verdicts, {}, named, odd)
    coverage = GuardCoverage() if counts and mutant is None else None
    model = question.model(apply(mutant) if mutant is not None else coverage.algorithms if coverage else None)
    explore, options = engine_with_options(engine, question, limits, counts, mutant)
    found = explore(model, max_states=limits.max_states, max_depth=limits.max_depth, first=limits.first, observe=observe, **options)
    verdicts = verdicts_asked(question, found.verdicts)
    traces = {}
    for name, verdict in verdicts.items():
        if isinstance(verdict, Violated) and mutant is None:
            traces[name] = record(question, model, verdict.counterexample, property=name, engine=engine)
    if found.failed is not None and mutant is None:
        run = Counterexample(found.failed.initial, found.failed.steps, None, Breach(str(found.failed)))
        traces[STEP_FAILED] = record(question, model, run, engine=engine)
    return Answer(question, engine, model, found, verdicts, traces, named, (*odd, *never_fired(model, found)), coverage, mutant)


def verdicts_asked(question: Question, of_model: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """The verdict on each property that was asked, those that do not apply among them."""
    reasons = {name: question.not_applicable(name) for name in question.properties}
    return {name: of_model[name] if reason is None else NotApplicable(reason) for name, reason in reasons.items()}


def to_resume(folder: Path) -> bool:
    """Whether the folder holds a checkpoint, sound or not."""
    from .tabled.checkpoint import MANIFEST

    return (folder / MANIFEST).exists()


def engine_with_options(name: str, question: Question, limits: Limits, counts: bool, mutant: str | None) -> tuple[Engine, dict[str, Any]]:
    """An engine, and what only that is told."""
    if name == "spark":
        from .engines import spark

        where = spark.Where(limits.master, limits.conf, limits.partitions, limits.checkpoint, limits.resume, about(question, mutant, (), 64))
        return spark.explore, {"recipe": partial(model_of, question, mutant), "where": where}
    if name == "tabled":
        from .engines import tabled

        return tabled.explore, tabled_options(question, limits, counts, mutant)
    from .engines import reference

    return reference.explore, {}


def model_of(question: Question, mutant: str | None) -> Model:
    """The transition system, in whatever process."""
    return question.model(None if mutant is None else apply(mutant))


def about(question: Question, mutant: str | None, reductions: tuple[str, ...], bits: int) -> dict[str, Any]:
    """All that the states which a search finds depend on."""
    return {
        "version": __version__,
        "scenario": question.scenario.name,
        "protocol": question.protocol,
        "readings": question.readings.as_dict(question.protocol),
        "assumptions": assumptions_data(question.assume),
        "properties": list(question.properties),
        "mutant": mutant,
        "reductions": list(reductions),
        "fingerprint bits": bits,
        "scenario with other contents, SHA-256": sha256(json.dumps(as_data(question.scenario), sort_keys=True).encode()).hexdigest(),
    }


def tabled_options(question: Question, limits: Limits, counts: bool, mutant: str | None) -> dict[str, Any]:
    """What only the tabled engine is told."""
    from .tabled.checkpoint import Checkpoint

    used, bits = frozenset[str]() if counts or limits.debug else limits.reductions, limits.fingerprint_bits
    reduce = "partial-order" in used
    what = about(question, mutant, ("partial-order",) if reduce else (), bits)
    checkpoint = None if limits.checkpoint is None else Checkpoint(limits.checkpoint, what, limits.resume)
    return {
        "workers": limits.workers, "wide": bits == 128, "reduce": reduce, "symmetric": "symmetry" in used, "max_memory": limits.max_memory,
        "checkpoint": checkpoint, "debug": limits.debug,
    }  # fmt: skip


def never_fired(model: Model, found: Exploration) -> tuple[str, ...]:
    """A warning for each move of the scenario that fired in no run: what was to be checked may never have happened."""
    if not found.complete:
        return ()
    unfired = (model.steps[index] for index in found.unfired)
    moves = [(dict(step.arguments)["move"], step) for step in unfired if step.kind is Kind.ENVIRONMENT and "move" in dict(step.arguments)]
    lines = [f"move {move} ({step.action}) fired in no run: its guard never holds" for move, step in moves]
    if found.counts.waiting_cycles:
        lines.append("the protocol can go on for ever while the rest of the moves wait for silence; that run is not part of eventual-quiescence")
    return tuple(lines)


def write_traces(given: Answer, folder: Path, written: set[Path]) -> Answer:
    """Write the traces of all violations into `folder`, beside those `written` before, which are added to.  Raises FileError."""
    paths = {}
    for name, trace in given.traces.items():
        stem = f"{given.question.scenario.name}.{given.question.protocol}.{readings_label(given.question)}{name}"
        path = next(path for path in trace_paths(folder, stem) if path not in written)
        write_text(path, dumps(trace))
        written.add(path)
        paths[name] = path
    return replace(given, paths=paths)


def trace_paths(folder: Path, stem: str, suffix: str = ".jsonl") -> Iterator[Path]:
    """STEM.jsonl, then STEM.2.jsonl, …: two files may hold scenarios of one name."""
    yield folder / f"{stem}{suffix}"
    yield from (folder / f"{stem}.{number}{suffix}" for number in count(2))


def readings_label(question: Question) -> str:
    """Part of a file name: nothing for the printed readings, the name of the set for the others."""
    printed = PROTOCOLS[question.protocol].printed()
    for name, readings in NAMED_SETS.items():
        if question.readings == readings.with_values(printed):
            return "" if readings == PRINTED else f"{name}."
    return "mixed."


def as_record(given: Answer) -> dict[str, Any]:
    """The verdict object of `--json`: everything but `seconds` is the same in every run."""
    question, found = given.question, given.exploration
    return {
        "scenario": question.scenario.name,
        "protocol": question.protocol,
        "readings": question.readings.as_dict(question.protocol),
        "assumptions": assumptions_data(question.assume),
        "engine": given.engine,
        **({"mutant": given.mutant} if given.mutant is not None else {}),
        "reductions": list(found.reductions) if found else [],
        "complete": found is None or found.complete,
        "states": found.counts.states if found else 0,
        "transitions": found.counts.transitions if found else 0,
        "depth": found.counts.depth if found else 0,
        "quiescent": found.counts.quiescent if found else 0,
        "unfair_cycles": found.counts.unfair_cycles if found else 0,
        "seconds": round(found.seconds, 3) if found else 0.0,
        "collision_bound": found.collision_bound if found else 0.0,
        "properties": {
            name: verdict_record(verdict, given.paths.get(name), found is None or name not in found.longer)
            for name, verdict in given.verdicts.items()
        },
        "warnings": list(given.warnings),
        **(counts_record(given.coverage, given) if given.coverage is not None else {}),
    }


def counts_record(coverage: GuardCoverage, given: Answer) -> dict[str, Any]:
    """What `--counts` adds to the verdict object."""
    never_true, never_false, unreached = never(coverage, PROTOCOLS[given.question.protocol])
    by_action = given.exploration.steps_by_action if given.exploration else {}
    return {
        "transitions_by_action": dict(by_action),
        "guards": {"never_true": list(never_true), "never_false": list(never_false), "never_asked": list(unreached)},
    }


def verdict_record(verdict: Verdict, trace: Path | None, shortest: bool) -> dict[str, Any]:
    """One property's part of the verdict object."""
    found: Counterexample | None = verdict.counterexample if isinstance(verdict, Violated) else None
    record = {
        "verdict": WORDS[type(verdict)],
        "length": found.length if found else None,
        "shortest": shortest if found else None,
        "trace": str(trace) if trace else None,
        "breach": {"conjunct": found.breach.conjunct, "values": dict(found.breach.values)} if found else None,
    }
    match verdict:
        case HoldsWithin(bound):
            record["bound"] = bound
        case Unknown(why) | NotApplicable(why):
            record["why"] = why
    return record
