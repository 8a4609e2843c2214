"""Conditions on a run, in words: `--reach "a BMIG of b3 is in flight when b6 migrates"`; and a model that watches for one.

Two sorts: a message is under way when something happens, and messages that belong together reach one broker.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from roamcheck.model.interface import (
    Disabled,
    Effect,
    Footprint,
    Layout,
    Model,
    Predicate,
    Property,
    Scope,
    Slot,
    SlotSpec,
    State,
    Step,
    Value,
    Word,
    fire,
)  # fmt: skip
from roamcheck.model.overlay import Overlay, link
from roamcheck.model.scenario import MESSAGE_KINDS
from roamcheck.model.world import Way, World
from roamcheck.spec.breach import Breach
from roamcheck.spec.messages import Bmig, BmigOnce, Bsub, Frame, Message, Pub, PubFor, Turn, kind

REACHED = "reached"
Memory = Any  # what a condition remembers of the run so far; hashable
EVENTS = (
    "B migrates [to C]; B merges [with C]; B crashes; S leaves; S arrives [at B]; the link B-C falls; a link falls; E is published; a KIND reaches B"
)
FORMS = (
    "KIND and KIND for S with the same t reach one broker",
    "a KIND is in flight on the link that falls",
    f"a KIND [of B] [for S] is in flight [from B to C|on the link that falls] when EVENT, where EVENT is one of: {EVENTS}",
)
FALLS = ("link-down", "migrate", "merge", "crash")


class ConditionError(ValueError):
    """Words that are not understood, or names that the scenario does not have; one line."""


@dataclass(frozen=True, slots=True)
class Happening:
    """A step of some actions, with some of its arguments given."""

    actions: tuple[str, ...]
    arguments: tuple[tuple[str, str], ...] = ()
    link: tuple[str, str] | None = None  # the one that falls
    kind: str | None = None  # of the message that is taken

    def fits(self, step: Step) -> bool:
        """The step may be this happening; which link falls, and which message is taken, is a matter of the state."""
        given = dict(step.arguments)
        return step.action in self.actions and all(given.get(name) == value for name, value in self.arguments)


@dataclass(frozen=True, slots=True)
class InFlight:
    """A message is under way when something happens."""

    kind: str
    sender: str | None
    subscriber: str | None
    way: Way | None
    falling: bool  # on a link that falls in that step
    when: Happening

    def ways(self, w: World) -> tuple[Way, ...]:
        """The channels on which it may be."""
        brokers = [way for way in w.channel if way[0] in w.broker and way[1] in w.broker] if self.falling else [*w.channel]
        return tuple(way for way in brokers if self.way in (None, way) and self.sender in (None, way[0]))

    def start(self) -> Memory:
        """Nothing has to be remembered."""
        return None

    def watches(self, w: World, step: Step) -> tuple[Slot, ...] | None:
        """What must be seen to tell whether the condition arises in this step; None where it cannot."""
        return (w.overlay, *(w.channel[way] for way in self.ways(w))) if self.when.fits(step) else None

    def see(self, w: World, memory: Memory, step: Step, head: Word | None, seen: dict[Slot, Value]) -> Memory:
        """What is remembered after the step, or REACHED."""
        fallen = falling(step, cast(Overlay, seen[w.overlay]))
        if self.when.link is not None and link(*map(cast(Any, str), self.when.link)) not in fallen:
            return memory
        if self.when.actions == FALLS and not fallen:
            return memory
        if self.when.kind is not None and (head is None or kind(cast(Message, head)) != self.when.kind):
            return memory
        ways = [way for way in self.ways(w) if not self.falling or link(*cast(Any, way)) in fallen]
        found = any(self.is_one(message) for way in ways for message in cast(tuple[Message, ...], seen[w.channel[way]]))
        return REACHED if found else memory

    def is_one(self, message: Message) -> bool:
        """The message is of the kind, and for the subscriber."""
        return kind(message) == self.kind and (self.subscriber is None or self.subscriber in dict(stamps(message)))


@dataclass(frozen=True, slots=True)
class Meeting:
    """Messages of two kinds for one subscriber, of one age, reach one broker."""

    kinds: tuple[str, str]
    subscriber: str

    def start(self) -> Memory:
        """What has reached whom: broker, kind, t."""
        return frozenset()

    def watches(self, w: World, step: Step) -> tuple[Slot, ...] | None:
        """The head of the channel is enough."""
        return () if step.action == "deliver" and dict(step.arguments)["to"] in w.broker else None

    def see(self, w: World, memory: Memory, step: Step, head: Word | None, seen: dict[Slot, Value]) -> Memory:
        """What is remembered after the step, or REACHED."""
        message, broker = cast(Message, head), dict(step.arguments)["to"]
        ages = [t for s, t in stamps(message) if s == self.subscriber] if kind(message) in self.kinds else []
        memory = memory | {(broker, kind(message), t) for t in ages}
        one, other = self.kinds
        return REACHED if any((broker, one, t) in memory and (broker, other, t) in memory for t in ages) and one != other else memory


Condition = InFlight | Meeting


def falling(step: Step, overlay: Overlay) -> frozenset[tuple[str, str]]:
    """The links between brokers that fall in this step."""
    given = dict(step.arguments)
    match step.action:
        case "link-down":
            return frozenset({link(*cast(Any, given["link"].split("–")))})
        case "migrate":
            b = cast(Any, given["broker"])
            old = overlay.follows(b)
            return frozenset({link(b, old)} if old is not None and overlay.is_up(b, old) else ())
        case "crash":
            b = cast(Any, given["broker"])
            return frozenset(link(b, n) for n in overlay.neighbours(b))
    return frozenset()


def stamps(message: Message) -> tuple[tuple[str, int], ...]:
    """The subscribers that a message speaks of, each with the number that it bears; 0 where it bears none."""
    match message:
        case Frame(_, inner):
            return stamps(inner)
        case Bmig(children, others) | BmigOnce(children, others):
            return tuple((one.subscriber, one.t) for one in (*children, *others))
        case Bsub(s, _, stamp):
            return ((s, stamp.t),)
        case Pub(_, sent_for) | PubFor(_, sent_for) | Turn(sent_for):
            return tuple((s, 0) for s in sent_for)
    subscriber = getattr(message, "subscriber", None)
    return () if subscriber is None else ((subscriber, getattr(message, "t", 0)),)


# ---- words ---------------------------------------------------------------------------------------------------

_KINDS = "(?:" + "|".join(sorted(MESSAGE_KINDS, key=len, reverse=True)) + ")"
_FLIGHT = re.compile(
    rf"an? (?P<kind>{_KINDS})(?: of (?P<of>\S+))?(?: for (?P<for>\S+))? is in flight"
    r"(?: from (?P<u>\S+) to (?P<v>\S+)| (?P<falling>on the link that falls)|)(?: when (?P<when>.+))?"
)
_MEETING = re.compile(rf"(?P<one>{_KINDS}) and (?P<other>{_KINDS}) for (?P<for>\S+) with the same t reach one broker")
_WHEN: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Happening]], ...] = (
    (re.compile(r"(\S+) migrates(?: to (\S+))?"), lambda m: Happening(("migrate",), _given(broker=m[1], to=m[2]))),
    (re.compile(r"(\S+) merges(?: with (\S+))?"), lambda m: Happening(("merge",), _given(broker=m[1], to=m[2]))),
    (re.compile(r"(\S+) crashes"), lambda m: Happening(("crash",), _given(broker=m[1]))),
    (re.compile(r"(\S+) leaves"), lambda m: Happening(("detach",), _given(subscriber=m[1]))),
    (re.compile(r"(\S+) arrives(?: at (\S+))?"), lambda m: Happening(("attach",), _given(subscriber=m[1], to=m[2]))),
    (re.compile(r"the link (\S+?)[-–](\S+) falls"), lambda m: Happening(FALLS, link=(m[1], m[2]))),
    (re.compile(r"a link falls"), lambda m: Happening(FALLS)),
    (re.compile(r"(\S+) is published"), lambda m: Happening(("publish",), _given(event=m[1]))),
    (re.compile(rf"an? ({_KINDS}) reaches (\S+)"), lambda m: Happening(("deliver",), _given(to=m[2]), kind=m[1])),
)  # fmt: skip


def _given(**arguments: str | None) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in arguments.items() if value is not None)


def condition(text: str, w: World) -> Condition:
    """What `--reach` asks for, in a scenario.  Raises ConditionError."""
    words = " ".join(text.split())
    if match := _MEETING.fullmatch(words):
        _check(w, text, {match["for"]: "subscriber"})
        return Meeting((match["one"], match["other"]), match["for"])
    match = _FLIGHT.fullmatch(words)
    if match is None or not (match["when"] or match["falling"]):
        raise ConditionError(f"--reach {text!r} is not understood; it is one of: {'; '.join(FORMS)}")
    when = _happening(text, match["when"]) if match["when"] else Happening(FALLS)
    names = {match["of"]: "broker or client", match["for"]: "subscriber", match["u"]: "broker or client", match["v"]: "broker or client"}
    names |= {value: {"broker": "broker", "to": "broker"}.get(name, name) for name, value in when.arguments}
    _check(w, text, {**names, **dict.fromkeys(when.link or (), "broker")})
    way = (match["u"], match["v"]) if match["u"] else None
    return InFlight(match["kind"], match["of"], match["for"], way, bool(match["falling"]), when)


def _happening(text: str, words: str) -> Happening:
    for pattern, build in _WHEN:
        if match := pattern.fullmatch(words):
            return build(match)
    raise ConditionError(f"--reach {text!r}: {words!r} is no event; it is one of: {EVENTS}")


def _check(w: World, text: str, names: dict[str | None, str]) -> None:
    events = [event.name for event in w.scenario.events]
    known: dict[str, list[str]] = {"broker": [*w.broker], "subscriber": [*w.subscriber], "event": events}
    known["broker or client"] = [*w.broker, *w.subscriber, *w.publisher]
    for name, what in names.items():
        if name is not None and name not in known[what]:
            raise ConditionError(f"--reach {text!r}: {name} is no {what} of this scenario; it has {', '.join(known[what])}")


# ---- a model that watches ------------------------------------------------------------------------------------


def arises(w: World, model: Model, wanted: Condition, steps: tuple[int, ...]) -> int | None:
    """The number of steps after which the condition has arisen on a run from the first initial state; None if it has not."""
    state, memory = model.initial_states[0], wanted.start()
    for number, index in enumerate(steps, 1):
        step = model.steps[index]
        memory = after(w, wanted, memory, step, state)
        if memory == REACHED:
            return number
        moved = fire(model, step, state)
        assert not isinstance(moved, Disabled), "a run fires"
        state = moved
    return None


def after(w: World, wanted: Condition, memory: Memory, step: Step, state: State) -> Memory:
    """What is remembered after a step that fires in this state."""
    slots, footprint = wanted.watches(w, step), step.footprint(state)
    if slots is None or isinstance(footprint, Disabled):
        return memory
    channel: Any = () if footprint.takes is None else state[footprint.takes]
    seen = {slot: channel[1:] if slot == footprint.takes else state[slot] for slot in slots}
    return wanted.see(w, memory, step, channel[0] if channel else None, seen)


@dataclass(frozen=True, slots=True)
class Watched:
    """A step that also looks at some slots, which it reads first, the selector foremost, and remembers in `memory` what came of it."""

    w: World
    wanted: Condition
    memory: Slot
    slots: tuple[Slot, ...]
    step: Step

    @property
    def first(self) -> tuple[Slot, ...]:
        """What is read besides, or before."""
        return tuple(dict.fromkeys((*(() if self.step.selector is None else (self.step.selector,)), self.memory, *self.slots)))

    def wider(self, footprint: Footprint) -> Footprint:
        """The step's footprint, and what is looked at besides."""
        return replace(footprint, reads=(*self.first, *(slot for slot in footprint.reads if slot not in self.first)))

    def select(self, value: Value) -> Footprint | Disabled:
        """The footprint that the step selects, wider."""
        assert self.step.select is not None
        found = self.step.select(value)
        return found if isinstance(found, Disabled) else self.wider(found)

    def react(self, head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        """What the step does, and what is remembered."""
        own = self.step.fixed if self.step.select is None else self.step.select(values[0])
        assert isinstance(own, Footprint), "the step was selected"
        reads = self.wider(own).reads
        seen = dict(zip(reads, values, strict=True))
        if own.takes in seen and own.takes not in own.reads:  # what is taken is under way no more
            assert own.takes is not None
            channel: Any = seen[own.takes]
            seen[own.takes] = channel[1:]
        effect = self.step.react(head, tuple(seen[slot] for slot in own.reads))
        if isinstance(effect, Disabled):
            return effect
        memory = self.wanted.see(self.w, seen[self.memory], self.step, head, {slot: seen[slot] for slot in self.slots})
        now = {**seen, **dict(zip(own.reads, effect.values, strict=True)), self.memory: memory}
        return replace(effect, values=tuple(now[slot] for slot in reads))


def watching(w: World, model: Model, wanted: Condition) -> Model:
    """The model with one more slot, which says in the end whether the condition arose; its only property is that it does not.

    Steps have the same numbers, so that a run of the one is a run of the other.
    """
    memory = len(model.layout.slots)
    layout = Layout((*model.layout.slots, SlotSpec("(watch)")))
    starts = tuple((*state, wanted.start()) for state in model.initial_states)
    steps = tuple(_watched(w, wanted, memory, step) for step in model.steps)
    breach = Breach("the condition arises", ())
    never = Property("reach", Scope.EVERY_STATE, (Predicate((memory,), lambda values: breach if values[0] == REACHED else None),))

    def idle(slot: Slot, value: Value) -> bool:
        return slot == memory or model.idle(slot, value)

    return Model(model.name, layout, starts, steps, (never,), idle, model.budget, model.spent)


def _watched(w: World, wanted: Condition, memory: Slot, step: Step) -> Step:
    slots = wanted.watches(w, step)
    if slots is None:
        return step
    watched = Watched(w, wanted, memory, slots, step)
    if step.select is None:
        return replace(step, fixed=watched.wider(step.fixed), react=watched.react, within=None, narrows=None)
    return replace(step, select=watched.select, react=watched.react, within=None, narrows=None)
