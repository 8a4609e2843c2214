"""What a search says: a verdict for each property, the counts, and the exit codes.

A verdict is a closed type, so that an unfinished search cannot look like a proof.  Runs are given by numbers (of initial states
and of steps), which any engine and the replayer can follow through the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from roamcheck.model.interface import Model, Property, Scope, Step
from roamcheck.spec.breach import Breach


class ExitCode(IntEnum):
    """What the process returns."""

    HOLDS = 0
    VIOLATED = 1
    USAGE = 2
    UNDECIDED = 3
    DISAGREES = 4
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A run that breaches a property: from `model.initial_states[initial]`, fire `model.steps[i]` for each i of `steps`.

    The breach is in the last state.  If `loop` is a number, the steps from there on lead back to where they began and can be
    repeated for ever: `steps[:loop]` is the stem, `steps[loop:]` one turn.
    """

    initial: int
    steps: tuple[int, ...]
    loop: int | None
    breach: Breach

    @property
    def length(self) -> int:
        """Steps of every kind; for a run that goes on for ever, those of the stem and of one turn."""
        return len(self.steps)


def goes_on_for_ever(turn: Iterable[Step]) -> Breach:
    """The breach of a run that repeats these steps for ever."""
    return Breach("a run goes on for ever", (("turn", ", ".join(map(str, turn))),))


@dataclass(frozen=True, slots=True)
class Holds:
    """Every state was explored."""


@dataclass(frozen=True, slots=True)
class HoldsWithin:
    """No breach was found, but not every state was explored: `bound` says which were."""

    bound: str


@dataclass(frozen=True, slots=True)
class Violated:
    """The shortest counterexample that the search found."""

    counterexample: Counterexample


@dataclass(frozen=True, slots=True)
class Unknown:
    """Neither proved nor refuted."""

    why: str


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """The property says nothing of this model."""

    why: str


Verdict = Holds | HoldsWithin | Violated | Unknown | NotApplicable


@dataclass(frozen=True, slots=True)
class Counts:
    """How much was explored.  The cycles are strongly connected components of protocol steps; none are sought on a truncated graph."""

    states: int  # distinct ones, the initial ones among them
    transitions: int  # enabled steps summed over the states, also those that change nothing or lead to the same target
    depth: int  # steps to the farthest state
    quiescent: int  # states whose slots are all idle
    unfair_cycles: int = 0  # budget spent; some slot is never idle and never served, so that no fair run stays
    waiting_cycles: int = 0  # fair, and no environment step is enabled on it: what is left of the budget waits for a silence that never comes


def judge(
    model: Model, found: Mapping[str, Counterexample], counts: Counts, complete: bool, failed: StepFailed | None, reduced: bool = False
) -> dict[str, Verdict]:
    """The verdict on each property of the model, given the counterexamples that a search found, and how far it came."""

    def verdict(of: Property) -> Verdict:
        if of.name in found:
            return Violated(found[of.name])
        if complete:
            return Holds()
        if failed is not None:
            return Unknown(str(failed))
        if of.scope is Scope.RUN:
            return Unknown("liveness is never claimed on a truncated graph")
        return HoldsWithin(f"the first {counts.states:,} states{' with reductions' if reduced else ''}, depth {counts.depth}")

    return {of.name: verdict(of) for of in model.properties}


def by_actions(model: Model, fired: Iterable[int]) -> dict[str, int]:
    """How often the steps of each action fired, given how often each step did; 0 for an action that never did."""
    found = dict.fromkeys((step.action for step in model.steps), 0)
    for step, times in zip(model.steps, fired, strict=True):
        found[step.action] += times
    return found


@dataclass(frozen=True, slots=True)
class Exploration:
    """What one search found."""

    counts: Counts
    verdicts: Mapping[str, Verdict]  # by the property's name, in the order of model.properties
    complete: bool  # every reachable state was explored
    interrupted: bool
    seconds: float  # search and properties
    steps_by_action: Mapping[str, int]  # transitions for each action of the model, in the order of model.steps; 0 for one that never fired
    unfired: tuple[int, ...] = ()  # the steps that fired in no state explored
    failed: StepFailed | None = None  # a step raised there, and the search ended
    stopped: str | None = None  # what else ended the search too early: a disk that is full
    collision_bound: float = 0.0  # on the probability that two states were taken for one
    reductions: tuple[str, ...] = ()  # by which states that no verdict needs were left out
    longer: frozenset[str] = frozenset()  # the properties whose counterexample may not be the shortest for that
    growth: Growth | None = None  # where the states come from, if the engine knows


@dataclass(frozen=True, slots=True)
class Growth:
    """What made the state space grow."""

    values: Mapping[str, int]  # by slot: how many values it was seen with
    reactions: Mapping[str, int]  # by step: how often it had to be evaluated; every other time it was looked up
    answers: int  # entries of the look-up table


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a search has come."""

    states: int
    transitions: int
    frontier: int  # states found and not yet explored
    depth: int  # of the states being explored
    seconds: float
    values: int = 0  # local values met, if the engine numbers them
    answers: int = 0  # entries of its look-up table
    expected: int | None = None  # states in all, if the levels found so far allow a guess


class CannotBegin(Exception):
    """The engine cannot search as it was asked to; one line says why, and what would do."""


class StepFailed(Exception):
    """The model raised `cause` where `step` was to be fired: a defect of the model, with the shortest run that leads there."""

    def __init__(self, step: Step, index: int, initial: int, steps: tuple[int, ...], cause: Exception) -> None:
        super().__init__(f"{step} raised {type(cause).__name__} after {len(steps)} steps: {cause}")
        self.step = step
        self.index = index  # its number in model.steps
        self.initial = initial
        self.steps = steps  # from that initial state to the one in which it failed
        self.cause = cause
