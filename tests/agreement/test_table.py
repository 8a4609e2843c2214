"""One table, every engine: the counts and verdicts on every bundled scenario, protocol and named set of readings.

`expected.json` comes from an independent implementation of the semantics: verdicts, and lengths that may not be exceeded.
`table.json` is what the reference explorer finds (benchmarks/table.py); its peers-* counts are those of Spin, TLC and rumur.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roamcheck.checker.check import ENGINES, Limits, answer
from roamcheck.checker.files import bundled, load_scenario
from roamcheck.checker.question import question
from roamcheck.checker.tabled import memory, workers
from roamcheck.checker.verdict import Holds, Violated
from roamcheck.spec.properties import PROPERTIES

HERE = Path(__file__).parent
EXPECTED = json.loads((HERE / "expected.json").read_text())
TABLE = json.loads((HERE / "table.json").read_text())
PEERS = {"peers-b": (29_463, 106_194), "peers-c": (88_389, 377_508), "peers-d": (324_051, 1_528_939)}
QUICK = {"tabled": 12_000, "reference": 1_200}  # states; the larger ones are marked slow
SEVERAL = 4_096  # states that make several batches, if these are small


def is_quick(key, row, engine):
    """Where the amended readings change nothing, the printed ones are asked alone."""
    if key.endswith(" amended") and TABLE.get(key.replace(" amended", " printed")) == row:
        return False
    return row["states"] <= QUICK[engine] or (key, engine) == ("peers-b mft-pubsub printed", "tabled")


def cases(engine_names=tuple(ENGINES)):
    for key, row in sorted(TABLE.items()):
        for engine in engine_names:
            marks = [] if is_quick(key, row, engine) else [pytest.mark.slow]
            yield pytest.param(key, engine, marks=marks, id=f"{key} {engine}")


def agree(key, **options):
    """What is asked in a row of the table is answered as there."""
    name, protocol, readings = key.split()
    given = answer(question(load_scenario(name), protocol=protocol, readings=readings), **options)
    counts, row = given.exploration.counts, TABLE[key]
    assert [counts.states, counts.transitions, counts.depth, counts.quiescent, counts.unfair_cycles] == [
        row["states"], row["transitions"], row["depth"], row["quiescent"], row["unfair_cycles"],
    ]  # fmt: skip
    assert {p: v.counterexample.length for p, v in given.verdicts.items() if isinstance(v, Violated)} == row["violated"]
    assert given.exploration.complete


@pytest.mark.parametrize(("key", "engine"), list(cases()))
def test_every_engine_agrees_with_the_table(key, engine):
    agree(key, engine=engine, limits=Limits(reductions=frozenset()))


@pytest.mark.parametrize(("key", "engine"), [case for case in cases(["tabled"]) if TABLE[case.values[0]]["states"] >= SEVERAL])
def test_many_batches_at_once_agree_with_the_table(monkeypatch, key, engine):
    monkeypatch.setattr(memory, "BATCH", SEVERAL // 8)
    monkeypatch.setattr(workers, "FEW", SEVERAL // 32)  # so that each is cut in pieces
    agree(key, engine=engine, limits=Limits(reductions=frozenset(), workers=2))


@pytest.mark.parametrize(("key", "engine"), list(cases(["tabled"])))
def test_reductions_keep_the_quiescent_states_and_every_verdict(key, engine):
    name, protocol, readings = key.split()
    given = answer(question(load_scenario(name), protocol=protocol, readings=readings), engine=engine)
    counts, row = given.exploration.counts, TABLE[key]
    if "symmetry" in given.exploration.reductions:
        assert counts.quiescent <= row["quiescent"]
        given = answer(given.question, engine=engine, limits=Limits(reductions=frozenset(["partial-order"])))
        counts = given.exploration.counts
    assert (given.exploration.complete, counts.quiescent, counts.states <= row["states"]) == (True, row["quiescent"], True)
    found = {p: v.counterexample.length for p, v in given.verdicts.items() if isinstance(v, Violated)}
    assert found.keys() == row["violated"].keys()
    for prop, length in found.items():
        assert length == row["violated"][prop] or (prop in given.exploration.longer and length > row["violated"][prop]), prop
        assert PROPERTIES[prop].scope != "every quiescent state" or prop not in given.exploration.longer, prop


@pytest.mark.parametrize("key", sorted(EXPECTED))
def test_the_independent_implementation_agrees_and_finds_nothing_shorter(key):
    name, protocol, readings = key.split()
    given = answer(question(load_scenario(name), protocol=protocol, readings=readings))
    for prop, shortest in EXPECTED[key]["violated"].items():
        verdict = given.verdicts[prop]
        assert isinstance(verdict, Violated), prop
        assert shortest is None or verdict.counterexample.length <= shortest, prop
    for prop in EXPECTED[key]["holds"]:
        assert isinstance(given.verdicts[prop], Holds), prop


@pytest.mark.parametrize("name", PEERS)
def test_the_table_holds_the_counts_of_spin_tlc_and_rumur(name):
    row = TABLE[f"{name} mft-pubsub printed"]
    assert (row["states"], row["transitions"]) == PEERS[name]


def test_every_bundled_scenario_is_in_the_table():
    assert {key.split()[0] for key in TABLE} | {"peers-e", "peers-f"} == set(bundled())
