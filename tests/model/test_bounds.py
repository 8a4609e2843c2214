"""How far steps may ever reach: as far as they do somewhere, and no further where that can be told."""

from __future__ import annotations

from typing import Any

import pytest

from roamcheck.model.bounds import places, possible_parents
from roamcheck.spec.messages import BrokerId, PublisherId, SubscriberId
from support.runs import CHAIN, TWO, Run

B1, B2, B3, B4 = map(BrokerId, ("b1", "b2", "b3", "b4"))


def reach(run: Run, text: str) -> tuple[set[str], set[str]]:
    """The names of the slots that a step may ever read, and append to."""
    within = run.step(text).within
    assert within is not None
    assert within.takes is None
    names = [spec.name for spec in run.model.layout.slots]
    return {names[slot] for slot in within.reads}, {names[slot] for slot in within.appends}


@pytest.mark.parametrize("assume", [{}, {"client-links": "instant", "bounce": "later"}])
def test_every_step_that_selects_its_footprint_says_how_far_it_reaches(assume: dict[str, str]) -> None:
    moves = ("a: publish e1", "b: subscribe s1 f2", "c: detach p1", "d: link-down b1 b2", "e: link-down b1 b3", "f: crash b1 durable")
    run = Run(moves=moves, free={"client-moves": 1, "merges": 1, "broker-moves": 1, "crashes": 1, "link-failures": 1}, assume=assume)
    assert all(step.within is not None for step in run.model.steps if step.selector is not None)


@pytest.mark.parametrize(
    ("options", "parents"),
    [
        ({}, {B1: (), B2: (B1,), B3: (B2,)}),
        ({"moves": ("a: migrate b3 b1",)}, {B1: (), B2: (B1,), B3: (B1, B2)}),
        ({"moves": ("a: migrate b3 b1", "b: crash b3 volatile")}, {B1: (), B2: (B1,), B3: (B1, B2)}),
        ({"free": {"broker-moves": 1}}, {B1: (B2, B3), B2: (B1, B3), B3: (B1, B2)}),
        ({"free": {"merges": 1}}, {B1: (B2, B3), B2: (B1, B3), B3: (B1, B2)}),
    ],
)  # fmt: skip
def test_whom_a_broker_may_follow(options: Any, parents: dict[BrokerId, tuple[BrokerId, ...]]) -> None:
    w = Run(CHAIN, **options).world
    assert {b: possible_parents(w, b) for b in parents} == parents


def test_after_a_merge_next_hops_turn_to_any_neighbour() -> None:
    w = Run(TWO, {}, ("a: merge b6 b2",), leaders=("b1", "b3")).world
    assert possible_parents(w, B3) == (B4,)
    assert possible_parents(w, B2) == (B1, BrokerId("b6"))


def test_where_clients_may_be() -> None:
    run = Run(moves=("a: attach s1 b1", "b: attach p1 b3"))
    assert (places(run.world, SubscriberId("s1")), places(run.world, PublisherId("p1"))) == ((B1, B3), (B1, B3))
    assert places(Run(free={"client-moves": 1}).world, SubscriberId("s1")) == (B1, B2, B3)


def test_a_migration_reaches_the_parents_that_the_broker_may_leave_but_not_the_one_that_it_goes_to() -> None:
    run = Run(moves=("a: migrate b3 b1",))
    assert reach(run, "migrate b3 b1") == (
        {"(overlay)", "(environment)", "b1", "b2", "b3", "b2→b3", "b3→b2"}, {"b2→b1", "b2→b3", "b3→b1", "b3→b2", "b3→s1"},
    )  # fmt: skip


def test_a_publication_over_an_instant_link_reaches_the_brokers_that_its_publisher_may_be_at() -> None:
    reads, _ = reach(Run(moves=("a: publish e1", "b: attach p1 b2"), assume={"client-links": "instant"}), "publish")
    assert reads == {"(environment)", "p1", "b1", "b2"}


def test_a_crash_reaches_all_that_may_be_neighbours() -> None:
    assert reach(Run(moves=("a: crash b1 durable", "b: migrate b3 b1")), "crash")[0] >= {"b1", "b2", "b3", "p1", "b1→b3", "b3→b1"}
    assert "b3" not in reach(Run(moves=("a: crash b1 durable",)), "crash")[0]


def test_what_can_never_be_reaches_nothing() -> None:
    assert reach(Run(moves=("a: link-down b1 b3",)), "link-down") == (set(), set())
    assert reach(Run(), "turn b3") == (set(), set())
    assert reach(Run(free={"merges": 1}), "turn b3") != (set(), set())
