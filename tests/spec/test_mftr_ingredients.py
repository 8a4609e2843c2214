"""The repaired protocol: with all that it is made of it holds, and each ingredient, taken out, is missed on a bundled scenario.

The numbers are those of the design: no shortest counterexample may be longer, whatever else `arrow` finds sooner.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from roamcheck.checker.check import Answer, Limits, answer
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import QuestionError, question
from roamcheck.checker.verdict import Holds, Violated
from roamcheck.model.scenario import Move, Publisher, Scenario
from roamcheck.spec.properties import PROPERTIES
from roamcheck.spec.readings import READINGS, REPAIRED
from support.ingredients import MISSED

SCENARIOS = sorted({where for where, _, _ in MISSED.values()})
GIVEN = {  # what an independent exploration counted: states, transitions
    "broker-migration": (4, 3),
    "broker-migration-far": (14, 13),
    "broker-migration-publish": (66, 125),
    "broker-migration-publish-late-return": (24, 35),
    "broker-moves-under-shared-filter": (47, 86),
    "child-above-parent": (49, 96),
    "client-migration": (9, 10),
    "client-migration-publish": (189, 401),
    "client-then-broker": (16, 16),
    "client-there-and-back": (103, 205),
    "client-to-fresh-partition": (74, 116),
    "crash-durable": (60, 106),
    "figure-1b-concurrent": (59, 96),
    "figure-1b-settled": (76, 116),
    "loss-detected": (41, 63),
    "loss-silent-control": (6_645, 18_860),
    "merge-at-leaders": (68, 130),
    "merge-reroot": (23, 40),
    "overlap-queue": (25, 37),
    "shared-filter-unsubscribe": (31, 51),
    "two-subscribers-one-filter": (94, 188),
}


def asked(scenario: str, properties: tuple[str, ...] = (), **reading: str) -> Answer:
    return answer(question(load_scenario(scenario), protocol=REPAIRED, reading=reading, properties=properties))


def test_every_ingredient_is_a_reading_that_is_in_as_printed() -> None:
    own = [reading for reading in READINGS if reading.only == REPAIRED and reading.values == ("in", "taken-out")]
    assert [reading.name for reading in own] == list(MISSED)


@pytest.mark.parametrize("ingredient", MISSED)
def test_taken_out_it_is_missed_within_as_many_steps_as_the_design_says(ingredient: str) -> None:
    scenario, most, properties = MISSED[ingredient]
    given = asked(scenario, properties, **{ingredient: "taken-out"})
    for name in properties:
        verdict = given.verdicts[name]
        assert isinstance(verdict, Violated), name
        assert verdict.counterexample.length <= most


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_with_all_of_them_the_same_scenarios_hold(scenario: str) -> None:
    given = asked(scenario)
    assert given.exploration is not None
    assert given.exploration.complete
    assert {name for name, verdict in given.verdicts.items() if not isinstance(verdict, Holds)} <= {"hop-count-exact", "publisher-order"}


def waiting_apart(scenario: Scenario) -> Scenario:
    """The scenario in which waiting for silence is a move by itself, as it was there: a publisher that nobody needs goes then."""
    moves, more = [], []
    for move in scenario.moves:
        if move.when == "quiescent":
            wait = f"wait-{len(more)}"
            more.append(Publisher(wait, scenario.leaders[0]))
            moves.append(Move(wait, "detach", publisher=wait, after=move.after, when="quiescent"))
            move = replace(move, after=(wait,), when="any")
        moves.append(move)
    return replace(scenario, moves=tuple(moves), publishers=(*scenario.publishers, *more))


@pytest.mark.parametrize("scenario", GIVEN)
def test_states_and_transitions_are_those_of_an_independent_exploration(scenario: str) -> None:
    asked = question(waiting_apart(load_scenario(scenario)), protocol=REPAIRED)
    found = answer(asked, limits=Limits(reductions=frozenset())).exploration
    assert found is not None
    assert (found.counts.states, found.counts.transitions) == GIVEN[scenario]


def test_an_ingredient_or_the_invariant_asked_of_another_protocol_is_refused_in_one_line() -> None:
    scenario = load_scenario("free-star")
    with pytest.raises(QuestionError, match="reading home-refuses is one of mft-pubsub-r alone, not of mft-pubsub; leave it in"):
        question(scenario, protocol="mft-pubsub", reading={"home-refuses": "taken-out"})
    with pytest.raises(QuestionError, match="property arrow is an invariant of mft-pubsub-r alone, not of modular: leave it out"):
        question(scenario, protocol="modular", properties=("arrow",))
    assert "arrow" not in question(scenario, protocol="modular").properties
    assert PROPERTIES["arrow"].name in question(scenario, protocol=REPAIRED).properties


def test_no_event_is_ever_sent_back_where_it_came_from() -> None:
    """Dropping such an event would therefore change nothing: it is no ingredient."""
    from roamcheck.model.interface import Disabled, fire
    from roamcheck.spec.messages import PubFor

    model = question(load_scenario("free-star"), protocol=REPAIRED).model()
    names = [spec.name for spec in model.layout.slots]
    seen, pending, events = {model.initial_states[0]}, [model.initial_states[0]], 0
    while pending:
        state = pending.pop()
        for step in model.steps:
            after = fire(model, step, state)
            if isinstance(after, Disabled):
                continue
            u, v = (dict(step.arguments).get(end, "") for end in ("from", "to"))
            head = state[names.index(f"{u}→{v}")][0] if step.action == "deliver" else None  # type: ignore[index]
            if isinstance(head, PubFor):
                events += 1
                back = names.index(f"{v}→{u}")
                assert after[back] == state[back]
            if after not in seen:
                seen.add(after)
                pending.append(after)
    assert events > 0
