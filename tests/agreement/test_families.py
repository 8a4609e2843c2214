"""Whole families of small networks against the figures of an independent exploration: how many scenarios of each fail under either reading set.

A family is all rooted trees of so many brokers, all placements of the subscribers and the publisher, one of each symmetric lot, with a free budget.
A scenario fails when a property that the papers promise is violated.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from typing import Any

import pytest

from roamcheck.checker.check import answer
from roamcheck.checker.question import question
from roamcheck.checker.verdict import Violated
from roamcheck.model.scenario import Scenario, from_data
from roamcheck.spec.properties import PROPERTIES

TREES = {3: [(0, 0), (0, 1)], 4: [(0, 1, 2), (0, 0, 0), (0, 0, 1), (0, 1, 1)]}  # the parent of broker 1, 2, … ; broker 0 leads
FAMILIES = [  # brokers, subscribers, free budget, bounce; then scenarios, and how many fail as printed and amended
    (3, 2, {"broker-moves": 2}, "atomic", 28, 15, 13),
    (4, 1, {"broker-moves": 2}, "atomic", 47, 18, 6),
    (3, 1, {"broker-moves": 1, "client-moves": 1}, "later", 14, 14, 0),
]


def shape(parents: tuple[int, ...], at: tuple[int, ...], publisher: int) -> Any:
    """The same for two networks that differ in the names of brokers and subscribers alone."""
    n = len(parents) + 1
    renamed = (
        (tuple(sorted((p[parent], p[child]) for child, parent in enumerate(parents, 1))), tuple(sorted(p[b] for b in at)), p[publisher])
        for p in ((0, *rest) for rest in permutations(range(1, n)))
    )
    return min(renamed)


def family(n: int, subscribers: int, free: dict[str, int], bounce: str) -> Iterator[Scenario]:
    seen = set()
    for parents, at, publisher in product(TREES[n], product(range(n), repeat=subscribers), range(n)):
        if (key := shape(parents, at, publisher)) in seen:
            continue
        seen.add(key)
        data = {
            "format": "roamcheck-scenario/1",
            "name": "family",
            "network": {
                "brokers": [f"b{b + 1}" for b in range(n)],
                "leaders": ["b1"],
                "links": [[f"b{parent + 1}", f"b{child + 1}"] for child, parent in enumerate(parents, 1)],
            },
            "filters": {"f1": {"f1": 1}},
            "subscribers": {f"s{k}": {"at": f"b{b + 1}", "filters": ["f1"]} for k, b in enumerate(at, 1)},
            "publishers": {"p1": {"at": f"b{publisher + 1}"}},
            "events": {"e1": {"from": "p1", "attributes": {"f1": 1}}},
            "start": {"subscriptions": "settled"},
            "free": {"publish": 1, **free},
            "assume": {"bounce": bounce},
        }
        yield from_data(data, "family")


def fails(scenario: Scenario, readings: str) -> bool:
    verdicts = answer(question(scenario, readings=readings)).verdicts
    return any(isinstance(verdict, Violated) and PROPERTIES[name].decisive for name, verdict in verdicts.items())


@pytest.mark.parametrize(("n", "subscribers", "free", "bounce", "scenarios", "printed", "amended"), FAMILIES)
def test_as_many_scenarios_of_a_family_fail_as_an_independent_exploration_found(n, subscribers, free, bounce, scenarios, printed, amended):
    members = list(family(n, subscribers, free, bounce))
    assert len(members) == scenarios
    assert sum(fails(scenario, "printed") for scenario in members) == printed
    assert sum(fails(scenario, "amended") for scenario in members) == amended
