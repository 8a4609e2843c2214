"""What lies on cycles is told from the tables, and is what is found edge by edge."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcheck.checker.engines import reference, tabled
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.checker.tabled import returning, trimming
from roamcheck.checker.tabled.lasso import number_distinct
from roamcheck.checker.tabled.proviso import run
from roamcheck.checker.tabled.search import Enough, Search
from roamcheck.checker.verdict import Exploration
from roamcheck.model.interface import Effect, Footprint, Kind, Layout, Model, Scope, SlotSpec, Step, Value
from support import random_models
from support.toys import never, ping_pong

ENDLESS = replace(never("endless", 0, lambda value: False, Scope.RUN), predicates=())


def explored(model: Model, reduce: bool = False, workers: int = 1) -> Search:
    """A search at its end, or where it was stopped."""
    search = Search(model, None, None, False, workers, reduce=reduce)
    with suppress(Enough):
        run(search, None)
    return search


def same_cycles(search: Search, alive: np.ndarray) -> None:
    """Both ways lead to the same states and components."""
    assert returning.returning(search) is not None
    known, found = returning.cyclic(search, alive.copy()), trimming.on_cycles(search.graph(), alive.copy())
    assert known.states.tolist() == found.states.tolist()
    assert len({*zip(known.component.tolist(), found.component.tolist(), strict=True)}) == len({*known.component}) == len({*found.component})


@settings(max_examples=80, deadline=None)
@given(random_models.models() | random_models.digraphs(), st.booleans(), st.randoms(use_true_random=False))
def test_random_models(model: Model, reduce: bool, chance: object) -> None:
    search = explored(model, reduce)
    alive = np.ones(len(search.degree), np.uint8)
    same_cycles(search, alive)
    alive[:: chance.randint(2, 5)] = 0  # type: ignore[attr-defined]
    same_cycles(search, alive)


@pytest.mark.parametrize("workers", [1, 2])
def test_hardly_an_edge_of_a_real_network_has_to_be_looked_at(workers: int) -> None:
    search = explored(question(load_scenario("peers-b")).model(), workers=workers)
    known = returning.returning(search)
    assert known is not None
    assert 0 < 20 * len(known.source) < len(search.edges)
    same_cycles(search, np.ones(len(search.degree), np.uint8))


def test_where_no_slot_comes_back_no_edge_has_to_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    search = explored(question(load_scenario("hot-and-cold")).model())
    monkeypatch.setattr(returning, "pick", None)
    known = returning.returning(search)
    assert known is not None
    assert not len(known.source)
    assert len(search.edges)


def carousel(written: bool) -> Model:
    """Words go round: each is taken and put to the end, by an append or as part of what is left of the channel."""

    def turn(head: object, values: tuple[Value, ...]) -> Effect:
        if not written:
            return Effect((), ((0, (head,)),))
        assert isinstance(values[0], tuple)
        return Effect(((*values[0][1:], head),))

    footprint = Footprint(takes=0, reads=(0,)) if written else Footprint(takes=0, appends=(0,))
    step = Step("turn", (), Kind.PROTOCOL, turn, footprint, serves=0)
    return Model("carousel", Layout((SlotSpec("ring"),)), ((("a", "b", "c"),),), (step,), (ENDLESS,), lambda slot, value: not value)


@pytest.mark.parametrize("written", [False, True])
def test_what_a_step_takes_and_puts_back_comes_round(written: bool) -> None:
    model = carousel(written)
    assert told(tabled.explore(model)) == told(reference.explore(model))
    search = explored(model)
    same_cycles(search, np.ones(3, np.uint8))
    assert returning.cyclic(search, np.ones(3, np.uint8)).states.tolist() == [0, 1, 2]


def told(found: Exploration) -> tuple[object, ...]:
    return found.counts, found.verdicts, found.complete


@pytest.mark.parametrize("name", ["ping-pong", "whistle", "peers-b"])
def test_too_many_edges_are_trimmed_instead(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = question(load_scenario(name)).model() if name == "peers-b" else ping_pong(ENDLESS, whistle=name == "whistle")
    expected = told(tabled.explore(model))
    monkeypatch.setattr(returning, "MOST", 0)
    assert told(tabled.explore(model)) == expected


def squares(side: int) -> Model:
    """Two counters that each step sees; at the end, both stay where they are, and a light goes on and off."""

    def move(which: int) -> Step:
        def react(head: object, values: tuple[Value, ...]) -> Effect:
            x, y, light = (int(str(value)) for value in values)
            if (x, y) == (side, side):
                return Effect((x, y, 1 - light))
            return Effect((min(x + 1 - which, side), min(y + which, side), light))

        return Step("move", (("which", str(which)),), Kind.PROTOCOL, react, Footprint(reads=(0, 1, 2)), serves=2)

    slots = Layout((SlotSpec("x"), SlotSpec("y"), SlotSpec("light")))
    return Model("squares", slots, ((0, 0, 0),), (move(0), move(1)), (ENDLESS,), lambda slot, value: slot != 2)


@pytest.mark.slow
def test_reactions_whose_numbers_are_too_large_to_be_kept() -> None:
    model = squares(200)
    assert told(tabled.explore(model)) == told(reference.explore(model))
    search = explored(model)
    assert len(search.tables.reactions.items) > returning.UNTOLD
    same_cycles(search, np.ones(len(search.degree), np.uint8))


@given(st.lists(st.integers(0, 60)))
def test_distinct_values_are_numbered_in_their_order(values: list[int]) -> None:
    """By a table where they are small, or by sorting."""
    order = sorted({*values})
    assert number_distinct(np.array(values, np.int64)).tolist() == [order.index(value) for value in values]
