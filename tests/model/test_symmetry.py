"""Symmetries: which scenarios have some, that they are a group, and which reactions do not commute with them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcheck.checker.files import bundled, load_scenario
from roamcheck.checker.question import question
from roamcheck.model.interface import Disabled, Effect, Model, State, Symmetry, fire
from roamcheck.model.overlay import Overlay
from roamcheck.model.scenario import Scenario, parse_scenario
from roamcheck.model.symmetry import MOST, Renaming
from roamcheck.spec import messages as m
from roamcheck.spec.messages import NOBODY, BrokerId, EventId, FilterId, Stamped, SubscriberId
from roamcheck.spec.protocols import PROTOCOLS
from roamcheck.spec.state import Broker, Owed, Received
from support.footprints import enabled, look

SMALL = {
    "two leaves": """
        network = { leaders = ["b1"], links = [["b1", "b2"], ["b1", "b3"]] }
        filters.f1 = { f1 = 1 }
        subscribers = { s2 = { at = "b2", filters = ["f1"] }, s3 = { at = "b3", filters = ["f1"] } }
        publishers.p1 = { at = "b1" }
        events.e1 = { from = "p1", attributes = { f1 = 1 } }
        """,
    "two subscribers of a broker": """
        network = { leaders = ["b1"], links = [["b1", "b2"], ["b1", "b3"]] }
        filters.f1 = { f1 = 1 }
        subscribers = { s1 = { at = "b2", filters = ["f1"] }, s2 = { at = "b2", filters = ["f1"] } }
        publishers.p1 = { at = "b1" }
        events.e1 = { from = "p1", attributes = { f1 = 1 } }
        """,
    "two publishers": """
        network = { leaders = ["b1"], links = [["b1", "b2"], ["b2", "b3"]] }
        filters = { f1 = { f1 = 1 }, f2 = { f2 = { ge = 2 } } }
        subscribers.s1 = { at = "b3", filters = ["f1", "f2"] }
        publishers = { p1 = { at = "b1" }, p2 = { at = "b1" } }
        events.e1 = { from = "p1", attributes = { f1 = 1 } }
        events.e2 = { from = "p2", attributes = { f2 = 7 } }
        """,
    "three on their own": """
        network = { brokers = ["b1", "b3", "b2"], leaders = ["b1", "b2", "b3"] }
        filters.f1 = { f1 = 1 }
        subscribers = { s1 = { at = "b1", filters = ["f1"] }, s2 = { at = "b2", filters = ["f1"] }, s3 = { at = "b3", filters = ["f1"] } }
        """,
    "two moves each": """
        network = { leaders = ["b1"], links = [["b2", "b1"], ["b1", "b3"]] }
        filters = { f2 = { f = 2 }, f3 = { f = 3 } }
        subscribers = { s2 = { at = "b2", filters = [] }, s3 = { at = "b3", filters = [] } }
        publishers.p1 = { at = "b1" }
        events = { e2 = { from = "p1", attributes = { f = 2 } }, e3 = { from = "p1", attributes = { f = 3 } } }
        moves = [
            { id = "ask2", do = "subscribe", subscriber = "s2", filter = "f2" },
            { id = "tell2", do = "publish", event = "e2", after = ["ask2"] },
            { id = "cut2", do = "link-down", link = ["b1", "b2"], after = ["tell2"] },
            { id = "ask3", do = "subscribe", subscriber = "s3", filter = "f3" },
            { id = "tell3", do = "publish", event = "e3", after = ["ask3"] },
            { id = "cut3", do = "link-down", link = ["b3", "b1"], after = ["tell3"] },
        ]
        """,
}
QUEUES = ("modular", "mft-pubsub", "mft-pubsub-2023")  # that know moving brokers
CLIENT_MOVES, BROKER_MOVES = "free = { publish = 2, client-moves = 1 }", "free = { publish = 2, broker-moves = 1 }"


def small(name: str, *more: str, changes: tuple[tuple[str, str], ...] = ()) -> Scenario:
    """A scenario of SMALL with lines more and parts of its text replaced."""
    text = SMALL[name]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse_scenario("\n".join(('format = "roamcheck-scenario/1"', 'name = "small"', text, *more)), where="small")


def model_of(scenario: Scenario, **options: Any) -> Model:
    return question(scenario, **options).model()


def within_reach(model: Model, most: int) -> list[State]:
    """The states nearest to the start."""
    states = dict.fromkeys(model.initial_states)
    frontier = list(states)
    for state in frontier:  # grows
        for _, after in enabled(model, state):
            if after not in states and len(states) < most:
                states[after] = None
                frontier.append(after)
    return frontier


def moved(g: Symmetry, state: State) -> State:
    image = {g.slots[slot]: g.rename(slot, value) for slot, value in enumerate(state)}
    return tuple(image[slot] for slot in range(len(state)))


def moves_of(model: Model) -> list[dict[str, str]]:
    """Of each symmetry, who takes whose place; channels go with their ends."""
    names = [spec.name for spec in model.layout.slots]
    return [{names[k]: names[slot] for k, slot in enumerate(g.slots) if k != slot and "→" not in names[k]} for g in model.symmetries()]


def after_both(g: Symmetry, h: Symmetry) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where slots and steps end up when first h and then g is applied."""
    return tuple(g.slots[slot] for slot in h.slots), tuple(g.steps[step] for step in h.steps)


