"""What must hold: semantics section 6.  Properties are values; predicates are pure and return None or the Breach.

Predicates see local values (a broker, a subscriber with the publishers, a channel) or, in quiescent states, a `View` of one subscriber's
component.  Which are asked of which protocol is `applicable`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol as Interface_
from typing import cast

from .arrow_state import ArrowBroker
from .breach import Breach
from .messages import (
    LOST,
    Bmig,
    BmigModular,
    BmigOnce,
    Bquery,
    BqueryNumber,
    BrokerId,
    Bsub,
    BsubClaim,
    Btab,
    Done,
    Entry,
    EventId,
    FilterId,
    Filters,
    Frame,
    Got,
    Interface,
    Message,
    Mig,
    Pub,
    PubFor,
    PublisherId,
    Rep,
    Sub,
    SubscriberId,
    SubSince,
    Turn,
    Uns,
    UnsSince,
    describe,
    hops,
)
from .protocols import Protocol
from .rules import Rules
from .state import Broker, Publisher, Subscriber


@dataclass(frozen=True, slots=True)
class PropertyInfo:
    """A property as the registry lists it."""

    name: str
    scope: str  # "every state" | "every quiescent state" | "every run"
    says: str
    source: str
    decisive: bool = True  # part of the exit code without being asked for by name
    mendable: bool = False  # a later state may satisfy it again
    needs_timestamps: bool = False
    needs_queues: bool = False
    needs_names: bool = False  # of subscribers, in the routing tables
    needs_hops: bool = False  # counted in the timestamps
    only: str | None = None  # the one protocol that it is asked of


EVERY, QUIESCENT, RUN = "every state", "every quiescent state", "every run"

PROPERTIES: dict[str, PropertyInfo] = {
    info.name: info
    for info in (
        PropertyInfo("well-formed", EVERY, "entries, messages and timestamps name what exists; one entry per (f, s)", "TR19 §3", mendable=True),
        PropertyInfo("one-next-hop", EVERY, "all entries of s at a broker have one interface", "TR19 §3.2", mendable=True, needs_names=True),
        PropertyInfo("no-phantom", EVERY, "a subscriber receives only what was published and matches a filter it had asked for", "TR19 §3"),
        PropertyInfo("no-duplicate", EVERY, "a subscriber receives each event at most once", "TR19 §3"),
        PropertyInfo("timestamp-bound", EVERY, "T_i(s).t is at most what s has sent; T_i(s).h ≥ 1", "TR19 §6", mendable=True, needs_timestamps=True),
        PropertyInfo(
            "arrow", EVERY, "one end of each link points over it for each subscriber known to both, or one reversal is on its way", "MFTR",
            mendable=True, only="mft-pubsub-r",
        ),
        PropertyInfo("routing-converged", QUIESCENT, "every broker has the subscriber's filters, and the overlay's next hop to it", "TR19 §3.1"),
        PropertyInfo("no-routing-loop", QUIESCENT, "following next hops for a subscriber ends at it", "TR19 §3.1", needs_names=True),
        PropertyInfo("no-stranded-event", QUIESCENT, "no broker of the component of s still queues an event for it", "TR19 §5", needs_queues=True),
        PropertyInfo("delivered", QUIESCENT, "every event owed has arrived, unless a broker outside the component still holds it", "TR19 §7"),
        PropertyInfo("eventual-quiescence", RUN, "with the environment's budget spent, no weakly fair run goes on for ever", "TR19 §4"),
        PropertyInfo("eventual-delivery", RUN, "eventual-quiescence, and delivered in every quiescent state with the budget spent", "TR19 §7"),
        PropertyInfo("publisher-order", EVERY, "events of one publisher arrive in the order published", "not promised", decisive=False),
        PropertyInfo(
            "hop-count-exact", QUIESCENT, "T_i(s).h = distance + 1 within the component of s", "not promised", decisive=False, needs_timestamps=True,
            needs_hops=True,
        ),
    )
}  # fmt: skip


def not_applicable(info: PropertyInfo, protocol: Protocol) -> str | None:
    """Why the property is not asked of the protocol; None when it is."""
    if info.only not in (None, protocol.name):
        return f"it is an invariant of {info.only}, not of {protocol.name}"
    if info.needs_timestamps and not protocol.timestamps:
        return f"{protocol.name} keeps no timestamps"
    if info.needs_hops and not protocol.hops:
        return f"{protocol.name} counts no hops"
    if info.needs_queues and not protocol.queues:
        return f"{protocol.name} keeps no queues"
    if info.needs_names and not protocol.names_subscribers:
        return f"the tables of {protocol.name} name no subscriber"
    return None


# ---- every state ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Universe:
    """All that exists."""

    brokers: frozenset[BrokerId]
    subscribers: frozenset[SubscriberId]
    publishers: frozenset[PublisherId]
    filters: frozenset[FilterId]
    events: frozenset[EventId]


def well_formed_broker(i: Broker, universe: Universe, rules: Rules) -> Breach | None:
    """Conjuncts: names exist; at most one entry per (f, s); a client interface is the entry's own subscriber."""
    seen: set[tuple[FilterId, SubscriberId]] = set()
    for f, z, s in i.routing:
        entry = (("broker", str(i.me)), ("entry", f"({f}, {z}, {s})"))
        if not (_entry_exists(Entry(f, z, s), universe, rules) or (z == LOST and isinstance(i, ArrowBroker))):
            return Breach("an entry names things that exist", entry)
        if not rules.names_subscribers:
            continue
        if (f, s) in seen:
            return Breach("at most one entry per (f, s)", entry)
        if z not in universe.brokers and z not in (s, LOST):
            return Breach("a client interface in an entry is the entry's own subscriber", entry)
        seen.add((f, s))
    for s, z in i.directions if isinstance(i, ArrowBroker) else ():
        if s not in universe.subscribers or z not in (*universe.brokers, s, LOST):
            return Breach("a next hop leads to a broker, to its own subscriber or nowhere", (("broker", i.me), ("P_i", f"{s}: {z}")))
        if any(y != z for y in i.next_hops(s)):
            return Breach("the entries of a subscriber have its next hop", (("broker", i.me), ("P_i", f"{s}: {z}")))
    for s, stamp in i.timestamps:
        if s not in universe.subscribers:
            return Breach("a timestamp names a subscriber that exists", (("broker", i.me), ("T_i", f"{s}: {stamp}")))
    for s, events in i.queues:
        if s not in universe.subscribers or not universe.events.issuperset(events):
            return Breach("a queue names things that exist", (("broker", i.me), ("Q_i", f"{s}: {', '.join(events)}")))
    return None


