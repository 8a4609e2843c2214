"""TR19 Algorithm 5: migration of broker b_i (lines 1–12); WN23 Algorithm 3 (lines 57–72).  The tuples of R_i are (f, z, s)."""

from __future__ import annotations

from ..messages import Bmig, BrokerId, Interface, Stamped, SubscriberId
from ..rules import Reaction, Rules
from ..state import Broker, Send
from .alg2_replay import send_queued_messages

NOT_MODELLED: dict[str, str] = {
    "WN23 66–67": "ends of blocks",
    "WN23 71–72": "ends of blocks",
}


def migrate(i: Broker, b_o: BrokerId | None, b_n: BrokerId, rules: Rules) -> Reaction:  # l.1 | WN23 l.57
    """Function migrate(b_o, b_n): the link to b_n is up.  Readings announce (line 4), old-set (line 5), children (line 8)."""
    C, O = set(), set()  # l.2–3 | WN23 l.58–59
    before = i
    for s, z in announced(i, rules):  # l.4 | WN23 l.60
        stamped = Stamped(s, *i.stamp(s))
        if is_old(before, s, z, b_o, b_n, rules):  # l.5 | WN23 l.61
            O.add(stamped)  # l.6 | WN23 l.62
            i = i.rerouted(s, b_n)  # l.7 | WN23 l.63
        elif is_child(before, s, z, b_n, rules):  # l.8 | WN23 l.64
            C.add(stamped)  # l.9 | WN23 l.65
    sends = [Send(b_n, Bmig(tuple(sorted(C)), tuple(sorted(O)), 0))]  # l.10 | WN23 l.68
    for s, _, _ in sorted(O):  # l.11 | WN23 l.69
        i, replayed = send_queued_messages(i, s, b_n, rules)  # l.12 | WN23 l.70
        sends += replayed
    return Reaction(i, tuple(sends))


def announced(i: Broker, rules: Rules) -> list[tuple[SubscriberId, Interface | None]]:
    """The (s, z) that line 4 walks; reading announce = known adds who was heard of and has no entry, with no next hop."""
    walked: list[tuple[SubscriberId, Interface | None]] = [(s, z) for s, z in dict.fromkeys((s, z) for _, z, s in i.routing)]
    if rules.readings.announce == "known":
        walked += [(s, None) for s, _ in i.timestamps if not i.entries(s)]
    return walked


def is_old(i: Broker, s: SubscriberId, z: Interface | None, b_o: BrokerId | None, b_n: BrokerId, rules: Rules) -> bool:
    """Line 5: is s among the rest, O?  Reading old-set."""
    if z is None:
        return True
    if rules.readings.old_set == "parent":
        return z == b_o
    return not has_live_hop(i, s, z, b_n)


def is_child(i: Broker, s: SubscriberId, z: Interface | None, b_n: BrokerId, rules: Rules) -> bool:
    """Line 8: is s, not in O, a child?  Reading children."""
    match rules.readings.children:
        case "neither-old-nor-new":
            return z != b_n
        case "live":
            return z is not None and has_live_hop(i, s, z, b_n)
        case _:
            return True


def has_live_hop(i: Broker, s: SubscriberId, z: Interface, b_n: BrokerId) -> bool:
    """z is a client, attached or not, or a neighbour other than the new one."""
    return z == s or (z in i.neighbours and z != b_n)