# ---- who has symmetries --------------------------------------------------------------------------------


def test_the_bundled_scenarios_with_symmetries() -> None:
    found = {name: moves_of(model_of(load_scenario(name))) for name in bundled()}
    left = {"b4": "b5", "b5": "b4", "s4": "s5", "s5": "s4"}
    right = {"b6": "b7", "b7": "b6", "s6": "s7", "s7": "s6"}
    some = {name: renamings for name, renamings in found.items() if renamings}
    assert some.pop("hunt-shared-filter") == [{"b2": "b3", "b3": "b2", "s1": "s2", "s2": "s1"}]
    assert some.pop("link-lost-and-found") == [{"s1": "s2", "s2": "s1"}]
    assert sorted(some.pop("figure-1a"), key=str) == sorted([left, right, left | right], key=str)
    assert some == {}


@pytest.mark.parametrize(
    ("name", "more", "renamings"),
    [
        ("two leaves", "", [{"b2": "b3", "b3": "b2", "s2": "s3", "s3": "s2"}]),
        ("two subscribers of a broker", "", [{"s1": "s2", "s2": "s1"}]),
        ("two publishers", "free.publish = 1", [{"p1": "p2", "p2": "p1"}]),
        ("two moves each", "", [{"b2": "b3", "b3": "b2", "s2": "s3", "s3": "s2"}]),
    ],
)
def test_a_small_scenario_has_the_symmetry_that_it_was_written_for(name: str, more: str, renamings: list[dict[str, str]]) -> None:
    assert moves_of(model_of(small(name, more))) == renamings


def test_three_brokers_on_their_own_can_be_permuted_at_will() -> None:
    assert len(model_of(small("three on their own")).symmetries()) == 5


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("two leaves", 's3 = { at = "b3", filters = ["f1"] }', 's3 = { at = "b3", filters = [] }'),
        ("two leaves", 'p1 = { at = "b1" }', 'p1 = { at = "b2" }'),
        ("two leaves", 'leaders = ["b1"]', 'leaders = ["b2"]'),
        ("two leaves", '["b1", "b3"]]', '["b1", "b3"], ["b3", "b4"]]'),
        ("two leaves", 's3 = { at = "b3",', "s3 = {"),
        ("two moves each", 'after = ["tell3"]', 'after = ["tell2"]'),
        ("two moves each", 'event = "e3", after = ["ask3"]', 'event = "e3", after = ["ask3"], when = "quiescent"'),
        ("two moves each", '"subscribe", subscriber = "s3", filter = "f3"', '"subscribe", subscriber = "s3", filter = "f2"'),
        ("two moves each", 'do = "link-down", link = ["b3", "b1"]', 'do = "crash", broker = "b3", state = "durable"'),
        ("two moves each", '"p1", attributes = { f = 3 }', '"p1", attributes = { f = 2 }'),
    ],
)
def test_whatever_tells_the_two_apart_ends_the_symmetry(name: str, old: str, new: str) -> None:
    assert model_of(small(name, changes=((old, new),))).symmetries() == ()


def test_filters_that_nobody_wants_and_events_that_nobody_publishes_make_and_break_no_symmetry() -> None:
    more = ("filters.x = { x = 1 }", "filters.y = { x = 1 }", 'events.e2 = { from = "p1", attributes = { x = 1 } }')
    assert len(model_of(small("two leaves", *more)).symmetries()) == 1


def test_filters_that_always_go_together_keep_their_order() -> None:
    assert model_of(load_scenario("overlap-queue")).symmetries() == ()
    both = small("two leaves", "filters.f2 = { f1 = 1 }", changes=(('["f1"]', '["f1", "f2"]'),))
    assert len(model_of(both).symmetries()) == 1


