"""How fast one scenario is explored on Spark, against the tabled engine with as many threads; counts are asserted, times only reported.

    python benchmarks/distributed.py [SCENARIO…] [--cores N] [--runs N]    default: peers-d peers-e, two cores, one run of each
    python benchmarks/distributed.py --keep peers-e peers-f                and write them to benchmarks/results/distributed.json

Seconds are those of the search alone, as the engine says; `wall` is that of the process, with Spark's start.  `octets` are what a state costs on its
way through the shuffle; `java`, `python` and `driver` the peaks of memory of Spark's Java process, of the largest Python worker and of the driver, in
megabytes; `level` the seconds divided by the levels; `processor` the seconds that all processes took of the processor, which say more than the clock
where others use it too.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "distributed.json"
COUNTS = {  # of other checkers too
    "peers-b": (29_463, 106_194), "peers-c": (88_389, 377_508), "peers-d": (324_051, 1_528_939), "peers-e": (2_723_367, 14_280_503),
    "peers-f": (21_728_178, None),
}  # fmt: skip
OFTEN = 0.2  # seconds between two looks at the processes
TICKS = os.sysconf("SC_CLK_TCK")


def family(root: int) -> Iterator[tuple[int, str]]:
    """The processes that descend from one, and itself, with their command lines."""
    parents, words = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                words[int(entry.name)] = (entry / "cmdline").read_text().replace("\0", " ")
            except OSError:  # it has ended meanwhile
                continue
    for pid in parents:
        above = pid
        while above in parents and above != root:
            above = parents[above]
        if above == root:
            yield pid, words[pid]


def note(root: int, peaks: dict[str, float], processor: dict[int, float]) -> None:
    """Look at the processes once."""
    for pid, words in family(root):
        try:
            status = Path(f"/proc/{pid}/status").read_text()
            used = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        kind = "driver" if pid == root else "java" if "java" in words.split(" ")[0] else "python"
        peak = next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0.0)
        peaks[kind] = max(peaks.get(kind, 0.0), peak)
        processor[pid] = (int(used[11]) + int(used[12])) / TICKS


def measured(scenario: str, *words: str) -> dict[str, Any]:
    """One run of `roamcheck check`; what it says and what it took."""
    peaks: dict[str, float] = {}
    processor: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "roamcheck", "check", scenario, "--tell", "none", "--json", "-", *words]
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=scratch)
        while process.poll() is None:
            note(process.pid, peaks, processor)
            time.sleep(OFTEN)
        wall = time.perf_counter() - begun
        assert process.stdout is not None
        said = json.loads(process.stdout.read())
        manifest = Path(scratch) / "search.d" / "checkpoint.json"
        search = json.loads(manifest.read_text())["search"] if manifest.exists() else None
    states, transitions = COUNTS.get(scenario, (said["states"], said["transitions"]))
    assert said["complete"], said
    assert (said["states"], said["transitions"]) == (states, transitions or said["transitions"]), said
    found = {
        "states": said["states"], "transitions": said["transitions"], "depth": said["depth"], "seconds": said["seconds"], "wall": round(wall, 1),
        "rate": round(said["states"] / said["seconds"]), "processor": round(sum(processor.values()), 1),
        **{kind: round(peak) for kind, peak in sorted(peaks.items())},
    }  # fmt: skip
    if search is not None:
        found |= {"octets": round(search["octets"] / said["states"], 1), "sent": round(search["sent"] / said["states"], 2)}
        found["level"] = round(said["seconds"] / (said["depth"] + 1), 2)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", default=["peers-d", "peers-e"])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help=f"write them to {RESULTS.relative_to(ROOT)}")
    given = parser.parse_args()
    cores, rows = str(given.cores), []
    for scenario in given.scenarios:
        for _ in range(given.runs):
            row = {
                "scenario": scenario,
                "tabled": measured(scenario, "--no-reduction", "--workers", cores),
                "spark": measured(scenario, "--engine", "spark", "--master", f"local[{cores}]", "--checkpoint", "search.d"),
                "load": round(os.getloadavg()[0], 1),
            }
            row["ratio"] = round(row["spark"]["rate"] / row["tabled"]["rate"], 3)
            row["processor"] = round(row["tabled"]["processor"] / row["spark"]["processor"], 3)
            rows.append(row)
            print(json.dumps(row, indent=1), flush=True)
    if given.keep:
        versions = {name: metadata.version(name) for name in ("roamcheck", "numpy", "numba", "pyspark", "pyarrow")}
        kept = {"cores": given.cores, "python": platform.python_version(), **versions, "runs": rows}
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
