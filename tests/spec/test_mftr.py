"""MFTR Algorithms 1–4, the repaired protocol: b1, which has s1 behind b2 and s2 attached, opened the link to b3 and was opened one to by b2."""

from __future__ import annotations

from typing import Any

import pytest

from roamcheck.spec.algorithms import mftr_alg1_turns as alg1
from roamcheck.spec.algorithms import mftr_alg2_events as alg2
from roamcheck.spec.algorithms import mftr_alg3_filters as alg3
from roamcheck.spec.algorithms import mftr_alg4_links as alg4
from roamcheck.spec.arrow_state import HOST, JOINER, ArrowBroker
from roamcheck.spec.messages import (
    LOST,
    BmigOnce,
    BqueryNumber,
    BsubClaim,
    Filters,
    Mig,
    Numbered,
    Pub,
    PubFor,
    Sub,
    SubSince,
    Turn,
    Uns,
    UnsSince,
)
from roamcheck.spec.readings import PRINTED
from roamcheck.spec.rules import Rules

MATCHING: Any = {"e1": frozenset({"f1"}), "e2": frozenset({"f2"})}
RULES = Rules(PRINTED, MATCHING)
START: Any = ArrowBroker.fresh("b1", ("b2", "b3"), ("s2",), (), "b3")  # type: ignore[arg-type]
B: Any = START.with_entry("f1", "b2", "s1").heard("s1", 2).with_entry("f1", "s2", "s2").heard("s2", 1)


def sends(reaction: Any) -> list[tuple[str, Any]]:
    return [tuple(send) for send in reaction[1]]


def at(i: Any, s: str = "s1") -> tuple[Any, ...]:
    """P(s), F(s), T(s)."""
    return i.direction(s), i.filters(s), i.number(s)


# ---- the state ---------------------------------------------------------------------------------------


def test_the_table_of_the_papers_is_the_filters_with_the_next_hop_and_a_next_hop_may_outlive_them() -> None:
    assert B.greeted == (("b2", HOST), ("b3", JOINER))
    moved = B.directed("s1", "b3")
    assert [tuple(entry) for entry in moved.routing] == [("f1", "b3", "s1"), ("f1", "s2", "s2")]
    assert at(moved.with_filters("s1", ())) == ("b3", (), 2)
    assert B.unlinked("b2").greeted == (("b3", JOINER),)
    assert (B.is_home("s2"), B.is_home("s1"), B.unlinked("s2").is_home("s2")) == (True, False, False)


# ---- Algorithm 1 -------------------------------------------------------------------------------------


def test_a_turn_runs_along_the_old_next_hop_and_takes_the_queue_with_it_lines_5_to_7() -> None:
    i, sent = alg1.turn(B.enqueued("e1", "s1"), "s1", "b3", RULES)
    assert (i.direction("s1"), i.queues) == ("b3", ())
    assert [tuple(one) for one in sent] == [("b2", Turn(("s1",))), ("b3", PubFor("e1", ("s1",)))]


def test_a_turn_to_where_one_points_already_only_flushes_and_nothing_is_sent_where_the_old_hop_is_lost_lines_2_and_6() -> None:
    assert alg1.turn(B, "s1", "b2", RULES) == (B, ())
    lost = B.directed("s1", LOST)
    assert alg1.turn(lost, "s1", "b3", RULES) == (lost.directed("s1", "b3"), ())
    assert alg1.flush(lost.enqueued("e1", "s1"), "s1") == (lost.enqueued("e1", "s1"), ())


def test_home_refuses_and_answers_with_the_reversal_lines_3_and_4() -> None:
    assert sends(alg1.on_turn(B, "b2", Turn(("s2",)), RULES)) == [("b2", Turn(("s2",)))]
    assert alg1.on_turn(B, "b2", Turn(("s2",)), RULES).broker == B
    away = B.unlinked("s2")
    assert alg1.on_turn(away, "b2", Turn(("s2",)), RULES).broker.direction("s2") == "b2"  # type: ignore[attr-defined]


def test_those_for_one_next_hop_go_in_one_turn_and_a_subscriber_never_heard_of_in_none_lines_6_and_16() -> None:
    i = B.with_entry("f1", "b2", "s3")
    assert sends(alg1.on_turn(i, "b3", Turn(("s1", "s3", "s9")), RULES)) == [("b2", Turn(("s1", "s3")))]


