"""States that were found before: their rows are not kept, but each can be fired anew from its parent."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from . import trimming, visited
from .rows import materialise
from .store import Chunk, Part, joined, where
from .workers import QUICK

if TYPE_CHECKING:
    from .search import Search


class Unfireable(Exception):
    """A step that was recorded does not fire where it is said to."""


def loaded(parts: list[Part]) -> Iterator[list[Part]]:
    """The parts as they are, and then with each of those that are away fetched in turn."""
    yield parts
    for part in parts:
        if part.away:
            part.fetch()
            yield parts
            part.put_away(changed=False)


def chunk(search: Search, rows: Any, first: int = 0) -> Chunk:
    """Rows with what goes with them."""
    tables = search.tables
    busy = tables.busy.array[rows].sum(axis=1, dtype=np.uint16)
    return Chunk(rows, np.bitwise_xor.reduce(tables.key.array[rows], axis=1), busy, first)


def initial_rows(search: Search) -> Any:
    """The rows of the initial states, in order of their numbers."""
    return np.array([search.tables.row(search.model.initial_states[i]) for i in search.initial], search.row_type())


def rebuild(search: Search, numbers: Any) -> Chunk:
    """The states with these numbers, which are in order; they need not follow on each other."""
    wanted = np.zeros(search.states, bool)
    wanted[: len(search.initial)] = wanted[numbers] = True
    for lo in reversed(range(0, search.states, search.parent.BLOCK)):
        mark_parents(lo, search.parent.read(lo, min(lo + search.parent.BLOCK, search.states)), wanted)
    known, place = np.flatnonzero(wanted), np.empty(search.states, np.uint32)
    place[known] = np.arange(len(known), dtype=np.uint32)
    first = chunk(search, initial_rows(search))
    room = [np.empty((len(known), *some.shape[1:]), some.dtype) for some in (first.rows, first.prints, first.busy)]
    found = Chunk(room[0], room[1], room[2], 0)
    found.rows[: len(first)], found.prints[: len(first)], found.busy[: len(first)] = first.rows, first.prints, first.busy
    parents, steps = place[search.parent.at(known)], search.arrival.at(known)
    bounds = np.searchsorted(known, [*search.levels[1:], search.states])
    for lo, hi in pairwise(bounds.tolist()):
        for begin in range(lo, hi, search.memory.batch):
            end = min(begin + search.memory.batch, hi)
            offspring(search, chosen(found, parents[begin:end]), steps[begin:end], found.part(begin, end))
    move(place[numbers], found.rows, found.prints, found.busy)
    return found.part(0, len(numbers))


@njit(cache=True, nogil=True)
def mark_parents(first: int, parents: Any, wanted: Any) -> None:
    """Of the states from `first` on, the parents of those that are wanted are wanted too."""
    for i in range(parents.shape[0] - 1, -1, -1):
        if wanted[first + i]:
            wanted[parents[i]] = True


@njit(cache=True, nogil=True)
def move(places: Any, rows: Any, prints: Any, busy: Any) -> None:
    """Move the states at these places, which are in order, to the beginning."""
    for i in range(places.shape[0]):
        at = places[i]
        if at > i:
            for slot in range(rows.shape[1]):
                rows[i, slot] = rows[at, slot]
            for c in range(prints.shape[1]):
                prints[i, c] = prints[at, c]
            busy[i] = busy[at]


def children(search: Search, parents: Chunk, origin: Any, steps: Any) -> Chunk:
    """The states that one step each leads to, from the rows origin[i] of `parents`.  Raises Unfireable."""
    pieces = [
        offspring(search, chosen(parents, of), steps[lo : lo + len(of)])
        for lo in range(0, len(origin), search.memory.batch)
        if len(of := origin[lo : lo + search.memory.batch])
    ]
    return joined(*pieces)


def chosen(states: Chunk, places: Any) -> Chunk:
    """Some of the states, in this order."""
    return Chunk(states.rows.take(places, 0), states.prints.take(places, 0), states.busy.take(places), 0)


def offspring(search: Search, parents: Chunk, steps: Any, found: Chunk | None = None) -> Chunk:
    """The states that steps[i] in row i lead to, which are written to `found` if that is given.  Raises Unfireable."""
    n = len(steps)
    search.expand(parents, np.ones(n, np.uint8), steps.astype(np.uint16))
    t, c = search.tables.arrays(), search.candidates
    if search.failed is not None or not c.size[:n].all():
        raise Unfireable
    if found is None:
        kind = np.promote_types(search.row_type(), parents.rows.dtype)
        found = Chunk(np.empty(parents.rows.shape, kind), np.empty((n, search.tables.columns), np.uint64), np.empty(n, np.uint16), 0)
    rows, busy = parents.rows.astype(found.rows.dtype, copy=False), parents.busy
    ignored, arrival, suspect, origin = np.empty(n, np.uint32), np.empty(n, np.uint16), np.empty(n, np.uint8), np.arange(n, dtype=np.uint32)
    search.each(materialise, [
        (t, rows, busy, c.start, origin, lo, hi, c.prints, c.step, c.reaction, 0, found.rows, found.prints, found.busy, ignored, arrival, suspect)
        for lo, hi in search.shares(n, QUICK)
    ])  # fmt: skip
    return found


def successors(search: Search, states: Any, rebuilt: Chunk) -> Iterator[tuple[Any, Any, Any]]:
    """All that is enabled in these states, range by range: the row, the step and the number of the state that it leads to
    (UNKNOWN if that was not found, or is not to be found: by a step that is not owed)."""
    # Without a reduction the log tells where the steps lead that are owed, in the order in which they are fired here.
    known = trimming.targets(search.graph(), states) if search.reduction is None else None
    for lo in range(0, len(rebuilt), search.memory.batch):
        some = rebuilt.part(lo, lo + search.memory.batch)
        n = len(some)
        search.expand(some, np.ones(n, np.uint8))
        c, many = search.candidates, int(search.candidates.size[:n].sum(dtype=np.int64))
        row, step, found = np.empty(many, np.int32), np.empty(many, np.uint16), np.full(many, visited.UNKNOWN)
        if known is None:
            visited.unfold(c.start[:n], c.size, c.step, search.tables.owed.array, look_up(search, n), False, lo, row, step, found)
        else:
            known = known[visited.unfold(c.start[:n], c.size, c.step, search.tables.owed.array, known, True, lo, row, step, found) :]
        yield row, step, found


def look_up(search: Search, n: int) -> Any:
    """By candidate of n rows, the number of the state that it leads to, or UNKNOWN."""
    c, found = search.candidates, np.full(len(search.candidates.final), visited.UNKNOWN)
    for parts in loaded(search.visited.parts):
        for first, last in search.spans(n):
            visited.find(where(parts), c.prints, first, last, found)
    return found
