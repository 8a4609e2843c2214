"""Which printed lines a step runs: by the tags of the source, in the margin of the protocol's own document, and without leaving a trace."""

import sys
from functools import cache
from types import FrameType
from typing import Any

import pytest

from roamcheck.checker.engines.reference import explore
from roamcheck.checker.files import load_scenario
from roamcheck.checker.lines import Lines, claimed, describe, executed, in_margin, printed_lines, ranges
from roamcheck.checker.question import question
from roamcheck.checker.verdict import Violated
from roamcheck.model.interface import Disabled, Footprint, Kind, Model, State, Step, fire
from roamcheck.spec.protocols import ALGORITHMS, PROTOCOLS


@cache
def run(scenario: str, protocol: str, name: str) -> tuple[Model, tuple[tuple[Step, State], ...]]:
    """The counterexample of a property: its steps, each with the state in which it is taken."""
    model = question(load_scenario(scenario), protocol=protocol).model()
    verdict = explore(model).verdicts[name]
    assert isinstance(verdict, Violated)
    state, taken = model.initial_states[0], []
    for index in verdict.counterexample.steps:
        taken.append((model.steps[index], state))
        after = fire(model, model.steps[index], state)
        assert not isinstance(after, Disabled)
        state = after
    return model, tuple(taken)


def lines(scenario: str, protocol: str, name: str) -> list[tuple[Lines, ...]]:
    """The lines of each step of a counterexample."""
    margin = PROTOCOLS[protocol].margin
    return [printed_lines(step, state, margin) for step, state in run(scenario, protocol, name)[1]]


def test_the_lines_of_each_step() -> None:
    """BMIG names s1, as new as b4 knows it and closer: lines 18–19, 22, 30, 32–35 and 38 do not run; 17, 21, 25 and 29 are comments."""
    migrate, bmig = "TR19 Alg. 5 l.1–5, 8–11", "TR19 Alg. 6 l.13–16, 20, 23–24, 26–27, 31, 36–37, 39–47; Alg. 2 l.35–36"
    rep = "TR19 Alg. 2 l.43–45, 47–48"
    assert list(map(describe, lines("child-above-parent", "mft-pubsub", "eventual-quiescence"))) == [
        migrate, migrate, bmig, "", "TR19 Alg. 1 l.11–19", bmig.replace("l.35–36", "l.35–38, 41–42"), rep, rep, rep,
    ]  # fmt: skip


def test_the_journal_has_its_own_numbers_where_it_prints_the_algorithm() -> None:
    said = list(map(describe, lines("child-above-parent", "mft-pubsub-2023", "eventual-quiescence")))
    assert said[0] == "WN23 Alg. 3 l.57–61, 64–65, 68–69"
    assert said[2] == "WN23 Alg. 4 l.73–76, 79, 81–84, 90, 97–98, 102–106, 109–110, 112–113; Alg. 2 l.39–40"
    assert said[4] == "TR19 Alg. 1 l.11–19", "the journal does not print PUB"


def test_the_reports_of_2016_are_named_by_their_own_source() -> None:
    sources = {part.source for step in lines("child-above-parent", "modular-2016", "delivered") for part in step}
    assert sources == {"RP16"}


def test_an_else_counts_when_what_is_behind_it_runs() -> None:
    """Line 28 of Algorithm 6 is an `else`, which Python never runs as a line of its own."""
    far = [part.numbers for step in lines("broker-migration-far", "mft-pubsub", "routing-converged") for part in step if part.algorithm == "Alg. 6"]
    near = [part.numbers for step in lines("child-above-parent", "mft-pubsub", "eventual-quiescence") for part in step if part.algorithm == "Alg. 6"]
    assert any(30 in numbers for numbers in far)
    assert not any(30 in numbers for numbers in near)
    assert all((28 in numbers) == (30 in numbers) for numbers in (*far, *near))


def test_a_line_is_cited_by_the_margin_asked_for_and_by_its_own_where_that_paper_does_not_print_it() -> None:
    (line,) = [line for line, printed in claimed("alg6_bmig").items() if any(24 in claim for claim in printed)]
    assert [str(claim) for claim in in_margin(claimed("alg6_bmig")[line], "")] == ["TR19 Alg. 6 l.23–24"]
    assert [str(claim) for claim in in_margin(claimed("alg6_bmig")[line], "WN23")] == ["WN23 Alg. 4 l.81–82"]
    (line,) = [line for line, printed in claimed("alg1_mobile_clients").items() if any(17 in claim for claim in printed)]
    assert [str(claim) for claim in in_margin(claimed("alg1_mobile_clients")[line], "WN23")] == ["TR19 Alg. 1 l.17"]


def test_lines_in_words() -> None:
    assert ranges((13, 14, 15, 16, 18, 36, 37)) == "13–16, 18, 36–37"
    several = (Lines("TR19", "Alg. 6", (1,)), Lines("TR19", "Alg. 2", (2, 3)), Lines("WN23", "Alg. 1", (4,)))
    assert describe(several) == "TR19 Alg. 6 l.1; Alg. 2 l.2–3; WN23 Alg. 1 l.4"
    assert describe(()) == ""


def test_a_step_that_cannot_fire_runs_nothing() -> None:
    model, taken = run("child-above-parent", "mft-pubsub", "eventual-quiescence")
    idle = next(step for step in model.steps if step.action == "deliver")
    assert executed(idle, taken[0][1]) == ()


def test_a_step_that_raises_is_watched_to_where_it_does() -> None:
    def react(head: object, values: tuple[object, ...]) -> Any:
        ALGORITHMS["alg7_consistency"].on_bquery(None, None, None, None)  # fails on its first line

    step = Step("fail", (), Kind.PROTOCOL, react, Footprint())
    assert {module for module, _ in executed(step, ())} == {"alg7_consistency"}


@pytest.mark.parametrize("fails", [False, True])
def test_whoever_watched_before_watches_afterwards(fails: bool) -> None:
    """A debugger, say, or a coverage tool."""

    def watcher(frame: FrameType, event: str, argument: Any) -> None:
        return None

    def react(head: object, values: tuple[object, ...]) -> Any:
        raise RuntimeError

    step, state = run("child-above-parent", "mft-pubsub", "eventual-quiescence")[1][2]
    before = sys.gettrace()
    sys.settrace(watcher)
    try:
        found = executed(Step("fail", (), Kind.PROTOCOL, react, Footprint()) if fails else step, state)
        left = sys.gettrace()
    finally:
        sys.settrace(before)
    assert left is watcher
    assert bool(found) != fails
