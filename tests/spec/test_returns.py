"""What a broker does with a PUB or REP that comes back (TR19 §5): b1 had sent it to b2, whose link is down now."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from roamcheck.spec.algorithms import returns
from roamcheck.spec.messages import Bmig, BmigModular, Bquery, Bsub, Btab, Entry, Filters, Fmig, Mig, Pub, Rep, Sub, Timestamp, Uns
from roamcheck.spec.readings import PRINTED
from roamcheck.spec.rules import Reaction, Rules
from roamcheck.spec.state import Broker, Send

MATCHING = {"e1": frozenset({"f1"}), "e2": frozenset({"f1", "f2"})}
B = Broker("b1", ("b3", "b4"), ("s1",), (), queues=(("s9", ("e9",)),))


def entries(text: str = "") -> tuple[Entry, ...]:
    """R_i from "f1 b2 s1, …"."""
    return tuple(sorted(Entry(*entry.split()) for entry in text.split(", ") if entry))


def rules(return_to: str, on_return: str, queues: bool = True) -> Rules:
    return Rules(PRINTED.with_values({"return-to": return_to, "on-return": on_return}), MATCHING, queues=queues)


def returned(table: str, m: Any, return_to: str, on_return: str) -> tuple[dict[str, str], list[tuple[str, Any]]]:
    """What is queued now, besides what was, and what is sent."""
    i = replace(B, routing=entries(table))
    after, sends = returns.on_return(i, "b2", m, rules(return_to, on_return))
    assert after == replace(i, queues=after.queues)
    assert after.queue("s9") == ("e9",)
    return {s: " ".join(events) for s, events in after.queues if s != "s9"}, [tuple(send) for send in sends]


ANYWHERE = "f1 b2 s2, f2 b2 s2, f1 b2 s3, f2 b2 s4, f1 b3 s5, f1 s1 s1"


@pytest.mark.parametrize(
    ("table", "m", "return_to", "queued"),
    [
        pytest.param(ANYWHERE, Pub("e1"), "table", {"s2": "e1", "s3": "e1"}, id="table: for those with a matching entry through b2"),
        pytest.param(ANYWHERE, Pub("e2"), "table", {"s2": "e2", "s3": "e2", "s4": "e2"}, id="table: once for each, however many entries match"),
        pytest.param("f1 b3 s2", Pub("e1"), "table", {}, id="table: for nobody when the table has turned since"),
        pytest.param("", Pub("e1", ("s2", "s3")), "original", {"s2": "e1", "s3": "e1"}, id="original: for whom it was sent, known or not"),
        pytest.param(ANYWHERE, Pub("e1", ("s5",)), "original", {"s5": "e1"}, id="original: for nobody else, whatever the table says"),
        pytest.param("", Rep("e1", "s2"), "table", {"s2": "e1"}, id="a REP is for its subscriber"),
        pytest.param(ANYWHERE, Rep("e1", "s5"), "original", {"s5": "e1"}, id="a REP is for its subscriber, wherever that is now"),
    ],
)
def test_for_whom_a_message_comes_back_and_is_queued(table: str, m: Any, return_to: str, queued: dict[str, str]) -> None:
    assert returned(table, m, return_to, "queue") == (queued, [])


@pytest.mark.parametrize(
    ("table", "m", "queued", "sends"),
    [
        pytest.param("f1 b3 s2", Pub("e1", ("s2",)), {}, [("b3", Rep("e1", "s2"))], id="a next hop is up: sent again at once, as a REP"),
        pytest.param("f1 s1 s1", Rep("e1", "s1"), {}, [("s1", Rep("e1", "s1"))], id="the client is here now"),
        pytest.param("f1 b2 s2", Pub("e1", ("s2",)), {"s2": "e1"}, [], id="the next hop is the one that is down: queued"),
        pytest.param("", Rep("e1", "s2"), {"s2": "e1"}, [], id="no entry: queued"),
        pytest.param("f1 b3 s2, f1 b2 s3, f1 b4 s4", Pub("e1", ("s2", "s3", "s4")), {"s3": "e1"}, [("b3", Rep("e1", "s2")), ("b4", Rep("e1", "s4"))],
                     id="each subscriber goes its own way"),
        pytest.param("f1 b3 s2, f1 b3 s3", Pub("e1", ("s2", "s3")), {}, [("b3", Rep("e1", "s2")), ("b3", Rep("e1", "s3"))], id="one REP for each"),
    ],
)  # fmt: skip
def test_reroute_sends_again_what_has_a_next_hop_that_is_up_and_queues_the_rest(table: str, m: Any, queued: Any, sends: list[Any]) -> None:
    assert returned(table, m, "original", "reroute") == (queued, sends)


def test_what_cannot_be_sent_again_is_queued_behind_what_waits_already() -> None:
    i = replace(B, routing=entries("f1 b2 s9"))
    assert returns.on_return(i, "b2", Rep("e1", "s9"), rules("table", "reroute")) == Reaction(replace(i, queues=(("s9", ("e9", "e1")),)))


@pytest.mark.parametrize(
    "m",
    [
        Sub("f1", "s2", 1, 0), Uns("f1", "s2", 1, 0), Mig("s2", "b9", 1, 0), Filters(("f1",)), BmigModular(("s2",), "b2"), Btab(entries("f1 b2 s2")),
        Fmig(), Bmig((), (), 0), Bquery("s2", 1, 1), Bsub("s2", ("f1",), Timestamp(1, 1), 0),
    ],
    ids=lambda m: type(m).__name__,
)  # fmt: skip
def test_no_other_kind_of_message_comes_back(m: Any) -> None:
    i = replace(B, routing=entries(ANYWHERE))
    for return_to, on_return in product(("table", "original"), ("queue", "reroute")):
        assert returns.on_return(i, "b2", m, rules(return_to, on_return)) == Reaction(i)


@pytest.mark.parametrize("m", [Pub("e1", ("s5",)), Rep("e1", "s5")])
def test_without_queues_what_comes_back_is_lost_even_with_a_next_hop_that_is_up(m: Any) -> None:
    i = replace(B, routing=entries(ANYWHERE))
    for return_to, on_return in product(("table", "original"), ("queue", "reroute")):
        assert returns.on_return(i, "b2", m, rules(return_to, on_return, queues=False)) == Reaction(i)
        assert returns.on_return(i, "b2", m, rules(return_to, on_return)) != Reaction(i)


def test_a_returned_pub_is_sent_again_to_the_next_hop_it_came_from_if_that_is_up_again() -> None:
    i: Any = replace(B, routing=entries("f1 b3 s2"))
    assert returns.on_return(i, "b3", Pub("e1", ("s2",)), rules("original", "reroute")) == Reaction(i, (Send("b3", Rep("e1", "s2")),))
