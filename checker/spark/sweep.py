"""Does the chunks of a sweep on Spark: a task for each, the costly ones first, so that whoever is free takes the next."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from roamcheck.checker.interrupts import heed, held_back
from roamcheck.checker.sweeps.driving import Runner, Tell, Work
from roamcheck.checker.sweeps.running import known

from .failures import agree, failure, versions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {  # of a session in which queries are so small that to plan and compile them takes longer than to answer them
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
RESULT = "chunk string, jobs long"
GROUP = "roamcheck-sweep"
OFTEN = 0.2  # seconds between two looks at how far Spark has come
PATIENCE = 15  # seconds that tasks have to end when they are told to


@cache
def warm() -> None:
    """Load what tasks need, once in a process and those that it forks.  Spark collects garbage after every task, and is to pass over this."""
    known()
    gc.collect()
    gc.freeze()


def prepare(session: SparkSession) -> None:
    """Have Python processes begin while Java is still loading what it plans a query with."""
    from pyspark import InheritableThread

    context = session.sparkContext

    def begin() -> None:
        cores = context.defaultParallelism
        with suppress(Exception):  # the first chunks tell what is wrong
            context.parallelize(range(cores), cores).foreachPartition(lambda _: warm())

    InheritableThread(target=begin, session=session, daemon=True).start()


def on_spark(session: SparkSession) -> Runner:
    """Runs chunks there.  Raises CannotBegin, SparkFailed, KeyboardInterrupt."""
    prepare(session)

    def run(work: Work, names: Sequence[str], tell: Tell) -> None:
        driver = dict(versions())

        def task(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa

            agree(driver)
            warm()
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    name = names[number]
                    yield pa.RecordBatch.from_pydict({"chunk": [name], "jobs": [work.chunk(name)]})

        frame = session.range(0, len(names), 1, numPartitions=len(names)).mapInArrow(task, RESULT)
        wait(session, f"{GROUP}-{names[0]}", frame.collect, tell)

    return run


def wait(session: SparkSession, group: str, action: Any, tell: Tell) -> None:
    """Have Spark do it, and tell how far it has come; at Ctrl-C it is told to stop.  Raises CannotBegin, SparkFailed, KeyboardInterrupt."""
    from pyspark import InheritableThread

    raised: list[BaseException] = []

    def act() -> None:
        session.sparkContext.setJobGroup(group, "the chunks of a sweep", interruptOnCancel=True)
        try:
            action()
        except BaseException as error:  # of another thread: raised in ours below
            raised.append(error)

    thread = InheritableThread(target=act, session=session, daemon=True)
    thread.start()
    try:
        with held_back():  # what speaks to Java tells of an interrupt by a page of its own
            while thread.is_alive():
                thread.join(OFTEN)
                tell(progress(session, group))
                heed()
    except KeyboardInterrupt:
        session.sparkContext.cancelAllJobs()
        thread.join(PATIENCE)
        raise
    if raised:
        raise failure(raised[0]) from None


def progress(session: SparkSession, group: str) -> str:
    """What Spark's own status says."""
    tracker = session.sparkContext.statusTracker()
    done = running = failed = tasks = 0
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        for stage in info.stageIds if info is not None else ():
            found = tracker.getStageInfo(stage)
            if found is not None:
                tasks, done = tasks + found.numTasks, done + found.numCompletedTasks
                running, failed = running + found.numActiveTasks, failed + found.numFailedTasks
    return f"{done:,} of {tasks:,} chunks, {running:,} running" + (f", {failed:,} failed and tried again" if failed else "")
