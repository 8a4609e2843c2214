"""The scenario format, `roamcheck-scenario/1`: who is there, what moves, what the explorer is free to do, and under which assumptions.

`parse_scenario` reads TOML and `to_toml` writes it; `as_data` and `from_data` are the same tables as JSON.  All that is read is checked;
a ScenarioError says in one line where, what was found, and what would be right.  `scenario_check.py` decides what makes sense.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from roamcheck.spec.filters import NAME, Attributes, Filter, FilterError, filter_table, parse_attributes, parse_filter, printable, show
from roamcheck.spec.messages import KINDS, Frame

from .expectations import Expectation, check_expectations, expectations_data, read_expectations
from .scenario_check import Path, Problem, Table, check, choices, dotted, list_at, listed, pair_at, text_at
from .scenario_check import warnings as warnings

JSON = None | bool | int | float | str | list["JSON"] | dict[str, "JSON"]

FORMAT: Final = "roamcheck-scenario/1"
MESSAGE_KINDS: Final = tuple(dict.fromkeys(name for of, name in KINDS.items() if of is not Frame))  # a frame is lost with what is in it
MOVES: Final[Mapping[str, tuple[str, ...]]] = {  # each with its arguments; "client": subscriber or publisher
    "publish": ("event",),
    "subscribe": ("subscriber", "filter"),
    "unsubscribe": ("subscriber", "filter"),
    "detach": ("client",),
    "attach": ("client", "to"),
    "link-down": ("link",),
    "migrate": ("broker", "to"),
    "merge": ("broker", "to"),
    "crash": ("broker", "state"),
}
ASSUMPTIONS: Final[Mapping[str, tuple[str, ...]]] = {  # semantics section 4, each with its values
    "in-flight": ("returned", "lost"),
    "bounce": ("atomic", "later"),
    "client-links": ("queued", "instant"),
    "radio": ("reliable", "detected", "silent"),
    "notice": ("together", "apart"),
}

_MAX_BYTES: Final = 1 << 20
_MAX_DOTS: Final = 1000  # on one line: tomllib's time grows with the square of a dotted key
_KEYS: Final = {  # of the file and of its sections
    "": ("format", "name", "title", "source", "protocol", "network", "filters", "subscribers", "publishers", "events", "start", "moves", "free",
         "assume", "readings", "expect"),
    "network": ("brokers", "leaders", "links"),
    "subscribers": ("at", "filters"),
    "publishers": ("at",),
    "events": ("from", "attributes"),
    "start": ("subscriptions",),
    "assume": (*ASSUMPTIONS, "lossy"),
}  # fmt: skip


class ScenarioError(ValueError):
    """A scenario that is refused; str() is one line, `FILE:LINE: PROBLEM; HINT`."""

    def __init__(self, where: str, line: int | None, problem: str, hint: str) -> None:
        super().__init__(where, line, problem, hint)
        self.where, self.line, self.problem, self.hint = where, line, problem, hint

    def __str__(self) -> str:
        place = printable(self.where) + ("" if self.line is None else f":{self.line}")
        return f"{place}: {self.problem}; {self.hint}" if self.hint else f"{place}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Move:
    """One environment step that is to happen, once, when its guard holds and the moves in `after` have happened."""

    id: str
    do: str  # a key of MOVES
    after: tuple[str, ...] = ()
    when: str = "any"  # or "quiescent"
    event: str | None = None
    subscriber: str | None = None
    publisher: str | None = None
    filter: str | None = None
    to: str | None = None
    link: tuple[str, str] | None = None
    broker: str | None = None
    state: str | None = None  # of a crash: "durable" or "volatile"


@dataclass(frozen=True, slots=True)
class Subscriber:
    """s, attached to `at` (None: nowhere) and wanting `filters` at the start."""

    name: str
    at: str | None
    filters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Publisher:
    """p, attached to `at` (None: nowhere) at the start."""

    name: str
    at: str | None


@dataclass(frozen=True, slots=True)
class Event:
    """e, published at most once, by one publisher."""

    name: str
    publisher: str
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Free:
    """How many steps the explorer may choose itself, of each sort; in a file with dashes."""

    publish: int = 0
    client_moves: int = 0
    broker_moves: int = 0
    link_failures: int = 0
    merges: int = 0
    crashes: int = 0
    volatile_crashes: int = 0
    losses: int = 0
    repeats: int = 0  # of what is not acknowledged yet, where links are acknowledged: timers that run out too early


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Section 4 of the semantics; the values are those of ASSUMPTIONS."""

    in_flight: str | None = None  # the default depends on the protocol
    bounce: str = "atomic"
    client_links: str = "queued"
    radio: str = "reliable"
    lossy: tuple[str, ...] = ()  # of MESSAGE_KINDS, in that order; () = every kind
    notice: str = "together"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One scenario.  Brokers, leaders, links and moves are in the order of the file, what a file declares by name is sorted by name."""

    name: str
    title: str = ""
    source: str = ""
    protocol: str = "mft-pubsub"
    brokers: tuple[str, ...]
    leaders: tuple[str, ...]
    links: tuple[tuple[str, str], ...] = ()
    filters: tuple[tuple[str, Filter], ...] = ()
    subscribers: tuple[Subscriber, ...] = ()
    publishers: tuple[Publisher, ...] = ()
    events: tuple[Event, ...] = ()
    settled: bool = True  # all SUBs flooded at the start; or subscribing is part of the run
    moves: tuple[Move, ...] = ()
    free: Free = Free()
    assume: Assumptions = Assumptions()
    readings: tuple[tuple[str, str], ...] = ()
    expect: tuple[Expectation, ...] = ()  # for those who test; no verdict depends on it


# -- reading -------------------------------------------------------------------------------------------


def parse_scenario(
    text: str, *, where: str, known_protocols: Collection[str] | None = None, known_readings: Mapping[str, Collection[str]] | None = None
) -> Scenario:
    """From the text of a file that messages call `where`; raises ScenarioError.  Names of protocols and readings are checked where known."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > _MAX_BYTES:
        raise ScenarioError(where, None, f"{size} bytes are too many", f"a scenario has at most {_MAX_BYTES}")
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > _MAX_DOTS:
            raise ScenarioError(where, number, f"more than {_MAX_DOTS} dots on one line", "break the line")
    try:
        data = tomllib.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        raise ScenarioError(where, None, "nested too deeply", "no value of a scenario needs more than three levels") from None
    except ValueError as error:
        said = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "a number has too many digits"
        at = re.search(r"\(at line (\d+), column \d+\)$", said)
        raise ScenarioError(where, int(at[1]) if at else None, f"not TOML: {printable(said[:300])}", "see https://toml.io/en/v1.0.0") from None
    return _checked(data, where, text, known_protocols, known_readings)


