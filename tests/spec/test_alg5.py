"""TR19 Algorithm 5: b1 migrates from b2 to b5; what it announces, turns, and replays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roamcheck.spec.algorithms import alg5_migrate as alg5
from roamcheck.spec.messages import INFINITE, Bmig, Entry, Rep, Stamped, Timestamp
from roamcheck.spec.readings import PRINTED
from roamcheck.spec.rules import Reaction, Rules
from roamcheck.spec.state import Broker, Send

RULES = Rules(PRINTED)
KNOWN = (("s1", Timestamp(1, 1)), ("s2", Timestamp(2, 5)), ("s3", Timestamp(3, 2)), ("s4", Timestamp(1, 9)), ("s5", Timestamp(4, 3)))
B = Broker("b1", ("b3", "b4", "b5"), ("s1",), ("p1",), timestamps=KNOWN)
S1, S2, S3, S4, S5 = (Stamped(s, *stamp) for s, stamp in KNOWN)


def entries(text: str = "") -> tuple[Entry, ...]:
    """R_i from "f1 b2 s1, …"."""
    return tuple(sorted(Entry(*entry.split()) for entry in text.split(", ") if entry))


@pytest.mark.parametrize(
    ("table", "children", "others", "after"),
    [
        pytest.param("f1 b2 s2", (), (S2,), "f1 b5 s2", id="reached through b_o: in O, and turned to b_n"),
        pytest.param("f1 b3 s3", (S3,), (), "f1 b3 s3", id="reached through another neighbour: in C, and left"),
        pytest.param("f1 s1 s1", (S1,), (), "f1 s1 s1", id="attached here: in C"),
        pytest.param("f1 b5 s5", (S5,), (), "f1 b5 s5", id="reached through b_n: in C, as printed"),
        pytest.param("f1 b7 s4", (S4,), (), "f1 b7 s4", id="reached through a broker that is gone: in C, as printed"),
        pytest.param("f1 b2 s2, f2 b2 s2, f1 s1 s1, f2 s1 s1", (S1,), (S2,), "f1 b5 s2, f2 b5 s2, f1 s1 s1, f2 s1 s1", id="each once"),
        pytest.param("f1 b2 s4, f1 b2 s2, f1 b3 s5, f1 b3 s3", (S3, S5), (S2, S4), "f1 b5 s4, f1 b5 s2, f1 b3 s5, f1 b3 s3", id="both in order"),
        pytest.param("f1 b2 s2, f2 b3 s2", (S2,), (S2,), "f1 b5 s2, f2 b5 s2", id="two next hops: in both, and every entry turned"),
        pytest.param("f1 b2 s9", (), (Stamped("s9", 0, INFINITE),), "f1 b5 s9", id="a subscriber without a timestamp is announced with (0, ∞)"),
        pytest.param("", (), (), "", id="an empty table is announced too; one heard of and without an entry is not, as printed"),
    ],
)
@pytest.mark.parametrize("old_link", ["down", "up"])
def test_migrate_lines_1_to_10(table: str, children: Any, others: Any, after: str, old_link: str) -> None:
    i = replace(B, neighbours=("b2", *B.neighbours) if old_link == "up" else B.neighbours, routing=entries(table))
    expected = Reaction(replace(i, routing=entries(after)), (Send("b5", Bmig(children, others, 0)),))
    assert alg5.migrate(i, "b2", "b5", RULES) == expected


def test_a_leader_that_joins_has_no_old_parent_and_everyone_is_a_child() -> None:
    i = replace(B, routing=entries("f1 s1 s1, f1 b2 s2, f1 b3 s3"))
    assert alg5.migrate(i, None, "b5", RULES) == Reaction(i, (Send("b5", Bmig((S1, S2, S3), (), 0)),))


def test_migrate_lines_11_and_12_replay_to_b_n_what_waits_for_o_after_bmig_and_leave_what_waits_for_c() -> None:
    i = replace(B, routing=entries("f1 b2 s2, f1 b2 s4, f1 b3 s3"), queues=(("s2", ("e2", "e1")), ("s3", ("e3",)), ("s4", ("e4",)), ("s9", ("e9",))))
    sends = (Bmig((S3,), (S2, S4), 0), Rep("e2", "s2"), Rep("e1", "s2"), Rep("e4", "s4"))
    after = replace(i, routing=entries("f1 b5 s2, f1 b5 s4, f1 b3 s3"), queues=(("s3", ("e3",)), ("s9", ("e9",))))
    assert alg5.migrate(i, "b2", "b5", RULES) == Reaction(after, tuple(Send("b5", m) for m in sends))
