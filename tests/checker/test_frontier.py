"""The distributed search is held to the reference explorer; here without Spark, its tasks one after the other."""

from __future__ import annotations

import errno
import io
import json
import os
import pickle
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcheck.checker.engines import reference, tabled
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.checker.spark import frontier, frontier_files, frontier_tasks
from roamcheck.checker.spark.frontier_cycles import may_return
from roamcheck.checker.spark.frontier_expander import Expander, name_of
from roamcheck.checker.spark.frontier_rows import Block, block_of, decode, encode, packing, unified
from roamcheck.checker.spark.frontier_values import Damaged, from_data, to_data
from roamcheck.checker.tabled.checkpoint import CheckpointError
from roamcheck.checker.verdict import Exploration, HoldsWithin, Unknown, Violated
from roamcheck.model.interface import Layout, Model, Predicate, Property, Scope, SlotSpec
from roamcheck.spec.breach import Breach
from support import random_models
from support.plain_cluster import PlainCluster, explore
from support.toys import Edge, TwoPhase, arrived, counter, crane, digraph, lossy_channel, never, ping_pong

ENDLESS = replace(never("endless", 0, lambda value: False, Scope.RUN), predicates=())
RAISED = dict.fromkeys(range(3), frozenset({1, 2}))

TABLE = json.loads((Path(__file__).parents[1] / "agreement" / "table.json").read_text())
TOYS = {
    "two-phase": TwoPhase(4).model(never("uncommitted", 4, lambda value: value.value == "committed")),
    "counter": counter(30, never("below", 0, lambda value: value > 7), ENDLESS),
    "failing": counter(30, never("below", 0, lambda value: value > 2), fails_at=9),
    "ping-pong": ping_pong(ENDLESS),
    "whistle": ping_pong(ENDLESS, whistle=True),
    "closing": ping_pong(ENDLESS, whistle=True, closing=True),
    "lossy": lossy_channel(4, 2, arrived(4, Scope.QUIESCENT), ENDLESS),
    "crane": crane(never("heap", 3, lambda value: len(value) > 2)),
    "starts": digraph([(0, 1), (0, 3)], never("not three", 0, lambda node: node == 3), initial=(0, 0, 3)),
    "loop": digraph([(0, 1), (1, 1)], ENDLESS),
    "two loops": digraph([Edge(0, 1, 1), (1, 0), Edge(0, 2, 2), (2, 0)], ENDLESS, raised=RAISED),
    "late loop": digraph([(0, 1), (1, 2), (2, 3), (3, 0), (1, 4), (4, 5), (5, 4)], ENDLESS),
    "budget": digraph([(0, 1), (1, 0), (0, 2), (2, 3), (3, 0)], ENDLESS, unspent=frozenset({1})),
}


def scenario(name: str, protocol: str = "mft-pubsub") -> Model:
    return question(load_scenario(name), protocol=protocol).model()


def told(found: Exploration) -> tuple[Any, ...]:
    """All of an exploration but its time and what only one engine knows."""
    return found.counts, found.verdicts, found.complete, found.steps_by_action, found.unfired


# ---- the same answers ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("name", TOYS)
def test_toys(name: str, parts: int, tmp_path: Path) -> None:
    found, want = explore(TOYS[name], tmp_path, parts), reference.explore(TOYS[name])
    if want.failed is None:
        assert told(found) == told(want)
        return
    assert found.failed is not None
    run = (want.failed.index, want.failed.initial, want.failed.steps, str(want.failed))
    assert (found.failed.index, found.failed.initial, found.failed.steps, str(found.failed)) == run
    assert found.verdicts == want.verdicts
    assert any(isinstance(verdict, Violated) for verdict in found.verdicts.values())


def broken(found: Exploration) -> dict[str, Any]:
    """The verdicts with a counterexample."""
    return {name: verdict for name, verdict in found.verdicts.items() if isinstance(verdict, Violated)}


