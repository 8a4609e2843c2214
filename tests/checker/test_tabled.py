"""The tabled engine is held to the reference explorer: the same graph, the same verdicts and the same counterexamples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcheck.checker.engines import reference, tabled
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.checker.tabled import memory, workers
from roamcheck.checker.verdict import Exploration, Violated
from roamcheck.model.interface import Disabled, Effect, Model, Predicate, Scope, Value, Word
from support import random_models
from support.toys import TwoPhase, arrived, counter, crane, lossy_channel, never, ping_pong

ENDLESS = replace(never("endless", 0, lambda value: False, Scope.RUN), predicates=())


def told(found: Exploration) -> tuple[Any, ...]:
    """All of an exploration but its time and what only one engine knows."""
    failed = None if found.failed is None else (found.failed.index, found.failed.initial, found.failed.steps, str(found.failed))
    return found.counts, found.verdicts, found.complete, found.steps_by_action, found.unfired, failed


def agree(model: Model, **options: Any) -> None:
    """Both engines say the same."""
    limits = {name: value for name, value in options.items() if name not in ("workers", "wide")}
    assert told(tabled.explore(model, **options)) == told(reference.explore(model, **limits))


TOYS = {
    "two-phase": TwoPhase(4).model(never("uncommitted", 4, lambda value: value.value == "committed")),
    "counter": counter(30, never("below", 0, lambda value: value > 7), ENDLESS),
    "failing": counter(30, never("below", 0, lambda value: value > 2), fails_at=9),
    "ping-pong": ping_pong(ENDLESS),
    "whistle": ping_pong(ENDLESS, whistle=True),
    "closing": ping_pong(ENDLESS, whistle=True, closing=True),
    "lossy": lossy_channel(4, 2, arrived(4, Scope.QUIESCENT), ENDLESS),
    "crane": crane(never("heap", 3, lambda value: len(value) > 2)),
}


@pytest.mark.parametrize("name", TOYS)
@pytest.mark.parametrize("options", [{}, {"wide": True}, {"workers": 2}, {"first": True}, {"max_states": 7}, {"max_depth": 3}], ids=str)
def test_toys(name: str, options: dict[str, Any]) -> None:
    agree(TOYS[name], **options)


@settings(max_examples=80, deadline=None)
@given(random_models.models(), st.booleans(), st.none() | st.integers(1, 40), st.none() | st.integers(0, 6))
def test_random_models(model: Model, first: bool, max_states: int | None, max_depth: int | None) -> None:
    agree(model, first=first, max_states=max_states, max_depth=max_depth)


def test_a_scenario_that_fills_several_batches() -> None:
    model = question(load_scenario("hunt-child-above-parent")).model()
    defined = told(reference.explore(model))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "BATCH", 1 << 7)
        patch.setattr(workers, "FEW", 1 << 5)
        for threads in (1, 2, 3):
            assert told(tabled.explore(model, workers=threads)) == defined


@settings(max_examples=80, deadline=None)
@given(
    random_models.models(), st.integers(2, 3), st.integers(1, 4), st.sampled_from([1, workers.FEW]), st.booleans(),
    st.none() | st.integers(1, 40), st.none() | st.integers(0, 6),
)  # fmt: skip
def test_batches_that_overlap(
    model: Model, threads: int, batch: int, few: int, first: bool, max_states: int | None, max_depth: int | None
) -> None:  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "BATCH", batch)
        patch.setattr(workers, "FEW", few)
        agree(model, workers=threads, first=first, max_states=max_states, max_depth=max_depth)


@settings(max_examples=80, deadline=None)
@given(random_models.models())
def test_a_reduction_keeps_the_quiescent_states_and_every_verdict(model: Model) -> None:
    whole, reduced = reference.explore(model), tabled.explore(model, reduce=True)
    assert reduced.counts.quiescent == whole.counts.quiescent
    assert reduced.counts.states <= whole.counts.states
    for of in model.properties:
        one, other = whole.verdicts[of.name], reduced.verdicts[of.name]
        assert type(one) is type(other), of.name
        if isinstance(one, Violated) and isinstance(other, Violated) and of.scope is Scope.QUIESCENT:
            assert one.counterexample.length == other.counterexample.length


def test_a_reduction_leaves_most_of_a_real_network_out() -> None:
    model = question(load_scenario("peers-b")).model()
    whole, reduced = tabled.explore(model), tabled.explore(model, reduce=True)
    assert reduced.counts.quiescent == whole.counts.quiescent == 146
    assert 4 * reduced.counts.states < whole.counts.states
    assert {name: type(verdict) for name, verdict in reduced.verdicts.items()} == {name: type(verdict) for name, verdict in whole.verdicts.items()}


def test_a_value_without_a_key_fails_its_step_and_is_named() -> None:
    class Odd:
        pass

    model = counter(3)
    step = replace(model.steps[0], react=lambda head, values: Effect((Odd(),)))
    failed = tabled.explore(replace(model, steps=(step,))).failed
    assert failed is not None
    assert "a Odd has no key" in str(failed)


def test_a_reaction_is_asked_for_once_by_head_and_reads() -> None:
    model, asked = lossy_channel(3, 1), list[Word | None]()
    deliver = model.steps[0]

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        asked.append(head)
        return deliver.react(head, values)

    assert tabled.explore(replace(model, steps=(replace(deliver, react=react), *model.steps[1:]))).steps_by_action["deliver"] > 3
    assert sorted(map(str, asked)) == ["0", "1", "2"]


def test_a_property_that_looks_at_nothing_is_asked_too() -> None:
    """It holds nowhere, or everywhere: so it is asked once, of the first state."""
    model = counter(3, replace(never("nothing", 0, lambda value: False), predicates=(Predicate((), lambda values: "no"),)))
    for found in (reference.explore(model), tabled.explore(model)):
        verdict = found.verdicts["nothing"]
        assert isinstance(verdict, Violated)
        assert verdict.counterexample.length == 0
