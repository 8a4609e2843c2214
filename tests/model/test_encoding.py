"""Values as data, digests that tell states apart and are the same everywhere, and messages taken back."""

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.model.encoding import DIGEST, NoMessage, canonical, digest, message_from_data, to_data
from roamcheck.model.overlay import Overlay
from roamcheck.model.world import Budget
from roamcheck.spec.messages import (
    INFINITE,
    KINDS,
    Bmig,
    BmigModular,
    Bquery,
    Bsub,
    Btab,
    Entry,
    Filters,
    Fmig,
    Message,
    Mig,
    Pub,
    Rep,
    Stamped,
    Sub,
    Timestamp,
    Uns,
)
from roamcheck.spec.state import Broker
from support import naive
from support.toys import TwoPhase

NAMES: Any = st.sampled_from(["b1", "s1", "f.1", "e_2"])
COUNTS = st.one_of(st.integers(0, 3), st.sampled_from([INFINITE - 1, INFINITE, INFINITE + 1, 2 * INFINITE]))
STAMPED = st.lists(st.builds(Stamped, NAMES, COUNTS, COUNTS), max_size=2).map(tuple)
SOME_NAMES = st.lists(NAMES, max_size=2).map(tuple)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(Sub, NAMES, st.one_of(NAMES, st.just("")), COUNTS, COUNTS),
    st.builds(Uns, NAMES, NAMES, COUNTS, COUNTS),
    st.builds(Pub, NAMES, SOME_NAMES),
    st.builds(Mig, NAMES, NAMES, COUNTS, COUNTS),
    st.builds(Rep, NAMES, NAMES),
    st.builds(Filters, SOME_NAMES),
    st.builds(BmigModular, SOME_NAMES, NAMES),
    st.builds(Btab, st.lists(st.builds(Entry, NAMES, NAMES, NAMES), max_size=2).map(tuple)),
    st.builds(Fmig),
    st.builds(Bmig, STAMPED, STAMPED, COUNTS),
    st.builds(Bquery, NAMES, COUNTS, COUNTS),
    st.builds(Bsub, NAMES, SOME_NAMES, st.builds(Timestamp, COUNTS, COUNTS), COUNTS),
)


class Colour(Enum):
    RED = 1
    BLUE = 2


class Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True)
class Left:
    value: Any


@dataclass(frozen=True)
class Right:
    value: Any


POINTS = st.builds(Point, st.integers(0, 1), st.just(0))
LEAVES = st.one_of(st.none(), st.integers(-2, 2), st.text("ab()[]{}\",'", max_size=3), st.sampled_from(Colour), POINTS)
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple), st.frozensets(inner, max_size=3), st.builds(Left, inner), st.builds(Right, inner),
    ),
    max_leaves=8,
)  # fmt: skip


def told_apart(value: Any) -> Any:
    """The value with its type beside every part, so that == is as strict as the encoding should be."""
    if isinstance(value, frozenset):
        return frozenset, frozenset(map(told_apart, value))
    if isinstance(value, tuple):
        return type(value), tuple(map(told_apart, value))
    if isinstance(value, Left | Right):
        return type(value), told_apart(value.value)
    return type(value), value


# ---- data --------------------------------------------------------------------------------------------------------------------


@given(MESSAGES)
def test_a_message_is_taken_back_from_its_data(message: Message) -> None:
    data = json.loads(json.dumps(to_data(message)))
    assert data["kind"] == KINDS[type(message)]
    assert message_from_data(data) == message


def test_data_are_for_reading() -> None:
    broker: Any = Broker("b1", ("b2",), ("s1",), (), (Entry("f1", "s1", "s1"),), (("s1", Timestamp(1, INFINITE)),), (("s2", ("e1",)),))  # type: ignore[arg-type]
    assert to_data(broker) == {
        "me": "b1", "neighbours": ["b2"], "subscribers": ["s1"], "publishers": [],
        "routing": [{"filter": "f1", "next_hop": "s1", "subscriber": "s1"}], "timestamps": {"s1": {"t": 1, "h": "∞"}}, "queues": {"s2": ["e1"]},
    }  # fmt: skip
    overlay: Any = Overlay((("b1", "b2"),), (("b1", None), ("b2", "b1")))  # type: ignore[arg-type]
    assert to_data(overlay) == {"links": [["b1", "b2"]], "parents": {"b1": None, "b2": "b1"}, "turning": [], "tops": []}
    assert to_data(Budget(("cut",), (("publish", 2),))) == {"fired": ["cut"], "left": {"publish": 2}, "roaming": []}
    assert to_data((True, frozenset({2, 1}), Colour.RED)) == [True, [1, 2], "RED"]


