"""Every local state and message within a declared finite universe; numbers are unknown integers without bound.

Three brokers, of which one is looked at (the other two are its possible neighbours), two subscribers, a publisher, two filters, two events.  What
is finite is chosen when a transition function looks at it; steps are taken up to renaming brokers and subscribers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import combinations, product
from types import ModuleType
from typing import Any, cast

from roamcheck.checker.question import Question, question
from roamcheck.model.build import build
from roamcheck.model.initial import initial_broker
from roamcheck.model.interface import Disabled, Model, Slot, State, Step, fire
from roamcheck.model.overlay import Overlay
from roamcheck.model.questions import universe_of
from roamcheck.model.scenario import from_data
from roamcheck.model.world import Budget, Way, World
from roamcheck.spec.messages import (
    NOBODY,
    Bmig,
    BmigModular,
    Bquery,
    BrokerId,
    Bsub,
    Btab,
    Entry,
    EventId,
    FilterId,
    Filters,
    Fmig,
    Interface,
    Message,
    Mig,
    Pub,
    Rep,
    Stamped,
    Sub,
    SubscriberId,
    Timestamp,
    Uns,
)
from roamcheck.spec.properties import Universe as Existing
from roamcheck.spec.protocols import PROTOCOLS, Protocol
from roamcheck.spec.readings import Readings
from roamcheck.spec.state import Broker, Subscriber

from .symbolic import Lazy, Oracle

B1, B2, B3 = BROKERS = BrokerId("b1"), BrokerId("b2"), BrokerId("b3")
S1, S2 = SUBSCRIBERS = (SubscriberId("s1"), SubscriberId("s2"))
F1, F2 = FILTERS = (FilterId("f1"), FilterId("f2"))
E1, E2 = EVENTS = (EventId("e1"), EventId("e2"))  # f1 matches both, f2 the second

VARIANTS: tuple[Mapping[str, str], ...] = ({}, {"bounce": "later"}, {"client-links": "instant"})  # assumptions, beside in-flight and radio
SAYS = (
    "3 brokers, the one looked at with 2 possible neighbours; steps up to renaming brokers and subscribers",
    "s1 in every state: no entry or any next hop for each of f1 and f2 (for timestamp-bound: f1 alone), attached or not, known or not",
    "beside it s2, attached, with one entry or none",
    "queues: empty, or (e1, e2) for s1 and (e1) for s2; of the links that fall one has messages under way, at most a PUB and a REP",
    "BMIG names s1 in either list, in both or in none, and beside it s2 in either or in none (in none, under the assumptions that are not printed)",
    "timestamps, hop counts and the subscribers' clocks: any integers",
    "a step that touches several brokers: one of them in every state, the others bare, each in turn (none sees another's state)",
    "assumptions: bounce atomic and later, client-links queued and instant, radio detected, in-flight returned where there are queues",
)
_LISTED = (("C", ""), ("O", ""), ("CO", ""), ("", ""), ("C", "C"), ("C", "O"), ("O", "C"), ("O", "O"))  # where BMIG names s1 and s2
_OVERLAY = ("link-down", "migrate", "merge", "crash", "turn")


@cache
def subsets(items: tuple[Any, ...]) -> tuple[tuple[Any, ...], ...]:
    """Every subset, in order, the small ones first."""
    return tuple(chosen for size in range(len(items) + 1) for chosen in combinations(items, size))


def universe_question(protocol: Protocol, readings: Readings, assumptions: Mapping[str, str]) -> Question:
    """The universe as a scenario in which everything that the protocol knows may happen."""
    moves = [
        {"id": "take", "do": "subscribe", "subscriber": S1, "filter": F2},
        {"id": "give-up", "do": "unsubscribe", "subscriber": S1, "filter": F1},
        {"id": "leave", "do": "detach", "publisher": "p1"},
        {"id": "come", "do": "attach", "publisher": "p1", "to": B1},
    ]
    free = {"publish": 1, "losses": 1}
    free |= {"client-moves": 1} if "attach" in protocol.moves else {}
    if "migrate" in protocol.moves:
        free |= dict.fromkeys(("broker-moves", "link-failures", "merges", "crashes", "volatile-crashes"), 1)
    data = {
        "format": "roamcheck-scenario/1",
        "name": "universe",
        "network": {"brokers": list(BROKERS), "leaders": [B1], "links": [[B1, B2], [B1, B3]]},
        "filters": {F1: {F1: 1}, F2: {F2: 1}},
        "subscribers": {S1: {"at": B1, "filters": [F1]}, S2: {"at": B1, "filters": [F1]}},
        "publishers": {"p1": {"at": B1}},
        "events": {E1: {"from": "p1", "attributes": {F1: 1}}, E2: {"from": "p1", "attributes": {F1: 1, F2: 1}}},
        "moves": moves,
        "free": free,
        "assume": {"radio": "detected"},
    }
    return question(from_data(data, "universe"), protocol=protocol.name, reading=readings.as_dict(), assumptions=assumptions)


class Asked:
    """Readings that remember which of them were asked for: a proof depends on no others."""

    def __init__(self, readings: Readings) -> None:
        self._readings = readings
        self.names: set[str] = set()

    def __getattr__(self, name: str) -> object:
        self.names.add(name)
        return getattr(self._readings, name)


@dataclass(frozen=True)
class Local:
    """One transition of the model, seen from one broker: `focus` is in every state, other brokers are bare."""

    step: Step
    focus: BrokerId | None


@dataclass(frozen=True)
class Places:
    """A world, all that exists in it, the way of each channel's slot, and the slots of what may come back."""

    world: World
    existing: Existing
    ways: Mapping[Slot, Way]
    returned: frozenset[Slot]