@settings(max_examples=25, deadline=None)
@given(random_models.models(), st.none() | st.integers(0, 6), st.integers(1, 3))
def test_random_models(model: Model, max_depth: int | None, parts: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found, want = explore(model, Path(folder), parts, max_depth=max_depth), reference.explore(model, max_depth=max_depth)
    assert broken(found) == broken(want)
    assert told(found) == told(want) or (found.failed and want.failed)


@settings(max_examples=25, deadline=None)
@given(random_models.models())
def test_the_first_breach_of_random_models(model: Model) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = explore(model, Path(folder), 2, first=True)
    assert broken(found) == broken(reference.explore(model, first=True))


def test_of_two_breaches_in_an_initial_state_the_property_listed_first_ends_the_search(tmp_path: Path) -> None:
    wrong = Predicate((0,), lambda values: Breach("wrong") if values[0] else None)
    properties = (Property("quiet", Scope.QUIESCENT, (wrong,)), Property("always", Scope.EVERY_STATE, (wrong,)))
    model = Model("two at once", Layout((SlotSpec("bit"),)), ((0,), (1,)), (), properties, lambda slot, value: True)
    found, want = explore(model, tmp_path, 2, first=True), reference.explore(model, first=True)
    assert broken(found) == broken(want)
    assert [*broken(found)] == ["quiet"]


@settings(max_examples=25, deadline=None)
@given(random_models.digraphs())
def test_random_graphs(model: Model) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert told(explore(model, Path(folder), 2)) == told(reference.explore(model))


@pytest.mark.parametrize(
    ("name", "protocol"),
    [
        ("child-above-parent", "mft-pubsub"), ("crash-volatile", "mft-pubsub"), ("free-crash", "mft-pubsub"), ("free-star", "modular"),
        ("hunt-child-above-parent", "mft-pubsub-2023"), ("merge-reroot", "mft-pubsub"), ("free-chain-4", "phoenix"),
        ("loss-silent-control", "phoenix-2016"), ("publisher-roams", "simple-routing"), ("figure-1b", "modular"),
    ],
)  # fmt: skip
def test_scenarios(name: str, protocol: str, tmp_path: Path) -> None:
    model = scenario(name, protocol)
    assert told(explore(model, tmp_path)) == told(tabled.explore(model))


@pytest.mark.slow
@pytest.mark.parametrize("key", [key for key, row in sorted(TABLE.items()) if row["states"] <= 100_000])
def test_the_table(key: str, tmp_path: Path) -> None:
    name, protocol, readings = key.split()
    model = question(load_scenario(name), protocol=protocol, readings=readings).model()
    assert told(explore(model, tmp_path, 2)) == told(tabled.explore(model))


def test_blocks_of_many_states(tmp_path: Path) -> None:
    model = scenario("peers-c")
    found = explore(model, tmp_path, 2)
    assert told(found) == told(tabled.explore(model))
    assert found.counts.unfair_cycles == 1269


def test_labels_are_replaced_by_ranks_before_they_overflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = counter(150, never("below", 0, lambda value: value > 145))
    assert told(explore(deep, tmp_path / "deep")) == told(reference.explore(deep))
    monkeypatch.setattr(frontier, "MOST", 1)  # at each level
    model = scenario("hunt-child-above-parent")
    assert told(explore(model, tmp_path / "shallow")) == told(tabled.explore(model))


def test_the_number_of_partitions_and_other_numbers_of_values_change_nothing(tmp_path: Path) -> None:
    model = scenario("free-fork-4")
    one, other = explore(model, tmp_path / "one", 1), explore(model, tmp_path / "other", 7)
    assert told(one) == told(other)


# ---- limits --------------------------------------------------------------------------------------------------------------------------


def test_a_limit_on_states_ends_the_search_between_two_levels(tmp_path: Path) -> None:
    model = scenario("free-star")
    found = explore(model, tmp_path, max_states=300)
    assert found.counts.states > 300
    assert told(found) == told(reference.explore(model, max_depth=found.counts.depth))
    assert HoldsWithin in map(type, found.verdicts.values())


def test_the_first_breach_ends_it(tmp_path: Path) -> None:
    model = scenario("child-above-parent")
    found, want = explore(model, tmp_path, first=True), reference.explore(model, first=True)
    assert broken(found) == broken(want)
    assert found.counts.depth == max(verdict.counterexample.length for verdict in broken(want).values())


# ---- interrupts, failures, checkpoints -------------------------------------------------------------------------------------------------


class Stopping(PlainCluster):
    """Raises before the level of a depth, once."""

    def __init__(self, depth: int, what: BaseException) -> None:
        self.at: int | None = depth
        self.what = what
        super().__init__(3, self.stop)

    def stop(self, job: Any) -> None:
        if job.depth == self.at:
            self.at = None
            raise self.what


def test_what_was_found_stands_after_an_interrupt_and_the_search_goes_on_later(tmp_path: Path) -> None:
    model = scenario("free-star")
    found = explore(model, tmp_path, cluster=Stopping(6, KeyboardInterrupt()))
    assert (found.interrupted, found.complete, found.counts.depth) == (True, False, 6)
    assert told(found)[0] == reference.explore(model, max_depth=6).counts
    assert told(explore(model, tmp_path, resume=True)) == told(tabled.explore(model))
    assert told(explore(model, tmp_path, resume=True)) == told(tabled.explore(model)), "a search that has ended is not repeated"


def test_a_process_that_ends_at_any_level_costs_no_more_than_that_level(tmp_path: Path) -> None:
    model = scenario("child-above-parent")
    want = told(tabled.explore(model))
    for depth in (0, 4, 9):
        with pytest.raises(MemoryError):
            explore(model, tmp_path / str(depth), cluster=Stopping(depth, MemoryError()))
        depths: list[int] = []
        again = PlainCluster(3, lambda job, depths=depths: depths.append(job.depth))
        assert told(explore(model, tmp_path / str(depth), resume=True, cluster=again)) == want
        assert depths[0] == depth


def test_a_full_disk_is_told_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, real = scenario("child-above-parent"), frontier_files.pq.write_table

    def full(table: Any, file: Any, **options: Any) -> None:
        if "frontier/00005" in file.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(table, file, **options)

    monkeypatch.setattr(frontier_files.pq, "write_table", full)
    found = explore(model, tmp_path)
    assert found.stopped == f"{tmp_path}: No space left on device"
    assert (found.complete, found.counts.depth) == (False, 4)
    assert Unknown in map(type, found.verdicts.values())
    monkeypatch.undo()
    assert told(explore(model, tmp_path, resume=True)) == told(tabled.explore(model))


def test_files_of_attempts_that_came_to_nothing_are_not_taken_for_true(tmp_path: Path) -> None:
    model = scenario("child-above-parent")

    def twice(job: Any) -> None:
        for part in range(3):
            list(frontier_tasks.merge(job, list(frontier_tasks.expand(job, [frontier_files.pa.record_batch({"id": [part]})]))))

    assert told(explore(model, tmp_path, cluster=PlainCluster(3, twice))) == told(tabled.explore(model))
    files = {path.name for folder in frontier_files.FOLDERS for path in (tmp_path / folder).iterdir()}
    assert len([name for name in files if name.startswith("00004-001")]) <= 2, "a frontier, and perhaps a run"


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path) -> None:
    explore(TOYS["counter"], tmp_path)
    with pytest.raises(CheckpointError, match="there is a checkpoint already: give --resume"):
        explore(TOYS["counter"], tmp_path)
    with pytest.raises(CheckpointError, match="a checkpoint of model counter, not crane; name another folder"):
        explore(TOYS["crane"], tmp_path, resume=True)
    with pytest.raises(CheckpointError, match="a checkpoint of 3 partitions, not 2; give --partitions 3"):
        explore(TOYS["counter"], tmp_path, 2, resume=True)
    (tmp_path / "checkpoint.json").write_text((tmp_path / "checkpoint.json").read_text().replace('"dense":[]', '"dense":[2]'))
    with pytest.raises(CheckpointError, match="damaged; begin anew in another folder"):
        explore(TOYS["counter"], tmp_path, resume=True)


