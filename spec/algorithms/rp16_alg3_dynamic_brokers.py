"""RP16 Algorithm 3: Simple Routing with dynamic brokers (lines 30–52).

C_i is the set of subscribers attached now; lines 45–48 compare (f, s), whatever the interface.
"""

from __future__ import annotations

from ..messages import BmigModular, BrokerId, Btab, Fmig, Interface, Sub, Uns
from ..rules import Reaction, Rules, broadcast
from ..state import Broker, Send

NOT_MODELLED: dict[str, str] = {}


def migrate(i: Broker, b_o: BrokerId | None, b_n: BrokerId, rules: Rules) -> Reaction:
    """RP16 §3.3: the migrating broker connects to b_n and sends BMIG with the subscribers attached to it."""
    return Reaction(i, (Send(b_n, BmigModular(i.subscribers, i.me)),))


def on_bmig(i: Broker, z: Interface, m: BmigModular, rules: Rules) -> Reaction:  # l.30
    """When receive BMIG(C_j, b_j): lines 30–39."""
    X = set()  # l.31
    sends = []
    for s in m.attached:  # l.32
        X |= {b for b in i.neighbours if b in i.next_hops(s) and b != z}  # l.33
        i = i.rerouted(s, z)  # l.34–35
    sends += [Send(y, m) for y in sorted(X)]  # l.36–37
    if z == m.migrated:  # l.38
        sends.append(Send(m.migrated, Btab(i.routing)))  # l.39
    return Reaction(i, tuple(sends))


def on_btab(i: Broker, z: BrokerId, m: Btab, rules: Rules) -> Reaction:  # l.40
    """When receive BTAB(R_j) from b_j = z: lines 40–50."""
    sends = []
    for s in i.known():
        if s not in i.subscribers:  # l.41
            i = i.without_entries(s)  # l.42
    for f, _, s in m.table:
        if s not in i.subscribers:  # l.43
            i = i.with_entry(f, z, s)  # l.44
    here, there = {(f, s) for f, _, s in i.routing}, {(f, s) for f, _, s in m.table}
    sends += [Send(z, Sub(f, s)) for f, s in sorted(here - there)]  # l.45–46
    sends += [Send(z, Uns(f, s)) for f, s in sorted(there - here)]  # l.47–48
    sends += broadcast(i, z, Fmig())  # l.49–50
    return Reaction(i, tuple(sends))


def on_fmig(i: Broker, z: BrokerId, m: Fmig, rules: Rules) -> Reaction:  # l.51
    """When receive FMIG: lines 51–52."""
    return Reaction(i, (Send(z, BmigModular(i.subscribers, i.me)),))  # l.52
