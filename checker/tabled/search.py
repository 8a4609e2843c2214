"""Breadth-first search over rows, batch by batch.

States get the numbers that the reference explorer gives them, whatever the number of workers: candidates are numbered in the order of the rows
that they come from and of the model's steps.  So its counterexamples are those of the reference explorer too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import pairwise
from time import monotonic
from typing import Any

import numpy as np

from roamcheck.checker.interrupts import heed
from roamcheck.checker.verdict import Counterexample, Progress, StepFailed
from roamcheck.model.interface import Disabled, Model, State, Symmetry, fire

from . import kernels, trimming, visited
from .candidates import Candidates, Expanded, Notes
from .checkpoint import Checkpoint
from .debugging import compare
from .estimate import expected
from .memory import Memory
from .settling import Asking, New, settle
from .store import Chunk, Distant, Log, joined
from .stubborn import NO_REDUCTION, Reduction
from .symmetries import least
from .tables import SETTLING, Tables
from .visiting import VisitedSet
from .workers import FEW, QUICK, Workers

OFTEN = 0.1  # seconds between two reports of progress
AHEAD = 2  # batches that wait to be settled, while the next one is expanded
BLOCK = 1 << 16  # states whose edges are read at once: few enough to stay in a cache
MANY = 1 << 22  # edges in one piece, so that few blocks lie in two
NO_STEPS = np.empty(0, np.uint16)
MOST_STATES = (1 << 32) - (1 << 28)  # numbers have 32 bits, and a batch needs some more than it has states


class Enough(Exception):
    """The search was told to stop here."""


class Search:
    """The graph as far as it is known.

    With several workers, one thread settles what batches lead to while the others expand the next ones.
    """

    def __init__(
        self, model: Model, max_states: int | None, max_depth: int | None, first: bool, workers: int = 1, wide: bool = False, reduce: bool = False,
        max_memory: int | None = None, checkpoint: Checkpoint | None = None, debug: bool = False,
        symmetries: tuple[Symmetry, ...] = (),
    ) -> None:  # fmt: skip
        self.model, self.max_states, self.max_depth, self.first, self.workers = model, max_states or MOST_STATES, max_depth, first, workers
        self.threads = Workers(workers)
        self.each, self.shares = self.threads.each, self.threads.shares
        assert len(model.steps) < 1 << 16, "steps are numbered with 16 bits"
        self.began = monotonic()
        self.tables = Tables(model, wide, symmetries, views=2 if workers > 1 else 1)
        self.width = self.tables.width
        self.reduction = Reduction(model) if reduce else None
        if self.reduction is not None:
            self.tables.images.relations(self.reduction.touches, self.reduction.slot)
        self.debug = debug
        self.checkpoint, self.folder = checkpoint, None if checkpoint is None else checkpoint.folder
        self.visited = VisitedSet(self.width, self.folder, self.each)
        # By state: from which it was found, and by which step; the initial ones have no parent.
        self.parent, self.arrival = Log(np.uint32, self.folder), Log(np.uint16, self.folder)
        # By state that was explored: how many of its steps may lie on a cycle, where they lead, and whether all that is enabled was fired.
        self.degree, self.edges, self.full = Log(np.uint16, self.folder), Log(np.uint32, self.folder, MANY), Log(np.uint8, self.folder)
        self.logs = {"parents": self.parent, "steps": self.arrival, "degrees": self.degree, "edges": self.edges, "full": self.full}
        # By edge: the reaction, or UNTOLD.  Reactions are numbered anew when a search is resumed, and what was learnt before is not known then.
        self.reacted, self.told = Log(np.uint16, self.folder, MANY), not symmetries
        self.besides: list[tuple[Any, Any]] = []  # states that were explored again, and where each leads
        self.initial: list[int] = []  # of the first states: which of the model's initial states they are
        self.levels = [0]  # the first state of each depth
        self.states = self.quiescent = self.digest = 0
        self.fired = np.zeros(len(model.steps), np.int64)
        self.fired_by = np.zeros((1, len(model.steps)), np.int64)  # of each share of the last batch
        self.found: dict[int, tuple[int, int]] = {}  # by property: the state and the check
        self.active = np.ones(len(model.properties) + 1, np.uint8)
        self.failed: tuple[int, int] | None = None  # the state and the step
        self.frontier: list[Chunk | Distant] = []
        self.memory = Memory(max_memory, workers)
        self.candidates = Candidates(1 << 9, 1 << 12, self.width)
        self.spare: list[Candidates] = []  # for the next batches, while these are looked up
        self.waiting: deque[Expanded] = deque()  # the batches that are, and perhaps the first one is being settled
        self.settled: Callable[[Callable[[], bool]], bool] = lambda enough: True  # waits for the thread that settles, and says whether it has ended
        self.last: Expanded | None = None  # the batch with which the search ended
        self.view = 0  # of the tables: that of the thread that settles
        pieces, sets = range(self.threads.most), self.tables.blocks.width
        self.notes = [Notes(kernels.KEYS * len(model.steps)) for _ in pieces]
        self.scratch = [kernels.scratch(notes.keys, notes.answers, sets, self.tables.columns) for notes in self.notes]
        self._numbers = np.arange(FEW, dtype=np.uint32)
        self.tally = kernels.apart((len(pieces), -(-len(model.steps) // kernels.LINE) * kernels.LINE), np.int64)  # [piece, step]: how often it fires
        self.settling = [Notes(len(self.tables.looks.items)) for _ in pieces]

    # ---- levels ------------------------------------------------------------------------------------------

    def run(self, observe: Callable[[Progress], None] | None) -> None:
        """Go on from the frontier until nothing new is found.  Raises Enough when told to stop earlier."""
        try:
            self._run(observe)
        except BaseException:
            self.abandon()
            raise

    def _run(self, observe: Callable[[Progress], None] | None) -> None:
        due, explored = self.began, self.states - sum(map(len, self.frontier))
        while self.frontier:
            if self.checkpoint is not None:
                self.checkpoint.save(self)
            if self.max_depth is not None and len(self.levels) > self.max_depth:
                self.finish()
                raise Enough
            level, self.frontier, deepens = self.frontier, [], True
            for batch in self.batches(level):
                heed()
                if observe is not None and (now := monotonic()) >= due:
                    observe(self.progress(max(0, self.levels[-1] - explored), now))
                    due = monotonic() + OFTEN
                self.explore(batch, deepens)
                deepens, explored = False, explored + len(batch)
                self.memory.relieve(self)
            self.finish(None if self.checkpoint is not None else self.frontier)

    def batches(self, level: list[Chunk | Distant]) -> Iterable[Chunk]:
        """The level in pieces of the right size, none of which is held longer than it is needed."""
        while level or any(e.children is level for e in [*self.waiting]):
            if not level:
                self.finish(level)
                continue
            chunk = level.pop(0).fetch()
            while level and len(chunk) + len(level[0]) <= self.memory.batch:
                chunk = joined(chunk, level.pop(0).fetch())
            pieces = max(1, round(len(chunk) / self.memory.batch))
            for piece in range(pieces):
                yield chunk.part(len(chunk) * piece // pieces, len(chunk) * (piece + 1) // pieces)

    def begin(self, observe: Callable[[Progress], None] | None = None) -> None:
        """The initial states, or those of the checkpoint."""
        if self.checkpoint is not None and self.checkpoint.open(self, observe):
            return
        rows = []
        seen = set()
        for i, initial in enumerate(self.model.initial_states):
            row = self.tables.row(initial)
            if tuple(row) not in seen:
                seen.add(tuple(row))
                self.initial.append(i)
                rows.append(row)
        table = np.array(rows, self.row_type())
        prints = np.bitwise_xor.reduce(self.tables.key.array[table], axis=1)
        if self.tables.columns > self.width:
            kept = np.sort(np.unique(least(prints, self.width), axis=0, return_index=True)[1])
            table, prints, self.initial = table[kept], prints[kept], [self.initial[k] for k in kept.tolist()]
        busy = self.tables.busy.array[table].sum(axis=1, dtype=np.uint16)
        n = len(table)
        c = self.candidates = Candidates(n, n, self.width)
        c.prints[:n], c.new[:n], c.start[:n], c.size[:n] = least(prints, self.width), np.arange(n), np.arange(n), 1
        c.reaction[:n] = self.tables.add_origin()
        self.visited.insert(c, n, [(0, n)], 0)
        over = n > self.max_states
        n = min(n, self.max_states)
        new = New(Chunk(table, prints, busy, 0).part(0, n), np.ones(n, np.uint8), None, None, n)
        Asking(self, c, new).finish()
        n = new.kept
        self.parent.extend(np.zeros(n, np.uint32))
        self.arrival.extend(np.zeros(n, np.uint16))
        self.take_note(prints[:n])
        self.states, self.quiescent = n, int(np.count_nonzero(busy[:n] == 0))
        self.frontier = [new.states.part(0, n)]
        if over or new.breached:
            raise Enough

    def row_type(self) -> Any:
        """Rows are as narrow as the numbers of the values allow."""
        return np.uint16 if len(self.tables.values) <= 1 << 16 else np.uint32

    # ---- a batch -----------------------------------------------------------------------------------------

    def explore(self, batch: Chunk, deepens: bool) -> None:
        """Fire all that is enabled in the states of a batch, or a stubborn set of it; with several workers, what comes of it may be seen to later."""
        if self.threads.pool is None or self.debug or not self.visited.here:
            self.finish()
            self.waiting.append(self.expanded(batch, deepens))
            self.finish()
            return
        self.go_on()
        e, most = self.expanded(batch, deepens), AHEAD if self.memory.limit is None else 1
        while len(self.waiting) >= most:
            self.go_on()
            self.settled(lambda: len(self.waiting) < most)
        self.waiting.append(e)

    def go_on(self) -> None:
        """Have another thread settle the batches that wait.  Raises Enough."""
        if self.waiting and self.settled(lambda: True):
            self.settled = self.threads.begin(self.settle_waiting)

    def settle_waiting(self) -> None:
        """Settle the batches that wait, and those that come to it meanwhile; but one at a time where memory is limited, so that more can be moved."""
        self.view = SETTLING
        try:
            while self.waiting:
                self.settle_first()
                self.threads.news.set()
                if self.memory.limit is not None:
                    break
        finally:
            self.view = 0

    def settle_first(self) -> None:
        """Settle the first batch that waits."""
        e = self.waiting[0]
        try:
            self.settle_all(e)
        except Enough:
            self.last = e
            raise
        self.waiting.popleft()
        self.spare.append(e.candidates)

    def finish(self, into: list[Chunk | Distant] | None = None) -> None:
        """Settle all that waits, or until there are new states in a list."""
        while self.waiting and not into:
            if self.settled(lambda: bool(into)) and self.waiting and not into:
                self.settle_first()

    def abandon(self) -> None:
        """What is not being settled yet is left out."""
        while len(self.waiting) > 1:
            self.waiting.pop()
        with suppress(Exception):  # what led here is told
            self.settled(lambda: False)
        self.waiting.clear()
        self.failed = None if self.last is None else self.last.failed

    def expanded(self, batch: Chunk, deepens: bool) -> Expanded:
        """A batch's candidates."""
        full = np.ones(len(batch), np.uint8) if self.reduction is None else np.zeros(len(batch), np.uint8)
        self.candidates = self.spare.pop() if self.spare else Candidates(1 << 9, 1 << 12, self.width)
        fired = self.expand(batch, full)
        if self.debug and self.failed is None and (wrong := compare(self, batch)) is not None:
            row, step, self.tables.causes[wrong[1]] = wrong
            self.failed = (batch.first + row, step)
            self.candidates.cut(row, step - 1)
            fired = self.candidates.fired(len(batch), len(self.model.steps))
        failed, self.failed = self.failed, None  # it counts if the search comes as far
        return Expanded(batch, full, self.candidates, fired, self.fired_by, failed, self.frontier, deepens)

    def settle_all(self, e: Expanded) -> None:
        """Keep what a batch leads to.  Raises Enough if the search ends here."""
        c, rows, fired = e.candidates, len(e.batch), e.fired
        fresh = self.visited.insert(c, rows, self.shares(rows), self.states)
        if e.deepens:
            self.levels.append(self.states)
        write_edges, keep_edges = self.edges_of(e)
        new = settle(self, e.batch, c, fresh, [*self.memory.ahead(self), *write_edges])
        kept, stop = new.kept, new.ends or e.failed is not None
        if new.ends:
            last = kept - 1 if new.breached else kept  # the candidate with which the search ends
            c.cut(int(c.origin[last]), int(c.step[c.new[last]]))
            fired = c.fired(rows, len(self.model.steps))
        self.parent.extend(new.parents[:kept])
        self.arrival.extend(new.arrivals[:kept])
        if not stop:
            keep_edges()
            if self.reduction is not None:
                self.full.extend(e.full)
        if kept:
            e.children.append(states := new.states.part(0, kept))
            self.take_note(states.prints)
        self.states, self.quiescent, self.fired = self.states + kept, self.quiescent + new.quiescent, self.fired + fired
        self.memory.put_edges_away(self)
        if stop:
            raise Enough

    def expand(self, batch: Chunk, full: Any, only: Any = NO_STEPS) -> Any:
        """Candidates of all rows, of the steps `only` if it is given; how often each step fired."""
        rows, steps = len(batch.rows), len(self.model.steps)
        ranges = self.shares(rows, QUICK) if len(only) else self.shares(rows)  # as where steps lead is written
        c, every = self.room_for(rows, len(ranges)), self.numbers(rows)
        todo, ends = [every[lo:hi] for lo, hi in ranges], [c.begin(w, lo) for w, (lo, _) in enumerate(ranges)]
        fired = self.tally[: len(ranges), :steps]
        fired[:] = 0
        failures: list[int] = []
        while any(len(some) for some in todo):
            t, p = self.tables.arrays(), NO_REDUCTION if self.reduction is None else self.reduction.arrays
            busy = [w for w, some in enumerate(todo) if len(some)]
            again = [np.empty(len(todo[w]), np.uint32) for w in busy]
            for w in busy:
                self.notes[w].begin(t)
            told: set[int] = set()

            def learn(k: int, answer: tuple[int, int, int, int], busy: list[int] = busy, told: set[int] = told) -> None:
                if answer[2]:
                    self.learn(batch, self.notes[busy[k]].missed(answer[2]).tolist(), told)

            done = self.each(kernels.expand, [
                (t, p, full, batch.rows, batch.prints, batch.busy, only, todo[w], ends[w],
                 c.prints[: c.begin(w + 1, ranges[w][1])], c.step, c.reaction, c.start, c.size, fired[w], self.notes[w].misses, self.notes[w].seen,
                 left, self.scratch[w])
                for w, left in zip(busy, again, strict=True)
            ], learn if self.reduction is None else None)  # fmt: skip
            learnt = False
            for k, (w, left, (end, unfinished, missed, failed)) in enumerate(zip(busy, again, done, strict=True)):
                if self.reduction is not None:
                    learn(k, done[k])
                todo[w], ends[w], learnt = left[:unfinished], end, learnt or missed > 0
                failures.extend([failed] if failed >= 0 else [])
            if not learnt and any(len(some) for some in todo):
                c = self.room_for(rows, len(ranges), 2 * c.each)
                todo, ends = [every[lo:hi] for lo, hi in ranges], [c.begin(w, lo) for w, (lo, _) in enumerate(ranges)]
                fired[:] = 0
        if failures:  # what was enabled before it counts, and then the search ends
            row, step = divmod(min(failures), steps)
            self.failed = (batch.first + row, step)
            c.cut(row, step)
            return c.fired(rows, steps)
        self.fired_by = fired.copy()
        return self.fired_by.sum(axis=0)

    def numbers(self, n: int) -> Any:
        """0…n-1; not to be written to."""
        numbers = self._numbers  # another thread may put others there
        if n > len(numbers):
            self._numbers = numbers = np.arange(2 * n, dtype=np.uint32)
        return numbers[:n]

    def spans(self, n: int) -> list[tuple[int, int]]:
        """The places of the candidates of n rows."""
        c = self.candidates
        begin = [c.begin(w, first) for w, (first, _) in enumerate(self.shares(n))]
        return [(at, at + int(c.size[first:last].sum())) for at, (first, last) in zip(begin, self.shares(n), strict=True)]

    def room_for(self, rows: int, shares: int, each: int = 0) -> Candidates:
        """Room for the candidates of so many rows."""
        self.candidates = self.candidates.room_for(rows, shares, each, len(self.model.steps))
        return self.candidates

    def learn(self, batch: Chunk, misses: list[list[int]], told: set[int]) -> None:
        """Evaluate what was missing: a row, a step and the key that had no answer; `told` are the keys that have one by now."""
        rows = batch.rows[[r for r, _, _ in misses]].tolist()
        for (r, s, key), row in zip(misses, rows, strict=True):
            if key in told:
                continue
            told.add(key)
            if s < len(self.model.steps):
                self.tables.learn_step(row, s)
            elif self.reduction is not None:
                number = int(batch.rows[r, self.reduction.slot])
                self.reduction.learn(number, self.tables.values[number])
                self.tables.images.narrowed(self.reduction.slot, self.tables.values[number])

    def print_of(self, state: State) -> tuple[int, ...]:
        """The fingerprint of a state."""
        return tuple(np.bitwise_xor.reduce(self.tables.key.array[self.tables.row(state)], axis=0).tolist())

    def take_note(self, prints: Any) -> None:
        """New states' fingerprints change that of the search."""
        self.digest ^= int(np.bitwise_xor.reduce(prints[:, 0])) if len(prints) else 0

    def edges_of(self, e: Expanded) -> tuple[list[Callable[[], None]], Callable[[], None]]:
        """Where steps lead that may lie on a cycle: what writes it, piece by piece, and what keeps it then."""
        if e.failed is not None:  # the search ends here, and it was not counted what fired
            return [], lambda: None
        rows = len(e.batch)
        c, t, ranges, degree = e.candidates, self.tables.arrays(self.view), self.shares(rows), self.degree.space(rows)
        owed = t.owed if self.reduction is None else np.ones_like(t.owed)
        ends = np.cumsum(e.fired_by @ (owed[: e.fired_by.shape[1]] > 0)).tolist()
        out, by = self.edges.space(ends[-1]), self.reacted.space(ends[-1])

        def write(lo: int, hi: int, begin: int, end: int) -> None:
            where = degree, out[begin:end], by[begin:end]
            visited.targets(owed, c.target, c.step, c.reaction, c.start, c.size, lo, hi, self.states, c.numbers, *where)

        def keep() -> None:
            self.degree.extend(degree)
            self.edges.extend(out)
            if self.told:
                self.reacted.extend(by)

        return [partial(write, lo, hi, begin, end) for (lo, hi), begin, end in zip(ranges, [0, *ends[:-1]], ends, strict=True)], keep

    def explore_again(self, numbers: Any, batch: Chunk) -> None:
        """Fire all that is enabled in states that were explored but in part."""
        rows = len(numbers)
        before = self.expand(batch, np.zeros(rows, np.uint8))
        fired = self.expand(batch, np.ones(rows, np.uint8)) - before
        fresh = self.visited.insert(self.candidates, rows, self.shares(rows), self.states)
        c, new = self.candidates, settle(self, batch, self.candidates, fresh)
        self.parent.extend(numbers[new.parents[: new.kept]].astype(np.uint32))
        self.arrival.extend(new.arrivals[: new.kept])
        degree, out = np.empty(rows, np.uint16), np.empty(int(c.size[:rows].sum()), np.uint32)
        every, by = np.ones_like(self.tables.arrays().owed), np.empty(len(out), np.uint16)
        visited.targets(every, c.target, c.step, c.reaction, c.start, c.size, 0, rows, self.states, c.numbers, degree, out, by)
        self.besides.append((np.repeat(numbers, degree), out.astype(np.int64)))
        self.frontier = [new.states.part(0, new.kept)] if new.kept else []
        self.take_note(new.states.prints[: new.kept])
        self.states, self.quiescent, self.fired = self.states + new.kept, self.quiescent + new.quiescent, self.fired + fired
        if new.ends or self.failed is not None:
            raise Enough

    def extents(self) -> list[tuple[int, int, int, int]]:
        """Of each block of states that were explored: its states and its edges, from and to."""
        extents, end = [], 0
        for first in range(0, len(self.degree), BLOCK):
            last, begin = min(first + BLOCK, len(self.degree)), end
            end += int(self.degree.read(first, last).sum(dtype=np.int64))
            extents.append((first, last, begin, end))
        return extents

    def graph(self) -> trimming.Graph:
        """Where the steps lead that may lie on a cycle."""
        extents = self.extents()

        def blocks(backwards: bool) -> Iterator[trimming.Block]:
            for first, last, begin, end in reversed(extents) if backwards else extents:
                yield trimming.Block(first, self.degree.read(first, last), self.edges.read(begin, end))

        return trimming.Graph(blocks, *self.fired_again())

    def fired_again(self) -> tuple[Any, Any]:
        """Where the states that were explored again lead: the edges' sources and targets."""
        none = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        source, target = (np.concatenate(some) for some in zip(*(self.besides or none), strict=True))
        return source, target

    # ---- what is known --------------------------------------------------------------------------------------

    def progress(self, frontier: int, now: float) -> Progress:
        """How far the search has come."""
        seconds, tables = now - self.began, self.tables
        sizes = np.diff(self.levels).tolist()
        found = self.states, int(self.fired.sum()), frontier, len(self.levels) - 2
        return Progress(*found, seconds, len(tables.values), tables.answers, expected(sizes))

    def depth(self, i: int) -> int:
        """How many steps state i is away."""
        return len(self.path(i)[1]) if self.besides else bisect_right(self.levels, i) - 1

    def farthest(self) -> int:
        """How many steps the farthest state is away."""
        if not self.besides:
            return max(0, self.depth(self.states - 1))
        depth = np.zeros(self.states, np.int32)
        for lo, hi in pairwise([*self.levels[1:], self.states]):
            depth[lo:hi] = depth[self.parent.read(lo, hi)] + 1
        return int(depth.max())

    def path(self, i: int) -> tuple[int, tuple[int, ...]]:
        """A shortest run to state i: the number of an initial state, and steps."""
        steps = []
        while i >= len(self.initial):
            steps.append(self.arrival[i])
            i = self.parent[i]
        return self.initial[i], tuple(reversed(steps))

    def counterexample(self, of: int) -> Counterexample:
        """The run to the breach of a property, fired by definition."""
        i, check = self.found[of]
        initial, steps = self.path(i)
        _, function, slots = self.tables.questions[check]
        state = self.fire_all(initial, steps)
        breach = function(tuple(state[slot] for slot in slots))
        assert breach is not None, "the tables say what the check says"
        return Counterexample(initial, steps, None, breach)

    def failure(self) -> StepFailed:
        """What a failed reaction raises when it is fired by definition."""
        assert self.failed is not None
        i, step = self.failed
        initial, steps = self.path(i)
        cause = self.tables.causes[step]  # of the step's first failure: a value without a key fails here alone
        try:
            fire(self.model, self.model.steps[step], self.fire_all(initial, steps))
        except Exception as raised:
            cause = raised
        return StepFailed(self.model.steps[step], step, initial, steps, cause)

    def fire_all(self, initial: int, steps: tuple[int, ...]) -> State:
        """The state that a run ends in, by definition."""
        state = self.model.initial_states[initial]
        for step in steps:
            after = fire(self.model, self.model.steps[step], state)
            assert not isinstance(after, Disabled), "the tables say what `fire` says"
            state = after
        return state
