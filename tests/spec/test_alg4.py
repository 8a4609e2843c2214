"""TR19 Algorithm 4, handler by handler: (b1's state, sender, message) → (what changes, what is sent).  T_1(s2) = (3, 2) unless said otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roamcheck.spec.algorithms import alg4_timestamped_clients as alg4
from roamcheck.spec.messages import Entry, Filters, Mig, Rep, Sub, Timestamp, Uns
from roamcheck.spec.readings import PRINTED
from roamcheck.spec.rules import Reaction, Rules
from roamcheck.spec.state import Broker, Send

RULES = Rules(PRINTED)
B = Broker("b1", ("b2", "b3"), ("s1",), (), timestamps=(("s2", Timestamp(3, 2)),))


def entries(text: str = "") -> tuple[Entry, ...]:
    """R_i from "f1 b2 s1, …"."""
    return tuple(sorted(Entry(*entry.split()) for entry in text.split(", ") if entry))


def stamps(**known: tuple[int, int]) -> Any:
    """T_i from s1=(t, h), …"""
    return tuple(sorted((s, Timestamp(*stamp)) for s, stamp in known.items()))


NEWS = [(4, 0, "newer"), (4, 9, "newer, from far away"), (3, 1, "as new and closer"), (9, 0, "with numbers left out")]
STALE = [(3, 2, "as new and as far"), (3, 3, "as new and farther"), (2, 0, "older"), (2, 9, "older and farther"), (0, 0, "unnumbered")]


@pytest.mark.parametrize(("t", "h"), [pytest.param(t, h, id=name) for t, h, name in NEWS])
@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        pytest.param(Sub, "f2 b3 s2, f1 b3 s3", "f1 b2 s2, f2 b3 s2, f1 b3 s3", id="SUB: stored with its sender"),
        pytest.param(Sub, "f1 b3 s2", "f1 b3 s2", id="SUB: an entry that is there stays as it is"),
        pytest.param(Uns, "f1 b3 s2, f2 b3 s2, f1 b3 s3", "f2 b3 s2, f1 b3 s3", id="UNS: removed whatever its interface"),
        pytest.param(Uns, "f2 b3 s2", "f2 b3 s2", id="UNS: nothing to remove"),
    ],
)
def test_sub_and_uns_that_are_news_are_timed_and_passed_on_with_a_hop_more_lines_1_to_12(kind: Any, before: str, after: str, t: int, h: int) -> None:
    i, handler = replace(B, routing=entries(before)), alg4.on_sub if kind is Sub else alg4.on_uns
    expected = replace(i, routing=entries(after), timestamps=stamps(s2=(t, h + 1)))
    assert handler(i, "b2", kind("f1", "s2", t, h), RULES) == Reaction(expected, (Send("b3", kind("f1", "s2", t, h + 1)),))


@pytest.mark.parametrize(("t", "h"), [pytest.param(t, h, id=name) for t, h, name in STALE])
@pytest.mark.parametrize("kind", [Sub, Uns])
@pytest.mark.parametrize("table", ["", "f1 b3 s2"])
def test_sub_and_uns_that_are_no_news_change_nothing_and_go_no_further_lines_1_and_7(kind: Any, table: str, t: int, h: int) -> None:
    i, handler = replace(B, routing=entries(table)), alg4.on_sub if kind is Sub else alg4.on_uns
    assert handler(i, "b2", kind("f1", "s2", t, h), RULES) == Reaction(i)


@pytest.mark.parametrize("kind", [Sub, Uns])
def test_a_clients_own_message_is_at_hop_1_and_goes_to_every_neighbour(kind: Any) -> None:
    table = entries("f1 s1 s1")
    i, handler = replace(B, routing=() if kind is Sub else table), alg4.on_sub if kind is Sub else alg4.on_uns
    expected = replace(i, routing=table if kind is Sub else (), timestamps=stamps(s1=(1, 1), s2=(3, 2)))
    passed = kind("f1", "s1", 1, 1)
    assert handler(i, "s1", kind("f1", "s1", 1, 0), RULES) == Reaction(expected, (Send("b2", passed), Send("b3", passed)))


def test_the_first_message_of_a_subscriber_is_news_however_far_it_has_come() -> None:
    i = replace(B, timestamps=())
    expected = replace(i, routing=entries("f1 b2 s2"), timestamps=stamps(s2=(1, 8)))
    assert alg4.on_sub(i, "b2", Sub("f1", "s2", 1, 7), RULES) == Reaction(expected, (Send("b3", Sub("f1", "s2", 1, 8)),))


M, AT_HOME = Mig("s2", "b9", 4, 1), Mig("s2", "b1", 4, 1)
ON = Mig("s2", "b9", 4, 2)


@pytest.mark.parametrize(
    ("table", "m", "after", "sends"),
    [
        pytest.param("f1 b3 s2, f2 b3 s2", M, "f1 b2 s2, f2 b2 s2", [("b3", ON)], id="passed on with a hop more, and every entry turned"),
        pytest.param("f1 b3 s2, f1 b3 s3", M, "f1 b2 s2, f1 b3 s3", [("b3", ON)], id="the entries of others stay"),
        pytest.param("", M, "", [], id="no entry: it goes no further"),
        pytest.param("f1 s2 s2", AT_HOME, "f1 b2 s2", [], id="it stops at the broker that s names, which turns"),
        pytest.param("f1 b3 s2", AT_HOME, "f1 b2 s2", [], id="it stops there even if the table leads on"),
        pytest.param("f1 s2 s2", M, "f1 b2 s2", [], id="the old next hop is a client: it goes no further"),
        pytest.param("f1 b7 s2", M, "f1 b2 s2", [], id="the old next hop is a neighbour no more: it goes no further"),
        pytest.param("f1 b2 s2", M, "f1 b2 s2", [("b2", ON)], id="the old next hop is the sender: back to it, as printed"),
    ],
)
def test_mig_from_a_neighbour_lines_13_to_25(table: str, m: Mig, after: str, sends: list[Any]) -> None:
    i = replace(B, routing=entries(table))
    expected = replace(i, routing=entries(after), timestamps=stamps(s2=(4, 2)))
    assert alg4.on_mig(i, "b2", m, RULES) == Reaction(expected, tuple(Send(*send) for send in sends))


@pytest.mark.parametrize(
    ("table", "previous", "after", "sends"),
    [
        pytest.param("f1 b2 s1, f2 b2 s1", "b9", "f1 s1 s1, f2 s1 s1", [("s1", Filters(("f1", "f2"))), ("b2", Mig("s1", "b9", 4, 1))],
                     id="FILTERS back, MIG on to the old next hop"),
        pytest.param("f1 s1 s1", "b1", "f1 s1 s1", [("s1", Filters(("f1",)))], id="back where it was: FILTERS alone"),
        pytest.param("f1 b3 s3", "b9", "f1 b3 s3", [("s1", Filters(()))], id="never heard of: FILTERS is empty"),
    ],
)  # fmt: skip
def test_mig_from_the_subscriber_itself_lines_15_to_19(table: str, previous: str, after: str, sends: list[Any]) -> None:
    i = replace(B, routing=entries(table))
    expected = replace(i, routing=entries(after), timestamps=stamps(s1=(4, 1), s2=(3, 2)))
    assert alg4.on_mig(i, "s1", Mig("s1", previous, 4, 0), RULES) == Reaction(expected, tuple(Send(*send) for send in sends))


def test_mig_line_26_replays_what_waits_for_s_after_all_else_and_leaves_the_rest() -> None:
    i = replace(B, routing=entries("f1 b3 s2"), queues=(("s2", ("e2", "e1")), ("s3", ("e3",))))
    sends = (Send("b3", ON), Send("b2", Rep("e2", "s2")), Send("b2", Rep("e1", "s2")))
    expected = replace(i, routing=entries("f1 b2 s2"), timestamps=stamps(s2=(4, 2)), queues=(("s3", ("e3",)),))
    assert alg4.on_mig(i, "b2", M, RULES) == Reaction(expected, sends)


@pytest.mark.parametrize(("t", "h"), [pytest.param(t, h, id=name) for t, h, name in NEWS])
def test_a_mig_that_is_news_is_timed_and_turns_line_13(t: int, h: int) -> None:
    i = replace(B, routing=entries("f1 b3 s2"))
    expected = replace(i, routing=entries("f1 b2 s2"), timestamps=stamps(s2=(t, h + 1)))
    assert alg4.on_mig(i, "b2", Mig("s2", "b9", t, h), RULES) == Reaction(expected, (Send("b3", Mig("s2", "b9", t, h + 1)),))


@pytest.mark.parametrize(("t", "h"), [pytest.param(t, h, id=name) for t, h, name in STALE])
def test_a_mig_that_is_no_news_changes_nothing_and_is_dropped_in_silence_line_13(t: int, h: int) -> None:
    i = replace(B, routing=entries("f1 b3 s2"), queues=(("s2", ("e1",)),))
    assert alg4.on_mig(i, "b2", Mig("s2", "b9", t, h), RULES) == Reaction(i)
