"""The Promela model is that of roamcheck: the same counts; and a scenario that it cannot express is refused in one line."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from roamcheck.checker.check import answer
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.model.scenario import parse_scenario

TOP = Path(__file__).parents[2]
TABLE = json.loads((TOP / "tests" / "agreement" / "table.json").read_text())
PEERS = load_scenario("peers-b")

SMALL = """
format = "roamcheck-scenario/1"
name = "four-brokers"
[network]
leaders = ["root"]
links = [["root", "left"], ["root", "right"], ["left", "leaf"]]
[filters]
all = { }
hot = { value = { ge = 30 } }
[subscribers.a]
at = "leaf"
filters = ["hot"]
[subscribers.b]
at = "leaf"
filters = ["all"]
[subscribers.c]
at = "right"
filters = ["hot"]
[publishers.p]
at = "root"
[publishers.q]
at = "leaf"
[events.cold]
from = "p"
attributes = { value = 10 }
[events.warm]
from = "q"
attributes = { value = 30 }
[assume]
client-links = "instant"
[[moves]]
id = "loses"
do = "link-down"
link = ["left", "leaf"]
[[moves]]
id = "joins"
do = "migrate"
broker = "leaf"
to = "right"
after = ["loses"]
[[moves]]
id = "first"
do = "publish"
event = "cold"
[[moves]]
id = "second"
do = "publish"
event = "warm"
"""


@pytest.fixture
def generate(monkeypatch):
    monkeypatch.syspath_prepend(str(TOP / "benchmarks"))
    return importlib.import_module("spin.generate")


@pytest.fixture
def pan(monkeypatch):
    monkeypatch.syspath_prepend(str(TOP / "benchmarks"))
    return importlib.import_module("spin.pan")


def without_after(scenario):
    return replace(scenario, moves=tuple(replace(move, after=()) for move in scenario.moves))


def to_its_own_branch(scenario):
    return replace(scenario, moves=tuple(replace(move, to="b7") if move.id == "b3-joins" else move for move in scenario.moves))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda s: replace(s, protocol="phoenix"), "the protocol is mft-pubsub, not phoenix"),
        (lambda s: replace(s, readings=(("hop-test", "home"),)), "the readings are the printed ones, and hop-test is not"),
        (lambda s: replace(s, assume=replace(s.assume, client_links="queued")), "client links are instant"),
        (lambda s: replace(s, assume=replace(s.assume, bounce="later")), "returned at once"),
        (lambda s: replace(s, settled=False), "all subscriptions are settled at the start"),
        (lambda s: replace(s, free=replace(s.free, crashes=1)), "nothing is free"),
        (lambda s: replace(s, leaders=("b1", "b2"), links=s.links[1:]), "the network is one tree"),
        (lambda s: replace(s, subscribers=(replace(s.subscribers[0], filters=("f6", "f7")),)), "subscriber s6: is attached, with one filter"),
        (lambda s: replace(s, moves=(*s.moves, replace(s.moves[0], id="m", do="crash"))), "there is publish, link-down and migrate, but no crash"),
        (lambda s: replace(s, moves=(replace(s.moves[0], when="quiescent"), *s.moves[1:])), "waits neither for silence"),
        (lambda s: replace(s, events=tuple(replace(e, publisher="p0") for e in s.events)), "publisher p0: publishes 2 times"),
        (lambda s: replace(s, moves=tuple(m for m in s.moves if m.do != "publish")), "there are 1 to 7 events that are published, not 0"),
        (without_after, "a broker migrates after one link-down of the link to its parent"),
        (to_its_own_branch, "b3 may find b7 in its own branch"),
        (lambda s: replace(s, moves=tuple(m for m in s.moves if m.id != "b6-joins")), "a broker moves once, and no link falls otherwise"),
    ],
)  # fmt: skip
def test_what_it_cannot_express_is_refused(generate, change, why):
    with pytest.raises(generate.InexpressibleError) as refused:
        generate.header(change(PEERS))
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_refusal_is_one_line_and_exit_code_2():
    ran = subprocess.run(
        [sys.executable, str(TOP / "benchmarks" / "spin" / "generate.py"), "figure-1b"], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("error: figure-1b: the Promela model cannot express it: ")
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["peers-b", "peers-c", "peers-d", "peers-e", "peers-f"])
def test_the_peers_can_be_expressed(generate, name):
    assert f"#define NS {len(load_scenario(name).subscribers)}\n" in generate.header(load_scenario(name))


def test_a_run_that_proves_nothing_is_told(pan):
    with pytest.raises(pan.SpinError, match="pan:1: block in d_step seq"):
        pan.counts("pan:1: block in d_step seq (at depth 9)\n   10 states, stored\n   12 transitions (= stored+matched)\nerrors: 1\n")
    assert pan.counts("State-vector 292 byte, depth reached 42, errors: 0\n   10 states, stored\n   12 transitions (= stored+matched)\n") == (10, 11)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["peers-b", "four-brokers"])
def test_spin_counts_what_roamcheck_counts(pan, tmp_path, name):
    if pan.missing():
        pytest.skip(pan.missing())
    if name == "peers-b":
        expected = TABLE["peers-b mft-pubsub printed"]["states"], TABLE["peers-b mft-pubsub printed"]["transitions"]
    else:
        (tmp_path / "small.toml").write_text(SMALL)
        counts = answer(question(parse_scenario(SMALL, where=name))).exploration.counts
        expected = counts.states, counts.transitions
    verifier = pan.build(name if name == "peers-b" else str(tmp_path / "small.toml"), tmp_path)
    ran = subprocess.run([str(verifier), *pan.ARGUMENTS], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert pan.counts(ran.stdout) == expected
