"""What the reductions leave of each bundled scenario of 5,000 states or more, with every verdict compared.

    python benchmarks/reductions.py [--keep] [--least N]     --keep writes benchmarks/results/reductions.json

States without reductions are those of tests/agreement/table.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from roamcheck.checker.check import answer
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.checker.verdict import Violated

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "tests" / "agreement" / "table.json"
RESULTS = ROOT / "benchmarks" / "results" / "reductions.json"


def measure(key: str, row: dict[str, Any]) -> dict[str, Any]:
    """States with reductions; asserts the verdicts."""
    name, protocol, readings = key.split()
    given = answer(question(load_scenario(name), protocol=protocol, readings=readings))
    assert given.exploration is not None
    counts, used = given.exploration.counts, given.exploration.reductions
    assert {prop for prop, verdict in given.verdicts.items() if isinstance(verdict, Violated)} == set(row["violated"]), key
    assert counts.quiescent == row["quiescent"] or "symmetry" in used, key
    return {"states": row["states"], "left": counts.states, "factor": round(row["states"] / counts.states, 2), "reductions": list(used)}


def main() -> int:
    """Answers the exit code."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--least", type=int, default=5_000, help="states of the smallest scenario (default: 5000)")
    words.add_argument("--keep", action="store_true", help="write the results")
    given = words.parse_args()
    table = {key: row for key, row in json.loads(TABLE.read_text()).items() if row["states"] >= given.least}
    found = {}
    for key, row in sorted(table.items(), key=lambda item: item[1]["states"]):
        found[key] = measure(key, row)
        print(f"{found[key]['factor']:6.2f}  {row['states']:>9,} → {found[key]['left']:>9,}  {key}", flush=True)
    if given.keep:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
