"""RP16 Algorithm 1: Simple Routing (lines 1–15).  Nobody moves; entries are (f, z) and name no subscriber."""

from __future__ import annotations

from ..messages import NOBODY, Entry, Interface, Pub, Sub, Uns
from ..rules import Reaction, Rules, broadcast
from ..state import Broker, Send

NOT_MODELLED: dict[str, str] = {}


def on_sub(i: Broker, z: Interface, m: Sub, rules: Rules) -> Reaction:  # l.1
    """When receive SUB(f): lines 1–4."""
    i = i.with_entry(m.filter, z, NOBODY)  # l.2
    return Reaction(i, tuple(broadcast(i, z, m)))  # l.3–4


def on_uns(i: Broker, z: Interface, m: Uns, rules: Rules) -> Reaction:  # l.5
    """When receive UNS(f): lines 5–8."""
    i = i.without(Entry(m.filter, z, NOBODY))  # l.6
    return Reaction(i, tuple(broadcast(i, z, m)))  # l.7–8


def on_pub(i: Broker, z: Interface, m: Pub, rules: Rules) -> Reaction:  # l.9
    """When receive PUB(e): lines 9–15."""
    X = set()  # l.10
    for f, y, _ in i.routing:
        if y != z:  # l.11
            if rules.matches(f, m.event):  # l.12
                X.add(y)  # l.13
    return Reaction(i, tuple(Send(y, m) for y in sorted(X)))  # l.14–15
