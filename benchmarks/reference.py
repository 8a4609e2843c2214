"""How fast the reference explorer is, with all properties on; counts are asserted, times only reported.

    python benchmarks/reference.py [SCENARIO…]    default: peers-b peers-c; three timings each
    python benchmarks/reference.py --keep […]     and write them to benchmarks/results/reference.json

Bar: 15,000 states/s on peers-c.
"""

from __future__ import annotations

import json
import platform
import statistics
import sys
from pathlib import Path

from roamcheck import __version__
from roamcheck.checker.check import answer
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question

RESULTS = Path(__file__).parent / "results" / "reference.json"
TABLE = Path(__file__).parent.parent / "tests" / "agreement" / "table.json"


def main(words: list[str]) -> None:
    names = [word for word in words if word != "--keep"] or ["peers-b", "peers-c"]
    table, runs = json.loads(TABLE.read_text()), []
    print(f"Python {platform.python_version()} on {platform.machine()}, one process, all properties")
    for name in names:
        seconds = []
        for _ in range(3):
            given = answer(question(load_scenario(name)))
            assert given.exploration is not None
            counts = given.exploration.counts
            expected = table[f"{name} mft-pubsub printed"]
            assert (counts.states, counts.transitions) == (expected["states"], expected["transitions"]), (counts, expected)
            seconds.append(given.exploration.seconds)
        middle = statistics.median(seconds)
        runs.append({"scenario": name, "states": counts.states, "transitions": counts.transitions, "seconds": [round(s, 3) for s in seconds]})
        times = ", ".join(f"{s:.2f}" for s in seconds)
        print(f"{name}: {counts.states:,} states, {counts.transitions:,} transitions; {times} s; median {counts.states / middle:,.0f} states/s")
    if "--keep" in words:
        versions = {"roamcheck": __version__, "python": platform.python_version()}
        manifest = {"engine": "reference", "protocol": "mft-pubsub", "readings": "printed", "machine": platform.machine(), "cores_used": 1}
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps({**manifest, "versions": versions, "runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
