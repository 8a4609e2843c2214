"""Hunts the mutants over the bundled scenarios and writes what kills them to checker/mutant_kills.py.

    python benchmarks/hunt_mutants.py             # every mutant that has no kill, or whose kill is none any more
    python benchmarks/hunt_mutants.py all         # every mutant anew, the small scenarios first; two minutes
    python benchmarks/hunt_mutants.py NAME…       # these anew
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from roamcheck.checker.mutants import MUTANTS, Kill, Mutant, hunt, is_killed

FILE = Path(__file__).parent.parent / "checker" / "mutant_kills.py"
HEADER = '''"""Where each mutant is killed: scenario, protocol, readings, property.  Written by benchmarks/hunt_mutants.py."""

KILLS: dict[str, tuple[str, str, str, str]] = {
'''


def kill_of(mutant: Mutant, names: list[str]) -> Kill | None:
    """The kill on record if it is to stay, else what the hunt finds."""
    known = mutant.killed_by
    if mutant.reason or (names and names != ["all"] and mutant.name not in names):
        return known
    return known if not names and known is not None and is_killed(mutant, known) else hunt(mutant)


def main(names: list[str]) -> None:
    survivors, lines = [], []
    for mutant in MUTANTS.values():
        began = time.monotonic()
        kill = kill_of(mutant, names)
        if kill is not None:
            lines.append(f'    "{mutant.name}": ("{kill.scenario}", "{kill.protocol}", "{kill.readings}", "{kill.property}"),\n')
            print(lines[-1].rstrip(), f" # {time.monotonic() - began:.1f} s", flush=True)
        elif not mutant.reason:
            survivors.append(mutant.name)
            print(f"    # {mutant.name}: survives ({mutant.says})", flush=True)
    FILE.write_text(HEADER + "".join(lines) + "}\n")
    print(f"{len(MUTANTS)} mutants, {len(lines)} killed; survivors: {', '.join(survivors) or 'none'}")


if __name__ == "__main__":
    main(sys.argv[1:])
