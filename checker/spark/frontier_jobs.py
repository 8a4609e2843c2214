"""The distributed search's jobs on Spark, waited for so that an interrupt is heeded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from roamcheck.checker.interrupts import heed
from roamcheck.checker.tabled.store import StoreError
from roamcheck.checker.verdict import CannotBegin

from .failures import failure, versions
from .frontier_tasks import SENT_SQL, TOLD_SQL, Job, Report, Scan, expand, load_all, merge, ready, scan
from .frontier_values import Content, parted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OFTEN = 0.1  # seconds between two looks at whether a job is done
SETTINGS = {
    "spark.sql.adaptive.enabled": "false",  # partitions are what they are
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",  # blocks
}


class Cluster:
    """A session, with as many partitions as the search has."""

    def __init__(self, session: SparkSession, parts: int | None) -> None:
        """Raises CannotBegin."""
        self.session = session
        self.parts = parts or max(1, session.sparkContext.defaultParallelism)
        self._observe: Callable[[], None] = lambda: None
        load_all()  # here first, so that the executors of this machine find them compiled
        try:
            places = 16 * self.parts + 64
            rows = session.range(places).selectExpr("id", f"pmod(hash(cast(id as int)), {self.parts}) as part").collect()
            first: dict[int, int] = {}
            for row in rows:
                first.setdefault(row["part"], row["id"])
            self.keys = tuple(first[part] for part in range(self.parts))  # by partition: a number that Spark's hash sends there
            session.range(0, 4 * self.parts, 1, self.parts).mapInArrow(partial(ready, versions()), "id long").collect()
        except Exception as error:
            raise failure(error) from None

    def watch(self, observe: Callable[[], None]) -> None:
        """What to call now and then while a job runs."""
        self._observe = observe

    def level(self, job: Job) -> list[tuple[Report, list[Content]]]:
        """Expand and merge.  Raises StoreError, Damaged."""
        sent = self._numbers().mapInArrow(partial(expand, job), SENT_SQL)
        return self._told(sent.repartition(self.parts, "key").mapInArrow(partial(merge, job), TOLD_SQL))

    def scan(self, task: Scan) -> list[Report]:
        """Seek steps in all states.  Raises StoreError, Damaged."""
        return [report for report, _ in self._told(self._numbers().mapInArrow(partial(scan, task), TOLD_SQL))]

    def trimmed(self, files: Iterable[str], enough: int) -> Any:
        """Of the edges in some files, those that others lead to and lead on from, until there are few, or no fewer.  Raises StoreError."""
        names = [*files]

        def work() -> Any:
            edges = self.session.read.parquet(*names)
            counts = [edges.count()]
            while counts[-1] > enough and (len(counts) < 2 or 10 * counts[-1] < 9 * counts[-2]):
                sources, targets = edges.selectExpr("source as target").distinct(), edges.selectExpr("target as source").distinct()
                edges = edges.join(sources, "target", "left_semi").join(targets, "source", "left_semi").localCheckpoint()
                counts.append(edges.count())
            return edges.toArrow()

        return self._waited(work)

    def _numbers(self) -> Any:
        return self.session.range(0, self.parts, 1, self.parts)

    def _told(self, frame: Any) -> list[tuple[Report, list[Content]]]:
        rows = self._waited(frame.collect)
        return [(json.loads(row["report"]), parted(bytes(row["extra"]))) for row in rows]

    def _waited(self, work: Callable[[], Any]) -> Any:
        """What a job answers.  Raises StoreError, KeyboardInterrupt."""
        with ThreadPoolExecutor(1) as pool, self._set():
            running = pool.submit(work)
            try:
                while True:
                    try:
                        return running.result(OFTEN)
                    except NotYet:
                        heed()
                        self._observe()
            except KeyboardInterrupt:
                with suppress(Exception):
                    self.session.sparkContext.cancelAllJobs()
                raise
            except Exception as error:
                raise told(error) from None

    @contextmanager
    def _set(self) -> Iterator[None]:
        """With the settings that the jobs need, which are the session's."""
        conf = self.session.conf
        before = {name: conf.get(name) for name in SETTINGS}
        for name, value in SETTINGS.items():
            conf.set(name, value)
        try:
            yield
        finally:
            with suppress(Exception):  # the session may be gone
                for name, was in before.items():
                    if was is not None:
                        conf.set(name, was)


def told(error: Exception) -> Exception:
    """What to raise for what a job ended with: CannotBegin, or StoreError."""
    said = failure(error)
    return said if isinstance(said, CannotBegin) else StoreError(f"Spark: {said}")
