"""Readings: the choices where the papers are silent or contradict themselves.

Every choice has a name, a question and its values, the printed one first.  A verdict is always a verdict under readings.
Those with one value record how the text had to be read to mean anything; no code asks for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace


@dataclass(frozen=True, slots=True)
class Reading:
    """One open question of the papers."""

    name: str
    source: str
    question: str
    values: tuple[str, ...]  # the printed value first
    amended: str | None = None  # None: amended = printed
    only: str | None = None  # the one protocol that asks for it; None: it may be asked of any

    @property
    def printed(self) -> str:
        """What the text says, taken at its word."""
        return self.values[0]


REPAIRED = "mft-pubsub-r"


def _ingredient(name: str, where: str, question: str) -> Reading:
    """One of the repaired protocol: as it is printed, or without it."""
    return Reading(name, f"MFTR {where}", question, ("in", "taken-out"), only=REPAIRED)


READINGS: tuple[Reading, ...] = (
    Reading(
        "queue", "TR19 Alg. 1 l.17–19", "an event for an interface that is down is queued once per matching entry, or once per subscriber?",
        ("per-entry", "per-subscriber"), "per-subscriber",
    ),
    Reading(
        "flush", "TR19 Alg. 2 l.38–40, WN23 Alg. 2 l.42–43", "when the interface is down, does sendQueuedMessages return, or go round for ever?",
        ("return", "spin"),
    ),
    Reading(
        "rep-route", "TR19 Alg. 2 l.44", "where does a REP go whose next hop is down or absent?",
        ("table-or-queue",),
    ),
    Reading(
        "mig-next-hop", "TR19 Alg. 1 l.30, Alg. 4 l.22", "the old next hop of a migrating subscriber may be no neighbour any more",
        ("neighbour-only",),
    ),
    Reading(
        "mig-stop", "TR19 Alg. 4 l.20, Alg. 1 l.28, RP16 Alg. 2 l.24", "does MIG stop at the broker that s names, or where the table ends?",
        ("named-broker", "routing-table"), "routing-table",
    ),
    Reading(
        "stale-mig", "TR19 Alg. 4 l.13, Alg. 7 l.48", "a MIG or BSUB with an older t is dropped, or answered with BSUB?",
        ("drop", "answer"), "answer",
    ),
    Reading(
        "guard-hop", "TR19 Alg. 4 l.1, 7, 13", "the guard compares the message's h, or the path h + 1 that would be stored?",
        ("message", "path"), "path",
    ),
    Reading(
        "hop-test", "TR19 Alg. 6 l.24, 28", "with equal t: compare the message's h, or the path h + h_j + 1, or does only the home broker refuse?",
        ("message", "path", "home"), "home",
    ),
    Reading(
        "newer-child", "TR19 Alg. 6 l.16–19", "a child that j knows better: reroute it at once, or wait for the answer to BQUERY?",
        ("reroute-now", "await-answer"), "await-answer",
    ),
    Reading(
        "old-set", "TR19 Alg. 5 l.5", "O is what was reached through the old parent, or what has no live next hop?",
        ("parent", "dead-hop"), "dead-hop",
    ),
    Reading(
        "children", "TR19 Alg. 5 l.8", "C is all that is not in O, or not what is reached through b_n, or only what has a live next hop?",
        ("all-but-old", "neither-old-nor-new", "live"),
    ),
    Reading(
        "announce", "TR19 Alg. 5 l.4", "BMIG names the subscribers with an entry, or all that were ever heard of?",
        ("routed", "known"),
    ),
    Reading(
        "split-horizon", "TR19 Alg. 7 l.59", "may a broker tell z about s when its own next hop for s is z (off), or not (on)?",
        ("off", "on"), "on",
    ),
    Reading(
        "return-to", "TR19 §5", "a PUB that comes back is for those with a matching entry through that interface now, or for whom it was sent?",
        ("table", "original"), "original",
    ),
    Reading(
        "on-return", "TR19 §5", "what comes back is queued, or sent again at once if a next hop is up?",
        ("queue", "reroute"), "reroute",
    ),
    Reading(
        "reroot", "TR19 §4, RP16 §3.3", "after a merge, every broker whose next hop to the leader turns round migrates, or only the one that joined?",
        ("every-changed-hop", "joiner-only"),
    ),
    Reading(
        "mig-argument", "WN23 Alg. 1 l.19", "the first argument of the received MIG, printed f",
        ("b",),
    ),
    Reading(
        "merges", "TR19 §4, silent", "may a component merge again while an earlier merge still turns its next hops round?",
        ("wait", "at-once"),
    ),
    Reading(
        "losses-left", "none: a question of the model", "is the environment's budget spent while the radio may still lose a message?",
        ("spent", "not-spent"),
    ),
    _ingredient("pub-targets", "Alg. 2 l.29", "PUB carries whom it is for, or every broker matches again?"),
    _ingredient("home-refuses", "Alg. 1 l.3", "does the broker at which s is attached refuse a reversal?"),
    _ingredient("home-answers", "Alg. 1 l.4", "does it answer one that it refuses with TURN?"),
    _ingredient("fallen-is-lost", "Alg. 1 l.18–20", "does a link that falls leave `lost`, or a next hop that is down?"),
    _ingredient("greet-first", "Alg. 3 l.41, 51, 63", "does the host flood over a new link only after BMIG?"),
    _ingredient("lost-in-o", "Alg. 4 l.74", "O is what is lost, or what was reached through b_o?"),
    _ingredient("o-to-host", "Alg. 4 l.76", "does the joiner point what is in O at the host?"),
    _ingredient("host-claims", "Alg. 4 l.94–96", "does the host claim what BMIG does not list?"),
    _ingredient("joiner-ignores", "Alg. 1 l.13", "claims cross: does the joiner ignore the host's, or do both accept?"),
    _ingredient("host-accepts", "Alg. 1 l.13", "claims cross: does the host accept the joiner's, or do both ignore?"),
    _ingredient("bmig-notes", "Alg. 4 l.87–88", "does the host note the direction of a subscriber that it first hears of in BMIG?"),
    _ingredient("reroot-is-nothing", "Alg. 4", "is a next hop that turns over a link that was up nothing at all, or a migration?"),
    _ingredient("hop-outlives-filters", "Alg. 3 l.39", "is the next hop kept when the last filter is gone?"),
    _ingredient("base-number", "Alg. 3 l.46", "is a SUB or UNS applied only on the number that it was made from?"),
    _ingredient("second-filters", "Alg. 3 l.53, 65", "does the home broker, told something newer, ask s again?"),
    _ingredient("bmig-numbers", "Alg. 4 l.89–93", "does the host compare the numbers in BMIG?"),
    _ingredient("return-routed", "Alg. 2 l.31–32", "is what comes back routed at once, or queued?"),
    _ingredient("flush-at-turn", "Alg. 1 l.2, 7", "does the queue go at every turn, or only when s itself has come?"),
    Reading(
        "acknowledged-links", "MFTR, a layer", "are frames numbered, acknowledged and sent again on every link?", ("off", "on"), only=REPAIRED,
    ),
    Reading(
        "custody", "MFTR, a layer", "does a broker keep what it has sent until it hears that the subscriber has it?", ("off", "on"), only=REPAIRED,
    ),
)  # fmt: skip


class ReadingError(ValueError):
    """No such reading or value; the message names the choices."""


@dataclass(frozen=True, slots=True)
class Readings:
    """A value for every reading."""

    queue: str = "per-entry"
    flush: str = "return"
    rep_route: str = "table-or-queue"
    mig_next_hop: str = "neighbour-only"
    mig_stop: str = "named-broker"
    stale_mig: str = "drop"
    guard_hop: str = "message"
    hop_test: str = "message"
    newer_child: str = "reroute-now"
    old_set: str = "parent"
    children: str = "all-but-old"
    announce: str = "routed"
    split_horizon: str = "off"
    return_to: str = "table"
    on_return: str = "queue"
    reroot: str = "every-changed-hop"
    mig_argument: str = "b"
    merges: str = "wait"
    losses_left: str = "spent"
    pub_targets: str = "in"
    home_refuses: str = "in"
    home_answers: str = "in"
    fallen_is_lost: str = "in"
    greet_first: str = "in"
    lost_in_o: str = "in"
    o_to_host: str = "in"
    host_claims: str = "in"
    joiner_ignores: str = "in"
    host_accepts: str = "in"
    bmig_notes: str = "in"
    reroot_is_nothing: str = "in"
    hop_outlives_filters: str = "in"
    base_number: str = "in"
    second_filters: str = "in"
    bmig_numbers: str = "in"
    return_routed: str = "in"
    flush_at_turn: str = "in"
    acknowledged_links: str = "off"
    custody: str = "off"

    def with_values(self, values: Mapping[str, str]) -> Readings:
        """These readings with some of them (by printed name) replaced; raises ReadingError."""
        for name, value in values.items():
            check_reading(name, value)
        return replace(self, **{_field(name): value for name, value in values.items()})

    def as_dict(self, protocol: str | None = None) -> dict[str, str]:
        """Printed name → value, in the registry's order; for one protocol, without those that only others ask for."""
        asked = (reading for reading in READINGS if protocol is None or reading.only in (None, protocol))
        return {reading.name: getattr(self, _field(reading.name)) for reading in asked}

    def value(self, name: str) -> str:
        """The value of the reading with this printed name."""
        return str(getattr(self, _field(name)))


def check_reading(name: str, value: str) -> None:
    """Raise ReadingError unless `name` is a reading and `value` one of its values."""
    known = {reading.name: reading for reading in READINGS}
    if name not in known:
        raise ReadingError(f"no reading is called {name!r}; readings are {', '.join(known)}")
    if value not in known[name].values:
        raise ReadingError(f"reading {name} has no value {value!r}; values are {', '.join(known[name].values)}")


def check_asked(protocol: str, readings: Readings) -> None:
    """Raise ReadingError if a reading that another protocol alone asks for is not as printed."""
    for reading in READINGS:
        if reading.only not in (None, protocol) and readings.value(reading.name) != reading.printed:
            raise ReadingError(f"reading {reading.name} is one of {reading.only} alone, not of {protocol}; leave it {reading.printed}")


def _field(name: str) -> str:
    return name.replace("-", "_")


PRINTED = Readings()
AMENDED = PRINTED.with_values({reading.name: reading.amended for reading in READINGS if reading.amended})
NAMED_SETS: dict[str, Readings] = {"printed": PRINTED, "amended": AMENDED}

assert [field.name for field in fields(Readings)] == [_field(reading.name) for reading in READINGS]
