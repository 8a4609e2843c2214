"""Hunts mutants over the bundled scenarios and writes what catches them to checker/mutant_kills.py.

    python benchmarks/hunt_mutants.py             # the mutants whose kill is missing or no longer one; the others are checked
    python benchmarks/hunt_mutants.py --all       # every mutant anew, on the smallest scenario that catches it
    python benchmarks/hunt_mutants.py NAME…       # these anew

What no property catches is listed at the end: it wants a scenario of its own, or a proof that it is equivalent.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic

from roamcheck.checker.mutants import MUTANTS, Kill, Mutant, hunt, is_killed

FILE = Path(__file__).parent.parent / "checker" / "mutant_kills.py"
HEADER = '''"""What catches each mutant: scenario, protocol, readings, property.  Written by benchmarks/hunt_mutants.py."""

KILLS: dict[str, str] = {
'''


def kill_of(mutant: Mutant, anew: bool) -> Kill | None:
    """The kill on record if it is one still, else what the hunt finds."""
    known = mutant.killed_by
    if known is not None and not anew and is_killed(mutant, known):
        return known
    return hunt(mutant)


def main(arguments: list[str]) -> None:
    kills: dict[str, str] = {}
    for mutant in MUTANTS.values():
        began = monotonic()
        anew = "--all" in arguments or mutant.name in arguments
        wanted = anew or not arguments
        found = kill_of(mutant, anew) if wanted else mutant.killed_by
        if found is not None:
            kills[mutant.name] = " ".join((found.scenario, found.protocol, found.readings, found.property))
        if wanted:
            print(f"{mutant.name:32} {mutant.algorithm:12} l.{mutant.line:20} {kills.get(mutant.name, '-'):70} {monotonic() - began:.1f} s", flush=True)
    FILE.write_text(HEADER + "".join(f'    "{name}": "{kill}",\n' for name, kill in kills.items()) + "}\n")
    survivors = [name for name, mutant in MUTANTS.items() if name not in kills and not mutant.reason]
    print(f"{len(MUTANTS)} mutants, {len(kills)} killed, {len(MUTANTS) - len(kills) - len(survivors)} equivalent; survivors: {survivors or 'none'}")


if __name__ == "__main__":
    main(sys.argv[1:])