def test_an_initial_state_that_is_not_symmetric_ends_the_symmetry() -> None:
    start = 'start.subscriptions = "none"'
    assert len(model_of(small("two subscribers of a broker", start)).symmetries()) == 1
    assert model_of(small("two subscribers of a broker", start), assumptions={"client-links": "instant"}).symmetries() == ()  # SUBs in order of name


def test_a_scenario_whose_parts_all_differ_costs_no_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)  # importing it fails
    assert model_of(load_scenario("peers-f")).symmetries() == ()
    with pytest.raises(ImportError):
        model_of(load_scenario("figure-1a")).symmetries()


# ---- a group that acts ---------------------------------------------------------------------------------

EVERYTHING = "free = { publish = 1, client-moves = 1, link-failures = 1, broker-moves = 1 }"
IN_TURN = (('after = ["tell2"] }', 'after = ["tell2"], when = "quiescent" }'), ('after = ["tell3"] }', 'after = ["tell3"], when = "quiescent" }'))
GROUPS: dict[str, tuple[Scenario, dict[str, Any]]] = {
    "figure-1a": (load_scenario("figure-1a"), {}),
    "figure-1a, modular": (load_scenario("figure-1a"), {"protocol": "modular"}),
    "two leaves": (small("two leaves", EVERYTHING), {"readings": "amended"}),
    "two leaves, instant": (
        small("two leaves", CLIENT_MOVES), {"protocol": "phoenix", "assumptions": {"client-links": "instant", "bounce": "later"}}),
    "two leaves, losses": (small("two leaves", "free = { publish = 1, losses = 1, crashes = 1 }"), {"assumptions": {"radio": "detected"}}),
    "two leaves, unnamed": (small("two leaves", "free.publish = 1"), {"protocol": "simple-routing"}),
    "two publishers": (small("two publishers", CLIENT_MOVES), {"readings": "amended"}),
    "three on their own": (small("three on their own", "free.merges = 2"), {"reading": {"merges": "at-once"}}),
    "three on their own, modular": (small("three on their own", "free = { merges = 2, link-failures = 1 }"), {"protocol": "modular"}),
    "two moves each": (small("two moves each"), {}),
    "two moves each, in turn": (small("two moves each", changes=IN_TURN), {"readings": "amended"}),
}  # fmt: skip


@cache
def explored(case: str) -> tuple[Model, tuple[Symmetry, ...], list[State]]:
    scenario, options = GROUPS[case]
    model = model_of(scenario, **options)
    symmetries = model.symmetries()
    assert symmetries
    return model, symmetries, within_reach(model, 150)


@pytest.mark.parametrize("case", GROUPS)
def test_the_symmetries_and_the_identity_are_a_group(case: str) -> None:
    _, symmetries, _ = explored(case)
    same = tuple(range(len(symmetries[0].slots))), tuple(range(len(symmetries[0].steps)))
    members = {same, *((g.slots, g.steps) for g in symmetries)}
    assert len(members) == len(symmetries) + 1
    assert {after_both(g, h) for g in symmetries for h in symmetries} <= members


@pytest.mark.parametrize("case", GROUPS)
def test_to_rename_twice_is_to_rename_once(case: str) -> None:
    _, symmetries, states = explored(case)
    by_place = {(g.slots, g.steps): g for g in symmetries}
    for g, h in product(symmetries, repeat=2):
        both = by_place.get(after_both(g, h))  # None: they undo each other
        for state in states:
            assert moved(g, moved(h, state)) == (moved(both, state) if both else state)


@pytest.mark.parametrize("case", GROUPS)
def test_to_append_a_renamed_word_is_to_rename_what_it_was_appended_to(case: str) -> None:
    model, symmetries, states = explored(case)
    for g, (state, slot, words) in product(symmetries, appended(model, states)):
        image = model.layout.slots[g.slots[slot]].append(g.rename(slot, state[slot]), tuple(g.rename_word(slot, word) for word in words))
        assert image == g.rename(slot, model.layout.slots[slot].append(state[slot], words))


def appended(model: Model, states: list[State]) -> Iterator[tuple[State, int, tuple[Any, ...]]]:
    for state in states:
        for step, _ in enabled(model, state):
            effect = look(step, state).outcome
            assert isinstance(effect, Effect)
            yield from ((state, slot, words) for slot, words in effect.appended)


