"""What a scenario file expects of its properties, `[expect]` or several `[[expect]]`: part of the file, and of no verdict.

    [expect]                                   # under the file's own protocol and readings
    no-duplicate = "violated"
    delivered = { violated-within = 12 }       # by a run of at most 12 steps

    [[expect]]                                 # or, each under a protocol and a named set of readings
    protocol = "mft-pubsub"
    readings = "amended"
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from roamcheck.spec.filters import show
from roamcheck.spec.properties import PROPERTIES
from roamcheck.spec.readings import NAMED_SETS

from .scenario_check import Path, Problem, Table, choices

HOLDS: Final = "holds"
VIOLATED: Final = "violated"
WITHIN: Final = "violated-within"
_HINT: Final = f'write "{HOLDS}", "{VIOLATED}" or {{ {WITHIN} = 12 }}'


@dataclass(frozen=True, slots=True)
class Expected:
    """What is expected of one property."""

    property: str
    violated: bool
    within: int | None = None  # steps of the counterexample, at most


@dataclass(frozen=True, slots=True)
class Expectation:
    """What is expected under a protocol and readings; of a property that is not named, that it holds."""

    protocol: str | None = None  # None: the file's
    readings: str | None = None  # a named set; None: the file's own
    properties: tuple[Expected, ...] = ()  # sorted by name


def read_expectations(given: object) -> tuple[Expectation, ...]:
    """From the value of `expect`: a table, or a list of them.  Raises Problem."""
    if isinstance(given, list):
        return tuple(_read(("expect", number), table) for number, table in enumerate(given))
    return (_read(("expect",), given),)


def _read(path: Path, given: object) -> Expectation:
    table = Table(path, given, ("protocol", "readings", *PROPERTIES))
    return Expectation(
        table.name_if_any("protocol"),
        table.choice("readings", tuple(NAMED_SETS)) if "readings" in table.data else None,
        tuple(_read_expected(table, name) for name in sorted(PROPERTIES) if name in table.data),
    )


def _read_expected(table: Table, name: str) -> Expected:
    given, path = table.get(name), (*table.path, name)
    if isinstance(given, dict):
        steps = Table(path, given, (WITHIN,)).need(WITHIN, _HINT)
        if isinstance(steps, bool) or not isinstance(steps, int) or not 0 <= steps < 2**31:
            raise Problem((*path, WITHIN), show(steps), "not a number of steps", _HINT)
        return Expected(name, True, steps)
    if given not in (HOLDS, VIOLATED):
        raise Problem(path, show(given), "no such expectation", _HINT)
    return Expected(name, given == VIOLATED)


def check_expectations(expect: tuple[Expectation, ...], own: str, protocols: Collection[str] | None) -> None:
    """Protocols that are known, and each question once; `own` is the file's protocol.  Raises Problem."""
    asked: dict[tuple[str, str | None], int] = {}
    for number, one in enumerate(expect):
        where: Path = ("expect", number) if len(expect) > 1 else ("expect",)
        if one.protocol is not None and protocols is not None and one.protocol not in protocols:
            raise Problem((*where, "protocol"), show(one.protocol), "no such protocol", choices("protocols", protocols, one.protocol))
        first = asked.setdefault((one.protocol or own, one.readings), number)
        if first != number:
            raise Problem(where, None, f"asks the same as number {first + 1}: one protocol, one set of readings", "join the two")


def expectations_data(expect: tuple[Expectation, ...]) -> list[Any]:
    """The tables that read_expectations reads."""
    return [
        {
            **({"protocol": one.protocol} if one.protocol is not None else {}),
            **({"readings": one.readings} if one.readings is not None else {}),
            **{e.property: {WITHIN: e.within} if e.within is not None else VIOLATED if e.violated else HOLDS for e in one.properties},
        }
        for one in expect
    ]
