"""Searches that are too simple to be wrong: the definition, word by word, over `fire`.  For models of a few hundred states."""

from __future__ import annotations

from dataclasses import dataclass, field

from roamcheck.model.interface import Disabled, Kind, Model, Predicate, Scope, State, fire


@dataclass
class Naive:
    """What there is to find: counts, and for each property the steps to the nearest state that breaches a predicate of it."""

    depth: dict[State, int] = field(default_factory=dict)
    edges: list[tuple[State, int, State]] = field(default_factory=list)  # source, step, target: in any order
    quiescent: int = 0
    nearest: dict[str, int] = field(default_factory=dict)


def explore(model: Model) -> Naive:
    """Breadth first over `fire`; every predicate is asked in every state that its scope names."""
    seen, frontier = Naive(dict.fromkeys(model.initial_states, 0)), list(dict.fromkeys(model.initial_states))
    for state in frontier:  # grows
        quiescent = model.quiescent(state)
        seen.quiescent += quiescent
        final = quiescent and is_spent(model, state)
        for of in model.properties:
            asked = {Scope.EVERY_STATE: True, Scope.QUIESCENT: quiescent, Scope.RUN: final}[of.scope]
            if asked and any(breached(predicate, state) for predicate in of.predicates):
                seen.nearest.setdefault(of.name, seen.depth[state])
        for number, step in enumerate(model.steps):
            after = fire(model, step, state)
            if not isinstance(after, Disabled):
                seen.edges.append((state, number, after))
                if after not in seen.depth:
                    seen.depth[after] = seen.depth[state] + 1
                    frontier.append(after)
    return seen


def breached(predicate: Predicate, state: State) -> bool:
    """The predicate says that something is wrong in this state."""
    return predicate.check(tuple(state[slot] for slot in predicate.reads)) is not None


# ---- runs ----

Walk = tuple[State, frozenset[State], frozenset[int]]  # where it is, the states it saw, the steps it took


def cycles(model: Model, seen: Naive) -> tuple[int, int, int]:
    """How many components are fair and how many unfair with the budget spent, and how many fair ones wait for silence."""
    is_fair = is_unfair = waiting = 0
    for component in components(model, seen):
        spent = is_spent(model, next(iter(component)))
        stays = fair(model, component, frozenset(step for source, step, target in owed(model, seen) if {source, target} <= component))
        stirred = any(source in component and model.steps[step].kind is Kind.ENVIRONMENT for source, step, _ in seen.edges)
        is_fair += spent and stays
        is_unfair += spent and not stays
        waiting += not spent and stays and not stirred
    return is_fair, is_unfair, waiting


def shortest_lasso(model: Model, seen: Naive) -> int | None:
    """Steps of the shortest stem with a fair turn.  Exponential: walks are told apart by all that they saw and did, and judged at their end."""
    edges = [edge for edge in owed(model, seen) if is_spent(model, edge[0])]
    lengths = []
    for start, length in seen.depth.items():
        old: set[Walk] = set()
        walks: set[Walk] = {(start, frozenset([start]), frozenset())}
        while walks := walks - old:
            old |= walks
            walks = {(target, saw | {target}, did | {step}) for at, saw, did in walks for source, step, target in edges if source == at}
            length += 1
            if any(at == start and fair(model, saw, did) for at, saw, did in walks):
                lengths.append(length)
                break
    return min(lengths, default=None)


def components(model: Model, seen: Naive) -> set[frozenset[State]]:
    """Strongly connected by protocol steps, with an edge inside."""
    reach: dict[State, set[State]] = {state: set() for state in seen.depth}
    for source, _, target in owed(model, seen):
        reach[source].add(target)
    for middle in reach:
        for state in reach:
            if middle in reach[state]:
                reach[state] |= reach[middle]
    return {frozenset(other for other in reach[state] if state in reach[other]) for state in reach if state in reach[state]}


def owed(model: Model, seen: Naive) -> list[tuple[State, int, State]]:
    """The protocol steps that do not change whether the budget is spent."""
    protocol = [edge for edge in seen.edges if model.steps[edge[1]].kind is Kind.PROTOCOL]
    return [(source, step, target) for source, step, target in protocol if is_spent(model, source) == is_spent(model, target)]


def is_spent(model: Model, state: State) -> bool:
    """The environment's budget is used up."""
    return model.spent(tuple(state[slot] for slot in model.budget))


def fair(model: Model, states: frozenset[State], steps: frozenset[int]) -> bool:
    """Every slot that is busy in all of the states is served by one of the steps."""
    served = {model.steps[step].serves for step in steps}
    return all(slot in served or any(model.idle(slot, state[slot]) for state in states) for slot in range(len(model.layout.slots)))
