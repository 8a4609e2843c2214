"""`roamcheck sweep`: many scenarios × protocols × readings × assumptions × seeds, on Spark or in one process, into a folder of Parquet files."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

import click

from roamcheck import __version__
from roamcheck.model.scenario import ASSUMPTIONS
from roamcheck.spec.properties import PROPERTIES
from roamcheck.spec.protocols import PROTOCOLS
from roamcheck.spec.readings import NAMED_SETS

from ..files import FileError
from ..options import BAD_INPUT, json_option, pairs, refuse
from ..question import QuestionError
from ..verdict import CannotBegin, ExitCode
from .enumerate import SIZES, enumerated, enumeration_options, outcome
from .search import LONGEST, STRATEGIES

ALL, NONE = "all", "none"
SEEDS = 3
ENUMERATION = (*SIZES, "kinds", "leaders", "unordered", "where", "at_most")

AXES = (
    click.option("--protocol", "protocols", multiple=True, type=click.Choice([*PROTOCOLS, ALL]), help="Repeatable; all: each (default: the file's)."),
    click.option("--readings", multiple=True, type=click.Choice([*NAMED_SETS, ALL]), help="A named set, repeatable (default: the file's own)."),
    click.option("--reading", multiple=True, metavar="NAME=VALUE", help="One reading, in all jobs (repeatable)."),
    click.option("--in-flight", multiple=True, type=click.Choice(ASSUMPTIONS["in-flight"]), help="As in check; repeatable."),
    click.option("--bounce", multiple=True, type=click.Choice(ASSUMPTIONS["bounce"]), help="As in check; repeatable."),
    click.option("--client-links", multiple=True, type=click.Choice(ASSUMPTIONS["client-links"]), help="As in check; repeatable."),
    click.option("--radio", "radios", multiple=True, metavar="LOSS",
                 help="reliable, detected:N or silent:N (repeatable); a file that fixes its losses itself is asked under those alone."),
    click.option("--property", "properties", multiple=True, type=click.Choice(list(PROPERTIES)), metavar="NAME", help="Ask only this (repeatable)."),
)  # fmt: skip
BUDGET = (
    click.option("--max-states", type=click.IntRange(min=1), default=100_000, show_default=True, metavar="N", help="Of a job that is explored."),
    click.option("--seeds", type=click.IntRange(min=0), default=SEEDS, show_default=True, metavar="N", help="Beyond them, N searches by runs."),
    click.option("--seed", type=click.IntRange(0, 2**62), default=0, show_default=True, metavar="N", help="The first seed, and that of --generate."),
    click.option("--strategy", type=click.Choice(STRATEGIES), default="swarm", show_default=True, help="Who chooses the steps of a run."),
    click.option("--examples", type=click.IntRange(1, 10_000_000), default=200, show_default=True, metavar="N", help="Runs of a seed."),
    click.option("--steps", type=click.IntRange(1, LONGEST), default=200, show_default=True, metavar="N", help="The longest run."),
)
SPARK = (
    click.option("--master", metavar="URL", help=f"Spark's master (default: local[*], or what spark-submit says); {NONE}: one process, no Spark."),
    click.option("--conf", multiple=True, metavar="NAME=VALUE", help="A Spark property (repeatable)."),
)


def options_of(*groups: tuple[Callable[..., Any], ...]) -> Callable[..., Any]:
    """A decorator that adds all of them, in order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed([option for group in groups for option in group]):
            command = option(command)
        return command

    return add


