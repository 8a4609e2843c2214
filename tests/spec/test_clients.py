"""What clients do (semantics section 2, Clients): attach, answer FILTERS, subscribe, unsubscribe, with t counted where there are timestamps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roamcheck.spec.algorithms import clients
from roamcheck.spec.algorithms.clients import Turn
from roamcheck.spec.messages import NOBODY, Filters, Mig, Sub, Uns
from roamcheck.spec.readings import PRINTED
from roamcheck.spec.rules import Rules
from roamcheck.spec.state import Publisher, Subscriber

MATCHING = {"e1": frozenset({"f1"}), "e2": frozenset({"f1", "f2"}), "e3": frozenset({"f3"})}
NUMBERED = Rules(PRINTED, MATCHING)
UNNUMBERED = Rules(PRINTED, MATCHING, timestamps=False)
NAMELESS = Rules(PRINTED, MATCHING, timestamps=False, names_subscribers=False)

NEW = Subscriber("s1", None, False, ("f1", "f2"), 0, ("f1", "f2"), (), ())
THERE = replace(NEW, broker="b1", attached=True, sent=4)
AWAY = replace(THERE, attached=False)
UNCOUNTED = replace(THERE, sent=0)  # as it is where nothing is numbered


def test_attaching_for_the_first_time_says_sub_for_each_filter_numbered_from_1_at_hop_0() -> None:
    after = replace(NEW, broker="b1", attached=True, sent=2)
    assert clients.attach(NEW, "b1", NUMBERED) == Turn(after, (Sub("f1", "s1", 1, 0), Sub("f2", "s1", 2, 0)))


def test_without_timestamps_nothing_is_counted_and_without_names_nobody_is_named() -> None:
    after = replace(NEW, broker="b1", attached=True)
    assert clients.attach(NEW, "b1", UNNUMBERED) == Turn(after, (Sub("f1", "s1"), Sub("f2", "s1")))
    assert clients.attach(NEW, "b1", NAMELESS) == Turn(after, (Sub("f1", NOBODY), Sub("f2", NOBODY)))


def test_attaching_for_the_first_time_without_filters_says_nothing_and_yet_counts_as_having_been_there() -> None:
    once = clients.attach(replace(NEW, wants=()), "b1", NUMBERED)
    assert once.sends == ()
    assert clients.attach(clients.detach(once.subscriber), "b2", NUMBERED).sends == (Mig("s1", "b1", 1, 0),)


@pytest.mark.parametrize("b", ["b1", "b3"])
@pytest.mark.parametrize("wants", [("f1", "f2"), ()])
def test_attaching_again_says_mig_with_the_broker_before_and_nothing_else(b: Any, wants: Any) -> None:
    away = replace(AWAY, wants=wants)
    assert clients.attach(away, b, NUMBERED) == Turn(replace(away, broker=b, attached=True, sent=5), (Mig("s1", "b1", 5, 0),))
    away = replace(away, sent=0)
    assert clients.attach(away, b, UNNUMBERED) == Turn(replace(away, broker=b, attached=True), (Mig("s1", "b1"),))


def test_the_broker_before_is_the_last_one_not_the_first() -> None:
    there = clients.attach(AWAY, "b2", NUMBERED).subscriber
    assert clients.attach(clients.detach(there), "b3", NUMBERED).sends == (Mig("s1", "b2", 6, 0),)


@pytest.mark.parametrize(
    ("wants", "known", "said"),
    [
        pytest.param("f1 f2", "f1 f2", [], id="all is known: nothing to say"),
        pytest.param("f1 f2", "f2", [(Sub, "f1")], id="SUB for what is wanted and not known"),
        pytest.param("f1", "f1 f2", [(Uns, "f2")], id="UNS for what is known and not wanted"),
        pytest.param("f1 f3", "f0 f2", [(Sub, "f1"), (Sub, "f3"), (Uns, "f0"), (Uns, "f2")], id="SUBs, then UNSs, each in order"),
        pytest.param("", "f1", [(Uns, "f1")], id="nothing is wanted any more"),
        pytest.param("f1", "", [(Sub, "f1")], id="nothing was known"),
    ],
)
def test_filters_is_answered_with_the_difference_each_message_with_the_next_t(wants: str, known: str, said: list[Any]) -> None:
    s = replace(THERE, wants=tuple(wants.split()))
    sends = tuple(kind(f, "s1", 5 + k, 0) for k, (kind, f) in enumerate(said))
    assert clients.on_filters(s, Filters(tuple(known.split())), NUMBERED) == Turn(replace(s, sent=4 + len(said)), sends)


def test_subscribing_while_attached_is_said_and_remembered_as_asked() -> None:
    wanting = replace(UNCOUNTED, wants=("f1", "f2", "f3"), asked=("f1", "f2", "f3"))
    assert clients.subscribe(THERE, "f3", NUMBERED) == Turn(replace(wanting, sent=5), (Sub("f3", "s1", 5, 0),))
    assert clients.subscribe(UNCOUNTED, "f3", UNNUMBERED) == Turn(wanting, (Sub("f3", "s1"),))
    assert clients.subscribe(UNCOUNTED, "f3", NAMELESS) == Turn(wanting, (Sub("f3", NOBODY),))


def test_unsubscribing_while_attached_is_said_and_does_not_unsay_what_was_asked() -> None:
    assert clients.unsubscribe(THERE, "f1", NUMBERED) == Turn(replace(THERE, wants=("f2",), sent=5), (Uns("f1", "s1", 5, 0),))
    assert clients.unsubscribe(UNCOUNTED, "f1", NAMELESS) == Turn(replace(UNCOUNTED, wants=("f2",)), (Uns("f1", NOBODY),))


@pytest.mark.parametrize("s", [AWAY, NEW])
def test_while_detached_only_what_it_wants_and_has_asked_for_changes(s: Subscriber) -> None:
    assert clients.subscribe(s, "f0", NUMBERED) == Turn(replace(s, wants=("f0", "f1", "f2"), asked=("f0", "f1", "f2")))
    assert clients.unsubscribe(s, "f1", NUMBERED) == Turn(replace(s, wants=("f2",)))


@pytest.mark.parametrize("s", [THERE, AWAY])
def test_a_debt_is_void_once_no_wanted_filter_matches_and_not_before(s: Subscriber) -> None:
    owing = replace(s, owed=("e1", "e2"))
    once = clients.unsubscribe(owing, "f1", NUMBERED).subscriber
    assert once.owed == ("e2",)  # f2 still matches it
    assert clients.unsubscribe(once, "f2", NUMBERED).subscriber.owed == ()
    assert clients.unsubscribe(owing, "f2", NUMBERED).subscriber.owed == ("e1", "e2")


def test_subscribing_again_does_not_bring_a_void_debt_back() -> None:
    gone = clients.unsubscribe(replace(THERE, owed=("e1",)), "f1", NUMBERED).subscriber
    assert clients.subscribe(gone, "f1", NUMBERED).subscriber.owed == ()


def test_detaching_says_nothing_and_remembers_where_it_was() -> None:
    assert clients.detach(THERE) == AWAY


def test_a_publisher_comes_and_goes_without_a_word() -> None:
    p = Publisher("p1", "b1", True, ("e1",))
    assert clients.detach_publisher(p) == replace(p, attached=False)
    assert clients.attach_publisher(clients.detach_publisher(p), "b2") == replace(p, broker="b2")
