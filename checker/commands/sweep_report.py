"""`roamcheck report DIR`: what a sweep found, by Spark SQL over its Parquet files."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import click

from roamcheck.spec.properties import PROPERTIES

from ..files import FileError, writable, write_text
from ..interrupts import held_back
from ..lines import Lines, describe
from ..options import BAD_INPUT, json_option, pairs, refuse
from ..verdict import ExitCode
from .sweep import SPARK, need_parquet, options_of

SHOWN = 20  # causes that are told; JSON and the traces have all
GROUP = ("readings", "radio", "bounce", "client_links")  # a table each


@click.command("report", epilog="Example: roamcheck report sweep.d --figures figures-of-mine")
@click.argument("folder", metavar="DIR")
@options_of(SPARK)
@click.option("--traces", metavar="DIR", help="Write the smallest trace of each cause to DIR (default: traces in the sweep's folder).")
@click.option("--figures", metavar="DIR", help="Draw figures into DIR, as SVG and PNG.")
@json_option
def sweep_report(folder: str, traces: str | None, figures: str | None, json_to: str | None, master: str | None, conf: tuple[str, ...]) -> None:
    """Say what the sweep in DIR found: verdicts, rates of the searches, distinct causes and their smallest traces, slow jobs, lines never passed.

    Exit code: 0 it is told, 2 bad input, 3 Spark failed, 130 interrupted.
    """
    from .. import report

    need_parquet()
    lines = report.JsonLines(json_to)
    try:
        found, causes, drawn = summarized(Path(folder), traces, figures, lines.quiet, master, conf)
        lines.add({**found, "causes": causes, "figures": drawn})
        lines.close()
    except BAD_INPUT as error:
        sys.exit(refuse(error))
    except RuntimeError as error:  # Spark's
        report.warn(f"error: {error}")
        sys.exit(ExitCode.UNDECIDED)
    if not lines.quiet:
        tell(folder, found, causes, drawn)
    for row in found["errors"]:
        report.warn(f"error: {row['place']}: {row['error'].removeprefix(row['place'] + ': ')}")
    sys.exit(ExitCode.HOLDS)


def summarized(
    folder: Path, traces: str | None, figures: str | None, quiet: bool, master: str | None, conf: tuple[str, ...]
) -> tuple[dict[str, Any], list[dict[str, Any]], list[str]]:
    """What was found, the causes, and the figures.  Raises FileError, CannotBegin, SparkFailed."""
    from .. import report
    from ..spark.session import spark_session
    from ..spark.summary import Summary, trace_path
    from ..sweeps.folder import Folder

    there = Folder(folder.absolute())
    if there.manifest() is None:
        raise FileError(f"{folder}: holds no sweep (it has no sweep.json); name the folder that was given to sweep as --out")
    into = Path(traces) if traces is not None else None if quiet else folder / "traces"
    for place in filter(None, (into, None if figures is None else Path(figures))):
        writable(place)
    with report.status() as say:
        say("starting Spark")
        with held_back(), spark_session(master, pairs(conf, "--conf"), "roamcheck report", quick=True) as session:
            say("asking Spark")
            summary = Summary(session, there)
            found, causes = summary.all(), []
            for number, row in enumerate(summary.causes(), 1):
                say(f"{number:,} causes")
                smallest = row.pop("smallest")
                path = None if into is None else trace_path(into, row)
                if path is not None:
                    write_text(path, smallest["trace"])
                del smallest["trace"]
                causes.append({**row, **smallest, "trace": None if path is None else str(path)})
        drawn = []
        if figures is not None:
            from ..figures import draw

            drawn = [str(path) for path in draw(Path(figures), found["verdicts"], found["rates"])]
    return found, causes, drawn


# ---- told to a person ------------------------------------------------------------------------------------------------------------


def tell(folder: str, found: dict[str, Any], causes: list[dict[str, Any]], drawn: list[str]) -> None:
    """All of it, in tables."""
    from .. import report

    questions, explored = found["questions"], found["explored"]
    if explored < questions:
        report.say(f"not finished: {explored:,} of {questions:,} questions are explored; sweep --resume --out {folder} goes on\n")
    report.table(
        ["jobs", "outcome", "number", "states", "runs", "seconds"],
        [
            ["searched" if row["searched"] else "explored", row["outcome"], f"{row['jobs']:,}", f"{row['states']:,}", f"{row['runs']:,}",
             f"{row['seconds']:,.1f}"]
            for row in found["totals"]
        ],
    )  # fmt: skip
    tell_verdicts(found["verdicts"])
    tell_rates(found["rates"])
    tell_causes(causes)
    report.say("\nslowest jobs:")
    report.table(
        ["scenario", "protocol", "readings", "radio", "engine", "seed", "states", "seconds"],
        [
            [str(row["scenario"] or ""), str(row["protocol"] or ""), row["readings"] or "", row["radio"] or "", row["engine"],
             "" if row["seed"] is None else str(row["seed"]), f"{row['states'] or 0:,}", f"{row['seconds']:.2f}"]
            for row in found["slowest"]
        ],
    )  # fmt: skip
    report.say("\nprinted lines that some job passed:")
    report.table(
        ["protocol", "passed", "of", "never passed"],
        [[row["protocol"], f"{row['passed']:,}", f"{row['lines']:,}", in_short(row["never"]) or "none"] for row in found["coverage"]],
    )
    for path in drawn:
        report.say(f"figure {path}")


def tell_verdicts(verdicts: list[dict[str, Any]]) -> None:
    """A table for each set of assumptions: property × protocol, how many of the jobs violate it, and the shortest counterexample."""
    from .. import report

    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in verdicts:
        groups.setdefault(tuple(row[name] for name in GROUP), []).append(row)
    for (readings, radio, bounce, client_links), rows in groups.items():
        protocols = list(dict.fromkeys(row["protocol"] for row in rows))
        report.say(f"\nreadings {readings}, radio={radio}, bounce={bounce}, client-links={client_links}: violated of explored jobs (shortest)")
        cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in rows:
            cells.setdefault((row["property"], row["protocol"]), []).append(row)
        names = [name for name in PROPERTIES if any(row["property"] == name for row in rows)]
        report.table(["property", *protocols], [[name, *(cell(cells.get((name, protocol), [])) for protocol in protocols)] for name in names])


def cell(rows: list[dict[str, Any]]) -> str:
    """3 of 57 (4), + 2 undecided"""
    asked, violated = sum(row["jobs"] - row["not_applicable"] for row in rows), sum(row["violated"] for row in rows)
    if not asked:
        return "–"
    undecided, shortest = sum(row["undecided"] for row in rows), min((row["shortest"] for row in rows if row["shortest"] is not None), default=None)
    said = f"{violated:,} of {asked:,}" + (f" ({shortest})" if shortest is not None else "")
    return f"{said}, {undecided:,} undecided" if undecided else said


def tell_rates(rates: list[dict[str, Any]]) -> None:
    """In which part of the searches by seed a property was violated."""
    from .. import report

    found = sorted((row for row in rates if row["violated"]), key=lambda row: (-row["rate"], -row["low"]))
    if rates:
        report.say("\nsearches by seed, the part that violates a property and its 95 % interval (Wilson):" if found else "\nno search found anything")
    if found:
        report.table(
            ["property", "protocol", "readings", "radio", "violated", "rate", "interval"],
            [
                [row["property"], row["protocol"], row["readings"], row["radio"], f"{row['violated']:,} of {row['searches']:,}", f"{row['rate']:.0%}",
                 f"{row['low']:.0%}–{row['high']:.0%}"]
                for row in islice(found, SHOWN)
            ],
        )  # fmt: skip


def tell_causes(causes: list[dict[str, Any]]) -> None:
    """The distinct causes, each with its smallest trace."""
    from .. import report

    if not causes:
        report.say("\nnothing is violated")
        return
    report.say(f"\n{len(causes):,} distinct causes (protocol, property, conjunct, printed lines passed); the first {min(len(causes), SHOWN)}:")
    report.table(
        ["property", "protocol", "questions", "steps", "smallest trace", "lines"],
        [
            [row["property"], row["protocol"], f"{row['questions']:,}", str(row["length"]), row["trace"] or row["scenario"],
             in_short(row["cause_lines"])]
            for row in causes[:SHOWN]
        ],
    )  # fmt: skip


def in_short(lines: Iterable[str]) -> str:
    """TR19 Alg. 6 l.13–16, 18; Alg. 7 l.59–63"""
    numbers: dict[tuple[str, str], set[int]] = {}
    for line in lines:
        source, algorithm, given = re.fullmatch(r"(\S+) (Alg\. \d+) l\.(.*)", line).groups()  # type: ignore[union-attr]
        for first, last in re.findall(r"(\d+)(?:–(\d+))?", given):
            numbers.setdefault((source, algorithm), set()).update(range(int(first), int(last or first) + 1))
    return describe(tuple(Lines(*place, tuple(sorted(some))) for place, some in numbers.items()))
