"""The trace file, `roamcheck-trace/1`: a run that anyone can replay, as data only.

JSON lines: a header with all that the run depends on, then one line for each step.  `record` makes a trace from the numbers that an
engine gives, `dumps` and `loads` write and read the text; reading runs no code and refuses what is not a trace in one line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, Protocol

from roamcheck import __version__
from roamcheck.model.build import possible_links, possible_visitors
from roamcheck.model.encoding import DIGEST, NoMessage, digest, message_from_data, to_data
from roamcheck.model.interface import Disabled, Model, State, Step, fire
from roamcheck.model.scenario import ASSUMPTIONS, JSON, Assumptions, Scenario, ScenarioError, as_data, assumed_values, from_data
from roamcheck.model.scenario_check import Problem, Table, dotted
from roamcheck.spec.breach import Breach
from roamcheck.spec.filters import NAME, printable, show
from roamcheck.spec.messages import Message
from roamcheck.spec.properties import PROPERTIES, RUN
from roamcheck.spec.protocols import PROTOCOLS
from roamcheck.spec.readings import PRINTED, Readings

from .question import KNOWN_READINGS, Question
from .verdict import Counterexample

FORMAT: Final = "roamcheck-trace/1"
MAX_BYTES: Final = 16 << 20
MAX_WORK: Final = 4_000_000  # what it may take to build the model of a header; see _check_size

ARGUMENTS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {  # of each kind of step: what it may take
    "deliver": (("from", "to"),),
    "return": (("from", "to"),),
    "turn": (("broker",),),
    "lose": (("from", "to"),),
    "timeout": (("from", "to"),),
    "repeat": (("from", "to"),),
    "notice": (("broker", "to"),),
    "publish": (("publisher", "event"),),
    "subscribe": (("subscriber", "filter"),),
    "unsubscribe": (("subscriber", "filter"),),
    "attach": (("subscriber", "to"), ("publisher", "to")),
    "detach": (("subscriber",), ("publisher",)),
    "link-down": (("link",),),
    "migrate": (("broker", "to"),),
    "merge": (("broker", "to"),),
    "crash": (("broker", "state"),),
}  # and each of the environment the `move` of the scenario that it is
OWN_ACCORD: Final = ("deliver", "return", "turn", "lose", "timeout", "repeat", "notice")  # what no move of the scenario does
_HEADER: Final = (
    "format", "scenario", "protocol", "readings", "assumptions", "property", "breach", "loop", "length", "engine", "seed", "version", "initial",
    "digest",
)  # fmt: skip
_LINK: Final = re.compile(f"{NAME.pattern}–{NAME.pattern}")


class TraceError(ValueError):
    """A text that is no trace; str() is one line, `FILE:LINE: PROBLEM; HINT`."""

    def __init__(self, where: str, line: int, problem: str, hint: str) -> None:
        super().__init__(where, line, problem, hint)
        self.where, self.line, self.problem, self.hint = where, line, problem, hint

    def __str__(self) -> str:
        return f"{printable(self.where)}:{self.line}: {self.problem}; {self.hint}"


class Run(Protocol):
    """A way through a model, by numbers; a `Counterexample` is one."""

    @property
    def initial(self) -> int:
        """Which of model.initial_states."""

    @property
    def steps(self) -> tuple[int, ...]:
        """Which of model.steps, in order."""


@dataclass(frozen=True, slots=True)
class Steps:
    """A run that breaches nothing: one of the papers' figures."""

    steps: tuple[int, ...]
    initial: int = 0


