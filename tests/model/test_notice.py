"""notice = apart: the two ends of a link that falls notice it in steps of their own."""

from __future__ import annotations

from typing import Any

import pytest

from roamcheck.checker.engines import reference, tabled
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.checker.trace import dumps, loads
from roamcheck.checker.verdict import Violated
from roamcheck.model.scenario import as_data, from_data
from roamcheck.spec.messages import Pub
from roamcheck.spec.protocols import PROTOCOLS
from support.runs import Run

APART = {"notice": "apart"}
TWO_LINKS = [["b1", "b2"], ["b2", "b3"]]


def cut(**options: Any) -> Run:
    """The event is on the link b1–b2 when it falls; another is published meanwhile."""
    moves = ("a: publish e1", "b: publish e2", "c: link-down b1 b2", "d: migrate b2 b1 after c")
    run = Run([["b1", "b2"]], {"s1": {"at": "b2", "filters": ["f1"]}}, moves, assume=APART, **options)
    return run.do("publish p1 e1", "deliver p1 b1", "link-down b1–b2")


def test_neither_end_knows_and_nothing_arrives_any_more() -> None:
    run = cut()
    assert (run["b1"].neighbours, run["b2"].neighbours) == (("b2",), ("b1",))
    assert run["(overlay)"].links == ()
    assert run.refused("deliver b1 b2") == "the link between b1 and b2 is up"
    assert sorted(run.offered("notice")) == ["notice b1 b2", "notice b2 b1"]
    assert not run.quiescent


def test_what_is_sent_before_the_sender_notices_comes_back_too() -> None:
    run = cut().do("publish p1 e2", "deliver p1 b1")
    assert [type(m) for m in run["b1→b2"]] == [Pub, Pub]
    run.do("notice b1 b2")
    assert (run["b1"].neighbours, run["b1"].queue("s1"), run["b1→b2"]) == ((), ("e1", "e2"), ())
    assert run["b2"].neighbours == ("b1",)
    assert not run.quiescent
    assert run.do("notice b2 b1").quiescent


def test_a_link_comes_up_again_when_both_ends_have_noticed_that_it_had_fallen() -> None:
    run = cut()
    assert run.refused("migrate b2 b1") == "b2 has noticed what it has lost, and b1 that it had lost b2"
    run.do("notice b2 b1")
    assert run.refused("migrate b2 b1") == "b2 has noticed what it has lost, and b1 that it had lost b2"
    run.do("notice b1 b2", "migrate b2 b1")
    assert run["(overlay)"].links == (("b1", "b2"),)
    assert run.settle()["s1"].received == ("e1",)


def test_a_broker_that_moves_knows_and_its_old_parent_does_not() -> None:
    run = Run(TWO_LINKS, {"s1": {"at": "b3", "filters": ["f1"]}}, ("a: migrate b3 b1",), assume=APART).do("migrate b3 b1")
    assert (run["b3"].neighbours, run["b2"].neighbours) == (("b1",), ("b1", "b3"))
    assert run.offered("notice") == ["notice b2 b3"]
    run.do("notice b2 b3")
    assert run["b2"].neighbours == ("b1",)


def test_the_neighbours_of_a_broker_that_crashes_notice_one_by_one() -> None:
    run = Run(TWO_LINKS, {"s1": {"at": "b3", "filters": ["f1"]}}, ("a: crash b2 durable",), assume=APART).do("crash b2")
    assert (run["b1"].neighbours, run["b2"].neighbours, run["b3"].neighbours) == (("b2",), (), ("b2",))
    assert sorted(run.offered("notice")) == ["notice b1 b2", "notice b3 b2"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_engines_agree_for_every_protocol(protocol: str) -> None:
    asked = question(load_scenario("link-lost-and-found"), protocol=protocol, assumptions=APART)
    if asked.why_not_applicable() is not None:
        asked = question(load_scenario("shared-filter-unsubscribe"), protocol=protocol, assumptions=APART)
    model = asked.model()
    slow, fast, reduced = reference.explore(model), tabled.explore(model), tabled.explore(model, reduce=True, symmetric=True)
    assert slow.counts == fast.counts
    violated = [{name for name, verdict in found.verdicts.items() if isinstance(verdict, Violated)} for found in (slow, fast, reduced)]
    assert violated[0] == violated[1] == violated[2]


@pytest.mark.parametrize("scenario", ["free-star", "free-crash", "broker-moves-under-shared-filter", "link-lost-and-found", "merge-reroot"])
def test_the_repaired_protocol_holds(scenario: str) -> None:
    found = tabled.explore(question(load_scenario(scenario), protocol="mft-pubsub-r", assumptions=APART).model())
    assert found.complete
    assert {name for name, verdict in found.verdicts.items() if isinstance(verdict, Violated)} <= {"publisher-order"}


def test_it_is_written_where_it_is_apart_alone() -> None:
    scenario = load_scenario("free-star")
    data = as_data(scenario)
    assert "notice" not in data["assume"]  # type: ignore[operator]
    data["assume"] = {**data["assume"], **APART}  # type: ignore[dict-item]
    again = from_data(data, "again")
    assert again.assume.notice == "apart"
    assert as_data(again)["assume"] == data["assume"]


def test_a_trace_bears_it_and_replays() -> None:
    from roamcheck.checker.check import answer
    from roamcheck.checker.replay import replay

    given = answer(question(load_scenario("child-above-parent"), protocol="mft-pubsub", assumptions=APART))
    trace = given.traces["no-routing-loop"]
    text = dumps(trace)
    assert loads(text, "mine").header.assume.notice == "apart"
    assert len(replay(loads(text, "mine")).steps) == trace.header.length
