"""The cycle proviso of the partial order reduction: every cycle of the graph that was explored has a state that was explored in full.

Otherwise a step could be put off for ever.  The search goes on until nothing is left to be done: of each component of states none of which was
explored in full, one is.  No quiescent state comes of it (the stubborn sets keep them all), so the shortest runs to those are known before.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from roamcheck.checker.verdict import Progress

from . import returning
from .refiring import rebuild
from .search import Search


def run(search: Search, observe: Callable[[Progress], None] | None) -> None:
    """Find all states, or with a reduction as many as the verdicts need.  Raises Enough when told to stop earlier."""
    search.begin(observe)
    search.run(observe)
    while search.reduction is not None:
        full = search.full.read(0, len(search.full)).copy()
        for numbers, _ in search.besides:
            full[numbers] = 1
        cyclic = returning.cyclic(search, 1 - full)
        if not len(cyclic.states):
            break
        chosen = cyclic.states[np.unique(cyclic.component, return_index=True)[1]]
        chosen.sort()
        search.explore_again(chosen, rebuild(search, chosen))
        search.run(observe)
