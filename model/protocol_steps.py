"""Steps that are owed (deliver, learn of a return, turn round after a merge) and the radio's losses."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import cast

from roamcheck.spec.messages import BrokerId, Filters, Message, Pub, Rep, SubscriberId, kind
from roamcheck.spec.state import Broker, Received, Subscriber

from .bounds import may_merge
from .interface import Disabled, Effect, Footprint, Kind, Slot, Step, Value, Word
from .overlay import Overlay
from .overlay_moves import run_migration
from .world import Budget, Way, Words, World, emit, give_back, receive, record


def protocol_steps(w: World) -> Iterator[Step]:
    """Every step of kind PROTOCOL, in a fixed order."""
    for way in w.channel:
        yield deliver_to_client(w, way) if way[1] in w.subscriber else deliver_to_broker(w, way)
    for way in w.returned:
        yield learn_of_return(w, way)
    if w.protocol.migrate is not None:
        for b in w.broker:
            yield turn(w, b)


def deliver_to_broker(w: World, way: Way) -> Step:
    """deliver(u → v): broker v takes the head of the channel from u, a neighbour or a client, and handles it."""
    u, v = way[0], BrokerId(way[1])
    owed = tuple(w.subscriber.values()) if u in w.publisher else ()

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        words = Words()
        i = receive(w, cast(Broker, values[0]), u, cast(Message, head), words)
        return Effect((i,), words.collected())

    footprint = Footprint(w.channel[way], (w.broker[v],), tuple(sorted({*w.outgoing(v), *owed})))
    narrows = (w.overlay, partial(reach, w, v))
    return Step("deliver", (("from", u), ("to", v)), Kind.PROTOCOL, react, footprint, serves=w.channel[way], narrows=narrows)


def reach(w: World, b: BrokerId, overlay: Value) -> frozenset[Slot]:
    """What broker b may append to while the overlay is so: nothing that leads to a broker that is no neighbour."""
    neighbours = cast(Overlay, overlay).neighbours(b)
    cut_off = {w.channel[b, n] for n in w.linkable[b] if n not in neighbours}
    return frozenset((*w.outgoing(b), *w.subscriber.values())) - cut_off


def deliver_to_client(w: World, way: Way) -> Step:
    """deliver(b → s): subscriber s takes what its broker has sent."""
    b, s = way[0], SubscriberId(way[1])

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        words, subscriber, message = Words(), cast(Subscriber, values[0]), cast(Message, head)
        if isinstance(message, Filters):
            subscriber, sends = w.acts.clients.on_filters(subscriber, message, w.rules)
            words.add(w.channel[s, b], *sends)
        elif isinstance(message, Pub | Rep):
            subscriber = arrived(w, subscriber, message)
        return Effect((subscriber,), words.collected())

    footprint = Footprint(w.channel[way], (w.subscriber[s],), (w.channel[s, b],))
    return Step("deliver", (("from", b), ("to", s)), Kind.PROTOCOL, react, footprint, serves=w.channel[way])


def arrived(w: World, s: Subscriber, message: Pub | Rep) -> Subscriber:
    """The ghost of s records an arrival."""
    return cast(Subscriber, record(w.rules, s, (Received(message.event),)))


def learn_of_return(w: World, way: Way) -> Step:
    """bounce = later: broker u learns that the oldest PUB or REP it had under way to z was not delivered."""
    u, z = BrokerId(way[0]), way[1]

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        words = Words()
        i, sends = w.acts.on_return(cast(Broker, values[0]), cast(BrokerId, z), cast(Message, head), w.rules)
        i = emit(w, i, sends, words)
        return Effect((i,), words.collected())

    footprint = Footprint(w.returned[way], (w.broker[u],), w.outgoing(u))
    narrows = (w.overlay, partial(reach, w, u))
    return Step("return", (("from", z), ("to", u)), Kind.PROTOCOL, react, footprint, serves=w.returned[way], narrows=narrows)


def turn(w: World, b: BrokerId) -> Step:
    """A pending overlay step: the new leader's heartbeat reaches b, whose next hop turns round (reading reroot, or what the protocol has
    instead: and b migrates)."""
    reading, value = w.protocol.rerooting
    migrates = w.rules.readings.value(reading) == value
    footprint = Footprint(reads=(w.overlay, w.broker[b]), appends=w.outgoing(b)) if migrates else Footprint(reads=(w.overlay,))
    not_yet = Disabled("the heartbeat of a new leader has reached its neighbour", w.overlay, for_good=not may_merge(w.scenario))

    def select(value: Value) -> Footprint | Disabled:
        return footprint if b in cast(Overlay, value).next_turns() else not_yet

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        overlay = cast(Overlay, values[0])
        old, new = overlay.parent(b), overlay.next_turns()[b]
        overlay = overlay.turned(b)
        if not migrates:
            return Effect((overlay,))
        words = Words()
        i = run_migration(w, cast(Broker, values[1]), old, new, words)
        return Effect((overlay, i), words.collected())

    within = footprint if may_merge(w.scenario) else Footprint()
    return Step("turn", (("broker", b),), Kind.PROTOCOL, react, selector=w.overlay, select=select, serves=w.overlay, within=within)


def loss_steps(w: World) -> Iterator[Step]:
    """Every loss that the radio may cause while the budget lasts."""
    if w.assume.radio != "reliable":
        for way in w.channel:
            yield lose(w, way)


def lose(w: World, way: Way) -> Step:
    """lose(u → v): the head of the channel is lost; under radio = detected a broker u learns of it."""
    u, v = way
    lossy = w.assume.lossy
    learns = w.assume.radio == "detected" and u in w.broker and w.protocol.queues

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        budget, message = cast(Budget, values[0]), cast(Message, head)
        if budget.remaining("losses") == 0:
            return Disabled("the radio may lose another message", w.budget, for_good=True)
        if lossy and kind(message) not in lossy:
            return Disabled(f"{kind(message)} may be lost")
        budget = budget.spend("losses")
        if not learns:
            return Effect((budget,))
        words = Words()
        i = give_back(w, cast(Broker, values[1]), v, message, words)
        return Effect((budget, i), words.collected())

    reads = (w.budget, w.broker[BrokerId(u)]) if learns else (w.budget,)
    appends = tuple(sorted({*w.outgoing(BrokerId(u)), *w.pending_returns(way)})) if learns else ()
    none_left = Disabled("the radio may lose another message", w.budget, for_good=True)
    guard = (w.budget, lambda budget: None if cast(Budget, budget).remaining("losses") else none_left)
    return Step("lose", (("from", u), ("to", v)), Kind.LOSS, react, Footprint(w.channel[way], reads, appends), guard=guard)

