"""Initial states: every subscription flooded ("settled"), or subscribing as part of the run ("none")."""

from __future__ import annotations

from dataclasses import replace

from roamcheck.spec.frames import LayeredPublisher, LayeredSubscriber
from roamcheck.spec.messages import NOBODY, BrokerId, FilterId, PublisherId, SubscriberId
from roamcheck.spec.state import Broker, Publisher, Subscriber

from .interface import State, Value
from .overlay import Link, Overlay, link
from .scenario import Scenario
from .world import Budget, Words, World, converse, transmit

FREE = ("publish", "client-moves", "link-failures", "broker-moves", "merges", "crashes", "volatile-crashes", "losses", "repeats")


def initial_state(w: World) -> State:
    """The one state in which every run starts."""
    scenario = w.scenario
    overlay = initial_overlay(scenario)
    brokers = {b: initial_broker(w, overlay, b) for b in w.broker}
    values: dict[int, Value] = {w.overlay: overlay, w.budget: Budget((), free_budget(scenario))}
    values.update(dict.fromkeys((*w.channel.values(), *w.returned.values()), ()))
    values.update(dict.fromkeys(w.unnoticed.values(), False))
    for p in scenario.publishers:
        at = BrokerId(p.at) if p.at else None
        kind = LayeredPublisher if w.layered else Publisher
        values[w.publisher[PublisherId(p.name)]] = kind(PublisherId(p.name), at, at is not None, ())
    words = Words()
    for declared in scenario.subscribers:
        client = LayeredSubscriber if w.layered else Subscriber
        s: Subscriber = client(SubscriberId(declared.name), None, False, wanted(declared.filters), 0, wanted(declared.filters), (), ())
        if declared.at and scenario.settled:
            k = len(s.wants) if w.rules.timestamps else 0
            s = replace(s, broker=BrokerId(declared.at), attached=True, sent=k)
            brokers = {b: settled(w, overlay, i, s) for b, i in brokers.items()}
        elif declared.at:
            b = BrokerId(declared.at)
            s, sends = w.acts.clients.attach(s, b, w.rules)
            if w.instant:
                brokers[b], s = converse(w, brokers[b], s, sends, words)
            else:
                s = transmit(w, s, b, sends, words)
        values[w.subscriber[s.me]] = s
    values.update({w.broker[b]: i for b, i in brokers.items()})
    values.update(dict(words.collected()))
    return tuple(values[slot] for slot in range(len(w.names)))


def wanted(filters: tuple[str, ...]) -> tuple[FilterId, ...]:
    """A subscriber's filters, in order."""
    return tuple(sorted(FilterId(f) for f in set(filters)))


def free_budget(scenario: Scenario) -> tuple[tuple[str, int], ...]:
    """The free budgets that the scenario grants; publications no more than there are events for them."""
    reserved = {move.event for move in scenario.moves}
    events = sum(event.name not in reserved for event in scenario.events)
    granted = {name: getattr(scenario.free, name.replace("-", "_")) for name in FREE}
    granted["publish"] = min(granted["publish"], events)
    return tuple((name, n) for name, n in granted.items() if n)


def initial_overlay(scenario: Scenario) -> Overlay:
    """The links as given; each broker's parent is its next hop to the leader of its component."""
    links: tuple[Link, ...] = tuple(sorted(link(BrokerId(u), BrokerId(v)) for u, v in scenario.links))
    bare = Overlay(links, ())
    parents: dict[BrokerId, BrokerId | None] = {}
    for leader in (BrokerId(name) for name in scenario.leaders):
        for b in bare.component(leader):
            parents[b] = None if b == leader else bare.towards(b, leader)
    return Overlay(links, tuple((BrokerId(b), parents[BrokerId(b)]) for b in scenario.brokers))


def initial_broker(w: World, overlay: Overlay, b: BrokerId) -> Broker:
    """Links and clients as given, and nothing known."""
    subscribers = tuple(sorted(SubscriberId(s.name) for s in w.scenario.subscribers if s.at == b))
    publishers = tuple(sorted(PublisherId(p.name) for p in w.scenario.publishers if p.at == b))
    return w.protocol.broker.fresh(b, overlay.neighbours(b), subscribers, publishers, overlay.parent(b))


def settled(w: World, overlay: Overlay, i: Broker, s: Subscriber) -> Broker:
    """i as it is once all SUBs of s have been flooded: its filters, T_i(s) = (k, distance + 1)."""
    home = s.broker
    if home is None or i.me not in overlay.component(home):
        return i
    hop = s.me if i.me == home else overlay.towards(i.me, home)
    for f in s.wants:
        i = i.with_entry(f, hop, s.me if w.rules.names_subscribers else NOBODY)
    if w.rules.timestamps and s.wants:
        i = i.heard(s.me, len(s.wants), overlay.distance(i.me, home) + 1)
    return i
