"""Sweeps without Spark: which jobs there are, what their rows say, and what a folder allows."""

from __future__ import annotations

import errno
import json
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from roamcheck.checker import check
from roamcheck.checker.cli import main
from roamcheck.checker.files import FileError, load_scenario
from roamcheck.checker.generating import Bounds
from roamcheck.checker.question import QuestionError, question
from roamcheck.checker.replay import replay
from roamcheck.checker.sweeps import jobs as planning
from roamcheck.checker.sweeps.driving import outcomes
from roamcheck.checker.sweeps.folder import Folder
from roamcheck.checker.sweeps.jobs import Axes, Budget, Job, Radio, Source, chunks, question_data, question_from, questions, to_radio
from roamcheck.checker.sweeps.running import Done, do
from roamcheck.checker.sweeps.sources import generated, named
from roamcheck.checker.trace import loads
from support.sweeping import AXES, BUDGET, rows, small_jobs, swept

NAMES = ("figure-1b", "child-above-parent", "--readings", "printed", "--readings", "amended", "--radio", "reliable", "--radio", "silent:1")


def roamcheck(*words: str, cwd: Path, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "roamcheck", *words], capture_output=True, text=True, cwd=cwd, check=False, **more)  # type: ignore[call-overload,no-any-return]


Here = Callable[..., tuple[int, str, str]]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """Calls the program in this process, in a folder of its own: exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["roamcheck", *words])
        with pytest.raises(SystemExit) as done:
            main()
        told = capsys.readouterr()
        return int(done.value.code or 0), told.out, told.err

    return call


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A small sweep, done."""
    return swept(tmp_path_factory.mktemp("sweep") / "out", small_jobs())


# ---- which jobs there are --------------------------------------------------------------------------------------------------------


def test_each_combination_is_a_job() -> None:
    found = list(questions(named(["figure-1b"]), AXES))
    assert [job.number for job in found] == list(range(8))
    asked = [(job.question.protocol, job.readings, job.question.assume.radio, job.question.scenario.free.losses) for job in found if job.question]
    assert len({*asked}) == 8
    assert ("phoenix", "amended", "silent", 1) in asked


def test_the_same_question_is_asked_once() -> None:
    twice = [*named(["figure-1b"]), *named(["figure-1b"])]
    assert len(list(questions(twice, Axes(readings=(None, "printed"))))) == 1
    assert len(list(questions(twice, Axes(readings=(None, "amended"))))) == 2


def test_a_file_that_fixes_its_losses_is_asked_under_those_alone() -> None:
    (only,) = questions(named(["loss-detected"]), Axes(radios=(Radio("reliable", 0), Radio("silent", 2))))
    assert only.question is not None
    assert only.question.assume.radio == "detected"
    assert only.question.scenario.free.losses == load_scenario("loss-detected").free.losses


@pytest.mark.parametrize(
    ("text", "radio"), [("reliable", Radio("reliable", 0)), ("detected:1", Radio("detected", 1)), ("silent:12", Radio("silent", 12))]
)
def test_a_radio_is_read(text: str, radio: Radio) -> None:
    assert to_radio(text) == radio
    assert str(radio) == text


@pytest.mark.parametrize("text", ["", "silent", "silent:0", "silent:x", "silent:-1", "reliable:1", "noisy:1", "silent:1001", "detected:²"])
def test_what_is_no_radio_is_refused(text: str) -> None:
    with pytest.raises(QuestionError, match=r"write reliable, detected:N or silent:N"):
        to_radio(text)


def test_a_question_is_data_and_back() -> None:
    for job in small_jobs():
        if job.question is not None:
            assert question_from(json.loads(json.dumps(question_data(job.question)))) == job.question


def test_a_jobs_name_depends_on_what_is_asked_and_how_far_it_goes() -> None:
    job, other = small_jobs()[:2]
    names = {
        job.name(BUDGET), other.name(BUDGET), job.name(Budget(max_states=151)), job.with_seed(0).name(BUDGET), job.with_seed(1).name(BUDGET),
        job.with_seed(0).name(Budget(examples=21)),
    }  # fmt: skip
    assert len(names) == 6
    assert job.name(BUDGET) == Job(99, "elsewhere.toml", job.question).name(Budget(max_states=150, seeds=(7,)))


