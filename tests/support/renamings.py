"""Models whose parts can trade places, and what must hold of a search that uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import permutations
from typing import Any

from roamcheck.checker.engines import reference
from roamcheck.checker.verdict import Exploration, Violated
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
    State,
    Step,
    Symmetry,
    Value,
    Word,
    fire,
)
from roamcheck.spec.breach import Breach
from support.footprints import enabled

Rename = Callable[[Slot, Any], Any]


def same(slot: Slot, value: Any) -> Any:
    return value


def image(g: Symmetry, state: State) -> State:
    moved = {g.slots[slot]: g.rename(slot, value) for slot, value in enumerate(state)}
    return tuple(moved[slot] for slot in range(len(state)))


def classes(model: Model, symmetries: Iterable[Symmetry]) -> int:
    """How many classes of states are within reach, found without the engine."""
    states = dict.fromkeys(model.initial_states)
    frontier = list(states)
    for state in frontier:  # grows
        for _, after in enabled(model, state):
            if after not in states:
                states[after] = None
                frontier.append(after)
    return len({frozenset({state, *(image(g, state) for g in symmetries)}) for state in states})


def same_verdicts(model: Model, found: Exploration, reduce: bool = False) -> None:
    """Those of the reference explorer; what goes wrong in quiescent states is found after as many steps, and the runs are runs.

    A stubborn-set reduction may leave out cycles.
    """
    whole = reference.explore(model)
    assert found.complete == whole.complete
    assert found.counts.states <= whole.counts.states
    assert reduce or (found.counts.unfair_cycles, found.counts.waiting_cycles) == (whole.counts.unfair_cycles, whole.counts.waiting_cycles)
    for of in model.properties:
        one, other = whole.verdicts[of.name], found.verdicts[of.name]
        assert type(one) is type(other), of.name
        if isinstance(one, Violated) and isinstance(other, Violated):
            if of.scope is Scope.QUIESCENT:
                assert one.counterexample.length == other.counterexample.length
            is_a_run(model, of, other)


def is_a_run(model: Model, of: Property, verdict: Violated) -> None:
    state = model.initial_states[verdict.counterexample.initial]
    for step in verdict.counterexample.steps:
        after = fire(model, model.steps[step], state)
        assert not isinstance(after, Disabled)
        state = after
    if verdict.counterexample.loop is None:
        assert any(p.check(tuple(state[slot] for slot in p.reads)) is not None for p in of.predicates)


def permuted(n: int, steps_each: int = 1) -> tuple[Symmetry, ...]:
    """All renamings of the first n slots, each of which has so many steps."""
    orders = list(permutations(range(n)))[1:]
    return tuple(Symmetry(order, tuple(steps_each * k + more for k in order for more in range(steps_each)), same, same) for order in orders)


def counters(n: int, *properties: Property, limits: tuple[int, ...] = (), again: Kind | None = None, first: int = -1) -> Model:
    """So many counters, each of which counts to its limit; then, with `again`, that kind of step may put it back to 0.

    With `first`, a counter goes beyond that number only when those before it have.
    """
    limits = limits or (2,) * n

    def add(k: int) -> Callable[[Word | None, tuple[Value, ...]], Effect | Disabled]:
        def react(_: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
            counts: list[Any] = list(values)
            if counts[k] >= limits[k] or (counts[k] == first and any(count <= first for count in counts[:k])):
                return Disabled("its turn")
            counts[k] += 1
            return Effect(tuple(counts))

        return react

    def reset(limit: int) -> Callable[[Word | None, tuple[Value, ...]], Effect | Disabled]:
        return lambda _, values: Effect((0,)) if values[0] == limit else Disabled("at the limit")

    steps = []
    for k in range(n):
        steps.append(Step("add", (("to", str(k)),), Kind.PROTOCOL, add(k), Footprint(reads=tuple(range(n))), serves=k))
        if again is not None:
            steps.append(Step("reset", (("what", str(k)),), again, reset(limits[k]), Footprint(reads=(k,))))
    found = permuted(n, len(steps) // n)
    layout = Layout(tuple(SlotSpec(f"n{k}") for k in range(n)))
    return Model("counters", layout, ((0,) * n,), tuple(steps), properties, lambda slot, value: value == limits[slot], symmetries=lambda: found)


def each(name: str, n: int, bad: Callable[[Slot, Any], bool], scope: Scope = Scope.EVERY_STATE) -> Property:
    """No slot holds what is bad there."""

    def check(slot: Slot) -> Callable[[tuple[Value, ...]], Breach | None]:
        return lambda values: Breach("bad", (("slot", str(slot)),)) if bad(slot, values[0]) else None

    return Property(name, scope, tuple(Predicate((slot,), check(slot)) for slot in range(n)))


def summing(name: str, n: int, total: int, scope: Scope) -> Property:
    """The values never have this sum."""
    return Property(name, scope, (Predicate(tuple(range(n)), lambda values: Breach("sum") if sum(map(int, map(str, values))) == total else None),))