@dataclass(frozen=True, slots=True)
class Header:
    """All that a run depends on, what it shows, and where it comes from."""

    scenario: Scenario
    protocol: str
    readings: Readings
    assume: Assumptions  # in_flight filled in
    property: str | None  # None: the run is shown for its own sake
    breach: Breach | None  # of the property, in the last state or, with a loop, by the run that goes on for ever
    loop: int | None  # the steps from this one on (counted from 0) lead back to where they began
    length: int
    engine: str
    seed: int | None
    version: str  # of roamcheck
    initial: int  # which initial state of the model
    digest: str  # of that state

    def question(self) -> Question:
        """What the run answers."""
        return Question(self.scenario, self.protocol, self.readings, self.assume, () if self.property is None else (self.property,))


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step: its name, the message that it takes, if any, and the digest of the state after it."""

    number: int  # from 1
    kind: str  # the action
    arguments: tuple[tuple[str, str], ...]
    message: Message | None
    digest: str

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(value for _, value in self.arguments)})"


@dataclass(frozen=True, slots=True)
class Trace:
    """A run, as data."""

    header: Header
    steps: tuple[TraceStep, ...]


# ---- recording ---------------------------------------------------------------------------------------------------------------


def record(
    question: Question,
    model: Model,
    run: Run,
    *,
    engine: str,
    property: str | None = None,
    breach: Breach | None = None,
    loop: int | None = None,
    seed: int | None = None,
) -> Trace:
    """Fire the steps of `run` and write down what happens.

    A counterexample brings its own breach and loop.  Without a property the run is recorded for its own sake.
    Raises ValueError if it is no run of the model.
    """
    if isinstance(run, Counterexample) and property is not None:
        breach, loop = breach or run.breach, run.loop if loop is None else loop
    assert (property is None) == (breach is None), "a property is recorded with its breach, and a breach with its property"
    state, steps = model.initial_states[run.initial], []
    start = digest(state)
    for number, index in enumerate(run.steps, 1):
        step = model.steps[index]
        message, after = taken(step, state), fire(model, step, state)
        if isinstance(after, Disabled):
            raise ValueError(f"step {number}, {step}, cannot fire: {after.guard}")
        steps.append(TraceStep(number, step.action, step.arguments, message, digest(after)))
        state = after
    header = Header(
        question.scenario, question.protocol, question.readings, question.assume, property, breach, loop, len(steps), engine, seed, __version__,
        run.initial, start,
    )  # fmt: skip
    return Trace(header, tuple(steps))


def taken(step: Step, state: State) -> Message | None:
    """The message that the step takes in this state."""
    footprint = step.footprint(state)
    if isinstance(footprint, Disabled) or footprint.takes is None:
        return None
    channel: Any = state[footprint.takes]
    return channel[0] if channel else None


# ---- writing -----------------------------------------------------------------------------------------------------------------


def dumps(trace: Trace) -> str:
    """The file: the same, byte for byte, for the same trace."""
    lines = [_header_data(trace.header), *map(_step_data, trace.steps)]
    return "".join(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n" for line in lines)


def assumptions_data(assume: Assumptions) -> dict[str, JSON]:
    """Every assumption by its name; lossy = [] stands for every kind of message."""
    return assumed_values(assume) | {"lossy": [*assume.lossy]}


def _header_data(header: Header) -> dict[str, JSON]:
    breach = header.breach
    values: tuple[JSON, ...] = (
        FORMAT, as_data(header.scenario), header.protocol, dict(header.readings.as_dict(header.protocol)), assumptions_data(header.assume),
        header.property,
        None if breach is None else {"conjunct": breach.conjunct, "values": dict(breach.values)}, header.loop, header.length, header.engine,
        header.seed, header.version, header.initial, header.digest,
    )  # fmt: skip
    return dict(zip(_HEADER, values, strict=True))


def _step_data(step: TraceStep) -> dict[str, JSON]:
    message = None if step.message is None else to_data(step.message)
    return {"step": step.number, "kind": step.kind, **dict(step.arguments), "message": message, "digest": step.digest}


# ---- reading -----------------------------------------------------------------------------------------------------------------


def loads(text: str, where: str) -> Trace:
    """From the text of a file that messages call `where`; raises TraceError."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise TraceError(where, 1, f"{size} bytes are too many", f"a trace has at most {MAX_BYTES}")
    lines, number = text.removeprefix("\ufeff").removesuffix("\n").split("\n"), 1
    try:
        header = _read_header(_object(lines[0]))
        steps = []
        for number, line in enumerate(lines[1 : header.length + 1], 2):
            steps.append(_read_step(_object(line), number - 1))
        number = len(steps) + 2
        if len(steps) < header.length:
            problem = f"the trace is truncated: it ends after {len(steps)} of {header.length} steps"
            raise Problem((), None, problem, "restore the rest, or record the run again")
        if number <= len(lines):
            raise Problem((), None, f"the trace goes on after its {header.length} steps", "the header's length counts the lines that follow it")
    except Problem as found:
        place = " = ".join(filter(None, (dotted(found.path), found.found)))
        hint = found.hint or "compare a trace that check has written"
        raise TraceError(where, number, f"{place}: {found.problem}" if place else found.problem, hint) from None
    return Trace(header, tuple(steps))


