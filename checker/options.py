"""Options that several commands have, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import click

from roamcheck.model.scenario import ASSUMPTIONS, Scenario, ScenarioError
from roamcheck.spec.protocols import PROTOCOLS
from roamcheck.spec.readings import NAMED_SETS

from .files import FileError
from .question import Question, QuestionError, question
from .verdict import CannotBegin, ExitCode

BAD_INPUT = (ScenarioError, FileError, QuestionError, CannotBegin)

QUESTION = (
    click.option("--protocol", metavar="NAME", help=f"One of {', '.join(PROTOCOLS)} (default: the file's, mft-pubsub)."),
    click.option("--readings", metavar="SET", help=f"A named set of readings: {', '.join(NAMED_SETS)}; stands in for the file's own."),
    click.option("--reading", multiple=True, metavar="NAME=VALUE", help="One reading (repeatable); see `roamcheck list readings`."),
    click.option("--in-flight", type=click.Choice(ASSUMPTIONS["in-flight"]), help="What a falling link does to PUB and REP in flight."),
    click.option("--bounce", type=click.Choice(ASSUMPTIONS["bounce"]), help="When the sender learns of it."),
    click.option("--client-links", type=click.Choice(ASSUMPTIONS["client-links"]), help="Clients talk through channels, or at once."),
    click.option("--radio", type=click.Choice(ASSUMPTIONS["radio"]), help="Whether messages may be lost, and whether the sender learns of it."),
    click.option("--notice", type=click.Choice(ASSUMPTIONS["notice"]), help="When the two ends of a falling link notice it."),
    click.option("--losses", type=click.IntRange(0, 1000), metavar="N", help="How many messages the radio may lose (default: the file's)."),
    click.option("--repeats", type=click.IntRange(0, 1000), metavar="N",
                 help="How often a timer of acknowledged links may run out too early (default: the file's)."),
    click.option("--property", "properties", multiple=True, metavar="NAME", help="Ask only this property (repeatable)."),
)


SPARK = (
    click.option("--master", metavar="URL", help="Spark's master, of --engine spark (default: local[*], or what spark-submit says)."),
    click.option("--conf", multiple=True, metavar="NAME=VALUE", help="A Spark property, of --engine spark (repeatable)."),
    click.option("--partitions", type=click.IntRange(1, 10_000), metavar="N", help="Parts of all states, of --engine spark (default: its cores)."),
)


class Size(click.ParamType[int]):
    """Bytes: a number and K, M, G or T."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Raises click.BadParameter."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT])(?:i?B)?", str(value), re.IGNORECASE)
        if found is None:
            self.fail(f"{value!r} is no size: write 4G or 800M", param, ctx)
        return int(float(found[1]) * 1024 ** ("KMGT".index(found[2].upper()) + 1))


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--json FILE|-`, on every command."""
    text = "Write JSON to FILE, or with - to standard output and nothing else there."
    return click.option("--json", "json_to", metavar="FILE|-", help=text)(command)


def refuse(error: Exception) -> ExitCode:
    """One clear line about bad input."""
    from . import report

    report.warn(f"error: {error}")
    return ExitCode.USAGE


def need_z3(what: str) -> None:
    """Raises CannotBegin, with what to do, where Z3 is not installed."""
    if find_spec("z3") is None:
        raise CannotBegin(f"{what} needs Z3; install it: pip install 'roamcheck[guides]'")


def pairs(given: tuple[str, ...], option: str) -> dict[str, str]:
    """NAME=VALUE options.  Raises QuestionError."""
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise QuestionError(f"{option} {text!r}: give NAME=VALUE")
        found[name] = value
    return found


def question_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is asked: the protocol, its readings, the assumptions, the properties."""
    for option in reversed(QUESTION):
        command = option(command)
    return command


def spark_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """On which Spark the engine spark is to search."""
    for option in reversed(SPARK):
        command = option(command)
    return command


def to_question(scenario: Scenario, options: dict[str, Any]) -> Question:
    """The scenario under the command line's options.  Raises QuestionError."""
    assumptions = {name: options[name.replace("-", "_")] for name in ASSUMPTIONS if options[name.replace("-", "_")] is not None}
    return question(
        scenario,
        protocol=options["protocol"],
        readings=options["readings"],
        reading=pairs(options["reading"], "--reading"),
        assumptions=assumptions,
        losses=options["losses"],
        repeats=options["repeats"],
        properties=options["properties"],
    )
