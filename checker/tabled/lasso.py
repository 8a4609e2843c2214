"""Runs that go on for ever, on the tabled graph: what cannot lie on a cycle is struck off, and the rest is a `ProtocolGraph` as any other."""

from __future__ import annotations

from typing import Any

import numpy as np

from roamcheck.checker.cycles import ProtocolGraph, find_cycles, shortest_turn
from roamcheck.checker.verdict import Counterexample, goes_on_for_ever
from roamcheck.model.interface import Kind, Scope

from . import trimming
from .search import Search


def judge_cycles(search: Search, found: dict[str, Counterexample]) -> tuple[int, int]:
    """Put the shortest run that goes on for ever into `found`, under each property of runs; how many cycles are unfair, and how many wait."""
    model, tables, alive = search.model, search.tables, on_cycles(search)
    if not len(alive):
        return 0, 0
    rows = search.rebuild(alive)
    graph = protocol_graph(search, alive, rows)
    spent_by: dict[tuple[int, ...], bool] = {}
    busy_by: dict[bytes, frozenset[int]] = {}
    owing = tables.busy.array[rows]

    def spent(i: int) -> bool:
        budget = tuple(int(rows[i, slot]) for slot in model.budget)
        if budget not in spent_by:
            spent_by[budget] = model.spent(tables.state(budget))
        return spent_by[budget]

    def busy(i: int) -> frozenset[int]:
        key = owing[i].tobytes()
        if key not in busy_by:
            busy_by[key] = frozenset(np.flatnonzero(owing[i]).tolist())
        return busy_by[key]

    cycles = find_cycles(graph, spent, busy)
    asked = [of for of in model.properties if of.scope is Scope.RUN]
    if asked and cycles.fair:
        turn = shortest_turn(graph, cycles.fair, busy, lambda i: search.depth(int(alive[i])))
        initial, stem = search.path(int(alive[turn.start]))
        lasso = Counterexample(initial, stem + turn.steps, len(stem), goes_on_for_ever(model.steps[step] for step in turn.steps))
        found.update({of.name: lasso for of in asked})
    return cycles.unfair, cycles.waiting


def protocol_graph(search: Search, alive: Any, rows: Any) -> ProtocolGraph:
    """The protocol steps among the states `alive`, whose rows are given; states are renumbered from 0 in order."""
    steps = search.model.steps
    graph = ProtocolGraph([step.serves for step in steps])
    owed = np.array([step.kind is Kind.PROTOCOL for step in steps])
    moves = np.array([step.kind is Kind.ENVIRONMENT for step in steps])
    for enabled, targets in search.successors(rows):
        graph.out.append(len(graph.targets))
        graph.stirred.append(bool(moves[enabled].any()))
        at = np.minimum(np.searchsorted(alive, targets), len(alive) - 1)
        inside = owed[enabled] & (alive[at] == targets)
        graph.targets.extend(at[inside].tolist())
        graph.steps.extend(enabled[inside].tolist())
    graph.out.append(len(graph.targets))
    return graph


def on_cycles(search: Search) -> Any:
    """The numbers of the states that may lie on a cycle of protocol steps, in order."""
    degree, edges = search.degree.read(0, len(search.degree)), search.edges.read(0, len(search.edges))
    out = np.zeros(len(degree) + 1, np.int64)
    np.cumsum(degree, out=out[1:])
    alive, loops = np.ones(len(degree), np.uint8), np.zeros(len(degree), np.uint8)
    trimming.mark_loops(out, edges, loops)
    left, before = len(alive), len(alive) + 1
    while left and left < before:
        before = left
        left = int(trimming.strike_sinks(out, edges, alive))
        if left and 20 * left > 19 * before:
            left = int(trimming.strike_sources(out, edges, alive))
    return np.flatnonzero(alive | loops)