def _object(line: str) -> dict[str, object]:
    """The JSON object on one line; stricter than json, which knows NaN, huge numbers and the same key twice."""

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        for key in {key for key, _ in items} if len(items) > len(dict(items)) else ():
            if sum(key == other for other, _ in items) > 1:
                raise Problem((), None, f"the key {show(key)} is there twice", "keep one of the two")
        return dict(items)

    def constant(name: str) -> NoReturn:
        raise Problem((), None, f"{name} is no number", "a number is an integer or a finite decimal")

    if not line.strip():
        raise Problem((), None, "the line is empty", "each line of a trace is one whole JSON object")
    try:
        data = json.loads(line, object_pairs_hook=pairs, parse_constant=constant)
    except RecursionError:
        raise Problem((), None, "not JSON: nested too deeply", "each line of a trace is one whole JSON object") from None
    except ValueError as error:
        said = f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else "a number has too many digits"
        raise Problem((), None, f"not JSON: {printable(said)}", "each line of a trace is one whole JSON object") from None
    if not isinstance(data, dict):
        raise Problem((), show(data), "not an object", 'a line of a trace is an object, {"step": 1, ...}')
    return data


def _read_header(data: dict[str, object]) -> Header:
    found = show(data.get("format")) if "format" in data else None
    if data.get("format") != FORMAT:
        raise Problem(("format",), found, "no format that is known here" if found else "missing", f"this version reads format = {show(FORMAT)}")
    table = Table((), data, _HEADER)
    for key in _HEADER:
        table.need(key, f"a header has {', '.join(_HEADER)}")
    scenario = _read_scenario(table.get("scenario"))
    protocol = table.choice("protocol", PROTOCOLS)
    header = Header(
        scenario,
        protocol,
        _read_readings(table.get("readings"), protocol),
        _read_assumptions(Table(("assumptions",), table.get("assumptions"), (*ASSUMPTIONS, "lossy")), scenario),
        None if data["property"] is None else table.choice("property", PROPERTIES),
        None if data["breach"] is None else _read_breach(Table(("breach",), table.get("breach"), ("conjunct", "values"))),
        None if data["loop"] is None else _integer(table, "loop"),
        _integer(table, "length"),
        _text(table, "engine"),
        None if data["seed"] is None else _integer(table, "seed"),
        _text(table, "version"),
        _integer(table, "initial"),
        _digest(table),
    )
    _check_sense(header)
    _check_size(header)
    return header


def _series(version: str) -> list[str]:
    """0.1 of 0.1.7: within it a run means the same."""
    return version.split(".")[:2]


def _check_sense(header: Header) -> None:
    """What the header says fits together, and is of this version."""
    if _series(header.version) != _series(__version__):
        problem = f"this is roamcheck {__version__}, to which the run may mean something else"
        raise Problem(("version",), show(header.version), problem, "replay it with that version, or record it anew")
    name, question = header.property, header.question()
    if (name is None) != (header.breach is None):
        problem = "there is one, but no property" if name is None else f"there is none of {name}"
        raise Problem(("breach",), None, problem, "a run with a property ends in a breach of it; one that is shown for its own sake has neither")
    if header.loop is not None and not 0 <= header.loop < header.length:
        raise Problem(("loop",), str(header.loop), f"not one of the {header.length} steps", "a loop begins before the last step")
    if header.loop is not None and (name is None or PROPERTIES[name].scope != RUN):
        raise Problem(("loop",), str(header.loop), f"a run for ever breaches no {name or 'property'}", "only properties of runs have a loop")
    why = question.why_not_applicable() or (None if name is None else question.not_applicable(name))
    if why:
        raise Problem(("protocol",), show(header.protocol), why, "a trace is of a scenario and a property that apply to its protocol")