def test_what_has_no_place_in_a_state_is_refused() -> None:
    for value in (1.5, [1], {"a": 1}, object()):
        with pytest.raises(TypeError, match="has no place in a state"):
            to_data(value)
        with pytest.raises(TypeError, match="has no place in a state"):
            digest((value,))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "path", "problem"),
    [
        (1, (), "not a table"),
        ({}, ("kind",), "no kind of message"),
        ({"kind": "HELLO"}, ("kind",), "no kind of message"),
        ({"kind": ["PUB"]}, ("kind",), "no kind of message"),
        ({"kind": "REP", "event": "e1"}, (), "subscriber is missing"),
        ({"kind": "REP", "event": "e1", "subscriber": "s1", "h": 1}, ("h",), "unknown key"),
        ({"kind": "REP", "event": 1, "subscriber": "s1"}, ("event",), "not a name"),
        ({"kind": "REP", "event": "e 1", "subscriber": "s1"}, ("event",), "not a name"),
        ({"kind": "BQUERY", "subscriber": "s1", "t": True, "h": 1}, ("t",), "not a count"),
        ({"kind": "BQUERY", "subscriber": "s1", "t": -1, "h": 1}, ("t",), "not a count"),
        ({"kind": "BQUERY", "subscriber": "s1", "t": INFINITE, "h": 1}, ("t",), "not a count"),
        ({"kind": "BQUERY", "subscriber": "s1", "t": "∞+0", "h": 1}, ("t",), "not a count"),
        ({"kind": "PUB", "event": "e1", "sent_for": "s1"}, ("sent_for",), "not a list"),
        ({"kind": "PUB", "event": "e1", "sent_for": [[]]}, ("sent_for", "1"), "not a name"),
        ({"kind": "BMIG", "children": [], "others": [{"subscriber": "s1", "t": 1}], "h": 0}, ("others", "1"), "h is missing"),
        ({"kind": "BSUB", "subscriber": "s1", "filters": [], "stamp": [1, 1], "h": 0}, ("stamp",), "not a table"),
    ],
)
def test_data_that_are_no_message(data: object, path: tuple[str, ...], problem: str) -> None:
    with pytest.raises(NoMessage) as refused:
        message_from_data(data)
    assert (refused.value.path, refused.value.problem) == (path, problem)


JUNK: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.sampled_from(["BMIG", "s1", "∞"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["kind", "subscriber", "t", "h", "children", "x"]), inner)),
    max_leaves=10,
)


@given(JUNK)
def test_any_data_are_a_message_or_refused(data: object) -> None:
    try:
        message = message_from_data(data)
    except NoMessage:
        return
    assert to_data(message) == data


# ---- digests -----------------------------------------------------------------------------------------------------------------


@given(VALUES, VALUES)
def test_equal_encodings_mean_equal_values_of_equal_types(one: Any, other: Any) -> None:
    assert (canonical(one) == canonical(other)) == (told_apart(one) == told_apart(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Sub("f1", "s1", 1, 2), Uns("f1", "s1", 1, 2)),  # type: ignore[arg-type]
        (Timestamp(1, 2), (1, 2)),
        (Timestamp(1, 2), Point(1, 2)),
        (1, "1"),
        (None, "null"),
        (True, 1),
        ((), frozenset()),
        ((("a", "b"),), ("a", ("b",))),
        (("()",), ((),)),
        (Colour.RED, "RED"),
        (INFINITE, INFINITE + 1),
        (Left(1), Right(1)),
        (Left(1), ("Left", 1)),
    ],
)
def test_different_types_never_collide(one: Any, other: Any) -> None:
    assert digest((one,)) != digest((other,))


def test_a_digest_is_the_same_in_every_process_and_for_ever() -> None:
    """Traces hold digests: a change of the encoding makes those that were written before useless."""
    state: Any = (Sub("f1", "s1", 1, INFINITE), frozenset({"b", "a", "c"}), Colour.BLUE, Timestamp(1, 2), (), None, True)  # type: ignore[arg-type]
    assert canonical(state) == '["()",["Sub","f1","s1",1,1000000000],["{}","a","b","c"],["enum Colour","BLUE"],["Timestamp",1,2],["()"],null,true]'
    assert digest(state) == "6eb314ada931638932897cbfdf06c456"
    assert DIGEST.fullmatch(digest(state))


def test_an_order_in_which_a_set_was_filled_does_not_show() -> None:
    names = [f"x{k}" for k in range(40)]
    assert digest((frozenset(names),)) == digest((frozenset(reversed(names)),))


def test_the_states_of_models_have_different_digests() -> None:
    scenario = question(load_scenario("child-above-parent"))
    for model in (TwoPhase(3).model(), scenario.model()):
        states = naive.explore(model).depth
        assert len({digest(state) for state in states}) == len(states)
        json.dumps([to_data(value) for state in states for value in state], allow_nan=False)
