"""What lies on a cycle: what cannot is struck off, and then the components of the rest are found.

A graph is given in blocks, so that its edges need not be in memory all at once: those of the states first…first + n - 1 one after the other.
States bear numbers in the order in which they were found, so most edges lead to higher numbers.
"""

# mypy: disable-error-code="assignment"

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

FEW = 1 << 10  # states that are trimmed to the end


class Block(NamedTuple):
    """Some states and where they lead."""

    first: int
    degree: Any  # [n] U16: how many edges each has
    edges: Any  # U32


class Graph(NamedTuple):
    """Blocks in the order of the states or, if asked for, in the opposite order; and edges besides, from states that are few."""

    blocks: Callable[[bool], Iterable[Block]]
    source: Any  # I64
    target: Any  # I64


class Cyclic(NamedTuple):
    """States on cycles, in order, and the number of the component of each."""

    states: Any
    component: Any


def trimmed(graph: Graph, alive: Any) -> Any:
    """Of the states that are alive, in order: all that lie on a cycle of such states, and some others while these are quickly struck off.

    `alive` is used up.
    """
    loops, besides = np.zeros(len(alive), np.uint8), np.zeros(len(alive), np.uint8)
    besides[graph.source] = 1
    looping = graph.source[graph.source == graph.target]
    loops[looping] = alive[looping]
    left = int(np.count_nonzero(alive.view(bool)))
    while left:
        before = left
        seen = np.zeros(len(alive), np.uint8)
        seen[graph.target[alive[graph.source] > 0]] = 1
        for block in graph.blocks(True):
            strike_sinks(block.first, block.degree, block.edges, alive, besides, loops, seen)
        for block in graph.blocks(False):
            strike_sources(block.first, block.degree, block.edges, alive, besides, seen)
        left = int(np.count_nonzero(alive.view(bool)))
        if left == before or (5 * left > 4 * before and left > FEW):
            break
    return np.flatnonzero((alive | loops).view(bool))


def on_cycles(graph: Graph, alive: Any) -> Cyclic:
    """Of the states that are alive, those that lie on a cycle of such states, in order.  `alive` is used up."""
    states = trimmed(graph, alive)
    return _cyclic(states, *among(graph, states, len(alive)))


def cyclic(source: Any, target: Any, alive: Any) -> Cyclic:
    """As `on_cycles`, of edges that are given as pairs of states."""
    if (source[1:] < source[:-1]).any():
        order = np.argsort(source, kind="stable")
        source, target = source[order], target[order]
    place, states = np.zeros(len(alive), np.int32), np.empty(len(source), np.int64)
    states = states[: list_sources(source, alive, place, states)]
    source, target, _ = inside(source, target, place)  # what leads nowhere lies on no cycle
    return _cyclic(states, source, target)


def inside(source: Any, target: Any, place: Any) -> tuple[Any, Any, Any]:
    """The edges between states that have places (1 and up): as pairs of these, counted from 0 on, and which of the edges they are."""
    room = np.empty(len(source), np.int32), np.empty(len(source), np.int32), np.empty(len(source), np.uint32)
    found = write_inside(source, target, place, *room)
    return room[0][:found], room[1][:found], room[2][:found]


@njit(cache=True, nogil=True)
def list_sources(source: Any, alive: Any, place: Any, states: Any) -> int:
    """List the states that are alive and that edges lead from, which are in order, with their places; how many they are."""
    count = 0
    for e in range(source.shape[0]):
        i = source[e]
        if place[i] == 0 and alive[i]:
            states[count] = i
            count += 1
            place[i] = count
    return count


@njit(cache=True, nogil=True)
def write_inside(source: Any, target: Any, place: Any, source_out: Any, target_out: Any, which: Any) -> int:
    """As `inside`, into arrays; how many they are."""
    count = 0
    for e in range(source.shape[0]):
        here, there = place[source[e]], place[target[e]]
        if here > 0 and there > 0:
            source_out[count], target_out[count], which[count] = here - 1, there - 1, e
            count += 1
    return count


def _cyclic(states: Any, source: Any, target: Any) -> Cyclic:
    labels = components(source, target, len(states))
    cyclic = np.bincount(labels, minlength=1)[labels] > 1
    cyclic[source[source == target]] = True
    return Cyclic(states[cyclic], labels[cyclic])


def targets(graph: Graph, states: Any) -> Any:
    """Where these states lead to, which are in order, one after the other.  There must be no edges besides."""
    found = [np.empty(0, np.uint32)]
    for block in graph.blocks(False):
        lo, hi = np.searchsorted(states, [block.first, block.first + len(block.degree)]).tolist()
        here = states[lo:hi] - block.first
        found.append(np.empty(int(block.degree[here].sum()), np.uint32))
        edges_of(here, starts(block.degree), block.edges, found[-1])
    return np.concatenate(found)


