"""Runs that go on for ever, in a graph whose edges nobody keeps.

What steps change is known, and is little.  Of most changes `may_return` shows that they lie on no cycle, and the few steps that make another one
are all the edges that have to be looked at.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from operator import xor
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq

from roamcheck.checker.tabled import returning, trimming
from roamcheck.checker.tabled.lasso import Edges, budget_spent, sort_out
from roamcheck.checker.tabled.returning import Changes
from roamcheck.checker.tabled.search import Search
from roamcheck.checker.tabled.store import Chunk, StoreError
from roamcheck.checker.verdict import Counterexample
from roamcheck.model.interface import Kind

from .frontier_files import BLOCK, Change, read_frontier
from .frontier_tasks import Scan, part_of
from .frontier_values import Damaged

if TYPE_CHECKING:
    from .frontier import Frontier

FEW = 1 << 6  # changes that are looked for in a row before its steps are
ON_DRIVER = 20_000_000  # edges; more are trimmed by Spark first


def judge_cycles(search: Frontier, found: dict[str, Counterexample]) -> tuple[int, int]:
    """Put the shortest run that goes on for ever into `found`, under each property of runs; how many cycles are unfair, and how many wait.

    Raises Damaged, StoreError.
    """
    changes = may_return(search.changes.values())
    if not changes:
        return 0, 0
    prints = sorted({reduce(xor, (before ^ after for _, before, after in change), 0) for change in changes})
    slots = tuple(changes) if len(changes) <= FEW else None
    frontiers = tuple(map(tuple, search.frontiers))
    reports = search.cluster.scan(Scan(search.described(0), frontiers, np.array(prints, np.uint64), slots))
    for report in reports:
        if "damaged" in report:
            raise Damaged(report["damaged"])
        if "stopped" in report:
            raise StoreError(report["stopped"])
    files = [str(search.folder / report["edges"][0]) for report in reports]
    prints, depths, labels = turning(search, files, sum(report["count"] for report in reports))
    search.manifest.sweep(search.listed())
    if not len(prints):
        return 0, 0
    order = np.lexsort((labels, depths))
    prints, depths, labels = prints[order], depths[order], labels[order]
    rows = rows_of(search, prints, depths, labels)
    edges, busy = protocol_edges(search.home.search, rows, prints), search.home.tables.busy.array
    spent = budget_spent(search.home.search, rows)
    return sort_out(
        search.model, edges, spent, rows, busy, lambda i: int(depths[i]), lambda i: search.path(int(depths[i]), int(labels[i])), found
    )  # fmt: skip


def may_return(changes: Collection[Change]) -> list[Change]:
    """Of all changes, those that steps on cycles can make."""
    numbers: dict[tuple[int, int], int] = {}  # by slot and value
    of, before, after = [], [], []
    for i, change in enumerate(changes):
        for slot, was, now in change:
            of.append(i)
            before.append(numbers.setdefault((slot, was), len(numbers)))
            after.append(numbers.setdefault((slot, now), len(numbers)))
    ways = Changes(np.array(of, np.int64), np.arange(len(of)), np.array(before, np.int64), np.array(after, np.int64))
    alive = returning.may_return(ways, len(changes), len(numbers))
    return [change for change, returns in zip(changes, alive.tolist(), strict=True) if returns]


def turning(search: Frontier, files: list[str], count: int) -> tuple[Any, Any, Any]:
    """The states that lie on a cycle of the edges in some files: fingerprints in order, depths and labels.  Raises StoreError."""
    columns = ("source", "target", "label", "depth")
    if not files:
        return (np.empty(0, np.uint64),) * 3
    table = search.cluster.trimmed(files, ON_DRIVER) if count > ON_DRIVER else pq.ParquetDataset(files).read([*columns])
    source, target, label, depth = (table[name].to_numpy() for name in columns)
    if not len(source):
        return (np.empty(0, np.uint64),) * 3
    states, first, at = np.unique(source, return_index=True, return_inverse=True)
    place = np.searchsorted(states, target)
    inside = states[np.minimum(place, len(states) - 1)] == target  # what leads nowhere lies on no cycle
    order = np.argsort(at[inside], kind="stable")
    at, to = at[inside][order], place[inside][order]
    component = trimming.components(at, to, len(states))
    cyclic = np.bincount(component, minlength=1)[component] > 1
    cyclic[at[at == to]] = True
    chosen = first[cyclic]
    return source[chosen].view(np.uint64), depth[chosen].astype(np.int64), label[chosen].view(np.uint64)


def rows_of(search: Frontier, prints: Any, depths: Any, labels: Any) -> Any:
    """The rows of states that are given in the order of depths and labels.  Raises Damaged, StoreError."""
    parts, rows = part_of(prints, search.parts), np.empty((len(prints), len(search.model.layout.slots)), np.uint32)
    for depth in np.unique(depths).tolist():
        for part in range(search.parts):
            wanted, file = np.flatnonzero((depths == depth) & (parts == part)), search.frontiers[depth][part]
            for block in read_frontier(search.folder, file) if len(wanted) and file is not None else ():
                at = np.searchsorted(block.labels, labels[wanted])
                here = (at < len(block)) & (block.labels[np.minimum(at, len(block) - 1)] == labels[wanted])
                rows[wanted[here]] = search.home.chunk(block.take(at[here])).rows
    return rows


def protocol_edges(search: Search, rows: Any, prints: Any) -> Edges:
    """The protocol steps among states on cycles, and of each state whether an environment step is enabled in it."""
    owed = np.array([step.kind is Kind.PROTOCOL for step in search.model.steps])
    moves = np.array([step.kind is Kind.ENVIRONMENT for step in search.model.steps])
    order = np.argsort(prints)
    stirred, found = np.zeros(len(rows), bool), []
    for lo in range(0, len(rows), BLOCK):
        some = rows[lo : lo + BLOCK]
        n, busy = len(some), search.tables.busy.array[some].sum(axis=1, dtype=np.uint16)
        search.expand(Chunk(some, prints[lo : lo + n].reshape(-1, 1), busy, 0), np.ones(n, np.uint8))
        c = search.candidates
        row, at = c.by_row(n)
        row, step, leads = lo + row, c.step[at], c.prints[at, 0]
        stirred[row[moves[step]]] = True
        place = order[np.minimum(np.searchsorted(prints[order], leads), len(prints) - 1)]
        inside = owed[step] & (prints[place] == leads)
        found.append((row[inside], place[inside], step[inside]))
    source, target, by = (np.concatenate(some) for some in zip(*found, strict=True))
    return Edges(source, target, by, lambda of: stirred[of])
