"""The distributed engine: the same answers as the reference explorer, on Spark, level by level."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from roamcheck.checker.interrupts import held_back
from roamcheck.checker.tabled.search import Enough
from roamcheck.checker.tabled.store import StoreError
from roamcheck.checker.verdict import CannotBegin, Counterexample, Counts, Exploration, Progress, by_actions, judge
from roamcheck.model.interface import Model

from .tabled import collision_bound

if TYPE_CHECKING:
    from roamcheck.checker.spark.frontier import Frontier


@dataclass(frozen=True, slots=True)
class Where:
    """On which Spark, in how many partitions, and in which folder, which all executors have to see."""

    master: str | None = None  # default: all cores of this machine, or what spark-submit was told
    properties: Mapping[str, str] = field(default_factory=dict)  # Spark's
    partitions: int | None = None  # default: as many as Spark runs tasks at a time
    folder: Path | None = None  # default: a temporary one, which serves in local mode
    resume: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)  # what a checkpoint in the folder is about


def explore(
    model: Model,
    *,
    recipe: Callable[[], Model] | None = None,
    max_states: int | None = None,
    max_depth: int | None = None,
    first: bool = False,
    observe: Callable[[Progress], None] | None = None,
    where: Where | None = None,
    session: Any = None,
) -> Exploration:
    """Explore `model` and give a verdict on each of its properties, as `roamcheck.checker.engines.reference.explore` does.

    Executors make the model by `recipe`, a function that can be sent to them; without it the model itself is sent, which not every one can be.
    A limit, a first breach or a failed step ends the search between two levels, so more states than `max_states` may have been found.
    Without a session, which is Spark's, one begins and ends here.  Raises CannotBegin.
    """
    from roamcheck.checker.spark.gateway import INSTALL, spark_home
    from roamcheck.checker.spark.session import spark_session

    spark_home()
    if find_spec("pyarrow") is None:
        raise CannotBegin(f"pyarrow is not installed; {INSTALL}")
    from roamcheck.checker.spark.frontier import Frontier, same_model
    from roamcheck.checker.spark.frontier_files import Manifest
    from roamcheck.checker.spark.frontier_jobs import Cluster

    where = where or Where()
    with ExitStack() as stack:
        if session is None:
            session = stack.enter_context(spark_session(where.master, where.properties, quick=True))
        if where.folder is None and not str(session.sparkContext.master).startswith("local"):
            raise CannotBegin("executors on other machines need a folder that all of them see: name it with --checkpoint DIR")
        folder = where.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="roamcheck-frontier-", ignore_cleanup_errors=True)))
        manifest = Manifest(folder.absolute(), where.about, where.resume)
        search = Frontier(
            model, recipe or same_model(model), Cluster(session, where.partitions), manifest, where.folder is not None, max_states, max_depth, first
        )
        return attempt(search, observe)


def attempt(search: Frontier, observe: Callable[[Progress], None] | None) -> Exploration:
    """Search to the end, or as far as one is told to.  Raises CannotBegin."""
    from roamcheck.checker.spark.frontier_cycles import judge_cycles

    complete = interrupted = False
    stopped: str | None = None
    cycles = (0, 0)
    found: dict[str, Counterexample] = {}
    try:
        with held_back():
            search.explore(observe)
            cycles = judge_cycles(search, found)
        complete = True
    except Enough:
        pass
    except StoreError as error:
        stopped = str(error)
    except KeyboardInterrupt:
        interrupted = True
    return result(search, found, cycles, complete, interrupted, stopped)


def result(
    search: Frontier, lassos: Mapping[str, Counterexample], cycles: tuple[int, int], complete: bool, interrupted: bool, stopped: str | None
) -> Exploration:
    """What is known now."""
    model = search.model
    failed = None if search.failed is None else search.failure()
    counts = Counts(search.states, int(search.fired.sum()), search.depth, search.quiescent, *cycles)
    found = {model.properties[of].name: search.counterexample(of) for of in search.found}
    for name, lasso in lassos.items():
        if name not in found or lasso.length < found[name].length:
            found[name] = lasso
    verdicts = judge(model, found, counts, complete, failed)
    unfired = tuple(np.flatnonzero(search.fired == 0).tolist())
    return Exploration(
        counts, verdicts, complete, interrupted, monotonic() - search.began, by_actions(model, search.fired.tolist()), unfired, failed, stopped,
        collision_bound(search.states, 64),
    )  # fmt: skip