@pytest.mark.parametrize(("z", "number", "heeded"), [("b3", 2, False), ("b2", 2, True), ("b3", 0, True)])
def test_of_claims_that_cross_the_host_takes_the_joiners_line_13(z: str, number: int, heeded: bool) -> None:
    i = B.directed("s1", LOST).heard("s1", number)
    assert (alg1.claim(i, "s1", z, RULES)[0].direction("s1") == z) == heeded  # type: ignore[arg-type]


def test_what_was_reached_over_a_link_that_falls_is_lost_lines_18_to_20() -> None:
    i: Any = alg1.fall(B.unlinked("b2"), "b2", RULES)  # type: ignore[arg-type]
    assert (i.direction("s1"), i.direction("s2")) == (LOST, "s2")


# ---- Algorithm 2 -------------------------------------------------------------------------------------


def test_an_event_is_matched_once_and_split_at_branches_lines_21_to_30() -> None:
    i = B.with_entry("f1", "b2", "s3").with_entry("f2", "b3", "s4").with_entry("f1", LOST, "s5")
    given: Any = alg2.on_pub_of_publisher(i, "p1", Pub("e1"), RULES)  # type: ignore[arg-type]
    assert sends(given) == [("b2", PubFor("e1", ("s1", "s3"))), ("s2", Pub("e1"))]
    assert given.broker.queues == (("s5", ("e1",)),)
    assert sends(alg2.on_pub(i, "b3", PubFor("e1", ("s1",)), RULES)) == [("b2", PubFor("e1", ("s1",)))]  # type: ignore[arg-type]


def test_what_comes_back_is_routed_again_from_a_client_too_lines_31_and_32() -> None:
    assert sends(alg2.on_return(B, "b9", PubFor("e1", ("s1", "s2")), RULES)) == [  # type: ignore[arg-type]
        ("b2", PubFor("e1", ("s1",))), ("s2", Pub("e1")),
    ]  # fmt: skip
    away = alg1.fall(B.unlinked("s2"), "s2", RULES)  # type: ignore[arg-type]
    assert alg2.on_return(away, "s2", Pub("e1"), RULES).broker.queues == (("s2", ("e1",)),)  # type: ignore[arg-type]
    assert alg2.on_return(B, "b2", Turn(("s1",)), RULES) == (B, ())  # type: ignore[arg-type]


# ---- Algorithm 3 -------------------------------------------------------------------------------------


def test_a_subscriber_that_comes_turns_its_next_hop_and_is_told_its_filters_lines_33_to_35() -> None:
    i = B.joined_by("s1")
    given = alg3.on_mig(i, "s1", Mig("s1", "b9", 3, 0), RULES)  # type: ignore[arg-type]
    assert sends(given) == [("s1", Filters(("f1",))), ("b2", Turn(("s1",)))]
    assert at(given.broker) == ("s1", ("f1",), 2)


def test_what_it_says_is_flooded_with_the_number_that_it_was_made_from_lines_36_to_41() -> None:
    given = alg3.on_change_of_subscriber(B, "s2", Sub("f2", "s2", 4, 0), RULES)  # type: ignore[arg-type]
    assert sends(given) == [("b2", SubSince("f2", "s2", 4, 1)), ("b3", SubSince("f2", "s2", 4, 1))]
    assert at(given.broker, "s2") == ("s2", ("f1", "f2"), 4)
    given = alg3.on_change_of_subscriber(given.broker, "s2", Uns("f1", "s2", 5, 0), RULES)  # type: ignore[arg-type]
    assert at(given.broker, "s2") == ("s2", ("f2",), 5)
    assert sends(given)[0] == ("b2", UnsSince("f1", "s2", 5, 4))


def test_a_change_is_applied_on_its_base_asked_about_on_another_and_dropped_when_old_lines_45_to_53() -> None:
    given = alg3.on_change(B, "b2", SubSince("f2", "s1", 3, 2), RULES)  # type: ignore[arg-type]
    assert (at(given.broker), sends(given)) == (("b2", ("f1", "f2"), 3), [("b3", SubSince("f2", "s1", 3, 2))])
    given = alg3.on_change(B, "b2", SubSince("f2", "s1", 4, 3), RULES)  # type: ignore[arg-type]
    assert (given.broker, sends(given)) == (B, [("b2", BqueryNumber("s1", 2))])
    assert alg3.on_change(B, "b2", SubSince("f2", "s1", 2, 1), RULES) == (B, ())  # type: ignore[arg-type]
    home = alg3.on_change(B, "b2", UnsSince("f1", "s2", 3, 1), RULES)  # type: ignore[arg-type]
    assert sends(home) == [("b3", UnsSince("f1", "s2", 3, 1)), ("s2", Filters(()))]


