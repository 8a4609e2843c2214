"""Fills the generated parts of README.md and FINDINGS.md: transcripts of commands, faults with their charts, tables.

    python benchmarks/readme.py            # rewrite them
    python benchmarks/readme.py --check    # exit 1 when they differ from what is there

A generated part stands between `<!-- generated: WHAT -->` and `<!-- end -->`.  WHAT is `$ roamcheck …`, a command whose output is
shown; `fault SCENARIO PROPERTY LINES [--OPTION …]`, the shortest counterexample as a chart, which must pass the printed LINES ("Alg. 6 l.28, Alg. 4
l.20"); `verdicts printed|amended`, a table from tests/agreement/table.json; `sweep printed|amended`, one from
benchmarks/results/sweep_table.json, and `sweep asked`, the command it is of and how far that came; `engines`, a table from
benchmarks/results/engines.json; or what repaired_tables.py makes: `listing`, `families`, `costs`, `ingredients`, `large`.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from repaired_tables import PARTS

from roamcheck.spec.properties import PROPERTIES, not_applicable
from roamcheck.spec.protocols import PROTOCOLS

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "tests" / "agreement" / "table.json"
RESULTS = ROOT / "benchmarks" / "results" / "engines.json"
SWEEP = ROOT / "benchmarks" / "results" / "sweep_table.json"
PART = re.compile(r"<!-- generated: (.*?) -->\n.*?<!-- end -->", re.DOTALL)


def shortest(readings: str) -> dict[tuple[str, str], tuple[int, str]]:
    """(protocol, property) → (length, scenario) of the shortest counterexample on any bundled scenario."""
    best: dict[tuple[str, str], tuple[int, int, str]] = {}
    for key, row in json.loads(TABLE.read_text()).items():
        scenario, protocol, under = key.split()
        if under == readings:
            for prop, length in row["violated"].items():
                found = (length, row["states"], scenario)
                best[protocol, prop] = min(best.get((protocol, prop), found), found)
    return {pair: (length, scenario) for pair, (length, _, scenario) in best.items()}


def verdicts(readings: str) -> str:
    """A row for each property, a column for each protocol: the length of the shortest counterexample, or that none exists."""
    found = shortest(readings)
    lines = ["| property | " + " | ".join(f"`{name}`" for name in PROTOCOLS) + " |", "|---|" + "---|" * len(PROTOCOLS)]
    for info in PROPERTIES.values():
        cells = []
        for protocol in PROTOCOLS.values():
            if not_applicable(info, protocol):
                cells.append("–")
            elif (protocol.name, info.name) not in found:
                cells.append("holds")
            else:
                length, scenario = found[protocol.name, info.name]
                trace = f"traces/{protocol.name}.{info.name}.jsonl"
                cells.append(f"[{length}]({trace}) {scenario}" if readings == "printed" else f"{length} {scenario}")
        lines.append(f"| `{info.name}`{'' if info.decisive else ' ¹'} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def called(words: list[str], scratch: str) -> str:
    """What roamcheck prints in that folder."""
    environment = {**os.environ, "COLUMNS": "150", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "roamcheck", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=scratch, env=environment, check=False).stdout


def fault(argument: str) -> str:
    """The command, how long the shortest counterexample is, and its chart."""
    scenario, prop, cited, *options = shlex.split(argument)
    command = ["check", scenario, "--property", prop, *options]
    with tempfile.TemporaryDirectory() as scratch:
        verdict = json.loads(called([*command, "--no-reduction", "--traces", ".", "--json", "-"], scratch))["properties"][prop]
        assert verdict["verdict"] == "violated", argument
        text = called(["replay", verdict["trace"]], scratch)
        chart = called(["replay", verdict["trace"], "--to", "mermaid"], scratch).rstrip()
    passed = lines_passed(text)
    for line in filter(None, cited.split(", ")):
        assert line in passed, f"{argument}: the run does not pass {line}"
    return f"`roamcheck {shlex.join(command)}`: {verdict['length']} steps.\n\n```mermaid\n{chart}\n```"


def lines_passed(text: str) -> set[str]:
    """Every printed line that a replay names in brackets: "Alg. 6 l.28"."""
    found = set()
    for cites in re.findall(r"\[\w+ (Alg\..*?)\]", text):
        for algorithm, numbers in re.findall(r"(Alg\. \w+) l\.([\d–, ]+)", cites):
            for part in numbers.strip(", ").split(", "):
                first, _, last = part.partition("–")
                found |= {f"{algorithm} l.{n}" for n in range(int(first), int(last or first) + 1)}
    return found


def transcript(command: str) -> str:
    """What the command prints, times blanked."""
    words = shlex.split(command.removeprefix("$ "))
    assert words[0] == "roamcheck", command
    with tempfile.TemporaryDirectory() as scratch:  # where the command may write
        (Path(scratch) / "traces").symlink_to(ROOT / "traces")
        printed = called(words[1:], scratch)
    text = re.sub(r"\d+\.\d+ s\b", "0.01 s", printed)
    lines = "\n".join(line.rstrip() for line in text.rstrip().splitlines())
    return f"```\n{command}\n{lines}\n```"


def engines() -> str:
    """A row for each scenario, a column for each contender: rate and memory; with reductions, what is left of the states and how long it takes."""
    if not RESULTS.exists():
        return "No results are kept; `make bench` measures."
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    runs = {(run["scenario"], run["contender"]): run for run in kept["runs"]}
    contenders = list(dict.fromkeys(contender for _, contender in runs))
    lines = ["| scenario | states | transitions | " + " | ".join(contenders) + " |", "|---|--:|--:|" + "---|" * len(contenders)]
    for scenario in dict.fromkeys(name for name, _ in runs):
        mine = [runs.get((scenario, contender)) for contender in contenders]
        states, transitions = max((run["states"], run["transitions"]) for run in mine if run)
        lines.append(f"| `{scenario}` | {states:,} | {transitions:,} | " + " | ".join(cell(run) if run else "–" for run in mine) + " |")
    versions = ", ".join(f"{name} {version}" for name, version in kept["versions"].items() if name in ("roamcheck", "python", "numpy", "numba"))
    return "\n".join([*lines, "", f"Thousand states a second and peak memory; medians. {versions}; {kept['processor']}, {kept['cores']} cores."])


def cell(run: dict[str, Any]) -> str:
    """What one contender did on one scenario."""
    memory = f"{run['megabytes']:,} MB"
    if run["reductions"]:
        return f"{run['states']:,} states in {run['median']:.2f} s, {memory}"
    return f"{run['states'] / run['median'] / 1000:,.0f} k/s, {memory}"


def sweep(readings: str) -> str:
    """A row for each property, a column for each protocol: how many scenarios violate it without losses, with one seen, and with one unseen."""
    if not SWEEP.exists():
        return "No results are kept; `python benchmarks/sweeps.py --table DIR` condenses those of a sweep."
    kept = json.loads(SWEEP.read_text(encoding="utf-8"))
    if readings == "asked":
        return swept(kept)
    counts = {(row["protocol"], row["property"], row["radio"]): row for row in kept["rows"] if row["readings"] == readings and row["asked"]}
    asked = [" · ".join(str(counts[name, "well-formed", radio]["asked"]) for radio in kept["radios"]) for name in PROTOCOLS]
    lines = ["| property | " + " | ".join(f"`{name}`" for name in PROTOCOLS) + " |", "|---|" + "---|" * len(PROTOCOLS)]
    lines.append("| *of* | " + " | ".join(f"*{cell}*" for cell in asked) + " |")
    for info in PROPERTIES.values():
        cells = []
        for protocol in PROTOCOLS:
            rows = [row for radio in kept["radios"] if (row := counts.get((protocol, info.name, radio)))]
            cells.append(" · ".join(f"{row['violated']}" + f" ({row['undecided']}?)" * (row["undecided"] > 0) for row in rows) or "–")
        if set(cells) != {"–"}:
            lines.append(f"| `{info.name}`{'' if info.decisive else ' ¹'} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def swept(kept: dict[str, Any]) -> str:
    """The command of the sweep, and how many of its questions were explored to the end."""
    asked = kept["asked"]
    axes = [f"--radio {radio}" for radio in asked["radios"]]
    budget = [f"--max-states {asked['max_states']}", f"--seeds {asked['seeds']}", f"--examples {asked['examples']}"]
    command = " ".join(["$ roamcheck sweep bundled --protocol all --readings all", *axes, "\\\n   ", *budget, "--out bundled.d"])
    apply, searched, ended = kept["apply"], kept["searched"], kept["apply"] - kept["searched"]
    told = (
        f"{kept['questions']:,} questions, {apply:,} of them about scenarios whose moves the protocol knows: {ended:,} were explored to the "
        f"end, {searched:,} as far as {asked['max_states']:,} states and then searched, {asked['examples']} runs for each of {asked['seeds']} seeds."
    )
    return f"```\n{command}\n```\n\n{told}"


def generate(what: str) -> str:
    """The text of one generated part."""
    kind, _, argument = what.partition(" ")
    if kind == "engines":
        return engines()
    if kind == "sweep":
        return sweep(argument)
    if kind == "fault":
        return fault(argument)
    if kind in PARTS:
        return PARTS[kind](argument)
    return transcript(what) if kind == "$" else verdicts(argument)


def regenerated(text: str) -> str:
    """The document with its generated parts made anew."""
    return PART.sub(lambda part: f"<!-- generated: {part[1]} -->\n{generate(part[1])}\n<!-- end -->", text)


def main() -> int:
    differ = False
    for document in (ROOT / "README.md", ROOT / "FINDINGS.md"):
        before = document.read_text(encoding="utf-8")
        after = regenerated(before)
        differ = differ or before != after
        if "--check" not in sys.argv:
            document.write_text(after, encoding="utf-8")
    return int(differ and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
