"""What tests ask and are told: the verdicts on a scenario, or on a model of one's own, with each counterexample told step by step.

A claim about a verdict (`holds`, `violated`) is judged here; `pytest_plugin.py` makes tests of claims.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from roamcheck.spec.properties import PROPERTIES

from . import narrate
from .check import REDUCTIONS, STEP_FAILED, Limits, answer
from .question import Question
from .replay import replay
from .sampled import SearchFailed, sample_question
from .trace import dumps
from .verdict import CannotBegin, Counterexample, Exploration, Holds, HoldsWithin, NotApplicable, Unknown, Verdict, Violated

ENGINES = ("tabled", "reference", "search")


class ClaimError(ValueError):
    """A claim that makes no sense, or cannot be looked into; one line."""


@dataclass(frozen=True, slots=True)
class Search:
    """How to look."""

    engine: str = "tabled"
    max_states: int | None = None
    debug: bool = False  # hold every step to what it declares, in the tabled engine
    examples: int | None = None  # of the engine `search`
    seed: int | None = None  # likewise


@dataclass(frozen=True, slots=True)
class Findings:
    """What came of it."""

    asked: str  # a scenario, protocol, readings and assumptions; or the name of a model
    verdicts: Mapping[str, Verdict]  # by property
    decisive: tuple[str, ...]  # the properties that are expected to hold where nothing is said
    search: Search
    extent: str  # how much was explored
    tell: Callable[[str], str]  # a property's counterexample, step by step
    trace: Callable[[str], str]  # likewise, as the contents of a file
    suffix: str  # of that file
    failed: str | None = None  # how a step of the protocol failed, told
    longer: frozenset[str] = frozenset()  # the properties whose counterexample may not be the shortest
    again: Callable[[], Findings] | None = None  # the same without what makes them longer
    told: dict[str, str] = field(default_factory=dict)  # what `story` has told

    def counterexample(self, name: str) -> Counterexample | None:
        """The run that violates the property.  Raises ClaimError for one that was not asked."""
        verdict = self.verdict(name)
        return verdict.counterexample if isinstance(verdict, Violated) else None

    def verdict(self, name: str) -> Verdict:
        """Raises ClaimError for a property that was not asked."""
        if name not in self.verdicts:
            raise ClaimError(f"no property is called {name!r}; choose from {', '.join(self.verdicts) or 'none: the model has none'}")
        return self.verdicts[name]

    def story(self, name: str) -> str:
        """A property's counterexample, step by step; every step has been fired by definition."""
        if name not in self.told:
            self.told[name] = self.tell(name)
        return self.told[name]


# ---- claims: what is wrong with one, or None -----------------------------------------------------------------------------------


def holds(found: Findings, name: str) -> str | None:
    """The property was expected to hold.  An engine that samples is content when it finds nothing."""
    match found.verdict(name):
        case Holds():
            return None
        case HoldsWithin() | Unknown() if found.search.engine == "search" and found.failed is None:
            return None
        case Violated():
            return f"{name} is violated, and was expected to hold\n{found.asked}\n{counterexample(found, name)}"
        case verdict:
            return undecided(found, name, verdict, "expected to hold")


def violated(found: Findings, name: str, within: int | None) -> str | None:
    """The property was expected to be violated, by a run of at most `within` steps."""
    verdict = found.verdict(name)
    if isinstance(verdict, Violated):
        length = verdict.counterexample.length
        if within is None or length <= within:
            return None
        if name in found.longer and found.again is not None:
            return violated(found.again(), name, within)
        said = f"{name} is violated, but not within {within} steps"
        return f"{said}\n{found.asked}\n{counterexample(found, name)}"
    expected = "expected to be violated" + ("" if within is None else f" within {within} steps")
    if isinstance(verdict, Holds):
        return f"{name} holds, and was {expected}\n{found.asked}\n{found.extent}"
    return undecided(found, name, verdict, expected)


def counterexample(found: Findings, name: str) -> str:
    """What it is, and step by step."""
    of = found.counterexample(name)
    assert of is not None
    return f"{'a' if name in found.longer else 'a shortest'} counterexample, {of.length} step{'' if of.length == 1 else 's'}:\n{found.story(name)}"


def undecided(found: Findings, name: str, verdict: Verdict, expected: str) -> str:
    """Neither holds nor violated."""
    match verdict:
        case NotApplicable(why):
            return f"{name} says nothing here: {why}; it was {expected}\n{found.asked}"
        case Unknown(why) if found.failed is not None:
            return f"{name} is unknown, and was {expected}: the protocol failed\n{found.asked}\n{found.failed}"
        case Unknown(why):
            return f"{name} is unknown, and was {expected}: {why}\n{found.asked}"
        case HoldsWithin(bound):
            return f"{name} is neither proved nor refuted, and was {expected}: no violation in {bound}\n{found.asked}"
    raise AssertionError(verdict)


# ---- a scenario ----------------------------------------------------------------------------------------------------------------


def of_question(question: Question, search: Search, reduced: bool = True) -> Findings:
    """Explore a scenario under a protocol, readings and assumptions.  Raises ClaimError, and KeyboardInterrupt as it comes."""
    from . import report

    asked = f"{question.scenario.name}: protocol {question.protocol}, readings {report.readings_text(question)}, {report.assumptions_text(question)}"
    decisive = tuple(name for name in question.properties if PROPERTIES[name].decisive and question.not_applicable(name) is None)
    why = question.why_not_applicable()
    if why is not None:
        raise ClaimError(f"{question.scenario.name} is no scenario for {question.protocol}: {why}")
    if search.engine == "search":
        try:
            given, looked, raised = sample_question(question, search.examples, search.seed)
        except (SearchFailed, CannotBegin) as error:
            raise ClaimError(f"{question.scenario.name}: {error}") from None
        longer = frozenset(given.traces)
    else:
        limits = Limits(max_states=search.max_states, debug=search.debug, reductions=REDUCTIONS if reduced else frozenset())
        given = answer(question, engine=search.engine, limits=limits)
        explored = given.exploration
        assert explored is not None
        if explored.interrupted:
            raise KeyboardInterrupt
        looked, raised, longer = extent(explored), explored.failed, explored.longer
    traces = given.traces
    failed = None if raised is None else f"{raised}\nthe way there:\n{narrate.text(replay(traces[STEP_FAILED]))}"
    return Findings(
        asked, given.verdicts, decisive, search, looked,
        tell=lambda name: narrate.text(replay(traces[name])), trace=lambda name: dumps(traces[name]), suffix=".jsonl", failed=failed,
        longer=longer, again=None if search.engine == "search" else lambda: of_question(question, search, reduced=False),
    )  # fmt: skip


def extent(found: Exploration) -> str:
    """How much was explored."""
    counts = found.counts
    return f"{'all' if found.complete else 'the first'} {counts.states:,} states, {counts.transitions:,} transitions, depth {counts.depth}"
