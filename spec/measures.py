"""Measures: how far brokers are from agreement with the overlay and with each other, as numbers that a guided search may follow.

They are no properties: between a move and the last message that it causes, all of them are above zero in good runs too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from .messages import BrokerId
from .properties import View
from .state import Broker, Subscriber


def staleness(view: View, s: Subscriber) -> int:
    """Brokers of the component of s that have next hops for it of which one does not lie towards it."""
    if not s.attached:
        return 0
    home = cast(BrokerId, s.broker)
    return sum(any(y != (s.me if b == home else view.towards(b, home)) for y in view.brokers[b].next_hops(s.me)) for b in view.component(home))


def disagreement(view: View, s: Subscriber) -> int:
    """Links of the component of s whose ends know different filters of it, or take each other for the next hop to it."""
    if not s.attached:
        return 0
    component = view.component(cast(BrokerId, s.broker))
    links = ((view.brokers[b], view.brokers[n]) for b in component for n in view.brokers[b].neighbours if b < n and n in view.brokers)
    return sum(i.filters(s.me) != j.filters(s.me) or (j.me in i.next_hops(s.me) and i.me in j.next_hops(s.me)) for i, j in links)


def hop_count_error(view: View, s: Subscriber) -> int:
    """How far T_i(s).h is from the distance + 1, over the brokers of the component of s; at most the size of the component for each."""
    if not s.attached or not s.wants:
        return 0
    home = cast(BrokerId, s.broker)
    component = view.component(home)
    return sum(min(len(component), abs(view.brokers[b].stamp(s.me).h - view.distance(b, home) - 1)) for b in component)


def queued(brokers: Iterable[Broker]) -> int:
    """Events that brokers keep for someone, each as often as it is kept."""
    return sum(len(events) for i in brokers for _, events in i.queues)