def test_all_filters_at_once_are_a_claim_on_where_they_are_news_lines_54_to_65() -> None:
    given = alg3.on_bsub(B, "b2", BsubClaim("s9", ("f1",), 3, True), RULES)  # type: ignore[arg-type]
    assert (at(given.broker, "s9"), sends(given)) == (("b2", ("f1",), 3), [("b3", BsubClaim("s9", ("f1",), 3, True))])
    given = alg3.on_bsub(B, "b2", BsubClaim("s9", ("f1",), 3, False), RULES)  # type: ignore[arg-type]
    assert at(given.broker, "s9") == (LOST, ("f1",), 3)
    given = alg3.on_bsub(B, "b2", BsubClaim("s1", ("f2",), 3, False), RULES)  # type: ignore[arg-type]
    assert (at(given.broker), sends(given)) == (("b2", ("f2",), 3), [("b3", BsubClaim("s1", ("f2",), 3, False))])
    assert alg3.on_bsub(B, "b2", BsubClaim("s1", ("f2",), 2, False), RULES) == (B, ())  # type: ignore[arg-type]
    home = alg3.on_bsub(B, "b2", BsubClaim("s2", ("f2",), 3, False), RULES)  # type: ignore[arg-type]
    assert sends(home)[-1] == ("s2", Filters(("f2",)))


def test_a_query_is_answered_where_more_is_known_lines_66_to_68() -> None:
    assert sends(alg3.on_bquery(B, "b3", BqueryNumber("s1", 1), RULES)) == [("b3", BsubClaim("s1", ("f1",), 2, False))]  # type: ignore[arg-type]
    assert alg3.on_bquery(B, "b3", BqueryNumber("s1", 2), RULES) == (B, ())  # type: ignore[arg-type]


# ---- Algorithm 4 -------------------------------------------------------------------------------------


def test_who_opens_a_link_points_the_lost_at_the_host_with_what_is_queued_lines_72_to_82() -> None:
    i = B.linked("b4").directed("s1", LOST).enqueued("e1", "s1").directed("s7", LOST)  # s7: half known
    given = alg4.migrate(i, "b9", "b4", RULES)  # type: ignore[arg-type]
    bmig = BmigOnce((Numbered("s2", 1),), (Numbered("s1", 2),))  # type: ignore[arg-type]
    assert sends(given) == [("b4", bmig), ("b4", PubFor("e1", ("s1",)))]
    assert (given.broker.direction("s1"), given.broker.role("b4")) == ("b4", JOINER)  # type: ignore[attr-defined]


def test_the_host_turns_compares_and_claims_lines_83_to_96() -> None:
    i = B.linked("b4").with_entry("f1", "b3", "s3").heard("s3", 1).with_entry("f1", "b3", "s5").heard("s5", 5)
    bmig = BmigOnce((Numbered("s1", 3), Numbered("s2", 1)), (Numbered("s5", 4), Numbered("s9", 1)))  # type: ignore[arg-type]
    given = alg4.on_bmig(i, "b4", bmig, RULES)  # type: ignore[arg-type]
    assert sends(given) == [
        ("b2", Turn(("s1",))),
        ("b4", Turn(("s2",))),  # home
        ("b4", BqueryNumber("s1", 2)),
        ("b4", BsubClaim("s5", ("f1",), 5, False)),
        ("b4", BqueryNumber("s9", 0)),
        ("b4", BsubClaim("s3", ("f1",), 1, True)),
    ]
    j: Any = given.broker
    assert (j.role("b4"), j.direction("s1"), j.direction("s2"), j.direction("s9")) == (HOST, "b4", "s2", LOST)


def test_a_host_floods_nothing_over_a_link_that_is_not_greeted() -> None:
    given = alg3.on_change_of_subscriber(B.linked("b4"), "s2", Sub("f2", "s2", 4, 0), RULES)  # type: ignore[arg-type]
    assert [to for to, _ in sends(given)] == ["b2", "b3"]
