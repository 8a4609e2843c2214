"""Semantics sections 2–4, point by point: who says what on attaching, what falls with a link, who learns of it and when, what moves wait for."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import networkx as nx
import pytest

from roamcheck.checker.check import answer
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.checker.verdict import Violated
from roamcheck.model.build import spent, unknown_moves
from roamcheck.model.interface import Kind, Model, State, fire
from roamcheck.spec.messages import Filters, Mig, Rep, Sub, Uns
from roamcheck.spec.protocols import PROTOCOLS
from support.footprints import enabled, walk
from support.runs import E1, E2, S1_AT_B3, Run, merging

# ---- the start -----------------------------------------------------------------------------------------


def test_a_settled_subscriber_with_k_filters_has_sent_k_and_is_known_k_at_distance_plus_1_along_the_overlay():
    run = Run(subscribers={"s1": {"at": "b3", "filters": ["f1", "f2"]}})
    assert (run["s1"].sent, run["s1"].attached, run["s1"].broker) == (2, True, "b3")
    assert {b: dict(run[b].timestamps) for b in ("b1", "b2", "b3")} == {"b1": {"s1": (2, 3)}, "b2": {"s1": (2, 2)}, "b3": {"s1": (2, 1)}}
    for b, hop in (("b1", "b2"), ("b2", "b3"), ("b3", "s1")):
        assert run[b].routing == (("f1", hop, "s1"), ("f2", hop, "s1"))
    assert run.quiescent
    assert run["b3"].subscribers == ("s1",)
    assert run["b1"].publishers == ("p1",)


def test_a_settled_start_is_what_the_flooded_subscriptions_of_start_none_settle_to():
    for protocol in PROTOCOLS:
        for links in ("queued", "instant"):
            options = {"subscribers": {"s1": {"at": "b3", "filters": ["f1", "f2"]}}, "protocol": protocol, "assume": {"client-links": links}}
            assert Run(**options, start="none").settle().state == Run(**options).state


def test_nobody_in_another_component_has_heard_of_a_settled_subscriber():
    run = Run([["b1", "b2"], ["b3", "b4"]], leaders=("b1", "b4"))
    assert run["b4"].routing == (("f1", "b3", "s1"),)
    assert (run["b1"].routing, run["b1"].timestamps) == ((), ())


@pytest.mark.parametrize("protocol", ["phoenix", "modular-2016"])
def test_without_timestamps_a_settled_subscriber_has_sent_nothing_and_none_are_kept(protocol):
    run = Run(protocol=protocol)
    assert (run["s1"].sent, run["b1"].timestamps, run["b1"].routing) == (0, (), (("f1", "b2", "s1"),))


def test_the_settled_tables_of_simple_routing_name_nobody():
    assert Run(protocol="simple-routing")["b1"].routing == (("f1", "b2", ""),)


def test_each_leader_follows_nobody_and_the_others_their_next_hop_to_it():
    run = Run([["b1", "b2"], ["b2", "b3"], ["b4", "b5"]], leaders=("b2", "b5"))
    assert dict(run["(overlay)"].parents) == {"b1": "b2", "b2": None, "b3": "b2", "b4": "b5", "b5": None}


def test_start_none_has_the_subscriptions_under_way_and_nobody_knows():
    run = Run(subscribers={"s1": {"at": "b3", "filters": ["f1", "f2"]}}, start="none")
    assert run.under_way() == {"s1→b3": (Sub("f1", "s1", 1, 0), Sub("f2", "s1", 2, 0))}
    assert (run["s1"].sent, run["b3"].routing, run.quiescent) == (2, (), False)


def test_start_none_over_instant_links_has_them_at_the_first_neighbour_already():
    run = Run(start="none", assume={"client-links": "instant"})
    assert run.under_way() == {"b3→b2": (Sub("f1", "s1", 1, 1),)}
    assert run["b3"].stamp("s1") == (1, 1)


# ---- clients ------------------------------------------------------------------------------------------

NOWHERE = {"s1": {"filters": ["f1", "f2"]}}


def test_a_first_attach_sends_sub_for_each_filter_and_a_later_one_mig_with_the_broker_before():
    run = Run(subscribers=NOWHERE, moves=("a: attach s1 b1", "b: detach s1 after a", "c: attach s1 b2 after b"))
    assert (run["s1"].attached, run["s1"].broker) == (False, None)
    run.do("attach s1 b1")
    assert run["s1→b1"] == (Sub("f1", "s1", 1, 0), Sub("f2", "s1", 2, 0))
    assert run["b1"].subscribers == ("s1",)
    run.settle().do("detach s1")
    assert (run["s1"].attached, run["s1"].broker, run["b1"].subscribers) == (False, "b1", ())
    run.do("attach s1 b2")
    assert run["s1→b2"] == (Mig("s1", "b1", 3, 0),)
    assert (run["s1"].sent, run["s1"].broker) == (3, "b2")


def test_attaching_again_where_it_was_names_that_broker():
    run = Run(moves=("a: detach s1", "b: attach s1 b3 after a")).do("detach s1", "attach s1 b3")
    assert run["s1→b3"] == (Mig("s1", "b3", 2, 0),)


def test_without_timestamps_what_a_subscriber_sends_bears_no_number():
    run = Run(moves=("a: detach s1", "b: attach s1 b1 after a"), protocol="phoenix").do("detach s1", "attach s1 b1")
    assert run["s1→b1"] == (Mig("s1", "b3", 0, 0),)


def test_a_subscriber_that_wants_nothing_says_nothing_the_first_time_and_mig_the_second():
    run = Run(subscribers={"s1": {"filters": []}}, moves=("a: attach s1 b1", "b: detach s1 after a", "c: attach s1 b2 after b"))
    run.do("attach s1 b1")
    assert run.under_way() == {}
    assert run.do("detach s1", "attach s1 b2")["s1→b2"] == (Mig("s1", "b1", 1, 0),)


def test_every_message_of_a_subscriber_takes_the_next_number_and_changes_while_detached_take_none():
    moves = ("a: subscribe s1 f2", "b: unsubscribe s1 f1 after a", "c: detach s1 after b", "d: subscribe s1 f1 after c", "e: attach s1 b3 after d")
    run = Run(moves=moves).do("subscribe s1 f2", "unsubscribe s1 f1")
    assert run["s1→b3"] == (Sub("f2", "s1", 2, 0), Uns("f1", "s1", 3, 0))
    run.do("detach s1", "subscribe s1 f1")
    assert (run["s1"].wants, run["s1"].sent, run.under_way()) == (("f1", "f2"), 3, {})
    assert run.do("attach s1 b3")["s1→b3"] == (Mig("s1", "b3", 4, 0),)


def test_on_filters_a_subscriber_asks_for_what_is_missing_and_gives_up_what_it_does_not_want():
    moves = ("a: detach s1", "b: subscribe s1 f2 after a", "c: unsubscribe s1 f1 after b", "d: attach s1 b2 after c")
    run = Run(moves=moves).do("detach s1", "subscribe s1 f2", "unsubscribe s1 f1", "attach s1 b2", "deliver s1 b2")
    assert run["b2→s1"] == (Filters(("f1",)),)
    run.do("deliver b2 s1")
    assert run["s1→b2"] == (Sub("f2", "s1", 3, 0), Uns("f1", "s1", 4, 0))
    run.settle()
    assert [run[b].filters("s1") for b in ("b1", "b2", "b3")] == [("f2",)] * 3
    assert (run["s1"].wants, run["s1"].asked) == (("f2",), ("f1", "f2"))


def test_over_instant_links_the_whole_conversation_is_in_the_step_that_attaches():
    moves = ("a: detach s1", "b: subscribe s1 f2 after a", "c: attach s1 b2 after b")
    run = Run(moves=moves, assume={"client-links": "instant"}).do("detach s1", "subscribe s1 f2", "attach s1 b2")
    assert run["b2"].filters("s1") == ("f1", "f2")
    assert run["s1"].sent == 3  # MIG, then SUB in answer to FILTERS
    assert run["b2→b1"] == (Sub("f2", "s1", 3, 1),)
    assert run["b2→b3"] == (Mig("s1", "b3", 2, 1), Sub("f2", "s1", 3, 1))


def test_attaching_wants_a_detached_client_and_detaching_an_attached_one():
    run = Run(moves=("a: attach s1 b1", "b: detach s1", "c: attach p1 b2", "d: detach p1"))
    assert (run.refused("attach s1"), run.refused("attach p1")) == ("s1 is detached", "p1 is detached")
    run = Run(subscribers=NOWHERE, publishers={"p1": {}}, moves=("b: detach s1", "d: detach p1", "e: publish e1"))
    assert (run.refused("detach s1"), run.refused("detach p1"), run.refused("publish")) == ("s1 is attached", "p1 is attached", "p1 is attached")


def test_subscribing_wants_a_filter_not_wanted_yet_and_unsubscribing_one_that_is():
    run = Run(moves=("a: subscribe s1 f1", "b: unsubscribe s1 f2"))
    assert (run.refused("subscribe"), run.refused("unsubscribe")) == ("s1 does not want f1", "s1 wants f2")


def test_what_reaches_a_subscriber_is_recorded_in_order():
    run = Run(moves=("a: publish e1", "b: publish e2 after a")).do("publish p1 e1", "publish p1 e2").settle()
    assert run["s1"].received == ("e1", "e2")
    assert run["p1"].published == ("e1", "e2")


def test_a_publisher_speaks_through_the_broker_that_it_is_attached_to_and_what_it_had_under_way_is_lost():
    run = Run(moves=("a: publish e1", "b: detach p1", "c: attach p1 b2", "d: publish e2")).do("publish p1 e1")
    assert run.under_way() == {"p1→b1": (E1,)}
    run.do("detach p1")
    assert (run.under_way(), run["b1"].publishers) == ({}, ())
    run.do("attach p1 b2", "publish p1 e2")
    assert (run.under_way(), run["b2"].publishers) == ({"p1→b2": (E2,)}, ("p1",))


# ---- radio --------------------------------------------------------------------------------------------------------


def test_a_reliable_radio_loses_nothing():
    assert not [s for s in Run(moves=("a: publish e1",), free={"losses": 1}).model.steps if s.kind is Kind.LOSS]


def radio(**assume: Any) -> Run:
    return Run(moves=("a: publish e1", "b: publish e2"), free={"losses": 1}, assume=assume).do("publish p1 e1", "deliver p1 b1")


def test_a_silent_loss_takes_the_head_of_a_channel_unseen_once_for_each_of_the_budget():
    run = radio(radio="silent").do("publish p1 e2", "deliver p1 b1")
    assert run["b1→b2"] == (E1, E2)
    run.do("lose b1 b2")
    assert (run["b1→b2"], run["b1"].queues) == ((E2,), ())
    assert (run.refused("lose b1 b2"), run.offered("lose")) == ("the radio may lose another message", [])


def test_a_detected_loss_is_learnt_by_the_sender_at_once_or_later():
    run = radio(radio="detected").do("lose b1 b2")
    assert (run["b1→b2"], run["b1"].queue("s1")) == ((), ("e1",))
    run = radio(radio="detected", bounce="later").do("lose b1 b2")
    assert (run["returned b1→b2"], run["b1"].queues) == ((E1,), ())
    assert run.do("return b2 b1")["b1"].queue("s1") == ("e1",)


def test_a_detected_loss_is_told_under_in_flight_lost_too():
    assert radio(**{"radio": "detected", "in-flight": "lost"}).do("lose b1 b2")["b1"].queue("s1") == ("e1",)


def test_a_detected_loss_is_sent_again_at_once_where_that_is_what_a_return_means():
    run = Run(moves=("a: publish e1",), free={"losses": 1}, assume={"radio": "detected"}, readings="amended")
    assert run.do("publish p1 e1", "deliver p1 b1", "lose b1 b2")["b1→b2"] == (Rep("e1", "s1"),)


def test_a_publisher_does_not_learn_of_a_loss():
    run = Run(moves=("a: publish e1",), free={"losses": 1}, assume={"radio": "detected"}).do("publish p1 e1", "lose p1 b1")
    assert (run.quiescent, run["b1"].queues, run["s1"].owed) == (True, (), ())


def test_only_the_lossy_kinds_are_lost():
    assert radio(radio="silent", lossy=["SUB", "REP"]).refused("lose b1 b2") == "PUB may be lost"
    assert radio(radio="silent", lossy=["PUB"]).offered("lose") == ["lose b1 b2"]


def test_losses_that_the_radio_may_still_cause_are_not_owed():
    run = radio(radio="silent")
    assert not run.spent
    assert run.do("publish p1 e2").spent


# ---- client links: queued and instant -------------------------------------------------------------------------------


def test_over_instant_links_publishing_runs_the_brokers_handler_and_a_delivery_is_recorded_at_once():
    run = Run([["b1", "b2"]], {"s1": {"at": "b1", "filters": ["f1"]}}, ("a: publish e1",), assume={"client-links": "instant"}).do("publish p1 e1")
    assert (run["s1"].received, run["s1"].owed, run.quiescent) == (("e1",), ("e1",), True)
    assert not [spec.name for spec in run.model.layout.slots if "→" in spec.name and ("s1" in spec.name or "p1" in spec.name)]


AGREE = [
    "overlap-queue", "broker-migration", "broker-migration-publish", "broker-migration-far", "child-above-parent", "merge-reroot",
    "client-then-broker", "client-there-and-back", "client-migration-publish", "shared-filter-unsubscribe", "filters-change-while-away",
    "crash-durable", "crash-volatile", "publisher-roams", "late-joiner",
]  # fmt: skip


@cache
def explored(scenario: str, links: str, readings: str) -> tuple[int, frozenset[str]]:
    given = answer(question(load_scenario(scenario), readings=readings, assumptions={"client-links": links}))
    return given.exploration.counts.states, frozenset(name for name, v in given.verdicts.items() if isinstance(v, Violated))


@pytest.mark.parametrize("readings", ["printed", "amended"])
@pytest.mark.parametrize("scenario", AGREE)
def test_on_small_scenarios_the_verdicts_over_instant_and_queued_links_are_the_same_with_no_more_states(scenario, readings):
    queued, instant = explored(scenario, "queued", readings), explored(scenario, "instant", readings)
    assert instant[0] <= queued[0]
    assert instant[1] == queued[1]


@pytest.mark.parametrize(
    ("scenario", "name"),
    [("overlap-queue", "no-duplicate"), ("broker-migration-far", "routing-converged"), ("child-above-parent", "eventual-quiescence")],
)
def test_the_known_faults_are_found_over_either_kind_of_client_link(scenario, name):
    assert name in explored(scenario, "queued", "printed")[1]
    assert name in explored(scenario, "instant", "printed")[1]


# ---- free budgets, quiescence, spent ----------------------------------------------------------------------------------


def test_a_free_detach_costs_one_and_the_attach_that_follows_goes_anywhere_for_nothing_and_is_not_owed():
    run = Run(subscribers={**S1_AT_B3, "s2": {"at": "b1", "filters": ["f1"]}}, free={"client-moves": 1})
    assert run.offered() == ["detach s1", "detach s2"]
    assert not run.spent
    run.do("detach s1")
    assert run.offered() == ["attach s1 b1", "attach s1 b2", "attach s1 b3"]
    assert run.spent
    assert run.refused("detach s2") == "free client-moves remain"
    run.do("attach s1 b1").settle()
    assert (run.offered(), run.spent) == ([], True)


def test_a_free_attach_is_for_who_left_on_a_free_move_alone():
    run = Run(subscribers={"s1": {"filters": ["f1"]}}, moves=("x: crash b3 durable",), free={"client-moves": 1})
    assert run.refused("attach s1 b1") == "s1 is on a free client move"


def test_a_free_detach_pays_for_the_one_attach_that_follows_also_when_that_is_a_move_of_the_scenario():
    run = Run(moves=("a: attach s1 b2", "b: detach s1 after a"), free={"client-moves": 1})
    free = next(step for step in run.model.steps if step.action == "detach" and "move" not in dict(step.arguments))
    run.state = fire(run.model, free, run.state)
    run.do("attach s1 b2 a", "detach s1 b")
    assert run.offered("attach") == []


def test_each_free_counter_pays_for_its_own_kind_alone():
    free = {"publish": 2, "link-failures": 1, "merges": 1, "crashes": 1, "volatile-crashes": 1}
    run = Run(free=free)
    assert len(run.offered("publish")) == 4
    run.do("publish p1 e1").settle()
    assert run.refused("publish p1 e1") == "e1 has not been published yet"
    run.do("publish p1 e3").settle()
    assert run.offered("publish") == []
    assert run.offered("link-down") == ["link-down b1–b2", "link-down b2–b3"]
    run.do("link-down b1–b2")
    assert run.offered("link-down") == []
    assert len(run.offered("merge")) == 4  # b1 with b2 or b3, either way round
    run.do("merge b2 b1").settle()
    assert run.offered("merge") == []
    run.do("crash b1 durable")
    assert {text.split()[2] for text in run.offered("crash")} == {"volatile"}
    assert not run.spent
    run.do("crash b3 volatile")
    assert (run.offered("crash"), run.spent) == ([], True)


def test_events_that_a_move_publishes_are_not_for_the_free_budget():
    run = Run(moves=("a: publish e1",), free={"publish": 9})
    assert run.offered("publish") == ["publish p1 e1 a", "publish p1 e2", "publish p1 e3", "publish p1 e4"]
    assert run["(environment)"].remaining("publish") == 3  # no more than there are events


def test_moves_happen_once_and_after_those_that_they_follow():
    run = Run(moves=("a: publish e1", "b: publish e2", "c: detach s1 after a, b"))
    assert run.refused("detach s1") == "c comes after a, b"
    run.do("publish p1 e2")
    assert run.refused("detach s1") == "c comes after a"
    run.do("publish p1 e1")
    assert run.refused("publish p1 e1") == "a has not fired yet"
    assert not run.spent
    run.do("detach s1")
    assert run.spent


def test_a_move_that_waits_for_quiescence_waits_for_channels_returns_and_turns():
    run = Run(moves=("a: publish e1", "b: detach s1 when quiescent")).do("publish p1 e1")
    assert run.refused("detach s1") == "the network is quiescent"
    run.settle().do("detach s1")
    run = Run(moves=("a: publish e1", "b: detach s1", "c: attach s1 b1 after b when quiescent"), assume={"bounce": "later"})
    run.do("publish p1 e1", "deliver p1 b1", "deliver b1 b2", "deliver b2 b3", "detach s1")
    assert (run.under_way(), run.refused("attach s1")) == ({"returned b3→s1": (E1,)}, "the network is quiescent")
    run.do("return s1 b3", "attach s1")
    run = merging("z: detach s1 when quiescent", reading={"reroot": "joiner-only"}).do("merge b6 b2", "turn b5", "deliver b6 b2")
    for text in run.offered("deliver"):
        run.do(text)
    assert run.refused("detach s1") == "the network is quiescent"
    run.settle().do("detach s1")


def test_environment_and_loss_steps_are_not_owed():
    run = Run(moves=("a: publish e1",), free={"losses": 1}, assume={"radio": "silent"})
    assert run.quiescent
    assert not run.spent
    kinds = {step.action: step.kind for step in run.model.steps}
    assert kinds == {"deliver": Kind.PROTOCOL, "turn": Kind.PROTOCOL, "publish": Kind.ENVIRONMENT, "lose": Kind.LOSS}


# ---- what a protocol knows ---------------------------------------------------------------------------------------------

KNOWN = [
    ("simple-routing", (("a: publish e1", "b: subscribe s1 f2", "c: unsubscribe s1 f1", "d: detach p1", "e: attach p1 b2"), {"publish": 1}), ()),
    ("simple-routing", (("b: detach s1", "c: attach s1 b2"), {}), ("detach", "attach")),
    ("simple-routing", ((), {"client-moves": 1}), ("detach",)),
    ("phoenix", (("b: detach s1", "c: attach s1 b2"), {"client-moves": 1}), ()),
    ("phoenix", (("a: link-down b1 b2", "b: migrate b2 b1", "c: crash b2 durable"), {}), ("link-down", "migrate", "crash")),
    ("phoenix-2016", ((), {"link-failures": 1, "broker-moves": 1, "merges": 1, "volatile-crashes": 1}), ("link-down", "migrate", "merge", "crash")),
    ("modular-2016", ((), {"link-failures": 1, "broker-moves": 1, "merges": 1, "volatile-crashes": 1, "crashes": 1}), ()),
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "asked", "unknown"), KNOWN)
def test_a_scenario_with_a_move_that_the_protocol_does_not_know_is_not_applicable(protocol, asked, unknown):
    moves, free = asked
    data = Run(moves=moves, free=free).world.scenario
    assert unknown_moves(data, PROTOCOLS[protocol]) == unknown
    why = question(data, protocol=protocol).why_not_applicable()
    assert why == (f"{protocol} does not know {', '.join(unknown)}" if unknown else None)


# ---- debts ------------------------------------------------------------------------------------------------------------


def test_a_debt_arises_when_the_publishers_broker_handles_the_event_for_each_subscriber_in_its_table():
    subscribers = {**S1_AT_B3, "s2": {"at": "b1", "filters": ["f2"]}, "s3": {"filters": ["f1"]}}
    run = Run(subscribers=subscribers, moves=("a: publish e1",)).do("publish p1 e1")
    assert [run[s].owed for s in ("s1", "s2", "s3")] == [(), (), ()]
    run.do("deliver p1 b1")
    assert [run[s].owed for s in ("s1", "s2", "s3")] == [("e1",), (), ()]  # s2 does not match; s3 wants it, and b1 does not know
    run.settle()
    assert [run[s].owed for s in ("s1", "s2", "s3")] == [("e1",), (), ()]


def test_a_debt_does_not_arise_at_brokers_on_the_way():
    run = Run(moves=("a: publish e3", "b: subscribe s1 f2")).do("publish p1 e3", "subscribe s1", "deliver s1 b3", "deliver b3 b2", "deliver p1 b1")
    assert run["b2"].filters("s1") == ("f1", "f2")
    assert run.settle()["s1"].owed == ()


def test_a_detached_subscriber_is_owed_what_its_entries_match():
    run = Run(moves=("a: detach s1", "b: publish e1")).do("detach s1", "publish p1 e1", "deliver p1 b1")
    assert run["s1"].owed == ("e1",)


def test_no_debt_arises_and_a_debt_is_void_once_no_wanted_filter_matches():
    run = Run(moves=("a: unsubscribe s1 f1", "b: publish e1", "c: publish e2")).do("publish p1 e2", "deliver p1 b1")
    assert run["s1"].owed == ("e2",)
    run.do("unsubscribe s1")
    assert run["s1"].owed == ()
    run.do("publish p1 e1", "deliver p1 b1")
    assert run["b1"].filters("s1") == ("f1",)
    assert run["s1"].owed == ()


def test_a_debt_stays_while_another_wanted_filter_matches():
    run = Run(subscribers={"s1": {"at": "b3", "filters": ["f1", "f2"]}}, moves=("a: unsubscribe s1 f1", "b: publish e4", "c: publish e1"))
    run.do("publish p1 e4", "publish p1 e1", "deliver p1 b1", "deliver p1 b1")
    assert run["s1"].owed == ("e1", "e4")
    assert run.do("unsubscribe s1")["s1"].owed == ("e4",)


def test_in_simple_routing_an_event_is_owed_to_each_that_wants_a_matching_filter_known_at_the_publishers_broker():
    subscribers = {**S1_AT_B3, "s2": {"at": "b1", "filters": ["f2"]}, "s3": {"filters": ["f1"]}}
    run = Run(subscribers=subscribers, moves=("a: publish e4", "b: publish e1"), protocol="simple-routing").do("publish p1 e4", "deliver p1 b1")
    assert [run[s].owed for s in ("s1", "s2", "s3")] == [("e4",), ("e4",), ("e4",)]
    run = Run(subscribers=NOWHERE, moves=("a: publish e1",), protocol="simple-routing").do("publish p1 e1", "deliver p1 b1")
    assert run["s1"].owed == ()


def test_in_simple_routing_an_event_is_not_owed_for_a_filter_that_the_publishers_broker_does_not_know():
    """b1 knows f1 of s1 when it handles e4, which f2 matches too; that s2 wants f2 has not come so far."""
    moves = ("a: publish e4", "b: subscribe s2 f2")
    run = Run(subscribers={**S1_AT_B3, "s2": {"at": "b3", "filters": []}}, moves=moves, protocol="simple-routing")
    run.do("subscribe s2 f2", "publish p1 e4", "deliver p1 b1")
    assert [run[s].owed for s in ("s1", "s2")] == [("e4",), ()]


def test_a_failed_send_is_lost_where_there_are_no_queues():
    run = Run([["b1", "b2"]], {"s1": {"at": "b1", "filters": ["f1"]}}, ("a: detach s1", "b: publish e1"), protocol="phoenix-2016")
    run.do("detach s1", "publish p1 e1", "deliver p1 b1")
    assert (run.quiescent, run["b1"].queues, run["s1"].owed) == (True, (), ("e1",))


# ---- what holds in every state of a walk ---------------------------------------------------------------------------------

WALKS = ["free-merge", "free-cut-and-merge", "free-crash", "free-star", "publisher-roams", "crash-volatile", "merge-reroot", "figure-1b-concurrent"]


@cache
def walked(scenario: str, links: str) -> tuple[Any, Model, tuple[State, ...]]:
    asked = question(load_scenario(scenario), assumptions={"client-links": links, "bounce": "later"})
    model = asked.model()
    return asked.world(), model, tuple(walk(model, seed=random.Random(scenario).randrange(1000), states=60))


@pytest.mark.parametrize("links", ["queued", "instant"])
@pytest.mark.parametrize("scenario", WALKS)
def test_the_overlay_stays_a_forest_and_brokers_clients_and_channels_agree_with_it(scenario, links):
    world, _, states = walked(scenario, links)
    for state in states:
        overlay, brokers = state[world.overlay], {b: state[slot] for b, slot in world.broker.items()}
        assert not overlay.links or nx.is_forest(nx.Graph(overlay.links))
        assert {b: i.neighbours for b, i in brokers.items()} == {b: overlay.neighbours(b) for b in brokers}
        for kind, slots in (("subscribers", world.subscriber), ("publishers", world.publisher)):
            clients = {c: state[slot] for c, slot in slots.items()}
            attached = {c: [b for b, i in brokers.items() if c in getattr(i, kind)] for c in clients}
            assert attached == {c: [client.broker] if client.attached else [] for c, client in clients.items()}
        for (u, v), slot in world.channel.items():
            broker, other = (u, v) if u in brokers else (v, u)
            assert not state[slot] or brokers[broker].is_up(other)


@pytest.mark.parametrize("links", ["queued", "instant"])
@pytest.mark.parametrize("scenario", WALKS)
def test_a_state_is_quiescent_exactly_when_no_protocol_step_can_fire_and_spent_when_no_move_is_left(scenario, links):
    world, model, states = walked(scenario, links)
    assert any(map(model.quiescent, states))
    for state in states:
        kinds = {step.kind for step, _ in enabled(model, state)}
        assert model.quiescent(state) == (Kind.PROTOCOL not in kinds)
        if spent(world, (state[world.budget],)):
            assert all(step.action == "attach" for step, _ in enabled(model, state) if step.kind is Kind.ENVIRONMENT)
