"""Small models through the narrow waist, none of which knows of publish/subscribe.

Each is a function that closes a protocol into a `Model`; what can be varied is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from roamcheck.model.interface import (
    Disabled,
    Effect,
    Footprint,
    Kind,
    Layout,
    Model,
    Predicate,
    Property,
    Scope,
    Slot,
    SlotSpec,
    Step,
    Value,
    Word,
)
from roamcheck.spec.breach import Breach


def never(name: str, slot: Slot, bad: Callable[[Any], bool], scope: Scope = Scope.EVERY_STATE, decisive: bool = True) -> Property:
    """No value of the slot is bad."""

    def check(values: tuple[Value, ...]) -> Breach | None:
        return Breach("bad", (("value", str(values[0])),)) if bad(values[0]) else None

    return Property(name, scope, (Predicate((slot,), check),), decisive)


def always_idle(slot: Slot, value: Value) -> bool:
    """Nothing is ever owed: every state is quiescent."""
    return True


# ---- two-phase commit: Gray & Lamport, "Consensus on Transaction Commit", module TwoPhase ----


class Rm(Enum):
    """rmState[rm]."""

    WORKING = "working"
    PREPARED = "prepared"
    COMMITTED = "committed"
    ABORTED = "aborted"


class Tm(Enum):
    """tmState."""

    INIT = "init"
    COMMITTED = "committed"
    ABORTED = "aborted"


def union(messages: Value, words: tuple[Word, ...]) -> Value:
    """Add to a set of messages from which nothing is removed."""
    assert isinstance(messages, frozenset)
    return messages | set(words)


@dataclass(frozen=True)
class TwoPhase:
    """The slots: rmState of each resource manager, tmState, tmPrepared, msgs."""

    rms: int

    @property
    def tm(self) -> Slot:
        return self.rms

    @property
    def prepared(self) -> Slot:
        return self.rms + 1

    @property
    def msgs(self) -> Slot:
        return self.rms + 2

    def model(self, *properties: Property) -> Model:
        """`TCConsistent` is always asked: no resource manager has aborted while another has committed."""
        names = [f"rm{rm}" for rm in range(self.rms)] + ["tm", "prepared"]
        start = ((Rm.WORKING,) * self.rms) + (Tm.INIT, frozenset(), frozenset())
        layout = Layout((*map(SlotSpec, names), SlotSpec("msgs", union)))
        steps = tuple(step for rm in range(self.rms) for step in self._of_rm(rm)) + self._of_tm()
        pairs = [(a, b) for a in range(self.rms) for b in range(self.rms) if a != b]
        consistent = Property("consistent", Scope.EVERY_STATE, tuple(Predicate(pair, _consistent) for pair in pairs))
        return Model(f"two-phase commit, {self.rms} managers", layout, (start,), steps, (consistent, *properties), always_idle)

    def _of_tm(self) -> tuple[Step, ...]:
        def commit(_: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
            tm, prepared = values
            if tm is not Tm.INIT:
                return Disabled('tmState = "init"')
            if prepared != frozenset(range(self.rms)):
                return Disabled("tmPrepared = RM")
            return Effect((Tm.COMMITTED, prepared), ((self.msgs, ("commit",)),))

        def abort(_: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
            return Effect((Tm.ABORTED,), ((self.msgs, ("abort",)),)) if values[0] is Tm.INIT else Disabled('tmState = "init"')

        return (
            Step("tm-commit", (), Kind.PROTOCOL, commit, Footprint(reads=(self.tm, self.prepared), appends=(self.msgs,))),
            Step("tm-abort", (), Kind.PROTOCOL, abort, Footprint(reads=(self.tm,), appends=(self.msgs,))),
        )

    def _of_rm(self, rm: int) -> tuple[Step, ...]:
        def tm_receives(_: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
            tm, prepared, msgs = values
            assert isinstance(prepared, frozenset)
            assert isinstance(msgs, frozenset)
            if tm is not Tm.INIT:
                return Disabled('tmState = "init"')
            return Effect((tm, prepared | {rm}, msgs)) if ("prepared", rm) in msgs else Disabled("Prepared(rm) in msgs")

        def prepare(_: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
            return Effect((Rm.PREPARED,), ((self.msgs, (("prepared", rm),)),)) if values[0] is Rm.WORKING else Disabled('rmState[rm] = "working"')

        def choose_to_abort(_: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
            return Effect((Rm.ABORTED,)) if values[0] is Rm.WORKING else Disabled('rmState[rm] = "working"')

        def hear(word: str, state: Rm) -> Callable[[Word | None, tuple[Value, ...]], Effect | Disabled]:
            def react(_: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
                assert isinstance(values[1], frozenset)
                return Effect((state, values[1])) if word in values[1] else Disabled(f"{word} in msgs")

            return react

        who = (("rm", f"rm{rm}"),)
        return (
            Step("tm-receives", who, Kind.PROTOCOL, tm_receives, Footprint(reads=(self.tm, self.prepared, self.msgs))),
            Step("prepare", who, Kind.PROTOCOL, prepare, Footprint(reads=(rm,), appends=(self.msgs,))),
            Step("choose-to-abort", who, Kind.ENVIRONMENT, choose_to_abort, Footprint(reads=(rm,))),
            Step("hear-commit", who, Kind.PROTOCOL, hear("commit", Rm.COMMITTED), Footprint(reads=(rm, self.msgs))),
            Step("hear-abort", who, Kind.PROTOCOL, hear("abort", Rm.ABORTED), Footprint(reads=(rm, self.msgs))),
        )


def _consistent(values: tuple[Value, ...]) -> Breach | None:
    return Breach("aborted beside committed") if values == (Rm.ABORTED, Rm.COMMITTED) else None


# ---- a graph given as a list of edges ----


@dataclass(frozen=True)
class Edge:
    """A step from node to node.  `serves` is a flag: 1, 2, …"""

    source: int
    target: int
    serves: int | None = None
    kind: Kind = Kind.PROTOCOL


def digraph(
    edges: Iterable[Edge | tuple[int, int]],
    *properties: Property,
    initial: tuple[int, ...] = (0,),
    raised: Mapping[int, frozenset[int]] | None = None,
    unspent: frozenset[int] = frozenset(),
) -> Model:
    """Slot 0 holds the node; the slots 1, 2, … are flags, busy in the nodes whose set in `raised` has them.

    The budget is spent in all nodes but the `unspent` ones.
    """
    raised = raised or {}
    flags = range(1, 1 + max((flag for flags in raised.values() for flag in flags), default=0))
    slots = (0, *flags)

    def state(node: int) -> tuple[Value, ...]:
        return (node, *(flag in raised.get(node, ()) for flag in flags))

    def step(number: int, edge: Edge) -> Step:
        def react(_: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
            return Effect(state(edge.target)) if values[0] == edge.source else Disabled(f"at {edge.source}")

        arguments = (("edge", str(number)), ("from", str(edge.source)), ("to", str(edge.target)))
        return Step("go", arguments, edge.kind, react, Footprint(reads=slots), serves=edge.serves)

    steps = tuple(step(number, edge if isinstance(edge, Edge) else Edge(*edge)) for number, edge in enumerate(edges))
    layout = Layout((SlotSpec("node"), *(SlotSpec(f"flag{flag}") for flag in flags)))
    start = tuple(map(state, initial))
    return Model("digraph", layout, start, steps, properties, lambda slot, value: slot == 0 or not value, (0,), lambda v: v[0] not in unspent)


# ---- counters, channels, links ----


def counter(limit: int, *properties: Property, fails_at: int | None = None) -> Model:
    """Counts to `limit` in steps of one and of two; raises when a step of one is to leave `fails_at`."""

    def add(amount: int) -> Callable[[Word | None, tuple[Value, ...]], Effect | Disabled]:
        def react(_: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
            assert isinstance(values[0], int)
            if amount == 1 and values[0] == fails_at:
                raise ZeroDivisionError("a defect of the model")
            return Effect((values[0] + amount,)) if values[0] + amount <= limit else Disabled("below the limit")

        return react

    steps = tuple(Step("add", (("amount", str(amount)),), Kind.PROTOCOL, add(amount), Footprint(reads=(0,)), serves=0) for amount in (1, 2))
    return Model("counter", Layout((SlotSpec("n"),)), ((0,),), steps, properties, lambda slot, value: value == limit)


def ping_pong(*properties: Property, whistle: bool = False, closing: bool = False) -> Model:
    """A ball goes to and fro over two channels for ever: a fair cycle.

    With `whistle`, a message waits in a third channel, and once it is heard a ball that arrives is kept: the cycle is left unfair.
    With `closing`, the environment's one step waits for silence, and so for ever.
    """
    ab, ba, mail, over, left = range(5)

    def hit(target: Slot) -> Callable[[Word | None, tuple[Value, ...]], Effect | Disabled]:
        return lambda head, values: Effect(values, () if values[0] else ((target, (head,)),))

    def close(_: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        return Effect((0,)) if values[0] else Disabled("open")

    steps = [
        Step("hit", (("by", "b"),), Kind.PROTOCOL, hit(ba), Footprint(ab, (over,), (ba,)), serves=ab),
        Step("hit", (("by", "a"),), Kind.PROTOCOL, hit(ab), Footprint(ba, (over,), (ab,)), serves=ba),
        Step("hear", (), Kind.PROTOCOL, lambda head, values: Effect((True,)), Footprint(mail, (over,)), serves=mail),
        Step("close", (), Kind.ENVIRONMENT, close, Footprint(reads=(left,)), only_when_quiescent=True),
    ]
    start = (("ball",), (), ("whistle",) if whistle else (), False, int(closing))
    layout = Layout(tuple(map(SlotSpec, ("ab", "ba", "mail", "over", "left"))))
    return Model("ping-pong", layout, (start,), tuple(steps), properties, lambda slot, value: slot > mail or not value, (left,), lambda v: not v[0])


def lossy_channel(words: int, losses: int, *properties: Property) -> Model:
    """The environment sends the numbers 0, 1, … over a channel; up to `losses` of them are lost.  Slots: channel, received, sent, lost."""
    channel, received, sent, lost = range(4)

    def send(_: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        assert isinstance(values[0], int)
        return Effect((values[0] + 1,), ((channel, (values[0],)),)) if values[0] < words else Disabled("words are left")

    def lose(_: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        assert isinstance(values[0], int)
        return Effect((values[0] + 1,)) if values[0] < losses else Disabled("losses are left")

    def receive(head: Word | None, _: tuple[Value, ...]) -> Effect | Disabled:
        return Effect((), ((received, (head,)),))

    steps = (
        Step("deliver", (), Kind.PROTOCOL, receive, Footprint(channel, (), (received,)), serves=channel),
        Step("send", (), Kind.ENVIRONMENT, send, Footprint(reads=(sent,), appends=(channel,))),
        Step("lose", (), Kind.LOSS, lose, Footprint(channel, (lost,))),
    )
    layout = Layout(tuple(map(SlotSpec, ("channel", "received", "sent", "lost"))))
    start = ((), (), 0, 0)
    budget = (words, losses)
    return Model("lossy", layout, (start,), steps, properties, lambda slot, value: slot != channel or not value, (sent, lost), lambda v: v == budget)


def arrived(words: int, scope: Scope, decisive: bool = True) -> Property:
    """Of a lossy channel: all that was sent has arrived."""

    def check(values: tuple[Value, ...]) -> Breach | None:
        received, sent = values
        assert isinstance(received, tuple)
        return None if len(received) == sent else Breach("sent and not received", (("received", str(received)), ("sent", str(sent))))

    return Property("arrived", scope, (Predicate((1, 2), check),), decisive)


def crane(*properties: Property) -> Model:
    """Loads go from two piles to a heap, by a crane that stands over the first, the second, or neither: its place selects what it takes from."""
    place, heap = 2, 3

    def select(value: Value) -> Footprint | Disabled:
        assert isinstance(value, int)
        return Footprint(value, (place,), (heap,)) if value < 2 else Disabled("over a pile")

    def turn(_: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        assert isinstance(values[0], int)
        return Effect((values[0] + 1,)) if values[0] < 2 else Disabled("not at the end")

    steps = (
        Step("lift", (), Kind.PROTOCOL, lambda head, values: Effect(values, ((heap, (head,)),)), selector=place, select=select),
        Step("turn", (), Kind.ENVIRONMENT, turn, Footprint(reads=(place,))),
    )
    layout = Layout(tuple(map(SlotSpec, ("pile0", "pile1", "place", "heap"))))
    start = (("a", "b"), ("c",), 0, ())
    return Model("crane", layout, (start,), steps, properties, lambda slot, value: slot > 1 or not value, (place,), lambda v: v[0] == 2)
