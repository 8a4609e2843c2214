"""Builds Spin's verifier for a scenario, and reads what it says.

    spin -a mft.pml; gcc -O3 -DSAFETY -DNOREDUCE -w -o pan pan.c; ./pan -m100000

Without partial-order reduction: every step reads or writes global arrays, so that it reduces nothing.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ARGUMENTS = ("-m100000",)  # how deep the search may go
AT_ONCE = ("-m1",)  # starts and stops: what a run costs before it searches
COMPILE = ("gcc", "-O3", "-DSAFETY", "-DNOREDUCE", "-w", "-o", "pan", "pan.c")


class SpinError(Exception):
    """The scenario is refused, the build fails, or the run proves nothing; one line."""


def missing() -> str | None:
    """What is not installed here, of what is needed."""
    gone = [tool for tool in ("spin", "gcc") if shutil.which(tool) is None]
    return f"{' and '.join(gone)} not installed" if gone else None


def build(scenario: str, folder: Path) -> Path:
    """The verifier, built in the folder; twelve seconds, most of them gcc's.  Raises SpinError."""
    made = subprocess.run([sys.executable, str(HERE / "generate.py"), scenario], capture_output=True, text=True, check=False)
    if made.returncode:
        raise SpinError(made.stderr.strip().removeprefix("error: "))
    (folder / "scenario.h").write_text(made.stdout)
    shutil.copy(HERE / "mft.pml", folder)
    for command in (("spin", "-a", "mft.pml"), COMPILE):
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise SpinError(f"{' '.join(command)}: {(ran.stdout + ran.stderr).strip() or ran.returncode}")
    return folder / "pan"


def counts(said: str) -> tuple[int, int]:
    """States and transitions of a run that went to the end.  Raises SpinError.

    Spin counts the initial state among the transitions; it is taken off.
    """
    states, transitions = re.search(r"(\d+) states, stored", said), re.search(r"(\d+) transitions \(", said)
    if not states or not transitions or not re.search(r"errors: 0$", said, re.MULTILINE) or "Search not completed" in said:
        why = next((line for line in said.splitlines() if line.startswith(("pan:", "error:"))), said.strip()[-200:])
        raise SpinError(f"no whole search: {why}")
    return int(states[1]), int(transitions[1]) - 1


def elapsed(said: str) -> float | None:
    """The time of the search alone, in seconds; None when Spin does not say, or when it is below what Spin measures."""
    found = re.search(r"pan: elapsed time ([\d.e+-]+) seconds", said)
    return float(found[1]) or None if found else None
