"""Draws small scenarios: a tree of brokers, who is attached where, and what may move freely; and looks for one that a protocol does not survive."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from roamcheck.model.interface import Property
from roamcheck.model.scenario import FORMAT, JSON, Scenario, from_data
from roamcheck.spec.protocols import PROTOCOLS

from .engines import random_runs
from .mutants import apply
from .question import Question
from .sampling.runs import Enough, Sampler
from .searching import Effort, imported

Choose = Callable[[int], int]  # below n
FREE = {"broker-moves": "migrate", "client-moves": "detach"}  # a free budget, and the move that a protocol has to know for it


@dataclass(frozen=True, slots=True)
class Bounds:
    """How large the scenarios may be."""

    scenarios: int = 100
    brokers: int = 4
    subscribers: int = 1
    budget: int = 1  # of each sort of free move


@dataclass(frozen=True, slots=True)
class Generated:
    """What came of it."""

    scenario: Scenario | None  # the smallest found that breaches the property
    property: str | None
    drawn: int


def draw(choose: Choose, bounds: Bounds, protocol: str) -> Scenario:
    """A scenario; smaller choices are smaller scenarios."""
    brokers = 2 + choose(bounds.brokers - 1)
    parents = [choose(k) for k in range(1, brokers)]
    places = [choose(brokers) for _ in range(1 + choose(bounds.subscribers))]
    known = [name for name, move in FREE.items() if move in PROTOCOLS[protocol].moves]
    free: dict[str, JSON] = {"publish": choose(2), **{name: choose(bounds.budget + 1) for name in known}}
    if not any(free.values()):
        free["publish"] = 1
    filters: list[JSON] = ["f1"]
    subscribers: dict[str, JSON] = {f"s{k}": {"at": f"b{place + 1}", "filters": filters} for k, place in enumerate(places, 1)}
    data: dict[str, JSON] = {
        "format": FORMAT,
        "name": f"generated-{brokers}-brokers",
        "title": "drawn at random",
        "network": {"leaders": ["b1"], "links": [[f"b{parent + 1}", f"b{k}"] for k, parent in enumerate(parents, 2)]},
        "filters": {"f1": {"f1": 1}},
        "subscribers": subscribers,
        "publishers": {"p1": {"at": f"b{1 + choose(brokers)}"}},
        "events": {"e1": {"from": "p1", "attributes": {"f1": 1}}},
        "start": {"subscriptions": "settled"},
        "free": free,
    }
    return from_data(data, "generated")


class Hunt:
    """Tries scenarios, each by swarms of runs, until one breaches a property; from then on only that property counts."""

    def __init__(
        self, ask: Callable[[Scenario], Question], effort: Effort, named: frozenset[str], observe: Callable[[int], None], mutant: str | None
    ) -> None:
        self.ask, self.effort, self.named = ask, effort, named
        self.algorithms = None if mutant is None else apply(mutant)
        self.property: str | None = None
        self.drawn = self.tried = 0
        self.observe = observe

    def fails(self, scenario: Scenario) -> bool:
        """The property that counts is breached there."""
        self.drawn += self.property is None
        self.tried += 1
        self.observe(self.tried)
        model = self.ask(scenario).model(self.algorithms)
        sampler = Sampler(model, examples=self.effort.examples, longest=self.effort.longest)
        sampler.open = {of for of, asked in enumerate(model.properties) if self.counts(asked)}
        with suppress(Enough):
            random_runs.swarm(sampler, self.effort.seed)
        if self.property is None and sampler.found:
            self.property = next(iter(sampler.found))
        return self.property in sampler.found

    def counts(self, asked: Property) -> bool:
        """It is asked."""
        return asked.name == self.property if self.property is not None else asked.decisive or asked.name in self.named


def generate(
    ask: Callable[[Scenario], Question],
    protocol: str,
    bounds: Bounds,
    effort: Effort,
    named: frozenset[str] = frozenset(),
    observe: Callable[[int], None] = lambda _: None,
    mutant: str | None = None,
) -> Generated:
    """Draw scenarios until one breaches a property, by Hypothesis, which shrinks it, or at random.  Raises CannotBegin, MutantError."""
    hunt = Hunt(ask, effort, named, observe, mutant)
    if effort.strategy == "hypothesis":
        found = imported().smallest(lambda choose: draw(choose, bounds, protocol), hunt.fails, bounds.scenarios, effort.seed)
        return Generated(found, hunt.property, hunt.drawn)
    chance = Random(effort.seed)
    for _ in range(bounds.scenarios):
        scenario = draw(chance.randrange, bounds, protocol)
        if hunt.fails(scenario) and hunt.fails(scenario):  # again, with that property alone: as whoever asks next will
            return Generated(scenario, hunt.property, hunt.drawn)
    return Generated(None, None, hunt.drawn)
