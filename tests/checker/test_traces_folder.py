"""Every trace in traces/ replays, and there is one for each figure and each violated pair (protocol, property)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roamcheck.checker.replay import replay
from roamcheck.checker.trace import dumps, loads
from support.figures import FIGURES

ROOT = Path(__file__).parent.parent.parent
TRACES = sorted((ROOT / "traces").glob("*.jsonl"))
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
    assert set(found) == {*shortest, *FIGURES}
