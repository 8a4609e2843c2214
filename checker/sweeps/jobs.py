"""The jobs of a sweep: scenarios × protocols × readings × assumptions, and × seeds where exploring does not come to its end."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import product
from typing import Any

from roamcheck import __version__
from roamcheck.checker.question import Question, QuestionError, question
from roamcheck.checker.trace import assumptions_data
from roamcheck.model.scenario import ASSUMPTIONS, Assumptions, Scenario, as_data, from_data
from roamcheck.spec.properties import PROPERTIES
from roamcheck.spec.readings import PRINTED, Readings

OWN = "file"  # the label of what a scenario's file chooses itself


@dataclass(frozen=True, slots=True)
class Source:
    """A scenario and where it comes from; or why there is none."""

    place: str  # a file, a bundled name, "enumerated", "generated"
    scenario: Scenario | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Radio:
    """How messages may be lost, and how many."""

    kind: str  # a value of the assumption `radio`
    losses: int

    def __str__(self) -> str:
        return self.kind if self.kind == "reliable" else f"{self.kind}:{self.losses}"


def to_radio(text: str) -> Radio:
    """From "reliable", "detected:1", "silent:2".  Raises QuestionError."""
    kind, colon, number = text.partition(":")
    fits = number.isdecimal() and 0 < int(number) <= 1000 if colon else kind == "reliable"
    if kind not in ASSUMPTIONS["radio"] or not fits or (kind == "reliable" and colon):
        raise QuestionError(f"--radio {text!r}: write reliable, detected:N or silent:N, N messages lost at most (1 to 1000)")
    return Radio(kind, int(number) if colon else 0)


@dataclass(frozen=True, slots=True)
class Axes:
    """What each scenario is asked under; None is what its file chooses."""

    protocols: tuple[str | None, ...] = (None,)
    readings: tuple[str | None, ...] = (None,)  # named sets
    reading: tuple[tuple[str, str], ...] = ()  # single values, in every job
    in_flight: tuple[str | None, ...] = (None,)
    bounce: tuple[str | None, ...] = (None,)
    client_links: tuple[str | None, ...] = (None,)
    radios: tuple[Radio | None, ...] = (None,)
    properties: tuple[str, ...] = ()  # none: all


@dataclass(frozen=True, slots=True)
class Budget:
    """How far a job goes: so many states, and beyond them runs, for each seed so many."""

    max_states: int = 100_000
    strategy: str = "swarm"
    seeds: tuple[int, ...] = (0,)
    examples: int = 200  # runs of a seed
    longest: int = 200  # steps of a run


@dataclass(frozen=True)
class Job:
    """One question.  Without a seed it is explored; with one, runs are searched."""

    number: int  # its place among the questions of the sweep, from 0
    place: str
    question: Question | None  # None: there is no scenario, and `error` says why
    readings: str = OWN  # the label of the set
    seed: int | None = None
    error: str | None = None

    @cached_property
    def asked(self) -> str:
        """The question as JSON: equal questions are equal texts."""
        return json.dumps(question_data(self.question) if self.question is not None else [self.place, self.error], ensure_ascii=False, sort_keys=True)

    def name(self, budget: Budget) -> str:
        """A name that depends on nothing but what is asked and how far the job goes; 16 hexadecimal digits."""
        about = (__version__, budget.max_states) if self.seed is None else (__version__, budget.strategy, budget.examples, budget.longest, self.seed)
        return signature(self.asked, *about)

    def with_seed(self, seed: int) -> Job:
        """The search of runs with that seed."""
        return replace(self, seed=seed)


def signature(*parts: object) -> str:
    """16 hexadecimal digits."""
    return sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()[:16]


# ---- all of them -----------------------------------------------------------------------------------------------------------------


def questions(sources: Iterable[Source], axes: Axes) -> Iterator[Job]:
    """Each question once, in order.  A scenario that fixes its losses is asked under those alone, whatever the radios are."""
    seen: set[str] = set()
    for source in sources:
        for job in jobs_of(source, axes):
            key = signature(job.asked)
            if key not in seen:
                yield replace(job, number=len(seen))
                seen.add(key)


def jobs_of(source: Source, axes: Axes) -> Iterator[Job]:
    """Those of one scenario, numbered later.  Raises QuestionError."""
    scenario = source.scenario
    if scenario is None:
        yield Job(0, source.place, None, error=source.error)
        return
    radios = (None,) if fixes_losses(scenario) else axes.radios
    for protocol, readings, in_flight, bounce, client_links, radio in product(
        axes.protocols, axes.readings, axes.in_flight, axes.bounce, axes.client_links, radios
    ):
        given = {"in-flight": in_flight, "bounce": bounce, "client-links": client_links, "radio": None if radio is None else radio.kind}
        asked = question(
            scenario,
            protocol=protocol,
            readings=readings,
            reading=dict(axes.reading),
            assumptions={name: value for name, value in given.items() if value is not None},
            losses=None if radio is None else radio.losses,
            properties=axes.properties,
        )
        yield Job(0, source.place, asked, readings or OWN)


def fixes_losses(scenario: Scenario) -> bool:
    """The scenario says itself what is lost."""
    return scenario.assume.radio != "reliable" or scenario.free.losses > 0


# ---- as data ---------------------------------------------------------------------------------------------------------------------


def question_data(asked: Question) -> dict[str, Any]:
    """All that a verdict depends on."""
    return {
        "scenario": as_data(asked.scenario),
        "protocol": asked.protocol,
        "readings": asked.readings.as_dict(),
        "assumptions": assumptions_data(asked.assume),
        "properties": list(asked.properties),
    }


def question_from(data: Mapping[str, Any]) -> Question:
    """From what `question_data` gives."""
    values = {name.replace("-", "_"): data["assumptions"][name] for name in ASSUMPTIONS if name in data["assumptions"]}
    readings: Readings = PRINTED.with_values(data["readings"])
    properties = tuple(name for name in PROPERTIES if name in data["properties"])
    scenario = from_data(data["scenario"], "the plan of the sweep")
    return Question(scenario, data["protocol"], readings, Assumptions(**values, lossy=tuple(data["assumptions"]["lossy"])), properties)


# ---- in chunks -------------------------------------------------------------------------------------------------------------------

STARTING = 0.01  # seconds that any job takes
A_STATE = 3e-5  # and each state of it
SMALLEST, LARGEST = 0.3, 4.0  # seconds of work that a chunk is to be
SHARE = 24  # a chunk is that part of what is left, so that those at the end are small
MOST = 256  # jobs of a chunk


def cost(job: Job, budget: Budget) -> float:
    """About how many seconds it takes; off by a factor of five as often as not, which is enough to do the long ones first."""
    asked = job.question
    if asked is None or asked.why_not_applicable() is not None:
        return STARTING / 10
    s, free = asked.scenario, asked.scenario.free
    if job.seed is not None:
        return STARTING + budget.examples * budget.longest * 1e-5
    moves = free.publish + 2 * (free.client_moves + free.broker_moves) + free.link_failures + free.merges + free.crashes + free.volatile_crashes
    asking = 0 if s.settled else sum(len(subscriber.filters) for subscriber in s.subscribers)
    lossy = 0.5 * free.losses if asked.assume.radio != "reliable" else 0.0
    states: float = 10.0 ** min(9.0, 0.1 + 0.4 * len(s.moves) + 0.55 * moves + 0.15 * len(s.brokers) + 0.4 * asking + lossy)
    return STARTING + A_STATE * min(states, budget.max_states)


def chunks(jobs: Iterable[Job], budget: Budget) -> list[tuple[Job, ...]]:
    """The jobs, the costly ones first, in pieces that are done and written whole; the same pieces wherever they are done."""
    costs = [(cost(job, budget), job) for job in jobs]
    ordered = sorted(costs, key=lambda item: (-item[0], item[1].number, item[1].seed or 0))
    left, found, chunk, of_chunk = sum(seconds for seconds, _ in ordered), list[tuple[Job, ...]](), list[Job](), 0.0
    for seconds, job in ordered:
        chunk.append(job)
        of_chunk += seconds
        if of_chunk >= min(LARGEST, max(SMALLEST, left / SHARE)) or len(chunk) == MOST:
            found.append(tuple(chunk))
            left, chunk, of_chunk = left - of_chunk, [], 0.0
    return [*found, tuple(chunk)] if chunk else found
