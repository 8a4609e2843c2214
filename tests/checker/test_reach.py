"""A condition on a run: Z3's orders are runs on which it arises, and what is said to be impossible is."""

from __future__ import annotations

from collections import deque

import pytest

from roamcheck.checker.conditions import REACHED, ConditionError, after, arises, condition
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import Question, question
from roamcheck.checker.reaching import ARISES, CANNOT, NOT_FOUND, reach
from roamcheck.checker.replay import replay
from roamcheck.checker.solver.interleavings import Interleavings
from roamcheck.model.interface import Disabled, fire


def asked(scenario: str) -> Question:
    return question(load_scenario(scenario))


def nearest(q: Question, text: str) -> int | None:
    """How many steps away the condition is, by plain breadth-first search over states and what is remembered."""
    w, model = q.world(), q.model()
    wanted = condition(text, w)
    start = (model.initial_states[0], wanted.start())
    seen, todo = {start}, deque([(start, 0)])
    while todo:
        (state, memory), depth = todo.popleft()
        for step in model.steps:
            moved = fire(model, step, state)
            if isinstance(moved, Disabled):
                continue
            then = after(w, wanted, memory, step, state)
            if then == REACHED:
                return depth + 1
            if (moved, then) not in seen:
                seen.add((moved, then))
                todo.append(((moved, then), depth + 1))
    return None


CASES = [
    ("client-then-broker", "MIG and BSUB for s1 with the same t reach one broker"),
    ("child-above-parent", "MIG and BSUB for s1 with the same t reach one broker"),
    ("child-above-parent", "a BMIG is in flight when a link falls"),
    ("child-above-parent", "a BMIG of b4 is in flight when b3 migrates"),
    ("broker-migration-publish", "a PUB is in flight on the link that falls"),
    ("hot-and-cold", "a MIG is in flight when e1 is published"),
    ("client-migration-publish", "a MIG for s1 is in flight when e1 is published"),
    ("merge-reroot", "a BMIG is in flight when a BMIG reaches b1"),
    ("client-migration", "a BMIG is in flight when a MIG reaches b1"),
    ("figure-1b", "a PUB is in flight on the link that falls"),
    ("client-migration", "a MIG is in flight from b1 to b2 when s1 leaves"),
    ("broker-migration-publish", "a PUB is in flight when the link b1-b3 falls"),
]
LONG = CASES[1]


@pytest.mark.parametrize(("scenario", "text"), [pytest.param(*case, marks=pytest.mark.slow if case == LONG else ()) for case in CASES])
def test_it_arises_where_it_can_and_nowhere_else(scenario: str, text: str) -> None:
    q = asked(scenario)
    found, least = reach(q, text), nearest(q, text)
    assert found.answer == (ARISES if least is not None else CANNOT)
    if least is not None:
        assert found.trace is not None
        assert found.trace.header.length >= least
        assert len(replay(found.trace).steps) == found.trace.header.length


def test_there_are_both() -> None:
    answers = {nearest(asked(scenario), text) is None for scenario, text in CASES}
    assert answers == {True, False}


@pytest.mark.parametrize(("scenario", "text"), [("peers-d", "a PUB is in flight on the link that falls"), ("free-crash", CASES[4][1])])
def test_the_orders_are_short(scenario: str, text: str) -> None:
    """Z3 leaves out the events that the condition does not need; the runs that it starts from are of 20 steps and more."""
    q = asked(scenario)
    w, model = q.world(), q.model()
    wanted = condition(text, w)
    found = Interleavings(w, model, wanted).search()
    assert found.steps is not None
    assert arises(w, model, wanted, found.steps) == len(found.steps) <= 4
    assert found.solutions > 0


def test_the_same_seed_gives_the_same_run() -> None:
    one, other = (reach(asked("free-crash"), CASES[4][1], seed=3) for _ in range(2))
    assert one == other


def test_what_was_not_found_is_not_said_to_be_impossible() -> None:
    found = reach(asked("free-chain-4"), "a BSUB of b1 is in flight when b3 migrates", max_states=50)
    assert found.answer == NOT_FOUND
    assert "50 states" in found.how
    assert found.exit_code == 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a FOO is in flight when b3 migrates", "is not understood"),
        ("a BMIG is in flight", "is not understood"),
        ("a BMIG is in flight when b3 dances", "is no event"),
        ("a BMIG of b9 is in flight when b3 migrates", "b9 is no broker or client"),
        ("a BMIG is in flight when b9 migrates", "b9 is no broker of"),
        ("a PUB is in flight when e9 is published", "e9 is no event of this scenario"),
        ("MIG and BSUB for s9 with the same t reach one broker", "s9 is no subscriber"),
    ],
)
def test_words_that_are_not_understood(text: str, says: str) -> None:
    with pytest.raises(ConditionError, match=says) as refused:
        condition(text, asked("child-above-parent").world())
    assert "\n" not in str(refused.value)
