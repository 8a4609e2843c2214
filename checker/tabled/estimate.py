"""A guess at how many states there are in all, from the sizes of the levels that are complete."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import exp, log

WINDOW = 8  # levels that the guess looks back on
FARTHEST = 10_000  # levels that it looks ahead


def expected(sizes: Sequence[int]) -> int | None:
    """Levels grow ever more slowly and then shrink ever faster: by how much a level outgrows the one before falls about as a straight line.

    None while there is no telling: few levels, or growth that does not slow down.
    """
    recent = sizes[-WINDOW - 1 :]
    if len(recent) <= WINDOW or min(recent) <= 0:
        return None
    growth = [log(after / before) for before, after in pairwise(recent)]
    middle, mean = (WINDOW - 1) / 2, sum(growth) / WINDOW
    slope = sum((i - middle) * (g - mean) for i, g in enumerate(growth)) / sum((i - middle) ** 2 for i in range(WINDOW))
    if slope >= 0:
        return None
    total, size, rate = float(sum(sizes)), float(recent[-1]), mean + slope * (WINDOW - middle)
    for _ in range(FARTHEST):
        size *= exp(min(rate, 50.0))
        rate += slope
        if size < 1:
            break
        total += size
        if total > 1e15:
            return None
    return int(total)
