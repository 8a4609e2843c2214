"""The tabled engine is held to the reference explorer: the same graph, the same verdicts and the same counterexamples."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from roamcheck.checker.engines import reference, tabled
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.checker.tabled import memory, search, visited, workers
from roamcheck.checker.tabled.proviso import run
from roamcheck.checker.tabled.search import Search
from roamcheck.checker.tabled.settling import settle
from roamcheck.checker.verdict import Exploration, Violated
from roamcheck.model.interface import Disabled, Effect, Footprint, Kind, Layout, Model, Predicate, Property, Scope, SlotSpec, Step, Value, Word
from roamcheck.spec.breach import Breach
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


FAILING = replace(TOYS["failing"], steps=tuple(replace(step, kind=Kind.PROTOCOL) for step in TOYS["failing"].steps))


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
@given(random_models.models(), st.integers(1, 2), st.booleans(), st.none() | st.integers(1, 40))
@example(FAILING, 1, False, None)
@example(FAILING, 2, False, None)
def test_there_is_room_for_all_edges_that_are_written(model: Model, threads: int, first: bool, max_states: int | None) -> None:
    """Compiled loops do not look whether there is; also where a step failed, or a breach ended the search."""
    write = visited.targets

    def write_within(owed: Any, target: Any, step: Any, reaction: Any, start: Any, size: Any, lo: int, hi: int, *others: Any) -> int:
        out, by = others[-2:]
        many = sum(int((owed[step[start[r] : start[r] + size[r]]] > 0).sum()) for r in range(lo, hi))
        assert many == len(out) == len(by)
        return int(write(owed, target, step, reaction, start, size, lo, hi, *others))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(visited, "targets", write_within)
        patch.setattr(memory, "BATCH", 2)
        agree(model, workers=threads, first=first, max_states=max_states)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("batches", [1, 2, 3, 10, 60])
def test_an_interrupt_leaves_the_beginning_of_the_whole(monkeypatch: pytest.MonkeyPatch, threads: int, batches: int) -> None:
    """Whatever batches are under way then: states, and where those lead that were explored."""
    calls = itertools.count(1)

    def heed_once() -> None:
        if next(calls) == batches:
            raise KeyboardInterrupt

    def settle_slowly(*given: Any) -> Any:
        time.sleep(0.002)
        return settle(*given)

    model = question(load_scenario("peers-b")).model()
    whole, part = Search(model, None, None, False), Search(model, None, None, False, threads)
    run(whole, None)
    monkeypatch.setattr(search, "settle", settle_slowly)
    monkeypatch.setattr(memory, "BATCH", 1 << 6)
    part.memory = memory.Memory(None, threads)
    monkeypatch.setattr(search, "heed", heed_once)
    with pytest.raises(KeyboardInterrupt):
        run(part, None)
    states, explored, edges = part.states, len(part.degree), len(part.edges)
    if part.threads.pool is not None:
        part.threads.pool.shutdown()
    assert (states, explored, edges) == (part.states, len(part.degree), len(part.edges)), "nothing goes on"
    assert states == len(part.parent) == len(part.arrival)
    for mine, of_all in zip(part.logs.values(), whole.logs.values(), strict=True):
        assert (mine.read(0, len(mine)) == of_all.read(0, len(mine))).all()
    assert explored <= states
    assert edges == whole.degree.read(0, explored).sum()
    assert part.fired.sum() >= edges
    assert not part.waiting


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


@st.composite
def paid_for(draw: st.DrawFn) -> Model:
    """A random model some of whose steps cost one of a budget: what they claim of that is independent of the rest."""
    model = draw(random_models.models())
    purse, costs = len(model.layout.slots), draw(st.lists(st.integers(0, 2), min_size=len(model.steps), max_size=len(model.steps)))

    def paid(step: Step, cost: int) -> Step:
        if cost == 0 or step.selector is not None or step.guard is not None:
            return step
        short = Disabled(f"{cost} left")

        def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
            effect = step.react(head, values[1:])
            if values[0] < cost or isinstance(effect, Disabled):  # type: ignore[operator]
                return short if values[0] < cost else effect  # type: ignore[operator]
            return replace(effect, values=(values[0] - cost, *effect.values))  # type: ignore[operator]

        return replace(
            step, react=react, fixed=replace(step.fixed, reads=(purse, *step.fixed.reads)), claims=lambda left: left - cost,  # type: ignore[operator]
            guard=(purse, lambda left: short if left < cost else None),  # type: ignore[operator]
        )  # fmt: skip

    left = draw(st.integers(1, 6))
    return replace(
        model, layout=replace(model.layout, slots=(*model.layout.slots, SlotSpec("purse"))), steps=tuple(map(paid, model.steps, costs)),
        initial_states=tuple((*state, left) for state in model.initial_states), idle=lambda slot, value: slot == purse or model.idle(slot, value),
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(paid_for(), st.integers(1, 2))
def test_claims_are_independent_of_the_rest(model: Model, threads: int) -> None:
    agree(model, workers=threads)


def test_what_is_put_together_is_asked_all_that_it_touches() -> None:
    """The breaches are reached by one step alone, and that is never worked out: its claim and the rest are known by then, each from elsewhere."""
    left, at, ready, said = range(4)
    enough = (left, lambda value: None if value else Disabled("something is left"))

    def spend(_: Word | None, values: tuple[Any, ...]) -> Effect | Disabled:
        return Effect((values[0] - 1, {0: 10, 1: 2}[values[1]]), ((said, ("on",)),)) if values[0] and values[1] in (0, 1) else Disabled("at 0 or 1")

    def walk(left_before: int, ways: dict[int, int]) -> Callable[..., Effect | Disabled]:
        return lambda _, values: Effect((values[0], ways[values[1]])) if values[0] == left_before and values[1] in ways else Disabled("a way")

    def prepare(_: Word | None, values: tuple[Any, ...]) -> Effect | Disabled:
        return Effect((*values[:2], 1)) if values == (3, 1, 0) else Disabled("at 1 with 3 left")

    steps = (
        Step("spend", (), Kind.ENVIRONMENT, spend, Footprint(None, (left, at), (said,)), guard=enough, claims=lambda left: left - 1),  # type: ignore[operator]
        Step("back", (), Kind.ENVIRONMENT, walk(2, {10: 1}), Footprint(None, (left, at))),
        Step("round", (), Kind.ENVIRONMENT, walk(3, {0: 5, 5: 6, 6: 1}), Footprint(None, (left, at))),
        Step("prepare", (), Kind.ENVIRONMENT, prepare, Footprint(None, (left, at, ready))),
    )
    asked = tuple(
        Property(f"never ready and {what}", Scope.EVERY_STATE, (Predicate(slots, lambda v, bad=bad: Breach("bad") if v == bad else None),))  # type: ignore[misc]
        for what, slots, bad in (("at 2", (at, ready), (2, 1)), ("heard", (said, ready), (("on",), 1)), ("2 left", (left, ready), (2, 1)))
    )
    layout = Layout(tuple(map(SlotSpec, ("left", "at", "ready", "said"))))
    model = Model("toy", layout, ((3, 0, 0, ()),), steps, asked, lambda slot, value: True)
    agree(model)
    assert {type(verdict) for verdict in tabled.explore(model).verdicts.values()} == {Violated}


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
