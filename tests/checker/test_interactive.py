"""Stepping through a run: every line of input has an answer, and the command does it on a pipe as on a terminal."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcheck.checker.check import answer
from roamcheck.checker.files import load_scenario
from roamcheck.checker.interactive import HELP, Session
from roamcheck.checker.question import question
from roamcheck.checker.replay import Replay, replay
from roamcheck.checker.trace import dumps


@cache
def found() -> Replay:
    """A run of nine steps, of which the last two repeat for ever."""
    return replay(answer(question(load_scenario("child-above-parent"))).traces["eventual-quiescence"])


def test_it_goes_forward_to_the_end_and_back_to_the_start() -> None:
    session = Session(found())
    for number in range(1, 10):
        assert session.ask("n" if number % 2 else "next").startswith(f"{number:>4}  ")
        assert session.prompt == f"[{number}/9] "
        assert session.state == found().state(number)
    assert session.ask("") == (
        "this is the end: eventual-quiescence is violated: a run goes on for ever; turn = deliver(b4, b3), deliver(b3, b4); "
        "steps 8–9 repeat for ever"
    )
    for number in range(8, 0, -1):
        assert session.ask("p").startswith(f"{number:>4}  ")
    assert session.ask("prev") == "the start"
    assert session.ask("p") == "this is the start"
    assert session.state == found().initial


def test_it_goes_to_a_step() -> None:
    session = Session(found())
    assert session.ask("g 3").startswith("   3  b4 takes BMIG(C=[(s1, 1, 2)], O=[], h=0) from b3")
    assert session.ask("g 0") == "the start"
    assert session.ask("g 10") == "there are 9 steps"
    for bad in ("g", "g x", "g -1", "g ²", "g " + "9" * 5000):
        assert session.ask(bad) == "g takes the number of a step"
    assert session.at == 0
    assert Session(found(), 3).prompt == "[3/9] "


def test_it_shows_a_broker_a_client_or_a_channel_in_full() -> None:
    session = Session(found())
    session.ask("g 2")
    assert session.ask("s b4").splitlines()[0] == "b4"
    assert "R = {(f1, s1, s1)}" in session.ask("state b4")
    assert "attached to b4" in session.ask("s s1")
    assert session.ask("s b3→b4").splitlines() == ["b3→b4", "        BMIG(C=[(s1, 1, 2)], O=[], h=0)"]
    assert "nothing is called 'b9'; names are " in session.ask("s b9")
    shown = session.ask("s").splitlines()
    assert {"(overlay)", "b1", "s1", "p1", "b3→b4"} <= set(shown)
    assert "b1→b2" not in shown  # empty


def test_it_says_what_is_enabled_and_why_a_step_is_not() -> None:
    session = Session(found())
    session.ask("g 2")
    assert "deliver(b3, b4)" in session.ask("e").splitlines()
    assert session.ask("w deliver(b3, b4)") == session.ask("w deliver(b3,b4)") == "deliver(b3, b4) can fire"
    assert session.ask("w deliver(b1, b4)") == "deliver(b1, b4) cannot fire, since this does not hold: b1→b4 is not empty"
    assert "no step is called 'fly'" in session.ask("w fly")
    assert "deliver(b3, b4)" in session.ask("w fly")


def test_help_and_leaving() -> None:
    session = Session(found())
    assert session.ask("h") == HELP
    assert session.ask("sing") == "no command 'sing'; h lists them"
    assert not session.done
    assert session.ask("q") == ""
    assert session.done


@given(st.lists(st.one_of(st.text(max_size=20), st.sampled_from(["n", "p", "s", "e", "w", "g 1", "g 9", "s b1", "w deliver(b3, b4)"])), max_size=6))
def test_any_lines_have_answers(lines: list[str]) -> None:
    session = Session(found())
    for line in lines:
        assert session.ask(line) or session.done
        assert 0 <= session.at <= 9


# ---- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trace_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "t.jsonl"
    path.write_text(dumps(answer(question(load_scenario("child-above-parent"))).traces["eventual-quiescence"]), encoding="utf-8")
    return path


def run(path: Path, *options: str, typed: bytes = b"") -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-m", "roamcheck", "replay", str(path), *options], input=typed, capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize("typed", [b"n\nw deliver(b4, b1)\nq\n", b"n\nw deliver(b4, b1)\n", b"n\n\xff\xfe\n"])
def test_it_reads_a_pipe_to_its_end(trace_file: Path, typed: bytes) -> None:
    code, out, err = run(trace_file, "--interactive", typed=typed)
    assert (code, err) == (0, "")
    if b"\xff" not in typed:
        assert "b4 migrates to b1" in out
        assert "deliver(b4, b1) can fire" in out


def test_it_starts_at_the_step_asked_for_and_does_not_go_with_json(trace_file: Path) -> None:
    assert "[3/9] " in run(trace_file, "--interactive", "--step", "3")[1]
    code, out, err = run(trace_file, "--interactive", "--json", "-", typed=b"n\n")
    assert (code, out) == (2, "")
    assert "leave out --interactive" in err


def test_a_step_alone_is_told_as_text_only(trace_file: Path) -> None:
    code, out, err = run(trace_file, "--step", "3", "--to", "itf")
    assert (code, out) == (2, "")
    assert "leave one of the two out" in err
    code, _, err = run(trace_file, "--step", "10")
    assert code == 2
    assert "has no step 10; it has 9" in err
