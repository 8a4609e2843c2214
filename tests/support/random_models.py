"""Hypothesis strategies: small models that make no sense, and use all that the narrow waist has."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from roamcheck.model.interface import Disabled, Effect, Footprint, Kind, Layout, Model, Predicate, Property, Scope, Slot, SlotSpec, Step, Value, Word
from roamcheck.spec.breach import Breach
from support.toys import Edge, digraph

CELLS = (0, 1)  # slots that hold 0, 1 or 2
CHANNELS = (2, 3)  # slots that hold up to CAPACITY words, each 0 or 1
SLOTS = CELLS + CHANNELS
CAPACITY = 2

Changes = tuple[tuple[int, ...], tuple[tuple[Slot, tuple[Word, ...]], ...]]  # seeds of new values, and what is appended


def bounded(channel: Value, words: tuple[Word, ...]) -> Value:
    """Append as long as there is room."""
    assert isinstance(channel, tuple)
    return (*channel, *words)[:CAPACITY]


def code(value: Value) -> int:
    """A number for each value of a cell, a channel or a head."""
    if isinstance(value, tuple):
        return sum((code(word) + 1) * 3**place for place, word in enumerate(value))
    return value if isinstance(value, int) else 7


def replacement(old: Value, seed: int) -> Value:
    """A value of the same kind: the old one, or a new one."""
    if isinstance(old, tuple):
        return (old, (), (0,), (1, 0))[seed % 4]
    assert isinstance(old, int)
    return (old + seed) % 3


def reaction(outcomes: list[Changes | None]) -> Callable[[Word | None, tuple[Value, ...]], Effect | Disabled]:
    """Head and values choose one of the outcomes."""

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        outcome = outcomes[(code(head) + sum(code(value) * (place + 2) for place, value in enumerate(values))) % len(outcomes)]
        if outcome is None:
            return Disabled("this outcome")
        seeds, appended = outcome
        return Effect(tuple(replacement(value, seed) for value, seed in zip(values, seeds, strict=False)), appended)

    return react


channels = st.lists(st.integers(0, 1), max_size=CAPACITY).map(tuple)
states = st.tuples(st.integers(0, 2), st.integers(0, 2), channels, channels)
seeds = st.tuples(*[st.integers(0, 5)] * 3)


@st.composite
def steps(draw: st.DrawFn, number: int) -> Step:
    """Of any kind, with a footprint that is fixed or selected by the first cell."""
    reads = tuple(draw(st.lists(st.sampled_from(SLOTS), max_size=3)))
    appends = tuple(draw(st.lists(st.sampled_from(CHANNELS), max_size=2, unique=True)))
    words = st.lists(st.integers(0, 1), max_size=2).map(tuple)
    appended = st.lists(st.tuples(st.sampled_from(appends), words), max_size=2).map(tuple) if appends else st.just(())
    outcomes = draw(st.lists(st.tuples(seeds, appended), min_size=2, max_size=4)) + draw(st.lists(st.none(), max_size=1))
    footprints = st.builds(Footprint, st.sampled_from((None, None, *CHANNELS)), st.permutations(reads).map(tuple), st.just(appends))
    choices: tuple[Footprint | Disabled, ...] | None = draw(st.none() | st.tuples(*[footprints | st.just(Disabled("not here"))] * 3))

    def select(value: Value) -> Footprint | Disabled:
        assert choices is not None
        assert isinstance(value, int)
        return choices[value]

    return Step(
        draw(st.sampled_from(("push", "pull"))),
        (("number", str(number)),),
        draw(st.sampled_from((Kind.PROTOCOL, Kind.PROTOCOL, Kind.ENVIRONMENT, Kind.LOSS))),
        reaction(outcomes),
        draw(footprints),
        None if choices is None else CELLS[0],
        None if choices is None else select,
        draw(st.sampled_from((None, *CHANNELS))),
        draw(st.sampled_from((False, False, False, True))),
    )


@st.composite
def predicates(draw: st.DrawFn, reads: tuple[Slot, ...] = ()) -> Predicate:
    """Refuses some values of these slots, or of up to three, and not that all are 0 or empty."""
    reads = reads or tuple(draw(st.lists(st.sampled_from(SLOTS), min_size=1, max_size=3)))
    modulus = draw(st.integers(2, 13))
    bad = draw(st.integers(1, modulus - 1))

    def check(values: tuple[Value, ...]) -> Breach | None:
        return Breach(f"not {bad}", (("values", str(values)),)) if sum(map(code, values)) % modulus == bad else None

    return Predicate(reads, check)


@st.composite
def models(draw: st.DrawFn) -> Model:
    """Up to a few hundred states."""
    properties = tuple(Property(scope.value, scope, tuple(draw(st.lists(predicates(), max_size=2)))) for scope in Scope)
    again = tuple(draw(predicates(predicate.reads)) for predicate in properties[0].predicates)  # looks at the same slots as another
    restless = draw(st.booleans())  # the second cell is idle only at 0
    unspent = draw(st.frozensets(st.integers(0, 2), max_size=2))

    def idle(slot: Slot, value: Value) -> bool:
        return not value if slot in CHANNELS or (slot == CELLS[1] and restless) else True

    return Model(
        "random",
        Layout((*(SlotSpec(f"cell{slot}") for slot in CELLS), *(SlotSpec(f"channel{slot}", bounded) for slot in CHANNELS))),
        ((0, 0, (), ()), *draw(st.lists(states, max_size=2))),
        tuple(draw(steps(number)) for number in range(draw(st.integers(3, 7)))),
        (*properties, Property("every state again", properties[0].scope, again), Property("no endless run", Scope.RUN, ())),
        idle,
        draw(st.sampled_from(((CELLS[0],), (CELLS[0], CHANNELS[0])))),
        lambda values: values[0] not in unspent,
    )


@st.composite
def digraphs(draw: st.DrawFn) -> Model:
    """Four nodes with two flags: a path, which may close, and a few edges more."""
    nodes = st.integers(0, 3)
    kinds = st.sampled_from((Kind.PROTOCOL, Kind.PROTOCOL, Kind.PROTOCOL, Kind.ENVIRONMENT))
    path = [Edge(node, (node + 1) % 4, draw(st.sampled_from((None, 1, 2)))) for node in range(draw(st.integers(1, 4)))]
    edges = path + draw(st.lists(st.builds(Edge, nodes, nodes, st.sampled_from((None, 1, 2)), kinds), max_size=4))
    flags = st.sampled_from((frozenset({1, 2}), frozenset({1}), frozenset({2}), frozenset[int]()))
    raised = {node: draw(flags) for node in range(4)}
    unspent = draw(st.frozensets(nodes, max_size=1))
    return digraph(edges, Property("no endless run", Scope.RUN, ()), initial=(0,), raised=raised, unspent=unspent)
