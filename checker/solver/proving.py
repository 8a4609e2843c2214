"""Proves the local properties of a protocol for runs of any length, or shows why not: induction, then the explorer where induction fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from roamcheck.checker.changes import changes, in_full
from roamcheck.checker.mutants import MUTANTS, apply, protocols_of
from roamcheck.checker.question import QuestionError
from roamcheck.model.encoding import to_data
from roamcheck.spec.messages import describe
from roamcheck.spec.properties import PROPERTIES, not_applicable
from roamcheck.spec.protocols import PROTOCOLS, Protocol
from roamcheck.spec.readings import NAMED_SETS, Readings

from .asking import Undecided
from .induction import BOUND, EXCEPTED, LOCAL, MONOTONE, ONE_NEXT_HOP, STRENGTHENING, WELL_FORMED, Counterexample, Induction, induct
from .symbolic import Oracle
from .universe import Universe, universes
from .witness import NotReached, Reached, reach

PROVED, REACHED, UNREACHED, UNKNOWN, NOT_APPLICABLE = "proved", "violated", "not-inductive", "unknown", "not-applicable"
STRUCTURE = (WELL_FORMED, ONE_NEXT_HOP, MONOTONE)  # asked together, of any numbers; BOUND has assumptions of its own


@dataclass
class Proof:
    """What came of one property of one protocol."""

    protocol: str
    readings: Mapping[str, str]
    label: str  # of the readings
    property: str
    verdict: str
    why: str = ""  # not applicable, or unknown
    rests_on: tuple[str, ...] = ()  # what was assumed and is not proved here
    paths: int = 0
    reactions: Mapping[str, int] = field(default_factory=dict)
    counterexamples: Sequence[Counterexample] = ()
    reached: Reached | NotReached | None = None
    shared: str = ""  # the protocol whose paths these are: the same functions under the same readings
    seconds: float = 0.0
    mutant: str | None = None


@dataclass
class _Kept:
    """An induction with the readings that it asked for."""

    protocol: Protocol
    readings: Mapping[str, object]
    found: list[Induction]


@dataclass
class Prover:
    """Proves one protocol after another, and takes over what does not depend on what differs."""

    mutant: str | None = None
    deadline: float | None = None  # of time.monotonic()
    observe: Callable[[str], None] = lambda text: None
    _kept: dict[tuple[Any, ...], list[_Kept]] = field(default_factory=dict)

    def prove(self, protocol: str, readings: Readings, label: str, names: Sequence[str] = LOCAL) -> Iterator[Proof]:
        """A proof for each of the named properties, in order."""
        known = PROTOCOLS[protocol]
        asked = [name for name in LOCAL if name in names]
        refused = {name: why for name in asked if (why := inapplicable(name, known)) is not None}
        groups = {name: (BOUND,) if name == BOUND else tuple(n for n in STRUCTURE if inapplicable(n, known) is None) for name in asked}
        for name in asked:
            about = Proof(protocol, readings.as_dict(), label, name, NOT_APPLICABLE, refused.get(name, ""), mutant=self.mutant)
            yield about if name in refused else self._one(about, known, readings, groups[name])

    def _one(self, about: Proof, known: Protocol, readings: Readings, group: tuple[str, ...]) -> Proof:
        started, found = time.monotonic(), list[Induction]()
        try:
            about.shared = self._induction(known, readings, group, found)
            take(about, found)
            about.verdict = PROVED
            if about.property != WELL_FORMED:
                structure = list[Induction]()
                self._induction(known, readings, tuple(n for n in STRUCTURE if inapplicable(n, known) is None), structure)
                about.rests_on = (WELL_FORMED,) if failures(structure, WELL_FORMED) else ()
            if about.counterexamples:
                about.verdict = UNREACHED
                about.reached = reach(
                    about.property, known.name, readings, self.mutant, self.deadline, lambda text: self.observe(f"exploring {text}")
                )  # fmt: skip
                about.verdict = REACHED if isinstance(about.reached, Reached) else UNREACHED
        except Undecided as error:
            if not about.paths:
                take(about, found)  # what was seen before
            about.verdict, about.why = UNREACHED if about.counterexamples else UNKNOWN, str(error)
        about.seconds = time.monotonic() - started
        return about

    def _induction(self, known: Protocol, readings: Readings, wanted: tuple[str, ...], found: list[Induction]) -> str:
        """Add the induction over each variant of the universe, which is there as far as it came if Undecided is raised.

        What was found under readings that ask for nothing else is taken over; answers whose it is.
        """
        runs = (tuple(known.handlers.items()), known.migrate, known.moves, known.timestamps, known.queues, known.names_subscribers, wanted)
        for kept in self._kept.get(runs, ()):
            if all(getattr(readings, name) == value for name, value in kept.readings.items()):
                found += kept.found
                return kept.protocol.name if kept.protocol != known else ""
        names = set[str]()
        algorithms, oracle = apply(self.mutant) if self.mutant is not None else None, Oracle(self.deadline)
        for universe in universes(known.name, readings, algorithms, bounded=wanted == (BOUND,)):
            found.append(Induction())
            induct(universe, wanted, oracle, partial(self._tell, universe, wanted), found[-1])
            names |= universe.asked.names
        self._kept.setdefault(runs, []).append(_Kept(known, {name: getattr(readings, name) for name in sorted(names)}, found))
        return ""

    def _tell(self, universe: Universe, wanted: Sequence[str], paths: int) -> None:
        """How far an induction has come."""
        assumptions = "".join(f", {name} = {value}" for name, value in universe.assumptions.items())
        self.observe(f"{universe.protocol.name}: {', '.join(wanted)}{assumptions}: {paths:,} paths")


def inapplicable(name: str, protocol: Protocol) -> str | None:
    """Why the property is not asked of the protocol."""
    if name in PROPERTIES:
        return not_applicable(PROPERTIES[name], protocol)
    return None if protocol.timestamps else f"{protocol.name} keeps no timestamps"


def take(about: Proof, found: Sequence[Induction]) -> None:
    """What inductions say of the property."""
    about.reactions = totals(found)
    about.paths = sum(about.reactions.values())
    about.counterexamples = failures(found, about.property)


def totals(found: Sequence[Induction]) -> dict[str, int]:
    """Paths by reaction, over all variants."""
    sums: dict[str, int] = {}
    for one in found:
        for reaction, paths in one.paths.items():
            sums[reaction] = sums.get(reaction, 0) + paths
    return sums


def failures(found: Sequence[Induction], name: str) -> tuple[Counterexample, ...]:
    """One counterexample for each reaction that breaks the property, or else what strengthens it."""
    first: dict[tuple[str, bool], Counterexample] = {}
    for one in found:
        for example in one.counterexamples.values():
            if example.property == name:
                first.setdefault((example.reaction, example.own), example)
    return tuple(sorted(first.values(), key=lambda example: not example.own))


def asked_protocols(names: Sequence[str], mutant: str | None) -> list[str]:
    """The protocols named, or all that run the mutant's function, or all.  Raises QuestionError."""
    for name in names:
        if name not in PROTOCOLS:
            raise QuestionError(f"no protocol is called {name!r}; choose from {', '.join(PROTOCOLS)}")
    if mutant is not None and mutant not in MUTANTS:
        raise QuestionError(f"no mutant is called {mutant!r}; `roamcheck list mutants` names them")
    runs = protocols_of(MUTANTS[mutant]) if mutant is not None else list(PROTOCOLS)
    if names and mutant is not None and not set(names) & set(runs):
        raise QuestionError(f"mutant {mutant} changes nothing that {', '.join(names)} runs; it is a fault of {', '.join(runs)}")
    return [name for name in names or PROTOCOLS if name in runs or names]


