"""TR19 Algorithm 7: messages to fix inconsistent routing tables (lines 48–63); WN23 Algorithm 5 (lines 116–138)."""

from __future__ import annotations

from ..messages import Bquery, BrokerId, Bsub, Interface, SubscriberId, Timestamp, fresher
from ..rules import Reaction, Rules, broadcast
from ..state import Broker, Send
from .alg2_replay import send_queued_messages

NOT_MODELLED: dict[str, str] = {
    "WN23 119": "end of block",
    "WN23 122": "end of block",
    "WN23 126": "end of block",
    "WN23 128": "end of block",
    "WN23 131": "end of block",
    "WN23 136": "end of block",
    "WN23 138": "end of block",
}


def on_bsub(i: Broker, z: BrokerId, m: Bsub, rules: Rules) -> Reaction:
    """When receive BSUB(s, S_j, T_j(s), h): lines 48–56; line 48 means T_j(s) > T_i(s).  Reading stale-mig."""
    s, S_j, T_j, h = m.subscriber, m.filters, m.stamp, m.h
    if not fresher(T_j, i.stamp(s)):  # l.48 | WN23 l.116
        return answer_stale(i, z, s, T_j.t, rules)
    i = i.without_entries(s)  # l.49–50 | WN23 l.117–118
    for f in S_j:  # l.51 | WN23 l.120
        i = i.with_entry(f, z, s)  # l.52 | WN23 l.121
    i = i.heard(s, T_j.t, T_j.h + h + 1)  # l.53 | WN23 l.123
    forwarded = broadcast(i, z, Bsub(s, S_j, T_j, h + 1))  # l.54–55 | WN23 l.124–125
    i, replayed = send_queued_messages(i, s, z, rules)  # l.56 | WN23 l.127
    return Reaction(i, (*forwarded, *replayed))


def on_bquery(i: Broker, z: BrokerId, m: Bquery, rules: Rules) -> Reaction:
    """When receive BQUERY(s, t, h): lines 57–58."""
    if not fresher(i.stamp(m.subscriber), Timestamp(m.t, m.h)):  # l.57 | WN23 l.129
        return Reaction(i)
    return Reaction(i, tuple(send_subscriptions(i, m.subscriber, z, rules)))  # l.58 | WN23 l.130


def send_subscriptions(i: Broker, s: SubscriberId, z: BrokerId, rules: Rules) -> list[Send]:  # l.59 | WN23 l.132
    """Function sendSubscriptions(s, z): lines 59–63.  Reading split-horizon: nothing is said to the next hop of s itself."""
    if rules.readings.split_horizon == "on" and z in i.next_hops(s):
        return []
    S_i = i.filters(s)  # l.60–62 | WN23 l.133–135
    return [Send(z, Bsub(s, S_i, i.stamp(s), 0))]  # l.63 | WN23 l.137


def answer_stale(i: Broker, z: Interface, s: SubscriberId, t: int, rules: Rules) -> Reaction:
    """Reading stale-mig: a neighbour whose MIG or BSUB carries an older t is told better, or not."""
    if rules.readings.stale_mig == "answer" and t < i.stamp(s).t:
        for b in i.neighbours:
            if b == z:
                return Reaction(i, tuple(send_subscriptions(i, s, b, rules)))
    return Reaction(i)
