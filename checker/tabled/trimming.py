"""The compiled loops that strike off what cannot lie on a cycle."""

# mypy: disable-error-code="assignment"

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


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
        if alive[i]:
            left += 1
    return left
