"""Semantics sections 2–4, point by point: who says what on attaching, what falls with a link, who learns of it and when, what moves wait for."""

from __future__ import annotations

import random
from functools import cache
from types import SimpleNamespace
from typing import Any

import networkx as nx
import pytest

from roamcheck.checker.check import answer
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.checker.verdict import Violated
from roamcheck.model.build import spent, unknown_moves
from roamcheck.model.interface import Disabled, Kind, Model, State, Step, fire
from roamcheck.model.scenario import from_data
from roamcheck.spec.messages import Bmig, BmigModular, Filters, Mig, Pub, Rep, Stamped, Sub, Uns
from roamcheck.spec.protocols import ALGORITHMS, PROTOCOLS
from support.footprints import enabled, walk

CHAIN = [["b1", "b2"], ["b2", "b3"]]
FORK = [["b1", "b2"], ["b1", "b3"]]
S1_AT_B3 = {"s1": {"at": "b3", "filters": ["f1"]}}
P1_AT_B1 = {"p1": {"at": "b1"}}
E1, E2 = Pub("e1"), Pub("e2")


class Run:
    """One run through a scenario of ours: f1 matches e1, e2 and e4, f2 matches e3 and e4."""

    def __init__(
        self,
        links: list[list[str]] = CHAIN,
        subscribers: dict[str, Any] | None = None,
        moves: tuple[str, ...] = (),
        *,
        leaders: tuple[str, ...] = ("b1",),
        publishers: dict[str, Any] | None = None,
        free: dict[str, int] | None = None,
        assume: dict[str, Any] | None = None,
        start: str = "settled",
        protocol: str = "mft-pubsub",
        readings: str = "printed",
        reading: dict[str, str] | None = None,
        algorithms: Any = None,
    ) -> None:
        publishers = P1_AT_B1 if publishers is None else publishers
        events = {f"e{k}": {"f1": k != 3, "f2": k > 2} for k in range(1, 5)}
        data = {
            "format": "roamcheck-scenario/1",
            "name": "test",
            "network": {"leaders": list(leaders), "links": links},
            "filters": {"f1": {"f1": True}, "f2": {"f2": True}},
            "subscribers": S1_AT_B3 if subscribers is None else subscribers,
            "publishers": publishers,
            "events": {name: {"from": "p1", "attributes": attributes} for name, attributes in events.items()} if publishers else {},
            "start": {"subscriptions": start},
            "moves": [parsed(text) for text in moves],
            "free": free or {},
            "assume": assume or {},
        }
        asked = question(from_data(data, "test"), protocol=protocol, readings=readings, reading=reading)
        self.world = asked.world(algorithms)
        self.model: Model = asked.model(algorithms)
        self.state: State = self.model.initial_states[0]

    def __getitem__(self, name: str) -> Any:
        """What a slot holds: run["b1→b2"]."""
        return self.state[self.model.layout.index(name)]

    def step(self, text: str) -> Step:
        """"deliver b1 b2": the step whose action and first arguments these are."""
        action, *arguments = text.split()
        found = [s for s in self.model.steps if s.action == action and [v for _, v in s.arguments][: len(arguments)] == arguments]
        assert found, text
        return found[0]

    def do(self, *texts: str) -> Run:
        """Fire these steps in turn."""
        for text in texts:
            after = fire(self.model, self.step(text), self.state)
            assert not isinstance(after, Disabled), f"{text}: {after}"
            self.state = after
        return self

    def refused(self, text: str) -> str:
        """The guard that fails."""
        after = fire(self.model, self.step(text), self.state)
        assert isinstance(after, Disabled), text
        return after.guard

    def offered(self, *actions: str) -> list[str]:
        """The steps that can fire, of these actions."""
        return [f"{s.action} {' '.join(v for _, v in s.arguments)}" for s, _ in enabled(self.model, self.state) if not actions or s.action in actions]

    def settle(self) -> Run:
        """Protocol steps, the first in order again and again, until none is owed."""
        for _ in range(300):
            after = next((after for s, after in enabled(self.model, self.state) if s.kind is Kind.PROTOCOL), None)
            if after is None:
                return self
            self.state = after
        raise AssertionError("does not settle")

    @property
    def quiescent(self) -> bool:
        return self.model.quiescent(self.state)

    @property
    def spent(self) -> bool:
        return self.model.spent(tuple(self.state[slot] for slot in self.model.budget))

    def under_way(self) -> dict[str, Any]:
        """The slots with messages in them."""
        slots = zip(self.model.layout.slots, self.state, strict=True)
        return {spec.name: value for spec, value in slots if "→" in spec.name and value}


