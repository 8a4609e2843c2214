"""TR19 Algorithm 6: mobile brokers with timestamps (lines 13–47); WN23 Algorithm 4 (lines 73–115)."""

from __future__ import annotations

from ..messages import Bmig, Bquery, BrokerId, Stamped, SubscriberId
from ..rules import Reaction, Rules
from ..state import Broker, Send
from .alg2_replay import send_queued_messages
from .alg7_consistency import send_subscriptions

NOT_MODELLED: dict[str, str] = {
    "17": "comment",
    "21": "comment",
    "25": "comment",
    "29": "comment",
    "WN23 87–89": "ends of blocks",
    "WN23 95–96": "ends of blocks",
    "WN23 100–101": "ends of blocks",
    "WN23 107–108": "ends of blocks",
    "WN23 111": "end of block",
    "WN23 114–115": "ends of blocks",
}


def on_bmig(i: Broker, b_j: BrokerId, m: Bmig, rules: Rules) -> Reaction:  # l.13 | WN23 l.73
    """When receive BMIG(C_j, O_j, h) from b_j: lines 13–47.  Readings newer-child (lines 16–19), hop-test (lines 24, 28)."""
    C_j, O_j, h = m.children, m.others, m.h
    C_i: list[Stamped] = []  # l.14 | WN23 l.74
    sends: list[Send] = []
    for s, t, h_j in C_j:  # l.15 | WN23 l.75
        if t > i.stamp(s).t:  # l.16 | WN23 l.76
            sends.append(Send(b_j, Bquery(s, *i.stamp(s))))  # l.18 | WN23 l.77
            if rules.readings.newer_child == "reroute-now":
                C_i.append(Stamped(s, i.stamp(s).t, h_j))  # l.19 | WN23 l.78
        elif t < i.stamp(s).t:  # l.20 | WN23 l.79
            sends += send_subscriptions(i, s, b_j, rules)  # l.22 | WN23 l.80
        elif is_closer(i, s, h, h_j, rules):  # l.23–24 | WN23 l.81–82
            C_i.append(Stamped(s, i.stamp(s).t, h_j))  # l.26 | WN23 l.83
            i = i.heard(s, t, h + h_j + 1)  # l.27 | WN23 l.84
        else:  # l.28 | WN23 l.85
            sends += send_subscriptions(i, s, b_j, rules)  # l.30 | WN23 l.86
    for s, t, _ in O_j:  # l.31 | WN23 l.90
        if t > i.stamp(s).t:  # l.32 | WN23 l.91
            sends.append(Send(b_j, Bquery(s, *i.stamp(s))))  # l.33 | WN23 l.92
        elif t < i.stamp(s).t:  # l.34 | WN23 l.93
            sends += send_subscriptions(i, s, b_j, rules)  # l.35 | WN23 l.94
    if h == 0:  # l.36 | WN23 l.97
        named = {s for s, _, _ in C_j} | {s for s, _, _ in O_j}
        for s in i.known():
            if s not in named:  # l.37 | WN23 l.98
                sends += send_subscriptions(i, s, b_j, rules)  # l.38 | WN23 l.99
    X = set()  # l.39 | WN23 l.102
    for s, _, _ in C_i:  # l.40 | WN23 l.103
        X |= {b for b in i.neighbours if b in i.next_hops(s) and b != b_j}  # l.41 | WN23 l.104
        i = i.rerouted(s, b_j)  # l.42–43 | WN23 l.105–106
    sends += [Send(y, Bmig(tuple(C_i), (), h + 1)) for y in sorted(X)]  # l.44–45 | WN23 l.109–110
    for s, _, _ in C_i:  # l.46 | WN23 l.112
        i, replayed = send_queued_messages(i, s, b_j, rules)  # l.47 | WN23 l.113
        sends += replayed
    return Reaction(i, tuple(sends))


def is_closer(i: Broker, s: SubscriberId, h: int, h_j: int, rules: Rules) -> bool:
    """Lines 24 and 28, with equal t: does i believe that j is closer to s?  Reading hop-test."""
    match rules.readings.hop_test:
        case "path":
            return h + h_j + 1 <= i.stamp(s).h
        case "home":
            return s not in i.next_hops(s)
        case _:
            return h <= i.stamp(s).h
