"""Whole families of small networks against the figures of an independent exploration: how many scenarios of each fail under either reading set.

A family is all rooted trees of so many brokers, all placements of the subscribers and the publisher, one of each symmetric lot, with a free budget.
A scenario fails when a property that the papers promise is violated.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from roamcheck.checker.check import Limits, answer
from roamcheck.checker.question import question
from roamcheck.checker.verdict import Violated
from roamcheck.model.families import Family, members
from roamcheck.model.scenario import Move, Scenario
from roamcheck.spec.properties import PROPERTIES

FAMILIES = [  # brokers, subscribers, free budget, bounce; then scenarios, and how many fail as printed and amended
    (3, 2, {"broker-moves": 2}, "atomic", 28, 15, 13),
    pytest.param(4, 1, {"broker-moves": 2}, "atomic", 47, 18, 6, marks=pytest.mark.slow),
    (3, 1, {"broker-moves": 1, "client-moves": 1}, "later", 14, 14, 0),
]


def fails(scenario, readings):
    verdicts = answer(question(scenario, readings=readings)).verdicts
    return any(isinstance(verdict, Violated) and PROPERTIES[name].decisive for name, verdict in verdicts.items())


@pytest.mark.parametrize(("n", "subscribers", "free", "bounce", "scenarios", "printed", "amended"), FAMILIES)
def test_as_many_scenarios_of_a_family_fail_as_an_independent_exploration_found(n, subscribers, free, bounce, scenarios, printed, amended):
    family = [*members(Family("family", n, subscribers=subscribers, free=free, assume={"bounce": bounce}))]
    assert len(family) == scenarios
    assert sum(fails(scenario, "printed") for scenario in family) == printed
    assert sum(fails(scenario, "amended") for scenario in family) == amended


def in_order(scenario: Scenario) -> Scenario:
    """The events are published one after the other, as they were there, and not in any order."""
    names = [event.name for event in scenario.events]
    moves = [Move(f"publish-{e}", "publish", event=e, after=tuple(f"publish-{d}" for d in names[:k])) for k, e in enumerate(names)]
    return replace(scenario, moves=(*scenario.moves, *moves), free=replace(scenario.free, publish=0))


@pytest.mark.parametrize(("family", "states", "transitions"), [
    (Family("moves", 3, events=2, free={"broker-moves": 2}), 2_902, 6_852),
    (Family("later", 3, events=2, free={"broker-moves": 2}, assume={"bounce": "later"}), 4_676, 11_134),
    pytest.param(Family("cut", 4, free={"link-failures": 1, "merges": 1}, assume={"bounce": "later"}), 20_167, 39_765, marks=pytest.mark.slow),
    pytest.param(Family("two", 4, subscribers=2, free={"broker-moves": 2}), 123_559, 309_099, marks=pytest.mark.slow),
], ids=lambda given: given.name if isinstance(given, Family) else None)  # fmt: skip
def test_the_repaired_protocol_has_the_states_that_an_independent_exploration_counted_and_nothing_fails(family, states, transitions):
    """Where clients move freely it bounded their moves in another way, so that its counts are smaller; the verdicts are the same."""
    asked = [question(in_order(scenario), protocol="mft-pubsub-r") for scenario in members(family)]
    found = [answer(one, limits=Limits(reductions=frozenset())) for one in asked]
    counts = [given.exploration.counts for given in found if given.exploration is not None]
    assert (sum(one.states for one in counts), sum(one.transitions for one in counts)) == (states, transitions)
    assert {name for given in found for name, verdict in given.verdicts.items() if isinstance(verdict, Violated)} <= {"publisher-order"}


@pytest.mark.parametrize(("family", "scenarios"), [
    (Family("one", 5), 154), (Family("two", 4, subscribers=2), 115), (Family("apart", 4, trees=(2,)), 34), (Family("new", 4, newcomers=1), 47),
])  # fmt: skip
def test_as_many_members_as_an_independent_enumeration_has(family, scenarios):
    assert len([*members(family)]) == scenarios


def test_a_publisher_moves_to_another_broker():
    found = [*members(Family("roams", 2, publisher_moves=1))]
    assert len(found) == 4
    assert all(scenario.publishers[0].at != move.to for scenario in found for move in scenario.moves)


def test_newcomers_subscribe_and_filters_change():
    (first, *_) = members(Family("busy", 2, subscribers=2, newcomers=1, changes=2))
    assert [(move.do, move.subscriber, move.after) for move in first.moves] == [
        ("subscribe", "s2", ()), ("subscribe", "s1", ()), ("unsubscribe", "s1", ("another",))]  # fmt: skip
    assert [subscriber.filters for subscriber in first.subscribers] == [("f1",), ()]
