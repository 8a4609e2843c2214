"""Tells a replayed trace: as text for a reader of the paper, as a Mermaid sequence diagram, and as ITF for other tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from roamcheck.model.encoding import MAPS
from roamcheck.model.interface import State
from roamcheck.model.overlay import Overlay
from roamcheck.model.world import Budget
from roamcheck.spec.messages import INFINITE, KINDS, describe
from roamcheck.spec.state import Broker, Subscriber

from .changes import in_full
from .lines import describe as describe_lines
from .replay import Replay, Replayed

MARGIN = 8  # where what a step did is indented to
PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9]*")  # a name that Mermaid takes for one; others get an alias
RESERVED = frozenset({  # its own words, which end or begin a statement wherever they stand
    "activate", "actor", "alt", "and", "as", "autonumber", "box", "break", "create", "critical", "deactivate", "destroy", "else", "end", "left",
    "link", "links", "loop", "note", "opt", "option", "over", "par", "participant", "rect", "right", "title",
})  # fmt: skip
SETS = {  # fields that the papers treat as sets, kept as sorted tuples
    (Broker, "neighbours"), (Broker, "subscribers"), (Broker, "publishers"), (Broker, "routing"), (Subscriber, "wants"), (Subscriber, "asked"),
    (Subscriber, "owed"), (Budget, "fired"), (Budget, "roaming"), (Overlay, "tops"),
}  # fmt: skip


def text(found: Replay) -> str:
    """Step by step: who does what, the printed lines that ran, what is sent, and only what changed."""
    header, parts = found.header, []
    for replayed in found.steps:
        if header.loop == replayed.number - 1:
            parts.append(f"     ---- from here on, steps {header.loop + 1}–{header.length} repeat for ever ----")
        parts += step_text(replayed)
    if header.property is not None and header.breach is not None:
        parts.append(f"   {header.property} is violated: {header.breach.conjunct}")
        parts += [f"{'':{MARGIN}}{name} = {value}" for name, value in header.breach.values]
    return "\n".join(parts)


def step_text(replayed: Replayed) -> Iterator[str]:
    """The headline of a step, and what it did."""
    lines = describe_lines(replayed.lines)
    yield f"{replayed.number:>4}  {headline(replayed)}{f'   [{lines}]' if lines else ''}"
    for change in replayed.changes:
        slot, what = change.slot, change.what
        if "→" in slot and what.startswith("+ "):
            sender, receiver = slot.removeprefix("returned ").split("→")
            verb = "will learn that it was not delivered to" if slot.startswith("returned ") else "to"
            yield f"{'':{MARGIN}}{sender} sends {what[2:]} to {receiver}" if verb == "to" else f"{'':{MARGIN}}{sender} {verb} {receiver}: {what[2:]}"
        elif "→" in slot and not (replayed.message is not None and what == f"− {describe(replayed.message)}"):
            yield f"{'':{MARGIN}}{slot}: {what[2:]} is gone with the link"
        elif "→" not in slot and not slot.startswith("fallen ") and not what.startswith(("N + ", "N − ")):  # the overlay's links say the same
            yield f"{'':{MARGIN}}{change}"


def headline(replayed: Replayed) -> str:
    """A step in words."""
    arguments, message = dict(replayed.step.arguments), replayed.message
    what = describe(message) if message is not None else ""
    who = arguments.get("subscriber") or arguments.get("publisher") or arguments.get("broker", "")
    match replayed.step.action:
        case "deliver":
            return f"{arguments['to']} takes {what} from {arguments['from']}"
        case "return":
            return f"{arguments['to']} learns that {what} was not delivered to {arguments['from']}"
        case "lose":
            return f"the radio loses {what} from {arguments['from']} to {arguments['to']}"
        case "timeout":
            return f"the timer of {arguments['from']} for {arguments['to']} runs out: it sends again what was not acknowledged"
        case "repeat":
            return f"the timer of {arguments['from']} for {arguments['to']} runs out too early: it sends again what is not acknowledged yet"
        case "notice":
            return f"{who} notices that its link to {arguments['to']} has fallen"
        case "turn":
            return f"the heartbeat of the new leader reaches {who}, which turns round"
        case "publish":
            return f"{who} publishes {arguments['event']}"
        case "subscribe" | "unsubscribe" as verb:
            return f"{who} {verb}s {'to' if verb == 'subscribe' else 'from'} {arguments['filter']}"
        case "attach":
            return f"{who} attaches to {arguments['to']}"
        case "detach":
            return f"{who} detaches"
        case "link-down":
            return f"the link {arguments['link']} falls"
        case "migrate":
            return f"{who} migrates to {arguments['to']}"
        case "merge":
            return f"{who} joins {arguments['to']}, and two components merge"
        case "crash":
            return f"{who} crashes ({arguments['state']})"
    return str(replayed.step)


def one_step(found: Replay, number: int) -> str:
    """One step alone, with each local state that it touched in full, before and after; number 0 is the start."""
    slots = found.model.layout.slots
    if number == 0:
        parts = ["   0  the start"]
        for spec, value in zip(slots, found.initial, strict=True):
            if value != ():
                parts += [f"{'':{MARGIN}}{spec.name}", *(f"{'':{MARGIN + 2}}{line}" for line in in_full(value))]
        return "\n".join(parts)
    replayed = found.steps[number - 1]
    parts = list(step_text(replayed))
    for spec, before, after in zip(slots, replayed.before, replayed.after, strict=True):
        if before != after:
            for when, value in (("before", before), ("after", after)):
                parts += [f"{'':{MARGIN}}{spec.name} {when}", *(f"{'':{MARGIN + 2}}{line}" for line in in_full(value) or ())]
    return "\n".join(parts)


# ---- Mermaid ----------------------------------------------------------------------------------------


def mermaid(found: Replay) -> str:
    """A sequence diagram: an arrow for each message taken, a note for each move of the environment."""
    names = [spec.name for spec in found.model.layout.slots if "→" not in spec.name and not spec.name.startswith("(")]
    ids = {name: name if PLAIN.fullmatch(name) and name.lower() not in RESERVED else f"_{place}" for place, name in enumerate(names)}
    lines = ["sequenceDiagram", *(f"    participant {ids[name]}" + (f" as {name}" if ids[name] != name else "") for name in names)]
    for replayed in found.steps:
        if found.header.loop == replayed.number - 1:
            lines.append("    loop for ever")
        arguments = dict(replayed.step.arguments)
        if replayed.message is not None:
            arrow = {"deliver": "->>", "lose": "-x", "return": "--x"}[replayed.step.action]
            ends = (arguments["from"], arguments["to"]) if replayed.step.action != "return" else (arguments["to"], arguments["from"])
            lines.append(f"    {ids[ends[0]]}{arrow}{ids[ends[1]]}: {escaped(f'{replayed.number}. {describe(replayed.message)}')}")
        else:
            over = ",".join(ids[name] for name in note_over(arguments))
            lines.append(f"    Note over {over}: {escaped(f'{replayed.number}. {headline(replayed)}')}")
    if found.header.loop is not None:
        lines.append("    end")
    if found.header.breach is not None:
        told = escaped(f"{found.header.property} is violated: {found.header.breach}")
        lines.append(f"    Note over {ids[names[0]]},{ids[names[-1]]}: {told}")
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Text that Mermaid takes for text: a semicolon would end the statement, and a hash begins an entity."""
    return text.replace(";", ",").replace("#", "")


