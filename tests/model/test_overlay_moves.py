"""Links that fall, migrations, merges and crashes, point by point (semantics sections 3 and 4)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from roamcheck.spec.messages import Bmig, BmigModular, Filters, Mig, Pub, Rep, Stamped, Sub
from roamcheck.spec.protocols import ALGORITHMS
from support.runs import CHAIN, E1, E2, FAR, FORK, TWO, Run, merging

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


def below_its_own_child() -> Run:
    """b3 breaks off b2 and leads; then b2 leaves b1 and hangs itself below b3; then b3 may merge with b1."""
    run = Run(moves=("a: link-down b2 b3", "b: migrate b2 b3 after a", "c: merge b3 b1 after b"))
    run.do("link-down b2–b3", "migrate b2 b3")
    assert run["(overlay)"].links == (("b2", "b3"),)
    assert run["(overlay)"].parent("b2") == "b3"
    return run.settle()


def test_a_broker_that_broke_off_and_is_joined_from_above_still_leads_its_branch():
    assert below_its_own_child()["(overlay)"].path_to_leader("b3") == ("b3",)


def test_a_merge_of_a_broker_that_leads_turns_nobody_even_if_its_former_parent_follows_it_now():
    run = below_its_own_child().do("merge b3 b1")
    assert run["(overlay)"].next_turns() == {}


def test_a_merge_joins_two_components_and_waits_until_an_earlier_one_has_turned():
    run = Run([*TWO, ["b7", "b8"]], FAR, ("m: merge b6 b2", "n: merge b7 b1", "o: merge b5 b6"), leaders=("b1", "b3", "b7"))
    assert run.refused("merge b5 b6") == "b5 and b6 are in different components"
    run.do("merge b6 b2")
    assert run.refused("merge b7 b1") == "no earlier merge is still turning next hops there"
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
