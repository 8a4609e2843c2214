"""Tells a replayed trace: as text for a reader of the paper, as a Mermaid sequence diagram, and as ITF for other tools."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from roamcheck.model.interface import State
from roamcheck.spec.messages import INFINITE, KINDS, describe
from roamcheck.spec.state import Broker

from .changes import in_full
from .lines import describe as describe_lines
from .replay import Replay, Replayed

MARGIN = 8  # where what a step did is indented to


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
        elif "→" not in slot and not what.startswith(("N + ", "N − ")):  # the overlay's links say the same
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
    lines = ["sequenceDiagram", *(f"    participant {name}" for name in names)]
    for replayed in found.steps:
        if found.header.loop == replayed.number - 1:
            lines.append("    loop for ever")
        arguments = dict(replayed.step.arguments)
        told = f"{replayed.number}. {headline(replayed)}".replace(";", ",").replace("#", "")
        if replayed.message is not None:
            arrow = {"deliver": "->>", "lose": "-x", "return": "--x"}[replayed.step.action]
            ends = (arguments["from"], arguments["to"]) if replayed.step.action != "return" else (arguments["to"], arguments["from"])
            lines.append(f"    {ends[0]}{arrow}{ends[1]}: {replayed.number}. {describe(replayed.message)}".replace(";", ","))
        else:
            over = arguments["link"].replace("–", ",") if "link" in arguments else ",".join(note_over(arguments))
            lines.append(f"    Note over {over}: {told}")
    if found.header.loop is not None:
        lines.append("    end")
    if found.header.breach is not None:
        last = f"    Note over {names[0]},{names[-1]}: {found.header.property} is violated: {found.header.breach}"
        lines.append(last.replace(";", ","))
    return "\n".join(lines)


def note_over(arguments: dict[str, str]) -> list[str]:
    """The participants of an environment step."""
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
        return {"#bigint": "-1" if value >= INFINITE else str(value)}
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
    if isinstance(value, Broker) and name == "routing":
        return {"#set": [itf_value(entry) for entry in item]}
    if isinstance(value, Broker) and name in ("timestamps", "queues"):
        return {"#map": [[itf_value(key), itf_value(part)] for key, part in item]}
    return itf_value(item)
