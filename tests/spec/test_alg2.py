"""TR19 Algorithm 2, lines 35–48, and WN23's own lines 42–43: replaying what was queued, and passing a replayed event on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roamcheck.spec.algorithms import alg2_replay as alg2
from roamcheck.spec.messages import Entry, Rep
from roamcheck.spec.readings import PRINTED
from roamcheck.spec.rules import EndlessStep, Reaction, Rules
from roamcheck.spec.state import Broker, Send

RULES = Rules(PRINTED)
SPIN = Rules(PRINTED.with_values({"flush": "spin"}))
B: Any = Broker("b1", ("b2", "b3"), ("s1",), ())


def entries(text: str = "") -> Any:
    """R_i from "f1 b2 s1, …"."""
    return tuple(sorted(Entry(*entry.split()) for entry in text.split(", ") if entry))


def waiting(**queues: str) -> Any:
    """Q_i from s1="e1 e2", …"""
    return tuple(sorted((s, tuple(events.split())) for s, events in queues.items()))


@pytest.mark.parametrize("rules", [RULES, SPIN], ids=["return", "spin"])
@pytest.mark.parametrize(
    ("queues", "y", "after", "events"),
    [
        pytest.param({"s1": "e1 e2 e1 e3"}, "s1", {}, "e1 e2 e1 e3", id="everything goes to the client, oldest first, and the queue is empty"),
        pytest.param({"s1": "e2"}, "b2", {}, "e2", id="everything goes to a neighbour"),
        pytest.param({"s1": "e1", "s2": "e2"}, "b2", {"s2": "e2"}, "e1", id="the queue of another subscriber stays"),
        pytest.param({"s2": "e2"}, "b2", {"s2": "e2"}, "", id="nothing is queued: nothing happens"),
        pytest.param({"s2": "e2"}, "b4", {"s2": "e2"}, "", id="nothing is queued: no matter that the interface is down"),
    ],
)
def test_send_queued_messages_lines_35_to_42(queues: dict[str, str], y: str, after: dict[str, str], events: str, rules: Rules) -> None:
    i = replace(B, queues=waiting(**queues))
    sends = tuple(Send(y, Rep(e, "s1")) for e in events.split())
    assert alg2.send_queued_messages(i, "s1", y, rules) == Reaction(replace(i, queues=waiting(**after)), sends)


@pytest.mark.parametrize("y", ["b4", "s2"])
def test_towards_an_interface_that_is_down_nothing_is_sent_and_the_event_is_kept_lines_38_to_40(y: Any) -> None:
    i = replace(B, queues=waiting(s1="e1", s2="e2"))
    assert alg2.send_queued_messages(i, "s1", y, RULES) == Reaction(i)


def test_a_queue_that_could_not_be_sent_is_still_in_order_of_arrival() -> None:
    """Line 39 as printed puts the head behind the others; semantics section 1 keeps Q_i(s) in arrival order.  No run gets here: y is the sender."""
    i = replace(B, queues=waiting(s1="e1 e2 e3"))
    assert alg2.send_queued_messages(i, "s1", "b4", RULES) == Reaction(i)


def test_the_journals_loop_never_ends_towards_an_interface_that_is_down_wn23_lines_40_to_47() -> None:
    with pytest.raises(EndlessStep, match=r"sendQueuedMessages\(s1, b4\)"):
        alg2.send_queued_messages(replace(B, queues=waiting(s1="e1")), "s1", "b4", SPIN)


@pytest.mark.parametrize(
    ("table", "z", "queue", "to"),
    [
        pytest.param("f1 b3 s1", "b2", "e9", "b3", id="passed on to the next hop, past what is queued"),
        pytest.param("f1 s1 s1, f2 s1 s1", "b2", "e9", "s1", id="passed on to the client, once"),
        pytest.param("f1 b2 s1", "b2", "e9", "b2", id="back to the sender, as printed"),
        pytest.param("f1 b4 s1", "b2", "e9 e1", None, id="queued behind the others: the next hop is down"),
        pytest.param("f1 b3 s2", "b2", "e9 e1", None, id="queued: there is no entry of s"),
    ],
)
def test_rep_lines_43_to_48(table: str, z: Any, queue: str, to: Any) -> None:
    i, m = replace(B, routing=entries(table), queues=waiting(s1="e9")), Rep("e1", "s1")
    sends = () if to is None else (Send(to, m),)
    assert alg2.on_rep(i, z, m, RULES) == Reaction(replace(i, queues=waiting(s1=queue)), sends)


def test_a_rep_for_a_client_that_is_detached_is_queued() -> None:
    i, m = replace(B, subscribers=(), routing=entries("f1 s1 s1")), Rep("e1", "s1")
    assert alg2.on_rep(i, "b2", m, RULES) == Reaction(replace(i, queues=waiting(s1="e1")))
