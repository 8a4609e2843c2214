"""Enumerated scenarios: all of them, each once, each able to move; `--where` leaves out what it says."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import networkx as nx
import pytest

from roamcheck.checker.check import answer
from roamcheck.checker.engines import tabled
from roamcheck.checker.enumeration import (
    CLIENT_MOVE,
    DURABLE,
    LINK_DOWN,
    MERGE,
    MIGRATE,
    NONE,
    PUBLISHER_MOVE,
    VOLATILE,
    Bounds,
    BoundsError,
    Candidate,
    Size,
    fires,
    to_scenario,
)  # fmt: skip
from roamcheck.checker.question import question
from roamcheck.checker.solver.phrases import PhraseError, constraint
from roamcheck.checker.solver.scenarios import Problem, enumerate_scenarios, estimate, is_possible, overlays
from roamcheck.checker.verdict import Violated
from roamcheck.model.interface import Predicate, Property, Scope
from roamcheck.model.scenario import parse_scenario, to_toml
from roamcheck.spec.breach import Breach
from support import brute


@pytest.mark.parametrize(("rooted", "counts"), [(True, [1, 1, 2, 4, 9, 20, 48, 115]), (False, [1, 1, 1, 2, 3, 6, 11, 23])])
def test_overlays_are_as_many_as_there_are_trees(rooted: bool, counts: list[int]) -> None:
    """OEIS A000081 and A000055."""
    assert [sum(1 for _ in overlays(n, 1, rooted)) for n in range(1, 9)] == counts


@pytest.mark.parametrize("components", [1, 2, 3])
def test_forests_are_told_apart(components: int) -> None:
    graphs = []
    for parents in brute.forests(4, components):
        graph = brute.as_graph(Candidate(Size(4, components, 0, 0, 0, 0, 0), parents, (), (), (), (), ()))
        if not any(nx.is_isomorphic(graph, other, **brute.ALIKE) for other in graphs):
            graphs.append(graph)
    assert sum(1 for _ in overlays(4, components)) == len(graphs)


ALL = (CLIENT_MOVE, LINK_DOWN, MIGRATE, MERGE, DURABLE, VOLATILE)
BOUNDS = [
    Bounds((Size(1),), ALL),
    Bounds((Size(2), Size(2, 2)), ALL),
    Bounds((Size(3),), ALL),
    Bounds((Size(2, subscribers=2),), (CLIENT_MOVE, LINK_DOWN)),
    Bounds((Size(2, filters=2),), (CLIENT_MOVE, DURABLE)),
    Bounds((Size(2, publishers=2, events=2, moves=1),), (CLIENT_MOVE,)),
    Bounds((Size(3, components=2, moves=1),), (MERGE, VOLATILE)),
    Bounds((Size(2, publishers=2, events=2, moves=1),), (PUBLISHER_MOVE,)),
    Bounds((Size(3, events=0, publishers=0, moves=2),), (LINK_DOWN, MERGE)),
]
MORE = [
    Bounds((Size(3, moves=2),), (PUBLISHER_MOVE, MIGRATE), ordered=False),
    Bounds((Size(2, moves=2),), (CLIENT_MOVE, MIGRATE, MERGE, VOLATILE)),
    Bounds((Size(3, moves=2),), (MIGRATE,)),
    Bounds((Size(2, moves=2),), ALL),
    Bounds((Size(3, moves=2),), (MIGRATE, LINK_DOWN), ordered=False),
    Bounds((Size(4),), ALL),
    Bounds((Size(3, moves=2),), (MIGRATE, MERGE, LINK_DOWN)),
    Bounds((Size(3, subscribers=2),), ALL),
    Bounds((Size(4, moves=2, events=0, publishers=0),), (MIGRATE, LINK_DOWN, MERGE), ordered=False),
    Bounds((Size(5, events=0, publishers=0, moves=1),), ALL),
]


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_all_of_them_and_each_once(bounds: Bounds) -> None:
    """As many as there are classes, counted in two ways, and no two alike."""
    found: dict[str, list[nx.DiGraph]] = {}
    for c in enumerate_scenarios(bounds):
        graph = brute.as_graph(c)
        some = found.setdefault(brute.rough(graph), [])
        assert not any(nx.is_isomorphic(graph, other, **brute.ALIKE) for other in some), c
        some.append(graph)
    assert sum(map(len, found.values())) == len(brute.classes(bounds)) > 0  # by isomorphism tests
    assert sum(map(len, found.values())) == sum(brute.count(size, bounds) for size in bounds.sizes)  # by the renamings that leave one as it is


@pytest.mark.slow
@pytest.mark.parametrize("bounds", MORE, ids=str)
def test_all_of_them_and_each_once_with_more(bounds: Bounds) -> None:
    test_all_of_them_and_each_once(bounds)


def test_every_move_fires_in_some_run() -> None:
    bounds = Bounds((Size(4, 2, moves=2),), ALL)
    for c in islice(enumerate_scenarios(bounds), 0, 2000, 100):
        given = answer(question(to_scenario(c)))
        assert not [warning for warning in given.warnings if "fired in no run" in warning], c


@pytest.mark.parametrize(
    "bounds",
    [
        Bounds((Size(2, moves=2),), ALL, ordered=False),
        Bounds((Size(3, 2),), ALL),
        Bounds((Size(2, moves=2),), (PUBLISHER_MOVE, VOLATILE, MIGRATE)),
        Bounds((Size(3, moves=2),), (LINK_DOWN, MIGRATE, MERGE), ordered=False),
        Bounds((Size(3, moves=3, events=0, publishers=0),), (LINK_DOWN, MERGE, MIGRATE, VOLATILE), ordered=False),
    ],
    ids=str,
)
def test_what_is_said_to_fire_fires_and_nothing_else(bounds: Bounds) -> None:
    """Of every choice, possible or not, the explorer says the same: some state is reached in which all moves have fired."""
    said = []
    for c in islice(brute.labelled(bounds.sizes[0], bounds), 0, 60_000, 199):
        model = question(to_scenario(c), properties=("well-formed",)).model()
        fired = Predicate(model.budget, lambda values, spent=model.spent: Breach("all have fired", ()) if spent(values) else None)  # type: ignore[misc]
        found = tabled.explore(replace(model, properties=(Property("fired", Scope.EVERY_STATE, (fired,)),)))
        assert found.complete
        assert isinstance(found.verdicts["fired"], Violated) == fires(c), c
        said.append(fires(c))
    assert {*said} == {True, False}


def test_a_scenario_survives_its_file() -> None:
    for c in islice(enumerate_scenarios(Bounds((Size(3, moves=2, filters=2),))), 0, 1000, 50):
        scenario = to_scenario(c)
        assert parse_scenario(to_toml(scenario), where="here") == scenario


# ---- --where ---------------------------------------------------------------------------------------------


def branch(c: Candidate, b: int) -> set[int]:
    found = {b}
    for child, parent in enumerate(c.parents):
        if parent in found:
            found.add(child)
    return found


def movers(c: Candidate) -> list[int]:
    return [x for kind, x, _ in c.moves if kind in (MIGRATE, MERGE)]


def of_kind(c: Candidate, *kinds: int) -> list[int]:
    return [k for k, action in enumerate(c.moves) if action[0] in kinds]


SAYS: dict[str, Any] = {
    "a migration": lambda c: bool(of_kind(c, MIGRATE)),
    "no crash": lambda c: not of_kind(c, DURABLE, VOLATILE),
    "one client move": lambda c: len(of_kind(c, CLIENT_MOVE)) == 1,
    "at most one move": lambda c: len(c.moves) <= 1,
    "at least two moves": lambda c: len(c.moves) >= 2,
    "two migrations concurrent": lambda c: len(of_kind(c, MIGRATE)) == 2 and (0, 1) not in c.before and (1, 0) not in c.before,
    "a merge after a partition": lambda c: any((i, j) in c.before for i in of_kind(c, LINK_DOWN) for j in of_kind(c, MERGE)),
    "a publication before a migration": lambda c: any((2, j) in c.before for j in of_kind(c, MIGRATE)),
    "a crash concurrent with a publication": lambda c: any((2, j) not in c.before and (j, 2) not in c.before for j in of_kind(c, DURABLE, VOLATILE)),
    "everything concurrent": lambda c: not c.before,
    "everything in a row": lambda c: len(c.before) == 3,
    "the moving broker has a child": lambda c: any(len(branch(c, b)) > 1 for b in movers(c)),
    "the moving broker has no child": lambda c: any(len(branch(c, b)) == 1 for b in movers(c)),
    "the moving broker is next to the leader": lambda c: any(c.parents[b] == 0 for b in movers(c)),
    "the same broker moves twice": lambda c: len(movers(c)) == 2 and len({*movers(c)}) == 1,
    "publisher inside the moving branch": lambda c: any(c.publishers[0] in branch(c, b) for b in movers(c)),
    "subscriber outside the moving branch": lambda c: any(c.subscribers[0][0] not in branch(c, b) for b in movers(c)),
    "the subscriber at the leader": lambda c: c.parents[c.subscribers[0][0]] == NONE,
    "a publisher at a leaf": lambda c: c.publishers[0] not in c.parents,
    "publisher at the moving broker": lambda c: c.publishers[0] in movers(c),
    "publisher and subscriber at the same broker": lambda c: c.publishers[0] == c.subscribers[0][0],
    "publisher and subscriber at different brokers": lambda c: c.publishers[0] != c.subscribers[0][0],
    "the subscriber returns": lambda c: any(c.moves[k][2] == c.subscribers[0][0] for k in of_kind(c, CLIENT_MOVE)),
    "an event matches": lambda c: True,
    "not a migration and (a merge or a crash)": lambda c: not of_kind(c, MIGRATE) and bool(of_kind(c, MERGE, DURABLE, VOLATILE)),
}


THREE = Bounds((Size(3, moves=2),), (CLIENT_MOVE, LINK_DOWN, MIGRATE, MERGE, DURABLE))


@pytest.fixture(scope="module")
def some() -> list[Candidate]:
    few = [*enumerate_scenarios(Bounds(THREE.sizes, (LINK_DOWN, MIGRATE, MERGE)))]
    return [*few[::9], *islice(enumerate_scenarios(Bounds(THREE.sizes, (CLIENT_MOVE, MIGRATE, DURABLE))), 0, 4000, 20)]


@pytest.mark.parametrize("words", SAYS)
def test_where(words: str, some: list[Candidate]) -> None:
    """A scenario meets a constraint if, and only if, it is as the words say."""
    problems = {parents: Problem(THREE, THREE.sizes[0], parents, (constraint(words),)) for parents in {c.parents for c in some}}
    for problem in problems.values():
        problem.state()
    meet = [is_possible(problems[c.parents].solver, literals(problems[c.parents], c)) for c in some]
    assert meet == [SAYS[words](c) for c in some]
    assert any(meet) or words == "at most one move"


def literals(problem: Problem, c: Candidate) -> list[Any]:
    """What is true of the candidate."""
    order = {(i, j): 1 if (i, j) in c.before else -1 if (j, i) in c.before else 0 for i, j in problem.order}
    chosen = zip((*problem.at, *problem.home, *problem.event, *problem.move), (*c.subscribers, *c.publishers, *c.events, *c.moves), strict=True)
    return [*(choice[value] for choice, value in chosen), *(problem.order[pair][way] for pair, way in order.items())]


def test_where_leaves_the_others() -> None:
    words, bounds = "two migrations concurrent", Bounds((Size(3, moves=2),), (LINK_DOWN, MIGRATE))
    wanted = [c for c in enumerate_scenarios(bounds) if SAYS[words](c)]
    assert [*enumerate_scenarios(bounds, (constraint(words),))] == wanted != []


@pytest.mark.parametrize("words", ["a comet", "a migration and", "(a merge", "a migration nearby", ""])
def test_words_that_are_not_understood(words: str) -> None:
    with pytest.raises(PhraseError, match="--where"):
        constraint(words)


def test_a_contradiction_leaves_nothing() -> None:
    both = (constraint("no move"), constraint("a migration"))
    assert not [*enumerate_scenarios(Bounds((Size(3),)), both)]
    assert estimate(Bounds((Size(3),)), both) == 0


def test_an_estimate_ends_where_there_are_enough() -> None:
    """However many overlays there are: it stands before a refusal."""
    bounds = Bounds((Size(4),))
    assert 0 < estimate(bounds, enough=1) < estimate(bounds)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Bounds((Size(2, components=3),)), "cannot make 3 components"),
        (lambda: Bounds((Size(2, publishers=2),)), "each publisher publishes one"),
        (lambda: Bounds((Size(2, filters=4),)), "4 filters"),
        (lambda: Bounds((Size(2),), rooted=False), "depend on who leads"),
    ],
)
def test_bounds_that_make_no_sense(make: Any, says: str) -> None:
    with pytest.raises(BoundsError, match=says):
        make()
