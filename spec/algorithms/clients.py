"""What clients do (TR19 §3.2 and §5, semantics of the journal and the reports alike): attach, answer FILTERS, subscribe, unsubscribe.

The papers print no algorithm for them.  Each message of a subscriber takes the next t, with hop count 0, where the protocol has timestamps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from ..messages import NOBODY, BrokerId, FilterId, Filters, Mig, Sub, SubscriberId, Uns
from ..rules import Rules
from ..state import Publisher, Subscriber

ClientMessage = Sub | Uns | Mig


class Turn(NamedTuple):
    """What a subscriber does in one step: its new local state and what it sends to its broker."""

    subscriber: Subscriber
    sends: tuple[ClientMessage, ...] = ()


def attach(s: Subscriber, b: BrokerId, rules: Rules) -> Turn:
    """The link to b has come up: SUB for each filter the first time, MIG(s, b_prev) ever after."""
    previous, s = s.broker, replace(s, broker=b, attached=True)
    if previous is None:
        return subscriptions(s, s.wants, (), rules)
    s = count(s, rules)
    return Turn(s, (Mig(s.me, previous, s.sent),))


def detach(s: Subscriber) -> Subscriber:
    """The link to its broker is down."""
    return replace(s, attached=False)


def on_filters(s: Subscriber, m: Filters, rules: Rules) -> Turn:
    """FILTERS(X): SUB for each filter it wants that is not in X, UNS for each in X that it does not want."""
    wanted, known = set(s.wants), set(m.filters)
    return subscriptions(s, sorted(wanted - known), sorted(known - wanted), rules)


def subscribe(s: Subscriber, f: FilterId, rules: Rules) -> Turn:
    """It wants f from now on, and says so where it is attached."""
    s = replace(s, wants=tuple(sorted({*s.wants, f})), asked=tuple(sorted({*s.asked, f})))
    return subscriptions(s, (f,), (), rules) if s.attached else Turn(s)


def unsubscribe(s: Subscriber, f: FilterId, rules: Rules) -> Turn:
    """It wants f no more; what is owed only for f is owed no more."""
    s = replace(s, wants=tuple(g for g in s.wants if g != f))
    s = replace(s, owed=tuple(e for e in s.owed if any(rules.matches(g, e) for g in s.wants)))
    return subscriptions(s, (), (f,), rules) if s.attached else Turn(s)


def subscriptions(s: Subscriber, more: Iterable[FilterId], less: Iterable[FilterId], rules: Rules) -> Turn:
    """SUB for each of `more`, then UNS for each of `less`, each with the next t."""
    name: SubscriberId = s.me if rules.names_subscribers else NOBODY
    sends: list[ClientMessage] = []
    for f in more:
        s = count(s, rules)
        sends.append(Sub(f, name, s.sent))
    for f in less:
        s = count(s, rules)
        sends.append(Uns(f, name, s.sent))
    return Turn(s, tuple(sends))


def count(s: Subscriber, rules: Rules) -> Subscriber:
    """Its next message takes the next t."""
    return replace(s, sent=s.sent + 1) if rules.timestamps else s


def attach_publisher(p: Publisher, b: BrokerId) -> Publisher:
    """The link to b has come up; publishers say nothing (publisher mobility is inherent)."""
    return replace(p, broker=b, attached=True)


def detach_publisher(p: Publisher) -> Publisher:
    """The link to its broker is down."""
    return replace(p, attached=False)
