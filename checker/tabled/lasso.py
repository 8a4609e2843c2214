"""Runs that go on for ever, on the tabled graph: what cannot lie on a cycle is struck off, and the rest is a `ProtocolGraph` as any other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from roamcheck.checker.cycles import ProtocolGraph, find_cycles, shortest_turn
from roamcheck.checker.verdict import Counterexample, goes_on_for_ever
from roamcheck.model.interface import Disabled, Kind, Scope, State, fire

from .search import Search


def judge_cycles(search: Search, found: dict[str, Counterexample]) -> tuple[int, int]:
    """Put the shortest run that goes on for ever into `found`, under each property of runs; how many cycles are unfair, and how many wait."""
    model, alive = search.model, on_cycles(search)
    if not len(alive):
        return 0, 0
    states = rebuild(search, alive)
    numbers = alive.tolist()
    index = {number: i for i, number in enumerate(numbers)}
    graph = ProtocolGraph([step.serves for step in model.steps])
    rows = {tuple(search.tables.row(states[number])): i for number, i in index.items()}
    for number in numbers:
        graph.out.append(len(graph.targets))
        graph.stirred.append(False)
        for s, step in enumerate(model.steps):
            after = fire(model, step, states[number])
            if isinstance(after, Disabled):
                continue
            if step.kind is Kind.ENVIRONMENT:
                graph.stirred[-1] = True
            elif step.kind is Kind.PROTOCOL and (target := rows.get(tuple(search.tables.row(after)))) is not None:
                graph.targets.append(target)
                graph.steps.append(s)
    graph.out.append(len(graph.targets))

    def spent(i: int) -> bool:
        return model.spent(tuple(states[numbers[i]][slot] for slot in model.budget))

    def busy(i: int) -> frozenset[int]:
        return frozenset(slot for slot, value in enumerate(states[numbers[i]]) if not model.idle(slot, value))

    cycles = find_cycles(graph, spent, busy)
    asked = [of for of in model.properties if of.scope is Scope.RUN]
    if asked and cycles.fair:
        turn = shortest_turn(graph, cycles.fair, busy, lambda i: search.depth(numbers[i]))
        initial, stem = search.path(numbers[turn.start])
        lasso = Counterexample(initial, stem + turn.steps, len(stem), goes_on_for_ever(model.steps[step] for step in turn.steps))
        found.update({of.name: lasso for of in asked})
    return cycles.unfair, cycles.waiting


def on_cycles(search: Search) -> Any:
    """The numbers of the states that may lie on a cycle of protocol steps, in order."""
    degree, edges = search.degree.read(0, len(search.degree)), search.edges.read(0, len(search.edges))
    out = np.zeros(len(degree) + 1, np.int64)
    np.cumsum(degree, out=out[1:])
    alive, loops = np.ones(len(degree), np.uint8), np.zeros(len(degree), np.uint8)
    mark_loops(out, edges, loops)
    left, before = len(alive), len(alive) + 1
    while left and left < before:
        before = left
        left = strike_sinks(out, edges, alive)
        if left and 20 * left > 19 * before:
            left = strike_sources(out, edges, alive)
    return np.flatnonzero(alive | loops)


def rebuild(search: Search, numbers: Any) -> dict[int, State]:
    """The states with these numbers, each fired from its parent."""
    model, states = search.model, dict[int, State]()
    for number in numbers.tolist():
        missing, i = [], number
        while i not in states and i >= len(search.initial):
            missing.append(i)
            i = search.parent[i]
        if i not in states:
            states[i] = model.initial_states[search.initial[i]]
        for child in reversed(missing):
            after = fire(model, model.steps[search.arrival[child]], states[i])
            assert not isinstance(after, Disabled)
            states[child], i = after, child
    return states


@njit(cache=True, nogil=True)
def mark_loops(out: Any, edges: Any, loops: Any) -> None:
    """The states that lead to themselves."""
    for i in range(loops.shape[0]):
        for e in range(out[i], out[i + 1]):
            if edges[e] == i:
                loops[i] = 1


@njit(cache=True, nogil=True)
def strike_sinks(out: Any, edges: Any, alive: Any) -> int:
    """Strike off the states that lead to no other that is left, the last found first; how many are left."""
    left = 0
    for i in range(alive.shape[0] - 1, -1, -1):
        if alive[i]:
            alive[i] = 0
            for e in range(out[i], out[i + 1]):
                if edges[e] != i and alive[edges[e]]:
                    alive[i] = 1
                    left += 1
                    break
    return left


@njit(cache=True, nogil=True)
def strike_sources(out: Any, edges: Any, alive: Any) -> int:
    """Strike off the states that no other that is left leads to, and what only they lead to; how many are left."""
    n = alive.shape[0]
    incoming, stack, left = np.zeros(n, np.uint32), np.empty(n, np.uint32), 0
    for i in range(n):
        if alive[i]:
            for e in range(out[i], out[i + 1]):
                if edges[e] != i and alive[edges[e]]:
                    incoming[edges[e]] += 1
    top = 0
    for i in range(n):
        if alive[i] and incoming[i] == 0:
            stack[top] = i
            top += 1
    while top:
        top -= 1
        i = np.int64(stack[top])
        alive[i] = 0
        for e in range(out[i], out[i + 1]):
            j = np.int64(edges[e])
            if j != i and alive[j]:
                incoming[j] -= 1
                if incoming[j] == 0:
                    stack[top] = j
                    top += 1
    for i in range(n):
        left += alive[i]
    return left
