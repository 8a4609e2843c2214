"""The state variables of the papers: what a broker, a subscriber and a publisher hold.

Every value is immutable and in one canonical form: sets and maps are sorted tuples, so equal states compare, hash and print equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from .messages import (
    NOBODY,
    UNKNOWN,
    BrokerId,
    Entry,
    EventId,
    FilterId,
    Interface,
    Message,
    PublisherId,
    SubscriberId,
    Timestamp,
)


class Send(NamedTuple):
    """One send of a handler: "send(message) to `to`"."""

    to: Interface
    message: Message


@dataclass(frozen=True, slots=True)
class Broker:
    """The local state of broker b_i."""

    me: BrokerId  # b_i
    neighbours: tuple[BrokerId, ...]  # N_i
    subscribers: tuple[SubscriberId, ...]  # C_i: those attached now
    publishers: tuple[PublisherId, ...]  # those attached now; I_i = N_i ∪ C_i ∪ these
    routing: tuple[Entry, ...] = ()  # R_i
    timestamps: tuple[tuple[SubscriberId, Timestamp], ...] = ()  # T_i, where known
    queues: tuple[tuple[SubscriberId, tuple[EventId, ...]], ...] = ()  # Q_i, where not empty

    @classmethod
    def fresh(
        cls, me: BrokerId, neighbours: tuple[BrokerId, ...], subscribers: tuple[SubscriberId, ...], publishers: tuple[PublisherId, ...],
        parent: BrokerId | None,
    ) -> Self:
        """b_i as it starts, with nothing known; `parent` is its next hop to its leader."""
        return cls(me, neighbours, subscribers, publishers)

    def is_up(self, z: Interface) -> bool:
        """z ∈ I_i."""
        return z in self.neighbours or z in self.subscribers or z in self.publishers

    # -- R_i -------------------------------------------------------------------------------------------

    def entries(self, s: SubscriberId) -> tuple[Entry, ...]:
        """{(_, _, s) ∈ R_i}, in order."""
        return tuple(entry for entry in self.routing if entry.subscriber == s)

    def has_entry(self, f: FilterId, s: SubscriberId) -> bool:
        """∃ (f, _, s) ∈ R_i."""
        return any(entry.filter == f and entry.subscriber == s for entry in self.routing)

    def filters(self, s: SubscriberId) -> tuple[FilterId, ...]:
        """{f : (f, _, s) ∈ R_i}, in order."""
        return tuple(sorted({entry.filter for entry in self.routing if entry.subscriber == s}))

    def next_hops(self, s: SubscriberId) -> tuple[Interface, ...]:
        """{y : (_, y, s) ∈ R_i}, in the order of the entries; one unless something went wrong."""
        return tuple(dict.fromkeys([entry.next_hop for entry in self.routing if entry.subscriber == s]))

    def known(self) -> tuple[SubscriberId, ...]:
        """{s : (_, _, s) ∈ R_i}, in order."""
        return tuple(sorted({entry.subscriber for entry in self.routing}))

    def with_entry(self, f: FilterId, z: Interface, s: SubscriberId = NOBODY) -> Self:
        """R_i ← R_i ∪ {(f, z, s)}."""
        return replace(self, routing=tuple(sorted({*self.routing, Entry(f, z, s)})))

    def without_entry(self, f: FilterId, s: SubscriberId) -> Self:
        """R_i ← R_i \\ {(f, _, s)}."""
        return replace(self, routing=tuple(entry for entry in self.routing if (entry.filter, entry.subscriber) != (f, s)))

    def without(self, entry: Entry) -> Self:
        """R_i ← R_i \\ {entry}."""
        return replace(self, routing=tuple(other for other in self.routing if other != entry))

    def without_entries(self, s: SubscriberId) -> Self:
        """R_i ← R_i \\ {(_, _, s)}."""
        return replace(self, routing=tuple(entry for entry in self.routing if entry.subscriber != s))

    def rerouted(self, s: SubscriberId, z: Interface) -> Self:
        """Replace (_, _, s) with (_, z, s) in R_i."""
        moved = {Entry(entry.filter, z, s) if entry.subscriber == s else entry for entry in self.routing}
        return replace(self, routing=tuple(sorted(moved)))

    # -- T_i -------------------------------------------------------------------------------------------

    def stamp(self, s: SubscriberId) -> Timestamp:
        """T_i(s); (0, ∞) for a subscriber never heard of."""
        for subscriber, stamp in self.timestamps:
            if subscriber == s:
                return stamp
        return UNKNOWN

    def heard(self, s: SubscriberId, t: int, h: int) -> Self:
        """T_i(s) ← (t, h)."""
        others = (item for item in self.timestamps if item[0] != s)
        return replace(self, timestamps=tuple(sorted((*others, (s, Timestamp(t, h))))))

    # -- Q_i -------------------------------------------------------------------------------------------

    def queue(self, s: SubscriberId) -> tuple[EventId, ...]:
        """Q_i(s), oldest first."""
        for subscriber, events in self.queues:
            if subscriber == s:
                return events
        return ()

    def with_queue(self, s: SubscriberId, events: Iterable[EventId]) -> Self:
        """Q_i(s) ← events."""
        kept = tuple(events)
        others = tuple(item for item in self.queues if item[0] != s)
        return replace(self, queues=tuple(sorted((*others, (s, kept)))) if kept else others)

    def enqueued(self, e: EventId, s: SubscriberId) -> Self:
        """Enqueue {e} in Q_i(s)."""
        return self.with_queue(s, (*self.queue(s), e))

    # -- I_i -------------------------------------------------------------------------------------------

    def linked(self, z: BrokerId) -> Self:
        """The link to broker z comes up."""
        return replace(self, neighbours=tuple(sorted({*self.neighbours, z})))

    def unlinked(self, z: Interface) -> Self:
        """The link to z, broker or client, is down."""
        return replace(
            self,
            neighbours=tuple(b for b in self.neighbours if b != z),
            subscribers=tuple(s for s in self.subscribers if s != z),
            publishers=tuple(p for p in self.publishers if p != z),
        )

    def joined_by(self, s: SubscriberId) -> Self:
        """Subscriber s attaches."""
        return replace(self, subscribers=tuple(sorted({*self.subscribers, s})))

    def joined_by_publisher(self, p: PublisherId) -> Self:
        """Publisher p attaches."""
        return replace(self, publishers=tuple(sorted({*self.publishers, p})))


@dataclass(frozen=True, slots=True)
class Subscriber:
    """The local state of subscriber s, and (last three) its ghosts, which no guard reads."""

    me: SubscriberId
    broker: BrokerId | None  # where it is, or was last
    attached: bool
    wants: tuple[FilterId, ...]
    sent: int  # t of its last message; stays 0 where messages carry none
    asked: tuple[FilterId, ...]  # every filter it ever wanted
    owed: tuple[EventId, ...]
    received: tuple[EventId, ...]  # in order of arrival


@dataclass(frozen=True, slots=True)
class Publisher:
    """The local state of publisher p."""

    me: PublisherId
    broker: BrokerId | None
    attached: bool
    published: tuple[EventId, ...]  # ghost: in order


@dataclass(frozen=True, slots=True)
class Owed:
    """Ghost word for a subscriber: its next event is owed, if it still wants a filter that matches (and, in `via`, is known)."""

    event: EventId
    via: tuple[FilterId, ...] | None = None


@dataclass(frozen=True, slots=True)
class Received:
    """Ghost word for a subscriber: an event has arrived."""

    event: EventId