@pytest.mark.parametrize(("clients", "found"), [(3, 5), (4, 23), (6, 23)])
def test_of_too_many_symmetries_a_subgroup_is_found(clients: int, found: int) -> None:
    more = "".join(f's{k} = {{ at = "b2", filters = ["f1"] }}, ' for k in range(3, clients + 1))
    symmetries = model_of(small("two subscribers of a broker", changes=(("{ s1", f"{{ {more}s1"),))).symmetries()
    assert len(symmetries) == found < MOST
    places = {g.slots for g in symmetries}
    assert {after_both(g, h)[0] for g in symmetries for h in symmetries} <= {*places, tuple(range(len(symmetries[0].slots)))}


# ---- what the steps do ---------------------------------------------------------------------------------


def odd_steps(model: Model, symmetries: tuple[Symmetry, ...], states: list[State]) -> set[str]:
    """Steps that do not do to the renamed state, renamed, what they do to the state."""
    odd = set()
    for state in states:
        for g in symmetries:
            image = moved(g, state)
            assert model.quiescent(image) == model.quiescent(state)
            for number, step in enumerate(model.steps):
                here, there = fire(model, step, state), fire(model, model.steps[g.steps[number]], image)
                if isinstance(here, Disabled) or isinstance(there, Disabled):
                    same = isinstance(here, Disabled) and isinstance(there, Disabled)
                else:
                    same = moved(g, here) == there
                odd |= set() if same else {str(step)}
    return odd


@pytest.mark.parametrize("case", [case for case in GROUPS if case != "three on their own"])
def test_renamed_steps_do_the_same_to_renamed_states(case: str) -> None:
    assert odd_steps(*explored(case)) == set()


@pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if name != "simple-routing"])  # where clients stay
@pytest.mark.parametrize("readings", ["printed", "amended"])
def test_in_no_protocol_does_a_client_move_tell_apart_who_can_trade_places(protocol: str, readings: str) -> None:
    for name in ("two leaves", "two subscribers of a broker", "two publishers"):
        model = model_of(small(name, CLIENT_MOVES), protocol=protocol, readings=readings, assumptions={"client-links": "instant"})
        assert odd_steps(model, model.symmetries(), within_reach(model, 80)) == set()


@pytest.mark.parametrize("protocol", ["modular-2016", *QUEUES])
def test_queues_for_two_subscribers_of_a_moving_broker_are_emptied_in_the_order_of_names(protocol: str) -> None:
    model = model_of(small("two subscribers of a broker", BROKER_MOVES), protocol=protocol)
    assert odd_steps(model, model.symmetries(), within_reach(model, 100)) == ({"deliver(b3, b1)"} if protocol in QUEUES else set())
    model = model_of(load_scenario("link-lost-and-found"), protocol=protocol)
    assert odd_steps(model, model.symmetries(), within_reach(model, 100)) == ({"deliver(b2, b1)"} if protocol in QUEUES else set())


@pytest.mark.parametrize("protocol", QUEUES)
def test_what_comes_back_for_two_subscribers_is_sent_again_in_the_order_of_names(protocol: str) -> None:
    late = {"client-links": "instant", "bounce": "later"}
    model = model_of(small("two subscribers of a broker", BROKER_MOVES), protocol=protocol, readings="amended", assumptions=late)
    assert odd_steps(model, model.symmetries(), within_reach(model, 100)) == {"deliver(b3, b1)", "return(b2, b1)"}


def test_a_broker_is_told_of_what_else_is_known_in_the_order_of_names() -> None:
    model, symmetries, _ = explored("three on their own")
    ways = {f"deliver({u}, {v})" for u in ("b1", "b2", "b3") for v in ("b1", "b2", "b3") if u != v}
    assert odd_steps(model, symmetries, within_reach(model, 300)) == ways  # a BSUB for each


# ---- laws ----------------------------------------------------------------------------------------------

BROKERS, SUBSCRIBERS, FILTERS, EVENTS = ("b1", "b2", "b3"), ("s1", "s2", "s3"), ("f1", "f2"), ("b1", "s1", "f1")  # an event may be called b1
PICK = st.tuples(*(st.sampled_from(names) for names in (BROKERS, SUBSCRIBERS, FILTERS, EVENTS)))
Pick = tuple[Any, Any, Any, Any]


B1, B2, B3 = map(BrokerId, BROKERS)
S1, S2, _ = map(SubscriberId, SUBSCRIBERS)
(F1, F2), (E1, E2, _) = map(FilterId, FILTERS), map(EventId, EVENTS)
SWAP = Renaming({None: None, "": "", B1: B2, B2: B1, B3: B3, S1: S2, S2: S1}, {F1: F2, F2: F1}, {E1: E2, E2: E1}, {}, (B1, B2, B3))


