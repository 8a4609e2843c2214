"""The message sequences that TR19 prints in Figures 2a, 2b, 3 and 4, as runs of figure-1a and figure-1b.

An item is either the id of a move of the scenario or a message as printed: from, to, message.  Tables R_j are not printed in
full; None stands for "whatever the sender's whole table is".  Figure 4 as printed has two slips (semantics section 7): step 7's h = 1
must be 2, and steps 10–12 go to b1, b4 and b3.  The last two are the same moves under the repaired protocol.
"""

from __future__ import annotations

from typing import Any

from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.model.interface import Disabled, Model, State, fire
from roamcheck.spec.messages import Bmig, BmigModular, BmigOnce, Bsub, Btab, Fmig, Numbered, Stamped, Timestamp, Turn

Item = str | tuple[str, str, Any]
BTAB = None


def modular(b: str) -> BmigModular:
    """BMIG: {C_j = [s_k], b_j = b_k}."""
    return BmigModular((f"s{b[1:]}",), b)  # type: ignore[arg-type]


def stamped(*triples: tuple[str, int, int]) -> tuple[Stamped, ...]:
    return tuple(Stamped(*triple) for triple in triples)  # type: ignore[arg-type]


def bsub(h: int) -> Bsub:
    """BSUB: {s = s6, S_j = [f6], T_j(s) = (1, 1), h}."""
    return Bsub("s6", ("f6",), Timestamp(1, 1), h)  # type: ignore[arg-type]


def once(children: str, others: str) -> BmigOnce:
    """BMIG of the repaired protocol: C and O, each subscriber with the number 1."""
    C, O = (tuple(Numbered(s, 1) for s in names.split()) for names in (children, others))  # type: ignore[arg-type]
    return BmigOnce(C, O)


C3 = stamped(("s3", 1, 1), ("s6", 1, 2), ("s7", 1, 2))
O3 = stamped(("s1", 1, 2), ("s2", 1, 3), ("s4", 1, 4), ("s5", 1, 4))
C6 = stamped(("s6", 1, 1))
O6 = stamped(("s1", 1, 3), ("s2", 1, 4), ("s3", 1, 2), ("s4", 1, 5), ("s5", 1, 5), ("s7", 1, 3))

FIGURES: dict[str, tuple[str, str, list[Item]]] = {
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
    "figure-3-repaired": (
        "figure-1a",
        "mft-pubsub-r",
        ["b3-loses", "b3-joins", ("b3", "b2", once("s3 s6 s7", "s1 s2 s4 s5")), ("b2", "b1", Turn(("s3", "s6", "s7")))],
    ),
    "figure-4-repaired": (
        "figure-1b",
        "mft-pubsub-r",
        [
            "b3-loses", "b6-loses", "b6-joins",
            ("b6", "b5", once("s6", "s1 s2 s3 s4 s5 s7")), ("b5", "b2", Turn(("s6",))), ("b2", "b1", Turn(("s6",))),
            "b3-joins",
            ("b3", "b2", once("s3 s7", "s1 s2 s4 s5 s6")), ("b2", "b1", Turn(("s3", "s7"))),
        ],
    ),
}  # fmt: skip


def step_of(model: Model, item: Item) -> int:
    """The number of the step that the item names."""
    for number, step in enumerate(model.steps):
        arguments = dict(step.arguments)
        if isinstance(item, str) and arguments.get("move") == item:
            return number
        if not isinstance(item, str) and step.action == "deliver" and (arguments["from"], arguments["to"]) == item[:2]:
            return number
    raise KeyError(item)


def follow(figure: str) -> tuple[Model, tuple[int, ...], State]:
    """Run the figure in its order.  Raises AssertionError where a message delivered is not the one printed."""
    scenario, protocol, items = FIGURES[figure]
    model = question(load_scenario(scenario), protocol=protocol).model()
    state, steps = model.initial_states[0], []
    tables = {}  # what a BTAB carries: the sender's whole table when it handled the BMIG of the receiver itself
    for item in items:
        number = step_of(model, item)
        step = model.steps[number]
        if not isinstance(item, str):
            head = state[step.footprint(state).takes][0]
            assert head == (item[2] if item[2] is not None else Btab(tables[item[:2]])), item
        after = fire(model, step, state)
        assert not isinstance(after, Disabled), (item, after)
        state = after
        steps.append(number)
        if not isinstance(item, str) and isinstance(item[2], BmigModular) and item[0] == item[2].migrated:
            tables[item[1], item[0]] = state[model.layout.index(item[1])].routing
    return model, tuple(steps), state
