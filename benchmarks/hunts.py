"""How soon search finds the known faults of the published protocol, where their moves are left to free budgets.

    python benchmarks/hunts.py [--keep] [--seeds N] [NAME…]     --keep writes benchmarks/results/hunts.json

Three questions about each bundled scenario hunt-*, and the fault that it has room for:

* Does Hypothesis find it within 2,000 examples, for how many of 10 seeds, and how much longer than the shortest is the shrunk trace?  The scenarios
  are so small that shrinking may look at all of their states, so the lengths without such ways round are given too.
* How many examples until then, with targets and without, for the same 20 seeds?  Medians, and the ratio of medians, without over with, with its
  bootstrap interval of 95 %: above 1, targets help.
* How many do the strategies random and swarm need?
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from random import Random
from statistics import geometric_mean, median
from time import monotonic
from typing import Any

from roamcheck.checker.engines import hypothesis_guide, random_runs, reference
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.checker.sampling.confirming import why_not
from roamcheck.checker.sampling.runs import Enough, Sampler
from roamcheck.checker.sampling.shrinking import shrink
from roamcheck.checker.verdict import Violated
from roamcheck.model.build import build
from roamcheck.model.measures import measures

RESULTS = Path(__file__).parent / "results" / "hunts.json"
HUNTS = {  # each with the property that its fault violates; semantics section 8
    "hunt-far-move": "no-routing-loop",
    "hunt-child-above-parent": "no-routing-loop",
    "hunt-client-then-broker": "no-routing-loop",
    "hunt-there-and-back": "routing-converged",
    "hunt-overlap-queue": "no-duplicate",
    "hunt-shared-filter": "no-duplicate",
    "hunt-lost-control": "routing-converged",
}
LARGER = {"peers-e": "eventual-delivery"}  # too large to look at all of it
EXAMPLES, LONGEST, APART = 2_000, 200, 1_000  # seeds are far apart, since each round of one search takes the next one
STRATEGIES = {
    "targets": hypothesis_guide.guided,
    "no-targets": lambda sampler, seed: hypothesis_guide.guided(sampler, seed, targets=False),
    "random": random_runs.uniform,
    "swarm": random_runs.swarm,
}


def hunt(name: str, prop: str, strategy: str, seed: int) -> Sampler:
    """One search."""
    world = question(load_scenario(name), properties=(prop,)).world()
    sampler = Sampler(build(world, (prop,)), measures=measures(world), examples=EXAMPLES, longest=LONGEST)
    with suppress(Enough):
        STRATEGIES[strategy](sampler, seed * APART)
    return sampler


def lengths(sampler: Sampler, prop: str) -> tuple[int, int]:
    """Of the shrunk trace, and of the one shrunk without ways round; both are replayed."""
    both = []
    for around in (4_000, 0):
        shrunk = shrink(sampler.graph, 0, sampler.found[prop].counterexample, around)
        assert why_not(sampler.model, sampler.model.properties[0], shrunk) is None
        both.append(shrunk.length)
    return both[0], both[1]


def shortest(name: str, prop: str) -> int:
    """Of all counterexamples, breadth first."""
    verdict = reference.explore(question(load_scenario(name), properties=(prop,)).model()).verdicts[prop]
    assert isinstance(verdict, Violated)
    return verdict.counterexample.length


def interval(guided: dict[str, list[int]], unguided: dict[str, list[int]]) -> tuple[float, float, float]:
    """The geometric mean over the scenarios of the ratio of medians, and its interval: seeds are drawn anew, the same ones for both."""
    draw = Random(1)

    def mean_ratio(seeds: list[int]) -> float:
        return geometric_mean([median([unguided[name][k] for k in seeds]) / median([guided[name][k] for k in seeds]) for name in guided])

    count = len(next(iter(guided.values())))
    drawn = sorted(mean_ratio([draw.randrange(count) for _ in range(count)]) for _ in range(4_000))
    return tuple(round(value, 2) for value in (mean_ratio(list(range(count))), drawn[100], drawn[-101]))  # type: ignore[return-value]


def measure(name: str, prop: str, seeds: int) -> dict[str, Any]:
    """All that is asked about one scenario."""
    began, examples = monotonic(), {}
    found: dict[str, Any] = {"property": prop}
    for strategy in STRATEGIES:
        searches = [hunt(name, prop, strategy, seed) for seed in range(seeds)]
        examples[strategy] = [search.found[prop].example if prop in search.found else EXAMPLES for search in searches]
        if strategy == "targets" and name in HUNTS:
            ten = searches[:10]
            caught, best = [search for search in ten if prop in search.found], shortest(name, prop)
            pairs = [lengths(search, prop) for search in caught]
            found |= {
                "found_within_2000": f"{len(caught)} of {len(ten)}",
                "shortest": best,
                "shrunk_beyond_shortest": [one - best for one, _ in pairs],
                "shrunk_without_ways_round_beyond_shortest": [other - best for _, other in pairs],
            }
    found["medians"] = {strategy: median(of) for strategy, of in examples.items()}
    found["ratio"] = interval({name: examples["targets"]}, {name: examples["no-targets"]})
    return {**found, "examples": examples, "seconds": round(monotonic() - began, 1)}


def main() -> int:
    """Answers the exit code: 1 where a bar is missed."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("names", nargs="*", metavar="NAME", help="scenarios (default: all)")
    words.add_argument("--seeds", type=int, default=20, help="how many (default: 20)")
    words.add_argument("--keep", action="store_true", help="write the results")
    given = words.parse_args()
    wanted = {name: prop for name, prop in (HUNTS | LARGER).items() if not given.names or name in given.names}
    found, missed = {}, 0
    for name, prop in wanted.items():
        row = found[name] = measure(name, prop, given.seeds)
        print(name, json.dumps({key: value for key, value in row.items() if key != "examples"}), flush=True)
        if name in HUNTS:
            caught, of = map(int, row["found_within_2000"].split(" of "))
            missed += caught < 0.9 * of or max(row["shrunk_beyond_shortest"]) > 2
    if given.keep and given.names and RESULTS.exists():  # what was measured of the others stays
        before = json.loads(RESULTS.read_text(encoding="utf-8"))
        if before["seeds"] == given.seeds:
            found = {name: found.get(name, row) for name, row in before["scenarios"].items()} | found
    hunts = [name for name in found if name in HUNTS]
    overall = interval({n: found[n]["examples"]["targets"] for n in hunts}, {n: found[n]["examples"]["no-targets"] for n in hunts}) if hunts else None
    print("ratio over the hunts, without targets over with, and its 95 % interval:", overall)
    versions = {"roamcheck": version("roamcheck"), "hypothesis": version("hypothesis"), "python": platform.python_version()}
    if given.keep:
        kept = {"examples": EXAMPLES, "seeds": given.seeds, "versions": versions, "ratio": overall, "scenarios": found}
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
