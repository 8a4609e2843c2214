"""`roamcheck search --generate N`: draws small scenarios and searches each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import click

from ..files import write_text
from ..options import to_question
from ..question import Question
from ..verdict import ExitCode

FEW = 100  # runs of each scenario, if no number of --examples is given

OPTIONS = (
    click.option("--generate", type=click.IntRange(1, 100_000), metavar="N", help="Draw N small scenarios instead; shrink the first that fails."),
    click.option("--brokers", type=click.IntRange(2, 12), default=4, show_default=True, metavar="N", help="At most, with --generate."),
    click.option("--subscribers", type=click.IntRange(1, 6), default=1, show_default=True, metavar="N", help="At most, with --generate."),
    click.option("--budget", type=click.IntRange(0, 5), default=1, show_default=True, metavar="N", help="Free moves of each sort, with --generate."),
)


def generation_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What to draw."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def drawn(effort: Any, options: dict[str, Any], chosen: set[str], lines: Any, folder: str | None) -> Question | ExitCode:
    """What to ask of the scenario that was found, which is written to the folder; if none was, what that means.  Raises what bad input raises."""
    from roamcheck.model.scenario import as_data, to_toml

    from .. import report
    from ..generating import Bounds, generate

    bounds, began = Bounds(options["generate"], options["brokers"], options["subscribers"], options["budget"]), monotonic()
    effort = effort if "examples" in chosen else replace(effort, examples=FEW)
    with report.ticker("generating") as tick:
        found = generate(
            lambda scenario: to_question(scenario, options), options["protocol"] or "mft-pubsub", bounds, effort, frozenset(options["properties"]),
            lambda count: tick(monotonic() - began, f"{count:,} scenarios tried"), options["mutant"],
        )  # fmt: skip
    if found.scenario is None or found.property is None:
        bound = f"{found.drawn:,} scenarios of at most {bounds.brokers} brokers, {effort.examples:,} runs of each by swarm, seed {effort.seed}"
        lines.add({"scenario": None, "drawn": found.drawn, "bound": bound})
        if not lines.quiet:
            report.say(f"nothing was found within {bound}")
        return ExitCode.UNDECIDED
    lines.add({"scenario": found.scenario.name, "drawn": found.drawn, "breaches": found.property, "generated": as_data(found.scenario)})
    if not lines.quiet:
        report.say(f"scenario {found.drawn:,} breaches {found.property}; the smallest like it:\n\n{to_toml(found.scenario)}")
    if folder is not None:
        write_text(Path(folder) / f"{found.scenario.name}.toml", to_toml(found.scenario))
    return to_question(found.scenario, {**options, "properties": (found.property,)})
