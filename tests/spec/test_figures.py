"""The papers' own figures: TR19 Figures 2a, 2b, 3 and 4, message by message, with payloads (semantics section 7)."""

from __future__ import annotations

import pytest
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.model.interface import Disabled, Model, State, fire
from roamcheck.spec.messages import BmigModular, Btab
from support.figures import FIGURES


def start(figure: str) -> tuple[Model, State, list]:
    scenario, protocol, items = FIGURES[figure]
    model = question(load_scenario(scenario), protocol=protocol).model()
    return model, model.initial_states[0], items


def step_of(model: Model, item):
    for step in model.steps:
        arguments = dict(step.arguments)
        if isinstance(item, str) and arguments.get("move") == item:
            return step
        if not isinstance(item, str) and step.action == "deliver" and (arguments["from"], arguments["to"]) == item[:2]:
            return step
    raise AssertionError(item)


def run(figure: str) -> tuple[Model, State, list]:
    """Follow the figure in its order; each message delivered is the one printed."""
    model, state, items = start(figure)
    tables = {}  # what a BTAB carries: the sender's whole table when it handled the BMIG of the receiver itself
    for item in items:
        step = step_of(model, item)
        if not isinstance(item, str):
            head = state[step.footprint(state).takes][0]
            assert head == (item[2] if item[2] is not None else Btab(tables[item[:2]])), item
        after = fire(model, step, state)
        assert not isinstance(after, Disabled), (item, after)
        state = after
        if not isinstance(item, str) and isinstance(item[2], BmigModular) and item[0] == item[2].migrated:
            tables[item[1], item[0]] = state[model.layout.index(item[1])].routing
    return model, state, items


@pytest.mark.parametrize(("figure", "messages"), [("figure-2a", 13), ("figure-2b", 12), ("figure-3", 2), ("figure-4", 13)])
def test_the_run_of_the_figure_is_a_run_and_nothing_else_is_sent(figure, messages):
    model, state, items = run(figure)
    assert sum(not isinstance(item, str) for item in items) == messages
    assert model.quiescent(state)  # every message sent was one of the figure's


@pytest.mark.parametrize("figure", FIGURES)
def test_the_settled_start_has_one_entry_and_the_distance_for_each_subscriber(figure):
    model, state, _ = start(figure)
    b7 = state[model.layout.index("b7")]
    assert [entry.next_hop for entry in b7.routing] == ["b3", "b3", "b3", "b3", "b3", "b3", "s7"]
    if b7.timestamps:
        assert {s: stamp for s, stamp in b7.timestamps}["s4"] == (1, 5)


def test_in_figure_4_a_printed_hop_count_of_1_in_step_7_would_end_the_run():
    """Step 7's h = 1 must be 2: T_6(s6).h = 1, and b6 answers only what is farther."""
    model, state, items = start("figure-4")
    for item in items[: items.index(("b5", "b6", items[10][2]))]:
        state = fire(model, step_of(model, item), state)
    head = state[model.layout.index("b5→b6")][0]
    assert head.h == 2