@dataclass
class Frame:
    """What a step meets: symbolic values by slot, and the head of the channel that it takes."""

    local: Local
    values: dict[Slot, Any]
    head: Any = None
    takes: Slot | None = None
    reads: tuple[Slot, ...] = ()


@dataclass
class Universe:
    """The universe of one protocol under readings and assumptions; `bounded` assumes of every number what timestamp-bound needs."""

    protocol: Protocol
    readings: Readings
    assumptions: Mapping[str, str]
    algorithms: Mapping[str, ModuleType] | None = None
    bounded: bool = False
    model: Model = field(init=False)
    world: World = field(init=False)
    asked: Asked = field(init=False)
    _tables: dict[tuple[BrokerId, ...], tuple[tuple[Entry, ...], ...]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        asked = universe_question(self.protocol, self.readings, self.assumptions)
        world, self.asked = asked.world(self.algorithms), Asked(asked.readings)
        self.world = replace(world, rules=replace(world.rules, readings=cast(Readings, self.asked)))
        self.model = build(self.world, ())

    # -- which transitions -----------------------------------------------------------------------------

    @cached_property
    def locals(self) -> tuple[Local, ...]:
        """The steps up to renaming, each from every broker that it touches."""
        return tuple(Local(step, focus) for step in self.model.steps for focus in self._foci(step))

    def _foci(self, step: Step) -> Sequence[BrokerId | None]:
        names = [value for key, value in step.arguments if key not in ("move", "state", "event", "filter")]
        match step.action, names:
            case "deliver", ["b2" | "s1" | "p1", "b1"]:
                return (B1,)
            case "deliver", ["b1", "s1"]:
                return (None,)
            case ("return", ["b2" | "s1", "b1"]) | ("lose", ["b1", "b2" | "s1"]) | ("turn", ["b1"]):
                return (B1,)
            case ("publish", ["p1"]) | ("detach" | "subscribe" | "unsubscribe", ["s1"]) | ("attach", ["s1", "b1"]):
                return (B1,)
            case ("attach", ["p1", "b1"]) | ("detach", ["p1"]):
                return (B1,)
            case ("link-down", ["b1–b2"]) | ("merge", ["b1", "b2"]) | ("crash", ["b1"]):
                return (B1, B2)
            case "migrate", ["b1", "b2"]:
                return (B1, B2, B3)
        return ()

    @cached_property
    def overlays(self) -> tuple[Overlay, ...]:
        """Every value of the overlay that moves lead to from the initial one."""
        w, start = self.world, self.model.initial_states[0]
        steps = [step for step in self.model.steps if step.action in _OVERLAY]
        found: dict[Any, None] = {start[w.overlay]: None}
        pending = list(found)
        while pending:
            overlay = pending.pop()
            bare: list[Any] = list(start)
            bare[w.overlay] = overlay
            for b, slot in w.broker.items():
                bare[slot] = initial_broker(w, overlay, b)
            for step in steps:
                after = fire(self.model, step, tuple(bare))
                if not isinstance(after, Disabled) and after[w.overlay] not in found:
                    found[after[w.overlay]] = None
                    pending.append(after[w.overlay])
        return tuple(found)

    def overlays_for(self, step: Step) -> tuple[Overlay, ...]:
        """One of each kind that the step tells apart: by its footprint, and by the parent, the turn and the links of the broker that migrates in it.

        All else that a step reads of the overlay goes into the overlay alone.
        """
        migrates = step.action in ("migrate", "merge", "turn")
        if self.world.overlay not in (step.selector, *step.fixed.reads):
            return (self.overlays[0],)
        kinds: dict[Any, Overlay] = {}
        for overlay in self.overlays:
            footprint = step.select(overlay) if step.select is not None else step.fixed
            if not isinstance(footprint, Disabled):
                told: tuple[Any, ...] = (overlay.parent(B1),) if migrates else ()
                if step.action == "turn":
                    told = (*told, overlay.next_turns()[B1], overlay.neighbours(B1))
                kinds.setdefault((footprint, told), overlay)
        return tuple(kinds.values())

    # -- what they meet --------------------------------------------------------------------------------

    def frame(self, local: Local, oracle: Oracle, overlays: Sequence[Overlay]) -> Frame | None:
        """A state that the step may meet, some of it yet to be chosen; None where the step cannot fire."""
        w, step = self.world, local.step
        values: dict[Slot, Any] = {w.overlay: oracle.pick(overlays), w.budget: self._budget()}
        for s in SUBSCRIBERS:
            anywhere = s == S1 and step.action != "crash" and w.subscriber[s] in self._looked_at(step)
            values[w.subscriber[s]] = self.subscriber(s, oracle, anywhere)
        for p, slot in w.publisher.items():
            values[slot] = self.model.initial_states[0][slot]
            if step.action == "attach" and dict(step.arguments).get("publisher") == p:
                values[slot] = w.acts.clients.detach_publisher(values[slot])
        if step.selector is not None and step.select is not None:
            footprint = step.select(values[step.selector])
            if isinstance(footprint, Disabled):
                return None
        else:
            footprint = step.fixed
        if step.action in _OVERLAY and local.focus is not None and w.broker[local.focus] not in footprint.reads:
            return None
        frame = Frame(local, values, None, footprint.takes, footprint.reads)
        way = next((way for way, slot in (*w.channel.items(), *w.returned.items()) if slot == footprint.takes), None)
        for b, slot in w.broker.items():
            sender = way[0] if way is not None and step.action == "deliver" and way[1] == b else None
            values[slot] = self.broker(b, oracle, sender) if b == local.focus else self._bare(b)
        if step.action in ("crash", "turn") and local.focus == B1:  # they go by the links that are up
            values[w.broker[B1]] = replace(values[w.broker[B1]], neighbours=values[w.overlay].neighbours(B1))
        falling = [slot for (u, v), slot in w.channel.items() if slot in footprint.reads and u == local.focus and v not in (S2, B3)]
        values.update((slot, ()) for slot in w.channel.values() if slot in footprint.reads)
        if falling:
            values[oracle.pick(falling)] = Lazy(oracle, self._under_way)
        if way is not None:
            frame.head = oracle.pick(self._returnable) if step.action == "return" else self.message(way, oracle)
        return frame

    def _budget(self) -> Budget:
        start = self.model.initial_states[0][self.world.budget]
        assert isinstance(start, Budget)
        return Budget((), start.left, SUBSCRIBERS if "client-moves" in dict(start.left) else ())

    def _bare(self, b: BrokerId) -> Broker:
        return Broker(b, tuple(other for other in BROKERS if other != b), (), ())

    def clock(self, s: SubscriberId, oracle: Oracle) -> Any:
        """What s has sent."""
        return oracle.unknown(f"sent({s})") if self.protocol.timestamps else 0

    def _looked_at(self, step: Step) -> tuple[Slot | None, ...]:
        return (step.selector, *step.fixed.reads, *(step.within.reads if step.within is not None else ()))

    def subscriber(self, s: SubscriberId, oracle: Oracle, anywhere: bool) -> Subscriber:
        """s wanting anything, at b1 or anywhere."""
        places: tuple[tuple[BrokerId | None, bool], ...] = ((B1, True), (B1, False), (B2, False), (None, False))
        broker, attached = oracle.pick(places) if anywhere else places[0]
        sent = self.clock(s, oracle)
        if self.bounded:
            oracle.at_most(0, sent)
        return Subscriber(s, broker, attached, Lazy(oracle, subsets(FILTERS)), sent, FILTERS, Lazy(oracle, ((), (E1,))), ())  # type: ignore[arg-type]

    def broker(self, b: BrokerId, oracle: Oracle, sender: str | None) -> Broker:
        """b in any state; whoever a message comes from is an interface of it."""
        others = tuple(other for other in BROKERS if other != b)
        neighbours = [chosen for chosen in subsets(others) if sender not in others or sender in chosen]
        attached = [chosen for chosen in ((S1, S2), (S2,)) if sender != S1 or S1 in chosen]
        queues = ((), ((S1, (E1, E2)), (S2, (E1,)))) if self.protocol.queues else ((),)
        stamps = {s: Timestamp(oracle.unknown(f"T({s}).t"), oracle.unknown(f"T({s}).h")) for s in SUBSCRIBERS}  # type: ignore[arg-type]
        if self.bounded:
            for s, (t, h) in stamps.items():
                oracle.at_most(t, self.clock(s, oracle))
                oracle.at_most(1, h)
        known = (tuple(stamps.items()), ((S2, stamps[S2]),)) if self.protocol.timestamps else ((),)
        return Broker(
            b, Lazy(oracle, neighbours), Lazy(oracle, attached), tuple(self.world.publisher),  # type: ignore[arg-type]
            Lazy(oracle, self.tables(others)), Lazy(oracle, known), Lazy(oracle, queues),  # type: ignore[arg-type]
        )  # fmt: skip

    def tables(self, others: tuple[BrokerId, ...]) -> tuple[tuple[Entry, ...], ...]:
        """Every well-formed routing table of the universe."""
        if others not in self._tables:
            self._tables[others] = self._all_tables(others)
        return self._tables[others]

    def _all_tables(self, others: tuple[BrokerId, ...]) -> tuple[tuple[Entry, ...], ...]:
        hops: tuple[Interface, ...] = (*others, S1)
        if not self.protocol.names_subscribers:
            return subsets(tuple(Entry(f, z, NOBODY) for f in FILTERS for z in hops))
        filters = FILTERS[:1] if self.bounded else FILTERS
        first = [[None, *(Entry(f, z, S1) for z in hops)] for f in filters]
        second = [None, Entry(F1, others[0], S2), Entry(F1, S2, S2)]
        return tuple(tuple(sorted(entry for entry in chosen if entry is not None)) for chosen in product(*first, second))

    # -- messages --------------------------------------------------------------------------------------

    def _named(self) -> tuple[tuple[SubscriberId, ...], ...]:
        """For whom a PUB may say that it is sent."""
        return ((S1,), (S1, S2), ()) if self.world.rules.readings.return_to == "original" else ((),)

    @cached_property
    def _returnable(self) -> tuple[Message, ...]:
        pubs = (Pub(e, sent_for) for e in EVENTS for sent_for in self._named())
        return (*pubs, Rep(E1, S1), Rep(E2, S1))

    @cached_property
    def _under_way(self) -> tuple[tuple[Message, ...], ...]:
        some, *_, last = (*self._named(), *self._named()[:2])
        return ((), (Pub(E1, some),), (Pub(E2, last), Rep(E1, S1)))

    def message(self, way: Way, oracle: Oracle) -> Message:
        """Any message that the protocol sends this way."""
        u, v = way
        if u in self.world.publisher:
            return Pub(oracle.pick(EVENTS))
        if v in SUBSCRIBERS:
            arriving: tuple[Message, ...] = (Pub(E1), Rep(E1, S1), *map(Filters, subsets(FILTERS)))
            return oracle.pick(arriving)
        kinds = [kind for kind in self.protocol.handlers if u in BROKERS or kind in (Sub, Uns, Mig)]
        return self._of(oracle.pick(kinds), oracle)

    def _of(self, kind: type, oracle: Oracle) -> Message:
        s = S1 if self.protocol.names_subscribers else NOBODY
        match kind.__name__:
            case "Sub" | "Uns":
                message: Message = kind(oracle.pick(FILTERS), s, *self._numbers(S1, "", oracle))
            case "Pub":
                message = Pub(oracle.pick(EVENTS), oracle.pick(self._named()))
            case "Rep":
                message = Rep(E1, S1)
            case "Mig":
                message = Mig(S1, oracle.pick(BROKERS), *self._numbers(S1, "", oracle))
            case "BmigModular":
                message = BmigModular(Lazy(oracle, ((S1,), (S1, S2), (S2,), ())), oracle.pick(BROKERS))  # type: ignore[arg-type]
            case "Btab":
                message = Btab(Lazy(oracle, self._foreign_tables))  # type: ignore[arg-type]
            case "Fmig":
                message = Fmig()
            case "Bmig":
                message = self._bmig(oracle)
            case "Bquery":
                message = Bquery(S1, *self._numbers(S1, "", oracle))
            case _:
                t, h = self._numbers(S1, "T_j", oracle, least=1)
                message = Bsub(S1, Lazy(oracle, subsets(FILTERS)), Timestamp(t, h), self._hops("h", oracle, 0))  # type: ignore[arg-type]
        return message

    @cached_property
    def _foreign_tables(self) -> tuple[tuple[Entry, ...], ...]:
        first = [[(), (Entry(f, B1, S1),), (Entry(f, B1, S1), Entry(f, S1, S1))] for f in FILTERS]
        second = [(), (Entry(F1, B3, S2),)]
        return tuple(tuple(sorted(entry for part in chosen for entry in part)) for chosen in product(*first, second))

    def _bmig(self, oracle: Oracle) -> Bmig:
        def stamped(s: SubscriberId, of: str) -> Stamped:
            return Stamped(s, *self._numbers(s, f"{of}({s})", oracle, least=1))

        first, second = oracle.pick(_LISTED if not self.assumptions else _LISTED[:4])
        children = [stamped(s, "C") for s, where in ((S1, first), (S2, second)) if "C" in where]
        others = [stamped(s, "O") for s, where in ((S1, first), (S2, second)) if "O" in where]
        return Bmig(tuple(children), tuple(others), self._hops("h", oracle, 0))

    def _numbers(self, s: SubscriberId, of: str, oracle: Oracle, least: int = 0) -> tuple[Any, Any]:
        """A message number and a hop count."""
        if not self.protocol.timestamps:
            return 0, 0
        t = oracle.unknown(f"{of}.t" if of else "t")
        if self.bounded:
            oracle.at_most(t, self.clock(s, oracle))
        return t, self._hops(f"{of}.h" if of else "h", oracle, least)

    def _hops(self, name: str, oracle: Oracle, least: int) -> Any:
        h = oracle.unknown(name)
        if self.bounded:
            oracle.at_most(least, h)
        return h

    @cached_property
    def places(self) -> Places:
        """Where everything of this universe lives."""
        w = self.world
        return Places(w, universe_of(w), {slot: way for way, slot in w.channel.items()}, frozenset(w.returned.values()))

    # -- concrete again --------------------------------------------------------------------------------

    def state(self, values: Mapping[Slot, Any]) -> State:
        """A whole state with these values in it."""
        return tuple(values.get(slot, value) for slot, value in enumerate(self.model.initial_states[0]))


def universes(
    protocol: str, readings: Readings, algorithms: Mapping[str, ModuleType] | None, bounded: bool
) -> Iterator[Universe]:
    """The universe under each variant of the assumptions that makes a difference to the protocol."""
    known = PROTOCOLS[protocol]
    for assumptions in VARIANTS:
        if known.queues or "bounce" not in assumptions:
            yield Universe(known, readings, assumptions, algorithms, bounded)

