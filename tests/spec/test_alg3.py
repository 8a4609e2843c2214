"""TR19 Algorithm 3, handler by handler: (b1's state, sender, message) → (what changes, what is sent)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roamcheck.spec.algorithms import alg3_mobile_brokers as alg3
from roamcheck.spec.messages import BmigModular, Btab, Entry, Fmig, Rep, Sub, Uns
from roamcheck.spec.readings import PRINTED
from roamcheck.spec.rules import Reaction, Rules
from roamcheck.spec.state import Broker, Send

RULES = Rules(PRINTED, timestamps=False)
B = Broker("b1", ("b2", "b3", "b4"), ("s1",), ())


def entries(text: str = "") -> tuple[Entry, ...]:
    """R_i from "f1 b2 s1, …"."""
    return tuple(sorted(Entry(*entry.split()) for entry in text.split(", ") if entry))


def waiting(**queues: str) -> Any:
    """Q_i from s1="e1 e2", …"""
    return tuple(sorted((s, tuple(events.split())) for s, events in queues.items()))


def btab(text: str = "") -> Btab:
    return Btab(entries(text))


OF_B2, OF_B9 = BmigModular(("s2",), "b2"), BmigModular(("s2",), "b9")
BOTH = BmigModular(("s2", "s3"), "b9")


@pytest.mark.parametrize(
    ("table", "m", "after", "sends"),
    [
        pytest.param("f1 b3 s2, f2 b3 s2", OF_B2, "f1 b2 s2, f2 b2 s2", [("b3", OF_B2), ("b2", btab("f1 b2 s2, f2 b2 s2"))],
                     id="from the migrant itself: turned, on to the old next hop, and BTAB with the table as it is now"),
        pytest.param("f1 b3 s2", OF_B9, "f1 b2 s2", [("b3", OF_B9)], id="on its way: turned and passed on, no BTAB"),
        pytest.param("f1 b2 s2", OF_B9, "f1 b2 s2", [], id="not back to the sender"),
        pytest.param("f1 b7 s2", OF_B9, "f1 b2 s2", [], id="not to an old next hop that is a neighbour no more, and turned"),
        pytest.param("f1 s2 s2", OF_B9, "f1 b2 s2", [], id="not to an old next hop that is a client, and turned"),
        pytest.param("f1 b3 s2, f1 b3 s3", BOTH, "f1 b2 s2, f1 b2 s3", [("b3", BOTH)], id="once to a neighbour, with all of C_j"),
        pytest.param("f1 b4 s2, f1 b3 s3", BOTH, "f1 b2 s2, f1 b2 s3", [("b3", BOTH), ("b4", BOTH)], id="to each old next hop, with all of C_j"),
        pytest.param("f1 b3 s2, f2 b4 s2", OF_B9, "f1 b2 s2, f2 b2 s2", [("b3", OF_B9), ("b4", OF_B9)], id="to both next hops of one subscriber"),
        pytest.param("f1 b3 s4", OF_B9, "f1 b3 s4", [], id="who is not in C_j stays"),
        pytest.param("f1 b3 s4", BmigModular((), "b2"), "f1 b3 s4", [("b2", btab("f1 b3 s4"))], id="an empty C_j is answered by BTAB"),
        pytest.param("f1 s1 s1", BmigModular(("s1",), "b9"), "f1 b2 s1", [], id="even a client attached here is turned, as printed"),
    ],
)  # fmt: skip
def test_bmig_lines_1_to_10_from_b2(table: str, m: BmigModular, after: str, sends: list[Any]) -> None:
    i = replace(B, routing=entries(table))
    assert alg3.on_bmig(i, "b2", m, RULES) == Reaction(replace(i, routing=entries(after)), tuple(Send(*send) for send in sends))


def test_bmig_lines_11_and_12_replay_what_waits_for_c_j_after_all_else_and_leave_the_rest() -> None:
    i = replace(B, routing=entries("f1 b3 s2"), queues=waiting(s2="e2 e1", s3="e3", s4="e4"))
    m = BmigModular(("s2", "s3"), "b2")
    sends = [("b3", m), ("b2", btab("f1 b2 s2")), ("b2", Rep("e2", "s2")), ("b2", Rep("e1", "s2")), ("b2", Rep("e3", "s3"))]
    after = replace(i, routing=entries("f1 b2 s2"), queues=waiting(s4="e4"))
    assert alg3.on_bmig(i, "b2", m, RULES) == Reaction(after, tuple(Send(*send) for send in sends))


FORCED = [("b3", Fmig()), ("b4", Fmig())]


@pytest.mark.parametrize(
    ("table", "received", "after", "said"),
    [
        pytest.param("", "", "", [], id="nothing known on either side: FMIG to all neighbours but the sender"),
        pytest.param("f1 b3 s2, f1 b2 s3", "", "", [], id="entries of those who are not attached go"),
        pytest.param("f1 s9 s9", "", "", [], id="so do those of a client that is detached"),
        pytest.param("f1 b3 s2", "f2 b7 s2, f1 s3 s3", "f1 b2 s3, f2 b2 s2", [], id="what the sender knows comes in their place, by way of it"),
        pytest.param("f1 s1 s1", "f1 b1 s1", "f1 s1 s1", [], id="(f, s) known on both sides needs no word, whatever its interface"),
        pytest.param("f1 s1 s1, f2 s1 s1", "f2 b7 s1", "f1 s1 s1, f2 s1 s1", [Sub("f1", "s1")], id="SUB for what is known here alone"),
        pytest.param("f1 s1 s1", "f1 b7 s1, f2 b7 s1", "f1 s1 s1", [Uns("f2", "s1")], id="UNS for what is known there alone"),
        pytest.param("", "f1 b7 s1", "", [Uns("f1", "s1")], id="UNS for its last filter"),
        pytest.param("f1 s1 s1", "f2 b7 s1, f2 b1 s2", "f1 s1 s1, f2 b2 s2", [Sub("f1", "s1"), Uns("f2", "s1")], id="SUB, then UNS, then FMIG"),
    ],
)
def test_btab_lines_13_to_23_from_b2(table: str, received: str, after: str, said: list[Any]) -> None:
    i = replace(B, routing=entries(table))
    sends = [*(("b2", m) for m in said), *FORCED]
    assert alg3.on_btab(i, "b2", btab(received), RULES) == Reaction(replace(i, routing=entries(after)), tuple(Send(*send) for send in sends))


def test_btab_lines_24_and_25_replay_to_the_sender_what_waits_for_those_it_knows_who_are_not_attached() -> None:
    i = replace(B, routing=entries("f1 s1 s1"), queues=waiting(s1="e1", s2="e2 e3", s4="e4"))
    received = btab("f1 b7 s1, f1 b7 s2, f2 b7 s2")
    sends = [*FORCED, ("b2", Rep("e2", "s2")), ("b2", Rep("e3", "s2"))]
    after = replace(i, routing=entries("f1 s1 s1, f1 b2 s2, f2 b2 s2"), queues=waiting(s1="e1", s4="e4"))
    assert alg3.on_btab(i, "b2", received, RULES) == Reaction(after, tuple(Send(*send) for send in sends))


@pytest.mark.parametrize("attached", [(), ("s1",), ("s1", "s5")])
def test_fmig_lines_26_and_27_is_answered_by_bmig_with_those_attached_now(attached: Any) -> None:
    i = replace(B, subscribers=attached, routing=entries("f1 s1 s1, f1 s7 s7, f1 b3 s2"))
    assert alg3.on_fmig(i, "b2", Fmig(), RULES) == Reaction(i, (Send("b2", BmigModular(attached, "b1")),))


@pytest.mark.parametrize("b_o", ["b3", "b7", None])
def test_a_migrating_broker_sends_bmig_with_those_attached_now_and_changes_nothing(b_o: Any) -> None:
    i = replace(B, routing=entries("f1 s1 s1, f1 s7 s7, f1 b3 s2"), queues=waiting(s2="e1"))
    assert alg3.migrate(i, b_o, "b2", RULES) == Reaction(i, (Send("b2", BmigModular(("s1",), "b1")),))
