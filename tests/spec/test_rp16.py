"""RP16 Algorithms 1–3, handler by handler: (b1's state, sender, message) → (what changes, what is sent).  Nothing is ever queued."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roamcheck.spec.algorithms import rp16_alg1_static as alg1
from roamcheck.spec.algorithms import rp16_alg2_dynamic_clients as alg2
from roamcheck.spec.algorithms import rp16_alg3_dynamic_brokers as alg3
from roamcheck.spec.messages import NOBODY, BmigModular, Btab, Entry, Filters, Fmig, Mig, Pub, Sub, Uns
from roamcheck.spec.readings import PRINTED
from roamcheck.spec.rules import Reaction, Rules
from roamcheck.spec.state import Broker, Send

MATCHING = {"e1": frozenset({"f1"}), "e2": frozenset({"f1", "f2"})}
STATIC = Rules(PRINTED, MATCHING, timestamps=False, queues=False, names_subscribers=False)
RULES = Rules(PRINTED, MATCHING, timestamps=False, queues=False)
B = Broker("b1", ("b2", "b3", "b4"), ("s1",), ("p1",))


def entries(text: str = "") -> tuple[Entry, ...]:
    """R_i from "f1 b2 s1, …"."""
    return tuple(sorted(Entry(*entry.split()) for entry in text.split(", ") if entry))


def pairs(text: str = "") -> tuple[Entry, ...]:
    """R_i of Algorithm 1 from "f1 b2, …"."""
    return tuple(sorted(Entry(*pair.split(), NOBODY) for pair in text.split(", ") if pair))


def held(reaction: Reaction, i: Broker, after: tuple[Entry, ...], sends: list[Any]) -> None:
    assert reaction == Reaction(replace(i, routing=after), tuple(Send(*send) for send in sends))


# ---- Algorithm 1 -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "z", "after", "to"),
    [
        pytest.param("", "b2", "f1 b2", ["b3", "b4"], id="stored with its sender and passed on to the others"),
        pytest.param("", "s1", "f1 s1", ["b2", "b3", "b4"], id="from a client: to every neighbour"),
        pytest.param("f1 b2", "b2", "f1 b2", ["b3", "b4"], id="known already: passed on all the same"),
        pytest.param("f1 b3", "b2", "f1 b2, f1 b3", ["b3", "b4"], id="known by another way: both are kept"),
    ],
)
def test_alg1_sub_lines_1_to_4(table: str, z: Any, after: str, to: list[str]) -> None:
    i, m = replace(B, routing=pairs(table)), Sub("f1", NOBODY)
    held(alg1.on_sub(i, z, m, STATIC), i, pairs(after), [(b, m) for b in to])


@pytest.mark.parametrize(
    ("table", "z", "after", "to"),
    [
        pytest.param("f1 b2, f2 b2", "b2", "f2 b2", ["b3", "b4"], id="removed and passed on"),
        pytest.param("f1 b3", "b2", "f1 b3", ["b3", "b4"], id="known by another way: that stays, and it is passed on all the same"),
        pytest.param("f1 b2, f1 b3", "b2", "f1 b3", ["b3", "b4"], id="known by both: only the sender's goes"),
        pytest.param("f1 s1", "s1", "", ["b2", "b3", "b4"], id="from a client: to every neighbour"),
    ],
)
def test_alg1_uns_lines_5_to_8(table: str, z: Any, after: str, to: list[str]) -> None:
    i, m = replace(B, routing=pairs(table)), Uns("f1", NOBODY)
    held(alg1.on_uns(i, z, m, STATIC), i, pairs(after), [(b, m) for b in to])


PUBLISHED = [
    ("f1 b2, f1 s1", "p1", "e1", ["b2", "s1"], "to every interface with a matching entry"),
    ("f1 b2, f2 b2", "p1", "e2", ["b2"], "once to an interface"),
    ("f1 b2, f1 b3", "b2", "e1", ["b3"], "not back to where it came from"),
    ("f2 b2", "p1", "e1", [], "not where no filter matches"),
    ("f1 b7, f1 s7", "p1", "e1", ["b7", "s7"], "sent without a look at whether the interface is up, and so lost if it is not"),
]


@pytest.mark.parametrize(("table", "z", "e", "to"), [pytest.param(*case, id=name) for *case, name in PUBLISHED])
def test_alg1_pub_lines_9_to_15(table: str, z: Any, e: Any, to: list[str]) -> None:
    i = replace(B, routing=pairs(table))
    held(alg1.on_pub(i, z, Pub(e), STATIC), i, i.routing, [(y, Pub(e)) for y in to])


# ---- Algorithm 2 -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "table", "z", "after", "to"),
    [
        pytest.param(Sub, "", "b2", "f1 b2 s2", ["b3", "b4"], id="SUB: stored with its sender and passed on"),
        pytest.param(Sub, "f1 b3 s2", "b2", "f1 b3 s2", ["b3", "b4"], id="SUB: known by another way: the entry stays; passed on all the same"),
        pytest.param(Sub, "f1 b3 s3, f2 b3 s2", "b2", "f1 b2 s2, f1 b3 s3, f2 b3 s2", ["b3", "b4"], id="SUB: only the same (f, s) counts as known"),
        pytest.param(Sub, "", "s2", "f1 s2 s2", ["b2", "b3", "b4"], id="SUB: from a client: to every neighbour"),
        pytest.param(Uns, "f1 b3 s2, f2 b3 s2, f1 b3 s3", "b2", "f2 b3 s2, f1 b3 s3", ["b3", "b4"], id="UNS: removed whatever its interface"),
        pytest.param(Uns, "f1 b3 s3", "b2", "f1 b3 s3", ["b3", "b4"], id="UNS: unknown: passed on all the same"),
    ],
)
def test_alg2_sub_and_uns_lines_1_to_10(kind: Any, table: str, z: Any, after: str, to: list[str]) -> None:
    i, m, handler = replace(B, routing=entries(table)), kind("f1", "s2"), alg2.on_sub if kind is Sub else alg2.on_uns
    held(handler(i, z, m, RULES), i, entries(after), [(b, m) for b in to])


@pytest.mark.parametrize(("table", "z", "e", "to"), [pytest.param(*case, id=name) for *case, name in PUBLISHED])
def test_alg2_pub_lines_11_to_17(table: str, z: Any, e: Any, to: list[str]) -> None:
    i = replace(B, routing=entries(table.replace(",", " s2,") + " s2"))
    held(alg2.on_pub(i, z, Pub(e), RULES), i, i.routing, [(y, Pub(e)) for y in to])


M, AT_HOME = Mig("s1", "b9"), Mig("s1", "b1")


@pytest.mark.parametrize(
    ("table", "z", "m", "after", "sends"),
    [
        pytest.param("f1 b2 s1, f2 b2 s1", "s1", M, "f1 s1 s1, f2 s1 s1", [("s1", Filters(("f1", "f2"))), ("b2", M)],
                     id="from s itself: FILTERS back, MIG on to the old next hop, every entry turned"),
        pytest.param("f1 s1 s1", "s1", AT_HOME, "f1 s1 s1", [("s1", Filters(("f1",)))], id="back where it was: FILTERS alone"),
        pytest.param("f1 b3 s3", "s1", M, "f1 b3 s3", [("s1", Filters(()))], id="never heard of: FILTERS is empty, and the entries of others stay"),
        pytest.param("f1 b3 s1", "b2", M, "f1 b2 s1", [("b3", M)], id="from a neighbour: no FILTERS, passed on and turned"),
        pytest.param("f1 b3 s1", "b2", AT_HOME, "f1 b2 s1", [], id="it stops at the broker that s names, which turns"),
        pytest.param("f1 s1 s1", "b2", M, "f1 b2 s1", [], id="the old next hop is no neighbour: it goes no further"),
        pytest.param("f1 b2 s1", "b2", M, "f1 b2 s1", [("b2", M)], id="the old next hop is the sender: back to it, as printed"),
    ],
)  # fmt: skip
def test_alg2_mig_lines_18_to_29(table: str, z: Any, m: Mig, after: str, sends: list[Any]) -> None:
    i = replace(B, routing=entries(table))
    held(alg2.on_mig(i, z, m, RULES), i, entries(after), sends)


# ---- Algorithm 3 -------------------------------------------------------------------------------------


OF_B2, OF_B9, BOTH = BmigModular(("s2",), "b2"), BmigModular(("s2",), "b9"), BmigModular(("s2", "s3"), "b9")


@pytest.mark.parametrize(
    ("table", "m", "after", "sends"),
    [
        pytest.param("f1 b3 s2", OF_B2, "f1 b2 s2", [("b3", OF_B2), ("b2", Btab(entries("f1 b2 s2")))], id="from the migrant itself: BTAB too"),
        pytest.param("f1 b3 s2, f2 b3 s2", OF_B9, "f1 b2 s2, f2 b2 s2", [("b3", OF_B9)], id="on its way: turned and passed on, no BTAB"),
        pytest.param("f1 b2 s2", OF_B9, "f1 b2 s2", [], id="not back to the sender"),
        pytest.param("f1 b7 s2, f1 s3 s3", BOTH, "f1 b2 s2, f1 b2 s3", [], id="neither to a broker that is gone nor to a client"),
        pytest.param("f1 b4 s2, f1 b3 s3", BOTH, "f1 b2 s2, f1 b2 s3", [("b3", BOTH), ("b4", BOTH)], id="to each old next hop, with all of C_j"),
        pytest.param("f1 b3 s4", BmigModular((), "b2"), "f1 b3 s4", [("b2", Btab(entries("f1 b3 s4")))], id="an empty C_j: BTAB, and nobody turned"),
    ],
)
def test_alg3_bmig_lines_30_to_39_from_b2(table: str, m: BmigModular, after: str, sends: list[Any]) -> None:
    i = replace(B, routing=entries(table))
    held(alg3.on_bmig(i, "b2", m, RULES), i, entries(after), sends)


@pytest.mark.parametrize(
    ("table", "received", "after", "said"),
    [
        pytest.param("f1 b3 s2, f1 s9 s9", "", "", [], id="entries of those who are not attached go"),
        pytest.param("f1 b3 s2", "f2 b7 s2, f1 s3 s3", "f1 b2 s3, f2 b2 s2", [], id="what the sender knows comes in their place, by way of it"),
        pytest.param("f1 s1 s1", "f1 b1 s1", "f1 s1 s1", [], id="(f, s) known on both sides needs no word"),
        pytest.param("f1 s1 s1", "f2 b7 s1", "f1 s1 s1", [Sub("f1", "s1"), Uns("f2", "s1")], id="SUB for what is here alone, UNS for there alone"),
    ],
)
def test_alg3_btab_lines_40_to_50_from_b2(table: str, received: str, after: str, said: list[Any]) -> None:
    i = replace(B, routing=entries(table))
    sends = [*(("b2", m) for m in said), ("b3", Fmig()), ("b4", Fmig())]
    held(alg3.on_btab(i, "b2", Btab(entries(received)), RULES), i, entries(after), sends)


@pytest.mark.parametrize("attached", [(), ("s1", "s5")])
def test_alg3_fmig_lines_51_and_52_and_a_migration_are_bmig_with_those_attached_now(attached: Any) -> None:
    i = replace(B, subscribers=attached, routing=entries("f1 s1 s1, f1 s7 s7"))
    expected = Reaction(i, (Send("b2", BmigModular(attached, "b1")),))
    assert alg3.on_fmig(i, "b2", Fmig(), RULES) == expected
    assert alg3.migrate(i, "b3", "b2", RULES) == expected
