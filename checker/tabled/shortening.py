"""Shortest runs to the breaches that a reduced search has found: a reduction keeps them for quiescent states alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from roamcheck.checker.verdict import Counterexample
from roamcheck.model.interface import Model, Scope

from .search import Enough, Search

MOST_STATES = 100_000  # that are looked at for it


def shorten(model: Model, found: Mapping[str, Counterexample], workers: int) -> tuple[dict[str, Counterexample], frozenset[str]]:
    """Shortest runs to the breaches of properties of every state, as far as a search of the first states without a reduction finds them; and which
    of all runs in `found` may not be the shortest."""
    sought = [of for of in model.properties if of.scope is Scope.EVERY_STATE and of.name in found]
    endless = {name for name, run in found.items() if run.loop is not None}
    if not sought:
        return {}, frozenset(endless)
    search = Search(replace(model, properties=tuple(sought)), MOST_STATES, 0, False, workers)
    longest, complete = max(found[of.name].length for of in sought), False
    try:
        search.begin()
        while len(search.found) < len(sought) and (search.max_depth or 0) < longest and not complete:
            search.max_depth = len(search.levels)
            complete = deeper(search)
    except Enough:
        pass
    shortest = {sought[of].name: search.counterexample(of) for of in search.found}
    # Breaches are asked for where a state is found, so those at the depth that was reached last are all known only if its states are.
    known = {of.name for of in sought if of.name in shortest or found[of.name].length <= len(search.levels) - 1}
    return shortest, frozenset(endless | {of.name for of in sought} - known)


def deeper(search: Search) -> bool:
    """One level more; whether there is no other.  Raises Enough when there are too many states."""
    try:
        search.run(None)
    except Enough:
        if search.states < MOST_STATES and search.failed is None:
            return False
        raise
    return True
