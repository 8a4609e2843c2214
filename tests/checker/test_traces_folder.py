"""Every trace in traces/ replays; there is one for each figure, each violated pair (protocol, property) and each ingredient that is taken out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roamcheck.checker.replay import replay
from roamcheck.checker.trace import dumps, loads
from roamcheck.spec.readings import REPAIRED
from support.figures import FIGURES
from support.ingredients import MISSED

ROOT = Path(__file__).parent.parent.parent
TRACES = sorted((ROOT / "traces").glob("*.jsonl"))
WITHOUT = {f"{REPAIRED}.without-{ingredient}": missed for ingredient, missed in MISSED.items()}
TABLE = json.loads((ROOT / "tests" / "agreement" / "table.json").read_text())


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_it_replays_with_its_breach_and_is_written_back_byte_for_byte(path):
    text = path.read_text(encoding="utf-8")
    trace = loads(text, path.name)
    found = replay(trace)
    assert len(found.steps) == trace.header.length > 0
    assert dumps(trace) == text


def test_there_is_a_shortest_one_for_each_figure_and_each_violated_pair():
    shortest: dict[str, int] = {}
    for key, row in TABLE.items():
        _, protocol, readings = key.split()
        if readings == "printed":
            for prop, length in row["violated"].items():
                name = f"{protocol}.{prop}"
                shortest[name] = min(shortest.get(name, length), length)
    found = {path.stem: loads(path.read_text(encoding="utf-8"), path.name).header.length for path in TRACES}
    assert {name: found[name] for name in shortest} == shortest
    assert set(found) == {*shortest, *FIGURES, *WITHOUT}


def test_there_is_one_for_each_ingredient_and_it_is_no_longer_than_the_design_says():
    for name, (scenario, most, (prop, *_)) in WITHOUT.items():
        header = loads((ROOT / "traces" / f"{name}.jsonl").read_text(encoding="utf-8"), name).header
        assert (header.scenario.name, header.property) == (scenario, prop)
        assert header.length <= most