def test_chunks_hold_every_job_once_and_the_costly_ones_come_first() -> None:
    jobs = list(questions(named(["bundled"]), AXES))
    found = chunks(jobs, Budget())
    assert Counter(job.number for chunk in found for job in chunk) == Counter(range(len(jobs)))
    costs = [sum(planning.cost(job, Budget()) for job in chunk) for chunk in found]
    alone = [planning.cost(chunk[0], Budget()) for chunk in found]
    assert alone == sorted(alone, reverse=True)
    assert len(found) > 20
    assert max(costs[:-1]) <= planning.LARGEST + max(alone)
    assert found == chunks(reversed(jobs), Budget())


def test_hypothesis_draws_the_same_scenarios_for_the_same_seed() -> None:
    def drawn(seed: int) -> list[Source]:
        return list(generated(Bounds(12), seed, ["mft-pubsub", "phoenix"]))

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)
    assert [source.scenario.name for source in drawn(3) if source.scenario] == [f"generated-{k:06}" for k in range(1, 13)]
    assert all(not source.scenario.free.broker_moves for source in drawn(3) if source.scenario), "phoenix knows no moves of brokers"


# ---- what the rows say -----------------------------------------------------------------------------------------------------------


def test_rows_say_what_check_says(folder: Folder) -> None:
    jobs = {job.number: job for job in small_jobs()}
    seen = Counter[str]()
    for row in rows(folder)["jobs"]:
        asked = jobs[row["number"]].question
        if row["seed"] is not None or asked is None or not row["complete"]:
            continue
        given = check.answer(asked, limits=check.Limits(reductions=frozenset()))
        assert [(v["property"], v["verdict"], v["length"]) for v in row["verdicts"]] == [
            (name, check.WORDS[type(verdict)], verdict.counterexample.length if hasattr(verdict, "counterexample") else None)
            for name, verdict in given.verdicts.items()
        ]
        if given.exploration is not None:
            counts = given.exploration.counts
            assert (row["states"], row["transitions"], row["depth"], row["quiescent"]) == (
                counts.states, counts.transitions, counts.depth, counts.quiescent,
            )  # fmt: skip
        seen[row["outcome"]] += 1
    assert seen.keys() == {"holds", "violated", "not-applicable"}


def test_what_exceeds_the_budget_is_searched_by_each_seed(folder: Folder) -> None:
    explored = {row["number"]: row for row in rows(folder)["jobs"] if row["seed"] is None}
    searched = [row for row in rows(folder)["jobs"] if row["seed"] is not None]
    unfinished = [number for number, row in explored.items() if not row["complete"] and row["outcome"] != "error"]
    assert unfinished
    assert [(row["number"], row["seed"]) for row in searched] == [(number, seed) for number in unfinished for seed in (0, 1)]
    assert {row["engine"] for row in searched} == {"swarm"}
    assert all(0 < row["runs"] <= BUDGET.examples for row in searched)
    assert all(explored[number]["states"] >= BUDGET.max_states for number in unfinished)


def test_each_violation_has_a_row_whose_trace_replays(folder: Folder) -> None:
    found = rows(folder)
    expected = Counter({row["job"]: row["violations"] for row in found["jobs"] if row["violations"]})
    assert Counter(row["job"] for row in found["violations"]) == expected
    for row in found["violations"]:
        again = replay(loads(row["trace"], "trace"))
        assert (again.header.property, again.header.length) == (row["property"], row["length"])
    assert {row["engine"] for row in found["violations"]} == {"tabled", "swarm"}


def test_lines_are_those_that_the_explored_states_pass(folder: Folder) -> None:
    for row in rows(folder)["jobs"]:
        assert bool(row["lines"]) == (row["states"] is not None)
    lines = {line for row in rows(folder)["jobs"] if row["protocol"] == "mft-pubsub" for line in row["lines"]}
    assert "TR19 Alg. 6 l.13–14" in lines or any(line.startswith("TR19 Alg. 6 l.13") for line in lines)


def test_a_file_that_is_no_scenario_is_a_row_of_its_own(folder: Folder) -> None:
    (row,) = (row for row in rows(folder)["jobs"] if row["place"] == "bad.toml")
    assert (row["outcome"], row["error"], row["protocol"]) == ("error", "bad.toml:1: not TOML; see there", None)
    assert outcomes(folder).refused == [("bad.toml", "bad.toml:1: not TOML; see there")]


