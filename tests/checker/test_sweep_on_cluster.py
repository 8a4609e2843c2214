"""Sweeps on a standalone cluster, with a lost executor and a lost driver; under spark-submit with the wheel alone.  Slow: four Java processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from roamcheck.checker.spark.gateway import find_java
from roamcheck.checker.sweeps.folder import Folder
from support.spark_cluster import SMALL, Cluster, cluster
from support.sweeping import rows

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")]
ROOT = Path(__file__).parents[2]
ASKED = ("sweep", "bundled", "--protocol", "mft-pubsub", "--protocol", "phoenix", "--radio", "reliable", "--radio", "silent:1",
         "--max-states", "1000", "--seeds", "2", "--examples", "20")  # fmt: skip


def begun(*words: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "roamcheck", *words], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, told = process.communicate(timeout=400)
    return process.returncode, told


def wait_for(folder: Folder, chunks: int, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 200
    while len(folder.done()) < chunks and process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    assert process.poll() is None, process.communicate()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    path = tmp_path_factory.mktemp("plain")
    code, told = ended(begun(*ASKED, "--out", "out", "--master", "none", cwd=path))
    assert code == 1, told
    return Folder(path / "out")


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


def test_with_an_executor_killed_in_the_middle(standalone: Cluster, plain: Folder, tmp_path: Path) -> None:
    process, folder = begun(*ASKED, "--out", "out", "--master", standalone.master, *SMALL, cwd=tmp_path), Folder(tmp_path / "out")
    wait_for(folder, 3, process)
    executors = standalone.executors()
    assert executors
    os.kill(executors[0], signal.SIGKILL)
    code, told = ended(process)
    assert code == 1, told
    assert told == ""
    assert rows(folder) == rows(plain)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("local", [True, False])
def test_with_a_driver_killed_and_resumed(local: bool, standalone: Cluster, plain: Folder, tmp_path: Path) -> None:
    where = ("--master", "local[2]") if local else ("--master", standalone.master, *SMALL)
    process, folder = begun(*ASKED, "--out", "out", *where, cwd=tmp_path), Folder(tmp_path / "out")
    wait_for(folder, 3, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = {name: (folder.path / "jobs" / f"{name}.parquet").stat().st_mtime_ns for name in folder.done()[:3]}
    code, told = ended(begun(*ASKED, "--out", "out", *where, "--resume", cwd=tmp_path))
    assert code == 1, told
    assert {name: (folder.path / "jobs" / f"{name}.parquet").stat().st_mtime_ns for name in kept} == kept
    assert rows(folder) == rows(plain)


def test_an_interrupt_keeps_what_is_finished(plain: Folder, tmp_path: Path) -> None:
    process, folder = begun(*ASKED, "--out", "out", "--master", "local[2]", cwd=tmp_path), Folder(tmp_path / "out")
    wait_for(folder, 2, process)
    process.send_signal(signal.SIGINT)
    code, told = ended(process)
    assert (code, told) == (130, "roamcheck: interrupted; what is finished is kept, and --resume goes on from there\n")
    assert folder.done()
    assert not list(folder.path.glob("*/.*"))
    assert ended(begun(*ASKED, "--out", "out", "--master", "none", "--resume", cwd=tmp_path))[0] == 1
    assert rows(folder) == rows(plain)


def test_under_spark_submit_with_the_wheel_alone(standalone: Cluster, plain: Folder, tmp_path: Path) -> None:
    """Run by a Python that finds everything but roamcheck, which comes from the wheel to driver and executors alike."""
    import pyspark

    ran = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), "."],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    (wheel,) = tmp_path.glob("*.whl")
    (tmp_path / "run.py").write_text(
        "import roamcheck\nprint(roamcheck.__file__, flush=True)\nfrom roamcheck.checker.cli import main\nmain()\n"
    )
    (tmp_path / "blind").mkdir()
    (tmp_path / "blind" / "sitecustomize.py").write_text(BLIND)
    environment = {
        **os.environ, "JAVA_HOME": str(Path(find_java()).resolve().parent.parent), "PYTHONPATH": str(tmp_path / "blind"),
        "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1",
    }  # fmt: skip
    ran = subprocess.run(
        ["bash", str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", standalone.master, "--py-files", str(wheel),
         "--conf", "spark.ui.enabled=false", "--conf", "spark.executor.memory=512m", "--conf", f"spark.executorEnv.PYTHONPATH={tmp_path / 'blind'}",
         str(tmp_path / "run.py"), *ASKED, "--out", str(tmp_path / "out")],
        cwd=tmp_path, capture_output=True, text=True, env=environment, check=False, timeout=500,
    )  # fmt: skip
    assert f"{wheel.name}/roamcheck/__init__.py" in ran.stdout, ran.stderr[-3000:]
    assert ran.returncode == 1, ran.stderr[-3000:]
    assert rows(Folder(tmp_path / "out")) == rows(plain)


BLIND = """
import sys

sys.path[:] = [place for place in sys.path if "editable" not in place]
"""
