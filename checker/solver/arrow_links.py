"""Property arrow for runs of any length: a link in every condition that meets it, and what each reaction at one of its ends makes of it.

The real transition functions run on a broker with one to four neighbours and on every message about one subscriber; numbers are unknown integers.
A reaction changes what its own broker holds and what is on its way, so of the far end three facts and its role are enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations_with_replacement, product
from types import ModuleType
from typing import Any, NamedTuple, cast

from roamcheck.model.world import World, drop
from roamcheck.spec.arrow import reversal
from roamcheck.spec.arrow_state import HOST, JOINER, ArrowBroker
from roamcheck.spec.breach import Breach
from roamcheck.spec.messages import (
    LOST,
    BmigOnce,
    BqueryNumber,
    BrokerId,
    BsubClaim,
    Interface,
    Message,
    Mig,
    Numbered,
    PubFor,
    Sub,
    SubscriberId,
    SubSince,
    Timestamp,
    Turn,
    Uns,
    UnsSince,
    describe,
)
from roamcheck.spec.protocols import PROTOCOLS
from roamcheck.spec.readings import Readings
from roamcheck.spec.rules import Reaction

from .asking import Undecided
from .induction import RAISED, Induction, Unkept
from .symbolic import Infeasible, Oracle, concrete, paths
from .universe import B1, E1, F1, S1, S2, universe_question

NEIGHBOURS = tuple(BrokerId(f"b{n}") for n in range(2, 6))
MOST = 2  # messages about s1 on their way in each direction
LETTERS = "TCO-cd"
NONE = Reaction(ArrowBroker(B1, (), (), ()))  # of a function that raises
ARROW = "one end of each link points over it, or one reversal is on its way"
SAYS = (
    "a broker with one to four neighbours (of a network of up to five brokers), and one subscriber: attached or not, known, half known or unknown",
    f"a link at a time, its far end in every state; on their way in each direction at most {MOST} messages about the subscriber",
    "message numbers: any integers from 1 on",
)
STRENGTHENING = (
    "where the joiner of a link knows s, one end points over it, or one TURN, or BMIG that lists s in C, or claim of the joiner is on it",
    "where it does not there is nothing of that; and if the host knows s, a claim of the host is on its way, or the BMIG",
    "the first that a host tells a joiner who does not know s is a claim",
    "BMIG is the first message on a link and the only one, and until it arrives the host sends nothing and does not point over the link",
    "who tells of s knows s; who turns s has heard of s; who is turned or pointed at has heard of s, or will before, from BMIG",
    "a next hop is a greeted neighbour, s or lost; who knows s has one",
)


# ---- what is assumed and asked -----------------------------------------------------------------------


class End(NamedTuple):
    """What one end of a link holds of s."""

    points: bool  # over this link
    heard: bool
    knows: bool
    role: str | None


def end(i: ArrowBroker, z: BrokerId) -> End:
    """Of i, on its link to z."""
    return End(i.direction(S1) == z, i.direction(S1) is not None, bool(i.number(S1) > 0), i.role(z))


def letter(m: Message) -> str:
    """What a message on a link is to s: T a TURN, C, O and - a BMIG that lists s in C, in O or not at all, c a claim, d other data of s."""
    match m:
        case Turn():
            return "T" if reversal(m, S1, False) else ""
        case BmigOnce(_, others):
            return "C" if reversal(m, S1, True) else "O" if any(s == S1 for s, _ in others) else "-"
        case BsubClaim() | SubSince() | UnsSince() if m.subscriber == S1:
            return "c" if reversal(m, S1, True) else "d"
    return ""


@cache
def failing(i: End, y: End, there: str, back: str) -> str | None:
    """Which part of the invariant a link between i and y does not meet; `there` is on its way to y, `back` to i.  None if it meets all."""
    if {i.role, y.role} not in ({JOINER, HOST}, {JOINER, None}):
        return "one end of a link is its joiner, the other its host or not yet greeted"
    (j, h, to_host, to_joiner) = (i, y, there, back) if i.role == JOINER else (y, i, back, there)
    greetings = [at for at, what in enumerate(to_host) if what in "CO-"]
    if any(what in "CO-" for what in to_joiner) or greetings != ([0] if h.role is None else []):
        return "BMIG is the first message on a link, and the only one"
    if h.role is None and (to_joiner or h.points):
        return "until BMIG arrives the host sends nothing, and does not point over the link"
    pointing = j.points + h.points + sum(what in "TCc" for what in to_host) + to_joiner.count("T")
    if pointing != j.knows:
        return ARROW if j.knows else "nothing points over a link whose joiner does not know s"
    if not j.knows and h.knows and h.role == HOST and "c" not in to_joiner:
        return "a joiner that does not know s will be told by a claim"
    if not j.knows and to_joiner.replace("T", "").startswith("d"):
        return "the first that a host tells a joiner who does not know s is a claim"
    return _untold(j, h, to_host) or _untold(h, j, to_joiner)


def _untold(one: End, other: End, on_its_way: str) -> str | None:
    if not one.knows and any(what in "cdCO" for what in on_its_way):
        return "who tells of s knows s"
    if not one.heard and "T" in on_its_way:
        return "who turns s has heard of s"
    told = [at for at, what in enumerate(on_its_way) if what in "CO"]
    if not other.heard and (one.points or "T" in on_its_way) and (not told or "T" in on_its_way[: told[0]]):
        return "who is turned or pointed at has heard of s, or will before, from BMIG"
    return None


def astray(i: ArrowBroker) -> str | None:
    """What i holds of s does not fit together."""
    y = i.direction(S1)
    if y in NEIGHBOURS and i.role(cast(BrokerId, y)) is None:
        return "a next hop is a greeted neighbour, s or lost"
    return "who knows s has a next hop" if i.number(S1) > 0 and y is None else None


@cache
def conditions(i: End) -> tuple[tuple[End, str, str], ...]:
    """Everything that the far end and the messages on their way may be: the far end, what goes there, what comes back."""
    on_their_way = ["".join(some) for n in range(MOST + 1) for some in product(LETTERS, repeat=n)]
    facts = [(False, False, False), (False, True, False), (False, True, True), (True, True, False), (True, True, True)]  # who points has heard
    possible = [End(*held, role) for held in facts for role in (JOINER, HOST, None) if not (held[0] and role is None)]
    return tuple((y, there, back) for y, there, back in product(possible, on_their_way, on_their_way) if failing(i, y, there, back) is None)


# ---- the reactions -----------------------------------------------------------------------------------


Condition = tuple[End, str, str]  # of a link: the far end, what is on its way there, and back
React = Callable[[ArrowBroker, Oracle], tuple[Reaction, Message | None]]  # what the broker does, and the message that it takes


@dataclass(frozen=True)
class Case:
    """A broker, what happens to it, and the link that is judged, in each of these conditions: without the message that is taken over it."""

    reaction: str
    here: Here
    react: React
    y: BrokerId
    conditions: Sequence[Condition]


def induct(
    readings: Readings, algorithms: Mapping[str, ModuleType] | None, oracle: Oracle, observe: Callable[[int], None], found: Induction
) -> None:
    """Add to `found`, by reaction, in how many conditions of a link it was looked at, and the first in which it does not keep a part of the
    invariant.  Raises Undecided."""
    world, total = universe_question(PROTOCOLS["mft-pubsub-r"], readings, {}).world(algorithms), 0
    for case in cases(world):
        for before, m, reaction in paths(partial(_run, case), oracle):
            after, raised = cast(ArrowBroker, reaction.broker), RAISED if reaction is NONE else None
            mine, sent = end(after, case.y), "".join(letter(send.message) for send in reaction.sends if send.to == case.y)
            for condition in case.conditions:
                far, there, back = condition
                wrong = raised or astray(after) or failing(mine, far, there + sent, back)
                if wrong is not None and ("arrow", case.reaction, wrong) not in found.counterexamples:
                    found.counterexamples["arrow", case.reaction, wrong] = _shown(case, condition, before, m, reaction, wrong, oracle)
            found.paths[case.reaction] = found.paths.get(case.reaction, 0) + len(case.conditions)
            if (total := total + 1) % 2_000 == 0:
                observe(sum(found.paths.values()))


def _run(case: Case, oracle: Oracle) -> tuple[ArrowBroker, Message | None, Reaction]:
    i = case.here.broker(oracle)
    try:
        reaction, m = case.react(i, oracle)
    except (Infeasible, Undecided):
        raise
    except Exception:  # of the transition function
        return i, None, NONE
    return i, m, reaction


def _shown(
    case: Case, condition: Condition, before: ArrowBroker, m: Message | None, reaction: Reaction, wrong: str, oracle: Oracle
) -> Unkept:  # fmt: skip
    numbers, (far, there, back) = oracle.solution(), condition
    i, after = concrete(before, numbers), concrete(reaction.broker, numbers)
    known = f"{case.y} {'points back' if far.points else 'does not point back'} and {'knows' if far.knows else 'does not know'} {S1}"
    lines = [f"before  {_told(i)}", f"link    {known}; on its way there: {_words(there)}; back: {_words(back)}"]
    lines += [f"takes   {describe(concrete(m, numbers))}"] if m is not None else []
    lines += [f"after   {_told(after)}", *(f"sends   {describe(concrete(message, numbers))} to {to}" for to, message in reaction.sends)]
    breach = Breach(wrong, (("link", f"{i.me}–{case.y}"), ("subscriber", str(S1))))
    return Unkept("arrow", wrong == ARROW, case.reaction, breach, (*lines, f"fails   {wrong}"))


def _told(i: ArrowBroker) -> str:
    roles = ", ".join(f"{role} to {b}" for b, role in i.greeted)
    return f"{i.me}: next hop of s1 {i.direction(S1) or 'none'}, number {i.number(S1)}; {roles or 'no neighbour greeted'}"


def _words(on_their_way: str) -> str:
    names = {"T": "TURN", "C": "BMIG (C)", "O": "BMIG (O)", "-": "BMIG", "c": "a claim", "d": "filters"}
    return ", ".join(names[what] for what in on_their_way) or "nothing"


def cases(w: World) -> Iterator[Case]:
    """Every reaction at every broker, judged at the link that it comes by and at another."""
    for n in range(len(NEIGHBOURS) + 1):
        neighbours = NEIGHBOURS[:n]
        for near in product((JOINER, HOST, None), repeat=min(n, 2)):
            for others in combinations_with_replacement((JOINER, HOST), max(0, n - 2)):
                roles = dict(zip(neighbours, (*near, *others), strict=True))
                hops: tuple[Interface | None, ...] = (None, LOST, S1, *(z for z in neighbours[:3] if roles[z] is not None))
                for hop, knows, attached in product(hops, (False, True), (False, True)):
                    if not (knows and hop is None) and not (hop == S1 and not attached):
                        yield from _at(w, Here(roles, hop, knows, attached))


class Here(NamedTuple):
    """A broker that is looked at."""

    roles: Mapping[BrokerId, str | None]  # by neighbour, None before it is greeted
    hop: Interface | None
    knows: bool
    attached: bool

    def broker(self, oracle: Oracle | None) -> ArrowBroker:
        """With an unknown number, or with 1."""
        number = 0 if not self.knows else 1 if oracle is None else number_of("T", oracle)
        stamps = ((S1, Timestamp(number, 1)),) if self.knows else ()
        directions = ((S1, self.hop),) if self.hop is not None else ()
        here = (S1,) if self.attached else ()
        greeted = tuple((z, role) for z, role in self.roles.items() if role is not None)
        return ArrowBroker(B1, tuple(self.roles), here, (), (), stamps, (), directions, greeted)


def number_of(name: str, oracle: Oracle) -> Any:
    """An unknown integer from 1 on."""
    number = oracle.unknown(name)
    oracle.at_most(1, number)
    return number


def _at(w: World, here: Here) -> Iterator[Case]:
    near, opens = tuple(here.roles)[:2], len(here.roles) < len(NEIGHBOURS)
    links = {z: conditions(end(here.broker(None), z)) for z in near}
    for z in near[:1]:
        for kind in MESSAGES:
            what = letter(message(kind, None))
            over = [(far, there, back.removeprefix(what)) for far, there, back in links[z] if back.startswith(what)]
            if over and (what or here.roles[z] is not None):  # nothing comes before BMIG
                yield Case(f"{kind} from a broker", here, _delivered(w, z, kind), z, over)
                yield from (Case(f"{kind} from a broker", here, _delivered(w, z, kind), y, links[y]) for y in near[1:])
        for kind in ("MIG", "SUB", "UNS") if here.attached else ():
            yield Case(f"{kind} from its subscriber", here, _delivered(w, S1, kind), z, links[z])
        yield Case("detach" if here.attached else "attach", here, _come_or_gone(w), z, links[z])
        if w.rules.readings.reroot_is_nothing == "taken-out":
            yield Case("turn", here, _turned(w, z), z, links[z])
    for y in near[1:]:
        yield Case("link-down", here, _fallen(w, near[0]), y, links[y])
        if opens:
            yield Case("migrate", here, _moved(w, near[0]), y, links[y])
    if opens:  # the new link, and another
        new, stranger = NEIGHBOURS[-1], [(End(False, heard, knows, None), "", "") for heard, knows in ((False, False), (True, False), (True, True))]
        yield Case("merge", here, _opened(w, None), new, stranger)
        yield from (Case("migrate", here, _moved(w, z), new, stranger) for z in near[:1])
        yield from (Case("merge", here, _opened(w, None), z, links[z]) for z in near[:1])


MESSAGES = ("TURN", "BMIG (C)", "BMIG (O)", "BMIG", "SUB (claim)", "UNS (claim)", "SUB", "UNS", "BSUB (claim)", "BSUB", "BQUERY", "PUB")


def message(kind: str, oracle: Oracle | None) -> Message:
    """A message of that kind about s1, its numbers unknown or 1."""
    t = 1 if oracle is None else number_of("t", oracle)
    base = 1 if oracle is None else number_of("base", oracle)
    made: dict[str, Callable[[], Message]] = {
        "TURN": lambda: Turn((S1,)), "BMIG (C)": lambda: BmigOnce((Numbered(S1, t),), ()), "BMIG (O)": lambda: BmigOnce((), (Numbered(S1, t),)),
        "BMIG": lambda: BmigOnce((), ()), "SUB (claim)": lambda: SubSince(F1, S1, t, 0), "UNS (claim)": lambda: UnsSince(F1, S1, t, 0),
        "SUB": lambda: SubSince(F1, S1, t, base), "UNS": lambda: UnsSince(F1, S1, t, base), "BSUB (claim)": lambda: BsubClaim(S1, (F1,), t, True),
        "BSUB": lambda: BsubClaim(S1, (F1,), t, False), "BQUERY": lambda: BqueryNumber(S1, t - 1), "PUB": lambda: PubFor(E1, (S1, S2)),
    }  # fmt: skip
    return made[kind]()


def _delivered(w: World, z: Interface, kind: str) -> React:
    def react(i: ArrowBroker, oracle: Oracle) -> tuple[Reaction, Message | None]:
        if isinstance(z, str) and z == S1:
            t = number_of("t", oracle)
            m: Message = Mig(S1, B1, t, 0) if kind == "MIG" else (Sub if kind == "SUB" else Uns)(F1, S1, t, 0)
        else:
            m = message(kind, oracle)
        return w.acts.handle(i, z, m, w.rules), m

    return react


def _fallen(w: World, z: BrokerId | SubscriberId) -> React:
    return lambda i, oracle: (Reaction(drop(w, i, z)), None)


def _come_or_gone(w: World) -> React:
    return lambda i, oracle: (Reaction(drop(w, i, S1) if S1 in i.subscribers else i.joined_by(S1)), None)


def _opened(w: World, old: BrokerId | None) -> React:
    assert w.acts.migrate is not None
    migrate, new = w.acts.migrate, NEIGHBOURS[-1]
    return lambda i, oracle: (migrate(i.linked(new), old, new, w.rules), None)


def _moved(w: World, old: BrokerId) -> React:
    opened = _opened(w, old)
    return lambda i, oracle: opened(cast(ArrowBroker, drop(w, i, old)), oracle)


def _turned(w: World, z: BrokerId) -> React:
    assert w.acts.migrate is not None
    migrate = w.acts.migrate
    return lambda i, oracle: (migrate(i, None, z, w.rules), None)