def test_a_defect_is_an_error_of_the_job_and_the_rest_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from roamcheck.checker.sweeps import running

    def broken(*_: object) -> None:
        raise AssertionError("so it is")

    monkeypatch.setattr(running, "to_the_end", broken)
    done = do(small_jobs()[0], BUDGET)
    assert (done.job["outcome"], done.job["error"]) == ("error", "roamcheck failed: AssertionError: so it is")


# ---- what a folder allows --------------------------------------------------------------------------------------------------------


def test_another_sweep_is_refused(folder: Folder) -> None:
    with pytest.raises(FileError, match=r"holds another sweep \(its test is 1, here it is 2\); name another folder"):
        folder.begin({"test": 2}, small_jobs(), True)
    with pytest.raises(FileError, match=r"holds another sweep \(its scenarios differ from those that are there now\)"):
        folder.begin({"test": 1}, small_jobs()[1:], True)
    with pytest.raises(FileError, match=r"holds this sweep already; go on with --resume"):
        folder.begin({"test": 1}, small_jobs(), False)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(FileError, match=r"not empty, and no folder of a sweep"):
        Folder(tmp_path).begin({}, [], False)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def failing_at(count: int, error: BaseException) -> Callable[[Job, Budget], Done]:
    left = [count]

    def answer(job: Job, budget: Budget) -> Done:
        left[0] -= 1
        if not left[0]:
            raise error
        return do(job, budget)

    return answer


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device"), MemoryError()])
def test_what_is_done_is_not_done_again(error: BaseException, folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "MOST", 2)
    with pytest.raises(type(error)):
        swept(tmp_path / "out", small_jobs(), answer=failing_at(8, error))
    finished = [row["job"] for row in Folder(tmp_path / "out").rows("jobs")]
    assert len(finished) == 6, "three chunks of two jobs; what was half done has left nothing"
    again: list[str] = []

    def noted(job: Job, budget: Budget) -> Done:
        again.append(job.name(budget))
        return do(job, budget)

    resumed = swept(tmp_path / "out", small_jobs(), answer=noted, resume=True)
    assert not {*finished} & {*again}
    assert rows(resumed) == rows(folder)


def test_violations_without_their_jobs_are_removed_at_resume(folder: Folder, tmp_path: Path) -> None:
    mine = swept(tmp_path / "out", small_jobs())
    name = next(path.stem for path in sorted((mine.path / "violations").iterdir()))
    (mine.path / "jobs" / f"{name}.parquet").unlink()
    (mine.path / "jobs" / f".{name}.parquet.4711").write_text("half")
    mine.tidy()
    assert not (mine.path / "violations" / f"{name}.parquet").exists()
    assert not list(mine.path.glob("jobs/.*"))
    assert rows(swept(mine.path, small_jobs(), resume=True)) == rows(folder)


# ---- the command -----------------------------------------------------------------------------------------------------------------


def test_the_command_in_one_process(tmp_path: Path, here: Here) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "good.toml").write_text(_text("client-there-and-back"))
    (tmp_path / "mine" / "worse.toml").write_text('format = "roamcheck-scenario/1"\nname = 3\n')
    words = ("sweep", "mine", *NAMES, "--out", "out", "--master", "none", "--max-states", "150", "--seeds", "1", "--examples", "10")
    code, told, _ = here(*words, "--json", "-")
    assert code == 2, "a bad file comes first"
    total = json.loads(told)
    assert total["questions"] == 13
    assert total["complete"]
    assert total["refused"][0]["file"] == "mine/worse.toml"
    assert total["explored"] == {"error": 1, "holds": 4, "violated": 8}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "out"]
    code, _, said = here(*words)
    assert code == 2
    assert "out: holds this sweep already; go on with --resume" in said
    code, told, said = here(*words, "--resume")
    assert code == 2
    assert "13 questions, 13 explored" in told
    assert "mine/worse.toml:2" in said


def test_scenarios_are_enumerated_and_drawn(here: Here, tmp_path: Path) -> None:
    budget = ("--max-states", "60", "--seeds", "1", "--examples", "5", "--master", "none", "--json", "-")
    bounds = ("--brokers", "2", "--subscribers", "1", "--publishers", "0", "--events", "0", "--moves", "1", "--kinds", "client-move")
    code, told, _ = here("sweep", "--enumerate", *bounds, "--out", "all", *budget)
    assert code in (0, 1)
    assert json.loads(told)["questions"] == len(list(enumerated_with(bounds)))
    code, told, _ = here("sweep", "--generate", "6", "--brokers", "3", "--seed", "5", "--out", "some", *budget)
    assert code in (0, 1, 3)
    total = json.loads(told)
    assert 0 < total["questions"] <= 6
    drawn = {row["scenario"] for row in Folder(tmp_path / "some").rows("jobs")}
    assert {name.rpartition("-")[0] for name in drawn} == {"generated"}


