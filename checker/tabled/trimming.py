"""What lies on a cycle: compiled loops strike off what cannot, and scipy finds the components of the rest.

A graph is given in blocks, so that its edges need not be in memory all at once: those of the states first…first + n - 1 are
edges[out[i]…out[i + 1] - 1].  States bear numbers in the order in which they were found, so most edges lead to higher numbers.
"""

# mypy: disable-error-code="assignment"

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numba import njit


class Block(NamedTuple):
    """Some states and where they lead."""

    first: int
    out: Any  # [n + 1] I64
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


def on_cycles(graph: Graph, alive: Any) -> Cyclic:
    """Of the states that are alive, those that lie on a cycle of such states, in order.  `alive` is used up."""
    loops, besides = np.zeros(len(alive), np.uint8), np.zeros(len(alive), np.uint8)
    besides[graph.source] = 1
    looping = graph.source[graph.source == graph.target]
    loops[looping] = alive[looping]
    left, before = int(np.count_nonzero(alive)), 2 * len(alive) + 1
    while left and 2 * left < before:
        before = left
        seen = np.zeros(len(alive), np.uint8)
        seen[graph.target[alive[graph.source] > 0]] = 1
        for block in graph.blocks(True):
            strike_sinks(block.first, block.out, block.edges, alive, besides, loops, seen)
        for block in graph.blocks(False):
            strike_sources(block.first, block.out, block.edges, alive, besides, seen)
        left = int(np.count_nonzero(alive))
    states = np.flatnonzero(alive | loops)
    labels = components(*among(graph, states, len(alive)), len(states))
    cyclic = (np.bincount(labels, minlength=1)[labels] > 1) | (loops[states] > 0)
    return Cyclic(states[cyclic], labels[cyclic])


def targets(graph: Graph, states: Any) -> Any:
    """Where these states lead to, which are in order, one after the other.  There must be no edges besides."""
    found = [np.empty(0, np.uint32)]
    for block in graph.blocks(False):
        lo, hi = np.searchsorted(states, [block.first, block.first + len(block.out) - 1]).tolist()
        here = states[lo:hi] - block.first
        found.append(np.empty(int((block.out[here + 1] - block.out[here]).sum()), np.uint32))
        edges_of(here, block.out, block.edges, found[-1])
    return np.concatenate(found)


def among(graph: Graph, states: Any, alive: int) -> tuple[Any, Any]:
    """The edges between these states of the first `alive`, as pairs of places in `states`, in the order of the sources."""
    place = np.full(alive, -1, np.int32)
    place[states] = np.arange(len(states))
    sources, targets = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for block in graph.blocks(False):
        lo, hi = np.searchsorted(states, [block.first, block.first + len(block.out) - 1]).tolist()
        here = states[lo:hi] - block.first
        source = np.empty(int((block.out[here + 1] - block.out[here]).sum()), np.int32)
        target = np.empty_like(source)
        found = edges_inside(here, lo, block.out, block.edges, place, source, target)
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
    if not len(source):
        return np.arange(states)
    from scipy.sparse import csr_array  # slow to import, and seldom needed
    from scipy.sparse.csgraph import connected_components

    starts = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=states))])
    return connected_components(csr_array((np.ones(len(source), np.int8), target, starts), shape=(states, states)), connection="strong")[1]


@njit(cache=True, nogil=True)
def strike_sinks(first: int, out: Any, edges: Any, alive: Any, besides: Any, loops: Any, seen: Any) -> None:
    """Strike off the states that lead to no other that is alive, the last found first.

    Marks those that lead to themselves, and where those that are left lead back to.
    """
    for i in range(out.shape[0] - 2, -1, -1):
        n = first + i
        if alive[n]:
            kept = besides[n]
            for e in range(out[i], out[i + 1]):
                if edges[e] == n:
                    loops[n] = 1
                elif alive[edges[e]]:
                    kept = 1
            alive[n] = kept
            if kept:
                for e in range(out[i], out[i + 1]):
                    if edges[e] < n:
                        seen[edges[e]] = 1


@njit(cache=True, nogil=True)
def strike_sources(first: int, out: Any, edges: Any, alive: Any, besides: Any, seen: Any) -> None:
    """Strike off the states that are not marked, the first found first, and mark those that the others lead on to."""
    for i in range(out.shape[0] - 1):
        if alive[first + i]:
            if not seen[first + i] and not besides[first + i]:
                alive[first + i] = 0
            else:
                for e in range(out[i], out[i + 1]):
                    if edges[e] > first + i:
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