def from_data(
    data: object, where: str, *, known_protocols: Collection[str] | None = None, known_readings: Mapping[str, Collection[str]] | None = None
) -> Scenario:
    """From the tables that as_data gives, checked like a file; raises ScenarioError."""
    return _checked(data, where, "", known_protocols, known_readings)


def _checked(data: object, where: str, text: str, protocols: Collection[str] | None, readings: Mapping[str, Collection[str]] | None) -> Scenario:
    try:
        scenario = _read(data)
        check(scenario, protocols, readings)
        check_expectations(scenario.expect, scenario.protocol, protocols)
    except Problem as problem:
        raise _error(problem, where, data, text) from None
    return scenario


def _read(data: object) -> Scenario:
    top = Table((), data, None)
    if top.get("format") != FORMAT:
        found = show(top.get("format")) if "format" in top.data else None
        raise Problem(("format",), found, "no format that is known here" if found else "missing", f"this version reads format = {show(FORMAT)}")
    top.only(_KEYS[""])
    network = Table(("network",), top.get("network", {}), _KEYS["network"])
    links = tuple(pair_at(("network", "links"), link) for link in list_at(("network", "links"), network.get("links", [])))
    leaders = network.names("leaders")
    mentioned = (*(end for link in links for end in link), *leaders)
    assume = Table(("assume",), top.get("assume", {}), _KEYS["assume"])
    free = Table(("free",), top.get("free", {}), [_dashed(field.name) for field in fields(Free)])
    start = Table(("start",), top.get("start", {}), _KEYS["start"])
    return Scenario(
        name=top.name("name"),
        title=top.line("title"),
        source=top.line("source"),
        protocol=top.name("protocol", "mft-pubsub"),
        brokers=network.names("brokers") if "brokers" in network.data else tuple(dict.fromkeys(mentioned)),
        leaders=leaders,
        links=links,
        filters=tuple((name, _read_filter(("filters", name), table)) for name, table in top.entries("filters")),
        subscribers=tuple(
            Subscriber(table.key, table.name_if_any("at"), table.names("filters")) for table in top.tables("subscribers", _KEYS["subscribers"])
        ),
        publishers=tuple(Publisher(table.key, table.name_if_any("at")) for table in top.tables("publishers", _KEYS["publishers"])),
        events=tuple(map(_read_event, top.tables("events", _KEYS["events"]))),
        settled=start.choice("subscriptions", ("settled", "none"), "settled") == "settled",
        moves=tuple(_read_move(Table(("moves", number), table, None)) for number, table in enumerate(list_at(("moves",), top.get("moves", [])))),
        free=Free(**{field.name: free.count(_dashed(field.name)) for field in fields(Free)}),
        assume=_read_assumptions(assume),
        readings=tuple((name, text_at(("readings", name), value)) for name, value in top.entries("readings")),
        expect=read_expectations(top.get("expect")) if "expect" in top.data else (),
    )