def note_over(arguments: dict[str, str]) -> list[str]:
    """The participants of an environment step."""
    if "link" in arguments:
        return arguments["link"].split("–")
    who = arguments.get("subscriber") or arguments.get("publisher") or arguments.get("broker", "")
    return [who, arguments["to"]] if "to" in arguments else [who]


# ---- ITF --------------------------------------------------------------------------------------------


def itf(found: Replay) -> str:
    """Apalache's Informal Trace Format (ADR 015): every slot is a variable; maps, sets, tuples and integers are tagged."""
    names = [spec.name for spec in found.model.layout.slots]
    states = [found.initial, *(replayed.after for replayed in found.steps)]
    data: dict[str, Any] = {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "description": f"{found.header.scenario.name}, {found.header.protocol}: {found.header.property or 'a run'}",
        },
        "vars": names,
        "states": [{"#meta": {"index": index, **action(found, index)}, **itf_state(names, state)} for index, state in enumerate(states)],
    }
    if found.header.loop is not None:
        data["loop"] = found.header.loop
    return json.dumps(data, ensure_ascii=False)


def action(found: Replay, index: int) -> dict[str, str]:
    """The step that led to a state."""
    return {"action": str(found.steps[index - 1].step)} if index else {}


def itf_state(names: list[str], state: State) -> dict[str, Any]:
    """A state as a record of its slots."""
    return {name: itf_value(value) for name, value in zip(names, state, strict=True)}


def itf_value(value: Any) -> Any:
    """A value in ITF: dataclasses are records, sequences lists, pairs keyed by a name maps."""
    if isinstance(value, bool | str):
        return value
    if value is None:
        return {"tag": "None", "value": {"#tup": []}}
    if isinstance(value, int):
        return {"#bigint": "-1" if value >= INFINITE else str(value)}  # -1: the hop count ∞
    if isinstance(value, frozenset):
        return {"#set": [itf_value(item) for item in sorted(value, key=repr)]}
    if type(value) in KINDS:
        return {"kind": KINDS[type(value)], **{field.name: itf_value(getattr(value, field.name)) for field in fields(value)}}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: itf_field(value, field.name) for field in fields(value)}
    if isinstance(value, tuple):
        items = [itf_value(item) for item in value]
        return {"#tup": items} if hasattr(value, "_fields") else items
    return str(value)


def itf_field(value: Any, name: str) -> Any:
    """A field of local state; those that the papers treat as sets and maps are tagged so."""
    item = getattr(value, name)
    if (type(value), name) == (Overlay, "links"):
        return {"#set": [{"#tup": list(pair)} for pair in item]}
    if (type(value), name) in SETS:
        return {"#set": [itf_value(member) for member in item]}
    if (type(value), name) in MAPS:
        return {"#map": [[itf_value(key), itf_value(part)] for key, part in item]}
    return itf_value(item)
