"""Kill a search again and again, resume it each time, and see that the answer is that of a search that was left alone.

    python benchmarks/kills.py [SCENARIO] [--kills N] [--seed N] [--max-memory SIZE]     default: peers-e, ten kills, 320M

Everything is compared but seconds: verdicts, lengths, counts, and the traces byte by byte.  Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def command(scenario: str, folder: Path, *more: str) -> list[str]:
    """A search without reductions, with its traces in the folder."""
    options = ("--no-reduction", "--tell", "none", "--json", str(folder / "verdict.json"), "--traces", str(folder / "traces"))
    return [sys.executable, "-m", "roamcheck", "check", scenario, *options, *more]


def outcome(folder: Path) -> tuple[Any, dict[str, str]]:
    """The verdict without its time, and the traces."""
    verdict = json.loads((folder / "verdict.json").read_text())
    del verdict["seconds"]
    for told in verdict["properties"].values():
        told["trace"] = told["trace"] and Path(told["trace"]).name
    return verdict, {path.name: path.read_text() for path in sorted((folder / "traces").iterdir())}


def main() -> int:
    """Answers the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", nargs="?", default="peers-e")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-memory", default="320M")
    given = parser.parse_args()
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as scratch:
        alone = Path(scratch, "alone")
        alone.mkdir()
        begun = time.monotonic()
        subprocess.run(command(given.scenario, alone), check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        whole = time.monotonic() - begun
        expected, differing = outcome(alone), 0
        for number in range(given.kills):
            folder = Path(scratch, f"killed-{number}")
            folder.mkdir()
            run = command(given.scenario, folder, "--checkpoint", str(folder / "checkpoint"), "--max-memory", given.max_memory)
            moment = chance.uniform(0.3, 1.3 * whole)
            process = subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(moment)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
            manifest = folder / "checkpoint" / "checkpoint.json"
            depth = len(json.loads(manifest.read_text())["search"]["levels"]) - 1 if manifest.exists() else None
            again = subprocess.run([*run, "--resume"], check=False, capture_output=True, text=True)
            same = (folder / "verdict.json").exists() and outcome(folder) == expected
            differing += not same
            ended = "killed" if process.returncode == -signal.SIGKILL else "had ended"
            came = "the same answer" if same else f"DIFFERENT: {again.stderr.strip()}"
            print(f"{ended} after {moment:5.1f} s, checkpoint of depth {depth}: {came}", flush=True)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