def well_formed_channel(messages: tuple[Message, ...], universe: Universe, rules: Rules) -> Breach | None:
    """Conjunct: messages name things that exist."""
    for m in messages:
        if not _message_exists(m, universe, rules):
            return Breach("a message names things that exist", (("message", describe(m)),))
    return None


def _entry_exists(entry: Entry, universe: Universe, rules: Rules) -> bool:
    f, z, s = entry
    named = s in universe.subscribers if rules.names_subscribers else not s
    return f in universe.filters and named and (z in universe.brokers or z in universe.subscribers)


def _message_exists(m: Message, universe: Universe, rules: Rules) -> bool:
    subscribers, filters = universe.subscribers, universe.filters
    match m:
        case Sub(f, s, _, _) | Uns(f, s, _, _):
            return f in filters and (s in subscribers if rules.names_subscribers else not s)
        case Pub(e, sent_for):
            return e in universe.events and subscribers.issuperset(sent_for)
        case Rep(e, s):
            return e in universe.events and s in subscribers
        case Mig(s, b, _, _):
            return s in subscribers and b in universe.brokers
        case Filters(fs):
            return filters.issuperset(fs)
        case BmigModular(attached, b):
            return subscribers.issuperset(attached) and b in universe.brokers
        case Btab(table):
            return all(_entry_exists(entry, universe, rules) for entry in table)
        case Bmig(children, others, _):
            return subscribers.issuperset(s for s, _, _ in (*children, *others))
        case Frame(_, inner):
            return _message_exists(inner, universe, rules)
        case Got(e):
            return e in universe.events
        case Done(e, s):
            return e in universe.events and s in subscribers
        case Bquery(s, _, _):
            return s in subscribers
        case SubSince(f, s, _, _) | UnsSince(f, s, _, _):
            return f in filters and s in subscribers
        case Turn(turned):
            return subscribers.issuperset(turned)
        case BmigOnce(c, o):
            return subscribers.issuperset(s for s, _ in (*c, *o))
        case BqueryNumber(s, _):
            return s in subscribers
        case PubFor(e, targets):
            return e in universe.events and subscribers.issuperset(targets)
        case Bsub(s, fs, _, _) | BsubClaim(s, fs, _, _):
            return s in subscribers and filters.issuperset(fs)
    return True


