"""Steps that are owed (deliver, learn of a return, turn round after a merge), the radio's losses and what is repeated for fear of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import cast

from roamcheck.spec.arrow_state import ArrowBroker
from roamcheck.spec.frames import LayeredPublisher, LayeredSubscriber
from roamcheck.spec.messages import BrokerId, Filters, Frame, Got, Message, Pub, PublisherId, Rep, SubscriberId, kind
from roamcheck.spec.state import Broker, Publisher, Received, Subscriber

from .bounds import may_merge
from .interface import Disabled, Effect, Footprint, Kind, Slot, Step, Value, Word
from .overlay import Overlay
from .overlay_moves import run_migration
from .world import Budget, Way, Words, World, emit, give_back, line_of, lose_link, receive, record, take, transmit, with_line


def protocol_steps(w: World) -> Iterator[Step]:
    """Every step of kind PROTOCOL, in a fixed order."""
    for way in w.channel:
        yield deliver_to_broker(w, way) if way[1] in w.broker else deliver_to_client(w, way)
    for way in w.returned:
        yield learn_of_return(w, way)
    for u, v in w.unnoticed:
        yield notice(w, BrokerId(u), BrokerId(v))
    if w.protocol.migrate is not None:
        for b in w.broker:
            yield turn(w, b)
    if w.framed:
        for u, v in w.channel:
            yield timeout(w, u, v)


def deliver_to_broker(w: World, way: Way) -> Step:
    """deliver(u → v): broker v takes the head of the channel from u, a neighbour or a client, and handles it."""
    u, v = way[0], BrokerId(way[1])
    owed = tuple(w.subscriber.values()) if u in w.publisher else ()

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        words = Words()
        i, message = take(w, cast(Broker, values[0]), u, cast(Message, head), words)
        if message is not None:
            i = receive(w, i, u, message, words)
        return Effect((i,), words.collected())

    footprint = Footprint(w.channel[way], (w.broker[v],), tuple(sorted({*w.outgoing(v), *owed})))
    narrows = None if w.apart else (w.overlay, partial(reach, w, v))
    return while_up(w, way, Step("deliver", (("from", u), ("to", v)), Kind.PROTOCOL, react, footprint, serves=w.channel[way], narrows=narrows))


def while_up(w: World, way: Way, step: Step) -> Step:
    """notice = apart: the step fires only while the link is up.  A sender that has noticed its fall has nothing on it any more."""
    slots = w.to_notice(way)
    if not slots:
        return step

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        if values[-1]:
            return Disabled(f"the link between {way[0]} and {way[1]} is up", slots[0])
        effect = step.react(head, values[:-1])
        return effect if isinstance(effect, Disabled) else replace(effect, values=(*effect.values, values[-1]))

    return replace(step, react=react, fixed=replace(step.fixed, reads=(*step.fixed.reads, *slots)))


def reach(w: World, b: BrokerId, overlay: Value) -> frozenset[Slot]:
    """What broker b may append to while the overlay is so: nothing that leads to a broker that is no neighbour."""
    neighbours = cast(Overlay, overlay).neighbours(b)
    cut_off = {w.channel[b, n] for n in w.linkable[b] if n not in neighbours}
    return frozenset((*w.outgoing(b), *w.subscriber.values())) - cut_off


def deliver_to_client(w: World, way: Way) -> Step:
    """deliver(b → c): subscriber c takes what its broker has sent; a publisher takes acknowledgements."""
    b, c = BrokerId(way[0]), way[1]

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        words = Words()
        client, message = take(w, cast(Subscriber, values[0]), b, cast(Message, head), words)
        if isinstance(message, Filters):
            client, sends = w.acts.clients.on_filters(client, message, w.rules)
            client = transmit(w, client, b, sends, words)
        elif isinstance(message, Pub | Rep):
            client = arrived(w, client, message)
            if w.rules.readings.custody == "on":
                client = transmit(w, client, b, (Got(message.event),), words)
        return Effect((client,), words.collected())

    footprint = Footprint(w.channel[way], (client_slot(w, c),), (w.channel[c, b],))
    return Step("deliver", (("from", b), ("to", c)), Kind.PROTOCOL, react, footprint, serves=w.channel[way])


def client_slot(w: World, c: str) -> Slot:
    """Where a client is; publishers hear of acknowledgements alone."""
    return w.subscriber[SubscriberId(c)] if c in w.subscriber else w.publisher[PublisherId(c)]


def end_slot(w: World, u: str) -> Slot:
    """Where an end of a link is."""
    return w.broker[BrokerId(u)] if u in w.broker else client_slot(w, u)


def due(value: Value) -> bool:
    """A timer is going to run out there."""
    if isinstance(value, ArrowBroker):
        return any(line.due for _, line in value.lines)
    return isinstance(value, LayeredSubscriber | LayeredPublisher) and value.line.due


def timeout(w: World, u: str, v: str) -> Step:
    """timeout(u → v): nothing of the link is under way, and u sends again what v has not acknowledged."""

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        end, *under_way = values
        line = line_of(cast(Broker, end), v)
        if not line.due or (isinstance(end, Subscriber | Publisher) and end.broker != v):
            return Disabled(f"something on the link from {u} to {v} was lost", end_slot(w, u))
        if any(under_way):
            return Disabled(f"nothing of the link between {u} and {v} is under way")
        return Effect((with_line(cast(Broker, end), v, replace(line, due=False)), line.frames(), ()))

    slot = end_slot(w, u)
    footprint = Footprint(reads=(slot, w.channel[u, v], w.channel[v, u]))
    return Step("timeout", (("from", u), ("to", v)), Kind.PROTOCOL, react, footprint, serves=slot)


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
    narrows = None if w.apart else (w.overlay, partial(reach, w, u))
    return Step("return", (("from", z), ("to", u)), Kind.PROTOCOL, react, footprint, serves=w.returned[way], narrows=narrows)


def notice(w: World, u: BrokerId, v: BrokerId) -> Step:
    """notice = apart: broker u notices that its link to v has fallen, and learns what it had under way there, whenever it was sent."""

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        fallen, i, in_flight = values
        if not fallen:
            return Disabled(f"{u} has yet to notice that its link to {v} has fallen", w.unnoticed[u, v])
        words = Words()
        i = lose_link(w, cast(Broker, i), v, cast(tuple[Message, ...], in_flight), words)
        return Effect((False, i, ()), words.collected())

    reads = (w.unnoticed[u, v], w.broker[u], w.channel[u, v])
    footprint = Footprint(None, reads, tuple(sorted({*w.outgoing(u), *w.pending_returns((u, v))} - {w.channel[u, v]})))
    return Step("notice", (("broker", u), ("to", v)), Kind.PROTOCOL, react, footprint, serves=w.unnoticed[u, v])


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
    """Every loss that the radio may cause while the budget lasts, and every timer that may run out too early."""
    if w.assume.radio != "reliable":
        for way in w.channel:
            yield while_up(w, way, lose(w, way))
    if w.framed and w.scenario.free.repeats:
        for way in w.channel:
            yield while_up(w, way, repeat(w, way))


def lose(w: World, way: Way) -> Step:
    """lose(u → v): the head of the channel is lost; under radio = detected a broker u learns of it."""
    u, v = way
    lossy = w.assume.lossy
    learns = w.assume.radio == "detected" and u in w.broker and w.protocol.queues and not w.framed

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        budget, message = cast(Budget, values[0]), cast(Message, head)
        inner = message.message if isinstance(message, Frame) else message
        if budget.remaining("losses") == 0:
            return Disabled("the radio may lose another message", w.budget, for_good=True)
        if lossy and kind(inner) not in lossy:
            return Disabled(f"{kind(inner)} may be lost")
        budget = budget.spend("losses")
        if w.framed:
            one, other = (u, v) if isinstance(message, Frame) else (v, u)  # whose timer will run out, and on the link to whom
            ends = dict(zip((u, v), values[1:], strict=True))
            line = line_of(cast(Broker, ends[one]), other)
            ends[one] = with_line(cast(Broker, ends[one]), other, replace(line, due=bool(line.unacknowledged)))
            return Effect((budget, *ends.values()))
        if not learns:
            return Effect((budget,))
        words = Words()
        i = give_back(w, cast(Broker, values[1]), v, message, words)
        return Effect((budget, i), words.collected())

    reads = (w.budget, w.broker[BrokerId(u)]) if learns else (w.budget, end_slot(w, u), end_slot(w, v)) if w.framed else (w.budget,)
    appends = tuple(sorted({*w.outgoing(BrokerId(u)), *w.pending_returns(way)})) if learns else ()
    none_left = Disabled("the radio may lose another message", w.budget, for_good=True)
    guard = (w.budget, lambda budget: None if cast(Budget, budget).remaining("losses") else none_left)
    return Step("lose", (("from", u), ("to", v)), Kind.LOSS, react, Footprint(w.channel[way], reads, appends), guard=guard)


def repeat(w: World, way: Way) -> Step:
    """repeat(u → v): the timer of u runs out too early: it sends again what v has not acknowledged, though that is under way or has arrived."""
    u, v = way
    slot = end_slot(w, u)
    none_left = Disabled("another timer may run out too early", w.budget, for_good=True)

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        budget, end = cast(Budget, values[0]), cast(Broker, values[1])
        if budget.remaining("repeats") == 0:
            return none_left
        line = line_of(end, v)
        if not line.unacknowledged or (isinstance(end, Subscriber | Publisher) and end.broker != v):
            return Disabled(f"{u} waits for {v} to acknowledge something", slot)
        return Effect((budget.spend("repeats"), end), ((w.channel[way], line.frames()),))

    guard = (w.budget, lambda budget: None if cast(Budget, budget).remaining("repeats") else none_left)
    return Step("repeat", (("from", u), ("to", v)), Kind.LOSS, react, Footprint(None, (w.budget, slot), (w.channel[way],)), guard=guard)
