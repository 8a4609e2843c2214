"""Networks too large to exhaust: seeded swarms of runs on random trees of 6 to 12 brokers, the same networks for each contender.

    python benchmarks/large.py [--networks N] [--examples N] [--protocol P[:READINGS]]… [--keep]

Of each size and each kind so many networks are drawn, each with its own moves, from a fixed seed; in each so many runs of at most 300 steps are made,
in swarms.  A network fails when a run violates a property that is promised; it is replayed before it counts, and the network is left then.  What is
not found is not excluded.  --keep writes benchmarks/results/large.json, size by size, which FINDINGS.md shows.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from roamcheck.checker.question import question
from roamcheck.checker.sampling.confirming import why_not
from roamcheck.checker.sampling.runs import Enough, Run, Sampler
from roamcheck.checker.searching import Effort, run
from roamcheck.model.scenario import FORMAT, Scenario, from_data
from roamcheck.spec.properties import PROPERTIES

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "large.json"
CONTENDERS = ("mft-pubsub-r:printed", "mft-pubsub:printed", "mft-pubsub:amended")
SIZES = (6, 8, 10, 12)
SUBSCRIBERS, EVENTS, LONGEST = 3, 3, 300
KINDS = ("4 broker moves", "2 cuts, 3 merges, 2 broker moves", "2 durable crashes, 3 broker moves")  # and three client moves each
Moves = list[dict[str, Any]]


def network(brokers: int, kind: str, number: int) -> Scenario:
    """A random tree; the last subscriber subscribes meanwhile, and the first changes its filters."""
    chance = Random(f"{brokers} {kind} {number}")
    names = [f"b{k}" for k in range(1, brokers + 1)]
    links = [[names[chance.randrange(k)], names[k]] for k in range(1, brokers)]
    at = {f"s{k}": chance.choice(names) for k in range(1, SUBSCRIBERS + 1)}
    moves: Moves = [
        {"id": "newcomer", "do": "subscribe", "subscriber": f"s{SUBSCRIBERS}", "filter": "f1"},
        {"id": "another", "do": "subscribe", "subscriber": "s1", "filter": "f2"},
        {"id": "no-more", "do": "unsubscribe", "subscriber": "s1", "filter": "f1", "after": ["another"]},
    ]
    for s in at:
        moves.append({"id": f"{s}-leaves", "do": "detach", "subscriber": s})
        moves.append({"id": f"{s}-arrives", "do": "attach", "subscriber": s, "to": chance.choice(names), "after": [f"{s}-leaves"]})
    moves += OF_BROKERS[kind](chance, names, links)
    if kind == KINDS[2]:
        moves += [{"id": f"{s}-returns", "do": "attach", "subscriber": s, "to": b} for s, b in at.items()]
    return from_data({
        "format": FORMAT,
        "name": f"large-{brokers}-{number}",
        "network": {"leaders": ["b1"], "links": links},
        "filters": {"f1": {"f1": 1}, "f2": {"f2": 1}},
        "subscribers": {s: {"at": b, "filters": ["f1"] if s != f"s{SUBSCRIBERS}" else []} for s, b in at.items()},
        "publishers": {"p1": {"at": chance.choice(names)}},
        "events": {f"e{k}": {"from": "p1", "attributes": {"f1": 1, "f2": 1}} for k in range(1, EVENTS + 1)},
        "start": {"subscriptions": "settled"},
        "moves": moves,
        "free": {"publish": EVENTS},
    }, "large")  # fmt: skip


def migrations(chance: Random, names: list[str], how_many: int) -> Moves:
    """Any broker to any other, whenever the overlay allows it; some never."""
    pairs = [chance.sample(names, 2) for _ in range(how_many)]
    return [{"id": f"move-{k}", "do": "migrate", "broker": b, "to": to} for k, (b, to) in enumerate(pairs)]


def cuts_and_merges(chance: Random, names: list[str], links: list[list[str]]) -> Moves:
    """Two links fall, and three times a broker joins another that is apart from it then."""
    cut = chance.sample(links, 2)
    moves: Moves = [{"id": f"cut-{k}", "do": "link-down", "link": link} for k, link in enumerate(cut)]
    pairs = [(cut[0][1], chance.choice(names)), (cut[1][1], chance.choice(names)), tuple(chance.sample(names, 2))]
    moves += [{"id": f"merge-{k}", "do": "merge", "broker": u, "to": v} for k, (u, v) in enumerate(pairs) if u != v]
    return moves + migrations(chance, names, 2)


def crashes(chance: Random, names: list[str], links: list[list[str]]) -> Moves:
    """Two brokers crash and come back elsewhere."""
    moves: Moves = []
    for b in chance.sample(names, 2):
        to = chance.choice([other for other in names if other != b])
        moves += [{"id": f"{b}-crashes", "do": "crash", "broker": b, "state": "durable"}]
        moves += [{"id": f"{b}-returns", "do": "migrate", "broker": b, "to": to, "after": [f"{b}-crashes"]}]
    return moves + migrations(chance, names, 1)


OF_BROKERS: dict[str, Callable[[Random, list[str], list[list[str]]], Moves]] = {
    KINDS[0]: lambda chance, names, links: migrations(chance, names, 4),
    KINDS[1]: cuts_and_merges,
    KINDS[2]: crashes,
}


class UntilBreach(Sampler):
    """One that has enough when something was found."""

    def keep(self, run: Run) -> None:
        """Keep it, and end there."""
        super().keep(run)
        if self.found:
            raise Enough


def searched(scenarios: list[Scenario], contender: str, examples: int) -> dict[str, int]:
    """In how many of them some run violates what is promised, how many steps were made, and how many distinct states seen."""
    protocol, _, readings = contender.partition(":")
    total = Counter[str]()
    for scenario in scenarios:
        asked = question(scenario, protocol=protocol, readings=readings or None)
        model = asked.model()
        model = replace(model, properties=tuple(of for of in model.properties if PROPERTIES[of.name].decisive))
        sampler = UntilBreach(model, examples=examples, longest=LONGEST)
        run(sampler, Effort("swarm"))
        for of in model.properties:
            if of.name in sampler.found:
                why = why_not(model, of, sampler.found[of.name].counterexample)
                assert why is None, why
        total.update({"networks": 1, "failing": bool(sampler.found), "runs": sampler.done})
        total.update({"steps": sampler.steps, "states": len(sampler.graph.nodes)})
        if sampler.found:
            print(f"{scenario.name} {contender}: {', '.join(sorted(sampler.found))}", flush=True)
        assert sampler.failed is None, sampler.failed
    return dict(total)


def rows(networks: int, examples: int, contenders: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """What came of each size and kind."""
    for brokers in SIZES:
        for kind in KINDS:
            drawn = [network(brokers, kind, number) for number in range(networks)]
            found = {contender: searched(drawn, contender, examples) for contender in contenders}
            yield {"brokers": brokers, "subscribers": SUBSCRIBERS, "events": EVENTS, "budget": kind, "found": found}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=int, default=20, metavar="N")
    parser.add_argument("--examples", type=int, default=50, metavar="N")
    parser.add_argument("--protocol", action="append", metavar="P[:READINGS]")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    kept: list[dict[str, Any]] = []
    for row in rows(options.networks, options.examples, tuple(options.protocol or CONTENDERS)):
        kept.append(row)
        print(f"{row['brokers']} brokers, {row['budget']}: {row['found']}", flush=True)
        if options.keep:
            about = {"networks": options.networks, "examples": options.examples, "longest": LONGEST, "rows": kept}
            RESULTS.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
