"""Custody, a layer of mft-pubsub-r for brokers that crash and forget (reading custody).

A broker keeps (e, s, from, to) of what it sends or queues until it hears that s has it: s says GOT(e) to its broker, and DONE(e, s) goes back hop by
hop.  When the link to `to` falls, the event comes back and is routed again; a subscriber throws away what it has.  What the publisher's broker alone
holds is gone with it.
"""

from __future__ import annotations

from dataclasses import replace

from .arrow_state import ArrowBroker, Kept
from .messages import Done, EventId, Interface, Message, PubFor, SubscriberId
from .rules import Reaction, Rules
from .state import Send


def on(rules: Rules) -> bool:
    """The layer is there."""
    return rules.readings.custody == "on"


def hold(i: ArrowBroker, e: EventId, s: SubscriberId, z: Interface, y: Interface) -> ArrowBroker:
    """e for s, which came from z, goes to y, or waits where y is LOST."""
    return replace(i, custody=tuple(sorted({*i.custody, Kept(e, s, z, y)})))


def passed_on(i: ArrowBroker, e: EventId, s: SubscriberId, x: Interface, y: Interface) -> ArrowBroker:
    """e for s, which had gone to x or waited there, goes to y."""
    moved = {replaced(kept, y) if (kept.event, kept.subscriber, kept.to) == (e, s, x) else kept for kept in i.custody}
    return replace(i, custody=tuple(sorted(moved)))


def replaced(kept: Kept, y: Interface) -> Kept:
    """The same, gone to y."""
    return kept._replace(to=y)


def is_with(i: ArrowBroker, e: EventId, s: SubscriberId, y: Interface) -> bool:
    """e for s has gone to y and is not done."""
    return any((kept.event, kept.subscriber, kept.to) == (e, s, y) for kept in i.custody)


def settle(i: ArrowBroker, e: EventId, s: SubscriberId) -> Reaction:
    """s has e: whoever e came from is told, and it is kept no longer, queued or not."""
    mine = [kept for kept in i.custody if (kept.event, kept.subscriber) == (e, s)]
    i = replace(i, custody=tuple(kept for kept in i.custody if kept not in mine))
    i = i.with_queue(s, (other for other in i.queue(s) if other != e))
    back = sorted({kept.sender for kept in mine} & set(i.neighbours))
    return Reaction(i, tuple(Send(z, Done(e, s)) for z in back))


def on_got(i: ArrowBroker, s: SubscriberId, m: Message, rules: Rules) -> Reaction:
    """When receive GOT(e) from s."""
    return settle(i, m.event, s)  # type: ignore[union-attr]


def on_done(i: ArrowBroker, z: Interface, m: Done, rules: Rules) -> Reaction:
    """When receive DONE(e, s) from z."""
    return settle(i, m.event, m.subscriber)


def comes_back(i: ArrowBroker, y: Interface) -> tuple[PubFor, ...]:
    """What i has sent to y and is not done, now that the link has fallen."""
    return tuple(PubFor(e, (s,)) for e, s in dict.fromkeys((kept.event, kept.subscriber) for kept in i.custody if kept.to == y))
