"""What a broker does with a PUB or REP that was not delivered (TR19 §5: "if an error occurs, the broker will store the message as undelivered").

Readings return-to (for whom is a PUB that comes back?) and on-return (queued, or sent again at once?).  RP16's protocols have no queues:
what is not delivered is lost.
"""

from __future__ import annotations

from ..messages import Interface, Message, Pub, Rep, SubscriberId
from ..rules import Reaction, Rules
from ..state import Broker, Send
from .alg2_replay import on_rep


def on_return(i: Broker, y: Interface, m: Message, rules: Rules) -> Reaction:
    """m, sent to y, comes back."""
    if not rules.queues or not isinstance(m, Pub | Rep):
        return Reaction(i)
    sends: list[Send] = []
    for s in concerned(i, y, m, rules):
        if rules.readings.on_return == "reroute":
            i, again = on_rep(i, y, Rep(m.event, s), rules)
            sends += again
        else:
            i = i.enqueued(m.event, s)
    return Reaction(i, tuple(sends))


def concerned(i: Broker, y: Interface, m: Pub | Rep, rules: Rules) -> tuple[SubscriberId, ...]:
    """For whom the message was, each once, in order."""
    if isinstance(m, Rep):
        return (m.subscriber,)
    if rules.readings.return_to == "original":
        return m.sent_for
    return tuple(sorted({s for f, hop, s in i.routing if hop == y and rules.matches(f, m.event)}))
