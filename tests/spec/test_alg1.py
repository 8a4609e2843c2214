"""TR19 Algorithm 1, handler by handler: (b1's state, sender, message) → (what changes, what is sent)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roamcheck.spec.algorithms import alg1_mobile_clients as alg1
from roamcheck.spec.messages import Entry, Filters, Mig, Pub, Rep, Sub, Uns
from roamcheck.spec.readings import PRINTED
from roamcheck.spec.rules import Reaction, Rules
from roamcheck.spec.state import Broker, Send

RULES = Rules(PRINTED, {"e1": frozenset({"f1"}), "e2": frozenset({"f1", "f2"})}, timestamps=False)
B: Any = Broker("b1", ("b2", "b3"), ("s1",), ("p1",))


def entries(text: str = "") -> Any:
    """R_i from "f1 b2 s1, …"."""
    return tuple(sorted(Entry(*entry.split()) for entry in text.split(", ") if entry))


def waiting(**queues: str) -> Any:
    """Q_i from s1="e1 e2", …"""
    return tuple(sorted((s, tuple(events.split())) for s, events in queues.items()))


def held(handler: Any, i: Broker, z: str, m: Any, after: dict[str, Any], sends: list[tuple[str, Any]]) -> None:
    assert handler(i, z, m, RULES) == Reaction(replace(i, **after), tuple(Send(*send) for send in sends))


@pytest.mark.parametrize(
    ("table", "z", "m", "after", "to"),
    [
        pytest.param("", "b2", Sub("f1", "s2"), "f1 b2 s2", ["b3"], id="new: stored with its sender and passed on to the others"),
        pytest.param("", "s1", Sub("f1", "s1"), "f1 s1 s1", ["b2", "b3"], id="from a client: stored and sent to every neighbour"),
        pytest.param("f1 b3 s2", "b2", Sub("f1", "s2"), "f1 b3 s2", ["b3"], id="known by another way: the entry stays; passed on all the same"),
        pytest.param("f2 b3 s2", "b2", Sub("f1", "s2"), "f1 b2 s2, f2 b3 s2", ["b3"], id="another filter is no reason not to store"),
        pytest.param("f1 b3 s3", "b2", Sub("f1", "s2"), "f1 b2 s2, f1 b3 s3", ["b3"], id="another's filter is no reason not to store"),
    ],
)
def test_sub_lines_1_to_5(table: str, z: str, m: Sub, after: str, to: list[str]) -> None:
    held(alg1.on_sub, replace(B, routing=entries(table)), z, m, {"routing": entries(after)}, [(b, m) for b in to])


@pytest.mark.parametrize(
    ("table", "z", "m", "after", "to"),
    [
        pytest.param("f1 b2 s2", "b2", Uns("f1", "s2"), "", ["b3"], id="removed and passed on"),
        pytest.param("f1 b3 s2", "b2", Uns("f1", "s2"), "", ["b3"], id="removed whatever its interface"),
        pytest.param("f1 s1 s1", "s1", Uns("f1", "s1"), "", ["b2", "b3"], id="from a client: sent to every neighbour"),
        pytest.param("f2 b2 s2, f1 b2 s3", "b2", Uns("f1", "s2"), "f2 b2 s2, f1 b2 s3", ["b3"], id="unknown: passed on all the same"),
        pytest.param("f1 b2 s2, f2 b2 s2, f1 b2 s3", "b2", Uns("f1", "s2"), "f2 b2 s2, f1 b2 s3", ["b3"], id="only (f, s) goes"),
    ],
)
def test_uns_lines_6_to_10(table: str, z: str, m: Uns, after: str, to: list[str]) -> None:
    held(alg1.on_uns, replace(B, routing=entries(table)), z, m, {"routing": entries(after)}, [(b, m) for b in to])


def test_a_leaf_passes_nothing_back_to_the_one_neighbour_that_it_heard_from() -> None:
    leaf = replace(B, neighbours=("b2",), routing=entries("f1 b2 s2"))
    held(alg1.on_sub, leaf, "b2", Sub("f1", "s2"), {}, [])
    held(alg1.on_uns, leaf, "b2", Uns("f1", "s2"), {"routing": ()}, [])


@pytest.mark.parametrize(
    ("table", "queues", "z", "e", "after", "to"),
    [
        pytest.param("f1 b2 s2, f1 s1 s1", {}, "p1", "e1", {}, ["b2", "s1"], id="to every interface with a matching entry, neighbour or client"),
        pytest.param("f1 b2 s2, f2 b2 s2, f1 b2 s3", {}, "p1", "e2", {}, ["b2"], id="once to an interface, however many entries match"),
        pytest.param("f1 b2 s2, f1 b3 s3", {}, "b2", "e1", {}, ["b3"], id="not back to where it came from"),
        pytest.param("f2 b2 s2, f1 b3 s3", {}, "p1", "e1", {}, ["b3"], id="not where no filter matches"),
        pytest.param("", {}, "p1", "e1", {}, [], id="nowhere without entries"),
        pytest.param("f1 b4 s2", {}, "p1", "e1", {"s2": "e1"}, [], id="queued for an interface that is down"),
        pytest.param("f1 s2 s2", {}, "b2", "e1", {"s2": "e1"}, [], id="queued for a client that is detached"),
        pytest.param("f1 b4 s2, f1 b4 s3, f2 b4 s4", {}, "p1", "e1", {"s2": "e1", "s3": "e1"}, [], id="queued for each that matches behind it"),
        pytest.param("f1 b4 s2, f2 b4 s2", {}, "p1", "e2", {"s2": "e2 e2"}, [], id="queued once for each matching entry"),
        pytest.param("f1 b4 s2, f1 b2 s3", {}, "p1", "e1", {"s2": "e1"}, ["b2"], id="one interface down, another up"),
        pytest.param("f1 b4 s2, f1 b2 s2", {}, "p1", "e1", {"s2": "e1"}, ["b2"], id="two next hops of s: each has its way"),
        pytest.param("f1 b4 s2", {"s2": "e2"}, "p1", "e1", {"s2": "e2 e1"}, [], id="queued behind what waits already"),
    ],
)
def test_pub_lines_11_to_21(table: str, queues: dict[str, str], z: str, e: str, after: dict[str, str], to: list[str]) -> None:
    i = replace(B, routing=entries(table), queues=waiting(**queues))
    held(alg1.on_pub, i, z, Pub(e), {"queues": waiting(**after)}, [(y, Pub(e)) for y in to])


FROM_B2, HOME = Mig("s1", "b9"), Mig("s1", "b1")


@pytest.mark.parametrize(
    ("table", "queued", "z", "m", "after", "sends"),
    [
        pytest.param("f1 b2 s1, f2 b2 s1", "", "s1", FROM_B2, "f1 s1 s1, f2 s1 s1", [("s1", Filters(("f1", "f2"))), ("b2", FROM_B2)],
                     id="from s itself: FILTERS back, MIG on to the old next hop, every entry turned"),
        pytest.param("f1 s1 s1", "", "s1", HOME, "f1 s1 s1", [("s1", Filters(("f1",)))], id="back where it was: FILTERS alone"),
        pytest.param("", "", "s1", FROM_B2, "", [("s1", Filters(()))], id="never heard of: FILTERS is empty and nothing is passed on"),
        pytest.param("f1 b3 s2", "", "s1", FROM_B2, "f1 b3 s2", [("s1", Filters(()))], id="entries of others are neither told nor turned"),
        pytest.param("f1 b3 s1", "", "b2", FROM_B2, "f1 b2 s1", [("b3", FROM_B2)], id="from a neighbour: no FILTERS, passed on and turned"),
        pytest.param("f1 s1 s1", "", "b2", HOME, "f1 b2 s1", [], id="it stops at the broker that s names, which turns"),
        pytest.param("f1 b3 s1", "", "b2", HOME, "f1 b2 s1", [], id="it stops there even if the table leads on"),
        pytest.param("f1 s1 s1", "", "b2", FROM_B2, "f1 b2 s1", [], id="the old next hop is no neighbour: it goes no further"),
        pytest.param("f1 b4 s1", "", "b2", FROM_B2, "f1 b2 s1", [], id="the old next hop is a neighbour no more: it goes no further"),
        pytest.param("f1 b2 s1", "", "b2", FROM_B2, "f1 b2 s1", [("b2", FROM_B2)], id="the old next hop is the sender: back to it, as printed"),
        pytest.param("f1 s1 s1", "e2 e1", "b2", HOME, "f1 b2 s1", [("b2", Rep("e2", "s1")), ("b2", Rep("e1", "s1"))], id="what was queued follows"),
        pytest.param("f1 b3 s1", "e1", "s1", FROM_B2, "f1 s1 s1", [("s1", Filters(("f1",))), ("b3", FROM_B2), ("s1", Rep("e1", "s1"))],
                     id="FILTERS, then MIG, then what was queued"),
    ],
)  # fmt: skip
def test_mig_lines_22_to_34(table: str, queued: str, z: str, m: Mig, after: str, sends: list[tuple[str, Any]]) -> None:
    i = replace(B, routing=entries(table), queues=waiting(s1=queued, s2="e1") if queued else waiting(s2="e1"))
    held(alg1.on_mig, i, z, m, {"routing": entries(after), "queues": waiting(s2="e1")}, sends)
