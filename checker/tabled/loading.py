"""Load the compiled loops before a search that is timed, or compile them, which is done once on a machine and takes some seconds."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from roamcheck.checker.interrupts import held_back
from roamcheck.model.interface import Effect, Footprint, Kind, Layout, Model, Predicate, Property, Scope, SlotSpec, Step, Value

from . import kernels, visited
from .lasso import judge_cycles
from .proviso import run
from .search import Search
from .store import where


def compiled() -> bool:
    """Whether the loops have been compiled here before."""
    where = kernels.expand.stats.cache_path
    return where is not None and any(Path(where).glob("kernels.expand-*.nbi"))


@cache
def load() -> None:
    """Have every loop ready: all are used on a model of two states that lead to each other."""
    search = Search(TWO_STATES, None, None, False)
    parts, c = search.visited.parts, search.candidates
    with held_back():  # the compiler may lose an interrupt
        run(search, None)
        for part in parts:
            part.grow()
            part.put_away()
        search.visited.insert(c, 1, [(0, 1)], 0)  # part by part
        visited.place_again(where(parts), np.zeros(visited.PARTS, np.uint8), c.prints, c.start, c.size, 0, 1, 0, c.target, c.place)
        for told in (True, False):
            search.told = told
            judge_cycles(search, {})


def _turn(head: object, values: tuple[Value, ...]) -> Effect:
    return Effect((1 - int(str(values[0])),))


TURN = Step("turn", (), Kind.PROTOCOL, _turn, Footprint(reads=(0,)), serves=0)
SMALL = Property("small", Scope.EVERY_STATE, (Predicate((0,), lambda values: None),))
TWO_STATES = Model("two states", Layout((SlotSpec("bit"),)), ((0,),), (TURN,), (SMALL,), lambda slot, value: False)
