"""The distributed search without Spark: its tasks run here, one after the other, and a dictionary does what the shuffle does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from roamcheck.checker.engines.spark import attempt
from roamcheck.checker.spark.frontier import Frontier, same_model
from roamcheck.checker.spark.frontier_files import Manifest
from roamcheck.checker.spark.frontier_tasks import Job, Scan, expand, merge, scan
from roamcheck.checker.spark.frontier_values import parted
from roamcheck.checker.verdict import Exploration
from roamcheck.model.interface import Model


def numbers(part: int) -> list[Any]:
    return [pa.record_batch({"id": [part]})]


def told(batches: Iterable[Any]) -> list[Any]:
    return [(json.loads(row["report"]), parted(row["extra"])) for batch in batches for row in batch.to_pylist()]


class PlainCluster:
    """`before` is called with each level's job."""

    def __init__(self, parts: int, before: Callable[[Job], None] = lambda job: None) -> None:
        self.parts, self.before = parts, before
        self.keys = tuple(100 + part for part in range(parts))

    def watch(self, observe: Callable[[], None]) -> None:
        self.observe = observe

    def level(self, job: Job) -> list[Any]:
        self.before(job)
        self.observe()
        arrived: dict[int, list[Any]] = {key: [] for key in self.keys}
        for part in range(self.parts):
            for batch in expand(job, numbers(part)):
                for row in range(batch.num_rows):
                    arrived[batch.column("key")[row].as_py()].append(batch.slice(row, 1))
        return [one for key in self.keys for one in told(merge(job, arrived[key]))]

    def scan(self, task: Scan) -> list[Any]:
        return [report for part in range(self.parts) for report, _ in told(scan(task, numbers(part)))]


def explore(model: Model, folder: Path, parts: int = 3, resume: bool = False, cluster: PlainCluster | None = None, **limits: Any) -> Exploration:
    """As the engine does, in this process."""
    manifest = Manifest(folder, {"model": model.name}, resume)
    return attempt(Frontier(model, same_model(model), cluster or PlainCluster(parts), manifest, False, **limits), None)