@click.command(epilog="Example: roamcheck sweep bundled --protocol all --readings all --radio reliable --radio silent:1 --out sweep.d")
@click.argument("scenarios", nargs=-1, metavar="SCENARIO|FOLDER…")
@click.option("--out", required=True, metavar="DIR", help="Where the results go; all executors have to see this folder.")
@click.option("--resume", is_flag=True, help="Go on with the sweep that is in DIR; what is done is not done again.")
@options_of(SPARK, AXES, BUDGET)
@click.option("--generate", type=click.IntRange(1, 1_000_000), metavar="N", help="N scenarios drawn by Hypothesis, no larger than the bounds below.")
@enumeration_options
@json_option
def sweep(scenarios: tuple[str, ...], out: str, resume: bool, json_to: str | None, **options: Any) -> None:
    """Ask every SCENARIO (a file, a folder of them, a bundled name, or `bundled` for all) under all combinations of what is given.

    Each job is explored to its end, or within --max-states and then searched by runs of several seeds.  The results are Parquet files in DIR, which
    `roamcheck report DIR` reads.

    Exit code: 0 all hold, 1 something is violated, 2 bad input, 3 undecided, 130 interrupted; what is finished is kept.
    """
    from .. import report

    need_parquet()
    from ..sweeps.driving import outcomes
    from ..sweeps.folder import Folder

    if not scenarios and options["generate"] is None and not options["enumerating"]:
        raise click.UsageError("name SCENARIOs, or give --generate N, or --enumerate and bounds")
    lines, began = report.JsonLines(json_to), monotonic()
    code: ExitCode | None = None
    folder = Folder(Path(out).absolute())
    with terminated_as_interrupted():
        jobs, code = gather(scenarios, options)
        if code is None:
            code = done(folder, jobs, described(scenarios, options), resume, options)
    try:
        found = outcomes(folder) if code in (None, ExitCode.INTERRUPTED, ExitCode.UNDECIDED) and folder.path.is_dir() else None
        if found is not None:
            total = {"out": out, "questions": len(jobs), "complete": code is None, **found.as_record(), "seconds": round(monotonic() - began, 3)}
            lines.add(total)
            lines.close()
    except FileError as error:
        sys.exit(refuse(error))
    if found is not None and not lines.quiet:
        show(out, found, len(jobs), monotonic() - began)
    if code is ExitCode.INTERRUPTED:
        report.warn("interrupted; what is finished is kept, and --resume goes on from there")
    sys.exit(found.exit_code if found is not None and code is None else code)


