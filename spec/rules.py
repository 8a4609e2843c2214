"""What every transition function is given besides local state: the readings, and which event matches which filter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from .messages import BrokerId, EventId, FilterId, Interface, Message, Pub, SubscriberId
from .readings import Readings
from .state import Broker, Send


@dataclass(frozen=True, slots=True)
class Rules:
    """The frame of a run: fixed, the same at every broker."""

    readings: Readings
    matching: dict[EventId, frozenset[FilterId]] = field(default_factory=dict)  # e → {f : f(e)}
    timestamps: bool = True  # messages of subscribers are numbered
    queues: bool = True  # brokers keep what was not delivered
    names_subscribers: bool = True  # SUB and UNS say whose they are

    def matches(self, f: FilterId, e: EventId) -> bool:
        """f(e)."""
        return f in self.matching[e]

    def pub(self, e: EventId, subscribers: Iterable[SubscriberId]) -> Pub:
        """PUB(e) for these subscribers; it names them only where reading return-to asks for whom it was sent."""
        return Pub(e, tuple(sorted(set(subscribers)))) if self.readings.return_to == "original" else Pub(e)


class Reaction(NamedTuple):
    """What a handler returns: the broker's new local state and its sends, in order."""

    broker: Broker
    sends: tuple[Send, ...] = ()


def broadcast(i: Broker, z: Interface, message: Message) -> list[Send]:
    """Foreach b ∈ N_i where b ≠ z: send the message to b."""
    return [Send(b, message) for b in i.neighbours if b != z]


def neighbour_towards(i: Broker, s: SubscriberId, besides: Interface | None = None) -> BrokerId | None:
    """y ∈ N_i where (_, y, s) ∈ R_i (reading mig-next-hop), other than `besides`; None when there is none."""
    return next((b for y in i.next_hops(s) for b in i.neighbours if b == y != besides), None)


class EndlessStep(Exception):
    """A step that does not terminate: reading flush = spin, over an interface that is down."""
