"""Every scenario of four brokers, one subscriber, one publication and two moves, one of them at least a broker migration, explored to the end.

    python benchmarks/enumerations.py [--workers N] [--keep]      under the printed and the amended readings; about an hour of one core
    python benchmarks/enumerations.py --of READINGS=FILE… --keep  from what `check --enumerate --json FILE` wrote

Writes to benchmarks/results/enumerations.json how many scenarios there are, how many violate what, and how many distinct causes there are.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "enumerations.json"
BOUNDS = ("--brokers", "4", "--moves", "2", "--where", "a migration")
READINGS = ("printed", "amended")


def explored(readings: str, workers: int) -> Path:
    """Run it; the file with its JSON lines."""
    path = Path(tempfile.mkdtemp()) / f"{readings}.json"
    words = ["check", "--enumerate", *BOUNDS, "--yes", "--readings", readings, "--workers", str(workers), "--json", str(path)]
    subprocess.run([sys.executable, "-m", "roamcheck", *words, "--traces", str(path.parent / "traces")], check=False)
    return path


def summary(path: Path) -> dict[str, Any]:
    """The last line, with the causes counted by property and the shortest of each."""
    with path.open(encoding="utf-8") as lines:
        *_, last = lines
    told = json.loads(last)
    causes: dict[str, int] = {}
    for cause in told.pop("causes"):
        causes[cause["property"]] = causes.get(cause["property"], 0) + 1
    return {**told, "causes": causes}


def main() -> None:
    """Print a line for each set of readings."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--of", nargs="+", default=[], metavar="READINGS=FILE")
    options.add_argument("--keep", action="store_true")
    given = options.parse_args()
    files = dict(pair.split("=", 1) for pair in given.of) or {readings: str(explored(readings, given.workers)) for readings in READINGS}
    found = {readings: summary(Path(path)) for readings, path in files.items()}
    for readings, told in found.items():
        causes = sum(told["causes"].values())
        print(f"{readings}: {told['scenarios']:,} scenarios, {told['violating']:,} violate, {causes:,} causes, {told['seconds']:,.0f} s")
    if given.keep:
        manifest = {"bounds": " ".join(BOUNDS), "protocol": "mft-pubsub", "roamcheck": metadata.version("roamcheck"), "found": found}
        RESULTS.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
