"""Symmetry in the tabled engine: one state of each class is explored, verdicts stay, and what turns out to be no symmetry is dropped."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations, product
from math import comb
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcheck.checker.engines import reference, tabled
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.checker.tabled.memory import Memory
from roamcheck.checker.tabled.symmetries import Images, closed
from roamcheck.checker.verdict import Violated
from roamcheck.model.interface import (
    Disabled,
    Effect,
    Footprint,
    Kind,
    Layout,
    Model,
    Predicate,
    Property,
    Scope,
    Slot,
    SlotSpec,
    Step,
    Symmetry,
    Value,
    Word,
)
from roamcheck.spec.breach import Breach
from support import random_models
from support.renamings import classes, counters, each, image, permuted, same, same_verdicts, summing
from support.toys import TwoPhase, counter, never

TABLE = json.loads((Path(__file__).parents[1] / "agreement" / "table.json").read_text())
ENDLESS = Property("endless", Scope.RUN, ())
OPTIONS: list[dict[str, Any]] = [{}, {"wide": True}, {"workers": 2}]
# ---- counters that can trade places --------------------------------------------------------------------


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_counters_are_told_apart_only_by_how_many_are_where(n: int, options: dict[str, Any]) -> None:
    three, done = summing("three", n, 3, Scope.EVERY_STATE), summing("all", n, 2 * n, Scope.QUIESCENT)
    model = counters(n, three, done, each("beyond", n, lambda slot, count: count > 2))
    found = tabled.explore(model, symmetric=True, **options)
    assert found.counts.states == comb(n + 2, 2) == classes(model, model.symmetries())
    assert tabled.explore(model, **options).counts.states == 3**n
    assert found.counts.depth == 2 * n
    same_verdicts(model, found)


def test_without_being_asked_to_no_engine_looks_at_symmetries() -> None:
    assert tabled.explore(replace(counters(2), symmetries=lambda: 1 // 0)).counts.states == 9


def two_phase_symmetry(rms: int, order: tuple[int, ...]) -> Symmetry:
    """Resource manager k takes the place of order[k]."""

    def rename(slot: Slot, value: Any) -> Any:
        return value if slot <= rms else frozenset(order[one] if slot == rms + 1 else word(slot, one) for one in value)

    def word(slot: Slot, message: Any) -> Any:
        return message if isinstance(message, str) else ("prepared", order[message[1]])

    slots, steps = (*order, rms, rms + 1, rms + 2), (*(5 * rm + k for rm in order for k in range(5)), 5 * rms, 5 * rms + 1)
    return Symmetry(slots, steps, rename, word)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("rms", [2, 3, 4])
def test_the_resource_managers_of_two_phase_commit_can_trade_places(rms: int, wide: bool) -> None:
    committed = each("uncommitted", rms, lambda slot, rm: rm.value == "committed")
    model = TwoPhase(rms).model(committed, never("open", rms, lambda tm: tm.value == "committed"))

    symmetries = tuple(two_phase_symmetry(rms, order) for order in permutations(range(rms)))[1:]
    steps = tuple(replace(step, kind=Kind.ENVIRONMENT) for step in model.steps)  # what is heard twice is no cycle of the protocol then
    model = replace(model, steps=steps, symmetries=lambda: symmetries)
    found = tabled.explore(model, symmetric=True, wide=wide)
    assert found.counts.states == classes(model, symmetries) < reference.explore(model).counts.states
    same_verdicts(model, found)
    assert found.unfired == ()  # what fires for one manager fires for the others


def test_symmetries_are_named_where_they_left_states_out() -> None:
    assert tabled.explore(counters(2), symmetric=True).reductions == ("symmetry",)
    assert tabled.explore(counters(2), symmetric=True, reduce=True).reductions == ("partial-order", "symmetry")
    assert tabled.explore(counters(2, limits=(1, 2)), symmetric=True).reductions == ()
    assert tabled.explore(counters(2), symmetric=True, debug=True).reductions == ()


def test_images_go_into_files_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memory, "room", property(lambda _: 0))
    model = TwoPhase(4).model()
    model = replace(model, steps=tuple(replace(step, kind=Kind.ENVIRONMENT) for step in model.steps))
    symmetries = tuple(two_phase_symmetry(4, order) for order in permutations(range(4)))[1:]
    one, other = (tabled.explore(replace(model, symmetries=lambda: symmetries), symmetric=True, max_memory=size) for size in (None, 8 << 30))
    assert (one.counts, one.verdicts) == (other.counts, other.verdicts)
    assert one.counts.states == classes(model, symmetries)


def test_of_initial_states_one_of_each_class_is_left() -> None:
    model = replace(counters(2), initial_states=((0, 1), (1, 0), (2, 0), (1, 1), (0, 2)))
    found = tabled.explore(model, symmetric=True)
    assert found.counts.states == classes(model, model.symmetries()) == 5
    assert found.counts.depth == 2


def test_initial_states_that_are_not_symmetric_are_noticed() -> None:
    model = replace(counters(2), initial_states=((0, 1),))
    assert tabled.explore(model, symmetric=True).counts == reference.explore(model).counts


# ---- what is no symmetry -------------------------------------------------------------------------------


def test_steps_that_go_in_the_order_of_names_are_noticed() -> None:
    model = counters(3, summing("five", 3, 5, Scope.EVERY_STATE), first=1)
    found = tabled.explore(model, symmetric=True)
    assert found.counts == reference.explore(model).counts
    assert found.verdicts == reference.explore(model).verdicts


def test_a_counter_with_another_limit_leaves_a_subgroup() -> None:
    model = counters(4, summing("nine", 4, 9, Scope.QUIESCENT), limits=(3, 2, 2, 2))
    found = tabled.explore(model, symmetric=True)
    left = [g for g in model.symmetries() if g.slots[0] == 0]
    assert found.counts.states == classes(model, left) == 4 * comb(5, 2)
    same_verdicts(model, found)


@pytest.mark.parametrize(
    "of",
    [
        never("one", 0, lambda count: count > 1),
        each("one", 3, lambda slot, count: count > (0 if slot == 1 else 1)),
        each("one", 3, lambda slot, count: count > (1 if slot == 1 else 2), Scope.QUIESCENT),
        Property("one", Scope.EVERY_STATE, (Predicate((0, 1, 2), lambda values: Breach("in order") if values == (0, 1, 2) else None),)),
        Property("one", Scope.QUIESCENT, (Predicate((1, 0), lambda values: None),)),
    ],
)
def test_a_predicate_that_is_not_symmetric_is_noticed(of: Property) -> None:
    model = counters(3, of)
    found = tabled.explore(model, symmetric=True)
    assert found.counts.states > comb(5, 2)
    same_verdicts(model, found)


def test_slots_that_are_idle_at_different_values_are_noticed() -> None:
    model = replace(counters(2), idle=lambda slot, value: value == 2 - slot)
    assert tabled.explore(model, symmetric=True).counts == reference.explore(model).counts


@pytest.mark.parametrize(
    "change",
    [{"kind": Kind.LOSS}, {"serves": None}, {"only_when_quiescent": True}, {"react": lambda *_: Disabled("")}, {"guard": (1, lambda value: None)}],
)
def test_a_step_of_another_shape_is_noticed(change: dict[str, Any]) -> None:
    model = counters(2)
    model = replace(model, steps=(model.steps[0], replace(model.steps[1], **change)))
    assert tabled.explore(model, symmetric=True).counts == reference.explore(model).counts


def test_a_budget_that_is_not_symmetric_is_noticed() -> None:
    model = replace(counters(2, summing("never", 2, 9, Scope.RUN)), idle=lambda slot, value: True)
    for budget, spent, states in (((0, 1), sum, 6), ((0,), sum, 9), ((0, 1), lambda values: values[0] == 2, 9)):
        assert tabled.explore(replace(model, budget=budget, spent=spent), symmetric=True).counts.states == states


def test_a_renaming_that_raises_is_none() -> None:
    model = counters(2)
    (swap,) = model.symmetries()
    for broken in (replace(swap, rename=lambda slot, value: 1 // (2 - value)), replace(swap, rename=lambda slot, value: object())):
        assert tabled.explore(replace(model, symmetries=lambda g=broken: (g,)), symmetric=True).counts.states == 9


def test_a_failure_ends_the_search_with_symmetries_too() -> None:
    model = counter(30, never("below", 0, lambda value: value > 2), fails_at=9)
    one = Symmetry((0,), (0, 1), same, same)
    found, whole = tabled.explore(replace(model, symmetries=lambda: (one,)), symmetric=True), reference.explore(model)
    assert found.failed is not None
    assert whole.failed is not None
    assert (found.failed.index, found.failed.steps) == (whole.failed.index, whole.failed.steps)


SWAP = Symmetry((1, 0), (1, 0), lambda slot, value: value[::-1] if isinstance(value, tuple) else value, lambda slot, word: word * 2)


def refuses_from(least: int, for_good: bool = False) -> Callable[[Value], Disabled | None]:
    return lambda value: Disabled("guard", for_good=for_good) if len(str(value)) >= least else None


def selects_from(least: int, reads: tuple[Slot, ...] = ()) -> Callable[[Value], Footprint | Disabled]:
    return lambda value: Footprint(reads=reads) if len(str(value)) >= least else Disabled("selector")


def narrows_to(*slots: Slot) -> Callable[[Value], frozenset[Slot]]:
    return lambda value: frozenset(slots)


def step_with(slot: Slot, guard: Any = None, select: Any = None, narrows: Any = None) -> Step:
    return Step(
        "step", (("slot", str(slot)),), Kind.PROTOCOL, lambda word, values: Effect(values), selector=slot, select=select,
        guard=guard and (slot, guard), narrows=narrows and (slot, narrows),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "ask", "odd"),
    [
        ({}, {}, lambda images: images.taken(0, ()), False),
        ({}, {}, lambda images: images.taken(0, (0, 0)), False),
        ({}, {}, lambda images: images.taken(0, (0, 1)), True),
        ({}, {}, lambda images: images.taken(0, (1,)), True),
        ({}, {}, lambda images: images.appended(0, (), ((0,), (0,)), (0, 0)), False),
        ({}, {}, lambda images: images.appended(0, (1,), ((0,),), (1, 0)), True),
        ({}, {}, lambda images: images.appended(0, (), ((3,),), (3,)), True),
        ({"guard": refuses_from(2)}, {"guard": refuses_from(2)}, lambda images: images.refused(0, 0, "ab", Disabled("guard")), False),
        ({"guard": refuses_from(2)}, {"guard": refuses_from(3)}, lambda images: images.refused(0, 0, "ab", Disabled("guard")), True),
        ({"guard": refuses_from(3)}, {"guard": refuses_from(2)}, lambda images: images.refused(0, 0, "ab", None), True),
        ({"guard": refuses_from(2)}, {"guard": refuses_from(2, True)}, lambda images: images.refused(0, 0, "ab", Disabled("guard")), True),
        ({}, {"select": selects_from(2, (1,))}, lambda images: images.selected(0, 0, "ab", Footprint(reads=(0,))), False),
        ({}, {"select": selects_from(2, (0,))}, lambda images: images.selected(0, 0, "ab", Footprint(reads=(0,))), True),
        ({}, {"select": selects_from(3, (1,))}, lambda images: images.selected(0, 0, "ab", Footprint(reads=(0,))), True),
        ({}, {"select": selects_from(2)}, lambda images: images.selected(0, 0, "ab", Disabled("selector")), True),
        ({"narrows": narrows_to(0)}, {"narrows": narrows_to(1)}, lambda images: images.narrowed(0, "ab"), False),
        ({"narrows": narrows_to(0)}, {"narrows": narrows_to(0)}, lambda images: images.narrowed(0, "ab"), True),
        ({"narrows": narrows_to(0)}, {}, lambda images: images.narrowed(0, "ab"), True),
    ],
)
def test_each_entry_is_held_to_the_renaming(one: dict[str, Any], other: dict[str, Any], ask: Callable[[Images], None], odd: bool) -> None:
    steps = (step_with(0, **one), step_with(1, **other))
    model = Model("two", Layout((SlotSpec("a"), SlotSpec("b"))), (((), ()),), steps, (), lambda slot, value: True)
    images = Images(model, (SWAP,), ())
    ask(images)
    assert images.odd == ({0} if odd else set())


# ---- channels ------------------------------------------------------------------------------------------


def post(clerks: int, letters: int, sorts: bool) -> Model:
    """Each clerk sends letters to the hub, over a channel of its own; the hub passes each on to all others, in the order of names or at once.

    Slots: the way of each clerk to the hub, the way back, how many letters each has left.
    """
    everyone = range(clerks)
    way, back, left = everyone, range(clerks, 2 * clerks), range(2 * clerks, 3 * clerks)

    def send(k: int) -> Callable[[Word | None, tuple[Value, ...]], Effect | Disabled]:
        return lambda _, values: Effect((values[0] - 1,), ((way[k], (("from", k),)),)) if values[0] else Disabled("letters")

    def sort(k: int) -> Callable[[Word | None, tuple[Value, ...]], Effect | Disabled]:
        def react(word: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
            others = [m for m in everyone if m != k]
            return Effect((), tuple((back[m], (word,)) for m in (others[:1] if sorts else others)))

        return react

    steps = []
    for k in everyone:
        who = (("clerk", str(k)),)
        steps.append(Step("send", who, Kind.ENVIRONMENT, send(k), Footprint(reads=(left[k],), appends=(way[k],))))
        steps.append(Step("sort", who, Kind.PROTOCOL, sort(k), Footprint(way[k], (), tuple(back[m] for m in everyone if m != k)), serves=way[k]))
        steps.append(Step("read", who, Kind.PROTOCOL, lambda word, values: Effect(()), Footprint(back[k]), serves=back[k]))

    def symmetry(order: tuple[int, ...]) -> Symmetry:
        def word(slot: Slot, letter: Any) -> Any:
            return (letter[0], order[letter[1]])

        def rename(slot: Slot, value: Any) -> Any:
            return tuple(word(slot, letter) for letter in value) if isinstance(value, tuple) else value

        slots = tuple(clerks * kind + order[k] for kind in range(3) for k in everyone)
        return Symmetry(slots, tuple(3 * order[k] + kind for k in everyone for kind in range(3)), rename, word)

    full = replace(each("full", clerks, lambda slot, letters: len(letters) > 1), mendable=True)
    full = replace(full, predicates=tuple(replace(predicate, reads=(back[k],)) for k, predicate in enumerate(full.predicates)))
    spent = Property("spent", Scope.QUIESCENT, (Predicate(tuple(left), lambda values: None if any(values) else Breach("spent")),))
    symmetries = tuple(symmetry(order) for order in permutations(everyone))[1:]
    layout = Layout(tuple(SlotSpec(f"{kind}{k}") for kind in ("way", "back", "left") for k in everyone))
    start = ((),) * (2 * clerks) + (letters,) * clerks
    model = Model("post", layout, (start,), tuple(steps), (full, spent, ENDLESS), lambda slot, value: slot in left or not value, tuple(left))
    return replace(model, spent=lambda values: not any(values), symmetries=lambda: symmetries)


@pytest.mark.parametrize("reduce", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_letters_are_renamed_on_their_way(options: dict[str, Any], reduce: bool) -> None:
    model = post(3, 1, sorts=False)
    whole, found = tabled.explore(model, reduce=reduce, **options), tabled.explore(model, symmetric=True, reduce=reduce, **options)
    assert 3 * found.counts.states < whole.counts.states
    if not reduce:
        assert found.counts.states == classes(model, model.symmetries())
    same_verdicts(model, found)


@pytest.mark.parametrize("reduce", [False, True])
def test_a_hub_that_prefers_the_first_is_noticed(reduce: bool) -> None:
    model = post(3, 1, sorts=True)
    found, whole = tabled.explore(model, symmetric=True, reduce=reduce), tabled.explore(model, reduce=reduce)
    assert (found.counts, found.verdicts) == (whole.counts, whole.verdicts)


@pytest.mark.parametrize("reduce", [False, True])
def test_a_promise_that_is_not_symmetric_counts_with_a_reduction_alone(reduce: bool) -> None:
    model = replace(post(2, 1, sorts=False), unordered=lambda slot, one, other: str(one) == "read(0)")
    found = tabled.explore(model, symmetric=True, reduce=reduce)
    assert (found.counts.states < tabled.explore(model, reduce=reduce).counts.states) is not reduce


# ---- cycles --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("again", [Kind.PROTOCOL, Kind.ENVIRONMENT])
@pytest.mark.parametrize("reduce", [False, True])
def test_cycles_of_the_protocol_are_judged_without_symmetries(again: Kind, reduce: bool) -> None:
    model = counters(3, ENDLESS, summing("all", 3, 6, Scope.QUIESCENT), again=again)
    found = tabled.explore(model, symmetric=True, reduce=reduce)
    if not reduce:
        assert found.counts.states == (27 if again is Kind.PROTOCOL else comb(5, 2))
    same_verdicts(model, found)


# ---- groups --------------------------------------------------------------------------------------------


def rotations(n: int) -> tuple[Symmetry, ...]:
    places = [tuple((k + by) % n for k in range(n)) for by in range(1, n)]
    return tuple(Symmetry(place, place, same, same) for place in places)


def test_what_is_left_is_a_group() -> None:
    everything = permuted(3)
    turns = {k for k, g in enumerate(everything) if all(slot != place for slot, place in enumerate(g.slots))}
    assert len(closed(everything, turns, [])) == 1  # a swap
    assert {g.slots for g in closed(everything, {0}, [])} == {everything[k].slots for k in turns}
    assert [g.slots for g in closed(rotations(4), {0}, [])] == [(2, 3, 0, 1)]
    assert closed(rotations(5), {3}, []) == ()
    assert closed(rotations(6), {0, 1, 2, 3, 4}, []) == ()
    assert [g.slots[0] for g in closed(rotations(6), {0, 4}, [])] == [2, 4]


def test_renamings_that_do_not_undo_each_other_are_no_group() -> None:
    swap = Symmetry((1, 0), (1, 0), lambda slot, value: (value + 1) % 3, same)
    odd = Symmetry((0, 1), (0, 1), lambda slot, value: -value, same)
    assert closed((swap, odd), {1}, []) == (swap,)
    assert closed((swap, odd), {1}, [(0, 1)]) == ()


# ---- scenarios -----------------------------------------------------------------------------------------

CASES = list(product(("figure-1a", "link-lost-and-found"), ("mft-pubsub", "mft-pubsub-2023", "modular"), ("printed", "amended")))


@pytest.mark.parametrize(("name", "protocol", "readings"), CASES)
@pytest.mark.parametrize("reduce", [False, True])
def test_scenarios_with_symmetries(name: str, protocol: str, readings: str, reduce: bool) -> None:
    model = question(load_scenario(name), protocol=protocol, readings=readings).model()
    assert model.symmetries()
    row = TABLE[f"{name} {protocol} {readings}"]
    whole, found = tabled.explore(model, reduce=reduce), tabled.explore(model, reduce=reduce, symmetric=True)
    assert found.complete
    assert found.counts.states <= whole.counts.states <= row["states"]
    assert found.unfired == whole.unfired
    violated = {of: verdict.counterexample.length for of, verdict in found.verdicts.items() if isinstance(verdict, Violated)}
    known = [of for of in model.properties if of.name not in row.get("not_applicable", ())]
    assert {of: type(verdict) for of, verdict in found.verdicts.items()} == {of: type(verdict) for of, verdict in whole.verdicts.items()}
    for of in known:
        if of.scope is Scope.QUIESCENT and of.name in row["violated"]:
            assert violated[of.name] == row["violated"][of.name]


@pytest.mark.parametrize(("reduce", "states"), [(False, (124, 67)), (True, (23, 16))])
def test_the_leaves_of_figure_1a_can_trade_places(reduce: bool, states: tuple[int, int]) -> None:
    model = question(load_scenario("figure-1a"), protocol="modular").model()
    assert tuple(tabled.explore(model, reduce=reduce, symmetric=symmetric).counts.states for symmetric in (False, True)) == states
    if not reduce:
        assert classes(model, model.symmetries()) == states[1]


# ---- laws ----------------------------------------------------------------------------------------------

OTHER: tuple[Slot, ...] = (1, 0, 3, 2)


def mirrored(step: Step, reverse: bool) -> Step:
    """The step that does the same to the other cell and channel; `reverse`: it reads its slots in the opposite order."""

    def footprint(one: Footprint) -> Footprint:
        reads, appends = tuple(OTHER[slot] for slot in one.reads), tuple(OTHER[slot] for slot in one.appends)
        return Footprint(None if one.takes is None else OTHER[one.takes], reads[::-1] if reverse else reads, appends)

    def react(word: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        effect = step.react(word, values[::-1] if reverse else values)
        if isinstance(effect, Disabled):
            return effect
        return Effect(effect.values[::-1] if reverse else effect.values, tuple((OTHER[slot], words) for slot, words in effect.appended))

    def select(value: Value) -> Footprint | Disabled:
        assert step.select is not None
        chosen = step.select(value)
        return chosen if isinstance(chosen, Disabled) else footprint(chosen)

    return replace(
        step, arguments=(("mirrored", str(step)),), react=react, fixed=footprint(step.fixed),
        serves=None if step.serves is None else OTHER[step.serves],
        selector=None if step.selector is None else OTHER[step.selector], select=None if step.select is None else select,
    )  # fmt: skip


def rising(step: Step) -> Step:
    """The step where it raises a cell, or takes a word and changes nothing else: no run of such steps comes back."""

    def react(word: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        effect = step.react(word, values)
        if isinstance(effect, Disabled) or (word is not None and effect == Effect(values)):
            return effect
        before, after = (sum(value for value in some if isinstance(value, int)) for some in (values, effect.values))
        return effect if after > before else Disabled("higher")

    return replace(step, react=react)


@st.composite
def mirrors(draw: st.DrawFn) -> Model:
    """A random model made symmetric, more or less; in most, no run comes back."""
    model: Model = draw(random_models.models())
    if draw(st.integers(0, 3)):
        model = replace(model, steps=tuple(map(rising, model.steps)))
    seldom = st.sampled_from((False,) * 5 + (True,))
    n, odd = len(model.steps), draw(st.integers(0, len(model.steps) - 1)) if draw(seldom) else -1
    twins = tuple(step if k == odd else mirrored(step, draw(st.booleans()) and len(set(step.fixed.reads)) == 3) for k, step in enumerate(model.steps))
    spoilt, flips, lopsided = draw(seldom), draw(seldom), draw(seldom)

    def twin(of: Property) -> Property:
        more = tuple(replace(predicate, reads=tuple(OTHER[slot] for slot in predicate.reads)) for predicate in of.predicates)
        return replace(of, predicates=of.predicates + (() if spoilt else more))

    def flip(slot: Slot, word: Any) -> Any:
        return 1 - word if flips else word

    def rename(slot: Slot, value: Any) -> Any:
        return tuple(flip(slot, word) for word in value) if isinstance(value, tuple) else value

    swap = Symmetry(OTHER, (*range(n, 2 * n), *range(n)), rename, flip)
    starts = (*model.initial_states, *(image(swap, state) for state in model.initial_states if not lopsided))
    return replace(
        model, steps=model.steps + twins, properties=tuple(map(twin, model.properties)), initial_states=starts, symmetries=lambda: (swap,),
        budget=random_models.CELLS, spent=lambda values: values[0] != 1 or values[1] != 1,
        idle=model.idle if draw(seldom) else lambda slot, value: not value if slot in random_models.CHANNELS else True,
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(mirrors(), st.booleans(), st.booleans())
def test_whatever_passes_for_a_symmetry_the_verdicts_stay(model: Model, reduce: bool, wide: bool) -> None:
    found = tabled.explore(model, symmetric=True, reduce=reduce, wide=wide)
    whole = reference.explore(model)
    symmetries = model.symmetries() if found.counts.states < whole.counts.states else ()
    if not reduce:
        assert found.counts.states == classes(model, symmetries)
        assert found.unfired == whole.unfired
    same_verdicts(model, found, reduce)
