"""TR19 Algorithm 4: mobile clients with timestamps (lines 1–26); WN23 Algorithm 1 (lines 1–38)."""

from __future__ import annotations

from ..messages import Filters, Interface, Mig, Sub, SubscriberId, Timestamp, Uns, fresher
from ..rules import Reaction, Rules, broadcast, neighbour_towards
from ..state import Broker, Send
from .alg2_replay import send_queued_messages
from .alg7_consistency import answer_stale

NOT_MODELLED: dict[str, str] = {
    "WN23 5": "end of block",
    "WN23 8–9": "ends of blocks",
    "WN23 14": "end of block",
    "WN23 17–18": "ends of blocks",
    "WN23 25": "end of block",
    "WN23 27": "end of block",
    "WN23 32–33": "ends of blocks",
    "WN23 36": "end of block",
    "WN23 38": "end of block",
}


def is_news(i: Broker, s: SubscriberId, t: int, h: int, rules: Rules) -> bool:
    """(t, h) > T_i(s), the guard of all three handlers.  Reading guard-hop: h as sent, or as it would be stored."""
    return fresher(Timestamp(t, h + 1 if rules.readings.guard_hop == "path" else h), i.stamp(s))


def on_sub(i: Broker, z: Interface, m: Sub, rules: Rules) -> Reaction:
    """When receive SUB(f, s, t, h): lines 1–6."""
    f, s, t, h = m.filter, m.subscriber, m.t, m.h
    if not is_news(i, s, t, h, rules):  # l.1 | WN23 l.1
        return Reaction(i)
    i = i.heard(s, t, h + 1)  # l.2 | WN23 l.2
    if not i.has_entry(f, s):  # l.3 | WN23 l.3
        i = i.with_entry(f, z, s)  # l.4 | WN23 l.4
    return Reaction(i, tuple(broadcast(i, z, Sub(f, s, t, h + 1))))  # l.5–6 | WN23 l.6–7


def on_uns(i: Broker, z: Interface, m: Uns, rules: Rules) -> Reaction:
    """When receive UNS(f, s, t, h): lines 7–12."""
    f, s, t, h = m.filter, m.subscriber, m.t, m.h
    if not is_news(i, s, t, h, rules):  # l.7 | WN23 l.10
        return Reaction(i)
    i = i.heard(s, t, h + 1)  # l.8 | WN23 l.11
    if i.has_entry(f, s):  # l.9 | WN23 l.12
        i = i.without_entry(f, s)  # l.10 | WN23 l.13
    return Reaction(i, tuple(broadcast(i, z, Uns(f, s, t, h + 1))))  # l.11–12 | WN23 l.15–16


def on_mig(i: Broker, z: Interface, m: Mig, rules: Rules) -> Reaction:
    """When receive MIG(s, b, t, h): lines 13–26.  Readings stale-mig (line 13), mig-stop (line 20), mig-next-hop (line 22).

    WN23 line 19 prints MIG(f, s, …) where the body needs b: reading mig-argument.
    """
    s, b, t, h = m.subscriber, m.previous, m.t, m.h
    by_table = rules.readings.mig_stop == "routing-table"
    sends = []
    if not is_news(i, s, t, h, rules):  # l.13 | WN23 l.19
        return answer_stale(i, z, s, t, rules)
    i = i.heard(s, t, h + 1)  # l.14 | WN23 l.20
    if z == s:  # l.15 | WN23 l.21
        X = i.filters(s)  # l.16–18 | WN23 l.22–24
        sends.append(Send(s, Filters(X)))  # l.19 | WN23 l.26
    if by_table or b != i.me:  # l.20 | WN23 l.28
        b_j = neighbour_towards(i, s, besides=z if by_table else None)  # l.22 | WN23 l.30
        if b_j is not None:  # l.21 | WN23 l.29
            sends.append(Send(b_j, Mig(s, b, t, h + 1)))  # l.23 | WN23 l.31
    i = i.rerouted(s, z)  # l.24–25 | WN23 l.34–35
    i, replayed = send_queued_messages(i, s, z, rules)  # l.26 | WN23 l.37
    return Reaction(i, (*sends, *replayed))
