"""The tabled engine: the same answers as the reference explorer, by look-up."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

import numpy as np

from roamcheck.checker.interrupts import held_back
from roamcheck.checker.tabled.checkpoint import Checkpoint
from roamcheck.checker.tabled.lasso import judge_cycles
from roamcheck.checker.tabled.loading import load
from roamcheck.checker.tabled.proviso import run
from roamcheck.checker.tabled.search import Enough, Search
from roamcheck.checker.tabled.shortening import shorten
from roamcheck.checker.tabled.store import StoreError
from roamcheck.checker.tabled.symmetries import Asymmetric, closed
from roamcheck.checker.verdict import Counterexample, Counts, Exploration, Growth, Progress, by_actions, judge
from roamcheck.model.interface import Model


def explore(
    model: Model,
    *,
    max_states: int | None = None,
    max_depth: int | None = None,
    first: bool = False,
    observe: Callable[[Progress], None] | None = None,
    workers: int = 1,
    wide: bool = False,
    reduce: bool = False,
    max_memory: int | None = None,
    checkpoint: Checkpoint | None = None,
    debug: bool = False,
    symmetric: bool = False,
) -> Exploration:
    """Explore `model` and give a verdict on each of its properties, as `roamcheck.checker.engines.reference.explore` does.

    `wide` fingerprints have 128 bits.  `reduce` leaves out states that no verdict needs; a run that goes on for ever, or one to the breach of a
    property of every state, may then not be the shortest: the result says which.  Beyond `max_memory` bytes the search goes on in files.  `debug`
    holds every step to its footprint and its promises.  Raises CannotBegin.

    With `symmetric`, of states that the model's symmetries lead to from one another one is explored, so that fewer are counted.  Symmetries that turn
    out to be none are dropped, and the search begins anew; so it does without any if there are cycles.  With a checkpoint or `debug` none are used.
    """
    load()
    began, symmetries = monotonic(), model.symmetries() if symmetric and checkpoint is None and not debug else ()
    while True:
        search = Search(model, max_states, max_depth, first, workers, wide, reduce, max_memory, checkpoint, debug, symmetries)
        search.began = began
        try:
            return attempt(search, observe)
        except Asymmetric:
            tables = search.tables
            symmetries = closed(symmetries, tables.images.odd, list(zip(tables.slots, tables.values, strict=True)))


def attempt(search: Search, observe: Callable[[Progress], None] | None) -> Exploration:
    """Search to the end, or as far as one is told to.  Raises Asymmetric."""
    complete = interrupted = False
    stopped: str | None = None
    cycles = (0, 0)
    found: dict[str, Counterexample] = {}
    try:
        with uncollected(), held_back(), search.threads.in_turns():  # until the end of a batch, so that what is known fits together
            run(search, observe)
            search.memory.make_room(search)
            cycles = judge_cycles(search, found)
        complete = True
    except Enough:
        pass
    except StoreError as error:
        stopped = str(error)
    except KeyboardInterrupt:
        interrupted = True
    if search.tables.images.odd and not interrupted:
        raise Asymmetric
    return result(search, found, cycles, complete, interrupted, stopped)


@contextmanager
def uncollected() -> Iterator[None]:
    """Without looking for cyclic garbage: tables are many small objects that all stay, and looking through them takes longer than to fill them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def result(
    search: Search, lassos: dict[str, Counterexample], cycles: tuple[int, int], complete: bool, interrupted: bool, stopped: str | None
) -> Exploration:
    """What is known now."""
    model, depth = search.model, search.farthest()
    failed = None if search.failed is None else search.failure()
    counts = Counts(search.states, int(search.fired.sum()), depth, search.quiescent, *cycles)
    found = {model.properties[of].name: search.counterexample(of) for of in search.found}
    for name, lasso in lassos.items():
        if name not in found or lasso.length < found[name].length:
            found[name] = lasso
    longer: frozenset[str] = frozenset()
    if search.reduction is not None and failed is None and not interrupted:
        shortest, longer = shorten(model, found, search.workers)
        found.update(shortest)

    symmetries, fires = search.tables.images.symmetries, search.fired > 0
    fired_at_all = fires.copy()
    for g in symmetries:  # what fires for one fires for its images
        fired_at_all[np.array(g.steps)[fires]] = True
    unfired = tuple(np.flatnonzero(~fired_at_all).tolist())
    bound = collision_bound(search.states, 128 if search.width > 1 else 64, 1 + len(symmetries))
    seconds = monotonic() - search.began
    reductions = (*(() if search.reduction is None else ("partial-order",)), *(("symmetry",) if symmetries else ()))
    by_action, verdicts = by_actions(model, search.fired.tolist()), judge(model, found, counts, complete, failed, bool(reductions))
    return Exploration(
        counts, verdicts, complete, interrupted, seconds, by_action, unfired, failed, stopped, bound, reductions, longer, growth(search)
    )  # fmt: skip


def collision_bound(states: int, bits: int, images: int = 1) -> float:
    """How probable it is at most that two of so many states share a fingerprint: pairs over fingerprints, whichever images have the least ones."""
    return min(1.0, images**2 * states * (states - 1) * 2.0 ** -(bits + 1))


def growth(search: Search) -> Growth:
    """Where the states come from."""
    tables, model = search.tables, search.model
    values = {spec.name: len(numbers) for spec, numbers in zip(model.layout.slots, tables.numbers, strict=True)}
    return Growth(values, {str(step): times for step, times in zip(model.steps, tables.evaluated, strict=True)}, tables.answers)
