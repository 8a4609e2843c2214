"""Runs that go on for ever, on the tabled graph: the components of what lies on cycles, told apart in arrays as `roamcheck.checker.cycles` tells them
apart one by one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from roamcheck.checker.cycles import Component, ProtocolGraph, shortest_turn
from roamcheck.checker.verdict import Counterexample, goes_on_for_ever
from roamcheck.model.interface import Kind, Model, Scope

from . import returning, trimming
from .refiring import chosen, rebuild, successors
from .search import Search
from .store import Chunk
from .symmetries import Asymmetric
from .visited import UNKNOWN, UNTOLD

Path = tuple[int, tuple[int, ...]]  # a run: the number of an initial state, and steps


class Edges(NamedTuple):
    """Protocol steps among some states, in the order of the states; and what tells of some of these whether an environment step is enabled there."""

    source: Any
    target: Any
    step: Any
    stirred: Callable[[Any], Any]


def judge_cycles(search: Search, found: dict[str, Counterexample]) -> tuple[int, int]:
    """Put the shortest run that goes on for ever into `found`, under each property of runs; how many cycles are unfair, and how many wait.

    Raises Asymmetric if there are cycles and symmetries.
    """
    model, tables, alive = search.model, search.tables, np.ones(len(search.degree), np.uint8)
    if tables.images.symmetries:
        if len(returning.cyclic(search, alive).states):  # a cycle of classes need not be one of states, and what is served has a name
            tables.images.odd.update(range(len(tables.images.symmetries)))
            raise Asymmetric
        return 0, 0
    known = returning.returning(search) if search.reduction is None else None
    turning = trimming.trimmed(search.graph(), alive) if known is None else trimming.cyclic(known.source, known.target, alive).states
    if not len(turning):
        return 0, 0
    rebuilt = rebuild(search, turning)
    rows = rebuilt.rows
    told = known is not None and not (known.reaction == UNTOLD).any()
    edges = edges_known(search, turning, rebuilt, known) if known is not None and told else protocol_edges(search, turning, rebuilt)
    spent, busy = budget_spent(search, rows), tables.busy.array
    return sort_out(model, edges, spent, rows, busy, lambda i: search.depth(int(turning[i])), lambda i: search.path(int(turning[i])), found)


def sort_out(
    model: Model, edges: Edges, spent: Any, rows: Any, busy: Any, depth: Callable[[int], int], path: Callable[[int], Path],
    found: dict[str, Counterexample],
) -> tuple[int, int]:  # fmt: skip
    """As `judge_cycles`, of states that lie on cycles: of each whether its budget is spent, its row, how far it is, and a shortest run to it.

    `busy` tells of each value whether a slot that has it is busy.
    """
    (label, count), slots = components(edges, spent), rows.shape[1]
    serves = np.array([-1 if step.serves is None or step.serves >= slots else step.serves for step in model.steps])
    owed, served = np.ones((count, slots), np.uint8), np.zeros((count, slots), np.uint8)
    first, fair = np.empty(count, np.int64), np.ones(count, bool)
    debts(label, edges.source, edges.target, edges.step, serves, rows, busy, owed, served, first, fair)
    is_spent = spent[first]
    asked = [of for of in model.properties if of.scope is Scope.RUN]
    if asked and (fair & is_spent).any():
        chosen = np.flatnonzero(fair & is_spent).tolist()
        homes = tuple(frozenset(np.flatnonzero(label == component).tolist()) for component in chosen)
        found.update(dict.fromkeys((of.name for of in asked), lasso(model, homes, edges, rows, busy, depth, path)))
    waits = ~is_spent & fair
    asked_of = np.flatnonzero((label >= 0) & waits[label]) if count else np.empty(0, np.int64)
    waits[label[asked_of[edges.stirred(asked_of)]]] = False
    return int(np.count_nonzero(is_spent & ~fair)), int(np.count_nonzero(waits))


@njit(cache=True, nogil=True)
def debts(
    label: Any, source: Any, target: Any, step: Any, serves: Any, rows: Any, busy: Any, owed: Any, served: Any, first: Any, fair: Any
) -> None:  # fmt: skip
    """Of each component: the slots that are busy in all of its states, those that its steps serve, the first of its states, and whether all slots of
    the first kind are of the second."""
    for e in range(source.shape[0]):
        of = label[source[e]]
        if of >= 0 and of == label[target[e]] and serves[step[e]] >= 0:
            served[of, serves[step[e]]] = 1
    for i in range(label.shape[0] - 1, -1, -1):
        of = label[i]
        if of >= 0:
            first[of] = i
            for slot in range(rows.shape[1]):
                owed[of, slot] &= busy[rows[i, slot]] != 0
    for of in range(fair.shape[0]):
        for slot in range(rows.shape[1]):
            fair[of] &= owed[of, slot] <= served[of, slot]


def lasso(
    model: Model, fair: tuple[Component, ...], edges: Edges, rows: Any, busy: Any, depth: Callable[[int], int], path: Callable[[int], Path]
) -> Counterexample:
    """The shortest run into one of these components and once round it, fairly."""
    graph = ProtocolGraph([step.serves for step in model.steps])
    graph.out.frombytes(np.searchsorted(edges.source, np.arange(len(rows) + 1)).astype(np.uint64).tobytes())
    graph.targets.frombytes(edges.target.astype(np.uint32).tobytes())
    graph.steps.frombytes(edges.step.astype(np.uint32).tobytes())
    known: dict[bytes, frozenset[int]] = {}

    def owing(i: int) -> frozenset[int]:
        here = busy[rows[i]]
        key = here.tobytes()
        if key not in known:
            known[key] = frozenset(np.flatnonzero(here).tolist())
        return known[key]

    turn = shortest_turn(graph, fair, owing, depth)
    initial, stem = path(turn.start)
    return Counterexample(initial, stem + turn.steps, len(stem), goes_on_for_ever(model.steps[step] for step in turn.steps))


def edges_known(search: Search, states: Any, rebuilt: Chunk, known: returning.Edges) -> Edges:
    """Of edges with their reactions, those among the states that are given with their numbers, which are renumbered from 0 in order."""
    place, steps = np.zeros(search.states, np.int32), np.zeros(len(search.tables.reactions.items), np.uint16)
    place[states] = np.arange(1, len(states) + 1)
    source, target, which = trimming.inside(known.source, known.target, place)
    for reaction, (step, _, _) in search.tables.operands.items():
        steps[reaction] = step
    return Edges(source, target, steps[known.reaction[which]], partial(stirred, search, rebuilt))


def protocol_edges(search: Search, states: Any, rebuilt: Chunk) -> Edges:
    """The protocol steps among the states that are given with their numbers, which are renumbered from 0 in order."""
    owed = np.array([step.kind is Kind.PROTOCOL for step in search.model.steps])
    place, found = np.full(search.states, -1, np.int32), []
    place[states] = np.arange(len(states))
    for row, step, target in successors(search, states, rebuilt):
        edges = np.empty(len(row), np.int32), np.empty(len(row), np.int32), np.empty(len(row), np.uint16)
        n = among_these(row, step, target, owed, place, *edges)
        found.append([some[:n] for some in edges])
    source, target, by = (np.concatenate(some) for some in zip(*found, strict=True))
    return Edges(source, target, by, partial(stirred, search, rebuilt))


def stirred(search: Search, rebuilt: Chunk, of: Any) -> Any:
    """Of each of these states, whether an environment step is enabled in it."""
    moves, moved = np.array([step.kind is Kind.ENVIRONMENT for step in search.model.steps]), np.zeros(len(of), bool)
    for lo in range(0, len(of), search.memory.batch):
        here = of[lo : lo + search.memory.batch]
        search.expand(chosen(rebuilt, here), np.ones(len(here), np.uint8))
        row, at = search.candidates.by_row(len(here))
        moved[lo + row[moves[search.candidates.step[at]]]] = True
    return moved


@njit(cache=True, nogil=True)
def among_these(row: Any, step: Any, target: Any, owed: Any, place: Any, source: Any, to: Any, by: Any) -> int:
    """Write the protocol steps that lead to a state that has a place; how many they are."""
    n = 0
    for i in range(row.shape[0]):
        s = step[i]
        if owed[s] and target[i] != UNKNOWN and place[target[i]] >= 0:
            source[n], to[n], by[n] = row[i], place[target[i]], s
            n += 1
    return n


def budget_spent(search: Search, rows: Any) -> Any:
    """Of each row, whether the environment's budget is spent."""
    number = np.zeros(len(rows), np.int64)  # by row: which of the distinct budgets
    for slot in search.model.budget:
        number = number_distinct(number * len(search.tables.values) + rows[:, slot])
    first = np.zeros(number.max(initial=0) + 1, np.int64)
    first[number] = np.arange(len(rows))
    return np.array([search.model.spent(search.tables.state(values)) for values in rows[first][:, search.model.budget].tolist()], bool)[number]


