"""Sweeps on Spark in local mode: the rows of one process, whatever happens to a task; and what `report` says of them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from roamcheck.checker.cli import main
from roamcheck.checker.files import FileError
from roamcheck.checker.replay import replay
from roamcheck.checker.spark import summary as summaries
from roamcheck.checker.spark.failures import SparkFailed
from roamcheck.checker.spark.session import spark_session
from roamcheck.checker.spark.summary import Summary, coverage, trace_path
from roamcheck.checker.spark.sweep import on_spark
from roamcheck.checker.sweeps import jobs as planning
from roamcheck.checker.sweeps.folder import Folder
from roamcheck.checker.sweeps.running import do
from roamcheck.checker.sweeps.tables import JOBS, VIOLATIONS
from roamcheck.checker.trace import loads
from roamcheck.checker.verdict import CannotBegin
from support.sweeping import rows, small_jobs, swept


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with spark_session("local[2]", quick=True) as found:
        yield found


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A small sweep, done in this process."""
    return swept(tmp_path_factory.mktemp("plain") / "out", small_jobs())


def once(marker: Path, event: Callable[[], None]) -> Callable[..., Any]:
    """Answers jobs; at the fourth question, the first time that it is asked, something happens."""

    def answer(job: Any, budget: Any) -> Any:  # nested, so that it travels by its code: executors do not have this file
        if job.number == 3 and not marker.exists():
            marker.touch()
            event()
        return do(job, budget)

    return answer


def test_the_rows_are_those_of_one_process(session: Any, plain: Folder, tmp_path: Path) -> None:
    assert rows(swept(tmp_path / "out", small_jobs(), on_spark(session))) == rows(plain)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are found in /proc")
def test_python_processes_begin_with_the_engine_loaded(session: Any) -> None:
    def look(_: Any) -> Iterator[tuple[str, int]]:
        import gc
        import os
        from pathlib import Path

        yield Path(f"/proc/{os.getppid()}/cmdline").read_text(), gc.get_freeze_count()

    found = session.sparkContext.parallelize(range(2), 2).mapPartitions(look).collect()
    assert all("roamcheck.checker.spark.daemon" in parent and frozen > 100_000 for parent, frozen in found), found


def test_a_task_that_raises_once_is_done_again(session: Any, plain: Folder, tmp_path: Path) -> None:
    def raise_() -> None:
        raise OSError("once")

    assert rows(swept(tmp_path / "out", small_jobs(), on_spark(session), once(tmp_path / "marker", raise_))) == rows(plain)
    assert (tmp_path / "marker").exists()


def test_a_python_process_that_is_killed_is_replaced(session: Any, plain: Folder, tmp_path: Path) -> None:
    def die() -> None:
        import os

        os.kill(os.getpid(), 9)

    assert rows(swept(tmp_path / "out", small_jobs(), on_spark(session), once(tmp_path / "marker", die))) == rows(plain)
    assert (tmp_path / "marker").exists()


def test_a_task_that_always_fails_is_told_and_what_is_done_stands(
    session: Any, plain: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "MOST", 12)

    def answer(job: Any, budget: Any) -> Any:
        if job.number == 3:
            raise OSError(28, "No space left on device")
        return do(job, budget)

    with pytest.raises(SparkFailed, match=r"^OSError: \[Errno 28\] No space left on device$"):
        swept(tmp_path / "out", small_jobs(), on_spark(session), answer)
    there = Folder(tmp_path / "out").rows("jobs")
    assert 3 not in {row["number"] for row in there}
    assert rows(swept(tmp_path / "out", small_jobs(), on_spark(session), resume=True)) == rows(plain)