def parsed(text: str) -> dict[str, Any]:
    """A move in one line: "id: migrate b3 b2 after other, another when quiescent"."""
    name, _, rest = text.partition(": ")
    rest, _, when = rest.partition(" when ")
    rest, _, after = rest.partition(" after ")
    do, *given = rest.split()
    client = "publisher" if given[0].startswith("p") else "subscriber"
    keys = {
        "publish": ["event"], "subscribe": ["subscriber", "filter"], "unsubscribe": ["subscriber", "filter"], "detach": [client],
        "attach": [client, "to"], "migrate": ["broker", "to"], "merge": ["broker", "to"], "crash": ["broker", "state"],
    }  # fmt: skip
    arguments: dict[str, Any] = {"link": given} if do == "link-down" else dict(zip(keys[do], given, strict=True))
    return {"id": name, "do": do, "after": after.split(", ") if after else [], **arguments, **({"when": when} if when else {})}


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


# ---- links that fall: detach, link-down -------------------------------------------------------------------


def full_channel(**options: Any) -> Run:
    """b3→s1 holds PUB(e1), FILTERS, PUB(e2); s1→b3 a SUB."""
    run = Run(moves=("a: detach s1", "b: publish e1", "c: publish e2", "d: subscribe s1 f2"), **options)
    run.do("publish p1 e1", "deliver p1 b1", "deliver b1 b2", "deliver b2 b3", "publish p1 e2", "deliver p1 b1", "deliver b1 b2", "deliver b2 b3")
    run.do("subscribe s1")
    slot = run.model.layout.index("b3→s1")
    assert run.state[slot] == (E1, E2)
    run.state = (*run.state[:slot], (E1, Filters(()), E2), *run.state[slot + 1 :])
    return run


def test_a_detach_gives_the_pubs_under_way_back_to_the_broker_and_loses_the_rest_both_ways():
    run = full_channel().do("detach s1")
    assert run["b3"].queue("s1") == ("e1", "e2")
    assert run.under_way() == {}
    assert run["b3"].subscribers == ()


def test_a_detach_loses_everything_under_in_flight_lost_and_for_protocols_without_queues():
    for options in ({"assume": {"in-flight": "lost"}}, {"protocol": "phoenix-2016"}):
        run = full_channel(**options).do("detach s1")
        assert (run["b3"].queues, run.under_way()) == ((), {})


def test_under_bounce_later_the_broker_learns_in_a_step_for_each_message_first_in_first_out():
    run = full_channel(assume={"bounce": "later"}).do("detach s1")
    assert run.under_way() == {"returned b3→s1": (E1, E2)}
    assert (run["b3"].queue("s1"), run.quiescent) == ((), False)
    run.do("return s1 b3")
    assert (run["b3"].queue("s1"), run.under_way()) == (("e1",), {"returned b3→s1": (E2,)})
    run.do("return s1 b3")
    assert (run["b3"].queue("s1"), run.quiescent) == (("e1", "e2"), True)


def test_under_bounce_later_the_broker_may_learn_after_the_subscriber_is_back():
    run = Run(moves=("a: detach s1", "b: publish e1", "c: attach s1 b3 after a"), assume={"bounce": "later"})
    run.do("publish p1 e1", "deliver p1 b1", "deliver b1 b2", "deliver b2 b3", "detach s1", "attach s1", "deliver s1 b3", "return s1 b3")
    assert run["b3"].queue("s1") == ("e1",)
    assert run.settle()["s1"].received == ()


