"""MFTR Algorithm 1: next hops and their reversal (lines 1–20).  One end of each link points over it, or a TURN is on its way.

     1  turn(s, z):                                    -- s is reached through z from now on
     2    if P(s) = z: flush(s); return
     3    if P(s) = s and s ∈ C_i:                     -- home: s is here
     4        send TURN({s}) to z; return
     5    y := P(s); P(s) := z
     6    if y ∈ N: send TURN({s}) to y                -- those for one y go in one message
     7    flush(s)
     8  flush(s):
     9    if P(s) is up:
    10        foreach e in Q(s): send PUB(e, {s}) to P(s)
    11        Q(s) := ()
    12  claim(s, z):
    13    if T(s) > 0 and I am the joiner on the link to z: return       -- claims cross: the host takes mine
    14    turn(s, z)
    15  when receive TURN(S) from z:
    16    foreach s ∈ S that i has heard of:
    17        turn(s, z)
    18  when the link to z falls:                      -- z broker or client
    19    foreach s with P(s) = z:
    20        P(s) := lost

N is the set of greeted neighbours, P(s) is `i.direction(s)`, T(s) is `i.number(s)`.  To a client PUB carries the event alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from .. import custody
from ..arrow_state import HOST, JOINER, ArrowBroker
from ..messages import LOST, BrokerId, Interface, Message, Pub, PubFor, SubscriberId, Turn
from ..rules import Reaction, Rules
from ..state import Broker, Send

NOT_MODELLED: dict[str, str] = {}

Turned = tuple[ArrowBroker, tuple[Send, ...]]


def turn(i: ArrowBroker, s: SubscriberId, z: Interface, rules: Rules) -> Turned:  # l.1
    """Function turn(s, z): lines 1–7."""
    y = i.direction(s)
    if y == z:  # l.2
        return flush_at_turn(i, s, z, rules)
    if refuses(i, s, rules):  # l.3
        return i, answer(s, z, rules)  # l.4
    i = i.directed(s, z)  # l.5
    turns = tuple(Send(b, Turn((s,))) for b in greeted(i) if b == y)  # l.6
    i, replayed = flush_at_turn(i, s, z, rules)  # l.7
    return i, (*turns, *replayed)


def refuses(i: ArrowBroker, s: SubscriberId, rules: Rules) -> bool:
    """Line 3.  Reading home-refuses."""
    return i.is_home(s) and rules.readings.home_refuses == "in"


def answer(s: SubscriberId, z: Interface, rules: Rules) -> tuple[Send, ...]:
    """Line 4.  Reading home-answers."""
    return (Send(z, Turn((s,))),) if rules.readings.home_answers == "in" else ()


def flush_at_turn(i: ArrowBroker, s: SubscriberId, z: Interface, rules: Rules) -> Turned:
    """Lines 2 and 7.  Reading flush-at-turn: at every turn, or only when s itself has come."""
    return flush(i, s) if rules.readings.flush_at_turn == "in" or z == s else (i, ())


def flush(i: ArrowBroker, s: SubscriberId) -> Turned:  # l.8
    """Function flush(s): lines 8–11."""
    y = i.direction(s)
    if y is None or not i.is_up(y):  # l.9
        return i, ()
    sends = tuple(Send(y, pub(e, y, (s,))) for e in i.queue(s))  # l.10
    for e in i.queue(s) if i.custody else ():
        i = custody.passed_on(i, e, s, LOST, y)
    return i.with_queue(s, ()), sends  # l.11


def pub(e: str, y: Interface, targets: Iterable[SubscriberId]) -> Message:
    """PUB(e, S) for a broker, PUB(e) for a client."""
    S = tuple(sorted(targets))
    return Pub(e) if S == (y,) else PubFor(e, S)  # type: ignore[arg-type]


def claim(i: ArrowBroker, s: SubscriberId, z: BrokerId, rules: Rules) -> Turned:  # l.12
    """Function claim(s, z): lines 12–14."""
    if i.number(s) > 0 and is_mine(i, z, rules):  # l.13
        return i, ()
    return turn(i, s, z, rules)  # l.14


def is_mine(i: ArrowBroker, z: BrokerId, rules: Rules) -> bool:
    """Line 13: of two claims that cross, does the one that i has sent count?  Readings joiner-ignores, host-accepts."""
    joins = i.role(z) == JOINER and rules.readings.joiner_ignores == "in"
    return joins or (i.role(z) == HOST and rules.readings.host_accepts == "taken-out")


def on_turn(i: ArrowBroker, z: BrokerId, m: Turn, rules: Rules) -> Reaction:  # l.15
    """When receive TURN(S) from z: lines 15–17."""
    sends: list[Send] = []
    for s in m.subscribers:
        if i.direction(s) is not None:  # l.16
            i, more = turn(i, s, z, rules)  # l.17
            sends += more
    return Reaction(i, together(sends))


def fall(i: ArrowBroker, z: Interface, rules: Rules) -> Broker:  # l.18
    """When the link to z falls: lines 18–20.  Readings fallen-is-lost and lost-in-o: as printed, the next hop stays as it was."""
    if "taken-out" in (rules.readings.fallen_is_lost, rules.readings.lost_in_o):
        return i
    for s, y in i.directions:
        if y == z:  # l.19
            i = i.directed(s, LOST)  # l.20
    return i


# ---- what all of these algorithms share --------------------------------------------------------------


def greeted(i: ArrowBroker) -> tuple[BrokerId, ...]:
    """N, the greeted neighbours."""
    return tuple(b for b, _ in i.greeted)


def together(sends: Iterable[Send]) -> tuple[Send, ...]:
    """The TURNs for one y in one message, where the first of them was."""
    turns: dict[Interface, list[SubscriberId]] = {}
    sends = list(sends)
    for to, m in sends:
        if isinstance(m, Turn):
            turns.setdefault(to, []).extend(m.subscribers)
    joined: list[Send] = []
    for to, m in sends:
        if not isinstance(m, Turn):
            joined.append(Send(to, m))
        elif to in turns:
            joined.append(Send(to, Turn(tuple(sorted(turns.pop(to))))))
    return tuple(joined)