def need_parquet() -> None:
    """Exits with one line where pyarrow is not installed."""
    if find_spec("pyarrow") is None:
        sys.exit(refuse(CannotBegin("pyarrow is not installed: pip install 'roamcheck[spark]'")))


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """A batch system's request to end is heeded like Ctrl-C."""
    before = signal.signal(signal.SIGTERM, lambda number, frame: os.kill(os.getpid(), signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


# ---- what is asked ---------------------------------------------------------------------------------------------------------------


def gather(scenarios: tuple[str, ...], options: dict[str, Any]) -> tuple[list[Any], ExitCode | None]:
    """The jobs, and what ended the gathering too early."""
    from ..sweeps.jobs import Source, questions

    sources: list[Source] = []

    def enumerate_all() -> int:
        found = [Source("enumerated", scenario) for scenario in enumerated(options)]
        sources.extend(found)
        return len(found)

    try:
        sources += list(given(scenarios, options))
        code = outcome(enumerate_all, options) if options["enumerating"] else None
        return list(questions(sources, to_axes(options))) if code is None else [], code
    except BAD_INPUT as error:
        return [], refuse(error)
    except KeyboardInterrupt:
        return [], ExitCode.INTERRUPTED


def given(scenarios: tuple[str, ...], options: dict[str, Any]) -> Iterator[Any]:
    """The scenarios that are named, and those that are drawn.  Raises FileError, CannotBegin."""
    from ..generating import Bounds
    from ..sweeps.sources import generated, named

    yield from named(scenarios)
    if options["generate"] is not None:
        bounds = Bounds(options["generate"], max(2, options["brokers"][-1]), max(1, options["subscribers"][-1]))
        yield from generated(bounds, options["seed"], [name or "mft-pubsub" for name in to_axes(options).protocols])


def to_axes(options: dict[str, Any]) -> Any:
    """Raises QuestionError."""
    from ..sweeps.jobs import Axes, to_radio

    def several(name: str, every: Any = ()) -> tuple[str | None, ...]:
        chosen = tuple(every) if ALL in options[name] else options[name]
        return tuple(dict.fromkeys(chosen)) or (None,)

    return Axes(
        several("protocols", PROTOCOLS),
        several("readings", NAMED_SETS),
        tuple(pairs(options["reading"], "--reading").items()),
        several("in_flight"),
        several("bounce"),
        several("client_links"),
        tuple(dict.fromkeys(map(to_radio, options["radios"]))) or (None,),
        options["properties"],
    )


def described(scenarios: tuple[str, ...], options: dict[str, Any]) -> dict[str, Any]:
    """What the folder keeps, to tell one sweep from another."""
    axes = ("protocols", "readings", "reading", "in_flight", "bounce", "client_links", "radios", "properties")
    budget = ("max_states", "seeds", "seed", "strategy", "examples", "steps", "generate")
    bounds = {name: str(options[name]) for name in ENUMERATION} if options["enumerating"] or options["generate"] is not None else None
    chosen = {name: list(options[name]) for name in axes} | {name: options[name] for name in budget}
    return {"version": __version__, "scenarios": list(scenarios), **chosen, "bounds": bounds}


# ---- doing it --------------------------------------------------------------------------------------------------------------------


def done(folder: Any, jobs: list[Any], asked: dict[str, Any], resume: bool, options: dict[str, Any]) -> ExitCode | None:
    """Do the jobs; what ended it too early."""
    from .. import report
    from ..sweeps.driving import Work
    from ..sweeps.jobs import Budget

    seeds = tuple(range(options["seed"], options["seed"] + options["seeds"]))
    budget = Budget(options["max_states"], options["strategy"], seeds, options["examples"], options["steps"])
    try:
        if options["strategy"] == "hypothesis":
            from ..searching import imported

            imported()
        if resume and folder.manifest() is None:
            report.warn(f"note: {folder.path} holds no sweep yet: it begins anew")
        if folder.begin(asked, jobs, resume):
            folder.tidy()
            folder.see()
        compile_once(options["master"])
    except BAD_INPUT as error:
        return refuse(error)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    try:
        with report.status() as tell:
            run_all(Work(folder, budget), jobs, lambda phase, text: tell(f"{phase}: {text}"), options)
    except (QuestionError, CannotBegin) as error:
        return refuse(error)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except (FileError, OSError, MemoryError, RuntimeError) as error:  # of this machine, or of Spark
        report.warn(f"error: the sweep ended early: {error or type(error).__name__}; what is finished is kept, and --resume goes on from there")
        return ExitCode.UNDECIDED
    finally:
        folder.tidy()
    return None


def run_all(work: Any, jobs: list[Any], observe: Callable[[str, str], None], options: dict[str, Any]) -> None:
    """Here, or on Spark.  Raises what doing a job raises, QuestionError, CannotBegin, SparkFailed, KeyboardInterrupt."""
    from ..sweeps.driving import in_this_process
    from ..sweeps.driving import sweep as do_all

    if options["master"] == NONE:
        do_all(work, jobs, in_this_process, observe)
        return
    from ..spark.session import spark_session
    from ..spark.sweep import SETTINGS, on_spark

    observe("start", "Spark")
    with spark_session(options["master"], {**SETTINGS, **pairs(options["conf"], "--conf")}, "roamcheck sweep", quick=True) as session:
        do_all(work, jobs, on_spark(session), observe)


def compile_once(master: str | None) -> None:
    """Before there are several processes on this machine, each of which would compile the loops."""
    from .. import report
    from ..tabled.loading import compiled, load

    if (master is None or master == NONE or master.startswith("local")) and not compiled():
        report.warn_of_compiling()
        load()


def show(out: str, found: Any, questions: int, seconds: float) -> None:
    """How many jobs came to what."""
    from .. import report

    words = [*dict.fromkeys([*found.explored, *found.searched])]
    words.sort(key=["violated", "undecided", "holds", "not-applicable", "error"].index)
    report.say(f"{questions:,} questions, {found.explored.total():,} explored, {found.searched.total():,} searches by seed; {seconds:.1f} s")
    report.table(["outcome", "explored", "searched"], [[word, f"{found.explored[word]:,}", f"{found.searched[word]:,}"] for word in words])
    for place, why in [*found.refused, *found.failed]:
        report.warn(f"error: {why if why.startswith(place) else f'{place}: {why}'}")
    report.say(f"the rows are in {out}; roamcheck report {out} tells what they say")
