"""`scenarios --enumerate` and `check --enumerate`: all scenarios within bounds, listed, written to files, or explored one after the other."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, product
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any

import click

from roamcheck.checker.enumeration import KINDS, NONE, USUAL, Bounds, BoundsError, Candidate, Size, to_scenario
from roamcheck.checker.interrupts import heed, held_back
from roamcheck.checker.options import BAD_INPUT, need_z3, refuse, to_question
from roamcheck.checker.verdict import CannotBegin, ExitCode
from roamcheck.model.scenario import Scenario, as_data, to_toml

MANY = 50_000  # candidates beyond which --yes is asked for
SIZES = ("brokers", "components", "subscribers", "publishers", "filters", "events", "moves")
HELP = {
    "brokers": "How many brokers: a number, or a range such as 2-4.",
    "components": "How many trees the overlay has at the start.",
    "subscribers": "How many subscribers, each at a broker and wanting one filter.",
    "publishers": "How many publishers.",
    "filters": "How many filters, which have nothing in common.",
    "events": "How many events, each published once.",
    "moves": "How many moves besides the publications; a client's leaving and arriving is one.",
}


class Range(click.ParamType[range]):
    """A number, or a range of them."""

    name = "range"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> range:
        """Raises click.BadParameter."""
        if isinstance(value, range):
            return value
        found = re.fullmatch(r"(\d{1,2})(?:-(\d{1,2}))?", str(value))
        if found is None or int(found[2] or found[1]) < int(found[1]):
            self.fail(f"{value!r} is no number and no range: write 4 or 2-4", param, ctx)
        return range(int(found[1]), int(found[2] or found[1]) + 1)


def enumeration_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What to enumerate."""
    defaults = Size()
    options = [
        click.option("--enumerate", "enumerating", is_flag=True, help="All scenarios within bounds, one of each isomorphism class, by Z3."),
        *(
            click.option(f"--{name}", type=Range(), metavar="N|A-B", default=str(getattr(defaults, name)), show_default=True, help=HELP[name])
            for name in SIZES
        ),
        click.option("--kinds", metavar="KIND,…", default=",".join(KINDS[kind] for kind in USUAL), show_default=True,
                     help="What moves; publisher-move is a kind too."),
        click.option("--leaders", type=click.Choice(["each", "one"]), default="each", show_default=True,
                     help="Try each broker as the leader, or one where the leader plays no part."),
        click.option("--unordered", is_flag=True, help="No move waits for another; otherwise every partial order is a scenario."),
        click.option("--where", multiple=True, metavar="WORDS", help='A constraint (repeatable), such as "two migrations concurrent".'),
        click.option("--at-most", type=click.IntRange(min=1), metavar="N", help="The first N scenarios alone."),
        click.option("--yes", is_flag=True, help="Go on however many there are."),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def to_bounds(options: dict[str, Any]) -> Bounds:
    """The bounds that were given.  Raises BoundsError."""
    kinds = [word.strip() for word in options["kinds"].split(",")]
    for word in kinds:
        if word not in KINDS:
            raise BoundsError(f"--kinds: no move is called {word!r}; choose from {', '.join(KINDS)}")
    sizes = tuple(Size(*numbers) for numbers in product(*(options[name] for name in SIZES)))
    for name in ("brokers", "components"):
        if 0 in options[name]:
            raise BoundsError(f"--{name} 0: there is one at least")
    return Bounds(sizes, tuple(sorted({KINDS.index(word) for word in kinds})), options["leaders"] == "each", not options["unordered"])


def enumerated(options: dict[str, Any]) -> Iterator[Scenario]:
    """The scenarios, in order.  Raises BoundsError, PhraseError, Undecided."""
    from roamcheck.checker import report
    from roamcheck.checker.solver import scenarios as solving
    from roamcheck.checker.solver.phrases import constraint

    bounds, constraints = to_bounds(options), tuple(constraint(text) for text in options["where"])
    bounded = options["yes"] or options["at_most"] is not None
    about = options["at_most"] or solving.estimate(bounds, constraints, enough=inf if bounded else MANY)
    if about > MANY and not bounded:
        more = "narrow the bounds, add a --where, take --at-most N, or say --yes"
        raise BoundsError(f"about {about:,.0f} candidates or more are to be looked at: {more}")
    found = islice(solving.enumerate_scenarios(bounds, constraints), options["at_most"])
    with report.counting("candidates", about) as tick:
        for number, candidate in enumerate(found, 1):
            tick(number)
            yield to_scenario(candidate, name_of(candidate.size, number), describe(candidate))


def name_of(size: Size, number: int) -> str:
    """b4-s1-m2-000017"""
    return f"b{size.brokers}-s{size.subscribers}-m{size.moves}-{number:06}"


def describe(c: Candidate) -> str:
    """One line: the overlay, who is where, what moves, and what waits for what."""
    overlay = " ".join(f"b{b + 1}" if parent == NONE else f"b{b + 1}<b{parent + 1}" for b, parent in enumerate(c.parents))
    clients = [f"s{s + 1}@b{b + 1}" for s, (b, _) in enumerate(c.subscribers)] + [f"p{p + 1}@b{b + 1}" for p, b in enumerate(c.publishers)]
    units = [_move(kind, x, y) for kind, x, y in c.moves] + [f"publish e{e + 1}" for e in range(c.size.events)]
    order = [f"{units[i]} before {units[j]}" for i, j in c.before]
    return "; ".join((overlay, " ".join(clients), ", ".join(units), *order))


def _move(kind: int, x: int, y: int) -> str:
    word = KINDS[kind]
    if word == "client-move":
        return f"s{x + 1} to b{y + 1}"
    if word == "publisher-move":
        return f"p{x + 1} to b{y + 1}"
    if y == NONE:
        return f"{word} b{x + 1}"
    return f"{word} b{x + 1}–b{y + 1}" if word == "link-down" else f"{word} b{x + 1} to b{y + 1}"


def outcome(task: Callable[[], int], options: dict[str, Any]) -> ExitCode | None:
    """Do it for each scenario, and tell what comes in between; None if nothing did.  `task` answers how many scenarios there were."""
    from roamcheck.checker import report

    try:
        need_z3("--enumerate")
    except CannotBegin as error:
        return refuse(error)
    from roamcheck.checker.solver.asking import Undecided
    from roamcheck.checker.solver.phrases import PhraseError

    try:
        with held_back():
            count = task()
        return None if count else refuse(BoundsError(nothing_found(options)))
    except (*BAD_INPUT, BoundsError, PhraseError) as error:
        return refuse(error)
    except Undecided as error:
        report.warn(f"error: {error}")
        return ExitCode.UNDECIDED
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def nothing_found(options: dict[str, Any]) -> str:
    """Why there is no scenario: a constraint that nothing meets, or all of them together."""
    from roamcheck.checker.solver import scenarios as solving
    from roamcheck.checker.solver.phrases import constraint

    bounds = to_bounds(options)
    for text in options["where"]:
        if not solving.estimate(bounds, (constraint(text),), probes=1):
            return f"no scenario within these bounds has {text!r}"
    return "no scenario within these bounds meets the constraints together" if options["where"] else "no scenario is within these bounds"


# ---- scenarios --enumerate -----------------------------------------------------------------------------------


def list_all(options: dict[str, Any], out: str | None, json_to: str | None) -> None:
    """Print a line for each scenario, or write it to a file in `out`; exits."""
    from roamcheck.checker import report
    from roamcheck.checker.files import writable, write_text

    lines, began, count = report.JsonLines(json_to), monotonic(), 0

    def show() -> int:
        nonlocal count
        if out is not None:
            writable(Path(out))
        for scenario in enumerated(options):
            count += 1
            lines.add(as_data(scenario))
            if out is not None:
                write_text(Path(out) / f"{scenario.name}.toml", to_toml(scenario))
            elif not lines.quiet:
                report.say(f"{scenario.name}  {scenario.title}")
        lines.close()
        return count

    code = outcome(show, options)
    if count:
        where = f", written to {out}" if out is not None else ""
        report.warn(f"{'interrupted after ' if code is ExitCode.INTERRUPTED else ''}{count:,} scenarios{where}, {monotonic() - began:.1f} s")
    sys.exit(ExitCode.HOLDS if code is None else code)


# ---- check --enumerate ---------------------------------------------------------------------------------------


def check_all(options: dict[str, Any], json_to: str | None, traces: str | None) -> None:
    """Explore each scenario to the end and say how many violate what, and the distinct causes; exits."""
    from roamcheck.checker import batch, report
    from roamcheck.checker.files import writable
    from roamcheck.checker.tabled.loading import load

    report.warn_of_compiling()
    load()  # before the clock starts, and before there are processes
    lines, began, tally, written = report.JsonLines(json_to), monotonic(), batch.Tally(), dict[Any, Path]()
    folder = traces if traces is not None else (None if lines.quiet else "roamcheck-traces")

    def explore() -> int:
        if folder is not None:
            writable(Path(folder))
        task = batch.Task(partial(to_question, options=options), options["mutant"], options["max_states"], options["max_depth"])
        for finding in batch.findings(enumerated(options), task, options["workers"]):
            tally.add(finding)
            lines.add(batch.finding_record(finding))
            heed()
        return tally.scenarios

    code, seconds = outcome(explore, options), monotonic() - began
    complete = code is None and (options["at_most"] is None or tally.scenarios < options["at_most"])
    if code is ExitCode.INTERRUPTED:
        report.warn("interrupted; this is what was found so far")
    try:
        if tally.scenarios:
            lines.add(batch.tally_record(tally, complete, seconds))
            written = write_examples(tally, options, folder)
        lines.close()
    except BAD_INPUT as error:
        code = refuse(error)
    if tally.scenarios and not lines.quiet:
        report.tally(tally, complete, seconds, written)
    for name, why in tally.failed:
        report.warn(f"error: {name}: the model failed: {why}")
    sys.exit(tally.exit_code if code is None else code)


def write_examples(tally: Any, options: dict[str, Any], folder: str | None) -> dict[Any, Path]:
    """A trace of the smallest example of each cause; by cause, where it is.  Raises FileError."""
    from roamcheck.checker import check

    if folder is None or not tally.causes or options["mutant"] is not None:  # a trace is replayed by the algorithms as printed
        return {}
    written: set[Path] = set()
    answers: dict[str, Any] = {}
    paths = {}
    for cause, example in tally.ordered():
        name = example.scenario.name
        if name not in answers:
            limits = check.Limits(options["max_states"], options["max_depth"], reductions=frozenset())
            given = check.answer(to_question(example.scenario, options), limits=limits)
            answers[name] = check.write_traces(given, Path(folder), written)
        paths[cause] = answers[name].paths[cause.property]
    return paths