def one_next_hop(i: Broker) -> Breach | None:
    """All entries of s at a broker have the same interface."""
    hop: dict[SubscriberId, Interface] = {}
    for _, z, s in i.routing:
        if hop.setdefault(s, z) != z:
            where = (("broker", i.me), ("subscriber", s), ("next hops", f"{hop[s]}, {z}"))
            return Breach("all entries of a subscriber have the same interface", where)
    return None


def timestamp_bound(i: Broker, s: Subscriber) -> Breach | None:
    """T_i(s).t never exceeds what s has sent; T_i(s).h ≥ 1."""
    stamp = i.stamp(s.me)
    where = (("broker", str(i.me)), ("subscriber", str(s.me)), ("T_i(s)", f"({stamp.t}, {hops(stamp.h)})"))
    if stamp.t > s.sent:
        return Breach("T_i(s).t is at most what s has sent", (*where, ("sent", str(s.sent))))
    if stamp.h < 1:
        return Breach("T_i(s).h is at least 1", where)
    return None


def no_phantom(s: Subscriber, publishers: tuple[Publisher, ...], rules: Rules) -> Breach | None:
    """Conjuncts: what arrives was published; and matches a filter that s had asked for."""
    published = {e for p in publishers for e in p.published}
    for e in s.received:
        what = (("subscriber", str(s.me)), ("event", str(e)))
        if e not in published:
            return Breach("what arrives was published", what)
        if not any(rules.matches(f, e) for f in s.asked):
            return Breach("what arrives matches a filter that was asked for", (*what, ("asked for", ", ".join(s.asked))))
    return None


def no_duplicate(s: Subscriber) -> Breach | None:
    """Each event arrives at most once."""
    if len(set(s.received)) == len(s.received):
        return None
    twice = next(e for e in s.received if s.received.count(e) > 1)
    return Breach("each event arrives at most once", (("subscriber", s.me), ("event", twice), ("received", ", ".join(s.received))))


def publisher_order(s: Subscriber, publishers: tuple[Publisher, ...]) -> Breach | None:
    """Whatever arrives from one publisher was published no earlier than what arrived before it."""
    for p in publishers:
        mine = [e for e in s.received if e in p.published]
        for earlier, later in pairwise(mine):
            if p.published.index(earlier) > p.published.index(later):
                return Breach(
                    "events of one publisher arrive in the order published",
                    (("subscriber", s.me), ("publisher", p.me), ("published", ", ".join(p.published)), ("received", ", ".join(mine))),
                )
    return None


# ---- quiescent states -------------------------------------------------------------------------------


class View(Interface_):
    """What a quiescent property sees: the brokers, and the overlay as it really is."""

    @property
    def brokers(self) -> Mapping[BrokerId, Broker]:
        """All brokers' local states."""

    def component(self, b: BrokerId) -> tuple[BrokerId, ...]:
        """The brokers that b can reach, itself among them, in order."""

    def towards(self, b: BrokerId, home: BrokerId) -> BrokerId:
        """The overlay's next hop from b to home, both in one component and different."""

    def distance(self, b: BrokerId, home: BrokerId) -> int:
        """Links between b and home."""


