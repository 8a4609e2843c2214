"""What a sweep costs: two cores of Spark against one plain process on the same jobs; and how soon the first result is there.

    python benchmarks/sweeps.py [--every N] [--master URL] [--keep]
    python benchmarks/sweeps.py --table DIR          condense a sweep that is in DIR and has come to its end, for the tables in the README

The scenarios are every other one of all that have three brokers, a subscriber, a publication and two moves in any order (a client's, a broker's, a
link that falls), up to renaming; each is asked under two protocols, two sets of readings and three radios: 2,304 jobs of 10 to 100 ms.  Rows are
asserted to be the same, times only reported: those of the work alone, with a session that has begun and loops that are loaded, and those of the whole
command.  One process is timed before and after Spark, and its mean counts, since machines drift.  Overhead is what the cores were there for per job
beyond the jobs' own seconds.  `--keep` writes benchmarks/results/sweeps.json.
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
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from roamcheck.checker.commands.enumerate import describe, name_of
from roamcheck.checker.enumeration import CLIENT_MOVE, LINK_DOWN, MIGRATE, Bounds, Size, to_scenario
from roamcheck.checker.solver.scenarios import enumerate_scenarios
from roamcheck.checker.spark.session import spark_session
from roamcheck.checker.spark.sweep import SETTINGS, on_spark
from roamcheck.checker.sweeps.driving import Runner, Work, in_this_process, sweep
from roamcheck.checker.sweeps.folder import Folder
from roamcheck.checker.sweeps.jobs import Axes, Budget, Job, Radio, Source, questions
from roamcheck.checker.sweeps.running import known

RESULTS = Path(__file__).parent / "results" / "sweeps.json"
TABLE = RESULTS.with_name("sweep_table.json")
BOUNDS = Bounds((Size(brokers=3, moves=2),), (CLIENT_MOVE, LINK_DOWN, MIGRATE), ordered=False)
PROTOCOLS = ("mft-pubsub", "modular")
AXES = Axes(PROTOCOLS, ("printed", "amended"), radios=(Radio("reliable", 0), Radio("detected", 1), Radio("silent", 1)))
BUDGET = Budget(max_states=20_000, seeds=(0,), examples=50)
CORES = 2
STARTS = 3  # of the command, of which the median is told
FIRST = ("figure-1b", "child-above-parent", "client-there-and-back")  # of the command whose first result is waited for


def sources(every: int) -> Iterator[Source]:
    """Each of these scenarios that has such a number."""
    for number, candidate in enumerate(enumerate_scenarios(BOUNDS, ())):
        if number % every == 0:
            yield Source("enumerated", to_scenario(candidate, name_of(candidate.size, number), describe(candidate)))


def timed(folder: Path, jobs: Sequence[Job], run: Runner) -> tuple[float, Folder]:
    """Seconds that the work takes, and its folder."""
    found = Folder(folder)
    found.begin({"benchmark": "sweeps"}, jobs, False)
    began = time.perf_counter()
    sweep(Work(found, BUDGET), jobs, run, lambda phase, text: None)
    return time.perf_counter() - began, found


def alone(folder: Path, jobs: Sequence[Job]) -> tuple[float, float, Folder]:
    """Seconds in one process, on the clock and of the processor, and its folder."""
    used = time.process_time()
    seconds, found = timed(folder, jobs, in_this_process)
    used = time.process_time() - used
    print(f"one process: {seconds:.1f} s, {used:.1f} s of the processor", flush=True)
    return seconds, used, found


def compared(folder: Folder) -> tuple[list[dict[str, Any]], float]:
    """All rows without their seconds, and the sum of those."""
    rows = [*folder.rows("jobs"), *folder.rows("violations")]
    return rows, sum(row.pop("seconds", 0.0) for row in rows)


def processor() -> float:
    """Seconds of the processor that this process and all that it has begun have used so far, of those that still run."""
    of: dict[int, tuple[int, float]] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            words = place.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            of[int(place.parent.name)] = int(words[1]), (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    mine, grown = {os.getpid()}, True
    while grown:
        more = {process for process, (parent, _) in of.items() if parent in mine} - mine
        mine, grown = mine | more, bool(more)
    return sum(of[process][1] for process in mine)


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


def measure(every: int, master: str) -> dict[str, Any]:
    """All of it."""
    jobs = list(questions(sources(every), AXES))
    print(f"{len(jobs):,} questions", flush=True)
    known()
    with tempfile.TemporaryDirectory() as scratch:
        before, used, plain = alone(Path(scratch) / "plain", jobs)
        rows, _ = compared(plain)
        done = sum("outcome" in row for row in rows)
        began = time.perf_counter()
        with spark_session(master, SETTINGS, quick=True) as session:
            start = time.perf_counter() - began
            warm, _ = timed(Path(scratch) / "warm", jobs[: 4 * CORES], on_spark(session))
            used_by_all = processor()
            together, folder = timed(Path(scratch) / "spark", jobs, on_spark(session))
            used_by_all = processor() - used_by_all
        again, seconds = compared(folder)
        assert again == rows, "the rows differ"
        after, used_after, _ = alone(Path(scratch) / "again", jobs)
    one, overhead = (before + after) / 2, (together * CORES - seconds) / done
    told = f"{together:.1f} s, {used_by_all:.1f} s of the processor, {one / together:.2f} ×; {overhead * 1e3:.1f} ms overhead a job"
    print(f"{master}: {told}", flush=True)
    starts = [first_result(master) for _ in range(STARTS)]
    first, whole = sorted(starts)[STARTS // 2]
    print(f"a session begins in {start:.1f} s; a command's first result after {first:.1f} s, its end after {whole:.1f} s", flush=True)
    return {
        "scenarios": "enumerated: 3 brokers, 1 subscriber, 1 publication, 2 moves (client-move, link-down, migrate) in any order", "every": every,
        "protocols": PROTOCOLS, "readings": AXES.readings, "radios": [str(radio) for radio in AXES.radios],
        "jobs": done, "one process before and after, s": [round(before, 2), round(after, 2)],
        "one process before and after, CPU s": [round(used, 2), round(used_after, 2)],
        "spark, s": round(together, 2), "spark, CPU s": round(used_by_all, 2), "ratio": round(one / together, 2),
        "seconds of the jobs on spark": round(seconds, 2), "overhead per job, ms": round(overhead * 1e3, 2), "session, s": round(start, 2),
        "first tasks, s": round(warm, 2), "first result, s": [round(first, 2) for first, _ in starts],
        "small command, s": round(whole, 2), "load before": round(os.getloadavg()[2], 2),
    }  # fmt: skip


def condensed(folder: Folder) -> dict[str, Any]:
    """By protocol, readings, radio and property: of how many scenarios, how many violate it, and how many are undecided.

    A question violates what its exploration or the search of any seed violates; it is undecided if neither does and exploring came to no end.
    """
    manifest = folder.manifest()
    assert manifest is not None
    radios, seeds = tuple(manifest["asked"]["radios"]), manifest["asked"]["seeds"]
    names = ("protocol", "readings", "radio", "property")
    explored, searches, found = 0, Counter[int](), dict[tuple[str, ...], dict[int, set[str]]]()
    for row in folder.rows("jobs", ["number", "seed", "complete", "outcome", "error", "verdicts", *names[:3]]):
        assert row["error"] is None, row
        explored += row["seed"] is None and row["outcome"] != "not-applicable"
        if row["seed"] is not None or not row["complete"]:
            searches[row["number"]] += row["seed"] is not None
        if row["radio"] in radios:
            for verdict in row["verdicts"]:
                key = (*(row[name] for name in names[:3]), verdict["property"])
                found.setdefault(key, {}).setdefault(row["number"], set()).add(verdict["verdict"])
    assert {*searches.values()} <= {seeds}, "the sweep has not come to its end: --resume"
    rows = []
    for key, verdicts in sorted(found.items()):
        asked = [each for each in verdicts.values() if each != {"not-applicable"}]
        violated = sum("violated" in each for each in asked)
        undecided = sum("violated" not in each and "holds" not in each for each in asked)
        rows.append({**dict(zip(names, key, strict=True)), "asked": len(asked), "violated": violated, "undecided": undecided})
    told = {"asked": manifest["asked"], "radios": radios, "questions": manifest["questions"]}
    return {**told, "apply": explored, "searched": len(searches), "rows": rows}


def main() -> None:
    """Measures, prints, keeps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=2, metavar="N")
    parser.add_argument("--master", default=f"local[{CORES}]", metavar="URL")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--table", metavar="DIR", type=Path)
    given = parser.parse_args()
    if given.table:
        table = condensed(Folder(given.table))
        rows = ",\n".join(json.dumps(row) for row in table.pop("rows"))
        TABLE.write_text(f'{json.dumps(table)[:-1]}, "rows": [\n{rows}\n]}}\n', encoding="utf-8")
        return
    versions = {name: metadata.version(name) for name in ("roamcheck", "pyspark", "numpy", "numba", "pyarrow")}
    machine = {"python": platform.python_version(), **versions, "cores": os.cpu_count()}
    found = {"master": given.master, **measure(given.every, given.master), **machine}
    if given.keep:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