def _read_filter(path: Path, table: object) -> Filter:
    try:
        return parse_filter(table)
    except FilterError as error:
        raise Problem((*path, *error.path), error.found, error.problem, error.hint) from None


def _read_event(table: Table) -> Event:
    publisher = table.name("from")
    try:
        return Event(table.key, publisher, parse_attributes(table.get("attributes", {})))
    except FilterError as error:
        raise Problem((*table.path, "attributes", *error.path), error.found, error.problem, error.hint) from None


def _read_move(table: Table) -> Move:
    do = table.choice("do", tuple(MOVES))
    wanted = MOVES[do]
    if "client" in wanted:
        client = [key for key in ("subscriber", "publisher") if key in table.data]
        if len(client) != 1:
            problem = f"{do} takes a subscriber or a publisher, {'not both' if client else 'and neither is there'}"
            raise Problem(table.path, None, problem, "give one of the two")
        wanted = (client[0], *wanted[1:])
    table.only(("id", "do", "after", "when", *wanted))
    for key in wanted:
        table.need(key, f"{do} takes {' and '.join(wanted)}")
    arguments = {key: table.name(key) for key in wanted if key not in ("link", "state")}
    return Move(
        id=table.name("id"),
        do=do,
        after=table.names("after"),
        when=table.choice("when", ("any", "quiescent"), "any"),
        link=pair_at((*table.path, "link"), table.need("link")) if "link" in wanted else None,
        state=table.choice("state", ("durable", "volatile")) if "state" in wanted else None,
        **arguments,
    )


def _read_assumptions(table: Table) -> Assumptions:
    chosen = {key.replace("-", "_"): table.choice(key, values) for key, values in ASSUMPTIONS.items() if key in table.data}
    lossy = table.names("lossy")
    if "lossy" in table.data and not lossy:
        raise Problem(("assume", "lossy"), "[]", "names no kind of message", "leave it out for every kind")
    for kind in lossy:
        if kind not in MESSAGE_KINDS:
            raise Problem(("assume", "lossy"), show(lossy), f"{listed([kind])} is no kind of message", choices("kinds", MESSAGE_KINDS, kind.upper()))
    return Assumptions(**chosen, lossy=tuple(kind for kind in MESSAGE_KINDS if kind in lossy))


def _dashed(name: str) -> str:
    return name.replace("_", "-")


# -- where a problem is --------------------------------------------------------------------------------

_DEPTH: Final = {  # how many keys a header has
    **dict.fromkeys(("network", "filters", "start", "free", "assume", "readings"), 1),
    **dict.fromkeys(("subscribers", "publishers", "events", "moves", "expect"), 2),
}
_PART: Final = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")


def _error(problem: Problem, where: str, data: Any, text: str) -> ScenarioError:
    """`[subscribers.s3] at = "b9": no such broker`, with its line."""
    path = problem.path
    if path[:1] == ("moves",) and len(path) > 1 and isinstance(data["moves"][path[1]], Mapping):  # by its id, if it has one
        given = data["moves"][path[1]].get("id")
        path = ("moves", given if isinstance(given, str) and NAME.fullmatch(given) else path[1], *path[2:])
    depth = _DEPTH.get(str(path[0]), 0) if path else 0
    depth = depth if len(path) > depth or (len(path) == depth and problem.found is None) else 0
    section, keys = dotted(path[:depth]), dotted(path[depth:])
    label = " ".join(filter(None, (f"[{section}]" if section else "", " = ".join(filter(None, (keys, problem.found))))))
    return ScenarioError(where, _line(text, problem.path), f"{label}: {problem.problem}" if label else problem.problem, problem.hint)


