"""What clients do on attaching, on FILTERS, on subscribing and unsubscribing (semantics section 2, Clients)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roamcheck.spec.algorithms import clients
from roamcheck.spec.messages import Filters, Mig, Sub, Uns
from roamcheck.spec.readings import PRINTED
from roamcheck.spec.rules import Rules
from roamcheck.spec.state import Publisher, Subscriber

MATCHING: Any = {"e1": frozenset({"f1"}), "e2": frozenset({"f1", "f2"})}
TIMED = Rules(PRINTED, MATCHING)
PLAIN = replace(TIMED, timestamps=False)
NAMELESS = replace(PLAIN, names_subscribers=False)
NEW: Any = Subscriber("s1", None, False, ("f1", "f2"), 0, ("f1", "f2"), (), ())
KNOWN: Any = replace(NEW, broker="b1", sent=2)
HOME: Any = replace(KNOWN, attached=True)


def unnumbered(m: Any) -> Any:
    return replace(m, t=0)


@pytest.mark.parametrize(
    ("before", "act", "after", "sends"),
    [
        pytest.param(NEW, lambda s, r: clients.attach(s, "b2", r), {"broker": "b2", "attached": True, "sent": 2},
                     [Sub("f1", "s1", 1), Sub("f2", "s1", 2)], id="the first attach: SUB for each filter"),
        pytest.param(KNOWN, lambda s, r: clients.attach(s, "b2", r), {"broker": "b2", "attached": True, "sent": 3},
                     [Mig("s1", "b1", 3)], id="a later attach: MIG with the broker before"),
        pytest.param(KNOWN, lambda s, r: clients.attach(s, "b1", r), {"attached": True, "sent": 3}, [Mig("s1", "b1", 3)], id="attach where it was"),
        pytest.param(replace(NEW, wants=()), lambda s, r: clients.attach(s, "b2", r), {"broker": "b2", "attached": True}, [],
                     id="the first attach of one that wants nothing"),
        pytest.param(replace(KNOWN, wants=()), lambda s, r: clients.attach(s, "b2", r), {"broker": "b2", "attached": True, "sent": 3},
                     [Mig("s1", "b1", 3)], id="a later attach of one that wants nothing: MIG all the same"),
        pytest.param(HOME, lambda s, r: clients.on_filters(s, Filters(("f2", "f3")), r), {"sent": 4}, [Sub("f1", "s1", 3), Uns("f3", "s1", 4)],
                     id="FILTERS: SUB for what is missing, UNS for what is not wanted"),
        pytest.param(HOME, lambda s, r: clients.on_filters(s, Filters(("f0", "f3")), r), {"sent": 6},
                     [Sub("f1", "s1", 3), Sub("f2", "s1", 4), Uns("f0", "s1", 5), Uns("f3", "s1", 6)], id="FILTERS: SUBs, then UNSs, each in order"),
        pytest.param(HOME, lambda s, r: clients.on_filters(s, Filters(()), r), {"sent": 4}, [Sub("f1", "s1", 3), Sub("f2", "s1", 4)],
                     id="empty FILTERS: SUB for each"),
        pytest.param(HOME, lambda s, r: clients.on_filters(s, Filters(("f1", "f2")), r), {}, [], id="FILTERS that are right: nothing"),
        pytest.param(HOME, lambda s, r: clients.subscribe(s, "f3", r),
                     {"wants": ("f1", "f2", "f3"), "asked": ("f1", "f2", "f3"), "sent": 3}, [Sub("f3", "s1", 3)], id="subscribe"),
        pytest.param(KNOWN, lambda s, r: clients.subscribe(s, "f3", r), {"wants": ("f1", "f2", "f3"), "asked": ("f1", "f2", "f3")}, [],
                     id="subscribe while detached: only what it wants"),
        pytest.param(HOME, lambda s, r: clients.unsubscribe(s, "f1", r), {"wants": ("f2",), "sent": 3}, [Uns("f1", "s1", 3)],
                     id="unsubscribe: what it had asked for stays asked for"),
        pytest.param(KNOWN, lambda s, r: clients.unsubscribe(s, "f1", r), {"wants": ("f2",)}, [], id="unsubscribe while detached"),
        pytest.param(replace(HOME, owed=("e1", "e2"), received=("e1",)), lambda s, r: clients.unsubscribe(s, "f1", r),
                     {"wants": ("f2",), "owed": ("e2",), "sent": 3}, [Uns("f1", "s1", 3)], id="unsubscribe: debts that only f1 made are void"),
        pytest.param(replace(KNOWN, owed=("e1", "e2")), lambda s, r: clients.unsubscribe(s, "f1", r), {"wants": ("f2",), "owed": ("e2",)}, [],
                     id="unsubscribe while detached: they are void too"),
        pytest.param(replace(HOME, owed=("e1", "e2")), lambda s, r: clients.unsubscribe(s, "f2", r), {"wants": ("f1",), "sent": 3},
                     [Uns("f2", "s1", 3)], id="unsubscribe: what f1 still matches stays owed"),
    ],
)  # fmt: skip
def test_each_message_takes_the_next_number_where_there_are_timestamps_and_none_where_there_are_not(before, act, after, sends):
    assert act(before, TIMED) == (replace(before, **after), tuple(sends))
    assert act(replace(before, sent=0), PLAIN) == (replace(before, **{**after, "sent": 0}), tuple(map(unnumbered, sends)))


def test_where_tables_name_no_subscriber_its_messages_name_none():
    assert clients.subscriptions(NEW, ("f1",), ("f3",), NAMELESS) == (NEW, (Sub("f1", ""), Uns("f3", "")))


def test_a_detached_client_keeps_the_broker_that_it_was_attached_to():
    p: Any = Publisher("p1", "b1", True, ("e1",))
    assert clients.detach(HOME) == KNOWN
    assert clients.detach_publisher(p) == replace(p, attached=False)
    assert clients.attach_publisher(replace(p, attached=False), "b2") == replace(p, broker="b2")


def test_a_later_attach_names_the_last_broker_and_not_the_first():
    there = clients.attach(KNOWN, "b2", TIMED).subscriber
    assert clients.attach(clients.detach(there), "b3", TIMED).sends == (Mig("s1", "b2", 4),)


def test_subscribing_again_does_not_bring_a_void_debt_back():
    gone = clients.unsubscribe(replace(HOME, owed=("e1",)), "f1", TIMED).subscriber
    assert gone.owed == ()
    assert clients.subscribe(gone, "f1", TIMED).subscriber.owed == ()
