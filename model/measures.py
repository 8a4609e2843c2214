"""Binds the measures of spec/ to the slots of a world, for a search that is guided."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from roamcheck.spec import measures as m
from roamcheck.spec.messages import BrokerId
from roamcheck.spec.properties import View
from roamcheck.spec.state import Broker, Subscriber

from .interface import Measure, Value
from .overlay import Overlay
from .view import OverlayView
from .world import World


def measures(w: World) -> tuple[Measure, ...]:
    """Those that apply to the protocol, summed over the subscribers."""
    brokers = tuple(w.broker.values())
    places = (w.overlay, *brokers, *w.subscriber.values())
    found = []
    if w.rules.names_subscribers:
        found += [Measure("staleness", places, _summed(w, m.staleness)), Measure("disagreement", places, _summed(w, m.disagreement))]
    if w.protocol.hops and w.rules.timestamps:
        found.append(Measure("hop-count-error", places, _summed(w, m.hop_count_error)))
    if w.rules.queues:
        found.append(Measure("queued", brokers, lambda values: m.queued(cast(tuple[Broker, ...], values))))
    return tuple(found)


def _summed(w: World, measure: Callable[[View, Subscriber], int]) -> Callable[[tuple[Value, ...]], float]:
    names: tuple[BrokerId, ...] = tuple(w.broker)

    def value(values: tuple[Value, ...]) -> float:
        brokers = cast(tuple[Broker, ...], values[1 : 1 + len(names)])
        view = OverlayView(cast(Overlay, values[0]), dict(zip(names, brokers, strict=True)))
        return sum(measure(view, cast(Subscriber, s)) for s in values[1 + len(names) :])

    return value
