"""`roamcheck search`: beyond what can be exhausted, run by run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ..files import FileError, load_scenario, writable
from ..options import BAD_INPUT, json_option, question_options, refuse, to_question
from ..question import Question
from ..verdict import ExitCode
from .generate import FEW, drawn, generation_options

STRATEGIES = ("hypothesis", "random", "swarm")
SOLUTIONS = 200  # of Z3, which takes its time
LONGEST = 500  # steps of a run: what Hypothesis can hold


@click.command(epilog="Example: roamcheck search hunt-child-above-parent --strategy swarm --seed 7")
@click.argument("scenarios", nargs=-1, metavar="SCENARIO…")
@question_options
@click.option("--strategy", type=click.Choice(STRATEGIES), default=STRATEGIES[0], show_default=True, help="Who chooses the steps.")
@click.option("--guide", type=click.Choice(["z3"]), help="Z3 orders events so that a condition arises; goes with --reach.")
@click.option("--reach", metavar="CONDITION", help="Find a run on which this comes about; goes with --guide z3.")
@click.option("--no-targets", is_flag=True, help="Hypothesis follows no measures (staleness, disagreement, hop-count error, queued events).")
@click.option("--examples", type=click.IntRange(1, 10_000_000), default=2_000, show_default=True, metavar="N", help="How many runs.")
@click.option("--steps", type=click.IntRange(1, LONGEST), default=200, show_default=True, metavar="N", help="The longest run.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, metavar="N", help="The same seed gives the same answer.")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), metavar="S", help="End the search after so long; then the answer may vary.")
@click.option("--database", metavar="DIR", help="Where Hypothesis keeps runs that found something, to try them first the next time.")
@click.option("--compare", type=click.IntRange(min=0), default=20_000, show_default=True, metavar="N", help="Look for the shortest in N states.")
@click.option("--traces", metavar="DIR", help="Write a trace per violation to DIR (default: roamcheck-traces, nothing with --json -).")
@click.option("--tell", type=click.Choice(["shortest", "all", "none"]), default="shortest", help="Which counterexamples to tell step by step.")
@click.option("--mutant", metavar="NAME", help="Plant a fault in the algorithms (see `roamcheck list mutants`); no traces come of it.")
@generation_options
@json_option
@click.pass_context
def search(context: click.Context, /, scenarios: tuple[str, ...], json_to: str | None, traces: str | None, tell: str, **options: Any) -> None:
    """Search runs of each SCENARIO for violations, where exploring all interleavings would take too long; what is found is shrunk and replayed.

    With --guide z3 and --reach, Z3 looks for a run on which a condition comes about, and no property is asked.  With --generate, small scenarios
    are drawn, each is searched by swarms of runs, and the first that breaches a property is made smaller.

    Exit code: 1 a property is violated, 2 bad input, 3 nothing was found, 4 what was found does not replay, 130 interrupted.
    """
    from .. import report
    from ..cli import FIRST_OF, can_write

    chosen = {name for name in options if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    see_to_options(scenarios, options, chosen)
    if options["reach"] is not None:
        from .reach import reach_all

        solutions = options["examples"] if "examples" in chosen else SOLUTIONS
        reach_all(scenarios, options["reach"], json_to, traces, tell, {**options, "examples": solutions})
    lines = report.JsonLines(json_to)
    folder = traces if traces is not None else (None if lines.quiet else "roamcheck-traces")
    codes: list[ExitCode] = []
    written: set[Path] = set()
    try:
        if options["database"] is not None:
            writable(Path(options["database"]))
        if folder is not None and not can_write(folder, asked=traces is not None):
            folder = None
        if options["generate"] is not None:
            codes.append(search_drawn(lines, folder, written, tell, options, chosen))
        for name in scenarios:
            codes.append(search_one(name, lines, folder, written, tell, options, apart=bool(codes)))
            if codes[-1] is ExitCode.INTERRUPTED:
                break
        lines.close()
    except FileError as error:
        codes.append(refuse(error))
    if ExitCode.INTERRUPTED in codes:
        report.warn("interrupted; this is what was found so far")
    sys.exit(next(code for code in FIRST_OF if code in codes))


def see_to_options(scenarios: tuple[str, ...], options: dict[str, Any], chosen: set[str]) -> None:
    """Refuse options that do not go together; `chosen` are those that were given.  Raises click.UsageError."""
    if bool(scenarios) == (options["generate"] is not None):
        raise click.UsageError("give SCENARIOs, or --generate N to have some drawn; not both")
    if (options["guide"] is None) != (options["reach"] is None):
        raise click.UsageError("--guide z3 and --reach CONDITION go together: give both or neither")
    beside = [option for option in ("strategy", "steps", "compare", "mutant", "no_targets", "database", "generate") if option in chosen]
    if options["guide"] is not None and beside:
        raise click.UsageError(f"--{beside[0].replace('_', '-')} is no option of --guide z3")
    for option in ("no_targets", "database"):
        if options[option] and options["strategy"] != "hypothesis":
            raise click.UsageError(f"--{option.replace('_', '-')} is an option of --strategy hypothesis")


def search_one(name: str, lines: Any, folder: str | None, written: set[Path], tell: str, options: dict[str, Any], apart: bool) -> ExitCode:
    """One scenario; a bad one is told and the rest go on.  `written` are the traces of those before it."""
    try:
        asked = to_question(load_scenario(name), options)
    except BAD_INPUT as error:
        lines.add({"scenario": None, "file": name, "error": str(error)})
        return refuse(error)
    return search_question(name, asked, lines, folder, written, tell, options, apart)


def search_drawn(lines: Any, folder: str | None, written: set[Path], tell: str, options: dict[str, Any], chosen: set[str]) -> ExitCode:
    """A scenario of which --generate has found that it breaches a property."""
    try:
        asked = drawn(to_effort(options), options, chosen, lines, folder)
    except BAD_INPUT as error:
        return refuse(error)
    if isinstance(asked, ExitCode):
        return asked
    again = {**options, "strategy": "swarm", "examples": options["examples"] if "examples" in chosen else FEW}  # what has found it
    return search_question(asked.scenario.name, asked, lines, folder, written, tell, again, apart=False)


def search_question(
    name: str, asked: Question, lines: Any, folder: str | None, written: set[Path], tell: str, options: dict[str, Any], apart: bool
) -> ExitCode:
    """Search, tell, write."""
    from .. import report, searching
    from ..check import write_traces

    try:
        if options["compare"]:
            report.warn_of_compiling()
        with report.ticker(asked.scenario.name) as tick:
            named, observe = frozenset(options["properties"]), observer(tick)
            given = searching.search(asked, to_effort(options), named=named, observe=observe, mutant=options["mutant"])
    except BAD_INPUT as error:
        lines.add({"scenario": None, "file": name, "error": str(error)})
        return refuse(error)
    code = given.exit_code
    try:
        if folder is not None:
            given = searching.with_answer(given, write_traces(given.answer, Path(folder), written))
    except FileError as error:
        code = refuse(error)
    lines.add(searching.as_record(given))
    for what in given.disagreements:
        report.warn(f"error: {name}: {what}")
    if given.failed is not None:  # nobody's input is to blame: the model itself raised
        report.warn(f"error: {name}: the model failed: {given.failed}")
    for warning in given.answer.warnings:
        report.warn(f"warning: {asked.scenario.name}: {warning}")
    if not lines.quiet:
        if apart:
            report.say("")
        show(given)
        tell_counterexamples(given, tell)
    return code


def to_effort(options: dict[str, Any]) -> Any:
    """The options that say how to search."""
    from ..searching import Effort

    folder = options["database"]
    return Effort(
        options["strategy"], not options["no_targets"], options["examples"], options["steps"], options["seed"], options["seconds"],
        None if folder is None else Path(folder), options["compare"],
    )  # fmt: skip


def observer(tick: Callable[[float, str], None]) -> Callable[[Any], None]:
    """What a search reports, in words."""

    def observe(now: Any) -> None:
        rate = now.steps / now.seconds if now.seconds else 0
        found = f"{now.found} properties violated" if now.found != 1 else "1 property violated"
        tick(now.seconds, f"{now.examples:,} of {now.of:,} runs, {now.steps:,} steps, {rate:,.0f} steps/s, {now.states:,} states seen, {found}")

    return observe


def show(given: Any) -> None:
    """The verdicts, how they came about, and how far the search went."""
    from .. import report

    report.verdicts(given.answer)
    if given.answer.model is None:
        return
    runs = "1 run" if given.examples == 1 else f"{given.examples:,} runs"
    report.say(
        f"{runs} {given.effort.says()}: {given.steps:,} steps, the longest run {given.reached}, {given.states:,} states seen; "
        f"{given.seconds:.2f} s"
    )
    if given.hits:
        rows = []
        for name, hit in sorted(given.hits.items(), key=lambda item: item[1].example):
            shortest = "not known" if hit.shortest is None else str(hit.shortest)
            rows.append([name, f"{hit.example:,}", str(hit.length), str(hit.shrunk), shortest])
        report.table(["found", "in run", "steps", "shrunk to", "shortest (breadth first)"], rows)


def tell_counterexamples(given: Any, tell: str) -> None:
    """Tell the shortest counterexample, or each."""
    from roamcheck.spec.properties import PROPERTIES

    from .. import narrate, report
    from ..replay import replay

    traces = given.answer.traces
    found = sorted(traces.items(), key=lambda item: (item[0] in PROPERTIES and not PROPERTIES[item[0]].decisive, item[1].header.length))
    for name, trace in found[: {"none": 0, "shortest": 1, "all": None}[tell]]:
        what = "a counterexample" if name in PROPERTIES else "the way to the step that raised"
        report.say(f"\n{name}: {what}, {trace.header.length} steps")
        report.say(narrate.text(replay(trace)))
