"""Binds the properties of spec/ to the slots of a world."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import cast

from roamcheck.spec import properties as p
from roamcheck.spec.arrow import arrow
from roamcheck.spec.arrow_state import ArrowBroker
from roamcheck.spec.breach import Breach
from roamcheck.spec.messages import BrokerId, EventId, FilterId, Message
from roamcheck.spec.state import Broker, Publisher, Subscriber

from .interface import Predicate, Property, Scope, Value
from .overlay import Overlay
from .view import OverlayView
from .world import World

SubscriberQuestion = Callable[[p.View, Subscriber], Breach | None]

OF_SUBSCRIBERS: dict[str, SubscriberQuestion] = {
    "routing-converged": p.routing_converged,
    "no-routing-loop": p.no_routing_loop,
    "no-stranded-event": p.no_stranded_event,
    "delivered": p.delivered,
    "hop-count-exact": p.hop_count_exact,
    "eventual-delivery": p.delivered,
}
SCOPES = {p.EVERY: Scope.EVERY_STATE, p.QUIESCENT: Scope.QUIESCENT, p.RUN: Scope.RUN}


def bind(w: World, names: tuple[str, ...]) -> Iterator[Property]:
    """The named properties that apply to the protocol, over the slots of this world, in the registry's order."""
    for info in p.PROPERTIES.values():
        if info.name in names and p.not_applicable(info, w.protocol) is None:
            yield Property(info.name, SCOPES[info.scope], tuple(predicates(w, info.name)), info.decisive, info.mendable)


def predicates(w: World, name: str) -> Iterator[Predicate]:
    """What the property asks, slot by slot."""
    publishers = tuple(w.publisher.values())
    match name:
        case "well-formed":
            universe = universe_of(w)
            for slot in w.broker.values():
                yield Predicate((slot,), partial(_broker_well_formed, w, universe))
            for slot in (*w.channel.values(), *w.returned.values()):
                yield Predicate((slot,), partial(_channel_well_formed, w, universe), wordwise=True)
        case "one-next-hop":
            for slot in w.broker.values():
                yield Predicate((slot,), lambda values: p.one_next_hop(cast(Broker, values[0])))
        case "timestamp-bound":
            for broker in w.broker.values():
                for subscriber in w.subscriber.values():
                    yield Predicate((broker, subscriber), _timestamp_bound, blind=(subscriber,))  # ghosts bear no timestamps
        case "arrow":
            for u, v in w.channel:
                if u in w.broker and v in w.broker and u < v:
                    b, c = BrokerId(u), BrokerId(v)
                    yield Predicate((w.broker[b], w.broker[c], w.channel[u, v], w.channel[v, u]), partial(_arrow, w.framed))
        case "no-duplicate":
            for slot in w.subscriber.values():
                yield Predicate((slot,), lambda values: p.no_duplicate(cast(Subscriber, values[0])))
        case "no-phantom":
            for slot in w.subscriber.values():
                yield Predicate((slot, *publishers), lambda values: p.no_phantom(cast(Subscriber, values[0]), _publishers(values[1:]), w.rules))
        case "publisher-order":
            for slot in w.subscriber.values():
                yield Predicate((slot, *publishers), lambda values: p.publisher_order(cast(Subscriber, values[0]), _publishers(values[1:])))
        case "routing-converged" if not w.rules.names_subscribers:
            reads = (w.overlay, *w.broker.values(), *w.subscriber.values())
            yield Predicate(reads, partial(_static_converged, w))
        case "eventual-quiescence":
            return
        case _:
            for slot in w.subscriber.values():
                yield Predicate((slot, w.overlay, *w.broker.values()), partial(_ask, w, OF_SUBSCRIBERS[name]))


def universe_of(w: World) -> p.Universe:
    """All that the scenario names."""
    return p.Universe(
        frozenset(w.broker),
        frozenset(w.subscriber),
        frozenset(w.publisher),
        frozenset(FilterId(name) for name, _ in w.scenario.filters),
        frozenset(EventId(event.name) for event in w.scenario.events),
    )


def _publishers(values: tuple[Value, ...]) -> tuple[Publisher, ...]:
    return cast(tuple[Publisher, ...], values)


def _timestamp_bound(values: tuple[Value, ...]) -> Breach | None:
    return p.timestamp_bound(cast(Broker, values[0]), cast(Subscriber, values[1]))


def _arrow(framed: bool, values: tuple[Value, ...]) -> Breach | None:
    i, j = cast(ArrowBroker, values[0]), cast(ArrowBroker, values[1])
    there, back = cast(tuple[Message, ...], values[2]), cast(tuple[Message, ...], values[3])
    if framed:  # what is lost is on its way all the same: it will be sent again
        there, back = i.untaken(j), j.untaken(i)
    return arrow(i, j, there, back)


def _broker_well_formed(w: World, universe: p.Universe, values: tuple[Value, ...]) -> Breach | None:
    return p.well_formed_broker(cast(Broker, values[0]), universe, w.rules)


def _channel_well_formed(w: World, universe: p.Universe, values: tuple[Value, ...]) -> Breach | None:
    return p.well_formed_channel(cast(tuple[Message, ...], values[0]), universe, w.rules)


def _view(w: World, overlay: Value, brokers: tuple[Value, ...]) -> OverlayView:
    return OverlayView(cast(Overlay, overlay), dict(zip(w.broker, cast(tuple[Broker, ...], brokers), strict=True)))


def _ask(w: World, question: SubscriberQuestion, values: tuple[Value, ...]) -> Breach | None:
    return question(_view(w, values[1], values[2:]), cast(Subscriber, values[0]))


def _static_converged(w: World, values: tuple[Value, ...]) -> Breach | None:
    brokers = 1 + len(w.broker)
    return p.routing_converged_static(_view(w, values[0], values[1:brokers]), cast(tuple[Subscriber, ...], values[brokers:]))
