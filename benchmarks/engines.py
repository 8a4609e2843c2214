"""How fast the engines are, with all properties on, and Spin on the same transition systems; counts are asserted, times only reported.

    python benchmarks/engines.py [SCENARIO…] [--runs N] [--only CONTENDER…]    default: peers-b peers-c, three runs of each
    python benchmarks/engines.py --keep […]                                   and write them to benchmarks/results/engines.json
    python benchmarks/engines.py --quiet […]                                  and run again what the host of this machine was in the way of
    python benchmarks/engines.py --one CONTENDER SCENARIO                     one run, as a line of JSON

Every run is a process of its own, and the contenders take turns.  Seconds are those of the search alone, as the contender says: roamcheck's
with its properties, cycles and counterexamples, Spin's with assertions only; Spin's build comes on top.  Memory is the process's peak.
On a virtual machine others may take its processors away meanwhile: how much of them is told with each run, where Linux tells it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from spin import pan as spin

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "engines.json"
TABLE = ROOT / "tests" / "agreement" / "table.json"
WHAT = "mft-pubsub under the printed readings; roamcheck with all properties, Spin with assertions only; seconds of the search alone"
QUIET = 0.05  # of the processors' time at most was taken away
TRIAL = "child-above-parent"  # small: shows whether roamcheck offers a contender, and compiles what is compiled once

CONTENDERS: dict[str, tuple[str, ...]] = {  # options of `roamcheck check`, none for Spin; the number is that of the workers
    "reference": ("--engine", "reference"),
    "spin": (),
    "tabled-1": ("--engine", "tabled", "--workers", "1", "--no-reduction"),
    "tabled-2": ("--engine", "tabled", "--workers", "2", "--no-reduction"),
    "reduced-1": ("--engine", "tabled", "--workers", "1"),
    "reduced-2": ("--engine", "tabled", "--workers", "2"),
}


class RunError(Exception):
    """A contender that does not run, or does not give an answer; one line."""


class NotOfferedError(RunError):
    """The roamcheck that is installed knows no such engine or option."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a contender."""

    states: int
    transitions: int
    reductions: tuple[str, ...]
    seconds: float  # of the search
    wall: float  # of the process
    megabytes: float  # its peak
    stolen: float = 0.0  # the share of all processors' time that the host gave to others meanwhile


@dataclass(slots=True)
class Row:
    """All runs of a contender on a scenario."""

    scenario: str
    contender: str
    runs: list[Run] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(run.seconds for run in self.runs)

    def as_record(self) -> dict[str, Any]:
        """Its part of the manifest."""
        first = asdict(self.runs[0])
        return {
            "scenario": self.scenario,
            "contender": self.contender,
            "states": first["states"],
            "transitions": first["transitions"],
            "reductions": first["reductions"],
            "seconds": [round(run.seconds, 3) for run in self.runs],
            "median": round(self.median, 3),
            "wall": [round(run.wall, 3) for run in self.runs],
            "stolen": [round(run.stolen, 3) for run in self.runs],
            "megabytes": round(statistics.median(run.megabytes for run in self.runs)),
        }


# -- one run -------------------------------------------------------------------------------------------


def measured(command: Sequence[str]) -> tuple[str, str, int, float, float]:
    """Run it in a folder of its own: standard output, standard error, exit code, seconds, peak megabytes."""
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=scratch)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return out.read(), err.read(), process.returncode, wall, usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def run_roamcheck(contender: str, scenario: str) -> Run:
    """Raises RunError."""
    asked = ("--protocol", "mft-pubsub", "--readings", "printed", "--tell", "none", "--json", "-")
    where = str(Path(scenario).resolve()) if Path(scenario).exists() else scenario
    out, err, code, wall, megabytes = measured([sys.executable, "-m", "roamcheck", "check", where, *CONTENDERS[contender], *asked])
    said = err.strip().rpartition("\n")[2]
    if code == 2 and not out:
        raise NotOfferedError(said)
    if code not in (0, 1):
        raise RunError(f"{contender} on {scenario}: exit code {code}: {said}")
    verdict = json.loads(out)
    if not verdict["complete"]:
        raise RunError(f"{contender} on {scenario}: complete = {verdict['complete']}, reductions = {verdict['reductions']}")
    return Run(verdict["states"], verdict["transitions"], tuple(verdict["reductions"]), max(verdict["seconds"], 0.001), wall, megabytes)


def run_spin(verifier: Path) -> Run:
    """Raises SpinError."""
    said, _, _, wall, megabytes = measured([str(verifier), *spin.ARGUMENTS])
    states, transitions = spin.counts(said)
    seconds = spin.elapsed(said)
    if seconds is None:
        seconds = max(wall - measured([str(verifier), *spin.AT_ONCE])[3], 0.001)
    return Run(states, transitions, (), seconds, wall, megabytes)


def one(contender: str, scenario: str) -> Run:
    """One run, Spin built for it.  Raises RunError or SpinError."""
    if contender != "spin":
        return run_roamcheck(contender, scenario)
    with tempfile.TemporaryDirectory() as folder:
        return run_spin(spin.build(scenario, Path(folder)))


# -- many runs -----------------------------------------------------------------------------------------


