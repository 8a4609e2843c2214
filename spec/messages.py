"""The messages of the papers: TR19 Tables 1–4, RP16 Table 1.

Each kind is a type of its own.  `t` numbers a subscriber's messages and `h` counts hops; protocols without timestamps send 0 for both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, NewType

BrokerId = NewType("BrokerId", str)
SubscriberId = NewType("SubscriberId", str)
PublisherId = NewType("PublisherId", str)
FilterId = NewType("FilterId", str)
EventId = NewType("EventId", str)
Interface = BrokerId | SubscriberId | PublisherId  # whom a broker can talk to: z ∈ I_i

NOBODY = SubscriberId("")  # the subscriber of a SUB that names none (RP16 Algorithm 1)
LOST = BrokerId("(lost)")  # the next hop of a subscriber whose link has fallen (mft-pubsub-r); no broker can bear the name
INFINITE = 1_000_000_000  # the hop count ∞ of a subscriber never heard of


class Timestamp(NamedTuple):
    """T_i(s) = (t, h): the newest message number heard of s, and the hop count it came with."""

    t: int
    h: int


UNKNOWN = Timestamp(0, INFINITE)


def fresher(one: Timestamp, other: Timestamp) -> bool:
    """(t, h) > (t', h'): newer, or as new and closer (TR19 leaves this open; Figure 4 fixes it)."""
    return one.t > other.t or (one.t == other.t and one.h < other.h)


class Entry(NamedTuple):
    """(f, z, s) ∈ R_i: an event that matches f goes to interface z for subscriber s."""

    filter: FilterId
    next_hop: Interface
    subscriber: SubscriberId


class Stamped(NamedTuple):
    """(s, t, h): a subscriber in the lists of BMIG."""

    subscriber: SubscriberId
    t: int
    h: int


@dataclass(frozen=True, slots=True)
class Sub:
    """SUB: subscribe s to f."""

    filter: FilterId
    subscriber: SubscriberId
    t: int = 0
    h: int = 0


@dataclass(frozen=True, slots=True)
class Uns:
    """UNS: unsubscribe s from f."""

    filter: FilterId
    subscriber: SubscriberId
    t: int = 0
    h: int = 0


@dataclass(frozen=True, slots=True)
class Pub:
    """PUB: publish e.  `sent_for` is a ghost that only reading return-to = original fills."""

    event: EventId
    sent_for: tuple[SubscriberId, ...] = ()


@dataclass(frozen=True, slots=True)
class Mig:
    """MIG: s has migrated; `previous` is the broker it was attached to before."""

    subscriber: SubscriberId
    previous: BrokerId
    t: int = 0
    h: int = 0


@dataclass(frozen=True, slots=True)
class Rep:
    """REP: replay e towards s."""

    event: EventId
    subscriber: SubscriberId


@dataclass(frozen=True, slots=True)
class Filters:
    """FILTERS: the filters of s that the broker knows."""

    filters: tuple[FilterId, ...]


@dataclass(frozen=True, slots=True)
class BmigModular:
    """BMIG of Algorithm 3: broker `migrated` has migrated with the subscribers attached to it."""

    attached: tuple[SubscriberId, ...]  # C_j
    migrated: BrokerId  # b_j


@dataclass(frozen=True, slots=True)
class Btab:
    """BTAB: the whole routing table of the sender."""

    table: tuple[Entry, ...]  # R_j


@dataclass(frozen=True, slots=True)
class Fmig:
    """FMIG: force the migration of the receiver."""


@dataclass(frozen=True, slots=True)
class Bmig:
    """BMIG of Algorithm 6: the sender's branch has migrated."""

    children: tuple[Stamped, ...]  # C_j
    others: tuple[Stamped, ...]  # O_j
    h: int


@dataclass(frozen=True, slots=True)
class Bquery:
    """BQUERY: what do you know of s that is newer than (t, h)?"""

    subscriber: SubscriberId
    t: int
    h: int


@dataclass(frozen=True, slots=True)
class Bsub:
    """BSUB: all filters of s, with the timestamp that the first sender had for it."""

    subscriber: SubscriberId
    filters: tuple[FilterId, ...]  # S_j
    stamp: Timestamp  # T_j(s)
    h: int


class Numbered(NamedTuple):
    """(s, t): a subscriber in the lists of mft-pubsub-r's BMIG."""

    subscriber: SubscriberId
    t: int


@dataclass(frozen=True, slots=True)
class SubSince:
    """SUB between the brokers of mft-pubsub-r: the filters of number `base` and f are those of number t; base 0 is a claim."""

    filter: FilterId
    subscriber: SubscriberId
    t: int
    base: int  # t₀


@dataclass(frozen=True, slots=True)
class UnsSince:
    """UNS between the brokers of mft-pubsub-r: the filters of number `base` without f are those of number t; base 0 is a claim."""

    filter: FilterId
    subscriber: SubscriberId
    t: int
    base: int  # t₀


@dataclass(frozen=True, slots=True)
class Turn:
    """TURN: these subscribers are reached through the sender from now on."""

    subscribers: tuple[SubscriberId, ...]  # S


