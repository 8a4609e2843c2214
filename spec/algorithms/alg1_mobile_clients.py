"""TR19 Algorithm 1: Simple Routing with mobile clients (lines 1–34)."""

from __future__ import annotations

from ..messages import Filters, Interface, Mig, Pub, Sub, Uns
from ..rules import Reaction, Rules, broadcast, neighbour_towards
from ..state import Broker, Send
from .alg2_replay import send_queued_messages

NOT_MODELLED: dict[str, str] = {}


def on_sub(i: Broker, z: Interface, m: Sub, rules: Rules) -> Reaction:  # l.1
    """When receive SUB(f, s): lines 1–5."""
    if not i.has_entry(m.filter, m.subscriber):  # l.2
        i = i.with_entry(m.filter, z, m.subscriber)  # l.3
    return Reaction(i, tuple(broadcast(i, z, m)))  # l.4–5


def on_uns(i: Broker, z: Interface, m: Uns, rules: Rules) -> Reaction:  # l.6
    """When receive UNS(f, s): lines 6–10."""
    if i.has_entry(m.filter, m.subscriber):  # l.7
        i = i.without_entry(m.filter, m.subscriber)  # l.8
    return Reaction(i, tuple(broadcast(i, z, m)))  # l.9–10


def on_pub(i: Broker, z: Interface, m: Pub, rules: Rules) -> Reaction:  # l.11
    """When receive PUB(e): lines 11–21.  Reading queue: lines 18–19 once per entry, or once per subscriber."""
    e, sends = m.event, []
    X = set()  # l.12
    for f, y, _ in i.routing:
        if y != z:  # l.13
            if rules.matches(f, e):  # l.14
                X.add(y)  # l.15
    for y in sorted(X):  # l.16
        via_y = [s for f, hop, s in i.routing if hop == y and rules.matches(f, e)]  # l.18
        if not i.is_up(y):  # l.17
            for s in via_y if rules.readings.queue == "per-entry" else dict.fromkeys(via_y):
                i = i.enqueued(e, s)  # l.19
        else:
            sends.append(Send(y, rules.pub(e, via_y)))  # l.20–21
    return Reaction(i, tuple(sends))


def on_mig(i: Broker, z: Interface, m: Mig, rules: Rules) -> Reaction:  # l.22
    """When receive MIG(s, b): lines 22–34.  Readings mig-stop (line 28) and mig-next-hop (line 30)."""
    s, sends = m.subscriber, []
    by_table = rules.readings.mig_stop == "routing-table"
    if z == s:  # l.23
        X = i.filters(s)  # l.24–26
        sends.append(Send(s, Filters(X)))  # l.27
    if by_table or m.previous != i.me:  # l.28
        b_j = neighbour_towards(i, s, besides=z if by_table else None)  # l.30
        if b_j is not None:  # l.29
            sends.append(Send(b_j, m))  # l.31
    i = i.rerouted(s, z)  # l.32–33
    i, replayed = send_queued_messages(i, s, z, rules)  # l.34
    return Reaction(i, (*sends, *replayed))