def routing_converged(view: View, s: Subscriber) -> Breach | None:
    """Conjuncts, for each broker of the component of s: exactly the filters of s; the next hop is the overlay's."""
    if not s.attached:
        return None
    home = cast(BrokerId, s.broker)
    for b in view.component(home):
        i = view.brokers[b]
        where = (("broker", str(b)), ("subscriber", str(s.me)))
        if i.filters(s.me) != s.wants:
            return Breach(
                "every broker of the component has exactly the subscriber's filters",
                (*where, ("has", ", ".join(i.filters(s.me)) or "none"), ("wanted", ", ".join(s.wants) or "none")),
            )
        hop: Interface = s.me if b == home else view.towards(b, home)
        if any(y != hop for y in i.next_hops(s.me)):
            return Breach("the next hop is the overlay's", (*where, ("next hop", ", ".join(i.next_hops(s.me))), ("overlay", hop)))
    return None


def routing_converged_static(view: View, subscribers: tuple[Subscriber, ...]) -> Breach | None:
    """For tables that name no subscriber: every broker of a component knows each filter wanted in it and nothing else."""
    for b in view.brokers:
        component = view.component(b)
        wanted = {f for s in subscribers if s.attached and s.broker in component for f in s.wants}
        known = {entry.filter for entry in view.brokers[b].routing}
        if known != wanted:
            return Breach(
                "every broker knows each filter wanted in its component and nothing else",
                (("broker", b), ("knows", ", ".join(sorted(known)) or "none"), ("wanted", ", ".join(sorted(wanted)) or "none")),
            )
    return None


def no_routing_loop(view: View, s: Subscriber) -> Breach | None:
    """Following next hops for s, from every broker of its component that has one, ends at s."""
    if not s.attached:
        return None
    ending: set[str] = set()
    for b in view.component(cast(BrokerId, s.broker)):
        if b not in ending and (path := _lost_walk(view, s, b, ending)):
            where = (("subscriber", s.me), ("attached to", str(s.broker)), ("path", " → ".join(path)))
            return Breach("following next hops ends at the subscriber", where)
    return None


def _lost_walk(view: View, s: Subscriber, start: BrokerId, ending: set[str]) -> tuple[str, ...]:
    """The first walk along next hops from `start` that does not end at s, if there is one.

    From those in `ending` all walks do; if there is none, so they do from all that are passed here.
    """
    passed: set[str] = set()
    stack: list[tuple[tuple[str, ...], BrokerId]] = [((start,), start)]
    while stack:
        path, b = stack.pop()
        next_hops = view.brokers[b].next_hops(s.me)
        if not next_hops:
            return (*path, "nowhere") if len(path) > 1 else ()
        for y in next_hops:
            if y == s.me and b == s.broker:
                continue
            if y in path or y not in view.brokers or y not in view.brokers[b].neighbours:
                return (*path, y if y in path else f"{y} (down)")
            if y not in ending:
                stack.append(((*path, y), cast(BrokerId, y)))
        passed.add(b)
    ending |= passed
    return ()


def no_stranded_event(view: View, s: Subscriber) -> Breach | None:
    """No broker of the component of s still queues an event for it."""
    if not s.attached:
        return None
    for b in view.component(cast(BrokerId, s.broker)):
        if queued := view.brokers[b].queue(s.me):
            return Breach("no broker of the component queues an event", (("broker", b), ("subscriber", s.me), ("queue", ", ".join(queued))))
    return None


def delivered(view: View, s: Subscriber) -> Breach | None:
    """Every event owed to s has arrived, unless a broker outside its component still holds it."""
    if not s.attached:
        return None
    component = view.component(cast(BrokerId, s.broker))
    held = {e for b, i in view.brokers.items() if b not in component for e in i.queue(s.me)}
    for e in s.owed:
        if e not in s.received and e not in held:
            return Breach("every event owed has arrived", (("subscriber", s.me), ("event", e), ("received", ", ".join(s.received) or "none")))
    return None


def hop_count_exact(view: View, s: Subscriber) -> Breach | None:
    """T_i(s).h = distance + 1 at every broker of the component of s."""
    if not s.attached or not s.wants:
        return None
    home = cast(BrokerId, s.broker)
    for b in view.component(home):
        stamp, distance = view.brokers[b].stamp(s.me), view.distance(b, home)
        if stamp.h != distance + 1:
            return Breach("T_i(s).h = distance + 1", (("broker", b), ("subscriber", s.me), ("T_i(s).h", hops(stamp.h)), ("distance", str(distance))))
    return None
