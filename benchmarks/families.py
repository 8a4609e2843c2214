"""Families of scenarios, each explored to the end without reductions: how many scenarios, states and failures.

    python benchmarks/families.py [NAME…] [--protocol P[:READINGS]]… [--workers N] [--keep] [--seconds N] [--missing]
                                                          default: all, the repaired protocol and mft-pubsub
    python benchmarks/families.py --list
    python benchmarks/families.py --out DIR NAME…         write the scenario files of families, for `roamcheck sweep` or anything else

A scenario fails when a property is violated that is promised.  Each family is explored by one process, N of them at a time.  --keep adds what
came out to benchmarks/results/families.json, which FINDINGS.md shows, family by family, so that a stop loses little; --missing leaves out what is
there already and complete.  A family that takes more than so many seconds of a core is stopped after the scenario at hand: its row is unfinished.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

from roamcheck.checker.batch import Tally, Task, findings
from roamcheck.checker.question import question
from roamcheck.checker.tabled.loading import load
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
        yield from noticed_apart(bounce)
        yield from merging_at_once(bounce)


def noticed_apart(bounce: str) -> Iterator[Family]:
    """Those in which the ends of a link that falls notice it one by one."""
    assume = {"bounce": bounce, "notice": "apart"}
    yield Family(f"3-brokers-2b-apart-{bounce}", 3, free=B2, assume=assume)
    yield Family(f"3-brokers-1c1b-apart-{bounce}", 3, free=C1B1, assume=assume)
    yield Family(f"3-brokers-1c2b-apart-{bounce}", 3, free=C1B2, assume=assume)
    yield Family(f"3-brokers-1-change-1b-apart-{bounce}", 3, changes=1, free={"broker-moves": 1}, assume=assume)
    yield Family(f"3-brokers-durable-crash-2b-apart-{bounce}", 3, free={**B2, "crashes": 1}, assume=assume)
    yield Family(f"4-brokers-cut-merge-apart-{bounce}", 4, free=CUT_MERGE, assume=assume)
    yield Family(f"4-brokers-1c1b-apart-{bounce}", 4, free=C1B1, assume=assume)
    yield Family(f"4-brokers-2b-apart-{bounce}", 4, free=B2, assume=assume)


def merging_at_once(bounce: str) -> Iterator[Family]:
    """Those in which components merge again while an earlier merge still turns next hops."""
    assume, reading, free = {"bounce": bounce}, {"merges": "at-once"}, {"merges": 2}
    yield Family(f"4-brokers-in-3-trees-2-merges-at-once-{bounce}", 4, trees=(3,), free=free, assume=assume, reading=reading)
    yield Family(f"4-brokers-cut-2-merges-at-once-{bounce}", 4, trees=(2,), free={**free, "link-failures": 1}, assume=assume, reading=reading)
    yield Family(f"5-brokers-in-3-trees-2-merges-at-once-{bounce}", 5, trees=(3,), free=free, assume=assume, reading=reading)


def explored(family: Family, contender: str, seconds: float | None) -> dict[str, Any]:
    """What came of a family under a protocol and a set of readings; seconds are those of a core, whatever else the machine does."""
    protocol, _, readings = contender.partition(":")
    ask = partial(question, protocol=protocol, readings=readings or None, reading=dict(family.reading))
    task, tally, largest = Task(ask, reduce=False), Tally(), 0
    load()
    begun = time.process_time()
    scenarios, complete = [*members(family)], True
    for finding in findings(scenarios, task):
        tally.add(finding)
        largest = max(largest, finding.states)
        if seconds is not None and time.process_time() - begun > seconds:
            complete = tally.scenarios == len(scenarios)
            break
    return {
        "family": family.name, "protocol": protocol, "readings": readings, "members": len(scenarios), "complete": complete,
        "scenarios": tally.scenarios, "states": tally.states, "largest": largest, "failing": tally.violating, "undecided": tally.undecided,
        "violated": dict(sorted(tally.violated.items())), "failed": len(tally.failed), "seconds": round(time.process_time() - begun, 1),
    }  # fmt: skip


def kept_rows() -> list[dict[str, Any]]:
    """What is kept."""
    rows: list[dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    return rows


def of_row(row: dict[str, Any]) -> tuple[str, str]:
    """The family and the contender."""
    return row["family"], f"{row['protocol']}:{row['readings']}".rstrip(":")


def add(row: dict[str, Any]) -> None:
    """Keep a row in place of the one for the same."""
    order = {family.name: number for number, family in enumerate(families())}
    rows = [*(other for other in kept_rows() if of_row(other) != of_row(row)), row]
    rows.sort(key=lambda one: (order.get(one["family"], len(order)), one["protocol"], one["readings"]))
    RESULTS.write_text("[\n" + ",\n".join(json.dumps(one) for one in rows) + "\n]\n", encoding="utf-8")


def with_readings(contender: str) -> str:
    """The contender with its readings named, printed if none are."""
    return contender if ":" in contender else f"{contender}:printed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--out", type=Path, metavar="DIR")
    parser.add_argument("--protocol", action="append", metavar="P[:READINGS]")
    parser.add_argument("--workers", type=int, default=2, metavar="N")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--seconds", type=float, metavar="N")
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
        done = {of_row(row) for row in kept_rows() if row["complete"]} if options.missing else set()
        pairs = [(family, contender) for contender in map(with_readings, options.protocol or CONTENDERS) for family in chosen]
        run([(family, contender) for family, contender in pairs if (family.name, contender) not in done], options)
    return 0


def run(pairs: list[tuple[Family, str]], options: argparse.Namespace) -> None:
    """Explore and tell, family by family; what is kept is kept at once."""
    with ProcessPoolExecutor(options.workers, multiprocessing.get_context("spawn")) as pool:
        waiting = [pool.submit(explored, family, contender, options.seconds) for family, contender in pairs]
        for task in as_completed(waiting):
            row = task.result()
            far = f"{row['scenarios']}" if row["complete"] else f"unfinished, {row['scenarios']} of {row['members']}"
            counts = f"{far} scenarios, {row['states']:,} states, {row['failing']} fail, {row['undecided']} undecided"
            print(f"{' '.join(of_row(row))}: {counts}, {row['seconds']} s", flush=True)
            if options.keep:
                add(row)


if __name__ == "__main__":
    sys.exit(main())