@dataclass(frozen=True, slots=True)
class BmigOnce:
    """BMIG of mft-pubsub-r: who is reached through the sender, who the sender has no way to, and the numbers of their filters."""

    children: tuple[Numbered, ...]  # C
    others: tuple[Numbered, ...]  # O


@dataclass(frozen=True, slots=True)
class BsubClaim:
    """BSUB of mft-pubsub-r: all filters of s and their number; and, if it is a claim, that s is reached through the sender."""

    subscriber: SubscriberId
    filters: tuple[FilterId, ...]  # F
    t: int
    claim: bool


@dataclass(frozen=True, slots=True)
class BqueryNumber:
    """BQUERY of mft-pubsub-r: what do you know of s that is newer than number t?"""

    subscriber: SubscriberId
    t: int


@dataclass(frozen=True, slots=True)
class PubFor:
    """PUB between the brokers of mft-pubsub-r: publish e to these subscribers."""

    event: EventId
    targets: tuple[SubscriberId, ...]  # S


@dataclass(frozen=True, slots=True)
class Frame:
    """A message on an acknowledged link, with its number there."""

    number: int
    message: Message


@dataclass(frozen=True, slots=True)
class Ack:
    """ACK: every frame before this number has arrived."""

    number: int


@dataclass(frozen=True, slots=True)
class Got:
    """GOT: the subscriber has e (custody)."""

    event: EventId


@dataclass(frozen=True, slots=True)
class Done:
    """DONE: s has e, and whoever e came from need keep it no longer (custody)."""

    event: EventId
    subscriber: SubscriberId


Message = (
    Sub | Uns | Pub | Mig | Rep | Filters | BmigModular | Btab | Fmig | Bmig | Bquery | Bsub
    | SubSince | UnsSince | Turn | BmigOnce | BsubClaim | BqueryNumber | PubFor | Frame | Ack | Got | Done
)  # fmt: skip

EVENTFUL = (Pub, PubFor, Rep)  # what comes back when it was not delivered

KINDS: dict[type, str] = {
    Sub: "SUB", Uns: "UNS", Pub: "PUB", Mig: "MIG", Rep: "REP", Filters: "FILTERS",
    BmigModular: "BMIG", Btab: "BTAB", Fmig: "FMIG", Bmig: "BMIG", Bquery: "BQUERY", Bsub: "BSUB",
    SubSince: "SUB", UnsSince: "UNS", Turn: "TURN", BmigOnce: "BMIG", BsubClaim: "BSUB", BqueryNumber: "BQUERY", PubFor: "PUB",
    Frame: "FRAME", Ack: "ACK", Got: "GOT", Done: "DONE",
}  # fmt: skip


def kind(message: Message) -> str:
    """The name that the papers print: "SUB", "BMIG", …"""
    return KINDS[type(message)]


def hops(h: int) -> str:
    """A hop count as printed: ∞ for a subscriber never heard of."""
    return "∞" if h >= INFINITE else str(h)


def describe(message: Message) -> str:
    """A message in the notation of TR19's figures."""
    match message:
        case Sub(f, s, t, h) | Uns(f, s, t, h):
            body = f"{f}, {s}" + (f", {t}, {h}" if t else "") if s else f
        case Pub(e, _):
            body = e
        case Rep(e, s):
            body = f"{e}, {s}"
        case Mig(s, b, t, h):
            body = f"{s}, {b}" + (f", {t}, {h}" if t else "")
        case Filters(fs):
            body = f"[{', '.join(fs)}]"
        case BmigModular(c, b):
            body = f"C=[{', '.join(c)}], b={b}"
        case Btab(table):
            body = "R={" + ", ".join(f"({f}, {z}, {s})" for f, z, s in table) + "}"
        case Fmig():
            body = ""
        case Bmig(c, o, h):
            body = f"C=[{_stamped(c)}], O=[{_stamped(o)}], h={h}"
        case Bquery(s, t, h):
            body = f"{s}, {t}, {hops(h)}"
        case Bsub(s, fs, stamp, h):
            body = f"{s}, [{', '.join(fs)}], ({stamp.t}, {hops(stamp.h)}), {h}"
        case SubSince(f, s, t, base) | UnsSince(f, s, t, base):
            body = f"{f}, {s}, {t}, {base}"
        case Turn(subscribers):
            body = f"[{', '.join(subscribers)}]"
        case BmigOnce(c, o):
            body = f"C=[{_numbered(c)}], O=[{_numbered(o)}]"
        case BsubClaim(s, fs, t, claim):
            body = f"{s}, [{', '.join(fs)}], {t}, {'claim' if claim else 'no claim'}"
        case BqueryNumber(s, t):
            body = f"{s}, {t}"
        case Frame(n, inner):
            body = f"{n}, {describe(inner)}"
        case Ack(n):
            body = str(n)
        case Got(e):
            body = e
        case Done(e, s):
            body = f"{e}, {s}"
        case PubFor(e, targets):
            body = f"{e}, [{', '.join(targets)}]"
    return f"{kind(message)}({body})"


def _stamped(subscribers: tuple[Stamped, ...]) -> str:
    return ", ".join(f"({s}, {t}, {hops(h)})" for s, t, h in subscribers)


def _numbered(subscribers: tuple[Numbered, ...]) -> str:
    return ", ".join(f"({s}, {t})" for s, t in subscribers)
