"""MFTR Algorithm 4: a new link is settled once, by the one who opened it (lines 72–96).

    72  when I have opened a link to b_n:
    73    foreach s with T(s) > 0:
    74      if P(s) = lost:
    75          add (s, T(s)) to O
    76          P(s) := b_n
    77      else
    78          add (s, T(s)) to C
    79    send BMIG(C, O) to b_n
    80    greet b_n (I am joiner)
    81    foreach s in O:
    82        flush(s)
    83  when receive BMIG(C, O) from z:
    84    greet z (I am host)
    85    foreach (s, t) ∈ C:
    86        turn(s, z)
    87    foreach (s, t) ∈ O that i has not heard of:
    88        P(s) := lost
    89    foreach (s, t) ∈ C ∪ O:
    90      if t > T(s):
    91          send BQUERY(s, T(s)) to z
    92      if t < T(s):
    93          tell(s, z, no claim)
    94    foreach s with T(s) > 0:
    95      if s is in neither:
    96          tell(s, z, claim)

A next hop that turns round over a link that was up before is nothing at all.
"""

from __future__ import annotations

from ..arrow_state import HOST, JOINER, ArrowBroker
from ..messages import LOST, BmigOnce, BqueryNumber, BrokerId, Interface, Numbered
from ..rules import Reaction, Rules
from ..state import Send
from .mftr_alg1_turns import flush, together, turn
from .mftr_alg3_filters import tell

NOT_MODELLED: dict[str, str] = {}


def migrate(i: ArrowBroker, b_o: BrokerId | None, b_n: BrokerId, rules: Rules) -> Reaction:  # l.72
    """When I have opened a link to b_n: lines 72–82.  Readings lost-in-o and o-to-host."""
    C, O, sends = list[Numbered](), list[Numbered](), list[Send]()
    for s in i.numbered():  # l.73
        if is_lost(i, i.direction(s), b_o, rules):  # l.74
            O.append(Numbered(s, i.number(s)))  # l.75
            if rules.readings.o_to_host == "in":
                i = i.directed(s, b_n)  # l.76
        else:  # l.77
            C.append(Numbered(s, i.number(s)))  # l.78
    sends.append(Send(b_n, BmigOnce(tuple(C), tuple(O))))  # l.79
    i = i.greeting(b_n, JOINER)  # l.80
    for s, _ in O:  # l.81
        i, replayed = flush(i, s)  # l.82
        sends += replayed
    return Reaction(i, tuple(sends))


def is_lost(i: ArrowBroker, y: Interface | None, b_o: BrokerId | None, rules: Rules) -> bool:
    """Line 74.  Reading lost-in-o: as printed, what was reached through the old parent."""
    if rules.readings.lost_in_o == "taken-out":
        return y == b_o
    return y is None or not i.is_up(y)


def on_bmig(i: ArrowBroker, z: BrokerId, m: BmigOnce, rules: Rules) -> Reaction:  # l.83
    """When receive BMIG(C, O) from z: lines 83–96.  Readings bmig-notes (or else line 58 decides), bmig-numbers and host-claims."""
    sends = list[Send]()
    i = i.greeting(z, HOST)  # l.84
    for s, _ in m.children:  # l.85
        i, turns = turn(i, s, z, rules)  # l.86
        sends += turns
    for s, _ in m.others if rules.readings.bmig_notes == "in" else ():
        if i.direction(s) is None:  # l.87
            i = i.directed(s, LOST)  # l.88
    for s, t in sorted((*m.children, *m.others)) if rules.readings.bmig_numbers == "in" else ():  # l.89
        if t > i.number(s):  # l.90
            sends.append(Send(z, BqueryNumber(s, i.number(s))))  # l.91
        if t < i.number(s):  # l.92
            sends.append(tell(i, s, z, False))  # l.93
    named = {s for s, _ in (*m.children, *m.others)}
    for s in i.numbered() if rules.readings.host_claims == "in" else ():  # l.94
        if s not in named:  # l.95
            sends.append(tell(i, s, z, True))  # l.96
    return Reaction(i, together(sends))
