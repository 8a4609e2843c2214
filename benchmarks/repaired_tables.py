"""The generated parts of FINDINGS.md on the repaired protocol: its listing, families of scenarios, what it costs, what each ingredient is for."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from families import families as all_families  # noqa: E402

from roamcheck.checker.trace import loads  # noqa: E402
from roamcheck.spec.readings import READINGS, REPAIRED  # noqa: E402
from support.ingredients import MISSED  # noqa: E402

FAMILIES = ROOT / "benchmarks" / "results" / "families.json"
COSTS = ROOT / "benchmarks" / "results" / "costs.json"
LARGE = ROOT / "benchmarks" / "results" / "large.json"
CONTENDERS = (("mft-pubsub-r", "printed"), ("mft-pubsub", "printed"), ("mft-pubsub", "amended"))
TITLES = ("`mft-pubsub-r`", "printed", "amended")
FIGURES = {"figure-1a": "Figure 3", "figure-1b": "Figure 4"}
MODULES = ("mftr_alg1_turns", "mftr_alg2_events", "mftr_alg3_filters", "mftr_alg4_links")


def table(head: list[str], rows: list[list[str]], right: int) -> str:
    """A table; all columns from that one on are numbers."""
    ruler = "|".join("---" if n < right else "--:" for n in range(len(head)))
    return "\n".join(["| " + " | ".join(head) + " |", f"|{ruler}|", *("| " + " | ".join(row) + " |" for row in rows)])


def listing(_: str) -> str:
    """The four algorithms, from the docstrings of their modules."""
    parts = []
    for name in MODULES:
        text = import_module(f"roamcheck.spec.algorithms.{name}").__doc__ or ""
        title, _, body = text.partition("\n\n")
        lines = [line for line in body.splitlines() if re.match(r"    .", line)]
        parts.append(f"**{title.split('.')[0]}**\n\n```\n" + "\n".join(line.removeprefix("    ") for line in lines) + "\n```")
    return "\n\n".join(parts)


def families(_: str) -> str:
    """A row for each family; for each contender how many scenarios fail of how many were explored, the states, the seconds."""
    if not FAMILIES.exists():
        return "No results are kept; `python benchmarks/families.py --keep` explores."
    kept = {(row["family"], row["protocol"], row["readings"]): row for row in json.loads(FAMILIES.read_text(encoding="utf-8"))}
    rows = []
    for name in dict.fromkeys(family for family, _, _ in kept):
        found = [kept.get((name, *contender)) for contender in CONTENDERS]
        of = max(row["members"] for row in found if row)
        rows.append([f"`{name}`", str(of), *(cell for row in found for cell in explored(row))])
    sums = ["**together**", f"{sum(int(row[1]) for row in rows):,}"]
    for protocol, readings in CONTENDERS:
        mine = [row for row in kept.values() if (row["protocol"], row["readings"]) == (protocol, readings)]
        sums += [f"{sum(row['failing'] for row in mine):,} of {sum(row['scenarios'] for row in mine):,}", f"{sum(row['states'] for row in mine):,}"]
        sums += [f"{sum(row['seconds'] for row in mine):,.0f}"]
    head = ["family", "scenarios", *(f"{title}{what}" for title in TITLES for what in (" fail", ": states", ": s"))]
    missing = [f"`{one.name}`" for one in all_families() if (one.name, *CONTENDERS[0]) not in kept]
    return table(head, [*rows, sums], 1) + (f"\n\nDefined and not explored yet: {', '.join(missing)}." if missing else "")


def explored(row: dict[str, Any] | None) -> list[str]:
    """The cells of one contender; where not all scenarios were explored, of how many the figures are."""
    if row is None:
        return ["–", "–", "–"]
    failing = str(row["failing"]) if row["complete"] else f"{row['failing']} of {row['scenarios']}: unfinished"
    return [failing + (f", {row['undecided']} undecided" if row["undecided"] else ""), f"{row['states']:,}", f"{row['seconds']:,.0f}"]


def costs(_: str) -> str:
    """Figures 3 and 4, then the sums over the other scenarios of which no run was cut off."""
    if not COSTS.exists():
        return "No results are kept; `python benchmarks/costs.py --keep` measures."
    scenarios = json.loads(COSTS.read_text(encoding="utf-8"))["scenarios"]
    contenders = [f"{protocol}:{readings}" for protocol, readings in CONTENDERS]
    rows = [[figure, *three(scenarios[name], contenders, "control")] for name, figure in FIGURES.items()]
    others = [row for name, row in scenarios.items() if name not in FIGURES and not any(of.get("cut-off") for of in row.values())]
    total = {c: {key: sum(row[c].get(key, 0) for row in others) for key in keys()} for c in contenders}
    rows += [[f"{len(others)} scenarios: {sort}", *three(total, contenders, sort)] for sort in ("control", "events")]
    sent = [[row[c].get("control-messages", 0) for c in contenders] for row in others]
    dear = [sum(means[0] > means[k] + 0.05 for means in sent) for k in (1, 2)]
    head = ["run", *(f"{title}: messages, items, bytes" for title in TITLES)]
    more = ", ".join(f"{of} {title}" for of, title in zip(dear, ("as printed", "as amended"), strict=True))
    return table(head, rows, 1) + f"\n\nScenarios in which `mft-pubsub-r` sends more control messages than `mft-pubsub`: {more}."


def keys() -> list[str]:
    """What is counted."""
    return [f"{sort}-{what}" for sort in ("control", "events") for what in ("messages", "items", "bytes")]


def three(of: dict[str, dict[str, float]], contenders: list[str], sort: str) -> list[str]:
    """Messages, items and bytes of each contender."""
    return [", ".join(f"{of[c].get(f'{sort}-{what}', 0):,.0f}" for what in ("messages", "items", "bytes")) for c in contenders]


def ingredients(_: str) -> str:
    """What each ingredient decides, and the run that shows what comes of its absence."""
    about = {reading.name: reading for reading in READINGS}
    rows = []
    for name, (scenario, _, properties) in MISSED.items():
        path = f"traces/{REPAIRED}.without-{name}.jsonl"
        length = loads((ROOT / path).read_text(encoding="utf-8"), path).header.length
        command = f"roamcheck check {scenario} --protocol {REPAIRED} --reading {name}=taken-out --property {properties[0]}"
        rows.append([f"`{name}`", f"{about[name].question} ({about[name].source})", f"`{command}`", f"[{length}]({path})"])
    return table(["taken out", "what it decides: as it is, or without it", "command: violated", "steps"], rows, 3)


def large(_: str) -> str:
    """Single runs over networks too large to exhaust."""
    if not LARGE.exists():
        return "No results are kept; `python benchmarks/large.py --keep` searches."
    kept, rows = json.loads(LARGE.read_text(encoding="utf-8")), []
    for row in kept["rows"]:
        found = [cell for protocol, readings in CONTENDERS for cell in seen(row["found"][f"{protocol}:{readings}"])]
        rows.append([str(row["brokers"]), row["budget"], *found])
    head = ["brokers", "what moves", *(f"{title}: {what}" for title in TITLES for what in ("networks that fail", "steps"))]
    how = f"`python benchmarks/large.py --networks {kept['networks']} --examples {kept['examples']} --keep`"
    return table(head, rows, 2) + f"\n\n{how}; a run has at most {kept['longest']} steps, and a network that fails is left then."


def seen(found: dict[str, int]) -> list[str]:
    """Of how many networks runs failed, and how far they went."""
    return [f"{found['failing']} of {found['networks']}", f"{found['steps']:,}"]


PARTS: dict[str, Callable[[str], str]] = {"listing": listing, "families": families, "costs": costs, "ingredients": ingredients, "large": large}
