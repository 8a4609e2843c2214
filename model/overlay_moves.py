"""The environment's moves on the overlay: link-down, migrate, merge, crash (semantics section 3).  What they touch is a function of the overlay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from roamcheck.spec.messages import BrokerId, Message, PublisherId, SubscriberId
from roamcheck.spec.state import Broker, Publisher, Subscriber

from .bounds import may_come_up, may_fall, possible_parents, widest
from .interface import Disabled, Effect, Footprint, Kind, Slot, Step, Value, Word
from .overlay import Overlay
from .world import Budget, Words, World, coming_back, drop, emit, hung_up, lose_link

Claim = Callable[[Budget], Budget | Disabled]
Arguments = tuple[tuple[str, str], ...]
Flights = tuple[tuple[Message, ...], tuple[Message, ...]]  # under way on a link, one way and the other


def both_ways(w: World, u: BrokerId, v: BrokerId) -> tuple[Slot, Slot]:
    """The channels of the link between u and v."""
    return w.channel[u, v], w.channel[v, u]


def link_down(w: World, u: BrokerId, v: BrokerId, claim: Claim, more: Arguments) -> Step:
    """link_down(u, v): an overlay link disappears, and both ends drop each other."""
    down = Disabled(f"the link {u}–{v} is up", w.overlay, for_good=not may_come_up(w.scenario, u, v))
    within = Footprint()
    if v in w.linkable[u] and w.apart:
        within = Footprint(None, (w.overlay, w.budget, *w.to_notice((u, v), (v, u))))
    elif v in w.linkable[u]:
        reads = (w.overlay, w.budget, w.broker[u], w.broker[v], *both_ways(w, u, v))
        within = Footprint(None, reads, tuple(sorted({*w.outgoing(u, v), *w.pending_returns((u, v), (v, u))})))

    def select(value: Value) -> Footprint | Disabled:
        return within if cast(Overlay, value).is_up(u, v) else down

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        budget = claim(cast(Budget, values[1]))
        if isinstance(budget, Disabled):
            return budget
        if w.apart:
            return Effect((cast(Overlay, values[0]).without_link(u, v), budget, True, True))
        words = Words()
        one, other = fall(w, cast(Broker, values[2]), cast(Broker, values[3]), cast(Flights, values[4:6]), words)
        return Effect((cast(Overlay, values[0]).without_link(u, v), budget, one, other, (), ()), words.collected())

    return Step("link-down", (("link", f"{u}–{v}"), *more), Kind.ENVIRONMENT, react, selector=w.overlay, select=select, within=within)


def fall(w: World, one: Broker, other: Broker, in_flight: Flights, words: Words) -> tuple[Broker, Broker]:
    """Both ends lose their link; what one had under way to the other, and the other to the one."""
    return lose_link(w, one, other.me, in_flight[0], words), lose_link(w, other, one.me, in_flight[1], words)


def settled(w: World, b: BrokerId, *to: BrokerId) -> tuple[Slot, ...]:
    """notice = apart: what is to be noticed before b moves or crashes: what it has lost itself, and by whom it joins that it has left."""
    return w.to_notice(*((b, v) for v in w.linkable[b]), *((v, b) for v in to))


def migrate(w: World, b: BrokerId, to: BrokerId, claim: Claim, more: Arguments) -> Step:
    """migrate(b, b_o → to), one step: the old link falls if it is still up, the new one comes up, then the algorithm runs.

    notice = apart: b notices the fall in this step, its old parent later; and b has noticed what fell before, as has the one that it joins.
    """
    waits = settled(w, b, to)

    def leaving(old: BrokerId | None) -> Footprint:
        reads: tuple[Slot, ...] = (w.overlay, w.budget, *waits, w.broker[b], w.broker[to])
        if old is None:
            return Footprint(None, reads, w.outgoing(b))
        if w.apart:
            words = {*w.outgoing(b), *w.pending_returns((b, old))} - {w.channel[b, old]}
            return Footprint(None, (*reads, w.unnoticed[old, b], w.channel[b, old]), tuple(sorted(words)))
        appends = {*w.outgoing(b, old), *w.pending_returns((b, old), (old, b))}
        return Footprint(None, (*reads, w.broker[old], *both_ways(w, b, old)), tuple(sorted(appends)))

    def select(value: Value) -> Footprint | Disabled:
        overlay = cast(Overlay, value)
        old = overlay.follows(b)
        if old == to:
            return Disabled(f"{to} is not the parent of {b} already")
        if to in overlay.branch(b):
            return Disabled(f"{to} is not in the branch of {b}")
        return leaving(old)

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        overlay, budget = cast(Overlay, values[0]), claim(cast(Budget, values[1]))
        if isinstance(budget, Disabled):
            return budget
        noticed, values = values[2 : 2 + len(waits)], (*values[:2], *values[2 + len(waits) :])
        if any(noticed):
            return Disabled(f"{b} has noticed what it has lost, and {to} that it had lost {b}")
        words, old = Words(), overlay.parent(b)
        i, host = cast(Broker, values[2]), cast(Broker, values[3]).linked(b)
        rest: tuple[Value, ...] = ()
        if len(values) > 4 and old is not None and w.apart:
            i = lose_link(w, i, old, cast(tuple[Message, ...], values[5]), words)
            overlay, rest = overlay.without_link(b, old), (True, ())
        elif len(values) > 4 and old is not None:
            i, left = fall(w, i, cast(Broker, values[4]), cast(Flights, values[5:7]), words)
            overlay, rest = overlay.without_link(b, old), (left, (), ())
        overlay, i = overlay.moved(b, to), run_migration(w, i.linked(to), old, to, words)
        return Effect((overlay, budget, *noticed, i, host, *rest), words.collected())

    within = widest(leaving(None), *(leaving(old) for old in possible_parents(w, b) if old != to))
    return Step("migrate", (("broker", b), ("to", to), *more), Kind.ENVIRONMENT, react, selector=w.overlay, select=select, within=within)


def run_migration(w: World, i: Broker, old: BrokerId | None, new: BrokerId, words: Words) -> Broker:
    """The algorithm of the protocol runs at i, whose link to `new` is up."""
    if w.acts.migrate is None:
        return i
    i, sends = w.acts.migrate(i, old, new, w.rules)
    return emit(w, i, sends, words)


def merge(w: World, u: BrokerId, v: BrokerId, claim: Claim, more: Arguments) -> Step:
    """merge(u, v): a link joins two components; u, on the side whose leader yields, migrates to v, and the hops up to its old leader will turn."""
    waits = settled(w, u, v)
    within = Footprint(None, (w.overlay, w.budget, w.broker[u], w.broker[v], *waits), w.outgoing(u))
    joined_for_good = not may_fall(w.scenario)

    def select(value: Value) -> Footprint | Disabled:
        overlay = cast(Overlay, value)
        if v in overlay.component(u):
            return Disabled(f"{u} and {v} are in different components", w.overlay, joined_for_good)
        joined = {*overlay.component(u), *overlay.component(v)}
        if w.rules.readings.merges == "wait" and any(path[0] in joined for path in overlay.turning):
            return Disabled("no earlier merge is still turning next hops there")
        return within

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        overlay, budget = cast(Overlay, values[0]), claim(cast(Budget, values[1]))
        if isinstance(budget, Disabled):
            return budget
        if any(values[4:]):
            return Disabled(f"{u} has noticed what it has lost, and {v} that it had lost {u}")
        words, old, path = Words(), overlay.parent(u), overlay.path_to_leader(u)
        overlay = replace(overlay.with_link(u, v).with_parent(u, v), turning=(*overlay.turning, *((path,) if len(path) > 1 else ())))
        i = run_migration(w, cast(Broker, values[2]).linked(v), old, v, words)
        return Effect((overlay, budget, i, cast(Broker, values[3]).linked(u), *values[4:]), words.collected())

    return Step("merge", (("broker", u), ("to", v), *more), Kind.ENVIRONMENT, react, selector=w.overlay, select=select, within=within)


def crash(w: World, b: BrokerId, volatile: bool, claim: Claim, more: Arguments) -> Step:
    """crash(b): all its links go down at once; its state is kept (durable) or emptied (volatile).

    notice = apart: each neighbour notices later, and b has noticed what fell before.
    """
    waits = settled(w, b)
    visitors = w.visitors[b]
    clients = tuple(w.subscriber[SubscriberId(c)] if c in w.subscriber else w.publisher[PublisherId(c)] for c in visitors)
    ways = [] if w.instant else [way for c in visitors for way in ((c, b), (b, c)) if way in w.channel]

    def leaving(neighbours: tuple[BrokerId, ...]) -> Footprint:
        reads = [w.overlay, w.budget, w.broker[b], *waits, *clients, *(w.channel[way] for way in ways)]
        for n in neighbours:
            reads += [w.unnoticed[n, b], w.channel[b, n]] if w.apart else [w.broker[n], *both_ways(w, b, n)]
        returns = w.pending_returns(*((b, n) for n in neighbours), *((n, b) for n in neighbours), *((b, c) for c in visitors))
        return Footprint(None, tuple(reads), tuple(sorted({*w.outgoing(b, *neighbours), *returns})))

    def select(value: Value) -> Footprint:
        return leaving(cast(Overlay, value).neighbours(b))

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        overlay, budget, i = cast(Overlay, values[0]), claim(cast(Budget, values[1])), cast(Broker, values[2])
        if isinstance(budget, Disabled):
            return budget
        noticed, rest = values[3 : 3 + len(waits)], list(values[3 + len(waits) :])
        if any(noticed):
            return Disabled(f"{b} has noticed what it has lost")
        words = Words()
        after = [detached(w, client, b) for client in rest[: len(clients)]]
        in_flight = dict(zip(ways, rest[len(clients) :], strict=False))
        after += [()] * len(ways)
        attached = [c for c in visitors if i.is_up(c)]
        in_flight |= {(b, c): coming_back(w, i, c, cast(tuple[Message, ...], in_flight.get((b, c), ()))) for c in attached}
        at, each = len(clients) + len(ways), 2 if w.apart else 3
        own = [coming_back(w, i, n, cast(Flights, rest[at + each * k + 1 : at + each * k + 2])[0]) for k, n in enumerate(overlay.neighbours(b))]
        for z in (*attached, *overlay.neighbours(b)):  # all at once: nothing that comes back is sent over a link that falls too
            i = drop(w, i, z)
        for c in attached:
            i = lose_link(w, i, c, cast(tuple[Message, ...], in_flight.get((b, c), ())), words)
        for n, mine in zip(overlay.neighbours(b), own, strict=True):
            overlay = overlay.without_link(b, n)
            if w.apart:
                i = lose_link(w, i, n, mine, words)
                after += [True, ()]
            else:
                i, neighbour = fall(w, i, cast(Broker, rest[at]), (mine, cast(Flights, tuple(rest[at + 1 : at + 3]))[1]), words)
                after += [neighbour, (), ()]
            at += each
        if volatile:
            i, overlay = w.protocol.broker.fresh(b, (), (), (), None), overlay.with_parent(b, None)
        return Effect((overlay, budget, i, *noticed, *after), words.collected())

    arguments = (("broker", b), ("state", "volatile" if volatile else "durable"), *more)
    return Step("crash", arguments, Kind.ENVIRONMENT, react, selector=w.overlay, select=select, within=leaving(w.linkable[b]))


def detached(w: World, client: Value, b: BrokerId) -> Value:
    """A client that was attached to b is detached now."""
    if isinstance(client, Subscriber) and client.attached and client.broker == b:
        return hung_up(cast(Subscriber, w.acts.clients.detach(client)))
    if isinstance(client, Publisher) and client.attached and client.broker == b:
        return hung_up(cast(Publisher, w.acts.clients.detach_publisher(client)))
    return client