def enumerated_with(bounds: tuple[str, ...]) -> list[str]:
    """What `scenarios --enumerate` lists."""
    ran = roamcheck("scenarios", "--enumerate", *bounds, cwd=Path.cwd())
    return ran.stdout.splitlines()


def _text(name: str) -> str:
    from roamcheck.checker.files import bundled

    return bundled()[name]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("figure-1c", "--out", "out"), "no such file and no bundled scenario of that name; did you mean figure-1"),
        (("figure-1b", "--out", "out", "--radio", "silent"), "--radio 'silent': write reliable, detected:N or silent:N"),
        (("figure-1b", "--out", "out", "--conf", "x", "--master", "local[1]"), "--conf 'x': give NAME=VALUE"),
        (("figure-1b", "--out", "out", "--master", "sprak"), "--master sprak: no Spark master"),
        (("--out", "out"), "name SCENARIOs, or give --generate N"),
        (("empty", "--out", "out"), "empty: no .toml file is in this folder"),
    ],
)
def test_bad_input_is_one_line(words: tuple[str, ...], said: str, tmp_path: Path, here: Here) -> None:
    (tmp_path / "empty").mkdir()
    code, _, told = here("sweep", *words)
    assert code == 2
    assert said in told
    assert told.count("\n") == 1, told


def test_a_damaged_file_is_told_and_done_again_when_it_is_deleted(tmp_path: Path, here: Here) -> None:
    words = ("sweep", *NAMES, "--out", "out", "--master", "none", "--resume")
    assert here(*words)[0] == 1
    before = rows(Folder(tmp_path / "out"))
    damaged = sorted((tmp_path / "out" / "jobs").iterdir())[0]
    damaged.write_bytes(damaged.read_bytes()[:-9])
    code, _, said = here(*words)
    assert code == 2
    assert f"{damaged.name}: no sound Parquet file" in said
    damaged.unlink()
    assert here(*words)[0] == 1
    assert rows(Folder(tmp_path / "out")) == before


def test_a_full_disk_is_told_and_nothing_is_half_written(tmp_path: Path) -> None:
    words = ("sweep", *NAMES, "--out", "out", "--master", "none")

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, 9_000))

    ran = roamcheck(*words, cwd=tmp_path, preexec_fn=small_files)
    assert ran.returncode == 3, ran.stderr
    assert "the sweep ended early" in ran.stderr
    assert "cannot be written: File too large; what is finished is kept, and --resume goes on from there" in ran.stderr
    assert not list((tmp_path / "out").glob("*/.*"))
    assert roamcheck(*words, "--resume", cwd=tmp_path).returncode == 1


def test_a_kill_loses_what_is_in_flight_alone(tmp_path: Path) -> None:
    words = ("sweep", "bundled", "--out", "out", "--master", "none", "--max-states", "2000", "--seeds", "0", "--property", "delivered")
    process = subprocess.Popen([sys.executable, "-m", "roamcheck", *words], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    folder, until = Folder(tmp_path / "out"), time.monotonic() + 60
    while len(folder.done()) < 3 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = folder.done()
    assert finished
    stamps = {name: (folder.path / "jobs" / f"{name}.parquet").stat().st_mtime_ns for name in finished}
    assert roamcheck(*words, "--resume", cwd=tmp_path).returncode == 1
    assert {name: (folder.path / "jobs" / f"{name}.parquet").stat().st_mtime_ns for name in finished} == stamps
    found = folder.rows("jobs", ["number", "seed"])
    assert [row["number"] for row in found] == list(range(len(found)))
    assert len(found) == len(list(questions(named(["bundled"]), Axes(properties=("delivered",)))))


def test_questions_of_one_property_are_those_of_check() -> None:
    (job,) = questions(named(["child-above-parent"]), Axes(properties=("delivered",)))
    assert job.question == question(load_scenario("child-above-parent"), properties=("delivered",))
