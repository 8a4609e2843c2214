"""One scenario on many machines: breadth first, a Spark job a level, the states in partitions by their fingerprints.

Labels order the states of a level as the reference explorer finds them, whatever the number of partitions, so its counterexamples are these too.  A
label holds the steps by which its state was found, back to the depth at which labels were last replaced by their ranks; so no parents are kept.
What the executors learn, values and changes, comes back with each level, and the driver gives out the shared numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from roamcheck.checker.interrupts import heed
from roamcheck.checker.tabled.checkpoint import CheckpointError
from roamcheck.checker.tabled.estimate import expected
from roamcheck.checker.tabled.search import Enough
from roamcheck.checker.tabled.store import StoreError
from roamcheck.checker.verdict import Counterexample, Progress, StepFailed
from roamcheck.model.interface import Disabled, Model, Scope, State, fire

from .failures import versions
from .frontier_expander import Expander, Recipe
from .frontier_files import Change, File, Manifest, read_changes, read_labels, read_values, write_changes, write_frontier, write_run, write_values
from .frontier_rows import encode
from .frontier_tasks import Job, Report, part_of
from .frontier_values import Content, Damaged, Shared

if TYPE_CHECKING:
    from .frontier_jobs import Cluster

MOST = 1 << 63  # labels are below


class Frontier:
    """The graph as far as it is known to the driver: numbers, and names of files."""

    def __init__(
        self, model: Model, recipe: Recipe, cluster: Cluster, manifest: Manifest, durable: bool, max_states: int | None = None,
        max_depth: int | None = None, first: bool = False,
    ) -> None:  # fmt: skip
        self.model, self.recipe, self.cluster, self.manifest, self.durable = model, recipe, cluster, manifest, durable
        self.max_states, self.max_depth, self.first = max_states, max_depth, first
        self.began, self.run, self.folder = monotonic(), uuid4().hex, manifest.folder
        self.home = Expander(model)
        self.shared = Shared(len(model.layout.slots))
        self.parts = cluster.parts
        self.frontiers: list[list[File | None]] = []  # by depth and partition
        self.visited: list[list[File]] = [[] for _ in range(self.parts)]
        self.values: list[File] = []
        self.changed: list[File] = []
        self.changes: dict[int, Change] = {}  # that protocol steps make, by name
        self.levels: list[int] = []  # by depth: how many states
        self.dense: list[int] = []  # the depths at which labels were replaced by ranks
        self.bound = 0  # on the labels of the last depth
        self.initial: list[int] = []  # by label: which of the model's initial states
        self.quiescent = self.octets = self.sent = 0
        self.fired = np.zeros(len(model.steps), np.int64)
        self.found: dict[int, tuple[int, int, int]] = {}  # by property: depth and label of the state, and the check
        self.failed: tuple[int, int, str] | None = None  # the depth and label of the state that a step was to lead to, and what it raised

    @property
    def states(self) -> int:
        """How many were found."""
        return sum(self.levels)

    @property
    def depth(self) -> int:
        """How many steps the farthest state is away."""
        return max(0, len(self.levels) - (2 if self.levels and not self.levels[-1] else 1))

    # ---- levels ------------------------------------------------------------------------------------------------------------------

    def explore(self, observe: Callable[[Progress], None] | None) -> None:
        """Go on until nothing new is found.  Raises Enough when told to stop earlier, StoreError, CheckpointError."""

        def tell() -> None:
            if observe is not None:
                observe(self.progress())

        try:
            resumed = self.manifest.open()
            self.resume(resumed) if resumed is not None else self.begin()
            while self.levels[-1]:
                self.stop_if_enough()
                self.save()
                self.cluster.watch(tell)  # again where the level takes long
                tell()
                heed()
                self.absorb(self.cluster.level(self.job()))
            self.save()
        except Damaged as error:
            raise CheckpointError(f"{error}; begin anew in another folder") from None

    def stop_if_enough(self) -> None:
        """Raises Enough at a limit: between two levels, not amid one."""
        over = self.max_states is not None and self.states > self.max_states
        if over or (self.max_depth is not None and len(self.levels) > self.max_depth) or (self.first and self.decisive()):
            self.save()
            raise Enough

    def decisive(self) -> list[tuple[int, int, int]]:
        """Where the properties fail that decide."""
        return [hit for of, hit in self.found.items() if self.model.properties[of].decisive]

    def begin(self) -> None:
        """The initial states."""
        rows, tables, breaches = [], self.home.tables, list[tuple[int, tuple[int, int, int]]]()
        for i, initial in enumerate(self.model.initial_states):
            row = tables.row(initial)
            if row not in rows:
                rows.append(row)
                self.initial.append(i)
                breaches += self.breaches(len(rows) - 1, initial)
        self.note(breaches, ())
        table = np.array(rows, np.uint16 if len(tables.values) < 1 << 16 else np.uint32)
        prints, labels = np.bitwise_xor.reduce(tables.key.array[table, 0], axis=1), np.arange(len(rows), dtype=np.uint64)
        self.add_values(encode(table, prints, labels, np.empty(0, np.uint8), self.shared.counts, self.home.known).extra, 0)
        block, parts = encode(table, prints, labels, np.empty(0, np.uint8), self.shared.counts, self.home.known), part_of(prints, self.parts)
        files: list[File | None] = []
        for part in range(self.parts):
            some = block.take(np.flatnonzero(parts == part))
            stem = f"00000-{part:03}"
            files.append(write_frontier(self.folder, stem, some, self.durable) if len(some) else None)
            self.visited[part] = [write_run(self.folder, stem, np.sort(some.prints), self.durable)] if len(some) else []
        self.frontiers.append(files)
        self.levels, self.bound = [len(rows)], len(rows)
        self.quiescent = sum(self.model.quiescent(self.model.initial_states[i]) for i in self.initial)

    def breaches(self, label: int, state: State) -> Iterator[tuple[int, tuple[int, int, int]]]:
        """The properties that fail in an initial state."""
        asked = [Scope.EVERY_STATE]
        if self.model.quiescent(state):
            spent = self.model.spent(tuple(state[slot] for slot in self.model.budget))
            asked += [Scope.QUIESCENT, Scope.RUN] if spent else [Scope.QUIESCENT]
        for check in chain.from_iterable(self.home.tables.asked_of[scope] for scope in asked):
            of, function, slots = self.home.tables.questions[check]
            if function(tuple(state[slot] for slot in slots)) is not None:
                yield of, (0, label, check)

    def job(self) -> Job:
        """The next level."""
        steps, depth = len(self.model.steps), len(self.levels) - 1
        if self.bound * steps > MOST:
            self.dense.append(depth)
            self.bound = self.levels[-1]
        self.bound *= max(1, steps)
        return self.described(depth, bool(self.dense) and self.dense[-1] == depth)

    def described(self, depth: int, dense: bool = False) -> Job:
        """What tasks are told of the search as it is now."""
        return Job(
            self.run, self.recipe, versions(), self.folder, self.cluster.keys, depth, tuple(self.frontiers[depth]), tuple(map(tuple, self.visited)),
            tuple(self.values), tuple(self.shared.counts), np.array([*self.changes], np.uint64), tuple(self.found), dense, self.durable,
        )  # fmt: skip

    def absorb(self, told: Sequence[tuple[Report, list[Content]]]) -> None:
        """What came of a level.  Raises Damaged, StoreError, and Enough where a step failed."""
        told = sorted(told, key=lambda one: int(one[0]["part"]))
        reports = [report for report, _ in told]
        for report in reports:
            if "damaged" in report:
                raise Damaged(report["damaged"])
            if "stopped" in report:
                raise StoreError(report["stopped"])
        assert [report["part"] for report in reports] == [*range(self.parts)], "each partition tells of itself"
        failures = [report["failed"] for report in reports if report["failed"] is not None]
        self.note([(of, (len(self.levels), label, check)) for report in reports for of, label, check in report["breaches"]], failures)
        if failures:
            label, kind, text = min(failures)
            self.failed = (len(self.levels), label, f"{kind}: {text}")
            raise Enough
        depth = len(self.levels)
        self.add_values(chain.from_iterable(extra for _, extra in told), depth)
        self.add_changes(chain.from_iterable(report["changes"] for report in reports), depth)
        self.frontiers.append([None if report["frontier"] is None else (report["frontier"][0], report["frontier"][1]) for report in reports])
        self.visited = [[(name, size) for name, size in report["visited"]] for report in reports]
        self.fired += np.sum([report["fired"] for report in reports], axis=0)
        self.levels.append(sum(report["states"] for report in reports))
        self.quiescent += sum(report["quiescent"] for report in reports)
        self.octets, self.sent = self.octets + sum(r["octets"] for r in reports), self.sent + sum(r["sent"] for r in reports)

    def note(self, breaches: Iterable[tuple[int, tuple[int, int, int]]], failures: Sequence[Sequence[Any]]) -> None:
        """Keep the first breach of each property; with `first`, those up to the first one that decides; none beyond a failure."""
        least: dict[int, tuple[int, int, int]] = {}
        for of, hit in breaches:
            if of not in self.found and hit < least.get(of, (len(self.levels) + 1, 0, 0)) and all(hit[1] < failed[0] for failed in failures):
                least[of] = hit
        decisive = [hit for of, hit in least.items() if self.model.properties[of].decisive] if self.first else []
        self.found.update({of: hit for of, hit in least.items() if not decisive or hit <= min(decisive)})

    def add_values(self, contents: Iterable[Content], depth: int) -> None:
        """Give shared numbers to what has none.  Raises StoreError."""
        new = self.shared.add(contents)
        if new:
            self.home.known.learn(new)
            self.values.append(write_values(self.folder, f"{depth:05}", new, self.durable))

    def add_changes(self, changes: Iterable[tuple[int, Change]], depth: int) -> None:
        """Note what changes protocol steps make.  Raises StoreError."""
        new = {change: [(slot, before, after) for slot, before, after in slots] for change, slots in sorted(changes) if change not in self.changes}
        if new:
            self.changes.update(new)
            self.changed.append(write_changes(self.folder, f"{depth:05}", new, self.durable))

    # ---- checkpoints -------------------------------------------------------------------------------------------------------------

    def save(self) -> None:
        """Write how far the search has come, and remove what is not needed any more.  Raises StoreError."""
        self.manifest.save({
            "partitions": self.parts, "levels": self.levels, "quiescent": self.quiescent, "fired": self.fired.tolist(), "initial": self.initial,
            "found": sorted(self.found.items()), "dense": self.dense, "bound": str(self.bound), "octets": self.octets, "sent": self.sent,
            "frontiers": self.frontiers, "visited": self.visited, "values": self.values, "changes": self.changed,
        }, self.durable)  # fmt: skip
        self.manifest.sweep(self.listed())

    def listed(self) -> set[str]:
        """The files that count."""
        files = [*chain.from_iterable(self.frontiers), *chain.from_iterable(self.visited), *self.values, *self.changed]
        return {file[0] for file in files if file is not None}

    def resume(self, was: dict[str, Any]) -> None:
        """Go on from there.  Raises CheckpointError, Damaged, StoreError."""
        if was["partitions"] != self.parts:
            count = was["partitions"]
            raise CheckpointError(f"{self.folder}: a checkpoint of {count} partitions, not {self.parts}; give --partitions {count}")

        def file(data: Sequence[Any] | None) -> File | None:
            return None if data is None else (data[0], data[1])

        self.levels, self.quiescent, self.initial, self.dense = was["levels"], was["quiescent"], was["initial"], was["dense"]
        self.fired, self.bound, self.octets, self.sent = np.array(was["fired"], np.int64), int(was["bound"]), was["octets"], was["sent"]
        self.found = {of: (depth, label, check) for of, (depth, label, check) in was["found"]}
        self.frontiers = [[file(data) for data in files] for files in was["frontiers"]]
        self.visited = [[(name, size) for name, size in files] for files in was["visited"]]
        self.values, self.changed = [(name, size) for name, size in was["values"]], [(name, size) for name, size in was["changes"]]
        for name in self.listed():
            if not (self.folder / name).exists():
                raise Damaged(f"{self.folder / name}: is not there")
        self.manifest.sweep(self.listed())
        for some in self.values:
            contents = read_values(self.folder, some)
            self.shared.add(contents)
            self.home.known.learn(contents)
        for some in self.changed:
            self.changes.update(read_changes(self.folder, some))

    # ---- what is known -----------------------------------------------------------------------------------------------------------

    def progress(self) -> Progress:
        """How far the search has come."""
        found = self.states, int(self.fired.sum()), self.levels[-1], len(self.levels) - 1
        return Progress(*found, monotonic() - self.began, sum(self.shared.counts), self.home.tables.answers, expected(self.levels))

    def path(self, depth: int, label: int) -> tuple[int, tuple[int, ...]]:
        """The run by which a state was found: the number of an initial state, and steps.  Raises Damaged, StoreError."""
        steps: list[int] = []
        while depth > 0:
            label, step = divmod(label, len(self.model.steps))
            steps.append(step)
            depth -= 1
            if depth in self.dense:
                labels = [read_labels(self.folder, file) for file in self.frontiers[depth] if file is not None]
                label = int(np.partition(np.concatenate(labels), label)[label])
        return self.initial[label], tuple(reversed(steps))

    def counterexample(self, of: int) -> Counterexample:
        """The run to the breach of a property, fired by definition."""
        depth, label, check = self.found[of]
        initial, steps = self.path(depth, label)
        _, function, slots = self.home.tables.questions[check]
        state = self.fire_all(initial, steps)
        breach = function(tuple(state[slot] for slot in slots))
        assert breach is not None, "the tables say what the check says"
        return Counterexample(initial, steps, None, breach)

    def failure(self) -> StepFailed:
        """What a failed reaction raises when it is fired by definition."""
        assert self.failed is not None
        depth, label, text = self.failed
        initial, (*steps, step) = self.path(depth, label)
        cause: Exception = RuntimeError(text)  # on an executor; a value without a key fails nowhere else
        try:
            fire(self.model, self.model.steps[step], self.fire_all(initial, tuple(steps)))
        except Exception as raised:
            cause = raised
        return StepFailed(self.model.steps[step], step, initial, tuple(steps), cause)

    def fire_all(self, initial: int, steps: tuple[int, ...]) -> State:
        """The state that a run ends in, by definition."""
        state = self.model.initial_states[initial]
        for step in steps:
            after = fire(self.model, self.model.steps[step], state)
            assert not isinstance(after, Disabled), "labels say what `fire` says"
            state = after
        return state


def same_model(model: Model) -> Recipe:
    """A recipe that hands over the model itself; models made of functions of other modules can travel so."""
    return lambda: model


