"""The local state of a broker of mft-pubsub-r: one next hop per subscriber, kept apart from its filters, and who opened which link."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from .frames import FRESH, Line
from .messages import NOBODY, BrokerId, Entry, EventId, FilterId, Interface, Message, PublisherId, SubscriberId, Timestamp
from .state import Broker

JOINER, HOST = "joiner", "host"


class Kept(NamedTuple):
    """(e, s, from, to) in custody: `to` is LOST while e is queued."""

    event: EventId
    subscriber: SubscriberId
    sender: Interface
    to: Interface


@dataclass(frozen=True, slots=True)
class ArrowBroker(Broker):
    """The local state of broker b_i.  R_i is {(f, P_i(s), s) : f ∈ F_i(s)} at any time; T_i(s) is a number, shown with the hop count 1."""

    directions: tuple[tuple[SubscriberId, Interface], ...] = ()  # P_i: a neighbour, s or LOST, for each s that i has heard of
    greeted: tuple[tuple[BrokerId, str], ...] = ()  # for each greeted neighbour: JOINER, i opened the link, or HOST, it was opened to i
    lines: tuple[tuple[Interface, Line], ...] = ()  # acknowledged-links: i's end of each link that is in use
    custody: tuple[Kept, ...] = ()  # custody: what i has sent or queued and is not done

    @classmethod
    def fresh(
        cls, me: BrokerId, neighbours: tuple[BrokerId, ...], subscribers: tuple[SubscriberId, ...], publishers: tuple[PublisherId, ...],
        parent: BrokerId | None,
    ) -> Self:
        """b_i as it starts: every link greeted, the child its joiner."""
        roles = tuple((n, JOINER if n == parent else HOST) for n in neighbours)
        return cls(me, neighbours, subscribers, publishers, greeted=roles)

    # -- P_i -------------------------------------------------------------------------------------------

    def direction(self, s: SubscriberId) -> Interface | None:
        """P_i(s); None for a subscriber never heard of."""
        for subscriber, z in self.directions:
            if subscriber == s:
                return z
        return None

    def directed(self, s: SubscriberId, z: Interface) -> Self:
        """P_i(s) ← z."""
        others = (item for item in self.directions if item[0] != s)
        directions = tuple(sorted((*others, (s, z))))
        return replace(self, directions=directions, routing=_table((s, self.filters(s), z), self.routing))

    def rerouted(self, s: SubscriberId, z: Interface) -> Self:
        """The same, by the name that it has in the papers: replace (_, _, s) with (_, z, s) in R_i."""
        return self.directed(s, z)

    def forgotten(self, s: SubscriberId) -> Self:
        """i has no next hop for s any more, as if it had never heard of it."""
        return replace(self, directions=tuple(item for item in self.directions if item[0] != s))

    def is_home(self, s: SubscriberId) -> bool:
        """s is here: P_i(s) = s and s ∈ C_i."""
        return self.direction(s) == s and s in self.subscribers

    # -- F_i, T_i --------------------------------------------------------------------------------------

    def with_entry(self, f: FilterId, z: Interface, s: SubscriberId = NOBODY) -> Self:
        """F_i(s) ← F_i(s) ∪ {f}, P_i(s) ← z."""
        return self.directed(s, z).with_filters(s, (*self.filters(s), f))

    def with_filters(self, s: SubscriberId, filters: Iterable[FilterId]) -> Self:
        """F_i(s) ← filters, of an s that i has heard of."""
        z = self.direction(s)
        assert z is not None
        return replace(self, routing=_table((s, tuple(filters), z), self.routing))

    def heard(self, s: SubscriberId, t: int, h: int = 1) -> Self:
        """T_i(s) ← t; no hops are counted."""
        others = (item for item in self.timestamps if item[0] != s)
        return replace(self, timestamps=tuple(sorted((*others, (s, Timestamp(t, 1))))))

    def number(self, s: SubscriberId) -> int:
        """T_i(s): the number of the message that made F_i(s); 0 while i has none."""
        return self.stamp(s).t

    def numbered(self) -> tuple[SubscriberId, ...]:
        """{s : T_i(s) > 0}, in order."""
        return tuple(s for s, stamp in self.timestamps if stamp.t > 0)

    # -- N_i -------------------------------------------------------------------------------------------

    def role(self, z: Interface) -> str | None:
        """What i is on the link to z: JOINER, HOST, or None before they have greeted."""
        return next((role for b, role in self.greeted if b == z), None)

    def greeting(self, z: BrokerId, role: str) -> Self:
        """The link to z is greeted."""
        others = (item for item in self.greeted if item[0] != z)
        return replace(self, greeted=tuple(sorted((*others, (z, role)))))

    def unlinked(self, z: Interface) -> Self:
        """The link to z, broker or client, is down."""
        return replace(
            self,
            neighbours=tuple(b for b in self.neighbours if b != z),
            subscribers=tuple(s for s in self.subscribers if s != z),
            publishers=tuple(p for p in self.publishers if p != z),
            greeted=tuple(item for item in self.greeted if item[0] != z),
            lines=tuple(item for item in self.lines if item[0] != z),
        )

    # -- layers ----------------------------------------------------------------------------------------

    def line(self, z: Interface) -> Line:
        """i's end of the acknowledged link to z."""
        return next((line for other, line in self.lines if other == z), FRESH)

    def untaken(self, other: ArrowBroker) -> tuple[Message, ...]:
        """What i has sent to another broker and that has not taken yet."""
        line = self.line(other.me)
        return line.unacknowledged[other.line(self.me).expected - line.first :]

    def with_line(self, z: Interface, line: Line) -> Self:
        """The same, changed."""
        return replace(self, lines=tuple(sorted([*(item for item in self.lines if item[0] != z), (z, line)], key=lambda item: item[0])))


def _table(of: tuple[SubscriberId, Iterable[FilterId], Interface], routing: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """R_i with the entries of one subscriber replaced by these filters, all by one next hop."""
    s, filters, z = of
    others = (entry for entry in routing if entry.subscriber != s)
    return tuple(sorted((*others, *(Entry(f, z, s) for f in set(filters)))))
