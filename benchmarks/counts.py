"""How many scenarios there are within bounds: what the enumeration finds, against a count that knows nothing of Z3 (tests/support/brute.py).

    python benchmarks/counts.py [--most N] [--alone N] [--keep]

Every number of brokers up to five, of subscribers up to two, of moves up to two, with one event and without; of every kind of move where the labelled
scenarios are at most N (default 100,000), else of every pair of kinds, else of every kind, and ordered where that is within N too; of one kind in any
order up to another N (default 450,000).  What is beyond is listed as left out.  --keep writes benchmarks/results/counts.json after each bound, and
takes from there what was counted before.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from roamcheck.checker.enumeration import KINDS, USUAL, Bounds, Size, actions  # noqa: E402
from roamcheck.checker.solver.scenarios import enumerate_scenarios  # noqa: E402
from support import brute  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "counts.json"
SHAPES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 9}  # rooted trees: as many overlays are looked at
ORDERS = {n: sum(1 for _ in brute.orders(n)) for n in range(4)}


@dataclass(frozen=True)
class Case:
    """Bounds, and how many labelled scenarios there are within."""

    bounds: Bounds
    labelled: int


def case(size: Size, kinds: tuple[int, ...], ordered: bool) -> Case:
    placed = size.brokers ** (size.subscribers + size.publishers)
    orders = ORDERS[size.units] if ordered else 1
    return Case(Bounds((size,), kinds, ordered=ordered), SHAPES[size.brokers] * placed * len(actions(size, kinds)) ** size.moves * orders)


def cases(most: int) -> Iterator[Case]:
    """Of each size and order, the widest choice of kinds that is within `most`; the widest of all where none is."""
    for brokers, subscribers, moves, events in product(range(1, 6), range(3), range(3), range(2)):
        size = Size(brokers, 1, subscribers, events, min(1, subscribers + events), events, moves)
        for ordered in (True, False) if size.units > 1 else (False,):
            for width in (len(USUAL), 2, 1):
                some = [case(size, kinds, ordered) for kinds in combinations(USUAL, width)]
                if max(one.labelled for one in some) <= most or width == 1:
                    yield from some
                    break
            if moves == 0:
                break


def look(one: Case) -> dict[str, Any]:
    """Enumerate and count, and say so."""
    begun = time.monotonic()
    found = sum(1 for _ in enumerate_scenarios(one.bounds))
    between = time.monotonic()
    counted = brute.count(one.bounds.sizes[0], one.bounds)
    sign, seconds = "=" if found == counted else "≠", time.monotonic() - between
    print(f"{one.bounds}: {found:,} {sign} {counted:,}; {between - begun:.1f} s, {seconds:.1f} s", flush=True)
    return {"enumerated": found, "counted": counted}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=100_000, metavar="N")
    parser.add_argument("--alone", type=int, default=450_000, metavar="N")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    before = json.loads(RESULTS.read_text(encoding="utf-8"))["bounds"] if options.keep and RESULTS.exists() else []
    known = {json.dumps({**row, "enumerated": 0, "counted": 0}): row for row in before if "counted" in row}
    rows: list[dict[str, Any]] = []
    for one in cases(options.most):
        size, bounds = one.bounds.sizes[0], one.bounds
        row: dict[str, Any] = {
            "brokers": size.brokers, "subscribers": size.subscribers, "events": size.events, "moves": size.moves,
            "kinds": [KINDS[kind] for kind in bounds.kinds], "ordered": bounds.ordered, "labelled": one.labelled,
        }  # fmt: skip
        if one.labelled <= (options.most if bounds.ordered or len(bounds.kinds) > 1 else options.alone):
            row = known.get(json.dumps({**row, "enumerated": 0, "counted": 0})) or {**row, **look(one)}
        rows.append(row)
        if options.keep:  # with what is still to be taken up, lest a stop lose it
            keep([*rows, *before[len(rows) :]], options.most)
    if options.keep:
        keep(rows, options.most)
    looked = [row for row in rows if "counted" in row]
    scenarios, left_out, wrong = sum(row["counted"] for row in looked), len(rows) - len(looked), different(rows)
    print(f"{len(looked)} bounds counted, {wrong} differ; {scenarios:,} scenarios; {left_out} left out")
    return 1 if wrong else 0


def different(rows: list[dict[str, Any]]) -> int:
    """Of how many bounds the numbers differ."""
    return sum(row.get("enumerated") != row.get("counted") for row in rows)


def keep(rows: list[dict[str, Any]], most: int) -> None:
    """Write what is known."""
    record = {"what": " ".join((__doc__ or "").split("\n")[0].split()), "most": most, "differ": different(rows), "bounds": rows}
    RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
