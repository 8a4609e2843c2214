"""TR19 Algorithm 3: Simple Routing with mobile brokers (lines 1–27).

C_i is the set of subscribers attached now; lines 18–21 compare (f, s), whatever the interface.
"""

from __future__ import annotations

from ..messages import BmigModular, BrokerId, Btab, Fmig, Interface, Sub, Uns
from ..rules import Reaction, Rules, broadcast
from ..state import Broker, Send
from .alg2_replay import send_queued_messages

NOT_MODELLED: dict[str, str] = {}


def migrate(i: Broker, b_o: BrokerId | None, b_n: BrokerId, rules: Rules) -> Reaction:
    """TR19 §5: "whenever a broker migrates it will send a BMIG message" with the subscribers attached to it."""
    return Reaction(i, (Send(b_n, BmigModular(i.subscribers, i.me)),))


def on_bmig(i: Broker, z: Interface, m: BmigModular, rules: Rules) -> Reaction:  # l.1
    """When receive BMIG(C_j, b_j): lines 1–12."""
    X = set()  # l.2
    sends = []
    for s in m.attached:  # l.3
        X |= {b for b in i.neighbours if b in i.next_hops(s) and b != z}  # l.4
        i = i.rerouted(s, z)  # l.5–6
    sends += [Send(y, m) for y in sorted(X)]  # l.7–8
    if z == m.migrated:  # l.9
        sends.append(Send(m.migrated, Btab(i.routing)))  # l.10
    for s in m.attached:  # l.11
        i, replayed = send_queued_messages(i, s, z, rules)  # l.12
        sends += replayed
    return Reaction(i, tuple(sends))


def on_btab(i: Broker, z: BrokerId, m: Btab, rules: Rules) -> Reaction:  # l.13
    """When receive BTAB(R_j) from b_j = z: lines 13–25."""
    sends = []
    for s in i.known():
        if s not in i.subscribers:  # l.14
            i = i.without_entries(s)  # l.15
    for f, _, s in m.table:
        if s not in i.subscribers:  # l.16
            i = i.with_entry(f, z, s)  # l.17
    here, there = {(f, s) for f, _, s in i.routing}, {(f, s) for f, _, s in m.table}
    sends += [Send(z, Sub(f, s)) for f, s in sorted(here - there)]  # l.18–19
    sends += [Send(z, Uns(f, s)) for f, s in sorted(there - here)]  # l.20–21
    sends += broadcast(i, z, Fmig())  # l.22–23
    for s in sorted({s for _, _, s in m.table}):
        if s not in i.subscribers:  # l.24
            i, replayed = send_queued_messages(i, s, z, rules)  # l.25
            sends += replayed
    return Reaction(i, tuple(sends))


def on_fmig(i: Broker, z: BrokerId, m: Fmig, rules: Rules) -> Reaction:  # l.26
    """When receive FMIG: lines 26–27."""
    return Reaction(i, (Send(z, BmigModular(i.subscribers, i.me)),))  # l.27
