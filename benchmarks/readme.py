"""Fills the generated parts of README.md: transcripts of commands, and the tables of verdicts.

    python benchmarks/readme.py            # rewrite them
    python benchmarks/readme.py --check    # exit 1 when they differ from what is there

A generated part stands between `<!-- generated: WHAT -->` and `<!-- end -->`.  WHAT is `$ roamcheck …`, a command whose output is
shown, or `verdicts printed|amended`, a table from tests/agreement/table.json.
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

from roamcheck.spec.properties import PROPERTIES, not_applicable
from roamcheck.spec.protocols import PROTOCOLS

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "tests" / "agreement" / "table.json"
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


def transcript(command: str) -> str:
    """What the command prints, times blanked."""
    words = shlex.split(command.removeprefix("$ "))
    assert words[0] == "roamcheck", command
    environment = {**os.environ, "COLUMNS": "150", "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory() as scratch:  # where the command may write
        (Path(scratch) / "traces").symlink_to(ROOT / "traces")
        called = [sys.executable, "-m", "roamcheck", *words[1:]]
        ran = subprocess.run(called, capture_output=True, text=True, cwd=scratch, env=environment, check=False)
    text = re.sub(r"\d+\.\d+ s\b", "0.01 s", ran.stdout)
    lines = "\n".join(line.rstrip() for line in text.rstrip().splitlines())
    return f"```\n{command}\n{lines}\n```"


def generate(what: str) -> str:
    """The text of one generated part."""
    kind, _, argument = what.partition(" ")
    return transcript(what) if kind == "$" else verdicts(argument)


def regenerated(text: str) -> str:
    """The README with its generated parts made anew."""
    return PART.sub(lambda part: f"<!-- generated: {part[1]} -->\n{generate(part[1])}\n<!-- end -->", text)


def main() -> int:
    readme = ROOT / "README.md"
    before = readme.read_text(encoding="utf-8")
    after = regenerated(before)
    if "--check" in sys.argv:
        return int(before != after)
    readme.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
