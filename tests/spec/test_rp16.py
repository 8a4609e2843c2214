"""RP16 Algorithms 1–3, handler by handler: (b1's table, sender, message) → (table, sends), as printed there.

b1 has the neighbours b2 and b3 and the attached subscriber s1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roamcheck.spec.algorithms import rp16_alg1_static as static
from roamcheck.spec.algorithms import rp16_alg2_dynamic_clients as clients
from roamcheck.spec.algorithms import rp16_alg3_dynamic_brokers as brokers
from roamcheck.spec.messages import BmigModular, Btab, Entry, Filters, Fmig, Mig, Pub, Sub, Uns
from roamcheck.spec.readings import PRINTED
from roamcheck.spec.rules import Reaction, Rules
from roamcheck.spec.state import Broker, Send

MATCHING: Any = {"e1": frozenset({"f1"}), "e2": frozenset({"f1", "f2"}), "e3": frozenset()}
RULES = Rules(PRINTED, MATCHING, timestamps=False, queues=False)
NAMELESS = replace(RULES, names_subscribers=False)
B: Any = Broker("b1", ("b2", "b3"), ("s1",), ("p1",))


def entries(text: str) -> Any:
    """R_i from "f1 b2 s1, …"; from "f1 b2, …" where tables name no subscriber."""
    return tuple(sorted(Entry(*[*entry.split(), ""][:3]) for entry in text.split(", ") if entry))


def held(handler: Any, rules: Rules, table: str, z: str, m: Any, after: str, sends: list[tuple[str, Any]]) -> None:
    i = replace(B, routing=entries(table))
    assert handler(i, z, m, rules) == Reaction(replace(i, routing=entries(after)), tuple(Send(*send) for send in sends))


# ---- Algorithm 1 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "z", "after", "to"),
    [
        pytest.param("", "b2", "f1 b2", ["b3"], id="new"),
        pytest.param("f1 b3", "b2", "f1 b2, f1 b3", ["b3"], id="known by another way: one more entry"),
        pytest.param("f1 b2", "b2", "f1 b2", ["b3"], id="known: a set holds it once; passed on all the same"),
        pytest.param("", "s1", "f1 s1", ["b2", "b3"], id="from a client"),
    ],
)
def test_algorithm_1_sub_adds_the_sender_and_goes_to_the_other_neighbours_lines_1_to_4(table, z, after, to):
    held(static.on_sub, NAMELESS, table, z, Sub("f1", ""), after, [(b, Sub("f1", "")) for b in to])


@pytest.mark.parametrize(
    ("table", "z", "after", "to"),
    [
        pytest.param("f1 b2, f2 b2", "b2", "f2 b2", ["b3"], id="the entry of this filter goes"),
        pytest.param("f1 b2, f1 b3", "b2", "f1 b3", ["b3"], id="of the sender alone"),
        pytest.param("f1 b3", "b2", "f1 b3", ["b3"], id="unknown: passed on all the same"),
        pytest.param("f1 s1", "s1", "", ["b2", "b3"], id="from a client"),
    ],
)
def test_algorithm_1_uns_removes_the_entry_of_the_sender_and_goes_to_the_other_neighbours_lines_5_to_8(table, z, after, to):
    held(static.on_uns, NAMELESS, table, z, Uns("f1", ""), after, [(b, Uns("f1", "")) for b in to])


PUBS = [  # table with subscribers, sender, event, to
    pytest.param("f1 b2 s2, f1 b3 s3, f1 s1 s1", "p1", "e1", ["b2", "b3", "s1"], id="to every matching interface"),
    pytest.param("f1 b2 s2, f1 b3 s3", "b2", "e1", ["b3"], id="but the sender"),
    pytest.param("f1 b2 s2, f2 b2 s2, f1 b2 s3", "p1", "e2", ["b2"], id="once, however many entries match"),
    pytest.param("f1 b2 s2, f2 b3 s3", "p1", "e1", ["b2"], id="no filter that does not match"),
    pytest.param("f1 b2 s2", "p1", "e3", [], id="nobody wants it"),
    pytest.param("f1 b9 s2, f1 s9 s9", "p1", "e1", ["b9", "s9"], id="an interface that is down is sent to: there are no queues"),
]


@pytest.mark.parametrize(("table", "z", "e", "to"), PUBS)
def test_algorithm_1_pub_goes_once_to_each_matching_interface_but_the_sender_lines_9_to_15(table, z, e, to):
    nameless = ", ".join(dict.fromkeys(" ".join(entry.split()[:2]) for entry in table.split(", ")))
    held(static.on_pub, NAMELESS, nameless, z, Pub(e), nameless, [(y, Pub(e)) for y in to])


# ---- Algorithm 2 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "z", "after", "to"),
    [
        pytest.param("", "b2", "f1 b2 s2", ["b3"], id="new"),
        pytest.param("f1 b3 s2", "b2", "f1 b3 s2", ["b3"], id="known by another way: stays; passed on all the same"),
        pytest.param("f1 b3 s3, f2 b3 s2", "b2", "f1 b2 s2, f1 b3 s3, f2 b3 s2", ["b3"], id="of another subscriber, or filter, is not known"),
    ],
)
def test_algorithm_2_sub_is_stored_unless_there_is_an_entry_for_it_lines_1_to_5(table, z, after, to):
    held(clients.on_sub, RULES, table, z, Sub("f1", "s2"), after, [(b, Sub("f1", "s2")) for b in to])


@pytest.mark.parametrize(
    ("table", "z", "after", "to"),
    [
        pytest.param("f1 b2 s2, f1 b3 s3, f2 b2 s2", "b2", "f1 b3 s3, f2 b2 s2", ["b3"], id="its own entry alone"),
        pytest.param("f1 b3 s2", "b2", "", ["b3"], id="whatever its interface"),
        pytest.param("f2 b3 s2", "b2", "f2 b3 s2", ["b3"], id="nothing to remove: passed on all the same"),
    ],
)
def test_algorithm_2_uns_removes_the_entry_whatever_its_interface_lines_6_to_10(table, z, after, to):
    held(clients.on_uns, RULES, table, z, Uns("f1", "s2"), after, [(b, Uns("f1", "s2")) for b in to])


@pytest.mark.parametrize(("table", "z", "e", "to"), PUBS)
def test_algorithm_2_pub_goes_once_to_each_matching_interface_but_the_sender_lines_11_to_17(table, z, e, to):
    held(clients.on_pub, RULES, table, z, Pub(e), table, [(y, Pub(e)) for y in to])


@pytest.mark.parametrize(
    ("table", "z", "m", "after", "sends"),
    [
        pytest.param("f1 b3 s2, f2 b3 s2, f1 b3 s3", "b2", Mig("s2", "b9"), "f1 b2 s2, f2 b2 s2, f1 b3 s3", [("b3", Mig("s2", "b9"))],
                     id="towards the old next hop, and turned to the sender"),
        pytest.param("f1 b3 s2", "b2", Mig("s2", "b1"), "f1 b2 s2", [], id="b1 is the broker that it names: no further"),
        pytest.param("", "b2", Mig("s2", "b9"), "", [], id="never heard of: no further"),
        pytest.param("f1 b3 s1, f2 b3 s1", "s1", Mig("s1", "b9"), "f1 s1 s1, f2 s1 s1", [("s1", Filters(("f1", "f2"))), ("b3", Mig("s1", "b9"))],
                     id="from the subscriber: FILTERS first"),
        pytest.param("", "s1", Mig("s1", "b9"), "", [("s1", Filters(()))], id="from a subscriber never heard of: empty FILTERS"),
        pytest.param("f1 s1 s1", "s1", Mig("s1", "b1"), "f1 s1 s1", [("s1", Filters(("f1",)))], id="back where it was"),
        pytest.param("f1 s1 s1", "b2", Mig("s1", "b9"), "f1 b2 s1", [], id="the old next hop is the client: nobody to tell"),
    ],
)  # fmt: skip
def test_algorithm_2_mig_is_answered_passed_on_and_turns_the_entries_lines_18_to_29(table, z, m, after, sends):
    held(clients.on_mig, RULES, table, z, m, after, sends)


# ---- Algorithm 3 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "z", "m", "after", "sends"),
    [
        pytest.param("f1 b3 s2, f2 b3 s3, f1 b3 s4", "b2", BmigModular(("s2", "s3"), "b9"), "f1 b2 s2, f2 b2 s3, f1 b3 s4",
                     [("b3", BmigModular(("s2", "s3"), "b9"))], id="turned to the sender; the old next hop is told once"),
        pytest.param("f1 b2 s2", "b2", BmigModular(("s2",), "b9"), "f1 b2 s2", [], id="the sender is not told"),
        pytest.param("f1 b9 s2, f1 s1 s1", "b2", BmigModular(("s1", "s2"), "b9"), "f1 b2 s1, f1 b2 s2", [],
                     id="nor a client, nor who is no neighbour"),
        pytest.param("f1 b3 s2, f1 b2 s3", "b2", BmigModular(("s2",), "b2"), "f1 b2 s2, f1 b2 s3",
                     [("b3", BmigModular(("s2",), "b2")), ("b2", Btab(entries("f1 b2 s2, f1 b2 s3")))],
                     id="the migrant itself gets the table, as it is now"),
        pytest.param("f1 b3 s2", "b2", BmigModular((), "b2"), "f1 b3 s2", [("b2", Btab(entries("f1 b3 s2")))],
                     id="a migrant without subscribers too"),
    ],
)  # fmt: skip
def test_algorithm_3_bmig_turns_the_attached_tells_the_old_next_hops_and_answers_the_migrant_lines_30_to_39(table, z, m, after, sends):
    held(brokers.on_bmig, RULES, table, z, m, after, sends)


@pytest.mark.parametrize(
    ("table", "there", "after", "fixes"),
    [
        pytest.param("f1 s1 s1, f1 b3 s2, f2 b9 s3", "f1 b1 s1, f1 b4 s2", "f1 s1 s1, f1 b2 s2", [],
                     id="all but the attached is taken from b2's table"),
        pytest.param("f1 s1 s1, f2 s1 s1", "f2 b1 s1", "f1 s1 s1, f2 s1 s1", [Sub("f1", "s1")], id="what b2 misses of the attached is told"),
        pytest.param("f1 s1 s1", "f1 b1 s1, f2 b1 s1", "f1 s1 s1", [Uns("f2", "s1")], id="what b2 has too much of the attached is taken back"),
        pytest.param("f1 s1 s1, f2 s1 s1", "f3 b1 s1", "f1 s1 s1, f2 s1 s1", [Sub("f1", "s1"), Sub("f2", "s1"), Uns("f3", "s1")],
                     id="SUBs come before UNSs"),
        pytest.param("f1 b3 s2", "", "", [], id="an empty table empties it"),
    ],
)  # fmt: skip
def test_algorithm_3_btab_replaces_what_is_not_attached_tells_the_difference_and_forces_the_others_lines_40_to_50(table, there, after, fixes):
    held(brokers.on_btab, RULES, table, "b2", Btab(entries(there)), after, [*(("b2", fix) for fix in fixes), ("b3", Fmig())])


def test_algorithm_3_btab_counts_a_subscriber_that_has_detached_with_the_others_lines_41_and_43():
    table, there = "f1 s9 s9", "f1 b4 s9, f2 b4 s9"
    held(brokers.on_btab, RULES, table, "b2", Btab(entries(there)), "f1 b2 s9, f2 b2 s9", [("b3", Fmig())])


def test_algorithm_3_fmig_is_answered_with_the_attached_lines_51_and_52():
    held(brokers.on_fmig, RULES, "f1 s1 s1, f1 s9 s9", "b2", Fmig(), "f1 s1 s1, f1 s9 s9", [("b2", BmigModular(("s1",), "b1"))])


def test_a_migrating_broker_sends_bmig_with_the_attached_to_its_new_next_hop():
    i = replace(B, routing=entries("f1 b2 s2"))
    assert brokers.migrate(i, "b2", "b3", RULES) == Reaction(i, (Send("b3", BmigModular(("s1",), "b1")),))