def test_protocols_without_queues_have_no_returns_even_later():
    assert not [s for s in Run(protocol="modular-2016", assume={"bounce": "later"}).model.steps if s.action == "return"]


def crossing(**options: Any) -> Run:
    """On the link b1–b2 a PUB each way, and a SUB from b2 to b1."""
    subscribers = {"s1": {"at": "b2", "filters": ["f1"]}, "s2": {"at": "b1", "filters": ["f2"]}}
    moves = ("a: publish e4", "b: subscribe s1 f2", "c: link-down b1 b2")
    run = Run([["b1", "b2"]], subscribers, moves, **options).do("publish p1 e4", "deliver p1 b1", "subscribe s1", "deliver s1 b2")
    slot = run.model.layout.index("b2→b1")
    run.state = (*run.state[:slot], (*run.state[slot], Rep("e3", "s2")), *run.state[slot + 1 :])
    assert ([type(m) for m in run["b1→b2"]], [type(m) for m in run["b2→b1"]]) == ([Pub], [Sub, Rep])
    return run


def test_both_ends_of_a_fallen_link_drop_each_other_get_their_pubs_and_reps_back_and_lose_the_rest():
    run = crossing().do("link-down b1–b2")
    assert (run["b1"].neighbours, run["b2"].neighbours) == ((), ())
    assert (run["b1"].queues, run["b2"].queues) == ((("s1", ("e4",)),), (("s2", ("e3",)),))
    assert (run["b1→b2"], run["b2→b1"]) == ((), ())
    assert run["b1"].filters("s1") == ("f1",)  # the SUB is gone
    assert run["(overlay)"].links == ()
    assert run["(overlay)"].parent("b2") == "b1"  # the b_o of its next migration


def test_a_fallen_link_gives_nothing_back_under_in_flight_lost():
    run = crossing(assume={"in-flight": "lost"}).do("link-down b1–b2")
    assert (run["b1"].queues, run["b2"].queues, run["b2→b1"]) == ((), (), ())


def test_under_bounce_later_each_end_of_a_fallen_link_learns_by_itself():
    run = crossing(assume={"bounce": "later"}).do("link-down b1–b2")
    assert (run["returned b1→b2"], run["returned b2→b1"]) == ((Pub("e4"),), (Rep("e3", "s2"),))
    assert sorted(run.offered("return")) == ["return b1 b2", "return b2 b1"]
    run.do("return b1 b2")
    assert (run["b1"].queues, run["b2"].queues) == ((), (("s2", ("e3",)),))


def test_a_link_that_is_down_cannot_fall():
    run = crossing()
    slot = run.model.layout.index("(overlay)")
    run.state = (*run.state[:slot], run["(overlay)"].without_link("b1", "b2"), *run.state[slot + 1 :])
    assert run.refused("link-down b1–b2") == "the link b1–b2 is up"


def test_what_comes_back_may_be_sent_another_way_at_once():
    """s1 has left b3 for b1 and b2 knows; then the link b2–b3 falls with the event on it."""
    moves = ("a: publish e1", "b: detach s1", "c: attach s1 b1 after b", "d: link-down b2 b3")
    run = Run(moves=moves, readings="amended").do("publish p1 e1", "deliver p1 b1", "deliver b1 b2", "detach s1", "attach s1 b1")
    run.do("deliver s1 b1", "deliver b1 b2")
    assert run["b2→b3"][0] == Pub("e1", ("s1",))
    run.do("link-down b2–b3")
    assert run["b2→b1"] == (Rep("e1", "s1"),)


# ---- migrate -----------------------------------------------------------------------------------------------


def spied(seen: list[Any]) -> dict[str, Any]:
    """The printed algorithms, which note when a broker learns of a return and when it migrates, and its neighbours then."""

    def on_return(i: Any, y: Any, m: Any, rules: Any) -> Any:
        seen.append((f"{i.me} learns that {y} did not get {m.event}", i.neighbours))
        return ALGORITHMS["returns"].on_return(i, y, m, rules)

    def migrate(i: Any, b_o: Any, b_n: Any, rules: Any) -> Any:
        seen.append((f"{i.me} migrates from {b_o} to {b_n}", i.neighbours))
        return ALGORITHMS["alg5_migrate"].migrate(i, b_o, b_n, rules)

    return {**ALGORITHMS, "returns": SimpleNamespace(on_return=on_return), "alg5_migrate": SimpleNamespace(migrate=migrate)}


