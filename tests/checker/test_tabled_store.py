"""Memory, files and checkpoints of the tabled engine: whatever it keeps where, and however often it is ended, the answer is the same."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcheck.checker.engines import reference, tabled
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.checker.tabled import memory, search, store
from roamcheck.checker.tabled.checkpoint import Checkpoint, CheckpointError
from roamcheck.checker.tabled.estimate import expected
from roamcheck.checker.tabled.memory import Memory, TooLittleMemory
from roamcheck.checker.verdict import Exploration, Unknown, Violated
from roamcheck.model.interface import Disabled, Effect, Footprint, Kind, Layout, Model, Scope, SlotSpec, Step
from support import random_models
from support.toys import counter, lossy_channel, never, ping_pong

PEERS = question(load_scenario("peers-b")).model()


def told(found: Exploration) -> tuple[Any, ...]:
    """All of an exploration but its time and what depends on the order in which tables were filled."""
    return found.counts, found.verdicts, found.complete, found.steps_by_action, found.unfired, found.reductions, found.longer


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that can be moved to files is."""
    monkeypatch.setattr(Memory, "room", property(lambda _: 0))


@pytest.mark.usefixtures("no_room")
@pytest.mark.parametrize("options", [{}, {"workers": 2}, {"wide": True}, {"reduce": True}], ids=str)
def test_the_answer_is_the_same_when_all_is_in_files(options: dict[str, Any]) -> None:
    assert told(tabled.explore(PEERS, max_memory=8 << 30, **options)) == told(tabled.explore(PEERS, **options))


@pytest.mark.usefixtures("no_room")
@settings(max_examples=40, deadline=None)
@given(random_models.models(), st.booleans())
def test_random_models_in_files(model: Model, reduce: bool) -> None:
    assert told(tabled.explore(model, max_memory=8 << 30, reduce=reduce)) == told(tabled.explore(model, reduce=reduce))


def test_too_little_memory_says_how_much_would_do() -> None:
    with pytest.raises(TooLittleMemory, match=r"1 MiB is less than the search needs to start: give at least \d+ MiB"):
        tabled.explore(PEERS, max_memory=1 << 20)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("full", [0, 1, 6, None])
def test_where_steps_lead_goes_to_a_file_when_it_is_much(monkeypatch: pytest.MonkeyPatch, workers: int, full: int | None) -> None:
    """And stays in memory from the write on that finds no room, where memory is not limited."""
    want, written, write = told(tabled.explore(PEERS)), [], store.write

    def write_or_fail(file: Any, at: int, values: Any) -> None:
        if full is not None and len(written) >= full:
            raise store.StoreError("no room")
        written.append(len(values))
        write(file, at, values)

    monkeypatch.setattr(store, "write", write_or_fail)
    monkeypatch.setattr(memory, "MANY_EDGES", 0)
    monkeypatch.setattr(memory, "BATCH", 1 << 8)
    monkeypatch.setattr(search, "MANY", 1 << 10)
    assert told(tabled.explore(PEERS, workers=workers)) == want
    assert len(written) == full if full is not None else len(written) > 6


# ---- checkpoints -----------------------------------------------------------------------------------------------


def resumed(model: Model, folder: Path, depths: list[int], **options: Any) -> Exploration:
    """Stop at each of these depths, and go on from the checkpoint each time."""
    for depth in depths:
        tabled.explore(model, max_depth=depth, checkpoint=Checkpoint(folder, {"of": "it"}, resume=True), **options)
    return tabled.explore(model, checkpoint=Checkpoint(folder, {"of": "it"}, resume=True), **options)


@pytest.mark.parametrize("options", [{}, {"workers": 2}, {"wide": True}, {"reduce": True}], ids=str)
def test_a_search_goes_on_from_its_checkpoint(options: dict[str, Any], tmp_path: Path) -> None:
    assert told(resumed(PEERS, tmp_path, [0, 1, 7, 20], **options)) == told(tabled.explore(PEERS, **options))


@settings(max_examples=60, deadline=None)
@given(random_models.models(), st.booleans(), st.lists(st.integers(0, 8), max_size=3).map(sorted))
def test_random_models_go_on_from_their_checkpoints(tmp_path_factory: pytest.TempPathFactory, model: Model, reduce: bool, depths: list[int]) -> None:
    folder = tmp_path_factory.mktemp("checkpoint")
    assert told(resumed(model, folder, depths, reduce=reduce)) == told(tabled.explore(model, reduce=reduce))