def asked_readings(label: str, values: Mapping[str, str], protocol: str) -> tuple[Readings, str]:
    """A named set under what the protocol's own text prints, with single values replaced.  Raises QuestionError."""
    if label not in NAMED_SETS:
        raise QuestionError(f"no set of readings is called {label!r}; choose from {', '.join(NAMED_SETS)}")
    try:
        readings = NAMED_SETS[label].with_values({**PROTOCOLS[protocol].printed(), **values})
    except ValueError as error:
        raise QuestionError(str(error)) from None
    return readings, label + "".join(f" {name}={value}" for name, value in values.items())


# ---- told --------------------------------------------------------------------------------------------


def told(example: Counterexample) -> Iterator[str]:
    """A counterexample to induction as a concrete reaction, line by line."""
    assumptions = "".join(f", {name} = {value}" for name, value in example.assumptions.items())
    taken = f" takes {describe(example.message)}" if example.message is not None else ""
    yield f"{example.reaction}: {example.step}{taken}{assumptions}"
    for slot in example.slots:
        spec, value = example.model.layout.slots[slot], example.before[slot]
        if spec.name == "(environment)" or value == () or (example.message is not None and value == (example.message,)):
            continue
        for line in in_full(value):
            yield f"  before  {spec.name}: {line}"
    for change in changes(example.model, example.before, example.after):
        yield f"  change  {change}"
    yield f"  fails   {example.breach}"


def as_record(proof: Proof) -> dict[str, Any]:
    """A proof as an object of `--json`; all but `seconds` is the same in every run."""
    reached = proof.reached
    return {
        "protocol": proof.protocol,
        "readings": dict(proof.readings),
        "set": proof.label,
        **({"mutant": proof.mutant} if proof.mutant is not None else {}),
        "property": proof.property,
        "verdict": proof.verdict,
        "why": proof.why,
        "strengthening": list(STRENGTHENING[proof.property]),
        "except": EXCEPTED.get(proof.property),
        "rests_on": list(proof.rests_on),
        "paths": proof.paths,
        "reactions": dict(proof.reactions),
        "paths_of": proof.shared or None,
        "seconds": round(proof.seconds, 2),
        "counterexamples": [_example(example) for example in proof.counterexamples],
        "explorer": None if reached is None else _explored(reached),
    }


def _example(example: Counterexample) -> dict[str, Any]:
    return {
        "reaction": example.reaction,
        "step": str(example.step),
        "assumptions": dict(example.assumptions),
        "of_the_property_itself": example.own,
        "breach": {"conjunct": example.breach.conjunct, "values": dict(example.breach.values)},
        "message": to_data(example.message) if example.message is not None else None,
        "before": {example.model.layout.slots[slot].name: to_data(example.before[slot]) for slot in example.slots},
        "after": {example.model.layout.slots[slot].name: to_data(example.after[slot]) for slot in example.slots},
    }


def _explored(reached: Reached | NotReached) -> dict[str, Any]:
    if isinstance(reached, Reached):
        return {"reached": True, "scenario": reached.scenario, "radio": reached.radio, "length": reached.length, "breach": str(reached.breach)}
    return {"reached": False, "scenarios": reached.scenarios, "states": reached.states, "states_of_each": reached.most}
