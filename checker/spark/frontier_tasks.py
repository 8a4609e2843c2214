"""What the executors do: expand the frontier of a partition, merge what arrives at one, and tell where steps lead that may lie on a cycle.

A level is one job: expand, Spark's shuffle, merge.  Candidates travel in blocks, with the packed rows of their states, to the partition that their
fingerprints belong to.  Reports travel with them, so that what counts is what came of the attempt whose blocks were used.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from roamcheck.checker.tabled.loading import TWO_STATES, load
from roamcheck.checker.tabled.store import StoreError

from . import frontier_kernels as kernels
from .failures import agree
from .frontier_expander import Expander, Recipe, expander_of
from .frontier_files import (
    Change,
    File,
    read_frontier,
    read_labels,
    read_run,
    read_values,
    write,
    write_frontier,
    write_run,
)
from .frontier_rows import CELLS, Block, block_of, encode, unified
from .frontier_values import Damaged, joined

RUNS = 8  # files of fingerprints of a partition, beyond which they are made one
SENT = pa.schema([("key", pa.int32()), *((name, pa.binary()) for name in CELLS), ("report", pa.binary())])
SENT_SQL = ", ".join(["key int", *(f"{name} binary" for name in CELLS), "report binary"])
TOLD = pa.schema([("report", pa.binary()), ("extra", pa.binary())])
TOLD_SQL = "report binary, extra binary"
EDGES = pa.schema([*((name, pa.int64()) for name in ("source", "target", "label")), ("depth", pa.int32())])  # Spark knows no numbers without a sign

Report = dict[str, Any]
Batches = Iterable[Any]


@dataclass(frozen=True, slots=True)
class Job:
    """What the tasks of a level are told."""

    run: str  # a name that no other search has
    recipe: Recipe
    versions: Mapping[str, str]
    folder: Path
    keys: tuple[int, ...]  # by partition: what Spark's hash sends there
    depth: int  # of the states to be expanded
    frontier: tuple[File | None, ...]  # by partition
    visited: tuple[tuple[File, ...], ...]  # by partition
    values: tuple[File, ...]
    base: tuple[int, ...]  # by slot: how many shared numbers there are
    changes: Any  # U64: the names of those that are known
    found: tuple[int, ...]  # properties that need not be asked
    dense: bool  # labels are to be replaced by their ranks
    durable: bool  # files survive a loss of power

    def expander(self, part: int) -> Expander:
        """This process's, with all shared values, for a partition.  Raises VersionsDiffer, Damaged, StoreError."""
        agree(self.versions)
        expander = expander_of(self.run, self.recipe)
        for file in self.values[expander.files :]:  # there are only ever more
            expander.known.learn(read_values(self.folder, file))
            expander.files += 1
        states = self.frontier[part]
        expander.begin(self.changes, self.found, 0 if states is None else states[1] // 32)
        gc.freeze()  # Spark collects garbage after every task, and would look through all of this
        return expander


def told_as_data(task: Callable[[Job, int], Iterator[Any]], job: Job, part: int, failure: Callable[[Report], Any]) -> Iterator[Any]:
    """What a task yields; what files do to it is a report, since trying again would not help."""
    try:
        yield from task(job, part)
    except Damaged as error:
        yield failure({"part": part, "damaged": str(error)})
    except StoreError as error:
        yield failure({"part": part, "stopped": str(error)})


# ---- expand ------------------------------------------------------------------------------------------------------------------------


def expand(job: Job, batches: Batches) -> Iterator[Any]:
    """Numbers of partitions come in, blocks for all partitions and reports go out."""
    for batch in batches:
        for part in batch.column(0).to_pylist():
            yield from told_as_data(expand_part, job, part, lambda report: report_batch(job, report))


def expand_part(job: Job, part: int) -> Iterator[Any]:
    """The frontier of one partition."""
    file, report = job.frontier[part], Report(part=part, breaches=[], failed=None, sent=0, octets=0)
    expander = job.expander(part)
    if file is not None:
        ranks, at = ranks_of(job, part) if job.dense else None, 0
        for block in read_frontier(job.folder, file):
            labels = block.labels if ranks is None else ranks[at : at + len(block)]
            candidates, breaches, failed = expander.expand(expander.chunk(block), labels, job.base)
            report["breaches"] += breaches
            at += len(block)
            batch = block_batch(job, candidates)
            report["sent"], report["octets"] = report["sent"] + len(candidates), report["octets"] + batch.nbytes
            yield batch
            if failed is not None:
                cause = expander.tables.causes[failed % len(expander.model.steps)]
                report["failed"] = (failed, type(cause).__name__, str(cause))
                break
    report["fired"] = expander.fired.tolist()
    report["changes"] = [*expander.changes.items()]
    yield report_batch(job, report)


def ranks_of(job: Job, part: int) -> Any:
    """The places that the labels of a partition have among those of all."""
    own = read_labels(job.folder, job.frontier[part]) if job.frontier[part] else np.empty(0, np.uint64)  # type: ignore[arg-type]
    ranks = np.arange(len(own), dtype=np.uint64)
    for other, file in enumerate(job.frontier):
        if other != part and file is not None:
            kernels.add_ranks(own, read_labels(job.folder, file), ranks)
    return ranks


def part_of(prints: Any, parts: int) -> Any:
    """The partitions that fingerprints belong to."""
    return ((prints >> np.uint64(32)) * np.uint64(parts) >> np.uint64(32)).astype(np.uint16)


def block_batch(job: Job, candidates: Block) -> Any:
    """A row for each partition that some of the candidates belong to."""
    parts = part_of(candidates.prints, len(job.keys))
    order = np.argsort(parts, kind="stable")
    bounds = np.searchsorted(parts[order], np.arange(len(job.keys) + 1))
    rows = [
        {"key": job.keys[part], **candidates.take(order[bounds[part] : bounds[part + 1]]).cells()}
        for part in range(len(job.keys))
        if bounds[part] < bounds[part + 1]
    ]
    return pa.RecordBatch.from_pylist(rows, SENT)


def report_batch(job: Job, report: Report) -> Any:
    """A report, on its way through the shuffle to the partition that it is about."""
    return pa.RecordBatch.from_pylist([{"key": job.keys[report["part"]], "report": json.dumps(report).encode()}], SENT)


# ---- merge -------------------------------------------------------------------------------------------------------------------------


def merge(job: Job, batches: Batches) -> Iterator[Any]:
    """Blocks and reports of the partitions that Spark has sent here come in, a report for each of these goes out."""
    blocks: dict[int, list[Block]] = {}
    reports: dict[int, Report] = {}
    for batch in batches:
        for i, key in enumerate(batch.column("key").to_pylist()):
            part = job.keys.index(key)
            if batch.column("report")[i].is_valid:
                reports[part] = json.loads(batch.column("report")[i].as_py())
            else:
                blocks.setdefault(part, []).append(block_of({name: batch.column(name)[i].as_buffer() for name in CELLS}))
    for part, report in reports.items():

        def merged(job: Job, part: int, report: Report = report) -> Iterator[Any]:
            yield merge_part(job, part, blocks.pop(part, []), report)

        yield from told_as_data(merged, job, part, lambda report: told_batch(report, b""))


def merge_part(job: Job, part: int, blocks: list[Block], report: Report) -> Any:
    """The states of a partition that are new.  Raises StoreError, Damaged."""
    report |= {"states": 0, "quiescent": 0, "received": sum(map(len, blocks)), "frontier": None, "visited": job.visited[part]}
    if not blocks or "damaged" in report or "stopped" in report:
        return told_batch(report, b"")
    block = unified(blocks)
    blocks.clear()
    chosen = np.empty(len(block), np.int64)
    chosen = chosen[: kernels.least(block.prints, block.labels, np.argsort(block.prints), chosen)]
    prints, old = block.prints[chosen], np.zeros(len(chosen), np.uint8)
    for run in chain.from_iterable(read_run(job.folder, file) for file in job.visited[part]):
        kernels.strike(prints, run, old)
    chosen, prints = chosen[old == 0], prints[old == 0]
    new = block.take(chosen[np.argsort(block.labels[chosen])])
    report["states"], report["quiescent"] = len(new), int(np.count_nonzero(new.flags & kernels.QUIESCENT))
    new.flags = np.empty(0, np.uint8)
    if len(new):
        stem = f"{job.depth + 1:05}-{part:03}"
        report["frontier"] = write_frontier(job.folder, stem, new, job.durable)
        report["visited"] = visited_with(job, part, stem, prints)
    return told_batch(report, joined(block.extra))


def visited_with(job: Job, part: int, stem: str, prints: Any) -> list[File]:
    """The files of fingerprints of a partition, with those that are new.  Raises StoreError, Damaged."""
    runs = job.visited[part]
    if len(runs) < RUNS:
        return [*runs, write_run(job.folder, stem, prints, job.durable)]
    everything = np.concatenate([prints, *chain.from_iterable(read_run(job.folder, run) for run in runs)])
    everything.sort()
    return [write_run(job.folder, stem, everything, job.durable)]


def told_batch(report: Report, extra: bytes) -> Any:
    """A report for the driver, and the values that it may not know."""
    return pa.RecordBatch.from_pylist([{"report": json.dumps(report).encode(), "extra": extra}], TOLD)


# ---- cycles ------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scan:
    """What is sought in all states: protocol steps that make some changes."""

    job: Job
    frontiers: tuple[tuple[File | None, ...], ...]  # by depth and partition
    prints: Any  # U64: what they do to fingerprints, in order
    changes: tuple[Change, ...] | None  # None where there are too many to look for them first


def scan(task: Scan, batches: Batches) -> Iterator[Any]:
    """Numbers of partitions come in, reports go out: of each depth a file of edges."""

    def scan_part(job: Job, part: int) -> Iterator[Any]:
        expander = job.expander(part)
        for depth, files in enumerate(task.frontiers):
            file = files[part]
            found = [] if file is None else [edges_of(task, expander, block, depth) for block in read_frontier(job.folder, file)]
            table = pa.Table.from_batches(found, EDGES)
            if table.num_rows:
                edges = write(job.folder, f"tables/{depth:05}-{part:03}-edges", table)
                yield told_batch({"part": part, "edges": edges, "count": table.num_rows}, b"")

    for batch in batches:
        for part in batch.column(0).to_pylist():
            yield from told_as_data(scan_part, task.job, part, lambda report: told_batch(report, b""))


def edges_of(task: Scan, expander: Expander, block: Block, depth: int) -> Any:
    """The steps of a block's states that make one of the changes.  Raises Damaged."""
    if task.changes is not None:
        block = block.take(expander.able(block, task.changes))
    batch = expander.chunk(block)
    source, target = expander.changing(batch, task.prints) if len(batch) else (np.empty(0, np.uint32), np.empty(0, np.uint64))
    columns = [some.view(np.int64) for some in (block.prints[source], target, block.labels[source])]
    return pa.record_batch([*columns, np.full(len(source), depth, np.int32)], schema=EDGES)


# ---- before the first level --------------------------------------------------------------------------------------------------------


def ready(versions: Mapping[str, str], batches: Batches) -> Iterator[Any]:
    """Have the compiled loops of this process loaded.  Raises VersionsDiffer."""
    agree(versions)
    load_all()
    gc.freeze()
    yield from batches


@cache
def load_all() -> None:
    """Load the compiled loops of the tables and of this search, or compile them: all are used on a model of two states."""
    load()
    expander = Expander(TWO_STATES)
    none, base = np.zeros(1, np.uint64), np.zeros(0, np.uint8)
    first = encode(np.zeros((1, 1), np.uint16) + expander.tables.number(0, 0), none, none, base, [0], expander.known)
    batch = expander.chunk(block_of(first.cells()))
    candidates, _, _ = expander.expand(batch, none, [0])
    both = unified([candidates, candidates])
    kernels.least(both.prints, both.labels, np.argsort(both.prints), np.empty(len(both), np.int64))
    kernels.strike(none, pa.array(none).to_numpy(), np.zeros(1, np.uint8))  # what is read from a file is not to be written to
    kernels.add_ranks(none, none, none.copy())
    expander.changing(batch, none)
    expander.able(first, [[(0, 1, 2)]])
