"""What a step changed, told table by table: only what is different, in the papers' notation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from roamcheck.model.interface import Model, State, Value
from roamcheck.model.overlay import Overlay
from roamcheck.model.world import Budget
from roamcheck.spec.arrow_state import ArrowBroker
from roamcheck.spec.messages import KINDS, Timestamp, describe, hops
from roamcheck.spec.state import Broker, Publisher, Subscriber


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two states."""

    slot: str  # whose: "b2", "b2→b3", "(overlay)"
    what: str  # "T(s3) (1, 3) → (1, 2)"

    def __str__(self) -> str:
        return self.what if self.slot.startswith("(") else f"{self.slot}: {self.what}"


def changes(model: Model, before: State, after: State) -> tuple[Change, ...]:
    """All that is different, slot by slot."""
    return tuple(
        Change(spec.name, what)
        for spec, old, new in zip(model.layout.slots, before, after, strict=True)
        if old != new
        for what in difference(old, new)
    )


def difference(old: Value, new: Value) -> Iterator[str]:
    """What is different between two values of one slot."""
    match old, new:
        case Broker(), Broker():
            yield from _broker(old, new)
        case Subscriber(), Subscriber():
            yield from _subscriber(old, new)
        case Publisher(), Publisher():
            yield from _publisher(old, new)
        case Overlay(), Overlay():
            yield from _overlay(old, new)
        case Budget(), Budget():
            yield from _budget(old, new)
        case tuple(), tuple():
            yield from _sequence(old, new)
        case _:
            yield f"{show(old)} → {show(new)}"


def show(value: Any) -> str:
    """A message as the papers print it; anything else as it is."""
    return describe(value) if type(value) in KINDS else str(value)


def stamp(value: Timestamp) -> str:
    """(t, h)"""
    return f"({value.t}, {hops(value.h)})"


def _broker(old: Broker, new: Broker) -> Iterator[str]:
    yield from _interfaces("N", old.neighbours, new.neighbours)
    yield from _interfaces("C", old.subscribers, new.subscribers)
    yield from _interfaces("publishers", old.publishers, new.publishers)
    gone = [entry for entry in old.routing if entry not in new.routing]
    for entry in (entry for entry in new.routing if entry not in old.routing):
        moved = next((other for other in gone if (other.filter, other.subscriber) == (entry.filter, entry.subscriber)), None)
        if moved is None:
            yield f"R + ({entry.filter}, {entry.next_hop}, {entry.subscriber})"
        else:
            gone.remove(moved)
            yield f"R ({entry.filter}, {moved.next_hop} → {entry.next_hop}, {entry.subscriber})"
    for entry in gone:
        yield f"R − ({entry.filter}, {entry.next_hop}, {entry.subscriber})"
    if isinstance(old, ArrowBroker) and isinstance(new, ArrowBroker):
        yield from _arrows(old, new)
    for s in sorted({s for s, _ in (*old.timestamps, *new.timestamps)}):
        if old.stamp(s) != new.stamp(s):
            yield f"T({s}) {stamp(old.stamp(s))} → {stamp(new.stamp(s))}"
    for s in sorted({s for s, _ in (*old.queues, *new.queues)}):
        if old.queue(s) != new.queue(s):
            yield f"Q({s}) {_list(old.queue(s))} → {_list(new.queue(s))}"


def _arrows(old: ArrowBroker, new: ArrowBroker) -> Iterator[str]:
    for s in sorted({s for s, _ in (*old.directions, *new.directions)}):
        if old.direction(s) != new.direction(s):
            yield f"P({s}) {old.direction(s) or '–'} → {new.direction(s) or '–'}"
    for z, role in new.greeted:
        if old.role(z) != role:
            yield f"greets {z}, as its {role}"