@pytest.mark.parametrize(
    ("pretence", "said"),
    [
        (
            "import sys\nfrom collections import namedtuple\n"
            "sys.version_info = namedtuple('V', 'major minor micro releaselevel serial')(3, 10, 13, 'final', 0)\n",
            r"the executors have Python 3\.10, the driver \d\.\d+: set PYSPARK_PYTHON",
        ),
        (
            "from importlib import metadata\nreal = metadata.version\nmetadata.version = lambda name: '0.1' if name == 'numpy' else real(name)\n",
            r"versions differ: an executor has numpy 0\.1, the driver \d",
        ),
    ],
)
def test_executors_that_differ_are_told(session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pretence: str, said: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(pretence)
    monkeypatch.setitem(session.sparkContext.environment, "PYTHONPATH", str(tmp_path))
    with pytest.raises(CannotBegin, match=said):
        swept(tmp_path / "out", small_jobs(), on_spark(session))
    assert not Folder(tmp_path / "out").done()


# ---- report ----------------------------------------------------------------------------------------------------------------------


def wilson(violated: int, searches: int) -> tuple[float, float]:
    z, p = 1.959964, violated / searches
    middle, half = p + z * z / (2 * searches), z * ((p * (1 - p) + z * z / (4 * searches)) / searches) ** 0.5
    return (middle - half) / (1 + z * z / searches), (middle + half) / (1 + z * z / searches)


def test_the_schemas_that_are_documented_are_those_of_the_files() -> None:
    text = (Path(__file__).parents[2] / "docs" / "spark.md").read_text(encoding="utf-8")
    documented = [line.split("|")[1].strip().strip("`") for line in text.splitlines() if line.startswith("| `")]
    assert [name for name in documented if name in {*JOBS.names, *VIOLATIONS.names}] == [
        *JOBS.names, *(name for name in VIOLATIONS.names if name not in JOBS.names),
    ]  # fmt: skip


def test_a_summary_counts_what_is_there(session: Any, plain: Folder) -> None:
    found, jobs = Summary(session, plain).all(), rows(plain)["jobs"]
    assert found["explored"] == found["questions"] == len([row for row in jobs if row["seed"] is None])
    assert {(row["searched"], row["outcome"]): row["jobs"] for row in found["totals"]} == {
        (searched, outcome): len([1 for row in jobs if (row["seed"] is not None, row["outcome"]) == (searched, outcome)])
        for searched, outcome in {(row["seed"] is not None, row["outcome"]) for row in jobs}
    }
    expected: dict[tuple[str, ...], list[Any]] = {}
    for row in jobs:
        for verdict in row["verdicts"] if row["seed"] is None else ():
            key = *(row[name] for name in summaries.WITHIN.split(", ")), verdict["property"]
            expected.setdefault(key, []).append(verdict)
    assert len(found["verdicts"]) == len(expected)
    for row in found["verdicts"]:
        verdicts = expected[*(row[name] for name in summaries.WITHIN.split(", ")), row["property"]]
        lengths = [verdict["length"] for verdict in verdicts if verdict["length"] is not None]
        assert (row["jobs"], row["violated"], row["shortest"]) == (len(verdicts), len(lengths), min(lengths, default=None))
    assert [row["place"] for row in found["errors"]] == ["bad.toml"]
    assert [row["seconds"] for row in found["slowest"]] == sorted((row["seconds"] for row in found["slowest"]), reverse=True)


def test_rates_have_wilsons_intervals(session: Any, plain: Folder) -> None:
    rates = Summary(session, plain).all()["rates"]
    assert any(row["violated"] for row in rates)
    assert not all(row["violated"] for row in rates)
    for row in rates:
        low, high = wilson(row["violated"], row["searches"])
        assert (row["low"], row["high"]) == (pytest.approx(max(0, low), abs=1e-9), pytest.approx(min(1, high), abs=1e-9))
    assert wilson(0, 10) == (pytest.approx(0.0, abs=1e-9), pytest.approx(0.2775, abs=1e-4)), "as in the literature"


def test_each_cause_has_its_smallest_trace(session: Any, plain: Folder) -> None:
    violations, causes = rows(plain)["violations"], list(Summary(session, plain).causes())
    assert {row["cause"] for row in causes} == {row["cause"] for row in violations}
    for row in causes:
        mine = [violation for violation in violations if violation["cause"] == row["cause"]]
        assert row["length"] == min(violation["length"] for violation in mine)
        assert (row["violations"], row["questions"]) == (len(mine), len({violation["number"] for violation in mine}))
        assert replay(loads(row["smallest"]["trace"], "trace")).header.length == row["length"]
        assert trace_path(Path("x"), row).name == f"{row['protocol']}.{row['property']}.{row['cause']}.jsonl"
    assert [row["promised"] for row in causes] == sorted((row["promised"] for row in causes), reverse=True)


def test_coverage_counts_each_line_once() -> None:
    (found,) = coverage([{"protocol": "phoenix", "line": line, "jobs": 1} for line in ("TR19 Alg. 1 l.1", "TR19 Alg. 2 l.36")])
    assert found["passed"] == 2
    assert len(found["never"]) == found["lines"] - 2
    assert "TR19 Alg. 2 l.37" in found["never"]


def test_what_a_kill_left_is_passed_over_and_damage_is_told(session: Any, plain: Folder, tmp_path: Path) -> None:
    mine = swept(tmp_path / "out", small_jobs())
    before = Summary(session, mine).rows("SELECT count(*) AS n FROM violations")
    stray = next(iter(sorted((mine.path / "violations").iterdir())))
    (mine.path / "violations" / "explore-999999.parquet").write_bytes(stray.read_bytes())
    assert Summary(session, mine).rows("SELECT count(*) AS n FROM violations") == before
    damaged = mine.path / "jobs" / "explore-000000.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-20])
    with pytest.raises(FileError, match=r"jobs/explore-000000.parquet: no sound Parquet file; delete it, and sweep --resume does its jobs again"):
        Summary(session, mine).all()


def test_the_report_of_no_sweep_is_refused(session: Any, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"holds no sweep \(it has no sweep.json\)"):
        Summary(session, Folder(tmp_path))


def test_sweep_and_report_as_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], session: Any) -> None:
    def call(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["roamcheck", *words])
        with pytest.raises(SystemExit) as done:
            main()
        told = capsys.readouterr()
        assert told.err == ""
        return int(done.value.code or 0), told.out

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("roamcheck.checker.spark.session.spark_session", lambda *_, **__: nullcontext(session))
    asked = ("child-above-parent", "peers-c", "--readings", "all", "--max-states", "300", "--seeds", "2", "--examples", "10", "--out")
    assert call("sweep", *asked, "here")[0] == 1
    assert call("sweep", *asked, "there", "--master", "none")[0] == 1
    assert rows(Folder(tmp_path / "here")) == rows(Folder(tmp_path / "there"))
    code, told = call("report", "here", "--figures", "figures")
    assert code == 0
    for words in ("violated of explored jobs (shortest)", "searches by seed", "distinct causes", "slowest jobs:", "never passed"):
        assert words in told
    code, told = call("report", "here", "--json", "-")
    found = json.loads(told)
    assert {"questions", "verdicts", "rates", "causes", "slowest", "coverage"} <= found.keys()
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == ["rates.png", "rates.svg", "verdicts.png", "verdicts.svg"]
    traces = sorted((tmp_path / "here" / "traces").iterdir())
    assert len(traces) == len(found["causes"])
    assert call("replay", str(traces[0]))[0] == 0
    assert sorted(os.listdir(tmp_path)) == ["figures", "here", "there"]
