"""Tells a run of any model step by step, one's own among them, as `narrate` tells those of the papers' protocols: only what changed."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import roamcheck
from roamcheck.model.interface import Disabled, Model, State, Step, Value, fire
from roamcheck.spec.breach import Breach

from .changes import difference, show
from .trace import Run

MARGIN = 8  # as in narrate
ROOMS = Path(roamcheck.__file__).parent


def story(model: Model, run: Run, property: str | None = None, breach: Breach | None = None, loop: int | None = None) -> str:
    """The run, fired anew by definition; with a property, what is violated in the end.  `loop`: the steps from there on can go on for ever."""
    state, lines = model.initial_states[run.initial], []
    if len(model.initial_states) > 1:
        lines.append(f"   0  begins in initial state {run.initial + 1} of {len(model.initial_states)}: {whole(model, state)}")
    for number, index in enumerate(run.steps, 1):
        if loop == number - 1:
            lines.append(f"     ---- from here on, steps {number}–{len(run.steps)} repeat for ever ----")
        step, after = model.steps[index], fire(model, model.steps[index], state)
        if isinstance(after, Disabled):
            raise ValueError(f"step {number}, {step}, cannot fire: {after.guard}")
        lines += told(model, number, step, state, after)
        state = after
    if property is not None and breach is not None:
        lines.append(f"   {property} is violated: {breach.conjunct}")
        lines += [f"{'':{MARGIN}}{name} = {value}" for name, value in breach.values]
    return "\n".join(lines)


def told(model: Model, number: int, step: Step, before: State, after: State) -> Iterator[str]:
    """One step: its name, the word that it takes, and what is different after it."""
    footprint, slots = step.footprint(before), model.layout.slots
    takes = None if isinstance(footprint, Disabled) else footprint.takes
    taken = None if takes is None else before[takes]
    word = f" takes {show(taken[0])} from {slots[takes].name}" if takes is not None and isinstance(taken, tuple) and taken else ""
    yield f"{number:>4}  {step}{word}"
    for slot, (spec, old, new) in enumerate(zip(slots, before, after, strict=True)):
        if slot == takes and isinstance(old, tuple):
            old = old[1:]  # the headline has told
        if old != new:
            yield from (f"{'':{MARGIN}}{spec.name}: {what}" for what in different(old, new))


def different(old: Value, new: Value) -> Iterator[str]:
    """What is different between two values: of a set its members, of a dataclass its fields, of a sequence its ends."""
    match old, new:
        case frozenset(), frozenset():
            yield from (f"− {show(member)}" for member in sorted(old - new, key=repr))
            yield from (f"+ {show(member)}" for member in sorted(new - old, key=repr))
        case tuple(), tuple() if type(old) is type(new) is tuple and starts_likewise(old, new):
            yield from difference(old, new)
        case _ if type(old) is type(new) and is_dataclass(old) and type(old).__module__.split(".")[0] != "roamcheck":
            for field in fields(old):
                a, b = getattr(old, field.name), getattr(new, field.name)
                yield from (f"{field.name} {what}" for what in different(a, b)) if a != b else ()
        case _ if type(old).__module__.split(".")[0] == "roamcheck":
            yield from difference(old, new)
        case _:
            yield f"{show(old)} → {show(new)}"


def starts_likewise(old: tuple[Any, ...], new: tuple[Any, ...]) -> bool:
    """One is what the other becomes when words are taken from its head or added at its end: a channel, and not a record that changed."""
    return any(old[len(old) - kept :] == new[:kept] for kept in range(1, min(len(old), len(new)) + 1)) or not old or not new


def whole(model: Model, state: State) -> str:
    """A state, slot by slot."""
    return ", ".join(f"{spec.name} = {show(value)}" for spec, value in zip(model.layout.slots, state, strict=True))


def raised(cause: BaseException) -> str:
    """An exception of somebody's protocol, and the lines of theirs that it came through."""
    frames = [frame for frame in traceback.extract_tb(cause.__traceback__) if ROOMS not in Path(frame.filename).parents]
    lines = [f"{type(cause).__name__}: {' '.join(str(cause).split())}" if str(cause) else type(cause).__name__]
    lines += [f"{'':{MARGIN}}{frame.filename}:{frame.lineno} in {frame.name}: {frame.line}" for frame in frames]
    return "\n".join(lines)
