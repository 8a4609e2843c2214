"""Breadth-first search over rows, batch by batch.

States get the numbers that the reference explorer gives them, whatever the number of workers: candidates are numbered in the order of the rows
that they come from and of the model's steps.  So its counterexamples are those of the reference explorer too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from roamcheck.checker.verdict import Counterexample, Progress, StepFailed
from roamcheck.model.interface import Disabled, Model, Scope, State, fire

from . import kernels, visited
from .store import PART_SHIFT, PARTS, Log, Part
from .stubborn import NO_REDUCTION, Reduction
from .tables import Tables

BATCH = 1 << 15  # rows for each worker
FEW = 1 << 10  # rows that are not worth a second thread
OFTEN = 0.1  # seconds between two reports of progress
MISSES = 1 << 12
MOST_STATES = (1 << 32) - (1 << 28)  # numbers have 32 bits, and a batch needs some more than it has states


class Enough(Exception):
    """The search was told to stop here."""


@dataclass(slots=True)
class Chunk:
    """Some states of a level, in the order of their numbers."""

    rows: Any  # [state, slot] U16 or U32
    prints: Any  # [state, word] U64
    busy: Any  # [state] U16: how many slots are not idle
    first: int  # the number of the first state
    reducible: bool = True  # not all that is enabled need be explored

    def part(self, lo: int, hi: int) -> Chunk:
        """The states lo…hi-1."""
        return Chunk(self.rows[lo:hi], self.prints[lo:hi], self.busy[lo:hi], self.first + lo, self.reducible)


class Candidates:
    """Room for the candidates of a batch; the range of each worker starts at a multiple of `room`."""

    def __init__(self, workers: int, room: int, width: int) -> None:
        size = workers * room
        self.room = room
        self.prints = np.empty((size, width), np.uint64)
        self.row, self.target, self.place, self.final, self.order, self.new = (np.empty(size, np.uint32) for _ in range(6))
        self.step, self.reaction, self.fresh = np.empty(size, np.uint16), np.empty(size, np.int32), np.empty(size, np.uint8)


class Search:
    """The graph as far as it is known."""

    def __init__(
        self, model: Model, max_states: int | None, max_depth: int | None, first: bool, workers: int = 1, wide: bool = False, reduce: bool = False
    ) -> None:
        self.model, self.max_states, self.max_depth, self.first, self.workers = model, max_states or MOST_STATES, max_depth, first, workers
        assert len(model.steps) < 1 << 16, "steps are numbered with 16 bits"
        self.began = monotonic()
        self.tables = Tables(model, wide)
        self.width = 2 if wide else 1
        self.reduction = Reduction(model) if reduce else None
        self.parts = [Part(self.width) for _ in range(PARTS)]
        self.parent, self.arrival = Log(np.uint32), Log(np.uint16)  # by state; the initial ones have no parent
        self.degree, self.edges = Log(np.uint16), Log(np.uint32)  # by state that was explored: its protocol steps; where they lead
        self.initial: list[int] = []  # of the first states: which of the model's initial states they are
        self.levels = [0]  # the first state of each depth
        self.states = self.quiescent = 0
        self.fired = np.zeros(len(model.steps), np.int64)
        self.found: dict[int, tuple[int, int]] = {}  # by property: the state and the check
        self.active = np.ones(len(model.properties) + 1, np.uint8)
        self.failed: tuple[int, int] | None = None  # the state and the step
        self.frontier: list[Chunk] = []
        self.candidates = Candidates(1, 1 << 12, self.width)
        self.misses = [np.zeros((MISSES, 2), np.int64) for _ in range(workers)]
        self.seen = [np.zeros(4 * MISSES, np.int64) for _ in range(workers)]
        self.pool = ThreadPoolExecutor(workers) if workers > 1 else None

    # ---- levels ------------------------------------------------------------------------------------------

    def run(self, observe: Callable[[Progress], None] | None) -> None:
        """Find all states.  Raises Enough when told to stop earlier."""
        due = self.began
        self.begin()
        while self.frontier:
            if self.max_depth is not None and len(self.levels) > self.max_depth:
                raise Enough
            self.levels.append(self.states)
            level, self.frontier = self.frontier, []
            left = sum(len(chunk.rows) for chunk in level)
            for batch in self.batches(level):
                if observe is not None and (now := monotonic()) >= due:
                    observe(self.progress(left, now))
                    due = monotonic() + OFTEN
                self.explore(batch)
                left -= len(batch.rows)

    def batches(self, level: list[Chunk]) -> Iterable[Chunk]:
        """The level in pieces of the right size, none of which is held longer than it is needed."""
        size = BATCH * self.workers
        while level:
            chunk = level.pop(0)
            for lo in range(0, len(chunk.rows), size):
                yield chunk.part(lo, lo + size)

    def begin(self) -> None:
        """The initial states."""
        rows = []
        seen = set()
        for i, initial in enumerate(self.model.initial_states):
            row = self.tables.row(initial)
            if tuple(row) not in seen:
                seen.add(tuple(row))
                self.initial.append(i)
                rows.append(row)
        table = np.array(rows, self.row_type())
        busy = self.tables.busy.array[table].sum(axis=1, dtype=np.uint16)
        prints = np.bitwise_xor.reduce(self.tables.key.array[table], axis=1)
        n = len(rows)
        c = self.candidates = Candidates(1, max(n, 1 << 12), self.width)
        c.prints[:n], c.new[:n], c.fresh[:n] = prints, np.arange(n), 1
        c.reaction[:n] = self.tables.add_origin()
        self.insert([(0, n)], n)
        over = n > self.max_states
        n = min(n, self.max_states)
        cut = self.judge(table, busy, np.ones(n, np.uint8), n)
        n = n if cut is None else cut + 1
        self.parent.extend(np.zeros(n, np.uint32))
        self.arrival.extend(np.zeros(n, np.uint16))
        self.states, self.quiescent = n, int(np.count_nonzero(busy[:n] == 0))
        self.frontier = [Chunk(table[:n], prints[:n], busy[:n], 0)]
        if over or cut is not None:
            raise Enough

    def row_type(self) -> Any:
        """Rows are as narrow as the numbers of the values allow."""
        return np.uint16 if len(self.tables.values) <= 1 << 16 else np.uint32

    # ---- a batch -----------------------------------------------------------------------------------------

    def explore(self, batch: Chunk) -> None:
        """Fire all that is enabled in the states of a batch."""
        workers = self.workers if len(batch.rows) >= FEW else 1
        size = -(-len(batch.rows) // workers)
        ranges = [(lo, min(lo + size, len(batch.rows))) for lo in range(0, len(batch.rows), size)]
        spans, fired, degree = self.expand(batch, ranges)
        fresh = self.insert(spans, sum(hi - lo for lo, hi in spans))
        table, prints, busy, parents, arrivals, suspect, quiet = self.materialise(batch, fresh)
        kept = min(fresh, self.max_states - self.states)
        last = kept if kept < fresh else None  # the new state at which the search is to end
        cut = self.judge(table, busy, suspect, kept)
        if cut is not None:
            kept, last = cut + 1, cut
        stop = last is not None or self.failed is not None
        if last is not None:
            fired = self.fired_until(spans, int(self.candidates.new[last]))
            quiet = int(np.count_nonzero(busy[:kept] == 0))
        self.parent.extend(parents[:kept])
        self.arrival.extend(arrivals[:kept])
        if not stop:
            self.degree.extend(degree)
            self.keep_edges(spans)
        self.states, self.quiescent, self.fired = self.states + kept, self.quiescent + quiet, self.fired + fired
        if kept:
            self.frontier.append(Chunk(table[:kept], prints[:kept], busy[:kept], self.states - kept))
        if stop:
            raise Enough

    def each(self, task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Run a task for each tuple of arguments, on all workers."""
        if self.pool is None or len(arguments) == 1:
            return [task(*given) for given in arguments]
        return list(self.pool.map(lambda given: task(*given), arguments))

    def expand(self, batch: Chunk, ranges: list[tuple[int, int]]) -> tuple[list[tuple[int, int]], Any, Any]:
        """Candidates of all rows: their spans, how often each step fired, and how many protocol steps each row has."""
        steps = len(self.model.steps)
        room = max(1 << 12, 8 * BATCH, self.candidates.room)
        if len(self.candidates.row) < len(ranges) * room:
            self.candidates = Candidates(self.workers, room, self.width)
        degree = np.zeros(len(batch.rows), np.uint16)
        fired = np.zeros((len(ranges), steps), np.int64)
        full = np.zeros(len(batch.rows), np.uint8) if batch.reducible else np.ones(len(batch.rows), np.uint8)
        spans: list[tuple[int, int]] = [(0, 0)] * len(ranges)
        failures = [-1] * len(ranges)
        todo = list(range(len(ranges)))
        while todo:
            t, c = self.tables.arrays(), self.candidates
            p = NO_REDUCTION if self.reduction is None else self.reduction.arrays
            for w in todo:
                fired[w] = 0
                self.seen[w][:] = 0
            done = self.each(kernels.expand, [
                (t, p, full, batch.rows, batch.prints, batch.busy, *ranges[w], w * c.room,
                 c.prints[: (w + 1) * c.room], c.row, c.step, c.reaction, degree, fired[w], self.misses[w], self.seen[w])
                for w in todo
            ])  # fmt: skip
            again = []
            for w, (end, row, missed, failed) in zip(todo, done, strict=True):
                for r, s in self.misses[w][:missed].tolist():
                    if s < steps:
                        self.tables.learn_step(batch.rows[r].tolist(), s)
                    elif self.reduction is not None:
                        number = int(batch.rows[r, self.reduction.slot])
                        self.reduction.learn(number, self.tables.values[number])
                if missed or row < ranges[w][1]:
                    again.append(w)
                spans[w], failures[w] = (w * c.room, end), failed
            if any(row < ranges[w][1] for w, (_, row, _, _) in zip(todo, done, strict=True)):
                self.candidates = Candidates(len(ranges), 2 * c.room + steps, self.width)
                again = list(range(len(ranges)))
            todo = again
            if not todo and batch.reducible:
                todo = self.closing(batch, spans, full)
        if any(failed >= 0 for failed in failures):
            w = next(w for w, failed in enumerate(failures) if failed >= 0)
            spans = self.fail(batch, spans, w, *divmod(failures[w], steps))
            return spans, self.fired_until(spans, spans[-1][1]), degree
        return spans, fired.sum(axis=0), degree

    def closing(self, batch: Chunk, spans: list[tuple[int, int]], full: Any) -> list[int]:
        """Mark the reduced rows that lead back, to be explored in full; the ranges that hold some."""
        c, parts = self.candidates, self.parts
        keys, numbers = tuple(part.keys for part in parts), tuple(part.numbers for part in parts)
        counts = self.each(visited.find_closing, [(keys, numbers, c.prints, c.row, lo, hi, PART_SHIFT, batch.first, full) for lo, hi in spans])
        return [w for w, count in enumerate(counts) if count]

    def fail(self, batch: Chunk, spans: list[tuple[int, int]], w: int, row: int, step: int) -> list[tuple[int, int]]:
        """A reaction failed: what was enabled before it counts, and then the search ends."""
        c, (lo, hi) = self.candidates, spans[w]
        before = np.count_nonzero((c.row[lo:hi] < row) | ((c.row[lo:hi] == row) & (c.step[lo:hi] < step)))
        self.failed = (batch.first + row, step)
        return [*spans[:w], (lo, lo + int(before))]

    def insert(self, spans: list[tuple[int, int]], total: int) -> int:
        """Look the candidates up in the visited set and add those that are new; how many there are."""
        c, counts = self.candidates, np.zeros((len(spans), PARTS), np.int64)
        self.each(visited.count_parts, [(c.prints, lo, hi, PART_SHIFT, counts[w]) for w, (lo, hi) in enumerate(spans)])
        starts = (np.cumsum(counts.T.ravel()) - counts.T.ravel()).reshape(PARTS, len(spans)).T.copy()
        bounds = np.array([*starts[0].tolist(), total])
        self.each(visited.sort_parts, [(c.prints, lo, hi, PART_SHIFT, starts[w], c.order) for w, (lo, hi) in enumerate(spans)])
        for part, more in zip(self.parts, np.diff(bounds).tolist(), strict=True):
            part.reserve(more)
        keys, numbers = tuple(part.keys for part in self.parts), tuple(part.numbers for part in self.parts)
        added, shares = np.zeros(PARTS, np.int64), range(len(spans))
        self.each(visited.insert, [
            (keys, numbers, c.prints, c.order, bounds, share, len(shares), self.states, c.target, c.place, c.fresh, added) for share in shares
        ])  # fmt: skip
        fresh = 0
        for lo, hi in spans:
            fresh = visited.number_new(c.fresh, lo, hi, self.states, fresh, c.final, c.new)
        self.each(visited.renumber, [(numbers, c.order, bounds, share, len(shares), c.place, c.fresh, c.final) for share in shares])
        for part, more in zip(self.parts, added.tolist(), strict=True):
            part.count += more
        return fresh

    def materialise(self, batch: Chunk, fresh: int) -> tuple[Any, Any, Any, Any, Any, Any, int]:
        """The rows of the new states, their fingerprints, how many slots are busy, parents, steps, suspicion; and how many are quiescent."""
        kind = np.promote_types(self.row_type(), batch.rows.dtype)
        rows, table = batch.rows.astype(kind, copy=False), np.empty((fresh, batch.rows.shape[1]), kind)
        prints, busy = np.empty((fresh, self.width), np.uint64), np.empty(fresh, np.uint16)
        parents, arrivals = np.empty(fresh, np.uint32), np.empty(fresh, np.uint16)
        suspect = np.empty(fresh, np.uint8)
        t, c = self.tables.arrays(), self.candidates
        quiet = self.each(kernels.materialise, [
            (t, rows, batch.prints, batch.busy, c.new, lo, hi, c.prints, c.row, c.step, c.reaction, batch.first,
             table, prints, busy, parents, arrivals, suspect)
            for lo, hi in self.halves(fresh)
        ])  # fmt: skip
        return table, prints, busy, parents, arrivals, suspect, sum(quiet)

    def halves(self, n: int) -> list[tuple[int, int]]:
        """The range 0…n-1 in as many parts as there are workers."""
        workers = self.workers if n >= FEW else 1
        return [(n * w // workers, n * (w + 1) // workers) for w in range(workers)]

    def judge(self, table: Any, busy: Any, suspect: Any, fresh: int) -> int | None:
        """Ask the new states what a breach could have come up in; the one at which the search is to end, if there is one."""
        asked, every = self.tables.asked_of, self.halves(fresh)
        quiet, quiescent = np.array([*asked[Scope.QUIESCENT], *asked[Scope.RUN]], np.int32), len(asked[Scope.QUIESCENT])
        breaches = [np.full((len(self.active), 2), -1, np.int64) for _ in every]
        todo = list(range(len(every)))
        while todo:
            t, c = self.tables.arrays(), self.candidates
            for w in todo:
                breaches[w][:] = -1
                self.seen[w][:] = 0
            missed = self.each(kernels.judge, [
                (t, table, busy, suspect, c.new, c.reaction, *every[w], self.tables.spent, quiet, quiescent, self.active, breaches[w], self.misses[w],
                 self.seen[w])
                for w in todo
            ])  # fmt: skip
            for w, n in zip(todo, missed, strict=True):
                for i, check in self.misses[w][:n].tolist():
                    self.tables.learn_check(table[i].tolist(), check)
            todo = [w for w, n in zip(todo, missed, strict=True) if n]
        return self.note(breaches)

    def note(self, breaches: list[Any]) -> int | None:
        """Keep the first breach of each property; with `first`, those up to the first one that decides."""
        new = {}
        for of in range(len(self.model.properties)):
            hit = next((breach[of].tolist() for breach in breaches if breach[of, 0] >= 0), None)
            if hit is not None:
                new[of] = (int(hit[0]), int(hit[1]))
        decisive = [hit for of, hit in new.items() if self.model.properties[of].decisive] if self.first else []
        for of, hit in new.items():
            if not decisive or hit <= min(decisive):
                self.found[of] = (self.states + hit[0], hit[1])
                self.active[of] = 0
        return min(decisive)[0] if decisive else None

    def keep_edges(self, spans: list[tuple[int, int]]) -> None:
        """Where protocol steps lead, for the cycles."""
        c = self.candidates
        out, n = np.empty(sum(hi - lo for lo, hi in spans), np.uint32), 0
        for lo, hi in spans:
            n = visited.targets(self.tables.arrays(), c.target, c.step, lo, hi, self.states, c.final, out, n)
        self.edges.extend(out[:n])

    def fired_until(self, spans: list[tuple[int, int]], last: int) -> Any:
        """How often each step fired up to and including the candidate `last`."""
        steps = np.concatenate([self.candidates.step[lo : min(hi, last + 1)] for lo, hi in spans if lo <= last])
        return np.bincount(steps.astype(np.int64), minlength=len(self.model.steps))

    # ---- what is known --------------------------------------------------------------------------------------

    def progress(self, frontier: int, now: float) -> Progress:
        """How far the search has come."""
        seconds, tables = now - self.began, self.tables
        return Progress(self.states, int(self.fired.sum()), frontier, len(self.levels) - 2, seconds, len(tables.values), tables.answers)

    def depth(self, i: int) -> int:
        """How many steps state i is away."""
        return bisect_right(self.levels, i) - 1

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

    # ---- states that were found before --------------------------------------------------------------------------

    def rebuild(self, numbers: Any) -> Any:
        """The rows of the states with these numbers, in order of their numbers: each is fired anew from its parent."""
        depths = range(len(self.levels))
        wanted = [numbers[(numbers >= self.levels[d]) & (numbers < self.bound(d))] for d in depths]
        needed = list(wanted)
        for d in reversed(depths[1:]):
            parents = np.array([self.parent[i] for i in needed[d].tolist()], np.int64)
            needed[d - 1] = np.union1d(needed[d - 1], parents).astype(np.int64)
        rows = np.array([self.tables.row(self.model.initial_states[self.initial[i]]) for i in needed[0].tolist()], np.uint32)
        rows = rows.reshape(len(needed[0]), len(self.tables.numbers))
        found = [rows[np.isin(needed[0], wanted[0])]]
        for d in depths[1:]:
            rows = self.children(needed[d - 1], rows, needed[d])
            found.append(rows[np.isin(needed[d], wanted[d])])
        return np.concatenate(found)

    def bound(self, depth: int) -> int:
        """The first state that is farther away."""
        return self.levels[depth + 1] if depth + 1 < len(self.levels) else self.states

    def children(self, parents: Any, rows: Any, numbers: Any) -> Any:
        """The rows of the states `numbers`, given those of their parents; both in order."""
        steps = len(self.model.steps)
        out = np.empty((len(numbers), rows.shape[1]), np.uint32)
        of = np.array([self.parent[i] for i in numbers.tolist()], np.int64)
        keys = np.searchsorted(parents, of) * steps + np.array([self.arrival[i] for i in numbers.tolist()], np.int64)
        for batch, lo, hi in self.refired(rows):
            c, here = self.candidates, np.flatnonzero((keys >= lo * steps) & (keys < hi * steps))
            (start, end), wanted = batch[0], keys[here] - lo * steps
            known = c.row[start:end].astype(np.int64) * steps + c.step[start:end]
            c.new[: len(here)] = start + np.searchsorted(known, wanted)
            out[here] = self.materialise(self.chunk(rows[lo:hi]), len(here))[0]
        return out

    def successors(self, rows: Any) -> Iterator[tuple[Any, Any]]:
        """For each row, the steps that are enabled in it, and the numbers of the states that they lead to (UNKNOWN if that was not found)."""
        for spans, lo, hi in self.refired(rows):
            (start, end), c = spans[0], self.candidates
            keys, numbers = tuple(part.keys for part in self.parts), tuple(part.numbers for part in self.parts)
            visited.find(keys, numbers, c.prints, start, end, PART_SHIFT, c.target)
            bounds = start + np.searchsorted(c.row[start:end], np.arange(hi - lo + 1))
            steps, targets = c.step[:end].copy(), c.target[:end].copy()
            for i in range(hi - lo):
                yield steps[bounds[i] : bounds[i + 1]], targets[bounds[i] : bounds[i + 1]]

    def refired(self, rows: Any) -> Iterator[tuple[list[tuple[int, int]], int, int]]:
        """Fire all that is enabled in rows that were explored before, range by range: the candidates are there until the next."""
        for lo in range(0, len(rows), BATCH):
            hi = min(lo + BATCH, len(rows))
            yield self.expand(self.chunk(rows[lo:hi]), [(0, hi - lo)])[0], lo, hi

    def chunk(self, rows: Any) -> Chunk:
        """Rows as they come, with no number of their own."""
        busy = self.tables.busy.array[rows].sum(axis=1, dtype=np.uint16)
        prints = np.bitwise_xor.reduce(self.tables.key.array[rows], axis=1)
        return Chunk(rows, prints, busy, 0, reducible=False)