def _line(text: str, path: Path) -> int | None:
    """The line of the innermost table or key of the path that stands at the beginning of a line.  tomllib tells no lines; this is a guess
    good enough for a message, on a text that tomllib has accepted."""
    lines: dict[Path, int] = {}
    seen: Counter[Path] = Counter()  # [[headers]]
    header: Path = ()
    quotes: str | None = None  # inside a string of several lines
    for number, line in enumerate(text.split("\n"), 1):
        line, opens = line.strip(), None if quotes else next((q for q in ('"""', "'''") if line.count(q) % 2), None)
        if quotes:
            quotes = None if line.count(quotes) % 2 else quotes
        elif line.startswith("[") and "," not in line.partition("]")[0]:
            header = tuple(part.strip("\"'") for part in _PART.findall(line.partition("]")[0]))
            lines.setdefault(header, number)
            if line.startswith("[["):
                seen[header] += 1
                header = (*header, seen[header] - 1)
                lines.setdefault(header, number)
        elif not line.startswith("#") and "=" in line:
            keys: Path = tuple(part.strip("\"'") for part in _PART.findall(line.partition("=")[0]))
            for length in range(1, min(len(keys), 4) + 1):
                lines.setdefault((*header, *keys[:length]), number)
        quotes = quotes or opens
    return next((lines[path[:length]] for length in range(len(path), 0, -1) if path[:length] in lines), None)


# -- writing -------------------------------------------------------------------------------------------


def assumed_values(assume: Assumptions) -> dict[str, JSON]:
    """Every assumption by its name.  `notice` is named where it is `apart`: what was written before it was thought of means the same."""
    values: dict[str, JSON] = {name: getattr(assume, name.replace("-", "_")) for name in ASSUMPTIONS}
    return {name: value for name, value in values.items() if (name, value) != ("notice", "together")}


def as_data(scenario: Scenario) -> dict[str, JSON]:
    """The tables of the canonical file; what has its default value is left out where the format has a place for it."""
    s, assume = scenario, scenario.assume
    assumed: dict[str, JSON] = {key: value for key, value in assumed_values(assume).items() if value is not None}
    data: dict[str, JSON] = {
        "format": FORMAT,
        "name": s.name,
        "title": s.title,
        "source": s.source,
        "protocol": s.protocol,
        "network": {"brokers": [*s.brokers], "leaders": [*s.leaders], "links": [[*link] for link in s.links]},
        "filters": {name: filter_table(f) for name, f in s.filters},
        "subscribers": {c.name: {**({"at": c.at} if c.at else {}), "filters": [*c.filters]} for c in s.subscribers},
        "publishers": {c.name: {"at": c.at} if c.at else {} for c in s.publishers},
        "events": {e.name: {"from": e.publisher, "attributes": dict(e.attributes)} for e in s.events},
        "start": {"subscriptions": "settled" if s.settled else "none"},
        "moves": [_move_table(move) for move in s.moves],
        "free": {_dashed(field.name): budget for field in fields(Free) if (budget := getattr(s.free, field.name))},
        "assume": assumed | ({"lossy": [*assume.lossy]} if assume.lossy else {}),
        "readings": dict(s.readings),
        "expect": expectations_data(s.expect),
    }
    return {key: value for key, value in data.items() if value not in ("", {}, [])}


def _move_table(move: Move) -> JSON:
    given = {field.name: getattr(move, field.name) for field in fields(Move) if getattr(move, field.name) not in (None, (), field.default)}
    return {key: [*value] if isinstance(value, tuple) else value for key, value in given.items()}


def to_toml(scenario: Scenario) -> str:
    """The canonical file; parses back to an equal scenario."""
    lines: list[str] = []
    for section, value in as_data(scenario).items():
        if isinstance(value, list):
            for table in value:
                lines += ["", f"[[{section}]]", *_pairs(table)]
        elif not isinstance(value, dict):
            lines += _pairs({section: value})
        elif _DEPTH[section] == 2:
            for name, table in value.items():
                lines += ["", f"[{section}.{_key(name)}]", *_pairs(table)]
        else:
            lines += ["", f"[{section}]", *_pairs(value)]
    return "\n".join(lines) + "\n"


def _pairs(table: JSON) -> list[str]:
    return [f"{_key(key)} = {_inline(value)}" for key, value in table.items()] if isinstance(table, dict) else []


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _inline(name)


def _inline(value: JSON) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(_pairs(value))} }}" if value else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # of the rest, JSON and TOML write it alike