def _interfaces(name: str, old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[str]:
    for z in new:
        if z not in old:
            yield f"{name} + {z}"
    for z in old:
        if z not in new:
            yield f"{name} − {z}"


def _subscriber(old: Subscriber, new: Subscriber) -> Iterator[str]:
    if (old.attached, old.broker) != (new.attached, new.broker):
        yield f"attached to {new.broker}" if new.attached else f"detached from {new.broker}"
    yield from _interfaces("wants", old.wants, new.wants)
    if old.sent != new.sent:
        yield f"t {old.sent} → {new.sent}"
    yield from _interfaces("owed", old.owed, new.owed)
    for e in new.received[len(old.received) :]:
        yield f"received {e}"


def _publisher(old: Publisher, new: Publisher) -> Iterator[str]:
    if (old.attached, old.broker) != (new.attached, new.broker):
        yield f"attached to {new.broker}" if new.attached else f"detached from {new.broker}"
    for e in new.published[len(old.published) :]:
        yield f"published {e}"


def _overlay(old: Overlay, new: Overlay) -> Iterator[str]:
    for u, v in old.links:
        if (u, v) not in new.links:
            yield f"link {u}–{v} falls"
    for u, v in new.links:
        if (u, v) not in old.links:
            yield f"link {u}–{v} comes up"
    for b, parent in new.parents:
        if old.parent(b) != parent:
            yield f"{b} follows {parent or 'nobody'}"
    for b in new.tops:
        if b not in old.tops:
            yield f"{b} leads what broke off with it"
    if old.turning != new.turning and new.turning:
        yield "still to turn: " + "; ".join(", ".join(path[1:]) for path in new.turning)


def _budget(old: Budget, new: Budget) -> Iterator[str]:
    for name, left in new.left:
        if old.remaining(name) != left:
            yield f"free {name} left: {left}"


def _sequence(old: tuple[Any, ...], new: tuple[Any, ...]) -> Iterator[str]:
    """A channel: what was taken from its head, and what was added at its end."""
    kept = next(k for k in range(min(len(old), len(new)), -1, -1) if old[len(old) - k :] == new[:k])
    for message in old[: len(old) - kept]:
        yield f"− {show(message)}"
    for message in new[kept:]:
        yield f"+ {show(message)}"


def in_full(value: Value) -> Iterator[str]:
    """A local state, field by field."""
    match value:
        case Broker():
            yield f"N = {_list(value.neighbours)}  C = {_list(value.subscribers)}  publishers = {_list(value.publishers)}"
            yield "R = {" + ", ".join(f"({f}, {z}, {s})" for f, z, s in value.routing) + "}"
            if isinstance(value, ArrowBroker):
                yield "P = {" + ", ".join(f"{s}: {z}" for s, z in value.directions) + "}"
                yield "greeted = {" + ", ".join(f"{z}: as {role}" for z, role in value.greeted) + "}"
            yield "T = {" + ", ".join(f"{s}: {stamp(t)}" for s, t in value.timestamps) + "}"
            yield "Q = {" + ", ".join(f"{s}: {_list(q)}" for s, q in value.queues) + "}"
        case Subscriber():
            yield f"{_place(value)}  wants {_list(value.wants)}  t = {value.sent}"
            yield f"owed {_list(value.owed)}  received {_list(value.received)}"
        case Publisher():
            yield f"{_place(value)}  published {_list(value.published)}"
        case Overlay():
            yield "links " + ", ".join(f"{u}–{v}" for u, v in value.links)
            yield "next hops " + ", ".join(f"{b} → {value.follows(b) or 'leads'}" for b, _ in value.parents)
            if value.turning:
                yield "still to turn: " + "; ".join(", ".join(path[1:]) for path in value.turning)
        case Budget():
            yield f"moves fired: {_list(value.fired)}"
            yield "free: " + (", ".join(f"{name} {n}" for name, n in value.left) or "nothing")
        case tuple():
            yield from (show(message) for message in value)
        case _:
            yield str(value)


def _place(client: Subscriber | Publisher) -> str:
    return f"{'attached to' if client.attached else 'detached, last at'} {client.broker or 'nobody'}"


def _list(items: tuple[str, ...]) -> str:
    return f"[{', '.join(items)}]"

