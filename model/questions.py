"""Binds the properties of spec/ to the slots of a world."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from roamcheck.spec import properties as p
from roamcheck.spec.arrow import arrow
from roamcheck.spec.breach import Breach
from roamcheck.spec.messages import BrokerId, EventId, FilterId
from roamcheck.spec.state import Broker, Subscriber

from .interface import Predicate, Property, Scope
from .overlay import Overlay
from .view import OverlayView
from .world import World

Values = tuple[Any, ...]
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
                yield Predicate((slot,), _one_next_hop)
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
                yield Predicate((slot,), _no_duplicate)
        case "no-phantom":
            for slot in w.subscriber.values():
                yield Predicate((slot, *publishers), partial(_no_phantom, w))
        case "publisher-order":
            for slot in w.subscriber.values():
                yield Predicate((slot, *publishers), _publisher_order)
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


# By `predicates` the slots hold what these take them to hold; they are asked so often that to cast each value would be felt.


def _one_next_hop(values: Values) -> Breach | None:
    return p.one_next_hop(values[0])


def _no_duplicate(values: Values) -> Breach | None:
    return p.no_duplicate(values[0])


def _no_phantom(w: World, values: Values) -> Breach | None:
    return p.no_phantom(values[0], values[1:], w.rules)


def _publisher_order(values: Values) -> Breach | None:
    return p.publisher_order(values[0], values[1:])


def _timestamp_bound(values: Values) -> Breach | None:
    return p.timestamp_bound(values[0], values[1])


def _arrow(framed: bool, values: Values) -> Breach | None:
    i, j, there, back = values
    if framed:  # what is lost is on its way all the same: it will be sent again
        there, back = i.untaken(j), j.untaken(i)
    return arrow(i, j, there, back)


def _broker_well_formed(w: World, universe: p.Universe, values: Values) -> Breach | None:
    return p.well_formed_broker(values[0], universe, w.rules)


def _channel_well_formed(w: World, universe: p.Universe, values: Values) -> Breach | None:
    return p.well_formed_channel(values[0], universe, w.rules)


def _view(w: World, overlay: Overlay, brokers: tuple[Broker, ...]) -> OverlayView:
    return OverlayView(overlay, dict(zip(w.broker, brokers, strict=True)))


def _ask(w: World, question: SubscriberQuestion, values: Values) -> Breach | None:
    return question(_view(w, values[1], values[2:]), values[0])


def _static_converged(w: World, values: Values) -> Breach | None:
    brokers = 1 + len(w.broker)
    return p.routing_converged_static(_view(w, values[0], values[1:brokers]), values[brokers:])