FORKED = {"s1": {"at": "b1", "filters": ["f1"]}, "s3": {"at": "b3", "filters": ["f2"]}}


def crossing_migrant(**options: Any) -> Run:
    """b3 has PUB(e1) under way to b1, and b1 REP(e3) to b3; b3 may migrate to b2."""
    run = Run(FORK, FORKED, ("a: publish e1", "b: migrate b3 b2"), publishers={"p1": {"at": "b3"}}, **options).do("publish p1 e1", "deliver p1 b3")
    slot = run.model.layout.index("b1→b3")
    run.state = (*run.state[:slot], (Rep("e3", "s3"),), *run.state[slot + 1 :])
    assert [m.event for m in run["b3→b1"]] == ["e1"]
    return run


def test_a_migration_drops_the_old_link_then_handles_its_returns_then_the_new_link_comes_up_then_the_algorithm_runs():
    seen: list[Any] = []
    run = crossing_migrant(algorithms=spied(seen)).do("migrate b3 b2")
    assert seen == [("b3 learns that b1 did not get e1", ()), ("b1 learns that b3 did not get e3", ("b2",)), ("b3 migrates from b1 to b2", ("b2",))]
    assert run["b3→b2"] == (Bmig((Stamped("s3", 1, 1),), (Stamped("s1", 1, 2),), 0), Rep("e1", "s1"))  # what came back is replayed
    assert run["b1"].queue("s3") == ("e3",)
    assert (run["b1"].neighbours, run["b2"].neighbours, run["b3"].neighbours) == (("b2",), ("b1", "b3"), ("b2",))
    assert (run["b1→b3"], run["b3→b1"]) == ((), ())
    assert run["(overlay)"].links == (("b1", "b2"), ("b2", "b3"))
    assert run["(overlay)"].parent("b3") == "b2"


def test_under_bounce_later_a_migrant_learns_of_its_returns_after_it_has_migrated():
    seen: list[Any] = []
    run = crossing_migrant(assume={"bounce": "later"}, algorithms=spied(seen)).do("migrate b3 b2")
    assert [what for what, _ in seen] == ["b3 migrates from b1 to b2"]
    assert (run["returned b3→b1"], run["returned b1→b3"]) == ((E1,), (Rep("e3", "s3"),))
    run.do("return b1 b3")
    assert run["b3"].queues == ()  # reading return-to = table: no entry leads through b1 any more
    run = crossing_migrant(assume={"bounce": "later"}, readings="amended").do("migrate b3 b2", "return b1 b3")
    assert run["b3→b2"][-1] == Rep("e1", "s1")


def test_a_broker_whose_link_fell_before_migrates_from_its_last_parent():
    seen: list[Any] = []
    run = Run(FORK, FORKED, ("a: link-down b1 b3", "b: migrate b3 b2 after a"), algorithms=spied(seen)).do("link-down b1–b3", "migrate b3 b2")
    assert seen == [("b3 migrates from b1 to b2", ("b2",))]
    assert run["b3"].next_hops("s1") == ("b2",)


def test_modular_migrates_with_its_attached_subscribers():
    run = Run(FORK, FORKED, ("b: migrate b3 b2",), protocol="modular").do("migrate b3 b2")
    assert run.under_way() == {"b3→b2": (BmigModular(("s3",), "b3"),)}


def test_a_migration_goes_neither_into_the_own_branch_nor_to_the_parent_that_it_has():
    run = Run([["b1", "b2"], ["b2", "b3"], ["b3", "b4"]], moves=("a: migrate b2 b4", "b: migrate b2 b1", "c: migrate b1 b4", "d: migrate b2 b3"))
    assert run.refused("migrate b2 b4") == "b4 is not in the branch of b2"
    assert run.refused("migrate b2 b3") == "b3 is not in the branch of b2"
    assert run.refused("migrate b2 b1") == "b1 is not the parent of b2 already"
    assert run.refused("migrate b1 b4") == "b4 is not in the branch of b1"  # the leader's branch is all that it leads


