"""The command line: parses options, reads files, asks, prints, and says by its exit code what came of it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import click

from roamcheck import __version__
from roamcheck.model.scenario import ASSUMPTIONS, Scenario, as_data, to_toml
from roamcheck.model.scenario import warnings as scenario_warnings
from roamcheck.spec.properties import PROPERTIES
from roamcheck.spec.protocols import PROTOCOLS
from roamcheck.spec.readings import READINGS

from .commands.enumerate import enumeration_options
from .files import FileError, bundled, load_scenario, writable
from .options import BAD_INPUT, Size, json_option, pairs, question_options, refuse, spark_options, to_question
from .verdict import ExitCode

CLOSED_PIPE = 128 + 13  # as a shell shows a process that SIGPIPE has ended
ENGINES = ("tabled", "reference", "spark")
OF_ENGINES = {  # options that not every engine has
    "checkpoint": ("tabled", "spark"), "max_memory": ("tabled",), "debug": ("tabled",),
    "workers": ("tabled", "reference"), "fingerprint_bits": ("tabled", "reference"), "counts": ("tabled", "reference"),
    "master": ("spark",), "conf": ("spark",), "partitions": ("spark",),
}  # fmt: skip
ANYWAY = {"workers": 1, "fingerprint_bits": "64"}  # what they are where nothing is said
FIRST_OF = (ExitCode.INTERRUPTED, ExitCode.DISAGREES, ExitCode.USAGE, ExitCode.VIOLATED, ExitCode.UNDECIDED, ExitCode.HOLDS)


def main() -> None:
    """The console script: whatever goes wrong is told in one line."""
    from . import report

    sys.stdout, sys.stderr = sys.stdout or open_devnull(), sys.stderr or open_devnull()  # closed by whoever called
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that knows no ∪ is shown its escape
            stream.reconfigure(errors="backslashreplace")
    try:
        with commands.make_context("roamcheck", sys.argv[1:]) as context:  # not commands(): that calls a closed pipe exit code 1
            commands.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        report.warn(f"error: no command is given; see {error_context(error)} --help")
        sys.exit(ExitCode.USAGE)
    except click.ClickException as error:
        report.warn(f"error: {' '.join(error.format_message().split()).rstrip('.')}; see {error_context(error)} --help")
        sys.exit(ExitCode.USAGE)
    except (click.Abort, KeyboardInterrupt):
        report.warn("interrupted")
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:  # the reader has gone: nothing more can be said, and no verdict is
        discard_output()
        sys.exit(CLOSED_PIPE)
    except OSError as error:
        discard_output()
        report.warn(f"error: standard output cannot be written: {error.strerror or error}")
        sys.exit(ExitCode.USAGE)


def open_devnull() -> TextIO:
    """Where to write when there is nowhere."""
    return open(os.devnull, "w", encoding="utf-8")


def discard_output() -> None:
    """What is still to be written goes nowhere, so that the interpreter's own flush at the end says nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def error_context(error: click.ClickException) -> str:
    """The command that was called wrongly."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    return context.command_path if context is not None else "roamcheck"


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, epilog="Example: roamcheck check child-above-parent")
@click.version_option(__version__, prog_name="roamcheck")
def commands() -> None:
    """Checks publish/subscribe protocols whose clients and brokers move.

    A scenario says who is there and what may move; roamcheck explores every interleaving of it under one of the published
    protocols and gives the shortest counterexample to each property that does not hold.
    """


@commands.command(epilog="Example: roamcheck check figure-1b --protocol modular --json -")
@click.argument("scenarios", nargs=-1, metavar="SCENARIO…")
@question_options
@click.option("--engine", type=click.Choice(ENGINES), default="tabled", show_default=True, help="By table look-up, by definition, or on Spark.")
@spark_options
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Threads of the tabled engine; the answer is the same.")
@click.option("--no-reduction", is_flag=True, help="Explore every state, also those that no verdict needs; all counterexamples are shortest ones.")
@click.option("--without", multiple=True, type=click.Choice(["partial-order", "symmetry"]), help="Leave out one of the reductions (repeatable).")
@click.option("--fingerprint-bits", type=click.Choice(["64", "128"]), default="64", show_default=True, help="How many bits tell states apart.")
@click.option("--max-memory", type=Size(), metavar="SIZE", help="Go on in files beyond SIZE (4G, 800M) of memory.")
@click.option("--checkpoint", metavar="DIR", help="Write to DIR, level by level, how far the search has come; one SCENARIO.")
@click.option("--resume", is_flag=True, help="Go on from what is in the --checkpoint folder.")
@click.option("--max-states", type=click.IntRange(min=1), metavar="N", help="Stop after N states; verdicts say so.")
@click.option("--max-depth", type=click.IntRange(min=0), metavar="N", help="Stop at depth N; verdicts say so.")
@click.option("--first", is_flag=True, help="Stop at the first violation.")
@click.option("--traces", metavar="DIR", help="Write a trace per violation to DIR (default: roamcheck-traces, nothing with --json -).")
@click.option("--tell", type=click.Choice(["shortest", "all", "none"]), default="shortest", help="Which counterexamples to tell step by step.")
@click.option("--counts", is_flag=True, help="Also print steps by kind, the rate, and the guards never seen true or never false.")
@click.option("--debug", is_flag=True, help="Also fire every step by definition and hold it to what it declares; slow.")
@click.option("--mutant", metavar="NAME", help="Plant a fault in the algorithms (see `roamcheck list mutants`); no traces come of it.")
@enumeration_options
@json_option
def check(scenarios: tuple[str, ...], json_to: str | None, traces: str | None, tell: str, **options: Any) -> None:
    """Explore all interleavings of each SCENARIO (a file, or the name of a bundled one) and give a verdict per property.

    Exit code: 0 all hold, 1 a property is violated, 2 bad input, 3 undecided, 130 interrupted.
    """
    from . import report
    from .commands.enumerate import check_all

    see_to_options(scenarios, options)
    if options["enumerating"]:
        check_all(options, json_to, traces)
    lines = report.JsonLines(json_to)
    folder = traces if traces is not None else (None if lines.quiet else "roamcheck-traces")
    codes: list[ExitCode] = []
    written: set[Path] = set()
    try:
        if folder is not None and not can_write(folder, asked=traces is not None):
            folder = None
        for name in scenarios:
            codes.append(check_one(name, lines, folder, written, tell, options, apart=bool(codes)))
            if codes[-1] is ExitCode.INTERRUPTED:
                break
        lines.close()
    except FileError as error:
        codes.append(refuse(error))
    if ExitCode.INTERRUPTED in codes:
        report.warn("interrupted; this is what was found so far")
    sys.exit(next(code for code in FIRST_OF if code in codes))


def to_limits(options: dict[str, Any]) -> dict[str, Any]:
    """The options that say how to search, by the names of `check.Limits`."""
    from .check import REDUCTIONS

    same = {name: options[name] for name in ("max_states", "max_depth", "first", "workers", "max_memory", "resume", "debug", "master", "partitions")}
    folder = options["checkpoint"]
    return {
        **same,
        "reductions": frozenset() if options["no_reduction"] else REDUCTIONS - {*options["without"]},
        "fingerprint_bits": int(options["fingerprint_bits"]),
        "conf": pairs(options["conf"], "--conf"),
        "checkpoint": None if folder is None else Path(folder),
    }


def see_to_options(scenarios: tuple[str, ...], options: dict[str, Any]) -> None:
    """Refuse options that do not go together.  Raises click.UsageError."""
    if not scenarios and not options["enumerating"]:
        raise click.UsageError("name a SCENARIO, or give --enumerate and bounds")
    if scenarios and options["enumerating"]:
        raise click.UsageError("--enumerate makes the scenarios: name none, or leave it out")
    for option in ("checkpoint", "max_memory", "debug", "counts", "first") if options["enumerating"] else ():
        if options[option]:
            raise click.UsageError(f"--{option.replace('_', '-')} is for one scenario at a time: leave it out with --enumerate")
    if options["enumerating"] and options["engine"] != "tabled":
        raise click.UsageError("--enumerate explores by --engine tabled")
    if options["resume"] and options["checkpoint"] is None:
        raise click.UsageError("--resume goes on from a folder: name it with --checkpoint DIR")
    if options["checkpoint"] is not None and len(scenarios) > 1:
        raise click.UsageError("--checkpoint is for one scenario: give one, or leave it out")
    for option, engines in OF_ENGINES.items():
        if options[option] and options[option] != ANYWAY.get(option) and options["engine"] not in engines:
            raise click.UsageError(f"--{option.replace('_', '-')} is an option of --engine {' and --engine '.join(engines)}")


def can_write(folder: str, asked: bool) -> bool:
    """Traces can be written to the folder.  Raises FileError where it was asked for; the default folder is done without, with a warning."""
    from . import report

    try:
        writable(Path(folder))
    except FileError as error:
        if asked:
            raise
        report.warn(f"warning: {error}; no traces are written")
        return False
    return True


def check_one(name: str, lines: Any, folder: str | None, written: set[Path], tell: str, options: dict[str, Any], apart: bool) -> ExitCode:
    """One scenario of `check`; a bad one is told and the rest go on.  `written` are the traces of those before it."""
    from . import check as asking
    from . import report

    try:
        asked = to_question(load_scenario(name), options)
        limits = asking.Limits(**to_limits(options))
        if limits.resume and limits.checkpoint is not None and not asking.to_resume(limits.checkpoint):
            report.warn(f"note: {limits.checkpoint} holds no checkpoint yet: the search begins anew")
        if options["engine"] != "reference":
            report.warn_of_compiling()
        with report.progress(asked.scenario.name) as observe:
            given = asking.answer(
                asked, engine=options["engine"], limits=limits, named=frozenset(options["properties"]), observe=observe, counts=options["counts"],
                mutant=options["mutant"],
            )  # fmt: skip
    except BAD_INPUT as error:
        lines.add({"scenario": None, "file": name, "error": str(error)})
        return refuse(error)
    code = given.exit_code
    try:
        if folder is not None:
            given = asking.write_traces(given, Path(folder), written)
    except FileError as error:
        code = refuse(error)
    lines.add(asking.as_record(given))
    if given.exploration is not None and given.exploration.failed is not None:  # nobody's input is to blame: the model itself raised
        report.warn(f"error: {name}: the model failed: {given.exploration.failed}")
    if given.exploration is not None and given.exploration.stopped is not None:
        resumed = "" if limits.checkpoint is None else "; --resume goes on from the last level"
        report.warn(f"error: {name}: the search ended early: {given.exploration.stopped}{resumed}")
    for warning in given.warnings:
        report.warn(f"warning: {asked.scenario.name}: {warning}")
    if not lines.quiet:
        if apart:
            report.say("")
        report.verdicts(given)
        if options["counts"]:
            report.counts(given)
        tell_counterexamples(given, tell)
    return code


def tell_counterexamples(given: Any, tell: str) -> None:
    """Tell the shortest counterexample, or each."""
    from . import narrate, report
    from .replay import replay

    found = sorted(given.traces.items(), key=lambda item: (item[0] in PROPERTIES and not PROPERTIES[item[0]].decisive, item[1].header.length))
    for name, trace in found[: {"none": 0, "shortest": 1, "all": None}[tell]]:
        word = "" if name in given.exploration.longer else "shortest"
        what = f"a {word} counterexample".replace("  ", " ") if name in PROPERTIES else "the way to the step that raised"
        report.say(f"\n{name}: {what}, {trace.header.length} steps")
        report.say(narrate.text(replay(trace)))


@commands.command("replay", epilog="Example: roamcheck replay traces/figure-3.jsonl --to mermaid")
@click.argument("trace", metavar="TRACE")
@click.option("--step", type=click.IntRange(min=0), metavar="N", help="Show step N alone, with the local states that it touched in full.")
@click.option("--interactive", is_flag=True, help="Step through it: next, previous, go, state, enabled, why.")
@click.option("--to", "form", type=click.Choice(["text", "mermaid", "itf"]), default="text", help="The form to tell it in.")
@json_option
def replay_command(trace: str, step: int | None, interactive: bool, form: str, json_to: str | None) -> None:
    """Re-execute TRACE step by step and show what changed.

    Exit code: 0 the steps and the recorded breach reproduce, 2 no trace of this format and version, 4 it does not replay.
    """
    from . import replaying, report

    sys.exit(replaying.run(trace, step, interactive, form, report.JsonLines(json_to)))


@commands.command("list", epilog="Example: roamcheck list readings --json -")
@click.argument("what", type=click.Choice(["protocols", "properties", "readings", "assumptions", "scenarios", "mutants"]))
@json_option
def list_command(what: str, json_to: str | None) -> None:
    """List the protocols, properties, readings, assumptions, bundled scenarios or mutants."""
    from . import report

    lines = report.JsonLines(json_to)
    try:
        rows = LISTS[what]()
        for row in rows:
            lines.add(row)
        lines.close()
    except BAD_INPUT as error:
        sys.exit(refuse(error))
    if not lines.quiet:
        columns = list(rows[0])
        report.table(columns, [[cell_text(row[column]) for column in columns] for row in rows])


def cell_text(value: Any) -> str:
    """A value as a cell of a table."""
    if isinstance(value, dict):
        return " ".join(str(part) for part in value.values())
    if isinstance(value, list | tuple):
        return ", ".join(str(part) for part in value)
    return "" if value is None else str(value)


def protocol_rows() -> list[dict[str, Any]]:
    """A row for each protocol."""
    return [{"name": p.name, "title": p.title, "source": p.source, "moves": sorted(p.moves)} for p in PROTOCOLS.values()]


def property_rows() -> list[dict[str, Any]]:
    """A row for each property."""
    return [{"name": p.name, "asked in": p.scope, "says": p.says, "source": p.source, "in exit code": p.decisive} for p in PROPERTIES.values()]


def reading_rows() -> list[dict[str, Any]]:
    """A row for each reading; the printed value stands first."""
    return [
        {"name": r.name, "values": list(r.values), "amended": r.amended or r.printed, "question": r.question, "source": r.source} for r in READINGS
    ]


def assumption_rows() -> list[dict[str, Any]]:
    """A row for each assumption; the printed value stands first."""
    return [{"name": name, "values": list(values)} for name, values in ASSUMPTIONS.items()]


def scenario_rows() -> list[dict[str, Any]]:
    """A row for each bundled scenario."""
    def size(s: Scenario) -> dict[str, Any]:
        return {"brokers": len(s.brokers), "subscribers": len(s.subscribers), "events": len(s.events), "moves": len(s.moves)}

    return [{"name": s.name, **size(s), "title": s.title} for s in map(load_scenario, bundled())]


def mutant_rows() -> list[dict[str, Any]]:
    """A row for each mutant."""
    from .mutants import as_rows

    return as_rows()


LISTS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "protocols": protocol_rows,
    "properties": property_rows,
    "readings": reading_rows,
    "assumptions": assumption_rows,
    "scenarios": scenario_rows,
    "mutants": mutant_rows,
}


@commands.group("scenarios", invoke_without_command=True, epilog='Example: roamcheck scenarios --enumerate --brokers 3 --kinds migrate')
@enumeration_options
@click.option("--out", metavar="DIR", help="Write each scenario to a file in DIR, instead of printing a line for it.")
@json_option
@click.pass_context
def scenarios_group(context: click.Context, /, out: str | None, json_to: str | None, **options: Any) -> None:
    """List, show or validate scenarios, or enumerate all within bounds."""
    from .commands.enumerate import list_all

    if options["enumerating"]:
        if context.invoked_subcommand is not None:
            raise click.UsageError(f"--enumerate and {context.invoked_subcommand}: give one of the two")
        list_all(options, out, json_to)
    elif context.invoked_subcommand is None:
        raise click.UsageError("give list, show or validate, or --enumerate and bounds")


@scenarios_group.command("list", epilog="Example: roamcheck scenarios list --json -")
@json_option
@click.pass_context
def scenarios_list(context: click.Context, json_to: str | None) -> None:
    """List the bundled scenarios."""
    context.invoke(list_command, what="scenarios", json_to=json_to)


@scenarios_group.command("show", epilog="Example: roamcheck scenarios show figure-1b")
@click.argument("file")
@json_option
def scenarios_show(file: str, json_to: str | None) -> None:
    """Print FILE (or the bundled scenario of that name) as it was understood, in canonical form."""
    from . import report

    lines = report.JsonLines(json_to)
    try:
        scenario = load_scenario(file)
        lines.add(as_data(scenario))
        lines.close()
    except BAD_INPUT as error:
        sys.exit(refuse(error))
    if not lines.quiet:
        report.say(to_toml(scenario).rstrip("\n"))


@scenarios_group.command("validate", epilog="Example: roamcheck scenarios validate my-scenario.toml")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@json_option
def scenarios_validate(files: tuple[str, ...], json_to: str | None) -> None:
    """Check that each FILE is a scenario that makes sense; say what is wrong in one line, or warn of what is odd."""
    from . import report

    lines, code = report.JsonLines(json_to), ExitCode.HOLDS
    for file in files:
        try:
            scenario = load_scenario(file)
        except BAD_INPUT as error:
            lines.add({"file": file, "valid": False, "error": str(error)})
            code = refuse(error)
            continue
        warnings = list(scenario_warnings(scenario))
        lines.add({"file": file, "valid": True, "scenario": scenario.name, "warnings": warnings})
        for warning in warnings:
            report.warn(f"warning: {scenario.name}: {warning}")
        if not lines.quiet:
            report.say(f"{scenario.name}: valid, {len(warnings)} warning{'' if len(warnings) == 1 else 's'}")
    try:
        lines.close()
    except FileError as error:
        code = refuse(error)
    sys.exit(code)


def add_commands() -> None:
    """The commands that have a module of their own."""
    from .commands.prove import prove
    from .commands.search import search
    from .commands.sweep import sweep
    from .commands.sweep_report import sweep_report

    commands.add_command(prove)
    commands.add_command(search)
    commands.add_command(sweep)
    commands.add_command(sweep_report)


add_commands()
