"""What `roamcheck prove` says of every protocol under the printed and the amended readings, with the time that it takes.

    python benchmarks/proofs.py [--keep]     --keep writes benchmarks/results/proofs.json
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from pathlib import Path

import z3

from roamcheck import __version__
from roamcheck.checker.solver.proving import Prover, as_record, asked_readings
from roamcheck.spec.protocols import PROTOCOLS
from roamcheck.spec.readings import NAMED_SETS

RESULTS = Path(__file__).parent / "results" / "proofs.json"


def main() -> int:
    """Answers the exit code: 1 if anything is unknown."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--keep", action="store_true", help="write the results")
    given = words.parse_args()
    started, rows, prover = time.monotonic(), [], Prover()
    for label in NAMED_SETS:
        for protocol in PROTOCOLS:
            for proof in prover.prove(protocol, *asked_readings(label, {}, protocol)):
                record = as_record(proof)
                rows.append({name: value for name, value in record.items() if name != "readings"})
                reached = record["explorer"]
                where = "" if reached is None else f"{reached.get('scenario', 'not reached')} {reached.get('length', '')}"
                print(f"{proof.seconds:6.1f} s  {label:8} {protocol:16} {proof.property:24} {proof.verdict:14} {proof.paths:>8,} {where}", flush=True)
    seconds = round(time.monotonic() - started, 1)
    print(f"{seconds} s in all")
    if given.keep:
        versions = {"roamcheck": __version__, "python": platform.python_version(), "z3": z3.get_version_string()}
        text = json.dumps({"seconds": seconds, "versions": versions, "proofs": rows}, indent=1, ensure_ascii=False)
        RESULTS.write_text(text + "\n", encoding="utf-8")
    return int(any(row["verdict"] == "unknown" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
