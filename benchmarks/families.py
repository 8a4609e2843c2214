"""Families of scenarios, each explored to the end without reductions: how many scenarios, states and failures.

    python benchmarks/families.py [NAME…] [--protocol P[:READINGS]]… [--workers N] [--keep]     default: all, the repaired protocol and mft-pubsub
    python benchmarks/families.py --list
    python benchmarks/families.py --out DIR NAME…         write the scenario files of families, for `roamcheck sweep` or anything else

A scenario fails when a property is violated that is promised.  --keep adds what came out to
benchmarks/results/families.json, which FINDINGS.md shows.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from roamcheck.checker.batch import Tally, Task, findings
from roamcheck.checker.question import question
from roamcheck.model.families import Family, members
from roamcheck.model.scenario import to_toml

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "families.json"
CONTENDERS = ("mft-pubsub-r:printed", "mft-pubsub:printed", "mft-pubsub:amended")
C1B1, B2, C1B2 = {"client-moves": 1, "broker-moves": 1}, {"broker-moves": 2}, {"client-moves": 1, "broker-moves": 2}

CUT_MERGE = {"link-failures": 1, "merges": 1}


def families() -> Iterator[Family]:
    """Those of the design's own exploration, and beyond it."""
    for bounce in ("atomic", "later"):
        assume = {"bounce": bounce}
        yield Family(f"3-brokers-2-events-1c1b-{bounce}", 3, events=2, free=C1B1, assume=assume)
        yield Family(f"3-brokers-2-events-2b-{bounce}", 3, events=2, free=B2, assume=assume)
        yield Family(f"3-brokers-2-events-1c2b-{bounce}", 3, events=2, free=C1B2, assume=assume)
        yield Family(f"3-brokers-2-subscribers-1c1b-{bounce}", 3, subscribers=2, free=C1B1, assume=assume)
        yield Family(f"3-brokers-2-subscribers-2-events-2b-{bounce}", 3, subscribers=2, events=2, free=B2, assume=assume)
        yield Family(f"3-brokers-2-subscribers-1c2b-{bounce}", 3, subscribers=2, free=C1B2, assume=assume)
        yield Family(f"3-brokers-newcomer-1c2b-{bounce}", 3, newcomers=1, free=C1B2, assume=assume)
        yield Family(f"3-brokers-2-changes-1b-{bounce}", 3, changes=2, free={"broker-moves": 1}, assume=assume)
        yield Family(f"3-brokers-1-change-1c1b-{bounce}", 3, changes=1, free=C1B1, assume=assume)
        yield Family(f"3-brokers-durable-crash-2b-{bounce}", 3, free={**B2, "crashes": 1}, assume=assume)
        yield Family(f"4-brokers-1c1b-{bounce}", 4, free=C1B1, assume=assume)
        yield Family(f"4-brokers-2-events-2b-{bounce}", 4, events=2, free=B2, assume=assume)
        yield Family(f"4-brokers-1c2b-{bounce}", 4, free=C1B2, assume=assume)
        yield Family(f"4-brokers-2-subscribers-2b-{bounce}", 4, subscribers=2, free=B2, assume=assume)
        yield Family(f"4-brokers-2-subscribers-1c1b-{bounce}", 4, subscribers=2, free=C1B1, assume=assume)
        yield Family(f"4-brokers-2-subscribers-1c2b-{bounce}", 4, subscribers=2, free=C1B2, assume=assume)
        yield Family(f"4-brokers-2-events-1c1b-{bounce}", 4, events=2, free=C1B1, assume=assume)
        yield Family(f"4-brokers-newcomer-1c1b-{bounce}", 4, newcomers=1, free=C1B1, assume=assume)
        yield Family(f"4-brokers-2-changes-1b-{bounce}", 4, changes=2, free={"broker-moves": 1}, assume=assume)
        yield Family(f"4-brokers-1-change-1c1b-{bounce}", 4, changes=1, free=C1B1, assume=assume)
        yield Family(f"4-brokers-publisher-1c1b-{bounce}", 4, publisher_moves=1, free=C1B1, assume=assume)
        yield Family(f"4-brokers-durable-crash-1c1b-{bounce}", 4, free={**C1B1, "crashes": 1}, assume=assume)
        yield Family(f"4-brokers-in-2-trees-merge-1c-{bounce}", 4, trees=(2,), free={"merges": 1, "client-moves": 1}, assume=assume)
        yield Family(f"4-brokers-in-2-trees-merge-1b-{bounce}", 4, trees=(2,), free={"merges": 1, "broker-moves": 1}, assume=assume)
        yield Family(f"4-brokers-cut-merge-{bounce}", 4, free=CUT_MERGE, assume=assume)
        yield Family(f"4-brokers-newcomer-cut-merge-{bounce}", 4, newcomers=1, free=CUT_MERGE, assume=assume)
        yield Family(f"4-brokers-newcomer-cut-2-merges-{bounce}", 4, trees=(2, 3), newcomers=1, free={"link-failures": 1, "merges": 2}, assume=assume)
        yield Family(f"3-brokers-1-change-cut-merge-1c-{bounce}", 3, changes=1, free={**CUT_MERGE, "client-moves": 1}, assume=assume)
        yield Family(f"5-brokers-in-2-trees-merge-{bounce}", 5, trees=(2,), free={"merges": 1}, assume=assume)
        yield Family(f"5-brokers-2b-{bounce}", 5, free=B2, assume=assume)
        yield Family(f"5-brokers-1c1b-{bounce}", 5, free=C1B1, assume=assume)
        yield Family(f"5-brokers-1c2b-{bounce}", 5, free=C1B2, assume=assume)


