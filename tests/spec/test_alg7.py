"""TR19 Algorithm 7: b1 hears BSUB and BQUERY from b2, and tells what it knows.  T_1(s2) = (3, 2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roamcheck.spec.algorithms import alg7_consistency as alg7
from roamcheck.spec.messages import INFINITE, UNKNOWN, Bquery, Bsub, Entry, Rep, Timestamp
from roamcheck.spec.readings import PRINTED
from roamcheck.spec.rules import Reaction, Rules
from roamcheck.spec.state import Broker, Send

RULES = Rules(PRINTED)
B = Broker("b1", ("b2", "b3", "b4"), ("s1",), (), timestamps=(("s2", Timestamp(3, 2)),))


def entries(text: str = "") -> tuple[Entry, ...]:
    """R_i from "f1 b2 s1, …"."""
    return tuple(sorted(Entry(*entry.split()) for entry in text.split(", ") if entry))


NEWER = [(4, 1, "newer"), (4, 9, "newer, and farther"), (3, 1, "as new, and closer to its first sender")]
NOT_NEWER = [(3, 2, "the same"), (3, 9, "as new, and farther"), (2, 1, "older, and closer"), (0, INFINITE, "knowing nothing")]


@pytest.mark.parametrize(("t", "h_j"), [pytest.param(t, h, id=name) for t, h, name in NEWER])
@pytest.mark.parametrize("h", [0, 2])
@pytest.mark.parametrize(
    ("before", "filters", "after"),
    [
        pytest.param("", "f1 f2", "f1 b2 s2, f2 b2 s2", id="stored by way of the sender"),
        pytest.param("f1 b3 s2, f3 b3 s2", "f1 f2", "f1 b2 s2, f2 b2 s2", id="in place of all that was known"),
        pytest.param("f1 b3 s2, f1 b3 s3", "", "f1 b3 s3", id="no filters: all of its entries go, and those of others stay"),
        pytest.param("f1 s2 s2", "f1", "f1 b2 s2", id="even in place of an entry that points to s itself"),
    ],
)
def test_bsub_that_is_newer_replaces_and_is_passed_on_lines_48_to_55(before: str, filters: str, after: str, h: int, t: int, h_j: int) -> None:
    i, S_j, T_j = replace(B, routing=entries(before)), tuple(filters.split()), Timestamp(t, h_j)
    expected = replace(i, routing=entries(after), timestamps=(("s2", Timestamp(t, h_j + h + 1)),))
    onward = Bsub("s2", S_j, T_j, h + 1)
    assert alg7.on_bsub(i, "b2", Bsub("s2", S_j, T_j, h), RULES) == Reaction(expected, (Send("b3", onward), Send("b4", onward)))


@pytest.mark.parametrize(("t", "h_j"), [pytest.param(t, h, id=name) for t, h, name in NOT_NEWER])
def test_bsub_that_is_not_newer_changes_nothing_and_is_dropped_in_silence_line_48(t: int, h_j: int) -> None:
    i = replace(B, routing=entries("f1 b3 s2"), queues=(("s2", ("e1",)),))
    assert alg7.on_bsub(i, "b2", Bsub("s2", ("f2",), Timestamp(t, h_j), 0), RULES) == Reaction(i)


def test_the_first_that_is_heard_of_a_subscriber_is_newer_than_nothing() -> None:
    after, sends = alg7.on_bsub(B, "b2", Bsub("s5", ("f1",), Timestamp(1, 4), 3), RULES)
    assert (after.stamp("s5"), after.routing, len(sends)) == ((1, 8), entries("f1 b2 s5"), 2)


def test_bsub_line_56_replays_to_the_sender_what_waits_for_s_after_all_else() -> None:
    i = replace(B, neighbours=("b2", "b3"), queues=(("s2", ("e2", "e1")), ("s3", ("e3",))))
    after, sends = alg7.on_bsub(i, "b2", Bsub("s2", ("f1",), Timestamp(4, 1), 0), RULES)
    assert sends == (Send("b3", Bsub("s2", ("f1",), Timestamp(4, 1), 1)), Send("b2", Rep("e2", "s2")), Send("b2", Rep("e1", "s2")))
    assert after.queues == (("s3", ("e3",)),)


@pytest.mark.parametrize(("t", "h"), [(2, 1), (3, 3), (0, INFINITE)], ids=["older", "as new, and farther", "nothing"])
@pytest.mark.parametrize("table", ["f1 b3 s2, f2 b3 s2, f3 b3 s3", "f1 b2 s2", ""])
def test_bquery_that_knows_less_is_answered_with_all_filters_of_s_lines_57_and_58(table: str, t: int, h: int) -> None:
    i = replace(B, routing=entries(table))
    answer = Bsub("s2", tuple(f for f, _, s in entries(table) if s == "s2"), Timestamp(3, 2), 0)
    assert alg7.on_bquery(i, "b2", Bquery("s2", t, h), RULES) == Reaction(i, (Send("b2", answer),))


@pytest.mark.parametrize(("t", "h"), [(3, 2), (3, 1), (4, 9)])
def test_bquery_that_knows_as_much_or_more_is_not_answered_line_57(t: int, h: int) -> None:
    i = replace(B, routing=entries("f1 b3 s2"))
    assert alg7.on_bquery(i, "b2", Bquery("s2", t, h), RULES) == Reaction(i)


def test_bquery_for_one_never_heard_of_is_not_answered() -> None:
    assert alg7.on_bquery(B, "b2", Bquery("s5", 0, INFINITE), RULES) == Reaction(B)


@pytest.mark.parametrize(
    ("s", "said"),
    [
        ("s2", Bsub("s2", ("f1", "f2"), Timestamp(3, 2), 0)),
        ("s3", Bsub("s3", ("f1",), UNKNOWN, 0)),
        ("s5", Bsub("s5", (), UNKNOWN, 0)),
    ],
)
def test_send_subscriptions_lines_59_to_63_tells_the_filters_of_s_with_its_timestamp_and_hop_count_0(s: str, said: Any) -> None:
    i = replace(B, routing=entries("f2 b3 s2, f1 b3 s2, f1 b3 s3"))
    assert alg7.send_subscriptions(i, s, "b2", RULES) == [Send("b2", said)]
