"""What a sweep costs: two cores of Spark against one plain process on the same jobs; and how soon the first result is there.

    python benchmarks/sweeps.py [--scenarios N] [--master URL] [--keep]
    python benchmarks/sweeps.py --table REPORT       condense what `roamcheck report DIR --json REPORT` said, for the table in docs/spark.md

The scenarios are drawn by Hypothesis; each is asked under two protocols, two sets of readings and three radios: some 2,000 jobs.  Rows
are asserted to be the same, times only reported: those of the work alone, with a session that has begun and loops that are loaded, and those of the
whole command.  Overhead is what the cores spent per job beyond the jobs' own seconds.  `--keep` writes benchmarks/results/sweeps.json.
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
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from roamcheck.checker.generating import Bounds
from roamcheck.checker.spark.session import spark_session
from roamcheck.checker.spark.sweep import on_spark
from roamcheck.checker.sweeps.driving import Runner, Work, in_this_process, sweep
from roamcheck.checker.sweeps.folder import Folder
from roamcheck.checker.sweeps.jobs import Axes, Budget, Job, Radio, questions
from roamcheck.checker.sweeps.running import known
from roamcheck.checker.sweeps.sources import generated

RESULTS = Path(__file__).parent / "results" / "sweeps.json"
TABLE = RESULTS.with_name("sweep_table.json")
PROTOCOLS = ("mft-pubsub", "modular")
AXES = Axes(PROTOCOLS, ("printed", "amended"), radios=(Radio("reliable", 0), Radio("detected", 1), Radio("silent", 1)))
BUDGET = Budget(max_states=20_000, seeds=(0,), examples=50)
CORES = 2
FIRST = ("figure-1b", "child-above-parent", "client-there-and-back")  # of the command whose first result is waited for


def timed(folder: Path, jobs: Sequence[Job], run: Runner) -> tuple[float, Folder]:
    """Seconds that the work takes, and its folder."""
    found = Folder(folder)
    found.begin({"benchmark": "sweeps"}, jobs, False)
    began = time.perf_counter()
    sweep(Work(found, BUDGET), jobs, run, lambda phase, text: None)
    return time.perf_counter() - began, found


def compared(folder: Folder) -> tuple[list[dict[str, Any]], float]:
    """All rows without their seconds, and the sum of those."""
    rows = [*folder.rows("jobs"), *folder.rows("violations")]
    return rows, sum(row.pop("seconds", 0.0) for row in rows)


def first_result(master: str) -> tuple[float, float]:
    """Seconds from the start of the command to the first file of results, and to its end."""
    with tempfile.TemporaryDirectory() as scratch:
        began = time.perf_counter()
        words = [sys.executable, "-m", "roamcheck", "sweep", *FIRST, "--readings", "all", "--out", "out", "--master", master]
        process = subprocess.Popen(words, cwd=scratch, stdout=subprocess.DEVNULL)
        first = None
        while process.poll() is None:
            if first is None and Folder(Path(scratch) / "out").done():
                first = time.perf_counter() - began
            time.sleep(0.02)
        whole = time.perf_counter() - began
        assert process.returncode == 1, process.returncode
        return first if first is not None else whole, whole


def measure(scenarios: int, master: str) -> dict[str, Any]:
    """All of it."""
    jobs = list(questions(generated(Bounds(scenarios, brokers=3), 0, PROTOCOLS), AXES))
    print(f"{len(jobs):,} questions of {scenarios} scenarios", flush=True)
    known()
    with tempfile.TemporaryDirectory() as scratch:
        used = time.process_time()
        alone, plain = timed(Path(scratch) / "plain", jobs, in_this_process)
        used = time.process_time() - used
        rows, _ = compared(plain)
        done = sum("outcome" in row for row in rows)
        print(f"one process: {alone:.1f} s, {done / alone:.0f} jobs/s", flush=True)
        began = time.perf_counter()
        with spark_session(master, quick=True) as session:
            start = time.perf_counter() - began
            warm, _ = timed(Path(scratch) / "warm", jobs[: 4 * CORES], on_spark(session))
            together, folder = timed(Path(scratch) / "spark", jobs, on_spark(session))
        children = os.times().children_user + os.times().children_system  # Java and its Python processes, start and end included
        again, seconds = compared(folder)
        assert again == rows, "the rows differ"
    overhead = (together * CORES - seconds) / done
    print(f"seconds of the processor: {used:.1f} in one process, {children:.1f} on Spark with its start", flush=True)
    print(f"{master}: {together:.1f} s, {done / together:.0f} jobs/s, {alone / together:.2f} ×; {overhead * 1e3:.1f} ms overhead a job", flush=True)
    first, whole = first_result(master)
    print(f"a session begins in {start:.1f} s; a command's first result after {first:.1f} s, its end after {whole:.1f} s", flush=True)
    return {
        "jobs": done, "one process, s": round(alone, 2), "one process, CPU s": round(used, 2), "spark, CPU s": round(children, 2),
        "spark, s": round(together, 2), "ratio": round(alone / together, 2),
        "overhead per job, ms": round(overhead * 1e3, 2), "session, s": round(start, 2), "first tasks, s": round(warm, 2),
        "first result, s": round(first, 2), "small command, s": round(whole, 2), "load before": round(os.getloadavg()[2], 2),
    }  # fmt: skip


def condensed(report: dict[str, Any]) -> dict[str, Any]:
    """By protocol, readings, radio and property: of how many scenarios, and how many violate it."""
    found: dict[tuple[str, ...], list[int]] = {}
    radios = tuple(str(radio) for radio in report["asked"]["radios"])
    for row in report["verdicts"]:
        if row["radio"] in radios:
            total = found.setdefault((row["protocol"], row["readings"], row["radio"], row["property"]), [0, 0, 0])
            asked = row["jobs"] - row["not_applicable"]
            total[:] = total[0] + asked, total[1] + row["violated"], total[2] + row["undecided"]
    names = ("protocol", "readings", "radio", "property")
    counts = ("asked", "violated", "undecided")
    rows = [{**dict(zip(names, key, strict=True)), **dict(zip(counts, total, strict=True))} for key, total in found.items()]
    return {"asked": report["asked"], "radios": radios, "questions": report["questions"], "rows": rows}


def main() -> None:
    """Measures, prints, keeps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenarios", type=int, default=260, metavar="N")
    parser.add_argument("--master", default=f"local[{CORES}]", metavar="URL")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--table", metavar="REPORT")
    given = parser.parse_args()
    if given.table:
        table = condensed(json.loads(Path(given.table).read_text(encoding="utf-8")))
        TABLE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
        return
    versions = {name: metadata.version(name) for name in ("roamcheck", "pyspark", "numpy", "numba", "pyarrow")}
    machine = {"python": platform.python_version(), **versions, "cores": os.cpu_count()}
    found = {"master": given.master, **measure(given.scenarios, given.master), **machine}
    if given.keep:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
