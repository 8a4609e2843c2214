"""Writes traces/: the runs of the papers' figures, a shortest counterexample for every pair (protocol, property) that is violated on a
bundled scenario with printed readings, and one for each ingredient of the repaired protocol that is taken out.

    python benchmarks/traces.py

Which scenario has the shortest one is read from tests/agreement/table.json (see table.py).
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from readme import shortest  # noqa: E402

from roamcheck.checker.check import answer  # noqa: E402
from roamcheck.checker.files import load_scenario, write_text  # noqa: E402
from roamcheck.checker.question import question  # noqa: E402
from roamcheck.checker.trace import Steps, dumps, record  # noqa: E402
from roamcheck.spec.readings import REPAIRED  # noqa: E402
from support.figures import FIGURES, follow  # noqa: E402
from support.ingredients import MISSED  # noqa: E402

TRACES = HERE.parent / "traces"


def without(ingredient: str) -> str:
    """The name of the trace of a run that breaks the repaired protocol without an ingredient."""
    return f"{REPAIRED}.without-{ingredient}.jsonl"


def main() -> None:
    kept = {f"{name}.jsonl" for name in FIGURES}
    for name, (scenario, protocol, _) in FIGURES.items():
        asked = question(load_scenario(scenario), protocol=protocol)
        model, steps, _ = follow(name)
        write_text(TRACES / f"{name}.jsonl", dumps(record(asked, model, Steps(steps), property=None, engine="figure")))
    wanted: dict[tuple[str, str], list[str]] = {}
    for (protocol, prop), (_, scenario) in shortest("printed").items():
        wanted.setdefault((scenario, protocol), []).append(prop)
    for (scenario, protocol), properties in sorted(wanted.items()):
        given = answer(question(load_scenario(scenario), protocol=protocol))
        for prop in properties:
            kept.add(f"{protocol}.{prop}.jsonl")
            write_text(TRACES / f"{protocol}.{prop}.jsonl", dumps(given.traces[prop]))
            print(protocol, prop, given.traces[prop].header.length, scenario, flush=True)
    for ingredient, (scenario, _, (prop, *_)) in MISSED.items():
        given = answer(question(load_scenario(scenario), protocol=REPAIRED, reading={ingredient: "taken-out"}, properties=(prop,)))
        kept.add(without(ingredient))
        write_text(TRACES / without(ingredient), dumps(given.traces[prop]))
    for path in TRACES.glob("*.jsonl"):
        if path.name not in kept:
            path.unlink()


if __name__ == "__main__":
    main()