def among(graph: Graph, states: Any, alive: int) -> tuple[Any, Any]:
    """The edges between these states of the first `alive`, as pairs of places in `states`, in the order of the sources."""
    place = np.full(alive, -1, np.int32)
    place[states] = np.arange(len(states))
    sources, targets = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for block in graph.blocks(False):
        lo, hi = np.searchsorted(states, [block.first, block.first + len(block.degree)]).tolist()
        here = states[lo:hi] - block.first
        source = np.empty(int(block.degree[here].sum()), np.int32)
        target = np.empty_like(source)
        found = edges_inside(here, lo, starts(block.degree), block.edges, place, source, target)
        sources.append(source[:found])
        targets.append(target[:found])
    source, target = np.concatenate(sources), np.concatenate(targets)
    if not len(graph.source):
        return source, target
    besides = (place[graph.source] >= 0) & (place[graph.target] >= 0)
    source, target = np.concatenate([source, place[graph.source[besides]]]), np.concatenate([target, place[graph.target[besides]]])
    order = np.argsort(source, kind="stable")
    return source[order], target[order]


def components(source: Any, target: Any, states: int) -> Any:
    """By state, the number of its strongly connected component.  The edges are in the order of their sources."""
    out, label = np.zeros(states + 1, np.int64), np.full(states, -1)
    np.cumsum(np.bincount(source, minlength=states), out=out[1:])
    find_components(out, target, label)
    return label


@njit(cache=True, nogil=True)
def find_components(out: Any, target: Any, label: Any) -> None:
    """Tarjan's algorithm, without recursion: `label`, -1 everywhere, gets the numbers of the components."""
    states = label.shape[0]
    at, seen, low = out[:-1].copy(), np.zeros(states, np.int32), np.zeros(states, np.int32)
    path, open_ = np.empty(states, np.int32), np.empty(states, np.int32)  # from the root to here; seen, and in no component yet
    count, number, waiting = 0, 0, 0
    for root in range(states):
        depth = 0 if label[root] < 0 else -1
        path[0] = root
        while depth >= 0:
            v = path[depth]
            if seen[v] == 0:
                count += 1
                seen[v] = low[v] = count
                open_[waiting] = v
                waiting += 1
            if at[v] < out[v + 1]:
                w = target[at[v]]
                at[v] += 1
                if seen[w] == 0:
                    depth += 1
                    path[depth] = w
                elif label[w] < 0:
                    low[v] = min(low[v], seen[w])
                continue
            if low[v] == seen[v]:
                while label[v] < 0:
                    waiting -= 1
                    label[open_[waiting]] = number
                number += 1
            depth -= 1
            if depth >= 0:
                low[path[depth]] = min(low[path[depth]], low[v])


@njit(cache=True, nogil=True)
def strike_sinks(first: int, degree: Any, edges: Any, alive: Any, besides: Any, loops: Any, seen: Any) -> None:
    """Strike off the states that lead to no other that is alive, the last found first.

    Marks those that lead to themselves, and where those that are left lead back to.
    """
    hi = np.uint64(edges.shape[0])
    for i in range(degree.shape[0] - 1, -1, -1):
        n, lo = np.uint32(first + i), hi - np.uint64(degree[i])
        if alive[n]:
            kept = besides[n] > 0
            for e in range(lo, hi):
                if edges[e] == n:
                    loops[n] = 1
                elif alive[edges[e]]:
                    kept = True
                    break
            if kept:
                for e in range(lo, hi):
                    if edges[e] < n:
                        seen[edges[e]] = 1
                    elif edges[e] == n:
                        loops[n] = 1
            else:
                alive[n] = 0
        hi = lo


@njit(cache=True, nogil=True)
def strike_sources(first: int, degree: Any, edges: Any, alive: Any, besides: Any, seen: Any) -> None:
    """Strike off the states that are not marked, the first found first, and mark those that the others lead on to."""
    hi = np.uint64(0)
    for i in range(degree.shape[0]):
        n, lo, hi = np.uint32(first + i), hi, hi + np.uint64(degree[i])
        if alive[n]:
            if not seen[n] and not besides[n]:
                alive[n] = 0
            else:
                for e in range(lo, hi):
                    if edges[e] > n:
                        seen[edges[e]] = 1


@njit(cache=True, nogil=True)
def edges_inside(here: Any, lo: int, out: Any, edges: Any, place: Any, source: Any, target: Any) -> int:
    """Write the edges from some states of a block to those that have a place; `lo` is that of the first of them.  Answers how many there are."""
    found = 0
    for i in range(here.shape[0]):
        for e in range(out[here[i]], out[here[i] + 1]):
            if place[edges[e]] >= 0:
                source[found], target[found] = lo + i, place[edges[e]]
                found += 1
    return found


@njit(cache=True, nogil=True)
def starts(degree: Any) -> Any:
    """Where the edges of each state begin, and where the last ones end."""
    out, at = np.empty(degree.shape[0] + 1, np.int64), np.int64(0)
    for i in range(degree.shape[0]):
        out[i] = at
        at += degree[i]
    out[degree.shape[0]] = at
    return out


@njit(cache=True, nogil=True)
def edges_of(here: Any, out: Any, edges: Any, found: Any) -> None:
    """Write where some states of a block lead to, one state after the other."""
    at = 0
    for i in range(here.shape[0]):
        for e in range(out[here[i]], out[here[i] + 1]):
            found[at] = edges[e]
            at += 1