@pytest.mark.parametrize(
    ("word", "image"),
    [
        (m.Sub(F1, S1, 3, 4), m.Sub(F2, S2, 3, 4)),
        (m.Uns(F1, NOBODY), m.Uns(F2, NOBODY)),
        (m.Pub(E1, (S1,)), m.Pub(E2, (S2,))),
        (m.Mig(S1, B1, 3, 4), m.Mig(S2, B2, 3, 4)),
        (m.Rep(E1, S1), m.Rep(E2, S2)),
        (m.Filters((F1,)), m.Filters((F2,))),
        (m.BmigModular((S1,), B1), m.BmigModular((S2,), B2)),
        (m.Btab((m.Entry(F1, B1, S1), m.Entry(F1, S2, S2))), m.Btab((m.Entry(F2, B2, S2), m.Entry(F2, S1, S1)))),
        (m.Fmig(), m.Fmig()),
        (m.Bmig((Stamped(S1, 3, 4), Stamped(S2, 5, 6)), (), 7), m.Bmig((Stamped(S1, 5, 6), Stamped(S2, 3, 4)), (), 7)),
        (m.Bquery(S1, 3, 4), m.Bquery(S2, 3, 4)),
        (m.Bsub(S1, (F1,), m.Timestamp(3, 4), 5), m.Bsub(S2, (F2,), m.Timestamp(3, 4), 5)),
        (Owed(E1, (F1,)), Owed(E2, (F2,))),
        (Received(E1), Received(E2)),
    ],
)
def test_a_word_is_renamed_in_every_part_and_its_sets_are_in_order(word: Any, image: Any) -> None:
    assert SWAP.word(0, word) == image
    assert SWAP.value(0, (word, image)) == (image, word)


def test_paths_that_turn_stay_in_the_order_of_their_merges() -> None:
    overlay = Overlay(((B1, B3),), ((B1, None), (B2, B1), (B3, B1)), ((B1, B3), (B2, B1)), (B1, B3))
    assert SWAP.value(0, overlay) == Overlay(((B2, B3),), ((B1, B2), (B2, None), (B3, B2)), ((B2, B3), (B1, B2)), (B2, B3))


@st.composite
def renamings(draw: st.DrawFn) -> Renaming:
    b, s, f, e = (dict(zip(names, draw(st.permutations(names)), strict=True)) for names in (BROKERS, SUBSCRIBERS, FILTERS, EVENTS))
    return Renaming({None: None, "": "", **b, **s}, f, e, {}, (B1, B2, B3))


def changed(i: Broker, operation: str, pick: Pick) -> Broker:
    b, s, f, e = BrokerId(pick[0]), SubscriberId(pick[1]), FilterId(pick[2]), EventId(pick[3])
    match operation:
        case "entry":
            return i.with_entry(f, b, s)
        case "reroute":
            return i.rerouted(s, b)
        case "stamp":
            return i.heard(s, len(i.routing), 1)
        case "queue":
            return i.enqueued(e, s)
        case "link":
            return i.linked(b)
    return i.joined_by(s)


@given(renamings(), st.lists(st.tuples(st.sampled_from(["entry", "reroute", "stamp", "queue", "link", "join"]), PICK), max_size=12))
def test_a_broker_to_which_renamed_things_happen_is_the_renamed_broker(names: Renaming, operations: list[tuple[str, Pick]]) -> None:
    i, image = Broker(BrokerId("b1"), (), (), ()), Broker(names.interfaces["b1"], (), (), ())
    for operation, pick in operations:
        i = changed(i, operation, pick)
        b, s, f, e = pick
        image = changed(image, operation, (names.interfaces[b], names.interfaces[s], names.filters[f], names.events[e]))
    assert names.value(0, i) == image


@given(renamings(), st.lists(st.tuples(st.sampled_from(["cut", "move"]), st.permutations(BROKERS)), max_size=8))
def test_an_overlay_to_which_renamed_things_happen_is_the_renamed_overlay(names: Renaming, operations: list[tuple[str, list[Any]]]) -> None:
    z = names.interfaces
    overlay = Overlay((), tuple((BrokerId(b), None) for b in BROKERS))
    image = overlay
    for operation, (u, v, _) in operations:
        if operation == "cut":
            overlay, image = overlay.without_link(u, v), image.without_link(z[u], z[v])
        elif v not in overlay.component(u):
            overlay, image = overlay.moved(u, v), image.moved(z[u], z[v])
    assert names.value(0, overlay) == image
