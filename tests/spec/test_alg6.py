"""TR19 Algorithm 6: BMIG from b2 reaches b1, which has T_1(s2) = (3, 2) by way of b3."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roamcheck.spec.algorithms import alg6_bmig as alg6
from roamcheck.spec.messages import INFINITE, Bmig, Bquery, Bsub, Entry, Rep, Stamped, Timestamp
from roamcheck.spec.readings import PRINTED
from roamcheck.spec.rules import Reaction, Rules
from roamcheck.spec.state import Broker, Send

RULES = Rules(PRINTED)


def entries(text: str = "") -> tuple[Entry, ...]:
    """R_i from "f1 b2 s1, …"."""
    return tuple(sorted(Entry(*entry.split()) for entry in text.split(", ") if entry))


def stamps(**known: tuple[int, int]) -> Any:
    """T_i from s1=(t, h), …"""
    return tuple(sorted((s, Timestamp(*stamp)) for s, stamp in known.items()))


def stamped(text: str = "") -> tuple[Stamped, ...]:
    """C_j or O_j from "s2 3 1, …": s, t, h_j."""
    return tuple(Stamped(s, int(t), int(h)) for s, t, h in (one.split() for one in text.split(", ") if one))


def bmig(children: str, others: str, h: int) -> Bmig:
    return Bmig(stamped(children), stamped(others), h)


B = Broker("b1", ("b2", "b3", "b4"), ("s1",), (), entries("f1 b3 s2"), stamps(s2=(3, 2)))
BSUB_S2 = Bsub("s2", ("f1",), Timestamp(3, 2), 0)


@pytest.mark.parametrize("h", [0, 1, 5])
def test_a_child_that_j_knows_better_is_asked_about_turned_and_forwarded_with_the_own_number_lines_16_to_19(h: int) -> None:
    expected = replace(B, routing=entries("f1 b2 s2"))
    sends = (Send("b2", Bquery("s2", 3, 2)), Send("b3", bmig("s2 3 7", "", h + 1)))
    assert alg6.on_bmig(B, "b2", bmig("s2 4 7", "", h), RULES) == Reaction(expected, sends)


@pytest.mark.parametrize("h", [0, 5])
def test_a_child_never_heard_of_is_asked_about_and_has_no_entry_to_turn(h: int) -> None:
    i = replace(B, routing=(), timestamps=())
    assert alg6.on_bmig(i, "b2", bmig("s5 1 1", "", h), RULES) == Reaction(i, (Send("b2", Bquery("s5", 0, INFINITE)),))


@pytest.mark.parametrize("h", [0, 1, 5])
@pytest.mark.parametrize("t", [2, 1])
def test_a_child_that_i_knows_better_is_answered_with_bsub_and_stays_lines_20_to_22(t: int, h: int) -> None:
    assert alg6.on_bmig(B, "b2", bmig(f"s2 {t} 1", "", h), RULES) == Reaction(B, (Send("b2", BSUB_S2),))


@pytest.mark.parametrize(("h", "h_j"), [(0, 1), (1, 1), (2, 1), (2, 9)])
def test_a_child_known_equally_well_and_h_within_the_hops_is_turned_timed_and_forwarded_lines_23_to_27(h: int, h_j: int) -> None:
    expected = replace(B, routing=entries("f1 b2 s2"), timestamps=stamps(s2=(3, h + h_j + 1)))
    assert alg6.on_bmig(B, "b2", bmig(f"s2 3 {h_j}", "", h), RULES) == Reaction(expected, (Send("b3", bmig(f"s2 3 {h_j}", "", h + 1)),))


@pytest.mark.parametrize(("h", "h_j"), [(3, 1), (3, 9), (7, 1)])
def test_a_child_known_equally_well_and_h_beyond_the_hops_is_answered_with_bsub_and_stays_lines_28_to_30(h: int, h_j: int) -> None:
    assert alg6.on_bmig(B, "b2", bmig(f"s2 3 {h_j}", "", h), RULES) == Reaction(B, (Send("b2", BSUB_S2),))


@pytest.mark.parametrize("h", [0, 1])
@pytest.mark.parametrize(
    ("others", "sends"),
    [
        pytest.param("s2 4 1", [Bquery("s2", 3, 2)], id="j is newer: asked"),
        pytest.param("s5 1 1", [Bquery("s5", 0, INFINITE)], id="never heard of: asked"),
        pytest.param("s2 2 1", [BSUB_S2], id="i is newer: told"),
        pytest.param("s2 3 1", [], id="equal: nothing, though j is closer"),
        pytest.param("s2 3 9", [], id="equal: nothing, though i is closer"),
    ],
)
def test_the_rest_are_compared_by_number_alone_and_stay_where_they_are_lines_31_to_35(others: str, sends: list[Any], h: int) -> None:
    i = B if "s2" in others else replace(B, routing=(), timestamps=())
    assert alg6.on_bmig(i, "b2", bmig("", others, h), RULES) == Reaction(i, tuple(Send("b2", m) for m in sends))


@pytest.mark.parametrize(
    ("children", "others", "h", "told"),
    [
        pytest.param("", "", 0, ["s2", "s3"], id="the first to hear of it tells of all that neither list names"),
        pytest.param("", "", 1, [], id="no other does"),
        pytest.param("s2 3 1", "", 0, ["s3"], id="but for those in C_j"),
        pytest.param("", "s2 3 1", 0, ["s3"], id="and those in O_j"),
        pytest.param("s2 3 1", "s3 5 1", 0, [], id="nobody when all are named"),
    ],
)
def test_the_first_broker_tells_of_those_it_knows_and_neither_list_names_lines_36_to_38(children: str, others: str, h: int, told: list[str]) -> None:
    """s3 by two filters, s4 without any: it tells of those in R_i, each once."""
    i = replace(B, routing=entries("f1 b4 s2, f1 b3 s3, f2 b3 s3"), timestamps=stamps(s2=(3, 2), s3=(5, 4), s4=(1, 1)))
    bsubs = {"s2": BSUB_S2, "s3": Bsub("s3", ("f1", "f2"), Timestamp(5, 4), 0)}
    sends = alg6.on_bmig(i, "b2", bmig(children, others, h), RULES).sends
    assert [send for send in sends if send.to == "b2"] == [Send("b2", bsubs[s]) for s in told]


@pytest.mark.parametrize(
    ("table", "to"),
    [
        pytest.param("f1 b3 s2, f1 b3 s3", ["b3"], id="once to a neighbour"),
        pytest.param("f1 b4 s2, f1 b3 s3", ["b3", "b4"], id="to each old next hop"),
        pytest.param("f1 b3 s2, f2 b4 s2", ["b3", "b4"], id="to both next hops of one subscriber"),
        pytest.param("f1 b2 s2, f1 b2 s3", [], id="not back to the sender"),
        pytest.param("f1 b7 s2, f1 s3 s3", [], id="neither to a broker that is gone nor to a client"),
        pytest.param("", [], id="to nobody without entries"),
        pytest.param("f1 b3 s4", [], id="not to the next hop of who is no child"),
    ],
)
def test_the_corrected_list_goes_to_the_old_next_hops_with_no_others_and_a_hop_more_lines_39_to_45(table: str, to: list[str]) -> None:
    i = replace(B, routing=entries(table), timestamps=stamps(s2=(3, 2), s3=(1, 6), s4=(1, 1)))
    after, sends = alg6.on_bmig(i, "b2", bmig("s2 3 1, s3 1 4", "s4 1 1", 1), RULES)
    assert sends == tuple(Send(y, bmig("s2 3 1, s3 1 4", "", 2)) for y in to)
    turned = {Entry(f, z if s == "s4" else "b2", s) for f, z, s in i.routing}
    assert after == replace(i, routing=tuple(sorted(turned)), timestamps=stamps(s2=(3, 3), s3=(1, 6), s4=(1, 1)))


def test_only_accepted_children_are_forwarded() -> None:
    """s2 is refused, s3 accepted, s4 newer at j."""
    i = replace(B, routing=entries("f1 b3 s2, f1 b3 s3, f1 b4 s4"), timestamps=stamps(s2=(3, 2), s3=(1, 6), s4=(1, 1)))
    after, sends = alg6.on_bmig(i, "b2", bmig("s2 3 1, s3 1 4, s4 2 2", "", 4), RULES)
    onward = bmig("s3 1 4, s4 1 2", "", 5)
    assert sends == (Send("b2", BSUB_S2), Send("b2", Bquery("s4", 1, 1)), Send("b3", onward), Send("b4", onward))
    assert after == replace(i, routing=entries("f1 b3 s2, f1 b2 s3, f1 b2 s4"), timestamps=stamps(s2=(3, 2), s3=(1, 9), s4=(1, 1)))


def test_what_waits_for_accepted_children_is_replayed_to_j_last_lines_46_and_47() -> None:
    i = replace(
        B, routing=entries("f1 b3 s2, f1 b3 s3, f1 b3 s4"), timestamps=stamps(s2=(3, 2), s3=(1, 9), s4=(1, 1)),
        queues=(("s2", ("e2", "e1")), ("s3", ("e3",)), ("s4", ("e4",))),
    )  # fmt: skip
    after, sends = alg6.on_bmig(i, "b2", bmig("s2 2 1, s3 1 4", "s4 1 5", 0), RULES)
    assert sends == (Send("b2", BSUB_S2), Send("b3", bmig("s3 1 4", "", 1)), Send("b2", Rep("e3", "s3")))
    assert after.queues == (("s2", ("e2", "e1")), ("s4", ("e4",)))


def test_answers_come_in_the_order_of_the_lines_children_others_unnamed_forwarded_replayed() -> None:
    i = replace(
        B, routing=entries("f1 b3 s2, f1 b3 s3, f1 b4 s4, f1 b4 s6"), timestamps=stamps(s2=(3, 2), s3=(1, 9), s4=(2, 1), s6=(1, 1)),
        queues=(("s3", ("e3",)),),
    )  # fmt: skip
    sends = alg6.on_bmig(i, "b2", bmig("s2 2 1, s3 1 4", "s4 1 5, s5 1 1", 0), RULES).sends
    s4, s6 = Bsub("s4", ("f1",), Timestamp(2, 1), 0), Bsub("s6", ("f1",), Timestamp(1, 1), 0)
    assert [tuple(send) for send in sends] == [
        ("b2", BSUB_S2), ("b2", s4), ("b2", Bquery("s5", 0, INFINITE)), ("b2", s6), ("b3", bmig("s3 1 4", "", 1)), ("b2", Rep("e3", "s3")),
    ]  # fmt: skip


def test_even_a_client_attached_here_is_given_away_when_j_is_as_new_and_h_is_small() -> None:
    """As printed; "a child above its parent" (semantics section 8) rests on it."""
    i = replace(B, routing=entries("f1 s1 s1"), timestamps=stamps(s1=(1, 1)))
    after, sends = alg6.on_bmig(i, "b2", bmig("s1 1 2", "", 0), RULES)
    assert (after.next_hops("s1"), after.stamp("s1"), sends) == (("b2",), (1, 3), ())
