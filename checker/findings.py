"""What tests ask and are told: the verdicts on a scenario, or on a model of one's own, with each counterexample told step by step.

A claim about a verdict (`holds`, `violated`) is judged here; `pytest_plugin.py` makes tests of claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from roamcheck.model.interface import Disabled, Effect, FootprintError, Kind, Model, Predicate, Property, State, Step, Value, Word
from roamcheck.spec.breach import Breach
from roamcheck.spec.properties import PROPERTIES

from . import narrate, retelling
from .check import REDUCTIONS, STEP_FAILED, Limits, answer
from .engines import reference, tabled
from .question import Question
from .replay import replay
from .trace import dumps, record
from .verdict import CannotBegin, Counterexample, Exploration, Holds, HoldsWithin, NotApplicable, StepFailed, Unknown, Verdict, Violated

ENGINES = ("tabled", "reference", "search")
HASHABLE = "use tuples, frozensets and frozen dataclasses"


class ClaimError(ValueError):
    """A claim that makes no sense, or cannot be looked into; one line."""


class NotPure(Exception):
    """A reaction gave two answers to the same arguments."""


class PredicateRaised(Exception):
    """A property of one's own raised: a defect of the property."""

    def __init__(self, model: Model, of: Property, predicate: Predicate, values: tuple[Value, ...], cause: Exception) -> None:
        asked = ", ".join(f"{model.layout.slots[slot].name} = {value}" for slot, value in zip(predicate.reads, values, strict=True))
        super().__init__(f"the property {of.name} raised when it was asked of {asked}\n{retelling.raised(cause)}")


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
        case HoldsWithin() if found.search.engine == "search":
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
    shortest = name not in found.longer and found.search.engine != "search"
    return f"{'a shortest' if shortest else 'a'} counterexample, {of.length} step{'' if of.length == 1 else 's'}:\n{found.story(name)}"


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
        model = question.model()
        explored = sampled(model, search)
        verdicts: dict[str, Verdict] = {}
        for name in question.properties:
            reason = question.not_applicable(name)
            verdicts[name] = NotApplicable(reason) if reason is not None else explored.verdicts[name]
        traces = {
            name: record(question, model, verdict.counterexample, property=name, engine="search", seed=search.seed)
            for name, verdict in verdicts.items()
            if isinstance(verdict, Violated)
        }
    else:
        limits = Limits(max_states=search.max_states, debug=search.debug, reductions=REDUCTIONS if reduced else frozenset())
        given = answer(question, engine=search.engine, limits=limits)
        assert given.exploration is not None
        explored, verdicts, traces = given.exploration, dict(given.verdicts), dict(given.traces)
    if explored.interrupted:
        raise KeyboardInterrupt
    failed = None
    if explored.failed is not None:
        failed = f"{explored.failed}\nthe way there:\n{narrate.text(replay(traces[STEP_FAILED]))}" if STEP_FAILED in traces else str(explored.failed)
    return Findings(
        asked, verdicts, decisive, search, extent(explored),
        tell=lambda name: narrate.text(replay(traces[name])), trace=lambda name: dumps(traces[name]), suffix=".jsonl", failed=failed,
        longer=explored.longer, again=lambda: of_question(question, search, reduced=False),
    )  # fmt: skip


def extent(found: Exploration) -> str:
    """How much was explored."""
    counts = found.counts
    return f"{'all' if found.complete else 'the first'} {counts.states:,} states, {counts.transitions:,} transitions, depth {counts.depth}"


def sampled(model: Model, search: Search) -> Exploration:
    """Look with Hypothesis.  Raises ClaimError where that cannot be."""
    try:
        guide = import_module("roamcheck.checker.engines.hypothesis_guide")
    except ImportError as error:
        missing = "pip install 'roamcheck[guides]'" if error.name == "hypothesis" else "it is no part of this version"
        raise ClaimError(f"the engine search cannot be had: {missing}; use tabled or reference") from None
    chosen = {"examples": search.examples, "seed": search.seed}
    explored: Exploration = guide.explore(model, **{name: value for name, value in chosen.items() if value is not None})
    return explored


# ---- a model of one's own ------------------------------------------------------------------------------------------------------


def of_model(model: Model, search: Search) -> Findings:
    """Explore a model against the narrow waist; every reaction is asked twice.  Raises ClaimError, and KeyboardInterrupt as it comes."""
    wrong = next(misfits(model), None)
    if wrong is not None:
        raise ClaimError(f"{model.name} is no model: {wrong}")
    watched = watch(model)
    try:
        explored = explore(watched, search)
    except (PredicateRaised, CannotBegin) as error:
        raise ClaimError(f"{model.name}: {error}") from None
    except ClaimError:
        raise
    except Exception as error:  # of what nobody guards: `idle`, `spent`; or two looks at the model that do not fit together
        explored = second_look(watched, search, error)
    if explored.interrupted:
        raise KeyboardInterrupt
    decisive = tuple(of.name for of in model.properties if of.decisive)

    def tell(name: str) -> str:
        verdict = explored.verdicts[name]
        assert isinstance(verdict, Violated)
        run = verdict.counterexample
        return retelling.story(model, run, name, run.breach, run.loop)

    failed = None if explored.failed is None else told_failure(model, explored.failed)
    return Findings(model.name, explored.verdicts, decisive, search, extent(explored), tell, lambda name: tell(name) + "\n", ".txt", failed)


