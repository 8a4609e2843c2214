"""RP16 Algorithm 2: Simple Routing with dynamic clients (lines 1–29).  There are no queues: what cannot be sent is lost."""

from __future__ import annotations

from ..messages import Filters, Interface, Mig, Pub, Sub, Uns
from ..rules import Reaction, Rules, broadcast, neighbour_towards
from ..state import Broker, Send

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
    """When receive PUB(e): lines 11–17."""
    X = set()  # l.12
    for f, y, _ in i.routing:
        if y != z:  # l.13
            if rules.matches(f, m.event):  # l.14
                X.add(y)  # l.15
    return Reaction(i, tuple(Send(y, m) for y in sorted(X)))  # l.16–17


def on_mig(i: Broker, z: Interface, m: Mig, rules: Rules) -> Reaction:  # l.18
    """When receive MIG(s, b): lines 18–29.  Readings mig-stop (line 24) and mig-next-hop (line 26)."""
    s, sends = m.subscriber, []
    by_table = rules.readings.mig_stop == "routing-table"
    if z == s:  # l.19
        X = i.filters(s)  # l.20–22
        sends.append(Send(s, Filters(X)))  # l.23
    if by_table or m.previous != i.me:  # l.24
        b_j = neighbour_towards(i, s, besides=z if by_table else None)  # l.26
        if b_j is not None:  # l.25
            sends.append(Send(b_j, m))  # l.27
    return Reaction(i.rerouted(s, z), tuple(sends))  # l.28–29