def test_a_broker_may_come_back_to_the_parent_that_it_lost():
    run = Run(moves=("a: link-down b2 b3", "b: migrate b3 b2 after a")).do("link-down b2–b3", "migrate b3 b2")
    assert run["(overlay)"].links == (("b1", "b2"), ("b2", "b3"))


def test_a_free_broker_move_goes_anywhere_that_keeps_a_forest_and_costs_one():
    run = Run([["b1", "b2"], ["b2", "b3"], ["b4", "b5"]], leaders=("b1", "b4"), free={"broker-moves": 1})
    offered = {tuple(text.split()[1:]) for text in run.offered("migrate")}
    assert offered == {
        ("b1", "b4"), ("b1", "b5"), ("b2", "b4"), ("b2", "b5"), ("b3", "b1"), ("b3", "b4"), ("b3", "b5"),
        ("b4", "b1"), ("b4", "b2"), ("b4", "b3"), ("b5", "b1"), ("b5", "b2"), ("b5", "b3"),
    }  # fmt: skip
    run.do("migrate b3 b1")
    assert (run.offered("migrate"), run.refused("migrate b3 b2"), run.spent) == ([], "free broker-moves remain", True)


# ---- merge ---------------------------------------------------------------------------------------------------

TWO = [["b1", "b2"], ["b3", "b4"], ["b4", "b5"], ["b5", "b6"]]  # b6 – b5 – b4 – b3, led by b3
FAR = {"s1": {"at": "b3", "filters": ["f1"]}, "s2": {"at": "b1", "filters": ["f2"]}}


def merging(*more: str, **options: Any) -> Run:
    return Run(TWO, FAR, ("m: merge b6 b2", *more), leaders=("b1", "b3"), **options)


@pytest.mark.parametrize("reroot", ["every-changed-hop", "joiner-only"])
def test_after_a_merge_the_next_hops_turn_round_one_broker_at_a_time_up_to_the_old_leader(reroot):
    seen: list[Any] = []
    run = merging(reading={"reroot": reroot}, algorithms=spied(seen)).do("merge b6 b2")
    assert run["(overlay)"].is_up("b6", "b2")
    assert (run["b6"].neighbours, run["b2"].neighbours) == (("b2", "b5"), ("b1", "b6"))
    assert run["b6→b2"] == (Bmig((), (Stamped("s1", 1, 4),), 0),)
    for b, towards in (("b5", "b6"), ("b4", "b5"), ("b3", "b4")):
        assert list(run["(overlay)"].next_turns().items()) == [(b, towards)]
        run.do(f"turn {b}")
        assert run["(overlay)"].parent(b) == towards
    assert run["(overlay)"].next_turns() == {}
    assert dict(run["(overlay)"].parents) == {"b1": None, "b2": "b1", "b3": "b4", "b4": "b5", "b5": "b6", "b6": "b2"}
    migrants = ["b6 migrates from b5 to b2", "b5 migrates from b4 to b6", "b4 migrates from b3 to b5", "b3 migrates from None to b4"]
    assert [what for what, _ in seen] == (migrants if reroot == "every-changed-hop" else migrants[:1])


def test_pending_turns_are_owed():
    run = merging(reading={"reroot": "joiner-only"}, protocol="modular").do("merge b6 b2")
    for text in ("turn b5", "turn b4", "turn b3"):
        slots = run.under_way()
        run.state = tuple(() if spec.name in slots else value for spec, value in zip(run.model.layout.slots, run.state, strict=True))
        assert not run.quiescent
        run.do(text)
    assert run.quiescent


def test_turns_are_cut_short_by_a_link_on_the_path_that_falls():
    run = merging("d: link-down b3 b4").do("merge b6 b2", "link-down b3–b4", "turn b5", "turn b4")
    assert (run.offered("turn"), run.refused("turn b3")) == ([], "the heartbeat of a new leader has reached its neighbour")
    assert run["(overlay)"].parent("b3") is None
    run = merging("d: link-down b5 b6").do("merge b6 b2", "link-down b5–b6")
    assert run.offered("turn") == []
    assert run["(overlay)"].parent("b5") == "b4"


