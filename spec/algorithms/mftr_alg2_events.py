"""MFTR Algorithm 2: events and whom they are for (lines 21–32).  PUB is matched once, at the publisher's broker, and split at branches.

    21  route(e, S):                                   -- one PUB per next hop
    22    foreach s in S:
    23      if P(s) = lost: add e to Q(s)
    24      else add s to X(P(s))
    25    foreach y:
    26      send PUB(e, X(y)) to y
    27  when receive PUB(e) from publisher:
    28    route(e, {s | ∃ f ∈ F(s): f(e)})
    29  when receive PUB(e, S) from z:
    30    route(e, S)
    31  when PUB(e, S) comes back:
    32    route(e, S)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from .. import custody
from ..arrow_state import ArrowBroker
from ..messages import LOST, EventId, Interface, Message, Pub, PubFor, SubscriberId
from ..rules import Reaction, Rules
from ..state import Send
from .mftr_alg1_turns import pub

NOT_MODELLED: dict[str, str] = {}


def route(i: ArrowBroker, e: EventId, S: Iterable[SubscriberId], z: Interface, rules: Rules) -> Reaction:  # l.21
    """Function route(e, S): lines 21–26.  A next hop that is no longer up is as good as lost (reading fallen-is-lost)."""
    X: dict[Interface, list[SubscriberId]] = {}
    for s in S:  # l.22
        y = i.direction(s)
        if y is None or not i.is_up(y):  # l.23
            i = kept(i, e, s, z, LOST, rules)
        else:
            X.setdefault(y, []).append(s)  # l.24
            i = kept(i, e, s, z, y, rules)
    sends = [Send(y, pub(e, y, X[y])) for y in sorted(X)]  # l.25–26
    return Reaction(i, tuple(sends))


def kept(i: ArrowBroker, e: EventId, s: SubscriberId, z: Interface, y: Interface, rules: Rules) -> ArrowBroker:
    """Line 23, where y is lost; and what reading custody keeps of all that is sent or queued."""
    if y == LOST and not (custody.on(rules) and e in i.queue(s)):
        i = i.enqueued(e, s)
    return custody.hold(i, e, s, z, y) if custody.on(rules) else i


def on_pub_of_publisher(i: ArrowBroker, z: Interface, m: Pub, rules: Rules) -> Reaction:  # l.27
    """When receive PUB(e) from a publisher: lines 27–28."""
    return route(i, m.event, matched(i, m.event, rules), z, rules)  # l.28


def matched(i: ArrowBroker, e: EventId, rules: Rules) -> list[SubscriberId]:
    """{s : ∃ f ∈ F(s): f(e)}, in order."""
    return [s for s in i.known() if any(rules.matches(f, e) for f in i.filters(s))]


def on_pub(i: ArrowBroker, z: Interface, m: PubFor, rules: Rules) -> Reaction:  # l.29
    """When receive PUB(e, S) from z: lines 29–30.  Reading pub-targets: as printed, matched again, and not sent back."""
    if rules.readings.pub_targets == "taken-out":
        return route(i, m.event, [s for s in matched(i, m.event, rules) if i.direction(s) != z], z, rules)
    return route(i, m.event, m.targets, z, rules)  # l.30


def on_return(i: ArrowBroker, y: Interface, m: Message, rules: Rules) -> Reaction:  # l.31
    """When PUB(e, S) comes back: lines 31–32.  Reading return-routed: routed at once, or queued until s is heard of again."""
    if not isinstance(m, Pub | PubFor):
        return Reaction(i)
    S = m.targets if isinstance(m, PubFor) else (cast(SubscriberId, y),)
    if custody.on(rules):
        return sent_again(i, m.event, S, y)
    if rules.readings.return_routed == "taken-out":
        for s in S:
            i = i.enqueued(m.event, s)
        return Reaction(i)
    return route(i, m.event, S, y, rules)  # l.32


def sent_again(i: ArrowBroker, e: EventId, S: Iterable[SubscriberId], y: Interface) -> Reaction:
    """Lines 31–32 under custody: each is still kept as gone to y; who it came from stays."""
    sends = []
    for s in S:
        if not custody.is_with(i, e, s, y):
            continue  # it was done before the broker learnt that the link had fallen
        z = i.direction(s)
        if z is None or not i.is_up(z):
            i = custody.passed_on(i if e in i.queue(s) else i.enqueued(e, s), e, s, y, LOST)
        else:
            sends.append(Send(z, pub(e, z, (s,))))
            i = custody.passed_on(i, e, s, y, z)
    return Reaction(i, tuple(sends))