def _check_size(header: Header) -> None:
    """A header of a few bytes may ask for a network that takes for ever to build: refuse it while it is only data."""
    s = header.scenario
    brokers, clients, free = len(s.brokers), len(s.subscribers) + len(s.publishers), s.free
    work = brokers * brokers * (1 + len(s.subscribers))
    if work <= MAX_WORK and brokers * clients <= MAX_WORK:
        degree = [len(linked) for linked in possible_links(s).values()]
        degree = [a + len(b) for a, b in zip(degree, possible_visitors(s).values(), strict=True)]
        work += sum(d * d for d in degree) + brokers * brokers * (bool(free.broker_moves) + bool(free.merges) + bool(free.link_failures))
    if work > MAX_WORK or brokers * clients > MAX_WORK:
        raise Problem(("scenario", "network"), None, f"{brokers} brokers and {clients} clients", "too many to replay")


def _read_scenario(data: object) -> Scenario:
    try:
        return from_data(data, "", known_protocols=PROTOCOLS, known_readings=KNOWN_READINGS)
    except ScenarioError as error:
        raise Problem(("scenario",), None, error.problem, error.hint) from None


def _read_readings(data: object, protocol: str) -> Readings:
    asked = PRINTED.as_dict(protocol)
    table = Table(("readings",), data, asked)
    return PRINTED.with_values({name: table.choice(name, KNOWN_READINGS[name]) for name in asked})


def _read_assumptions(table: Table, scenario: Scenario) -> Assumptions:
    named = {name: values for name, values in ASSUMPTIONS.items() if name != "notice" or name in table.data}
    values = {name.replace("-", "_"): table.choice(name, values) for name, values in named.items()}
    lossy = table.names("lossy") if table.need("lossy", "[] stands for every kind of message") is not None else ()
    if lossy != scenario.assume.lossy:
        raise Problem(("assumptions", "lossy"), show(lossy), "not what the scenario says", f"the scenario has {show(scenario.assume.lossy)}")
    return Assumptions(**values, lossy=lossy)


def _read_breach(table: Table) -> Breach:
    values = Table(("breach", "values"), table.need("values", "the values that made the conjunct fail, by name"), None)
    if not all(name.isprintable() for name in values.data):
        raise Problem(("breach", "values"), None, "a name has odd characters", "the values that made the conjunct fail, by name")
    return Breach(_text(table, "conjunct"), tuple((name, _text(values, name)) for name in values.data))


def _read_step(data: dict[str, object], number: int) -> TraceStep:
    table = Table((), data, None)
    kind = table.choice("kind", ARGUMENTS)
    wanted = max(ARGUMENTS[kind], key=lambda names: sum(name in data for name in names))
    table.only(("step", "kind", *wanted, *(("move",) if kind not in OWN_ACCORD else ()), "message", "digest"))
    found = _integer(table, "step")
    if found != number:
        raise Problem(("step",), str(found), "out of order", f"this line is step {number}")
    arguments = tuple((name, _argument(table, name)) for name in (*wanted, "move") if name in wanted or name in data)
    table.need("message", "the message that the step takes, or null")
    try:
        message = None if data["message"] is None else message_from_data(data["message"])
    except NoMessage as problem:
        raise Problem(("message", *problem.path), problem.found, problem.problem, problem.hint) from None
    return TraceStep(number, kind, arguments, message, _digest(table))


def _argument(table: Table, name: str) -> str:
    if name != "link":
        return table.name(name)
    link = table.need(name, "a link is written b1–b2")
    if not isinstance(link, str) or not _LINK.fullmatch(link):
        raise Problem((*table.path, name), show(link), "not a link", "a link is written b1–b2")
    return link


def _integer(table: Table, key: str) -> int:
    given = table.need(key, "an integer")
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < 2**63:
        raise Problem((*table.path, key), show(given), "not a count", "an integer from 0")
    return given


def _text(table: Table, key: str) -> str:
    given = table.need(key, "a text of one line")
    if not isinstance(given, str) or not given.isprintable():
        raise Problem((*table.path, key), show(given), "not a text of one line", "printable characters in quotes")
    return given


def _digest(table: Table) -> str:
    given = table.need("digest", "32 hexadecimal digits")
    if not isinstance(given, str) or not DIGEST.fullmatch(given):
        raise Problem((*table.path, "digest"), show(given), "not a digest", "32 hexadecimal digits")
    return given