def test_a_leader_that_joins_turns_nobody():
    seen: list[Any] = []
    run = Run(TWO, FAR, ("m: merge b3 b2",), leaders=("b1", "b3"), algorithms=spied(seen)).do("merge b3 b2")
    assert run.offered("turn") == []
    assert [what for what, _ in seen] == ["b3 migrates from None to b2"]


BELOW = "the parent kept since the link fell counts as the next hop to the leader again, although that broker now follows this one"


def below_its_own_child() -> Run:
    """b3 breaks off b2 and leads; then b2 leaves b1 and hangs itself below b3; then b3 may merge with b1."""
    run = Run(moves=("a: link-down b2 b3", "b: migrate b2 b3 after a", "c: merge b3 b1 after b"))
    run.do("link-down b2–b3", "migrate b2 b3")
    assert run["(overlay)"].links == (("b2", "b3"),)
    assert run["(overlay)"].parent("b2") == "b3"
    return run.settle()


@pytest.mark.xfail(strict=True, reason=BELOW)
def test_a_broker_that_broke_off_and_is_joined_from_above_still_leads_its_branch():
    assert below_its_own_child()["(overlay)"].path_to_leader("b3") == ("b3",)


@pytest.mark.xfail(strict=True, reason=BELOW)
def test_a_merge_of_a_broker_that_leads_turns_nobody_even_if_its_former_parent_follows_it_now():
    run = below_its_own_child().do("merge b3 b1")
    assert run["(overlay)"].next_turns() == {}


def test_a_merge_joins_two_components_and_waits_until_an_earlier_one_has_turned():
    run = Run([*TWO, ["b7", "b8"]], FAR, ("m: merge b6 b2", "n: merge b7 b1", "o: merge b5 b6"), leaders=("b1", "b3", "b7"))
    assert run.refused("merge b5 b6") == "b5 and b6 are in different components"
    run.do("merge b6 b2")
    assert run.refused("merge b7 b1") == "no earlier merge is still turning next hops"
    run.settle().do("merge b7 b1")


# ---- crash -----------------------------------------------------------------------------------------------------

TO_B2 = {"s1": {"at": "b3", "filters": ["f1"]}, "s2": {"at": "b2", "filters": ["f1"]}}


def crashing(state: str, *more: str, **options: Any) -> Run:
    """b2 has PUB(e1) under way to b3 and to s2, and b1 PUB(e2) to b2, when b2 may crash."""
    moves = ("a: publish e1", "b: publish e2", f"c: crash b2 {state}", *more)
    run = Run(CHAIN, TO_B2, moves, **options).do("publish p1 e1", "deliver p1 b1", "deliver b1 b2", "publish p1 e2", "deliver p1 b1")
    assert set(run.under_way()) == {"b1→b2", "b2→b3", "b2→s2"}
    return run


def test_a_durable_crash_drops_all_links_and_clients_at_once_and_keeps_what_the_broker_knows_and_learns():
    run = crashing("durable")
    before = run["b2"]
    run.do("crash b2")
    assert [run[b].neighbours for b in ("b1", "b2", "b3")] == [(), (), ()]
    assert (run["(overlay)"].links, run["(overlay)"].parent("b2"), run["(overlay)"].parent("b3")) == ((), "b1", "b2")
    assert (run["s2"].attached, run["s2"].broker, run["b2"].subscribers) == (False, "b2", ())
    assert (run["b2"].routing, run["b2"].timestamps) == (before.routing, before.timestamps)
    assert dict(run["b2"].queues) == {"s1": ("e1",), "s2": ("e1",)}
    assert dict(run["b1"].queues) == {"s1": ("e2",), "s2": ("e2",)}
    assert run.under_way() == {}


