"""Each reading of semantics section 5, each value: what it makes a broker do.  The table below is the section's, in the section's words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.model.interface import State, fire
from roamcheck.spec.algorithms import (
    alg1_mobile_clients,
    alg2_replay,
    alg4_timestamped_clients,
    alg5_migrate,
    alg6_bmig,
    alg7_consistency,
    returns,
    rp16_alg2_dynamic_clients,
)
from roamcheck.spec.messages import Bmig, Bquery, Bsub, Entry, Filters, Mig, Pub, Rep, Stamped, Sub, Timestamp, Uns
from roamcheck.spec.protocols import PROTOCOLS, behaviour
from roamcheck.spec.readings import PRINTED, READINGS, Readings
from roamcheck.spec.rules import EndlessStep, Rules
from roamcheck.spec.state import Broker, Send
from support.runs import FAR, TWO, Run

MATCHING: Any = {"e1": frozenset({"f1", "f2"})}


def rules(readings: Readings) -> Rules:
    return Rules(readings, MATCHING)


def broker(*, up: str = "", clients: str = "", R: str = "", T: dict[str, tuple[int, int]] | None = None, Q: dict[str, str] | None = None) -> Broker:
    """b1 with links to the brokers `up`, the subscribers `clients` attached, R as "f1 b2 s1, …"."""
    given: Any = Broker("b1", tuple(up.split()), tuple(clients.split()), ())
    for entry in filter(None, R.split(", ")):
        given = given.with_entry(*entry.split())
    for s, stamp in (T or {}).items():
        given = given.heard(s, *stamp)
    for s, events in (Q or {}).items():
        given = given.with_queue(s, events.split())
    return given


def hops(i: Broker, s: str = "s1") -> tuple[str, ...]:
    return i.next_hops(s)


def sends(reaction: Any) -> list[tuple[str, Any]]:
    return [tuple(send) for send in reaction.sends]


def what_a_second_merge_waits_for(readings: Readings) -> list[str | None]:
    """b6 has joined b2, and b5, b4, b3 are still to turn: why another merge there, one elsewhere, and that there once they have, may not be."""
    links = [*TWO, ["b7", "b8"], ["b9", "c1"]]
    moves = ("m: merge b6 b2", "n: merge b7 b1", "o: merge b9 b8")
    leaders = ("b1", "b3", "b7", "b9")
    run = Run(links, FAR, moves, leaders=leaders, reading={"merges": readings.merges}).do("merge b6 b2")
    return [run.why("merge b7 b1"), run.why("merge b9 b8"), run.settle().why("merge b7 b1")]


def when_the_budget_is_spent(readings: Readings) -> list[bool]:
    """With the only move done: while a message may still be lost, and when it has been."""
    assume = {"radio": "silent"}
    run = Run(moves=("a: publish e1",), free={"losses": 1}, assume=assume, reading={"losses-left": readings.losses_left}).do("publish p1 e1")
    return [run.spent, run.do("lose p1 b1").spent]


def mig_targets(handler: Any, i: Broker, z: str, m: Mig, readings: Readings) -> list[str]:
    return [send.to for send in handler(i, z, m, rules(readings)).sends if isinstance(send.message, Mig)]


# ---- queue, flush, rep-route --------------------------------------------------------------------------


def queued_for_a_detached_subscriber_of_two_matching_filters(readings: Readings) -> Any:
    i, _ = alg1_mobile_clients.on_pub(broker(up="b2", R="f1 s1 s1, f2 s1 s1"), "b2", Pub("e1"), rules(readings))
    return i.queues


def queued_for_two_subscribers_behind_a_link_that_is_down(readings: Readings) -> Any:
    i, _ = alg1_mobile_clients.on_pub(broker(R="f1 b2 s1, f1 b2 s2, f2 b2 s2"), "p1", Pub("e1"), rules(readings))
    return i.queues


def a_queue_towards_an_interface_that_is_down(readings: Readings) -> Any:
    try:
        i, sent = alg2_replay.send_queued_messages(broker(Q={"s1": "e1 e2"}), "s1", "b2", rules(readings))
    except EndlessStep:
        return "does not terminate"
    return i.queues, sent


def a_rep_whose_next_hop_is_up_down_absent_or_the_sender(readings: Readings) -> Any:
    rep = Rep("e1", "s1")
    answers = []
    for i in (broker(up="b2 b3", R="f1 b3 s1"), broker(up="b2", R="f1 b3 s1"), broker(up="b2"), broker(up="b2", R="f1 b2 s1")):
        after, sent = alg2_replay.on_rep(i, "b2", rep, rules(readings))
        answers.append((after.queues, [send.to for send in sent]))
    return answers


# ---- MIG ------------------------------------------------------------------------------------------------


def a_mig_whose_old_next_hop_is_no_neighbour_or_the_sender(readings: Readings) -> Any:
    """From b2; s1 was last at b9.  The old next hop is b3, which is down; b3, which is up; b2."""
    cases = (broker(up="b2", R="f1 b3 s1"), broker(up="b2 b3", R="f1 b3 s1"), broker(up="b2 b3", R="f1 b2 s1"))
    alg1 = [mig_targets(alg1_mobile_clients.on_mig, i, "b2", Mig("s1", "b9"), readings) for i in cases]
    alg4 = [mig_targets(alg4_timestamped_clients.on_mig, i, "b2", Mig("s1", "b9", 2, 1), readings) for i in cases]
    return alg1, alg4


def mig_stops(handler: Any, t: int) -> Callable[[Readings], Any]:
    """From b2.  s1 names b1 itself, whose next hop is b3; names b9 where the next hop is b3; names b9 where it is b2, the sender."""

    def observe(readings: Readings) -> Any:
        on, back = broker(up="b2 b3", R="f1 b3 s1"), broker(up="b2 b3", R="f1 b2 s1")
        asked = ((on, "b1"), (on, "b9"), (back, "b9"))
        return [mig_targets(handler, i, "b2", Mig("s1", previous, t, t), readings) for i, previous in asked]

    return observe


def a_stale_mig_or_bsub(readings: Readings) -> Any:
    """T_1(s1) = (3, 2), next hop b3.  From b2: MIG with t = 2, BSUB with t = 2, MIG with t = 3 and h = 5 (as new, but farther); MIG from s1."""
    i = broker(up="b2 b3", clients="s1", R="f1 b3 s1", T={"s1": (3, 2)})
    mig, bsub = alg4_timestamped_clients.on_mig, alg7_consistency.on_bsub
    answers = (
        mig(i, "b2", Mig("s1", "b9", 2, 1), rules(readings)),
        bsub(i, "b2", Bsub("s1", ("f2",), Timestamp(2, 1), 0), rules(readings)),
        mig(i, "b2", Mig("s1", "b9", 3, 5), rules(readings)),
        mig(i, "s1", Mig("s1", "b9", 2, 0), rules(readings)),
    )
    assert all(answer.broker == i for answer in answers)
    return [sends(answer) for answer in answers]


def a_message_as_new_and_as_far_as_what_is_stored(readings: Readings) -> Any:
    """T_1(s1) = (3, 2) came with h = 1; is a SUB, UNS, MIG with (3, 1) news, and one with (3, 0)?"""
    i = broker(up="b2 b3", R="f1 b3 s1", T={"s1": (3, 2)})
    news = []
    for h in (1, 0):
        for handler, m in (
            (alg4_timestamped_clients.on_sub, Sub("f2", "s1", 3, h)),
            (alg4_timestamped_clients.on_uns, Uns("f1", "s1", 3, h)),
            (alg4_timestamped_clients.on_mig, Mig("s1", "b9", 3, h)),
        ):
            news.append(handler(i, "b2", m, rules(readings)).broker != i)
    return news


# ---- broker mobility -------------------------------------------------------------------------------------


def who_accepts_a_child_known_equally_well(readings: Readings) -> Any:
    """T_1(s1) = (1, stored); BMIG from b2 says s1 is h_j from its head, h hops away.  Entry through b3, through s1 attached, through s1 detached."""
    answers = []
    for entry, clients in (("b3", ""), ("s1", "s1"), ("s1", "")):
        row = []
        for stored, h, h_j in ((3, 0, 2), (3, 1, 4), (3, 4, 1)):
            i = broker(up="b2 b3", clients=clients, R=f"f1 {entry} s1", T={"s1": (1, stored)})
            after = alg6_bmig.on_bmig(i, "b2", Bmig((Stamped("s1", 1, h_j),), (), h), rules(readings)).broker
            row.append("accepts" if hops(after) == ("b2",) else "refuses")
        answers.append(row)
    return answers


def a_child_that_the_sender_knows_better(readings: Readings) -> Any:
    """T_1(s1) = (1, 2) through b3; BMIG from b2 says (2, 4)."""
    i = broker(up="b2 b3", R="f1 b3 s1", T={"s1": (1, 2)})
    answer = alg6_bmig.on_bmig(i, "b2", Bmig((Stamped("s1", 2, 4),), (), 1), rules(readings))
    assert answer.broker.stamp("s1") == (1, 2)
    return hops(answer.broker), sends(answer)


MIGRANT = {"R": "f1 b2 s2, f1 b3 s3, f1 b4 s4, f1 b5 s5, f1 s1 s1, f1 s6 s6", "T": {f"s{k}": (1, k) for k in range(1, 8)}}


def sets_of_a_migration_from_b2_to_b5(up: str) -> Callable[[Readings], Any]:
    """s2 … s5 are reached through b2 … b5, s1 is attached, s6 is not and yet reached directly, s7 is heard of and has no entry."""

    def observe(readings: Readings) -> Any:
        i = broker(up=up, clients="s1", **MIGRANT)
        after, sent = alg5_migrate.migrate(i, "b2", "b5", rules(readings))
        ((to, bmig),) = sent
        assert (to, bmig.h) == ("b5", 0)
        assert all(stamp == (s, 1, int(s[1])) for stamp in (*bmig.children, *bmig.others) for s in stamp[:1])
        C, O = (" ".join(s for s, _, _ in stamped) for stamped in (bmig.children, bmig.others))
        turned = " ".join(s for s in i.known() if hops(after, s) != hops(i, s))
        return f"C: {C}; O: {O}; turned to b5: {turned}"

    return observe


def what_is_said_to_a_broker_that_is_itself_the_next_hop(readings: Readings) -> Any:
    """BQUERY, BMIG l.22, l.30, l.35, l.38, and a stale MIG, all from b2, which is the next hop of s1; the last asks about s2, reached through b3."""
    i = broker(up="b2 b3", R="f1 b2 s1, f1 b3 s2", T={"s1": (3, 2), "s2": (3, 2)})
    bmig, query = alg6_bmig.on_bmig, alg7_consistency.on_bquery
    named = (Stamped("s2", 3, 1),)
    answers = (
        query(i, "b2", Bquery("s1", 1, 1), rules(readings)),
        bmig(i, "b2", Bmig((Stamped("s1", 2, 1),), (), 1), rules(readings)),
        bmig(i, "b2", Bmig((Stamped("s1", 3, 1),), (), 9), rules(readings.with_values({"hop-test": "message"}))),
        bmig(i, "b2", Bmig((), (Stamped("s1", 2, 1),), 1), rules(readings)),
        bmig(i, "b2", Bmig((), named, 0), rules(readings)),
        alg4_timestamped_clients.on_mig(i, "b2", Mig("s1", "b9", 2, 1), rules(readings.with_values({"stale-mig": "answer"}))),
        query(i, "b2", Bquery("s2", 1, 1), rules(readings)),
    )
    return [[send.to for send in answer.sends if isinstance(send.message, Bsub)] for answer in answers]


# ---- returns ------------------------------------------------------------------------------------------------


def for_whom_a_pub_comes_back(readings: Readings) -> Any:
    """PUB(e1) was sent to b2 for s1 and s4.  Now s1 is reached through b3, s2 (by two filters) and s3 through b2; s4 has no entry."""
    i = broker(R="f1 b3 s1, f1 b2 s2, f2 b2 s2, f1 b2 s3, f3 b2 s5")
    after, _ = returns.on_return(i, "b2", Pub("e1", ("s1", "s4")), rules(readings))
    return after.queues


def whom_a_pub_is_sent_for(readings: Readings) -> Any:
    i = broker(up="b2 b3", R="f1 b2 s2, f2 b2 s2, f1 b2 s1, f1 b3 s3")
    return sends(alg1_mobile_clients.on_pub(i, "p1", Pub("e1"), rules(readings)))


def what_becomes_of_what_comes_back(readings: Readings) -> Any:
    """A REP and a PUB for s1 come back from b2, where the next hop is b3 and up; then down."""
    answers = []
    for up in ("b3", ""):
        for m in (Rep("e1", "s1"), Pub("e1", ("s1",))):
            chosen = readings.with_values({"return-to": "original"})
            answer = returns.on_return(broker(up=up, R="f1 b3 s1"), "b2", m, rules(chosen))
            answers.append((answer.broker.queues, sends(answer)))
    return answers


# ---- merges, the journal's slip --------------------------------------------------------------------------


def who_migrates_when_next_hops_turn_round(readings: Readings) -> Any:
    """merge-reroot: b4 joins b2, and b3, whose parent becomes b4, turns round.  Who has sent BMIG before the next delivery?"""
    asked = question(load_scenario("merge-reroot"), protocol="modular", reading={"reroot": readings.reroot})
    model = asked.model()
    state = model.initial_states[0]
    for action in ("merge", "turn"):
        (state,) = [after for step in model.steps if step.action == action and isinstance(after := fire(model, step, state), tuple)]
    assert parent_of(model, state, "b3") == "b4"
    return [spec.name for spec, value in zip(model.layout.slots, state, strict=True) if "→" in spec.name and value]


def parent_of(model: Any, state: State, b: str) -> Any:
    return state[model.layout.index("(overlay)")].parent(b)


def where_the_journals_mig_stops(readings: Readings) -> Any:
    """The first argument of MIG is the broker at which it stops, not a filter."""
    acts = behaviour(PROTOCOLS["mft-pubsub-2023"])
    i = broker(up="b2 b3", R="f1 b3 s1")
    return [mig_targets(acts.handle, i, "b2", Mig("s1", previous, 2, 1), readings) for previous in ("b1", "b9")]


BSUB_S1 = [("b2", Bsub("s1", ("f1",), Timestamp(3, 2), 0))]
BQUERY_S1 = ("b2", Bquery("s1", 1, 2))
REP = [("b3", Rep("e1", "s1"))]
KEPT, NONE = (("s1", ("e1",)),), ()
STOPS = {"named-broker": [[], ["b3"], ["b2"]], "routing-table": [["b3"], ["b3"], []]}
ALL_UP, OLD_DOWN, ONLY_NEW = "b2 b3 b4 b5", "b3 b4 b5", "b3 b5"

# reading → examples: what is observed, and what it is under each value.
ACTS: dict[str, list[tuple[Callable[[Readings], Any], dict[str, Any]]]] = {
    "queue": [
        (queued_for_a_detached_subscriber_of_two_matching_filters, {"per-entry": (("s1", ("e1", "e1")),), "per-subscriber": (("s1", ("e1",)),)}),
        (
            queued_for_two_subscribers_behind_a_link_that_is_down,
            {"per-entry": (("s1", ("e1",)), ("s2", ("e1", "e1"))), "per-subscriber": (("s1", ("e1",)), ("s2", ("e1",)))},
        ),
    ],
    "flush": [(a_queue_towards_an_interface_that_is_down, {"return": ((("s1", ("e1", "e2")),), ()), "spin": "does not terminate"})],
    "rep-route": [
        (
            a_rep_whose_next_hop_is_up_down_absent_or_the_sender,
            {"table-or-queue": [(NONE, ["b3"]), (KEPT, []), (KEPT, []), (NONE, ["b2"])]},
        ),
    ],
    "mig-next-hop": [
        (a_mig_whose_old_next_hop_is_no_neighbour_or_the_sender, {"neighbour-only": ([[], ["b3"], ["b2"]], [[], ["b3"], ["b2"]])}),
    ],
    "mig-stop": [
        (mig_stops(alg4_timestamped_clients.on_mig, 1), STOPS),
        (mig_stops(alg1_mobile_clients.on_mig, 0), STOPS),
        (mig_stops(rp16_alg2_dynamic_clients.on_mig, 0), STOPS),
    ],
    "stale-mig": [(a_stale_mig_or_bsub, {"drop": [[], [], [], []], "answer": [BSUB_S1, BSUB_S1, [], []]})],
    "guard-hop": [
        (a_message_as_new_and_as_far_as_what_is_stored, {"message": [True] * 6, "path": [False] * 3 + [True] * 3}),
    ],
    "hop-test": [
        (
            who_accepts_a_child_known_equally_well,
            {
                "message": [["accepts", "accepts", "refuses"]] * 3,
                "path": [["accepts", "refuses", "refuses"]] * 3,
                "home": [["accepts"] * 3, ["refuses"] * 3, ["refuses"] * 3],
            },
        ),
    ],
    "newer-child": [
        (
            a_child_that_the_sender_knows_better,
            {
                "reroute-now": (("b2",), [BQUERY_S1, ("b3", Bmig((Stamped("s1", 1, 4),), (), 2))]),
                "await-answer": (("b3",), [BQUERY_S1]),
            },
        ),
    ],
    "old-set": [
        (  # re-rooting: b2 is still a neighbour
            sets_of_a_migration_from_b2_to_b5(ALL_UP),
            {"parent": "C: s1 s3 s4 s5 s6; O: s2; turned to b5: s2", "dead-hop": "C: s1 s2 s3 s4 s6; O: s5; turned to b5: "},
        ),
        (  # b2 and b4 are gone
            sets_of_a_migration_from_b2_to_b5(ONLY_NEW),
            {"parent": "C: s1 s3 s4 s5 s6; O: s2; turned to b5: s2", "dead-hop": "C: s1 s3 s6; O: s2 s4 s5; turned to b5: s2 s4"},
        ),
    ],
    "children": [
        (
            sets_of_a_migration_from_b2_to_b5(ONLY_NEW),
            {
                "all-but-old": "C: s1 s3 s4 s5 s6; O: s2; turned to b5: s2",
                "neither-old-nor-new": "C: s1 s3 s4 s6; O: s2; turned to b5: s2",
                "live": "C: s1 s3 s6; O: s2; turned to b5: s2",
            },
        ),
    ],
    "announce": [
        (
            sets_of_a_migration_from_b2_to_b5(OLD_DOWN),
            {"routed": "C: s1 s3 s4 s5 s6; O: s2; turned to b5: s2", "known": "C: s1 s3 s4 s5 s6; O: s2 s7; turned to b5: s2"},
        ),
    ],
    "split-horizon": [
        (what_is_said_to_a_broker_that_is_itself_the_next_hop, {"off": [["b2"]] * 7, "on": [[]] * 6 + [["b2"]]}),
    ],
    "return-to": [
        (for_whom_a_pub_comes_back, {"table": (("s2", ("e1",)), ("s3", ("e1",))), "original": (("s1", ("e1",)), ("s4", ("e1",)))}),
        (
            whom_a_pub_is_sent_for,
            {"table": [("b2", Pub("e1")), ("b3", Pub("e1"))], "original": [("b2", Pub("e1", ("s1", "s2"))), ("b3", Pub("e1", ("s3",)))]},
        ),
    ],
    "on-return": [
        (
            what_becomes_of_what_comes_back,
            {"queue": [(KEPT, [])] * 4, "reroute": [(NONE, REP), (NONE, REP), (KEPT, []), (KEPT, [])]},
        ),
    ],
    "reroot": [
        (who_migrates_when_next_hops_turn_round, {"every-changed-hop": ["b3→b4", "b4→b2"], "joiner-only": ["b4→b2"]}),
    ],
    "mig-argument": [(where_the_journals_mig_stops, {"b": [[], ["b3"]]})],
    "merges": [
        (
            what_a_second_merge_waits_for,
            {"wait": ["no earlier merge is still turning next hops there", None, None], "at-once": [None, None, None]},
        ),
    ],
    "losses-left": [(when_the_budget_is_spent, {"spent": [True, True], "not-spent": [False, True]})],
}  # fmt: skip
EXAMPLES = [(name, index, value) for name, examples in ACTS.items() for index, (_, expected) in enumerate(examples) for value in expected]


@pytest.mark.parametrize(("name", "index", "value"), EXAMPLES)
def test_a_value_makes_a_broker_do_what_the_table_says(name: str, index: int, value: str) -> None:
    observe, expected = ACTS[name][index]
    assert observe(PRINTED.with_values({name: value})) == expected[value]


@pytest.mark.parametrize("name", ACTS)
def test_every_value_of_the_reading_has_an_outcome_unlike_the_others(name: str) -> None:
    (reading,) = [reading for reading in READINGS if reading.name == name]
    for _, expected in ACTS[name]:
        assert tuple(expected) == reading.values
    for one, other in combinations(reading.values, 2):
        assert any(expected[one] != expected[other] for _, expected in ACTS[name])


def test_every_reading_has_an_example() -> None:
    assert list(ACTS) == [reading.name for reading in READINGS if reading.only is None]  # the others: test_mftr_ingredients.py


# ---- what a reading leaves alone ---------------------------------------------------------------------------


def test_the_client_gets_filters_and_not_its_own_mig_under_either_mig_stop() -> None:
    i = broker(up="b2", clients="s1", R="f1 s1 s1")
    for value in ("named-broker", "routing-table"):
        chosen = rules(PRINTED.with_values({"mig-stop": value}))
        answer = alg4_timestamped_clients.on_mig(i, "s1", Mig("s1", "b9", 2, 0), chosen)
        assert sends(answer) == [("s1", Filters(("f1",)))]


def test_under_split_horizon_silence_is_for_the_next_hop_alone_and_an_unknown_subscriber_is_still_answered_for() -> None:
    i = broker(up="b2", T={"s1": (3, 2)})
    chosen = rules(PRINTED.with_values({"split-horizon": "on"}))
    answer = alg7_consistency.on_bquery(i, "b2", Bquery("s1", 1, 1), chosen)
    assert sends(answer) == [("b2", Bsub("s1", (), Timestamp(3, 2), 0))]


def test_what_comes_back_reaches_a_queue_once_for_each_subscriber_even_with_two_matching_filters() -> None:
    for value in ("table", "original"):
        i = broker(R="f1 b2 s1, f2 b2 s1")
        answer = returns.on_return(i, "b2", Pub("e1", ("s1",)), rules(PRINTED.with_values({"return-to": value})))
        assert answer.broker.queues == KEPT


def test_a_protocol_without_queues_keeps_nothing_that_comes_back_under_any_reading() -> None:
    for return_to in ("table", "original"):
        for on_return in ("queue", "reroute"):
            chosen = replace(rules(PRINTED.with_values({"return-to": return_to, "on-return": on_return})), queues=False)
            i = broker(up="b3", R="f1 b2 s1")
            assert returns.on_return(i, "b2", Pub("e1", ("s1",)), chosen) == (i, ())


def test_entries_and_sends_compare_with_what_the_tests_write_down() -> None:
    assert broker(R="f1 b2 s1").routing == (Entry("f1", "b2", "s1"),)
    assert Send("b2", Pub("e1")) == ("b2", Pub("e1"))