def explore(model: Model, search: Search) -> Exploration:
    """By the engine that is asked for."""
    match search.engine:
        case "tabled":
            return tabled.explore(model, max_states=search.max_states, debug=search.debug)
        case "reference":
            return reference.explore(model, max_states=search.max_states)
    return sampled(model, search)


def second_look(model: Model, search: Search, error: Exception) -> Exploration:
    """The engine broke over the model: if debug mode finds a step that cheats, that is why.  Raises ClaimError where it finds none."""
    if search.engine == "tabled" and not search.debug:
        try:
            explored = explore(model, replace(search, debug=True))
        except Exception:  # the first error is the one to tell
            pass
        else:
            if explored.failed is not None:
                return explored
    raise ClaimError(f"{model.name} raised while it was explored\n{retelling.raised(error)}") from error


def told_failure(model: Model, failed: StepFailed) -> str:
    """Which step failed, how, and the way there."""
    run = Counterexample(failed.initial, failed.steps, None, Breach(""))
    match failed.cause:
        case NotPure():
            what = f"{failed.step} is not pure: {failed.cause}"
        case FootprintError():
            what = f"a step does not do what it declares: {failed.cause}"
        case cause:
            what = f"{failed.step} raised {retelling.raised(cause)}"
    return f"{what}\nthe way there, {len(failed.steps)} step{'' if len(failed.steps) == 1 else 's'}:\n{retelling.story(model, run)}".rstrip("\n:")


def watch(model: Model) -> Model:
    """The model, whose reactions are asked twice, and whose properties say what they were asked when they raise."""

    def property(of: Property) -> Property:
        return replace(of, predicates=tuple(replace(predicate, check=asked(of, predicate)) for predicate in of.predicates))

    def asked(of: Property, predicate: Predicate) -> Callable[[tuple[Value, ...]], Breach | None]:
        def check(values: tuple[Value, ...]) -> Breach | None:
            try:
                return predicate.check(values)
            except Exception as cause:
                raise PredicateRaised(model, of, predicate, values, cause) from cause

        return check

    steps = tuple(replace(step, react=twice(step)) for step in model.steps)
    return replace(model, steps=steps, properties=tuple(map(property, model.properties)))


def twice(step: Step) -> Callable[[Word | None, tuple[Value, ...]], Any]:
    """React, and react again.  Raises NotPure when the answers differ, FootprintError for what is no answer."""

    def react(head: Word | None, values: tuple[Value, ...]) -> Any:
        once, again = step.react(head, values), step.react(head, values)
        if not isinstance(once, Effect | Disabled):
            raise FootprintError(f"{step} answers {once!r}, which is neither an Effect nor a Disabled")
        if once != again:
            given = f"({head}, {values})" if head is not None else str(values)
            raise NotPure(f"asked twice with {given}, it answers {answered(once)} and then {answered(again)}")
        try:
            hash(once)
        except TypeError as error:
            raise FootprintError(f"{step} answers {answered(once)}: {error}; {HASHABLE}") from None
        return once

    return react


def answered(reaction: Any) -> str:
    """An answer in short."""
    if isinstance(reaction, Effect):
        return str(reaction.values) + (f" and appends {reaction.appended}" if reaction.appended else "")
    return str(reaction)


def misfits(model: Model) -> Iterator[str]:
    """What no engine could make sense of, a line each."""
    slots, names = len(model.layout.slots), [of.name for of in model.properties]
    if not model.initial_states:
        yield "it has no initial state"
    for state in model.initial_states:
        yield from misfits_of_state(model, state)
    for step in model.steps:
        if not isinstance(step, Step):
            yield f"{step!r} stands among its steps and is no Step"
        elif not isinstance(step.kind, Kind):
            yield f"{step} is of kind {step.kind!r}, which is no Kind"
        elif step.select is None:
            yield from misfits_of_footprint(model, step)
    for of in model.properties:
        read = [slot for predicate in of.predicates for slot in predicate.reads]
        yield from (f"the property {of.name} reads slot {slot}, and there are slots 0 to {slots - 1}" for slot in read if not 0 <= slot < slots)
    yield from (f"two of its properties are called {name}" for name in dict.fromkeys(names) if names.count(name) > 1)


def misfits_of_footprint(model: Model, step: Step) -> Iterator[str]:
    """Likewise, of a step whose footprint is always the same."""
    takes, slots = step.fixed.takes, model.layout.slots
    for slot in (*(() if takes is None else (takes,)), *step.fixed.reads, *step.fixed.appends):
        if not 0 <= slot < len(slots):
            yield f"{step} touches slot {slot}, and there are slots 0 to {len(slots) - 1}"
    if takes is not None and not all(isinstance(state[takes], tuple) for state in model.initial_states):
        yield f"{step} takes the first word of {slots[takes].name}, which does not start as a tuple"


def misfits_of_state(model: Model, state: State) -> Iterator[str]:
    """Likewise, of an initial state."""
    slots = model.layout.slots
    if not isinstance(state, tuple) or len(state) != len(slots):
        yield f"an initial state is a tuple of {len(slots)} values, one for each slot ({', '.join(spec.name for spec in slots)}), not {state!r}"
        return
    for spec, value in zip(slots, state, strict=True):
        try:
            hash(value)
        except TypeError:
            yield f"{spec.name} starts as {value!r}, which cannot be hashed; {HASHABLE}"
