"""Does a run reach what induction could not exclude?  The explorer is asked of the bundled scenarios, the small ones first."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from roamcheck.checker.check import STEP_FAILED, Limits, answer
from roamcheck.checker.files import bundled, load_scenario
from roamcheck.checker.mutants import apply
from roamcheck.checker.question import Question, question
from roamcheck.checker.verdict import Violated
from roamcheck.model.interface import Disabled, Model, State, Step, fire
from roamcheck.model.scenario import Scenario
from roamcheck.spec.breach import Breach
from roamcheck.spec.properties import PROPERTIES
from roamcheck.spec.readings import Readings
from roamcheck.spec.state import Broker

from .asking import Undecided
from .induction import MONOTONE, volatile

STATES = 2_000  # of each scenario


@dataclass(frozen=True)
class Reached:
    """A run of a bundled scenario that breaches the property."""

    scenario: str
    radio: str
    length: int
    breach: Breach


@dataclass(frozen=True)
class NotReached:
    """No run was found within these bounds."""

    scenarios: int
    states: int  # explored in all
    most: int  # of each scenario

    def __str__(self) -> str:
        return f"none found: {self.scenarios} bundled scenarios, the first {self.most:,} states of each, {self.states:,} in all"


def reach(
    name: str, protocol: str, readings: Readings, mutant: str | None, deadline: float | None, observe: Callable[[str], None]
) -> Reached | NotReached:
    """The first bundled scenario with a breach, those without losses before those with.  Raises Undecided when the time is up."""
    scenarios = states = 0
    for scenario in in_order():
        properties = (name,) if name in PROPERTIES else ()
        asked = question(scenario, protocol=protocol, readings="printed", reading=readings.as_dict(), properties=properties)
        if asked.why_not_applicable():
            continue
        if deadline is not None and time.monotonic() > deadline:
            raise Undecided("out of time")
        observe(scenario.name)
        found, explored = (watched if name == MONOTONE else explored_for)(name, asked, mutant)
        scenarios, states = scenarios + 1, states + explored
        if found is not None:
            return found
    return NotReached(scenarios, states, STATES)


@cache
def in_order() -> tuple[Scenario, ...]:
    """The bundled scenarios: without losses first, few moves first."""
    known = [load_scenario(name) for name in bundled() if not name.startswith("peers-")]
    return tuple(sorted(known, key=lambda s: (s.free.losses > 0, len(s.moves) + len(s.brokers), s.name)))


def explored_for(name: str, asked: Question, mutant: str | None) -> tuple[Reached | None, int]:
    """A breach of a property of the registry, or a step that raises; and how many states were explored."""
    given = answer(asked, limits=Limits(max_states=STATES, first=True), mutant=mutant)
    assert given.exploration is not None
    verdict, explored = given.verdicts[name], given.exploration.counts.states
    if isinstance(verdict, Violated):
        return Reached(asked.scenario.name, asked.assume.radio, verdict.counterexample.length, verdict.counterexample.breach), explored
    if (failed := given.exploration.failed) is not None:
        return Reached(asked.scenario.name, asked.assume.radio, len(failed.steps) + 1, Breach(f"{STEP_FAILED}: {failed}")), explored
    return None, explored


def watched(name: str, asked: Question, mutant: str | None) -> tuple[Reached | None, int]:
    """A step that sets a T_i(s).t back, breadth first; no property of states says so."""
    algorithms: Mapping[str, ModuleType] | None = apply(mutant) if mutant is not None else None
    model, world = asked.model(algorithms), asked.world(algorithms)
    depth: dict[State, int] = dict.fromkeys(model.initial_states, 0)
    for state in queue(depth):
        for step, after in successors(model, state):
            for b, slot in world.broker.items():
                if state[slot] is not after[slot] and not volatile(step, b) and (breach := set_back(state[slot], after[slot])):
                    return Reached(asked.scenario.name, asked.assume.radio, depth[state] + 1, breach), len(depth)
            if after not in depth and len(depth) < STATES:
                depth[after] = depth[state] + 1
    return None, len(depth)


def queue(found: dict[State, int]) -> Iterator[State]:
    """The states in the order in which they were found, also those found meanwhile."""
    order: list[State] = []
    at = 0
    while True:
        order.extend(list(found)[len(order) :])
        if at == len(order):
            return
        yield order[at]
        at += 1


def successors(model: Model, state: State) -> Iterator[tuple[Step, State]]:
    """Every step that can fire, and where it leads."""
    for step in model.steps:
        after = fire(model, step, state)
        if not isinstance(after, Disabled):
            yield step, after


def set_back(before: object, after: object) -> Breach | None:
    """Some T_i(s).t is lower than before."""
    assert isinstance(before, Broker)
    assert isinstance(after, Broker)
    for s, stamp in before.timestamps:
        if after.stamp(s).t < stamp.t:
            what = (("broker", str(before.me)), ("subscriber", str(s)), ("T_i(s).t", f"{stamp.t} → {after.stamp(s).t}"))
            return Breach("T_i(s).t never goes back", what)
    return None

