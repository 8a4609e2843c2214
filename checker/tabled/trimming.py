"""What lies on a cycle: compiled loops strike off what cannot, and scipy finds the components of the rest."""

# mypy: disable-error-code="assignment"

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


def on_cycles(out: Any, edges: Any, alive: Any) -> Any:
    """Of the states that are alive, those that lie on a cycle of such states, in order.  State i leads to edges[out[i]…out[i + 1] - 1]."""
    loops = np.zeros(len(alive), np.uint8)
    mark_loops(out, edges, alive, loops)
    left, before = int(np.count_nonzero(alive)), len(alive) + 1
    while left and left < before:
        before = left
        left = int(strike_sinks(out, edges, alive))
        if left and 10 * left > 9 * before:
            left = int(strike_sources(out, edges, alive))
            break
    if left:
        states = np.flatnonzero(alive)
        size = out[states + 1] - out[states]
        source = np.repeat(np.arange(len(states)), size)
        targets = edges[np.repeat(out[states] - np.cumsum(size) + size, size) + np.arange(size.sum())]
        at = np.minimum(np.searchsorted(states, targets), len(states) - 1)
        inside = states[at] == targets
        labels = components(source[inside], at[inside], len(states))
        alive[:] = 0
        alive[states[np.bincount(labels)[labels] > 1]] = 1
    return np.flatnonzero(alive | loops)


def components(source: Any, target: Any, states: int) -> Any:
    """By state, the number of its strongly connected component.  The edges are in the order of their sources."""
    from scipy.sparse import csr_array  # slow to import, and seldom needed
    from scipy.sparse.csgraph import connected_components

    starts = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=states))])
    return connected_components(csr_array((np.ones(len(source), np.int8), target, starts), shape=(states, states)), connection="strong")[1]


@njit(cache=True, nogil=True)
def mark_loops(out: Any, edges: Any, alive: Any, loops: Any) -> None:
    """The states that are alive and lead to themselves."""
    for i in np.flatnonzero(alive):
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
        if alive[i]:
            left += 1
    return left
