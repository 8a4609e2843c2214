"""`scenarios --enumerate` and `check --enumerate`, end to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from itertools import islice
from pathlib import Path

import pytest

from roamcheck.checker import batch
from roamcheck.checker.causes import Cause
from roamcheck.checker.cli import main
from roamcheck.checker.enumeration import CLIENT_MOVE, MIGRATE, Bounds, Size, to_scenario
from roamcheck.checker.lines import Lines
from roamcheck.checker.mutants import MUTANTS
from roamcheck.checker.question import question
from roamcheck.checker.solver.scenarios import enumerate_scenarios

SMALL = ("--enumerate", "--brokers", "3", "--kinds", "migrate")


def roamcheck(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "roamcheck", *words], capture_output=True, text=True, cwd=cwd, check=False)


def here(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """The same in this process: exit code, standard output and standard error."""
    monkeypatch.setattr(sys, "argv", ["roamcheck", *words])
    with pytest.raises(SystemExit) as done:
        main()
    told = capsys.readouterr()
    return int(done.value.code or 0), told.out, told.err


def test_a_line_for_each(tmp_path: Path) -> None:
    ran = roamcheck("scenarios", *SMALL, "--unordered", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert len(lines) == 18
    assert len({line.split("  ")[1] for line in lines}) == 18
    assert "18 scenarios" in ran.stderr
    assert not [*tmp_path.iterdir()]


def test_files_that_check_takes(tmp_path: Path) -> None:
    ran = roamcheck("scenarios", *SMALL, "--at-most", "3", "--out", "found", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    files = sorted(f"found/{path.name}" for path in (tmp_path / "found").iterdir())
    assert len(files) == 3
    checked = roamcheck("check", *files, "--json", "-", cwd=tmp_path)
    assert checked.returncode in (0, 1), checked.stderr
    assert len(checked.stdout.splitlines()) == 3


def test_check_tells_what_is_violated_and_why(tmp_path: Path) -> None:
    ran = roamcheck("check", *SMALL, "--moves", "2", "--where", "everything concurrent", "--traces", "traces", cwd=tmp_path)
    assert ran.returncode == 1, ran.stderr
    assert "distinct causes" in ran.stdout
    assert "fires in no run" not in ran.stdout
    traces = sorted((tmp_path / "traces").iterdir())
    assert traces
    assert roamcheck("replay", str(traces[0])).returncode == 0


def test_processes_change_nothing(tmp_path: Path) -> None:
    words = ("check", *SMALL, "--moves", "2", "--unordered", "--json", "-")
    one, two = roamcheck(*words, cwd=tmp_path), roamcheck(*words, "--workers", "2", cwd=tmp_path)
    told = [[json.loads(line) for line in ran.stdout.splitlines()] for ran in (one, two)]
    for lines in told:
        lines[-1].pop("seconds")
    assert told[0] == told[1]
    summary = told[0][-1]
    assert summary["scenarios"] == len(told[0]) - 1
    assert summary["violating"] > 0
    assert sum(cause["scenarios"] for cause in summary["causes"]) == sum(summary["violated"].values())
    assert not [*tmp_path.iterdir()]


def test_what_holds_everywhere() -> None:
    """On static brokers without moves nothing is violated."""
    ran = roamcheck("check", "--enumerate", "--brokers", "1-3", "--moves", "0", "--protocol", "simple-routing", "--json", "-")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout.splitlines()[-1])["violating"] == 0


CLIENTS, BROKERS, BOTH = (CLIENT_MOVE,), (MIGRATE,), (CLIENT_MOVE, MIGRATE)
FOUND = {  # by mutant, one for each algorithm: under which protocol and readings, and on which scenarios
    "rp16-1-l11-only-to-sender": ("simple-routing", "printed", Bounds((Size(2, moves=0),))),
    "rp16-2-l13-only-to-sender": ("modular-2016", "printed", Bounds((Size(2),), CLIENTS)),
    "rp16-3-l33-never": ("modular-2016", "printed", Bounds((Size(3),), BROKERS)),
    "tr19-1-l13-only-to-sender": ("modular", "printed", Bounds((Size(2),), CLIENTS)),
    "tr19-2-l36-off-by-one": ("modular", "printed", Bounds((Size(2),), CLIENTS)),
    "tr19-3-l4-never": ("modular", "printed", Bounds((Size(3),), BROKERS)),
    "tr19-4-l13-always": ("mft-pubsub", "amended", Bounds((Size(3, moves=2),), BOTH, ordered=False)),
    "tr19-5-l5-always": ("mft-pubsub", "printed", Bounds((Size(3),), BROKERS)),
    "tr19-6-l16-never": ("mft-pubsub", "amended", Bounds((Size(3, moves=2),), BOTH, ordered=False)),
    "tr19-7-l48-never": ("mft-pubsub", "amended", Bounds((Size(3, moves=2),), BOTH, ordered=False)),
    "mftr-1-l4-no-answer": ("mft-pubsub-r", "printed", Bounds((Size(3, moves=2),), BOTH, ordered=False)),
    "mftr-2-l32-lost": ("mft-pubsub-r", "printed", Bounds((Size(3),), BROKERS)),
    "mftr-3-l35-not-turned": ("mft-pubsub-r", "printed", Bounds((Size(2),), CLIENTS)),
    "mftr-4-l86-not-turned": ("mft-pubsub-r", "printed", Bounds((Size(3),), BROKERS)),
    "clients-attach-not-counted": ("mft-pubsub", "printed", Bounds((Size(2),), CLIENTS)),
    "returns-on-return-not-queued": ("modular", "printed", Bounds((Size(2),), CLIENTS)),
}


@pytest.mark.parametrize("mutant", FOUND)
def test_a_mutant_of_each_algorithm_is_found(mutant: str) -> None:
    """Some enumerated scenario shows nothing wrong with the algorithm as printed, and something with the mutant."""
    protocol, readings, bounds = FOUND[mutant]
    scenarios = [to_scenario(c) for c in islice(enumerate_scenarios(bounds), 60)]
    ask = partial(question, protocol=protocol, readings=readings)
    as_printed, planted = (batch.findings(scenarios, batch.Task(ask, name)) for name in (None, mutant))
    assert any("violated" not in one.counted and "violated" in other.counted for one, other in zip(as_printed, planted, strict=True))


def test_causes_that_are_as_common_have_an_order() -> None:
    """Two with the same property, conjunct, count and length are told apart by their lines."""
    scenario, tally = to_scenario(next(enumerate_scenarios(Bounds((Size(2),), CLIENTS)))), batch.Tally()
    for number in (2, 1):
        cause = Cause("mft-pubsub", "delivered", "not all", (Lines("TR19", "Alg. 1", (number,)),))
        tally.causes[cause] = batch.Example(1, 3, scenario)
    assert [cause.lines[0].numbers for cause, _ in tally.ordered()] == [(1,), (2,)]


def test_there_is_a_mutant_of_each_algorithm() -> None:
    assert {MUTANTS[name].algorithm for name in FOUND} == {mutant.algorithm for mutant in MUTANTS.values()}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--kinds", "teleport"), ("teleport", "migrate")),
        (("--brokers", "4-2"), ("4-2", "2-4")),
        (("--brokers", "0"), ("--brokers 0",)),
        (("--components", "5"), ("5 components",)),
        (("--publishers", "3"), ("publishes one",)),
        (("--leaders", "one"), ("--leaders each",)),
        (("--where", "a comet"), ("a comet", "a KIND after")),
        (("--where", "no migration"), ("no scenario", "no migration")),
        (("--where", "a migration before a publication", "--where", "everything concurrent"), ("together",)),
        (("--brokers", "6", "--moves", "3", "--kinds", "migrate,crash-durable"), ("--yes", "candidates")),
        (("--protocol", "nosuch"), ("nosuch",)),
        (("--engine", "reference"), ("--engine tabled",)),
        (("--first",), ("--first",)),
        (("--traces", os.devnull + "/traces"), ("no files can be written there",)),
    ],
)
def test_bad_input(words: tuple[str, ...], says: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = here(("check", *SMALL, *words, "--json", "-"), monkeypatch, capsys)
    assert code == 2
    (line,) = err.splitlines()
    assert all(text in line for text in says), line
    assert out == ""


@pytest.mark.parametrize(
    "words",
    [
        ("check", *SMALL),
        ("scenarios", *SMALL),
        ("prove", "modular"),
        ("search", "figure-1b", "--guide", "z3", "--reach", "a PUB is in flight on the link that falls"),
    ],
)
def test_without_z3(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    code, out, err = here((*words, "--json", "-"), monkeypatch, capsys)
    assert code == 2
    (line,) = err.splitlines()
    assert "pip install 'roamcheck[guides]'" in line
    assert out == ""


@pytest.mark.parametrize("words", [("check",), ("check", "figure-1b", "--enumerate"), ("scenarios",), ("scenarios", "--enumerate", "list")])
def test_one_or_the_other(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = here(words, monkeypatch, capsys)
    assert code == 2
    assert "--enumerate" in err


def test_an_interrupt_leaves_what_was_found(tmp_path: Path) -> None:
    words = ("check", "--enumerate", "--brokers", "4", "--moves", "2", "--yes", "--json", "-")
    ran = subprocess.Popen([sys.executable, "-m", "roamcheck", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert ran.stdout is not None
    first = ran.stdout.readline()
    time.sleep(0.5)
    os.kill(ran.pid, signal.SIGINT)
    try:
        out, err = ran.communicate(timeout=60)
    finally:
        ran.kill()
    assert ran.returncode == 130, err
    summary = json.loads(out.splitlines()[-1])
    assert summary["complete"] is False
    assert summary["scenarios"] >= 1
    assert json.loads(first)["scenario"] == "b4-s1-m2-000001"


def test_a_kill_leaves_no_process_behind(tmp_path: Path) -> None:
    words = ("check", "--enumerate", "--brokers", "4", "--moves", "2", "--yes", "--workers", "2", "--json", "-")
    ran = subprocess.Popen([sys.executable, "-m", "roamcheck", *words], stdout=subprocess.PIPE, cwd=tmp_path, start_new_session=True)
    assert ran.stdout is not None
    ran.stdout.readline()
    ran.kill()
    ran.wait(timeout=60)
    for _ in range(100):
        try:
            os.killpg(ran.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.killpg(ran.pid, signal.SIGKILL)
    pytest.fail("a process of the pool goes on")
