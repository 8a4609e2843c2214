"""The abstract overlay against networkx, on random forests and random sequences of moves."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcheck.checker.question import question
from roamcheck.model.interface import Disabled, Model, fire
from roamcheck.model.overlay import Overlay, link
from roamcheck.model.scenario import from_data

FOREST = settings(max_examples=60, deadline=None)


@st.composite
def forests(draw: st.DrawFn, min_brokers: int = 1) -> Overlay:
    """Up to eight brokers; each but the first of its tree hangs below an earlier one, which is its next hop to the leader."""
    names: list[Any] = list(draw(st.permutations([f"b{k}" for k in range(1, draw(st.integers(min_brokers, 8)) + 1)])))
    parents: dict[Any, Any] = {}
    for k, b in enumerate(names):
        parents[b] = draw(st.sampled_from([None, *names[:k], *names[:k]])) if k else None
    links = tuple(sorted(link(b, parent) for b, parent in parents.items() if parent is not None))
    return Overlay(links, tuple(sorted(parents.items())))


def graph(overlay: Overlay) -> nx.Graph:
    """The same links, and every broker."""
    g = nx.Graph(overlay.links)
    g.add_nodes_from(b for b, _ in overlay.parents)
    return g


@cache
def roaming_model() -> Model:
    """Five brokers without clients in two components; links fail, parts merge, brokers move and crash, anywhere, any time."""
    data = {
        "format": "roamcheck-scenario/1",
        "name": "roaming",
        "network": {"leaders": ["b1", "b4"], "links": [["b1", "b2"], ["b2", "b3"], ["b4", "b5"]]},
        "filters": {},
        "free": {"broker-moves": 3, "link-failures": 2, "merges": 3, "crashes": 1, "volatile-crashes": 1},
    }
    return question(from_data(data, "roaming"), protocol="modular").model()


@FOREST
@given(forests())
def test_neighbours_components_distances_and_next_hops_are_those_of_the_graph(overlay):
    g = graph(overlay)
    for u in g:
        assert overlay.neighbours(u) == tuple(sorted(g[u]))
        assert overlay.component(u) == tuple(sorted(nx.node_connected_component(g, u)))
        for v in g:
            assert overlay.is_up(u, v) == g.has_edge(u, v)
            if u == v or not nx.has_path(g, u, v):
                continue
            path = nx.shortest_path(g, u, v)
            assert overlay.distance(u, v) == len(path) - 1
            assert overlay.towards(u, v) == path[1]


@FOREST
@given(forests())
def test_where_there_is_no_path_distance_and_next_hop_raise(overlay):
    g = graph(overlay)
    for u in g:
        for v in set(g) - nx.node_connected_component(g, u):
            with pytest.raises(KeyError):
                overlay.distance(u, v)
            with pytest.raises((KeyError, StopIteration)):
                overlay.towards(u, v)


@FOREST
@given(forests())
def test_the_path_to_the_leader_follows_next_hops_and_the_branch_is_what_hangs_below(overlay):
    g = graph(overlay)
    for u in g:
        *_, leader = path = overlay.path_to_leader(u)
        assert overlay.parent(leader) is None
        assert list(path) == nx.shortest_path(g, u, leader)
        below = nx.Graph(g)
        if u != leader:
            below.remove_edge(u, path[1])
        assert overlay.branch(u) == tuple(sorted(nx.node_connected_component(below, u)))


@FOREST
@given(forests(), st.data())
def test_a_broker_whose_parent_link_is_down_leads_its_branch_and_keeps_its_parent(overlay, data):
    if not overlay.links:
        return
    u, v = data.draw(st.sampled_from(overlay.links))
    child, parent = (u, v) if overlay.parent(u) == v else (v, u)
    cut = overlay.without_link(u, v)
    assert cut.parent(child) == parent
    assert cut.path_to_leader(child) == (child,)
    assert cut.branch(child) == cut.component(child) == overlay.branch(child)
    assert cut.moved(child, parent) == overlay


@FOREST
@given(forests(), st.data())
def test_a_broker_that_broke_off_leads_still_when_its_former_parent_comes_back_below_it(overlay, data):
    below = [(b, p) for b, p in overlay.parents if p is not None and overlay.parent(p) is None]
    if not below:
        return
    child, parent = data.draw(st.sampled_from(below))
    back = overlay.without_link(child, parent).moved(parent, child)
    assert back.follows(child) is None
    assert back.path_to_leader(parent) == (parent, child)


def test_the_way_of_a_broker_that_moves_while_it_is_to_turn_turns_with_it():
    """b4 led b5, b6 and b7; b7, which has joined b2, moves to b6 before the heartbeat reaches it: b6, b5 and b4 turn too."""
    links = tuple(link(*pair) for pair in (("b2", "b7"), ("b4", "b5"), ("b5", "b6")))
    parents = (("b2", None), ("b4", None), ("b5", "b4"), ("b6", "b5"), ("b7", "b5"))
    overlay = Overlay(links, parents, (("b2", "b7"),)).moved("b7", "b6")
    assert overlay.turning == (("b2", "b7", "b6", "b5", "b4"),)


@FOREST
@given(forests(), st.data())
def test_the_order_in_which_links_come_and_go_leaves_no_trace(overlay, data):
    links = data.draw(st.permutations(overlay.links))
    bare = Overlay((), overlay.parents)
    for u, v in links:
        bare = bare.with_link(v, u)
    assert bare == overlay
    assert hash(bare) == hash(overlay)


@FOREST
@given(forests(min_brokers=3), st.data())
def test_turns_go_up_the_path_one_by_one_and_end_with_the_old_leader_below(overlay, data):
    u = data.draw(st.sampled_from([b for b, _ in overlay.parents]))
    path = overlay.path_to_leader(u)
    turning = Overlay(overlay.links, overlay.parents, (path,) if len(path) > 1 else ())
    for towards, b in pairwise(path):
        assert turning.next_turns() == {b: towards}
        turning = turning.turned(b)
        assert turning.parent(b) == towards
    assert turning.turning == ()
    untouched = {b: p for b, p in overlay.parents if b not in path[1:]}
    assert {b: p for b, p in turning.parents if b in untouched} == untouched


@FOREST
@given(forests(min_brokers=3), st.data())
def test_a_fallen_link_cuts_the_turns_that_would_have_crossed_it_and_no_others(overlay, data):
    path = overlay.path_to_leader(data.draw(st.sampled_from([b for b, _ in overlay.parents])))
    if not overlay.links or len(path) < 2:
        return
    u, v = data.draw(st.sampled_from(overlay.links))
    cut = Overlay(overlay.links, overlay.parents, (path,)).without_link(u, v)
    crossing = [k for k, hop in enumerate(pairwise(path)) if link(*hop) == link(u, v)]
    left = path[: crossing[0] + 1] if crossing else path
    assert cut.turning == ((left,) if len(left) > 1 else ())


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 10_000), max_size=14))
def test_any_sequence_of_free_moves_keeps_the_overlay_a_forest_with_every_next_hop_a_neighbour_or_gone(choices):
    model: Any = roaming_model()
    state = model.initial_states[0]
    slot = model.layout.index("(overlay)")
    for choice in choices:
        steps = [after for step in model.steps if not isinstance(after := fire(model, step, state), Disabled)]
        if not steps:
            break
        state = steps[choice % len(steps)]
        overlay = state[slot]
        assert nx.is_forest(graph(overlay))
        for b, parent in overlay.parents:
            path = overlay.path_to_leader(b)
            assert len(set(path)) == len(path)
            assert parent is None or parent != b
            assert set(path) <= set(overlay.component(b))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 10_000), max_size=14))
def test_once_no_turn_is_pending_each_component_has_one_leader_and_every_broker_in_it_leads_there(choices):
    """Whatever moves, falls or crashes while the next hops of a merge turn round."""
    model: Any = roaming_model()
    state, slot = model.initial_states[0], model.layout.index("(overlay)")
    for choice in choices:
        steps = [after for step in model.steps if step.action != "deliver" and not isinstance(after := fire(model, step, state), Disabled)]
        state = steps[choice % len(steps)] if steps else state
    while state[slot].turning:
        state = next(after for step in model.steps if step.action == "turn" and not isinstance(after := fire(model, step, state), Disabled))
    overlay = state[slot]
    for component in nx.connected_components(graph(overlay)):
        assert len({overlay.path_to_leader(b)[-1] for b in component}) == 1
        assert sum(overlay.follows(b) is None for b in component) == 1


def test_towards_raises_key_error_from_a_broker_without_links_too():
    with pytest.raises(KeyError):
        Overlay((("b1", "b2"),), (("b1", None), ("b2", "b1"), ("b3", None))).towards("b3", "b1")
