"""The distributed search on Spark: the reference explorer's answers, whatever happens to a task, an executor or the driver."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from roamcheck.checker.check import model_of
from roamcheck.checker.cli import main
from roamcheck.checker.engines import reference, spark, tabled
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.checker.spark import frontier_cycles
from roamcheck.checker.spark.frontier_jobs import Cluster
from roamcheck.checker.spark.session import GATEWAY, spark_session
from roamcheck.checker.verdict import Exploration
from roamcheck.model.interface import Model
from support.spark_cluster import SMALL, cluster
from support.spark_cluster import Cluster as Standalone

TABLE = json.loads((Path(__file__).parents[1] / "agreement" / "table.json").read_text())
TWO = spark.Where(partitions=2)


def recipe(name: str, protocol: str = "mft-pubsub", readings: str | None = None) -> Callable[[], Model]:
    return partial(model_of, question(load_scenario(name), protocol=protocol, readings=readings), None)


def told(found: Exploration) -> tuple[Any, ...]:
    """All of an exploration but its time and what only one engine knows."""
    return found.counts, found.verdicts, found.complete, found.steps_by_action, found.unfired


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with spark_session("local[2]", quick=True) as found:
        yield found


@pytest.mark.parametrize(
    ("name", "protocol"), [
        ("child-above-parent", "mft-pubsub"),
        pytest.param("loss-silent-control", "phoenix-2016", marks=pytest.mark.slow),
        pytest.param("figure-1b", "modular", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_scenarios(name: str, protocol: str, session: Any) -> None:
    made = recipe(name, protocol)
    assert told(spark.explore(made(), recipe=made, session=session, where=TWO)) == told(reference.explore(made()))


@pytest.mark.slow
def test_many_edges_are_trimmed_by_spark(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = recipe("child-above-parent")
    monkeypatch.setattr(frontier_cycles, "ON_DRIVER", 1)
    monkeypatch.setattr(frontier_cycles, "may_return", list)  # all that happens
    kept: list[int] = []
    trimmed = Cluster.trimmed

    def counted(*given: Any) -> Any:
        table = trimmed(*given)
        kept.append(table.num_rows)
        return table

    monkeypatch.setattr(Cluster, "trimmed", counted)
    assert told(spark.explore(made(), recipe=made, session=session, where=TWO)) == told(reference.explore(made()))
    assert 2 <= kept[0] < 92, "of 92 protocol steps"


def test_more_partitions_than_cores(session: Any) -> None:
    made = recipe("client-there-and-back")
    assert told(spark.explore(made(), recipe=made, session=session, where=spark.Where(partitions=5))) == told(reference.explore(made()))


def test_a_model_can_travel_without_a_recipe(session: Any) -> None:
    model = recipe("broker-migration")()
    assert told(spark.explore(model, session=session, where=TWO)) == told(reference.explore(model))


@pytest.mark.parametrize("event", ["raises", "ends"])
def test_a_task_that_fails_once_is_done_again(event: str, session: Any, tmp_path: Path) -> None:
    made, marker = recipe("crash-durable"), tmp_path / "marker"

    def fails_once() -> Model:  # nested, so that it travels by its code: executors do not have this file
        if not marker.exists():
            marker.touch()
            if event == "ends":
                os._exit(1)
            raise OSError("a cable was pulled")
        return made()

    assert told(spark.explore(made(), recipe=fails_once, session=session, where=TWO)) == told(reference.explore(made()))
    assert marker.exists()


def test_a_task_that_always_fails_is_told_in_one_line(session: Any) -> None:
    def fails() -> Model:
        raise OSError("a cable was pulled")

    found = spark.explore(recipe("crash-durable")(), recipe=fails, session=session, where=TWO)
    assert found.stopped == "Spark: OSError: a cable was pulled"
    assert not found.complete


def test_an_interrupt_keeps_what_is_finished(session: Any, tmp_path: Path) -> None:
    made, want, sent = recipe("free-crash"), tabled.explore(recipe("free-crash")()), []

    def interrupt(progress: Any) -> None:
        if progress.depth >= 4 and not sent:
            sent.append(progress.depth)
            signal.raise_signal(signal.SIGINT)

    found = spark.explore(made(), recipe=made, session=session, observe=interrupt, where=spark.Where(partitions=2, folder=tmp_path))
    assert (found.interrupted, found.complete) == (True, False)
    assert sent[0] <= found.counts.depth < want.counts.depth
    depths: list[int] = []
    again = spark.explore(
        made(), recipe=made, session=session, observe=lambda progress: depths.append(progress.depth),
        where=spark.Where(partitions=2, folder=tmp_path, resume=True),
    )  # fmt: skip
    assert told(again) == told(want)
    assert {*depths} == {*range(found.counts.depth, want.counts.depth + 1)}, "progress is told of every level, however short"


def test_a_process_begun_meanwhile_begins_a_spark_of_its_own(session: Any) -> None:
    assert not {*GATEWAY} & {*os.environ}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--debug"], "--debug is an option of --engine tabled"),
        (["--workers", "2"], "--workers is an option of --engine tabled and --engine reference"),
        (["--counts"], "--counts is an option of --engine tabled and --engine reference"),
        (["--master", "mesos://here"], "--master mesos://here: no Spark master; write local"),
        (["--conf", "spark.memory"], "--conf 'spark.memory': give NAME=VALUE"),
    ],
)  # fmt: skip
def test_options_that_make_no_sense(words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["roamcheck", "check", "figure-1a", "--engine", "spark", "--json", "-", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_options_of_spark_are_none_of_other_engines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["roamcheck", "check", "figure-1a", "--partitions", "3"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, "--partitions is an option of --engine spark" in capsys.readouterr().err) == (2, True)


# ---- all of them, and with processes of their own ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("key", [key for key, row in sorted(TABLE.items()) if row["states"] <= 100_000 and key.endswith(" mft-pubsub printed")])
def test_the_table(key: str, session: Any) -> None:
    name, protocol, readings = key.split()
    made, row = recipe(name, protocol, readings), TABLE[key]
    found = spark.explore(made(), recipe=made, session=session, where=TWO)
    counts = found.counts
    assert [counts.states, counts.transitions, counts.depth, counts.quiescent, counts.unfair_cycles] == [
        row["states"], row["transitions"], row["depth"], row["quiescent"], row["unfair_cycles"],
    ]  # fmt: skip
    assert found.verdicts == tabled.explore(made()).verdicts


ASKED = ("check", "free-crash", "--engine", "spark", "--partitions", "2", "--json", "-", "--checkpoint", "search.d")
HERE = ("--master", "local[2]")


def begun(*words: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "roamcheck", *words], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, error = process.communicate(timeout=300)
    assert process.returncode == 1, error
    found: dict[str, Any] = json.loads(out)
    return {name: value for name, value in found.items() if name not in ("seconds", "engine")}


def wait_for(depth: int, folder: Path, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 200
    while not [*(folder / "frontier").glob(f"{depth:05}-*")] and process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    assert process.poll() is None, process.communicate()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return ended(begun("check", "free-crash", "--no-reduction", "--json", "-", cwd=tmp_path_factory.mktemp("plain")))


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.mark.slow
def test_with_a_driver_killed_and_resumed(plain: dict[str, Any], tmp_path: Path) -> None:
    process = begun(*ASKED, *HERE, cwd=tmp_path)
    wait_for(5, tmp_path / "search.d", process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert ended(begun(*ASKED, *HERE, "--resume", cwd=tmp_path)) == plain
    assert [path.name for path in tmp_path.iterdir()] == ["search.d"]


@pytest.mark.slow
def test_with_an_executor_killed(standalone: Standalone, plain: dict[str, Any], tmp_path: Path) -> None:
    process = begun(*ASKED, "--master", standalone.master, *SMALL, cwd=tmp_path)
    wait_for(5, tmp_path / "search.d", process)
    executors = standalone.executors()
    assert executors
    os.kill(executors[0], signal.SIGKILL)
    assert ended(process) == plain


@pytest.mark.slow
def test_a_cluster_needs_a_folder_that_all_see(standalone: Standalone, tmp_path: Path) -> None:
    process = begun("check", "figure-1a", "--engine", "spark", "--master", standalone.master, *SMALL, cwd=tmp_path)
    _, error = process.communicate(timeout=300)
    assert "need a folder that all of them see: name it with --checkpoint DIR" in error
    assert (process.returncode, [*tmp_path.iterdir()]) == (2, [])
