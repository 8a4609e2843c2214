"""TR19 Algorithm 2: Simple Routing with mobile clients, message replay (lines 35–48); WN23 Algorithm 2 (lines 39–56).

The two differ in one place, reading flush: TR19 line 40 returns when the interface is down, WN23 goes round for ever.
"""

from __future__ import annotations

from ..messages import Interface, Rep, SubscriberId
from ..rules import EndlessStep, Reaction, Rules
from ..state import Broker, Send

NOT_MODELLED: dict[str, str] = {
    "WN23 46–48": "ends of blocks",
    "WN23 55–56": "ends of blocks",
}


def send_queued_messages(i: Broker, s: SubscriberId, y: Interface, rules: Rules) -> Reaction:  # l.35 | WN23 l.39
    """Function sendQueuedMessages(s, y): replay Q_i(s) to y.  Raises EndlessStep under reading flush = spin."""
    sends = []
    while i.queue(s):  # l.36 | WN23 l.40
        e, *rest = i.queue(s)  # l.37 | WN23 l.41
        if not i.is_up(y):  # l.38 | WN23 l.42
            if rules.readings.flush == "spin":
                raise EndlessStep(f"{i.me}: sendQueuedMessages({s}, {y}) goes round for ever, {y} is down")
            return Reaction(i)  # l.39–40 | WN23 l.43
        i = i.with_queue(s, rest)
        sends.append(Send(y, Rep(e, s)))  # l.41–42 | WN23 l.44–45
    return Reaction(i, tuple(sends))


def on_rep(i: Broker, z: Interface, m: Rep, rules: Rules) -> Reaction:  # l.43 | WN23 l.49
    """When receive REP(e, s).  Reading rep-route: y is the next hop of R_i, which may be absent, down, or the sender."""
    y = next(iter(i.next_hops(m.subscriber)), None)  # l.44 | WN23 l.50
    if y is None or not i.is_up(y):  # l.45 | WN23 l.51
        return Reaction(i.enqueued(m.event, m.subscriber))  # l.46 | WN23 l.52
    return Reaction(i, (Send(y, m),))  # l.47–48 | WN23 l.53–54
