"""What a person reads: verdict tables, counts, lists.  Standard output carries the answer, standard error progress and warnings."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, NoReturn

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from roamcheck.spec.properties import PROPERTIES
from roamcheck.spec.protocols import PROTOCOLS
from roamcheck.spec.readings import PRINTED

from .batch import Tally
from .causes import Cause
from .check import WORDS, Answer, readings_label
from .files import write_text
from .guards import never
from .lines import describe
from .question import Question
from .verdict import HoldsWithin, NotApplicable, Progress, Unknown, Verdict, Violated

SHOWN = 20  # causes in a table; JSON has all
STYLES = {"holds": "green", "violated": "bold red", "holds-within": "yellow", "unknown": "yellow", "not-applicable": "dim"}


class Output(Console):
    """A console that leaves a reader who has gone to the command line to deal with; rich exits with 1, which is a verdict here."""

    def on_broken_pipe(self) -> NoReturn:
        """Called by rich while it handles the error."""
        raise BrokenPipeError


def out() -> Console:
    """Standard output; as wide as the text needs when it is not a terminal."""
    return Output(width=None if sys.stdout.isatty() else 160, highlight=False, soft_wrap=True)


def say(text: str) -> None:
    """Plain text on standard output."""
    print(text)


def warn(text: str) -> None:
    """One line on standard error."""
    print(f"roamcheck: {text}", file=sys.stderr)


def warn_of_compiling() -> None:
    """Say so if the first search on this machine is to compile its loops."""
    from .tabled.loading import compiled

    if not compiled():
        warn("note: the loops of the search are compiled first; this happens once and takes some seconds")


def as_json(value: Any) -> str:
    """One line of JSON, keys in their order."""
    return json.dumps(value, ensure_ascii=False)


class JsonLines:
    """What goes to `--json`: line by line to standard output, or into a file that appears whole at the end."""

    def __init__(self, target: str | None) -> None:
        self.target = target
        self.lines: list[str] = []

    @property
    def quiet(self) -> bool:
        """Standard output is taken."""
        return self.target == "-"

    def add(self, record: Any) -> None:
        """One object, one line."""
        if self.target == "-":
            say(as_json(record))
        elif self.target is not None:
            self.lines.append(as_json(record))

    def close(self) -> None:
        """Write the file.  Raises FileError."""
        if self.target not in (None, "-"):
            write_text(Path(str(self.target)), "".join(line + "\n" for line in self.lines))


def prompt(text: str) -> str:
    """A line from standard input.  Raises EOFError."""
    return input(text)


@contextmanager
def ticker(what: str) -> Iterator[Callable[[float, str], None]]:
    """Show a line about a long task, given its seconds and a text, once it has taken two; on a terminal only, on standard error."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _seconds, _text: None
        return
    with console.status("") as status:
        status.stop()

        def tell(seconds: float, text: str) -> None:
            if seconds >= 2:
                status.start()
                status.update(f"{escape(what)}: {escape(text)}, {seconds:,.0f} s")

        yield tell