def explored(family: Family, contender: str, workers: int) -> dict[str, Any]:
    """What came of a family under a protocol and a set of readings."""
    protocol, _, readings = contender.partition(":")
    task, tally, largest, begun = Task(partial(question, protocol=protocol, readings=readings or None), reduce=False), Tally(), 0, time.monotonic()
    for finding in findings(members(family), task, workers):
        tally.add(finding)
        largest = max(largest, finding.states)
    return {
        "family": family.name, "protocol": protocol, "readings": readings, "scenarios": tally.scenarios, "states": tally.states, "largest": largest,
        "failing": tally.violating, "undecided": tally.undecided, "violated": dict(sorted(tally.violated.items())),
        "seconds": round(time.monotonic() - begun, 1),
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--out", type=Path, metavar="DIR")
    parser.add_argument("--protocol", action="append", metavar="P[:READINGS]")
    parser.add_argument("--workers", type=int, default=2, metavar="N")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    known = {family.name: family for family in families()}
    for name in options.names:
        if name not in known:
            parser.error(f"no family is called {name!r}; --list names them")
    chosen = [known[name] for name in options.names] if options.names else [*known.values()]
    if options.list:
        print("\n".join(f"{family.name}  {sum(1 for _ in members(family))} scenarios" for family in chosen))
    elif options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        for scenario in (one for family in chosen for one in members(family)):
            (options.out / f"{scenario.name}.toml").write_text(to_toml(scenario), encoding="utf-8")
    else:
        run(chosen, options.protocol or CONTENDERS, options.workers, options.keep)
    return 0


def run(chosen: list[Family], contenders: tuple[str, ...], workers: int, keep: bool) -> None:
    """Explore and tell, family by family; what is kept is kept at once."""
    for family in chosen:
        for contender in contenders:
            row = explored(family, contender, workers)
            counts = f"{row['scenarios']} scenarios, {row['states']:,} states, {row['failing']} fail"
            print(f"{family.name}  {contender}: {counts}, {row['seconds']} s", flush=True)
            if keep:
                kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
                same = ("family", "protocol", "readings")
                kept = [other for other in kept if any(other[key] != row[key] for key in same)] + [row]
                RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
