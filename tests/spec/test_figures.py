"""The papers' own figures: TR19 Figures 2a, 2b, 3 and 4, message by message, with payloads (semantics section 7)."""

from __future__ import annotations

import pytest

from roamcheck.model.interface import fire
from support.figures import FIGURES, follow, step_of

MESSAGES = {"figure-2a": 13, "figure-2b": 12, "figure-3": 2, "figure-4": 13, "figure-3-repaired": 2, "figure-4-repaired": 5}


@pytest.mark.parametrize(("figure", "messages"), MESSAGES.items())
def test_the_run_of_the_figure_is_a_run_and_nothing_else_is_sent(figure, messages):
    model, steps, state = follow(figure)
    assert sum(model.steps[number].action == "deliver" for number in steps) == messages
    assert model.quiescent(state)  # every message sent was one of the figure's


@pytest.mark.parametrize("figure", FIGURES)
def test_the_settled_start_has_one_entry_and_the_distance_for_each_subscriber(figure):
    model, _, _ = follow(figure)
    b7 = model.initial_states[0][model.layout.index("b7")]
    assert [entry.next_hop for entry in b7.routing] == ["b3", "b3", "b3", "b3", "b3", "b3", "s7"]
    if b7.timestamps:
        assert dict(b7.timestamps)["s4"] == (1, 1 if figure.endswith("-repaired") else 5)  # the repaired protocol counts no hops


def test_in_figure_4_the_bmig_that_b6_answers_has_travelled_2_hops_not_the_printed_1():
    """Step 7's h = 1 must be 2: T_6(s6).h = 1, and b6 answers only what is farther (Alg. 6 l.28)."""
    model, steps, _ = follow("figure-4")
    state = model.initial_states[0]
    for number in steps[: steps.index(step_of(model, ("b5", "b6", None)))]:
        state = fire(model, model.steps[number], state)
    (bmig,) = state[model.layout.index("b5→b6")]
    assert bmig.h == 2
    assert dict(state[model.layout.index("b6")].timestamps)["s6"] == (1, 1)