@contextmanager
def progress(what: str) -> Iterator[Callable[[Progress], None]]:
    """Show how far a search has come once it has taken two seconds; on a terminal only, on standard error."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("") as status:
        status.stop()
        shown = False

        def observe(now: Progress) -> None:
            nonlocal shown
            if now.seconds < 2:
                return
            if not shown:
                status.start()
                shown = True
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            status.update(
                f"{escape(what)}: {now.states:,} states, {now.transitions:,} transitions, {now.states / now.seconds:,.0f} states/s, "
                f"frontier {now.frontier:,}, depth {now.depth}, {memory:,.0f} MiB, "
                f"{f'{now.values:,} local values, {now.answers:,} table entries, ' if now.values else ''}{now.seconds:,.0f} s"
                f"{f'; perhaps {now.expected:,} states, {(now.expected / now.states - 1) * now.seconds:,.0f} s more' if now.expected else ''}"
            )

        yield observe


@contextmanager
def counting(what: str, expected: float | None = None) -> Iterator[Callable[[int], None]]:
    """Show how many there are so far once it has taken two seconds; on a terminal only, on standard error."""
    console, began = Console(stderr=True), monotonic()
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("") as status:
        status.stop()

        def tick(done: int) -> None:
            seconds = monotonic() - began
            if seconds >= 2:
                status.start()
                more = "" if expected is None else f"; of perhaps {expected:,.0f} {what} at most"
                status.update(f"{done:,}, {done / seconds:,.0f} a second, {seconds:,.0f} s{more}")

        yield tick


def tally(found: Tally, complete: bool, seconds: float, written: Mapping[Cause, Path]) -> None:
    """What came of many scenarios: how many violate what, and the distinct causes with the smallest example of each."""
    console, extent = out(), "all" if complete else "the first"
    console.print(
        f"{extent} {found.scenarios:,} scenarios, {found.violating:,} violate what was promised ({found.violating / found.scenarios:.1%}), "
        f"{found.states:,} states, {seconds:.1f} s"
    )
    if found.unfired:
        console.print(f"[yellow]{found.unfired:,} of them have a move that fires in no run[/yellow]")
    promised = {name: PROPERTIES[name].decisive for name in found.violated}
    rows = sorted(found.violated.items(), key=lambda item: (not promised[item[0]], -item[1]))
    table(
        ("property", "scenarios", "shortest"),
        [(name if promised[name] else f"{name} (not promised)", f"{count:,}", str(found.shortest[name])) for name, count in rows],
    )
    causes = found.ordered()
    if causes:
        console.print(f"\n{len(causes):,} distinct causes (property, conjunct, printed lines passed); the commonest {min(len(causes), SHOWN)}:")
        table(
            ("property", "scenarios", "steps", "smallest example", "lines"),
            [
                (cause.property, f"{example.count:,}", str(example.length), str(written.get(cause, example.scenario.name)), describe(cause.lines))
                for cause, example in causes[:SHOWN]
            ],
        )


def verdicts(given: Answer) -> None:
    """The verdict on each property, with what it was given under."""
    question, console = given.question, out()
    console.print(f"[bold]{escape(question.scenario.name)}[/bold]  {escape(question.scenario.title)}")
    protocol = f"[bold]{question.protocol}[/bold] ({PROTOCOLS[question.protocol].source})"
    console.print(f"protocol {protocol}, readings [bold]{readings_text(question)}[/bold], {assumptions_text(question)}")
    if given.mutant is not None:
        console.print(f"[yellow]with the mutant {given.mutant}[/yellow]")
    why = question.why_not_applicable()
    if why is not None:
        console.print(f"[yellow]not applicable[/yellow]: {escape(why)}")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("property", "verdict", "length", "what fails, or where the trace is"):
        table.add_column(column, overflow="fold")
    for name, verdict in given.verdicts.items():
        table.add_row(*verdict_row(given, name, verdict))
    console.print(table)
    found = given.exploration
    if found is not None:
        counts = found.counts
        extent = "all" if found.complete else "stopped after"
        compared = f"fingerprints collide with probability < {found.collision_bound:.0e}" if found.collision_bound else "states are compared exactly"
        console.print(
            f"{extent} {counts.states:,} states, {counts.transitions:,} transitions, depth {counts.depth}, {counts.quiescent:,} quiescent; "
            f"{compared}; {found.seconds:.2f} s"
        )
        if found.reductions:
            longer = f"; shorter ways may lead to breaches of {', '.join(sorted(found.longer))} (--no-reduction finds them)" if found.longer else ""
            console.print(f"reduced ({', '.join(found.reductions)}): states that no verdict needs were left out{longer}")
        if counts.unfair_cycles:
            console.print(f"{counts.unfair_cycles:,} cycles of protocol steps are unfair (some channel is never served) and violate nothing")


def verdict_row(given: Answer, name: str, verdict: Verdict) -> tuple[str, str, str, str]:
    """One property's line."""
    word = WORDS[type(verdict)]
    shown = f"[{STYLES[word]}]{word}[/{STYLES[word]}]"
    label = name if PROPERTIES[name].decisive else f"{name} [dim](not promised)[/dim]"
    match verdict:
        case Violated(counterexample):
            where = f"[dim]{escape(str(given.paths[name]))}[/dim]" if name in given.paths else ""
            return label, shown, str(counterexample.length), f"{escape(str(counterexample.breach))}  {where}".rstrip()
        case HoldsWithin(text) | Unknown(text) | NotApplicable(text):
            return label, shown, "", escape(text)
    return label, shown, "", ""


def readings_text(question: Question) -> str:
    """The readings in force: the name of the set, and what differs from the printed values."""
    label = readings_label(question).rstrip(".") or "printed"
    if label != "mixed":
        return label
    printed = PRINTED.with_values(PROTOCOLS[question.protocol].printed()).as_dict()
    return "printed but " + ", ".join(f"{name}={value}" for name, value in question.readings.as_dict().items() if printed[name] != value)


def assumptions_text(question: Question) -> str:
    """The assumptions in force."""
    assume, losses = question.assume, question.scenario.free.losses
    radio = assume.radio if assume.radio == "reliable" else f"{assume.radio}({losses}{', ' + ' '.join(assume.lossy) if assume.lossy else ''})"
    repeats = f", repeats={question.scenario.free.repeats}" if question.scenario.free.repeats else ""
    notice = "" if assume.notice == "together" else f", notice={assume.notice}"
    return f"in-flight={assume.in_flight}, bounce={assume.bounce}, client-links={assume.client_links}, radio={radio}{notice}{repeats}"


def counts(given: Answer) -> None:
    """What was explored: steps by kind, rate, and the guards that one side of was never seen."""
    found, console = given.exploration, out()
    if found is None:
        return
    rate = found.counts.states / found.seconds if found.seconds else 0
    console.print(f"rate {rate:,.0f} states/s; transitions by action: " + ", ".join(f"{a} {n:,}" for a, n in found.steps_by_action.items()))
    if found.growth is not None:
        console.print("local values by slot: " + most(found.growth.values) + "; reactions worked out by step: " + most(found.growth.reactions))
    if given.coverage is not None:
        never_true, never_false, unreached = never(given.coverage, PROTOCOLS[given.question.protocol])
        console.print("guards never true:  " + (escape("; ".join(never_true)) or "none"))
        console.print("guards never false: " + (escape("; ".join(never_false)) or "none"))
        console.print("guards never asked: " + (escape("; ".join(unreached)) or "none"))


def most(numbers: Mapping[str, int], shown: int = 8) -> str:
    """The largest of these."""
    ordered = sorted(numbers.items(), key=lambda item: -item[1])
    more = len([number for _, number in ordered[shown:] if number])
    return escape(", ".join(f"{name} {number:,}" for name, number in ordered[:shown] if number)) + (f" and {more} more" if more else "")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A plain table."""
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        shown.add_column(column, overflow="fold")
    for row in rows:
        shown.add_row(*(escape(cell) for cell in row))
    out().print(shown)


@contextmanager
def status() -> Iterator[Callable[[str], None]]:
    """One line that says what is being done, once that has taken two seconds; on a terminal only, on standard error."""
    console, started = Console(stderr=True), time.monotonic()
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("") as shown:
        shown.stop()

        def observe(text: str) -> None:
            seconds = time.monotonic() - started
            if seconds >= 2:
                shown.start()
                shown.update(f"{escape(text)}, {seconds:,.0f} s")

        yield observe
