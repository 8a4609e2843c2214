"""The trace file: round trips, refusals in one line, and tampering that replay finds out."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcheck.checker.check import answer
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.checker.replay import ReplayMismatch, replay
from roamcheck.checker.trace import TraceError, dumps, loads


@pytest.fixture(scope="module")
def traces():
    """Property → text, for every violated property of child-above-parent."""
    found = answer(question(load_scenario("child-above-parent")))
    return {name: dumps(trace) for name, trace in found.traces.items()}


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def text_of(lines):
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def test_each_counterexample_replays_and_its_text_is_stable(traces):
    assert set(traces) >= {"no-routing-loop", "delivered", "eventual-quiescence", "eventual-delivery", "hop-count-exact"}
    for text in traces.values():
        trace = loads(text, "x")
        assert dumps(trace) == text
        assert len(replay(trace).steps) == trace.header.length


def test_the_cycle_is_a_lasso_whose_turn_leads_back(traces):
    trace = loads(traces["eventual-quiescence"], "x")
    found = replay(trace)
    assert trace.header.loop is not None
    assert found.state(trace.header.loop) == found.steps[-1].after


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda lines: lines[:1] + lines[2:], "out of order"),
        (lambda lines: lines[:-1], "truncated: it ends after 3 of 4 steps"),
        (lambda lines: [*lines, lines[-1]], "goes on after its 4 steps"),
        (lambda lines: [{**lines[0], "format": "roamcheck-trace/2"}, *lines[1:]], 'format = "roamcheck-trace/2"'),
        (lambda lines: [{**lines[0], "extra": 1}, *lines[1:]], "extra"),
        (lambda lines: [{**lines[0], "protocol": "mqtt"}, *lines[1:]], 'protocol = "mqtt"'),
        (lambda lines: [{**lines[0], "length": "4"}, *lines[1:]], "length"),
        (lambda lines: [lines[0], {**lines[1], "kind": "teleport"}, *lines[2:]], "teleport"),
        (lambda lines: [lines[0], {**lines[1], "digest": "0"}, *lines[2:]], "digest"),
        (lambda lines: [{**lines[0], "scenario": {}}, *lines[1:]], "scenario"),
        (lambda lines: [], "empty"),
    ],
)
def test_what_is_no_trace_is_refused_in_one_line_with_file_and_line(traces, edit, says):
    with pytest.raises(TraceError) as refused:
        loads(text_of(edit(lines_of(traces["no-routing-loop"]))), "my.jsonl")
    assert str(refused.value).startswith("my.jsonl:")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def edited(lines, number, **changes):
    return [{**line, **changes} if place == number else line for place, line in enumerate(lines)]


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda lines: edited(lines, 1, to="b2"), "step 1: the scenario has no step migrate(b4, b2, t0-0)"),
        (lambda lines: edited(lines, 2, digest="0" * 32), "step 2: the state after deliver(b4, b1) differs"),
        (lambda lines: edited(lines, 2, message={**lines[2]["message"], "h": 7}), "step 2: deliver(b4, b1) takes another message"),
        (lambda lines: edited(lines, 0, digest="0" * 32), "the initial state differs"),
        (lambda lines: edited(lines, 0, breach={**lines[0]["breach"], "conjunct": "nothing"}), "another breach"),
        (lambda lines: edited(lines, 0, property="no-duplicate"), "no-duplicate holds at their end"),
        (lambda lines: edited(lines, 0, readings={**lines[0]["readings"], "hop-test": "home"}), "differs"),
        (lambda lines: [{**lines[0], "length": 3}, *({**line, "step": n} for n, line in enumerate((lines[1], *lines[3:]), 1))], "step 2"),
    ],
)
def test_an_edited_trace_is_found_out(traces, edit, says):
    with pytest.raises(ReplayMismatch) as refused:
        replay(loads(text_of(edit(lines_of(traces["no-routing-loop"]))), "my.jsonl"))
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_step_that_cannot_fire_names_the_guard_the_prefix_and_what_was_enabled(traces):
    lines = lines_of(traces["no-routing-loop"])
    swapped = [{**lines[0]}, {**lines[3], "step": 1}, *lines[2:]]
    with pytest.raises(ReplayMismatch) as refused:
        replay(loads(text_of(swapped), "x"))
    assert "this does not hold: b4 is not in the branch of b3; no step replays; enabled there: migrate(b4, b1, t0-0)" in str(refused.value)


def test_a_lasso_that_does_not_lead_back_is_found_out(traces):
    lines = lines_of(traces["eventual-quiescence"])
    shorter = [{**lines[0], "length": lines[0]["length"] - 1}, *lines[1:-1]]
    with pytest.raises(ReplayMismatch, match="does not lead back"):
        replay(loads(text_of(shorter), "x"))


TEXTS = st.deferred(lambda: st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8), st.lists(TEXTS, max_size=3)))


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_change_to_a_field_gives_a_trace_or_one_line(traces, data):
    lines = lines_of(traces["no-routing-loop"])
    line = data.draw(st.integers(0, len(lines) - 1))
    key = data.draw(st.sampled_from(sorted(lines[line])))
    lines[line][key] = data.draw(TEXTS)
    said = ""
    try:
        replay(loads(text_of(lines), "x"))
    except (TraceError, ReplayMismatch) as refused:
        said = str(refused)
    assert "\n" not in said


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=200))
def test_any_text_is_refused_in_one_line(text):
    with pytest.raises(TraceError) as refused:
        loads(text, "x")
    assert "\n" not in str(refused.value)


def test_two_processes_with_different_hash_seeds_write_the_same_bytes(tmp_path):
    seen = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        ran = subprocess.run(
            [sys.executable, "-m", "roamcheck", "check", "free-star", "child-above-parent", "--json", "-", "--traces", str(folder)],
            capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": seed}, check=False,
        )  # fmt: skip
        assert ran.returncode == 1, ran.stderr
        verdicts = [{**json.loads(line), "seconds": 0} for line in ran.stdout.splitlines()]
        text = json.dumps(verdicts).replace(str(folder), "")
        seen.append((text, {path.name: path.read_bytes() for path in sorted(folder.iterdir())}))
    assert seen[0] == seen[1]
    assert len(seen[0][1]) > 10