@pytest.mark.parametrize("harm", ["gone", "short", "changed"])
@pytest.mark.parametrize("folder", ["frontier", "visited", "tables"])
def test_a_damaged_file_is_refused(folder: str, harm: str, tmp_path: Path) -> None:
    explore(scenario("free-star"), tmp_path, cluster=Stopping(6, KeyboardInterrupt()))
    path = max((tmp_path / folder).glob("00006-*"))
    content = path.read_bytes()
    middle = len(content) // 3
    path.write_bytes({"gone": b"", "short": content[:-1], "changed": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]}[harm])
    if harm == "gone":
        path.unlink()
    with pytest.raises(CheckpointError, match=f"{path.name}: .*; begin anew in another folder"):
        explore(scenario("free-star"), tmp_path, resume=True)


# ---- blocks and values -----------------------------------------------------------------------------------------------------------------


def blocks_of(model: Model, states: list[tuple[Any, ...]]) -> tuple[Expander, Block]:
    expander = Expander(model)
    rows = np.array([expander.tables.row(state) for state in states], np.uint16)
    prints, labels = expander.tables.key.array[rows, 0].sum(axis=1), np.arange(len(rows), dtype=np.uint64)
    return expander, encode(rows, prints, labels, np.zeros(len(rows), np.uint8), [0] * len(model.layout.slots), expander.known)