def offered(names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Which contenders can run here, and why not the others."""
    here, gone = [], {}
    for name in names:
        try:
            why = spin.missing() if name == "spin" else None
            if name != "spin":
                run_roamcheck(name, TRIAL)
        except NotOfferedError as error:
            why = str(error)
        if why is None:
            here.append(name)
        else:
            gone[name] = why
            print(f"{name}: skipped: {why}", flush=True)
    return here, gone


def stolen() -> float:
    """Seconds of processors that the host has given to others so far, where Linux tells them."""
    told = Path("/proc/stat")
    return int(told.read_text().split()[8]) / os.sysconf("SC_CLK_TCK") if told.exists() else 0.0


def compete(scenario: str, names: Sequence[str], runs: int, quiet: bool = False) -> list[Row]:
    """The contenders take turns, `runs` times; if `quiet`, a run is repeated, up to twice for each that counts, while others take too much of the
    machine.  Raises RunError or SpinError; asserts the counts."""
    rows = {name: Row(scenario, name) for name in names}
    with tempfile.TemporaryDirectory() as folder:
        verifier = None
        if "spin" in names:
            try:
                verifier = spin.build(scenario, Path(folder))
            except spin.SpinError as error:
                print(f"spin: skipped: {error}", flush=True)
                del rows["spin"]
        for _ in range(runs):
            for name, row in rows.items():
                for last in (False, False, True):
                    before, began = stolen(), time.perf_counter()
                    run = run_spin(verifier) if name == "spin" and verifier else run_roamcheck(name, scenario)
                    away = (stolen() - before) / (time.perf_counter() - began) / (os.cpu_count() or 1)
                    counts = last or not quiet or away <= QUIET
                    told = f"{run.seconds:.2f} s, {run.megabytes:,.0f} MB, {away:.0%} stolen{'' if counts else ': again'}"
                    print(f"{scenario}: {name}: {run.states:,} states, {told}", flush=True)
                    if counts:
                        row.runs.append(replace(run, stolen=away))
                        break
    agree(scenario, list(rows.values()))
    return list(rows.values())


def agree(scenario: str, rows: Sequence[Row]) -> None:
    """Without reductions all count the same, in the agreement table too where that has the scenario; with them, the same in every run."""
    listed = json.loads(TABLE.read_text()).get(f"{scenario} mft-pubsub printed")
    expected = {(listed["states"], listed["transitions"])} if listed else set()
    found = {(run.states, run.transitions) for row in rows for run in row.runs if not run.reductions}
    assert len(expected | found) <= 1, f"{scenario}: expected {expected}, found {found}"
    for row in rows:
        assert len({(run.states, run.transitions) for run in row.runs}) == 1, f"{scenario}: {row.contender} counts differently from run to run"


# -- reports -------------------------------------------------------------------------------------------


def show(rows: Sequence[Row]) -> None:
    """A table: medians, and how many times as fast as the reference and as Spin."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE)
    for column in ("scenario", "contender", "states", "transitions", "s", "k states/s", "MB", "× reference", "× spin"):
        table.add_column(column, justify="left" if column in ("scenario", "contender") else "right", no_wrap=True)
    medians = {(row.scenario, row.contender): row.median for row in rows}
    for row in rows:
        kept = row.as_record()
        base = [medians.get((row.scenario, name)) for name in ("reference", "spin")]
        ratios = [f"{other / row.median:.2f}" if other else "" for other in base]
        rate = f"{kept['states'] / row.median / 1000:,.0f}"
        cells = (f"{kept['states']:,}", f"{kept['transitions']:,}", f"{row.median:.2f}", rate, f"{kept['megabytes']:,}")
        table.add_row(row.scenario, row.contender, *cells, *ratios)
    Console(width=None if sys.stdout.isatty() else 150).print(table)


def version_of(command: Sequence[str]) -> str:
    """The first line of what a program says of its version; "missing" where there is none."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()[0]
    except (OSError, IndexError):
        return "missing"


def versions() -> dict[str, str]:
    """Of all that took part."""
    found = {"roamcheck": metadata.version("roamcheck"), "python": platform.python_version()}
    for package in ("numpy", "numba"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "missing"
    return {**found, "spin": version_of(["spin", "-V"]), "gcc": version_of(["gcc", "--version"])}


def processor() -> str:
    """Its name, where the system gives one."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor())


def keep(rows: Sequence[Row], gone: dict[str, str]) -> None:
    """Write the manifest; what it has of other scenarios stays if the versions are the same."""
    before = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    mine = {row.scenario for row in rows}
    others = [run for run in before.get("runs", []) if run["scenario"] not in mine] if before.get("versions") == versions() else []
    manifest = {
        "what": WHAT,
        "machine": platform.machine(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "versions": versions(),
        "spin_build": f"{' '.join(spin.COMPILE)}; ./pan {' '.join(spin.ARGUMENTS)}",
        "skipped": gone,
        "runs": sorted([*others, *(row.as_record() for row in rows)], key=lambda run: str(run["scenario"])),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> int:
    words = argparse.ArgumentParser(description="How fast the engines are, and Spin beside them.")
    words.add_argument("scenarios", nargs="*", default=["peers-b", "peers-c"], metavar="SCENARIO", help="default: peers-b peers-c")
    words.add_argument("--runs", type=int, default=3, metavar="N", help="of each contender (default: 3)")
    words.add_argument("--only", nargs="+", choices=CONTENDERS, default=list(CONTENDERS), metavar="CONTENDER", help=", ".join(CONTENDERS))
    words.add_argument("--keep", action="store_true", help="write the manifest")
    words.add_argument("--quiet", action="store_true", help="run again what others took much of the machine from")
    words.add_argument("--one", choices=CONTENDERS, metavar="CONTENDER", help="one run, as a line of JSON")
    given = words.parse_intermixed_args()
    try:
        if given.one:
            print(json.dumps(asdict(one(given.one, given.scenarios[0]))))
            return 0
        names, gone = offered(given.only)
        rows = [row for scenario in given.scenarios for row in compete(scenario, names, max(given.runs, 1), given.quiet)]
    except (RunError, spin.SpinError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    show(rows)
    if given.keep:
        keep(rows, gone)
    return 0


if __name__ == "__main__":
    sys.exit(main())
