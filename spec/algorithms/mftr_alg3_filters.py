"""MFTR Algorithm 3: filters, which are data with the number of the message that made them (lines 33–71).

    33  when receive MIG from s:
    34    send FILTERS(F(s)) to s
    35    turn(s, s)
    36  when receive SUB(f)/UNS(f) numbered t from s:
    37    turn(s, s)
    38    t0 := T(s)
    39    add/remove f
    40    T(s) := t
    41    send SUB/UNS(f, s, t, t0) to all N
    42  when receive SUB/UNS(f, s, t, t0) from z:
    43    if t0 = 0:
    44        claim(s, z)
    45    if t > T(s):
    46        if t0 ≠ T(s):
    47            send BQUERY(s, T(s)) to z
    48        else:
    49            add/remove f
    50            T(s) := t
    51            send it to N \\ {z}
    52            if home:
    53                send FILTERS(F(s)) to s
    54  when receive BSUB(s, F, t, c) from z:
    55    if c:
    56        claim(s, z)
    57    else if s not heard of:
    58        P(s) := lost
    59    if t > T(s):
    60        new := (T(s) = 0)
    61        F(s) := F
    62        T(s) := t
    63        send BSUB(s, F, t, claim = new) to N \\ {z}
    64        if home:
    65            send FILTERS(F) to s
    66  when receive BQUERY(s, t) from z:
    67    if T(s) > t:
    68        tell(s, z, no claim)
    69  tell(s, z, c):
    70    F := F(s); t := T(s)
    71    send BSUB(s, F, t, c) to z
"""

from __future__ import annotations

from dataclasses import replace

from ..arrow_state import ArrowBroker
from ..messages import LOST, BqueryNumber, BrokerId, BsubClaim, Filters, Message, Mig, Sub, SubscriberId, SubSince, Uns, UnsSince
from ..rules import Reaction, Rules
from ..state import Send
from .mftr_alg1_turns import claim, greeted, together, turn

NOT_MODELLED: dict[str, str] = {}


def on_mig(i: ArrowBroker, s: SubscriberId, m: Mig, rules: Rules) -> Reaction:  # l.33
    """When receive MIG from s: lines 33–35."""
    sends = [Send(s, Filters(i.filters(s)))]  # l.34
    i, turns = turn(i, s, s, rules)  # l.35
    return Reaction(i, (*sends, *turns))


def on_change_of_subscriber(i: ArrowBroker, s: SubscriberId, m: Sub | Uns, rules: Rules) -> Reaction:  # l.36
    """When receive SUB(f) or UNS(f) numbered t from s: lines 36–41."""
    i, turns = turn(i, s, s, rules)  # l.37
    base = i.number(s)  # l.38
    since: SubSince | UnsSince = (SubSince if isinstance(m, Sub) else UnsSince)(m.filter, s, m.t, base)
    i = changed(i, since)  # l.39
    i = i.heard(s, m.t)  # l.40
    flooded = [Send(b, since) for b in flood(i, rules)]  # l.41
    return Reaction(without_hop(i, s, rules), (*turns, *flooded))


def on_change(i: ArrowBroker, z: BrokerId, m: SubSince | UnsSince, rules: Rules) -> Reaction:  # l.42
    """When receive SUB or UNS(f, s, t, t0) from z: lines 42–53."""
    s, sends = m.subscriber, list[Send]()
    if m.base == 0:  # l.43
        i, turns = claim(i, s, z, rules)  # l.44
        sends += turns
    if m.t > i.number(s):  # l.45
        if m.base != i.number(s) and rules.readings.base_number == "in":  # l.46
            sends.append(Send(z, BqueryNumber(s, i.number(s))))  # l.47
        else:  # l.48
            i = changed(heard_of(i, s, rules), m)  # l.49
            i = i.heard(s, m.t)  # l.50
            sends += [Send(b, m) for b in flood(i, rules) if b != z]  # l.51
            if i.is_home(s):  # l.52
                sends += ask_again(i, s, rules)  # l.53
            i = without_hop(i, s, rules)
    return Reaction(i, together(sends))


def on_bsub(i: ArrowBroker, z: BrokerId, m: BsubClaim, rules: Rules) -> Reaction:  # l.54
    """When receive BSUB(s, F, t, c) from z: lines 54–65.  Reading bmig-notes: as printed, who tells of an unknown subscriber is the way to it."""
    s, sends = m.subscriber, list[Send]()
    if m.claim:  # l.55
        i, turns = claim(i, s, z, rules)  # l.56
        sends += turns
    elif i.direction(s) is None:  # l.57
        i = i.directed(s, LOST if rules.readings.bmig_notes == "in" else z)  # l.58
    if m.t > i.number(s):  # l.59
        new = i.number(s) == 0  # l.60
        i = heard_of(i, s, rules).with_filters(s, m.filters)  # l.61
        i = i.heard(s, m.t)  # l.62
        sends += [Send(b, replace(m, claim=new)) for b in flood(i, rules) if b != z]  # l.63
        if i.is_home(s):  # l.64
            sends += ask_again(i, s, rules)  # l.65
        i = without_hop(i, s, rules)
    return Reaction(i, together(sends))


def on_bquery(i: ArrowBroker, z: BrokerId, m: BqueryNumber, rules: Rules) -> Reaction:  # l.66
    """When receive BQUERY(s, t) from z: lines 66–68."""
    if i.number(m.subscriber) > m.t:  # l.67
        return Reaction(i, (tell(i, m.subscriber, z, False),))  # l.68
    return Reaction(i)


def tell(i: ArrowBroker, s: SubscriberId, z: BrokerId, c: bool) -> Send:  # l.69
    """Function tell(s, z, c): lines 69–71."""
    F, t = i.filters(s), i.number(s)  # l.70
    return Send(z, BsubClaim(s, F, t, c))  # l.71


def changed(i: ArrowBroker, m: SubSince | UnsSince) -> ArrowBroker:
    """F(s) with f, or without it."""
    filters = set(i.filters(m.subscriber))
    return i.with_filters(m.subscriber, filters | {m.filter} if isinstance(m, SubSince) else filters - {m.filter})


def ask_again(i: ArrowBroker, s: SubscriberId, rules: Rules) -> list[Send]:
    """Lines 53 and 65: what s hears makes it correct what is not as it wants.  Reading second-filters."""
    message: Message = Filters(i.filters(s))
    return [Send(s, message)] if rules.readings.second_filters == "in" else []


def flood(i: ArrowBroker, rules: Rules) -> tuple[BrokerId, ...]:
    """N, the greeted neighbours.  Reading greet-first: or all, greeted or not."""
    return greeted(i) if rules.readings.greet_first == "in" else i.neighbours


def heard_of(i: ArrowBroker, s: SubscriberId, rules: Rules) -> ArrowBroker:
    """i, which has heard of s: it need not have where reading base-number or hop-outlives-filters is taken out."""
    out = "taken-out" in (rules.readings.base_number, rules.readings.hop_outlives_filters)
    return i.directed(s, LOST) if out and i.direction(s) is None else i


def without_hop(i: ArrowBroker, s: SubscriberId, rules: Rules) -> ArrowBroker:
    """Reading hop-outlives-filters: as printed, the next hop goes with the last filter."""
    if rules.readings.hop_outlives_filters == "taken-out" and not i.filters(s):
        return i.forgotten(s)
    return i