def test_a_search_that_has_ended_can_be_resumed(tmp_path: Path) -> None:
    for options in ({}, {"reduce": True}):
        folder = tmp_path / str(len(options))
        first = resumed(PEERS, folder, [], **options)
        assert told(resumed(PEERS, folder, [], **options)) == told(first)


def test_a_checkpoint_is_not_overwritten(tmp_path: Path) -> None:
    resumed(PEERS, tmp_path, [])
    with pytest.raises(CheckpointError, match="there is a checkpoint already: give --resume"):
        tabled.explore(PEERS, checkpoint=Checkpoint(tmp_path, {"of": "it"}))


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path) -> None:
    resumed(PEERS, tmp_path, [3])
    with pytest.raises(CheckpointError, match="a checkpoint of of it, not another; name another folder"):
        tabled.explore(PEERS, checkpoint=Checkpoint(tmp_path, {"of": "another"}, resume=True))


def test_a_checkpoint_of_another_model_under_the_same_name_is_refused(tmp_path: Path) -> None:
    resumed(counter(30), tmp_path, [9])
    with pytest.raises(CheckpointError, match="the steps that it holds lead elsewhere now"):
        resumed(lossy_channel(4, 2), tmp_path, [])


@pytest.mark.parametrize("name", ["checkpoint.json", "parents.bin", "steps.bin", "degrees.bin", "edges.bin"])
@pytest.mark.parametrize("harm", ["flip", "cut"])
def test_a_damaged_checkpoint_is_refused(name: str, harm: str, tmp_path: Path) -> None:
    resumed(PEERS, tmp_path, [20])
    path = tmp_path / name
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 4
    path.write_bytes(bytes(data) if harm == "flip" else bytes(data[: len(data) // 2]))
    with pytest.raises(CheckpointError, match=rf"{name}: damaged; begin anew in another folder"):
        resumed(PEERS, tmp_path, [])


def test_what_the_files_hold_beyond_the_manifest_is_ignored(tmp_path: Path) -> None:
    resumed(PEERS, tmp_path, [12])
    shutil.copy(tmp_path / "checkpoint.json", tmp_path / "kept")
    resumed(PEERS, tmp_path, [20])
    (tmp_path / "kept").replace(tmp_path / "checkpoint.json")
    assert told(resumed(PEERS, tmp_path, [])) == told(tabled.explore(PEERS))


def check(*arguments: str, cwd: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command line."""
    return subprocess.run([sys.executable, "-m", "roamcheck", "check", *arguments], cwd=cwd, capture_output=True, text=True, check=False, **options)


def test_a_killed_search_is_resumed(tmp_path: Path) -> None:
    words = ["peers-c", "--no-reduction", "--tell", "none", "--json", "verdict.json", "--checkpoint", "here"]
    called = [sys.executable, "-m", "roamcheck", "check", *words]
    running = subprocess.Popen(called, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    manifest = tmp_path / "here" / "checkpoint.json"
    while running.poll() is None and not (manifest.exists() and len(json.loads(manifest.read_text())["search"]["levels"]) > 8):
        time.sleep(0.002)
    running.send_signal(signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    ran = check(*words, "--resume", cwd=tmp_path)
    assert ran.returncode == 1, ran.stderr
    record = json.loads((tmp_path / "verdict.json").read_text())
    assert (record["complete"], record["states"], record["transitions"], record["depth"]) == (True, 88_389, 377_508, 36)


def test_a_full_disk_ends_the_search_with_what_was_found(tmp_path: Path) -> None:
    def little_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    words = ["peers-c", "--no-reduction", "--tell", "none", "--json", "-", "--checkpoint", "here"]
    ran = check(*words, cwd=tmp_path, preexec_fn=little_disk)
    record = json.loads(ran.stdout)
    assert (ran.returncode, record["complete"]) == (1, False)
    assert record["properties"]["well-formed"]["verdict"] == "holds-within"
    assert "error: peers-c: the search ended early: the files of the search: File too large; --resume goes on from the last level" in ran.stderr
    assert json.loads(check(*words, "--resume", cwd=tmp_path).stdout)["states"] == 88_389


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["peers-b", "--resume"], "--resume goes on from a folder: name it with --checkpoint DIR"),
        (["peers-b", "peers-c", "--checkpoint", "here"], "--checkpoint is for one scenario"),
        (["peers-b", "--checkpoint", "here", "--engine", "reference"], "--checkpoint is an option of --engine tabled"),
        (["peers-b", "--debug", "--engine", "reference"], "--debug is an option of --engine tabled"),
        (["peers-b", "--max-memory", "12"], "'12' is no size: write 4G or 800M"),
        (["peers-b", "--max-memory", "10M"], "10 MiB is less than the search needs to start"),
        (["peers-b", "--checkpoint", "file/here"], "Not a directory; name a folder that can be written to"),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = check(*words, cwd=tmp_path)
    assert (ran.returncode, ran.stdout, len(ran.stderr.splitlines())) == (2, "", 1)
    assert said in ran.stderr
    assert not (tmp_path / "here").exists()


# ---- and besides --------------------------------------------------------------------------------------------


def test_a_guess_at_the_number_of_states_comes_near_once_levels_shrink() -> None:
    sizes = [1, 3, 8, 20, 50, 110, 220, 400, 650, 930, 1180, 1320, 1300, 1130, 870, 590, 350, 180, 80, 30, 9, 2]
    assert expected(sizes[:6]) is None
    assert expected([2**k for k in range(12)]) is None
    guess = expected(sizes[:14])
    assert guess is not None
    assert 0.8 < guess / sum(sizes) < 1.25


class Forgetful:
    """A reaction that remembers how often it was asked."""

    def __init__(self, react: Any) -> None:
        self.react, self.asked = react, 0

    def __call__(self, head: Any, values: Any) -> Any:
        self.asked += 1
        return self.react(head, values) if self.asked % 3 else Disabled("forgotten")


def test_debug_mode_finds_a_step_that_is_not_pure() -> None:
    model = question(load_scenario("figure-1b")).model()
    number = next(k for k, step in enumerate(model.steps) if step.action == "deliver" and k not in tabled.explore(model).unfired)
    steps = list(model.steps)
    steps[number] = replace(steps[number], react=Forgetful(steps[number].react))
    found = tabled.explore(replace(model, steps=tuple(steps)), debug=True)
    assert found.failed is not None
    assert found.failed.step.action == "deliver"
    assert all(isinstance(verdict, Unknown | Violated) for verdict in found.verdicts.values())


def test_debug_mode_finds_a_guard_that_refuses_too_much() -> None:
    model = question(load_scenario("figure-1b")).model()
    number, guarded = next((k, step) for k, step in enumerate(model.steps) if step.guard is not None)
    steps = list(model.steps)
    steps[number] = replace(guarded, guard=(0, lambda value: Disabled("never")))
    found = tabled.explore(replace(model, steps=tuple(steps)), debug=True)
    assert found.failed is not None
    assert "a wrong guard or footprint" in str(found.failed)


def test_debug_mode_finds_a_claim_that_is_not_apart() -> None:
    both = Footprint(reads=(0, 1))
    guard = (0, lambda left: None if left else Disabled("something is left"))

    def spend(_: Any, values: Any) -> Any:
        left, total = values
        return Effect((left - 1, total + left)) if left else Disabled("something is left")

    add = Step("add", (), Kind.ENVIRONMENT, spend, both, guard=guard, claims=lambda left: left - 1)  # type: ignore[operator]
    clear = Step("clear", (), Kind.ENVIRONMENT, lambda _, v: Effect((0,)), Footprint(reads=(1,)))
    model = Model("toy", Layout((SlotSpec("left"), SlotSpec("sum"))), ((3, 0),), (add, clear), (), lambda slot, value: True)
    found = tabled.explore(model, debug=True)
    assert "what it claims and the rest are not independent" in str(found.failed)
    honest = replace(model, steps=(replace(add, claims=None), clear))
    assert told(tabled.explore(honest, debug=True)) == told(reference.explore(honest))


@pytest.mark.parametrize(
    ("claims", "said"), [(lambda left: left - 2, "leaves something else than it claims"), (lambda left: left // 0, "division or modulo by zero")]
)
def test_a_claim_that_is_not_what_the_step_leaves_ends_the_search(claims: Any, said: str) -> None:
    guard = (0, lambda left: None if left else Disabled("something is left"))
    both = Footprint(reads=(0, 1))
    spend = Step("spend", (), Kind.ENVIRONMENT, lambda _, v: Effect((v[0] - 1, v[1])), both, guard=guard, claims=claims)
    model = Model("toy", Layout((SlotSpec("left"), SlotSpec("at"))), ((3, 0),), (spend,), (), lambda slot, value: True)
    found = tabled.explore(model)
    assert said in str(found.failed)
    assert not found.complete


def test_debug_mode_finds_nothing_where_nothing_is() -> None:
    endless = never("endless", 0, lambda value: False, Scope.RUN)
    for model in (question(load_scenario("figure-1b")).model(), ping_pong(endless), counter(30)):
        assert told(tabled.explore(model, debug=True)) == told(tabled.explore(model))