def test_a_volatile_crash_empties_tables_timestamps_queues_and_parent():
    run = crashing("volatile").do("crash b2")
    assert (run["b2"].routing, run["b2"].timestamps, run["b2"].queues) == ((), (), ())
    assert run["(overlay)"].parent("b2") is None
    assert dict(run["b1"].queues) == {"s1": ("e2",), "s2": ("e2",)}


def test_nothing_that_comes_back_to_a_crashing_broker_is_sent_over_a_link_that_falls_too():
    """s1 has left b1 for b3 and b2 knows; what b2 had under way to b1 would go to b3 at once."""
    moves = ("a: publish e1", "b: detach s1", "c: attach s1 b3 after b", "d: crash b2 durable", "e: link-down b1 b2")
    options = {"publishers": {"p1": {"at": "b2"}}, "readings": "amended"}
    before = ("publish p1 e1", "deliver p1 b2", "detach s1", "attach s1 b3", "deliver s1 b3", "deliver b3 b2")
    run = Run(CHAIN, {"s1": {"at": "b1", "filters": ["f1"]}}, moves, **options).do(*before, "link-down b1–b2")
    assert run["b2→b3"] == (Rep("e1", "s1"),)
    run = Run(CHAIN, {"s1": {"at": "b1", "filters": ["f1"]}}, moves, **options).do(*before, "crash b2")
    assert (run["b2→b3"], run["b2"].queue("s1")) == ((), ("e1",))


def test_under_bounce_later_a_crashed_broker_and_its_neighbours_learn_later():
    run = crashing("durable", assume={"bounce": "later"}).do("crash b2")
    assert run.under_way() == {"returned b1→b2": (E2,), "returned b2→b3": (E1,), "returned b2→s2": (E1,)}
    assert (run["b1"].queues, run["b2"].queues) == ((), ())


def test_a_crash_over_instant_links_detaches_the_clients():
    run = Run(CHAIN, TO_B2, ("c: crash b2 durable",), publishers={"p1": {"at": "b2"}}, assume={"client-links": "instant"}).do("crash b2")
    assert [run["s1"].attached, run["s2"].attached, run["p1"].attached] == [True, False, False]
    assert (run["b2"].subscribers, run["b2"].publishers) == ((), ())


def test_a_crashed_broker_comes_back_by_migrate_from_its_parent_or_from_nowhere():
    for state, old in (("durable", "b1"), ("volatile", None)):
        seen: list[Any] = []
        run = crashing(state, "d: migrate b2 b1 after c", algorithms=spied(seen)).do("crash b2", "migrate b2 b1")
        assert seen[-1] == (f"b2 migrates from {old} to b1", ("b1",))
        assert run["(overlay)"].is_up("b1", "b2")


def test_a_crashed_broker_comes_back_by_merge_or_by_attach():
    run = crashing("volatile", "d: merge b2 b3 after c", "e: attach s2 b2 after c").do("crash b2", "merge b2 b3", "attach s2 b2")
    assert (run["b2"].neighbours, run["b2"].subscribers) == (("b3",), ("s2",))
    assert run["s2→b2"] == (Mig("s2", "b2", 2, 0),)
    run = crashing("durable", "d: merge b3 b2 after c").do("crash b2", "merge b3 b2")
    assert run["(overlay)"].parent("b3") == "b2"


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


AGREE = ["overlap-queue", "broker-migration", "broker-migration-publish", "broker-migration-far", "child-above-parent", "merge-reroot"]


@cache
def explored(scenario: str, links: str, readings: str) -> tuple[int, frozenset[str]]:
    given = answer(question(load_scenario(scenario), readings=readings, assumptions={"client-links": links}))
    return given.exploration.counts.states, frozenset(name for name, v in given.verdicts.items() if isinstance(v, Violated))


@pytest.mark.parametrize("readings", ["printed", "amended"])
@pytest.mark.parametrize("scenario", AGREE)
def test_instant_links_have_no_more_states_and_violate_nothing_that_queued_links_do_not(scenario, readings):
    queued, instant = explored(scenario, "queued", readings), explored(scenario, "instant", readings)
    assert instant[0] <= queued[0]
    assert instant[1] <= queued[1]


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
