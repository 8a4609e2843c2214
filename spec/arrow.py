"""The invariant of mft-pubsub-r, which is that of the arrow protocol (Raymond; Demmer and Herlihy): one end of each link points over it.

For a link between j, its joiner, and h, its host, and a subscriber whose filters both know, exactly one of these is there: the next hop of j, the
next hop of h, a TURN on the link, a BMIG that lists s in C, a claim of j.  What h claims does not count: j, who knows s, ignores it, since a claim
of its own, or the BMIG, was on its way before.
"""

from __future__ import annotations

from collections.abc import Sequence

from .arrow_state import JOINER, ArrowBroker
from .breach import Breach
from .messages import BmigOnce, BsubClaim, Message, SubscriberId, SubSince, Turn, UnsSince


def arrow(i: ArrowBroker, j: ArrowBroker, there: Sequence[Message], back: Sequence[Message]) -> Breach | None:
    """Of a link that both ends take for up, with what is on its way there and back: for each s known to both one end points over it, or will."""
    if j.me not in i.neighbours or i.me not in j.neighbours:
        return None
    for s in i.numbered():
        if j.number(s) > 0:
            pointing = [f"{one.me} → {other.me}" for one, other in ((i, j), (j, i)) if one.direction(s) == other.me]
            pointing += [name for m in there if (name := reversal(m, s, i.role(j.me) == JOINER))]
            pointing += [name for m in back if (name := reversal(m, s, j.role(i.me) == JOINER))]
            if len(pointing) != 1:
                where = (("link", f"{i.me}–{j.me}"), ("subscriber", str(s)), ("found", ", ".join(pointing) or "nothing"))
                return Breach("one end of each link points over it, or one reversal is on its way", where)
    return None


def reversal(m: Message, s: SubscriberId, of_joiner: bool) -> str | None:
    """What makes the receiver of m, which knows s, point back over the link that it comes by; None where nothing does."""
    match m:
        case Turn(subscribers) if s in subscribers:
            return "a TURN"
        case BmigOnce(children, _) if any(child == s for child, _ in children):
            return "a BMIG"
        case SubSince(_, whose, _, 0) | UnsSince(_, whose, _, 0) if whose == s and of_joiner:
            return "a claim"
        case BsubClaim(whose, _, _, True) if whose == s and of_joiner:
            return "a claim"
    return None