def test_blocks_of_processes_that_number_values_otherwise_become_one() -> None:
    model = lossy_channel(4, 2)
    states: list[tuple[Any, ...]] = [((1, 2), (0,), 3, 0), ((), (0, 1), 2, 1), ((3,), (), 4, 2), ((1, 2), (), 3, 1)]
    one, other = blocks_of(model, states)[1], blocks_of(model, states[::-1])[1]
    assert one.extra != other.extra
    both = unified([block_of(block.cells()) for block in (one, other)])
    reader = Expander(model)
    rows = decode(both, reader.known)
    assert [reader.tables.state(row) for row in rows.tolist()] == [*states, *states[::-1]]


def test_slots_are_packed_without_overlap() -> None:
    widths = bytes([0, 30, 34, 1, 63, 8, 0, 8])
    where = packing(widths)
    places = zip(widths, where.word.tolist(), where.shift.tolist(), strict=True)
    bits = [word * 64 + shift + bit for width, word, shift in places for bit in range(width)]
    assert len({*bits}) == len(bits) == sum(widths)
    assert where.words == 3


def test_values_are_data_and_no_more() -> None:
    model = scenario("free-crash")
    for value in model.initial_states[0]:
        assert from_data(to_data(value)) == value

    class Harmful:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.getcwd, ()

    with pytest.raises(Damaged, match="getcwd is no value of a state"):
        from_data(pickle.dumps(Harmful()))
    with pytest.raises(Damaged, match="a value cannot be read"):
        from_data(b"\x80")
    with pytest.raises(Damaged, match="StringIO is no value of a state"):
        from_data(pickle.dumps(io.StringIO))


# ---- what may lie on a cycle -----------------------------------------------------------------------------------------------------------


def test_changes_that_nothing_leads_back_from_lie_on_no_cycle() -> None:
    to, fro, on, off = [(0, 1, 2)], [(0, 2, 1)], [(0, 2, 3), (1, 8, 9)], [(1, 9, 8)]
    assert name_of(to) != name_of(fro), "though they do the same to a fingerprint"
    assert may_return([to, fro, on, off]) == [to, fro], "of off, since on is none"
    assert may_return([to, on, off]) == []
    assert may_return([to, on, [(0, 3, 1)], off]) == [to, on, [(0, 3, 1)], off]
    assert may_return([to, []]) == [[]], "what changes nothing does so for ever"
    assert may_return([]) == []


def test_few_edges_are_looked_at(tmp_path: Path) -> None:
    seen: list[int] = []

    class Counting(PlainCluster):
        def scan(self, task: Any) -> list[Any]:
            reports = super().scan(task)
            seen.append(sum(report["count"] for report in reports))
            return reports

    found = explore(scenario("peers-b"), tmp_path, cluster=Counting(2))
    assert found.counts.unfair_cycles > 0
    assert seen == [1658], "of 98,439"
