"""What a broker does with what comes back: for whom it was, and what becomes of it (semantics section 4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roamcheck.spec.algorithms.returns import on_return
from roamcheck.spec.messages import Bmig, Bquery, Bsub, Entry, Filters, Fmig, Mig, Pub, Rep, Sub, Timestamp, Uns
from roamcheck.spec.readings import AMENDED, PRINTED
from roamcheck.spec.rules import Rules
from roamcheck.spec.state import Broker, Send

MATCHING: Any = {"e1": frozenset({"f1", "f2"}), "e2": frozenset({"f3"})}
B: Any = Broker("b1", ("b3",), (), (), (Entry("f1", "b2", "s1"), Entry("f1", "b3", "s2"), Entry("f2", "b2", "s1"), Entry("f3", "b2", "s3")))
CONTROL = [Sub("f1", "s1", 1, 1), Uns("f1", "s1", 1, 1), Mig("s1", "b2", 1, 1), Filters(("f1",)), Fmig(), Bmig((), (), 0), Bquery("s1", 1, 1),
           Bsub("s1", (), Timestamp(1, 1), 0)]  # fmt: skip


def returned(m: Any, readings: Any, i: Any = B) -> tuple[dict[str, tuple[str, ...]], tuple[Send, ...]]:
    after, sends = on_return(i, "b2", m, Rules(readings, MATCHING))
    assert replace(after, queues=()) == replace(i, queues=())
    return dict(after.queues), sends


@pytest.mark.parametrize(
    ("m", "printed", "amended"),
    [
        pytest.param(Pub("e1", ("s2",)), {"s1": ("e1",)}, [("b3", Rep("e1", "s2"))], id="PUB: table now, or for whom it was sent"),
        pytest.param(Pub("e1", ("s1",)), {"s1": ("e1",)}, {"s1": ("e1",)}, id="PUB whose next hop is still the one that is down"),
        pytest.param(Pub("e2", ("s1", "s2")), {"s3": ("e2",)}, [{"s1": ("e2",)}, ("b3", Rep("e2", "s2"))], id="PUB for two"),
        pytest.param(Rep("e1", "s1"), {"s1": ("e1",)}, {"s1": ("e1",)}, id="REP whose next hop is down"),
        pytest.param(Rep("e1", "s2"), {"s2": ("e1",)}, [("b3", Rep("e1", "s2"))], id="REP whose next hop is up"),
        pytest.param(Rep("e1", "s9"), {"s9": ("e1",)}, {"s9": ("e1",)}, id="REP for one never heard of"),
    ],
)
def test_a_pub_or_rep_is_queued_as_printed_and_sent_again_at_once_where_it_can_as_amended(m, printed, amended):
    assert returned(m, PRINTED) == (printed, ())
    parts = amended if isinstance(amended, list) else [amended]
    queues = {s: events for part in parts if isinstance(part, dict) for s, events in part.items()}
    assert returned(m, AMENDED) == (queues, tuple(Send(*part) for part in parts if isinstance(part, tuple)))


@pytest.mark.parametrize("m", CONTROL, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("readings", [PRINTED, AMENDED])
def test_a_control_message_that_comes_back_changes_nothing(m, readings):
    assert returned(m, readings) == ({}, ())


def test_what_comes_back_goes_behind_what_is_queued_already():
    i = B.with_queue("s1", ("e2",))
    assert returned(Rep("e1", "s1"), PRINTED, i) == ({"s1": ("e2", "e1")}, ())


@pytest.mark.parametrize("m", [Pub("e1", ("s2",)), Rep("e1", "s2")])
@pytest.mark.parametrize("readings", [PRINTED, AMENDED])
def test_without_queues_what_comes_back_is_lost_even_where_a_next_hop_is_up(m, readings):
    assert on_return(B, "b2", m, Rules(readings, MATCHING, queues=False)) == (B, ())
    assert on_return(B, "b2", m, Rules(readings, MATCHING)) != (B, ())


def test_as_printed_a_pub_comes_back_for_nobody_once_the_table_has_turned_away_from_the_fallen_link():
    assert returned(Pub("e1"), PRINTED, B.rerouted("s1", "b3")) == ({}, ())


def test_as_amended_each_subscriber_of_a_pub_goes_its_own_way_and_the_client_may_be_here_by_now():
    i = replace(B, neighbours=("b3", "b4"), subscribers=("s4",), routing=(Entry("f1", "b2", "s1"), Entry("f1", "b4", "s2"), Entry("f1", "s4", "s4")))
    assert returned(Pub("e1", ("s1", "s2", "s4")), AMENDED, i) == ({"s1": ("e1",)}, (Send("b4", Rep("e1", "s2")), Send("s4", Rep("e1", "s4"))))


def test_as_amended_it_is_sent_again_over_the_link_it_came_back_from_if_that_is_up_again():
    assert returned(Rep("e1", "s1"), AMENDED, B.linked("b2")) == ({}, (Send("b2", Rep("e1", "s1")),))