def number_distinct(values: Any) -> Any:
    """By place, which of the distinct values stands there."""
    most = int(values.max(initial=0)) + 1
    if most > 2 * len(values):  # too many for a table of them
        return np.unique(values, return_inverse=True)[1]
    there = np.zeros(most, bool)
    there[values] = True
    return (np.cumsum(there) - 1)[values]


def components(edges: Edges, group: Any) -> tuple[Any, int]:
    """Of each state, the number of its strongly connected component within its group, in the order of their first states, or -1 if it is on no
    cycle; and how many components there are."""
    same = group[edges.source] == group[edges.target]
    labels = trimming.components(edges.source[same], edges.target[same], len(group))
    cyclic = np.bincount(labels)[labels] > 1
    cyclic[edges.source[edges.source == edges.target]] = True
    return labels, number_anew(labels, cyclic, np.full(len(group), -1))


@njit(cache=True, nogil=True)
def number_anew(label: Any, kept: Any, rank: Any) -> int:
    """Number the components of the states that are kept in the order of their first states, and the others -1; how many there are.

    `rank`, -1 everywhere, is used up.
    """
    count = 0
    for i in range(label.shape[0]):
        of = label[i]
        if not kept[i]:
            label[i] = -1
            continue
        if rank[of] < 0:
            rank[of] = count
            count += 1
        label[i] = rank[of]
    return count
