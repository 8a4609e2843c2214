"""The message sequences that TR19 prints in Figures 2a, 2b, 3 and 4, as runs of figure-1a and figure-1b.

An item is either the id of a move of the scenario or a message as printed: from, to, message.  Tables R_j are not printed in
full; None stands for "whatever the sender's whole table is".  Figure 4 as printed has two slips (semantics section 7): step 7's h = 1
must be 2, and steps 10–12 go to b1, b4 and b3.
"""

from __future__ import annotations

from roamcheck.spec.messages import Bmig, BmigModular, Bsub, Fmig, Stamped, Timestamp

BTAB = None


def modular(b: str) -> BmigModular:
    """BMIG: {C_j = [s_k], b_j = b_k}."""
    return BmigModular((f"s{b[1:]}",), b)  # type: ignore[arg-type]


def stamped(*triples: tuple[str, int, int]) -> tuple[Stamped, ...]:
    return tuple(Stamped(*triple) for triple in triples)  # type: ignore[arg-type]


def bsub(h: int) -> Bsub:
    """BSUB: {s = s6, S_j = [f6], T_j(s) = (1, 1), h}."""
    return Bsub("s6", ("f6",), Timestamp(1, 1), h)  # type: ignore[arg-type]


C3 = stamped(("s3", 1, 1), ("s6", 1, 2), ("s7", 1, 2))
O3 = stamped(("s1", 1, 2), ("s2", 1, 3), ("s4", 1, 4), ("s5", 1, 4))
C6 = stamped(("s6", 1, 1))
O6 = stamped(("s1", 1, 3), ("s2", 1, 4), ("s3", 1, 2), ("s4", 1, 5), ("s5", 1, 5), ("s7", 1, 3))

FIGURES = {
    "figure-2a": (
        "figure-1a",
        "modular",
        [
            "b3-loses", "b3-joins",
            ("b3", "b2", modular("b3")), ("b2", "b3", BTAB), ("b2", "b1", modular("b3")),
            ("b3", "b6", Fmig()), ("b3", "b7", Fmig()),
            ("b6", "b3", modular("b6")), ("b7", "b3", modular("b7")),
            ("b3", "b6", BTAB), ("b3", "b7", BTAB),
            ("b3", "b2", modular("b6")), ("b3", "b2", modular("b7")),
            ("b2", "b1", modular("b6")), ("b2", "b1", modular("b7")),
        ],
    ),
    "figure-2b": (
        "figure-1b",
        "modular",
        [
            "b3-loses", "b6-loses", "b6-joins",
            ("b6", "b5", modular("b6")), ("b5", "b6", BTAB), ("b5", "b2", modular("b6")), ("b2", "b1", modular("b6")),
            "b3-joins",
            ("b3", "b2", modular("b3")), ("b2", "b3", BTAB), ("b2", "b1", modular("b3")),
            ("b3", "b7", Fmig()), ("b7", "b3", modular("b7")), ("b3", "b7", BTAB),
            ("b3", "b2", modular("b7")), ("b2", "b1", modular("b7")),
        ],
    ),
    "figure-3": (
        "figure-1a",
        "mft-pubsub",
        ["b3-loses", "b3-joins", ("b3", "b2", Bmig(C3, O3, 0)), ("b2", "b1", Bmig(C3, (), 1))],
    ),
    "figure-4": (
        "figure-1b",
        "mft-pubsub",
        [
            "b3-loses", "b6-loses", "b6-joins",
            ("b6", "b5", Bmig(C6, O6, 0)), ("b5", "b2", Bmig(C6, (), 1)), ("b2", "b1", Bmig(C6, (), 2)),
            "b3-joins",
            ("b3", "b2", Bmig(C3, O3, 0)), ("b2", "b1", Bmig(C3, (), 1)), ("b2", "b5", Bmig(C3, (), 1)), ("b5", "b6", Bmig(C3, (), 2)),
            ("b6", "b5", bsub(0)), ("b5", "b2", bsub(1)),
            ("b2", "b1", bsub(2)), ("b2", "b4", bsub(2)), ("b2", "b3", bsub(2)), ("b3", "b7", bsub(3)),
        ],
    ),
}  # fmt: skip
