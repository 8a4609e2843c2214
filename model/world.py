"""Where everything of a scenario lives in the state vector, and what all its steps share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from roamcheck.spec import custody, frames
from roamcheck.spec.arrow_state import ArrowBroker
from roamcheck.spec.frames import LayeredPublisher, LayeredSubscriber, Line
from roamcheck.spec.messages import EVENTFUL, Ack, BrokerId, EventId, FilterId, Filters, Frame, Got, Message, Pub, PublisherId, Rep, SubscriberId
from roamcheck.spec.protocols import Behaviour, Protocol
from roamcheck.spec.rules import Rules
from roamcheck.spec.state import Broker, Owed, Publisher, Received, Send, Subscriber

from .interface import Slot, Value, Word
from .scenario import Assumptions, Scenario

Client = SubscriberId | PublisherId
Way = tuple[str, str]  # a directed channel: (from, to)
End = TypeVar("End", bound=Broker | Subscriber | Publisher)  # of a link
Client_ = TypeVar("Client_", Subscriber, Publisher)


@dataclass(frozen=True, slots=True)
class Budget:
    """What the environment has done and may still do."""

    fired: tuple[str, ...]  # ids of moves, in order of name
    left: tuple[tuple[str, int], ...]  # free budgets: name → how many remain
    roaming: tuple[SubscriberId, ...] = ()  # detached by a free client move; may attach anywhere for nothing

    def remaining(self, name: str) -> int:
        """How many of the free budget `name` remain."""
        return next((n for key, n in self.left if key == name), 0)

    def spend(self, name: str) -> Budget:
        """One less of the free budget `name`."""
        return Budget(self.fired, tuple([(key, n - 1 if key == name else n) for key, n in self.left]), self.roaming)


@dataclass(frozen=True, slots=True)
class World:
    """A scenario under a protocol, readings and assumptions, with the slots of its state vector."""

    scenario: Scenario
    protocol: Protocol
    rules: Rules
    acts: Behaviour
    assume: Assumptions
    overlay: Slot
    budget: Slot
    broker: dict[BrokerId, Slot]
    subscriber: dict[SubscriberId, Slot]
    publisher: dict[PublisherId, Slot]
    channel: dict[Way, Slot]  # both ways of each link that may ever be; clients' only when client-links = queued
    returned: dict[Way, Slot]  # what the sender has yet to learn of, only when bounce = later
    unnoticed: dict[Way, Slot]  # (u, v): whether u has yet to notice that its link to v has fallen, only when notice = apart
    linkable: dict[BrokerId, tuple[BrokerId, ...]]  # whom a broker may ever be linked with
    visitors: dict[BrokerId, tuple[Client, ...]]  # clients that may ever be attached to a broker
    names: tuple[str, ...]  # of the slots

    @property
    def instant(self) -> bool:
        """What passes between a client and its broker is handled in the step that sends it."""
        return self.assume.client_links == "instant"

    @property
    def later(self) -> bool:
        """A sender learns of what was not delivered in a step of its own."""
        return self.assume.bounce == "later"

    @property
    def framed(self) -> bool:
        """Reading acknowledged-links: frames go over the links."""
        return self.rules.readings.acknowledged_links == "on"

    @property
    def layered(self) -> bool:
        """With a layer, an event may reach a subscriber again, which throws away what it has."""
        return self.framed or self.rules.readings.custody == "on"

    @property
    def falling_links_return(self) -> bool:
        """A link that falls gives its PUBs and REPs back."""
        return self.protocol.queues and self.assume.in_flight == "returned"

    def outgoing(self, *brokers: BrokerId) -> tuple[Slot, ...]:
        """All slots that a reaction of these brokers may append to."""
        slots: set[Slot] = set()
        for b in brokers:
            slots.update(self.channel[b, v] for v in self.linkable[b])
            for client in self.visitors[b]:
                if client in self.subscriber or (b, client) in self.channel:
                    slots.add(self.subscriber[SubscriberId(client)] if self.instant else self.channel[b, client])
        return tuple(sorted(slots))

    @property
    def apart(self) -> bool:
        """The two ends of a link that falls notice it in steps of their own."""
        return self.assume.notice == "apart"

    def to_notice(self, *ways: Way) -> tuple[Slot, ...]:
        """The slots of what has yet to be noticed there."""
        return tuple(self.unnoticed[way] for way in ways if way in self.unnoticed)

    def pending_returns(self, *ways: Way) -> tuple[Slot, ...]:
        """The slots of what the senders on these ways have yet to learn of."""
        return tuple(self.returned[way] for way in ways if way in self.returned)


class Words:
    """What a step appends, collected per slot in order."""

    def __init__(self) -> None:
        self._words: dict[Slot, list[Word]] = {}

    def add(self, slot: Slot, *words: Word) -> None:
        """Append these words to `slot`."""
        if words:
            self._words.setdefault(slot, []).extend(words)

    def collected(self) -> tuple[tuple[Slot, tuple[Word, ...]], ...]:
        """Slot by slot, in slot order."""
        return tuple((slot, tuple(words)) for slot, words in sorted(self._words.items()))


def emit(w: World, i: Broker, sends: Iterable[Send], words: Words) -> Broker:
    """Put a broker's sends on their way.  One to an interface that is not up is a failed send and treated like a return."""
    for to, message in sends:
        if not i.is_up(to):
            i = give_back(w, i, to, message, words)
        elif (i.me, to) in w.channel:
            i = transmit(w, i, to, (message,), words)
        elif isinstance(message, Filters):
            raise AssertionError(f"{i.me} sends FILTERS to {to} outside a conversation")
        else:
            words.add(w.subscriber[SubscriberId(to)], Received(message.event))  # type: ignore[union-attr]
            if w.rules.readings.custody == "on":
                i, back = w.acts.handle(i, to, Got(message.event), w.rules)  # type: ignore[union-attr]
                i = emit(w, i, back, words)
    return i


def transmit(w: World, sender: End, to: str, messages: Iterable[Message], words: Words) -> End:
    """Messages go over a link, in frames where the links are acknowledged."""
    slot = w.channel[sender.me, to]
    if not w.framed:
        words.add(slot, *messages)
        return sender
    for m in messages:
        line, frame = frames.send(line_of(sender, to), m)
        words.add(slot, frame)
        sender = with_line(sender, to, line)
    return sender


def take(w: World, receiver: End, z: str, head: Message, words: Words) -> tuple[End, Message | None]:
    """What arrives from z: the message, None where the link keeps it to itself."""
    if isinstance(head, Ack):
        return with_line(receiver, z, frames.acknowledged(line_of(receiver, z), head)), None
    if not isinstance(head, Frame):
        return receiver, head
    line, ack, message = frames.take(line_of(receiver, z), head)
    words.add(w.channel[receiver.me, z], ack)
    return with_line(receiver, z, line), message


def line_of(end: End, z: str) -> Line:
    """Its end of the acknowledged link to z."""
    if isinstance(end, ArrowBroker):
        return end.line(z)  # type: ignore[arg-type]
    assert isinstance(end, LayeredSubscriber | LayeredPublisher)
    return end.line


def with_line(end: End, z: str, line: Line) -> End:
    """The same, with that end changed."""
    if isinstance(end, ArrowBroker):
        return end.with_line(z, line)  # type: ignore[arg-type]
    assert isinstance(end, LayeredSubscriber | LayeredPublisher)
    return replace(end, line=line)


def hung_up(client: Client_) -> Client_:
    """A client whose link is down: the next begins anew."""
    return replace(client, line=frames.FRESH) if isinstance(client, LayeredSubscriber | LayeredPublisher) else client


def receive(w: World, i: Broker, z: str, message: Message, words: Words) -> Broker:
    """Broker i handles a message from z; debts that arise are recorded."""
    record_debts(w, i, z, message, words)
    i, sends = w.acts.handle(i, z, message, w.rules)  # type: ignore[arg-type]
    return emit(w, i, sends, words)


def record_debts(w: World, i: Broker, z: str, message: Message, words: Words) -> None:
    """When the publisher's broker handles PUB(e), e is owed to each s with a matching entry in its table at that moment."""
    if not isinstance(message, Pub) or z not in w.publisher:
        return
    e = message.event
    known = tuple(sorted({f for f, _, _ in i.routing if w.rules.matches(f, e)}))
    if not known:
        return
    if not w.rules.names_subscribers:
        for slot in w.subscriber.values():
            words.add(slot, Owed(e, known))
        return
    for s in i.known():
        if s in w.subscriber and any(f in known for f in i.filters(s)):
            words.add(w.subscriber[s], Owed(e))


def record(rules: Rules, value: Value, words: tuple[Word, ...]) -> Value:
    """Fold ghost words into a subscriber: debts and arrivals."""
    assert isinstance(value, Subscriber)
    s = value
    for word in words:
        if isinstance(word, Received) and isinstance(s, LayeredSubscriber):
            if word.event not in s.has:
                s = replace(s, received=(*s.received, word.event), has=(*s.has, word.event))
        elif isinstance(word, Received):
            s = replace(s, received=(*s.received, word.event))
        elif isinstance(word, Owed) and _wanted(rules, s, word.event, word.via):
            s = replace(s, owed=tuple(sorted({*s.owed, word.event})))
    return s


def _wanted(rules: Rules, s: Subscriber, e: EventId, via: tuple[FilterId, ...] | None) -> bool:
    return any(rules.matches(f, e) and (via is None or f in via) for f in s.wants)


def converse(w: World, i: Broker, s: Subscriber, messages: Iterable[Message], words: Words) -> tuple[Broker, Subscriber]:
    """client-links = instant: the broker handles what its subscriber sends, and the subscriber what comes back, until neither has anything to say."""
    pending = list(messages)
    while pending:
        i, sends = w.acts.handle(i, s.me, pending.pop(0), w.rules)
        others = []
        for send in sends:
            if send.to != s.me:
                others.append(send)
            elif isinstance(send.message, Filters):
                s, more = w.acts.clients.on_filters(s, send.message, w.rules)
                pending += more
            elif isinstance(send.message, Pub | Rep):
                s = cast(Subscriber, record(w.rules, s, (Received(send.message.event),)))
                if w.rules.readings.custody == "on":
                    pending.append(Got(send.message.event))
        i = emit(w, i, others, words)
    return i, s


def drop(w: World, i: Broker, z: str) -> Broker:
    """i has no link to z any more, and does what its protocol does then."""
    i = i.unlinked(z)  # type: ignore[arg-type]
    return i if w.acts.fall is None else w.acts.fall(i, z, w.rules)  # type: ignore[arg-type]


def coming_back(w: World, i: Broker, z: str, in_flight: tuple[Message, ...]) -> tuple[Message, ...]:
    """What i gets back when the link to z falls: what it knows of by itself, with a layer, or else what is in flight, if that returns."""
    if not w.layered or not i.is_up(z):  # type: ignore[arg-type]
        return in_flight
    assert isinstance(i, ArrowBroker)
    if w.rules.readings.custody == "on":
        return custody.comes_back(i, z)  # type: ignore[arg-type]
    return i.line(z).unacknowledged  # type: ignore[arg-type]


def lose_link(w: World, i: Broker, z: str, in_flight: tuple[Message, ...], words: Words) -> Broker:
    """The link between i and z is down: i drops z, and learns now or later which PUBs and REPs it had under way were not delivered."""
    in_flight = coming_back(w, i, z, in_flight)
    i = drop(w, i, z)
    if w.falling_links_return or w.layered:
        for message in in_flight:
            i = give_back(w, i, z, message, words)
    return i


def give_back(w: World, i: Broker, z: str, message: Message, words: Words) -> Broker:
    """i learns, now or later, that z did not get the message; it cares for PUB and REP alone."""
    if not w.protocol.queues or not isinstance(message, EVENTFUL):
        return i
    if w.later and (i.me, z) in w.returned:  # a stranger to whom no link can ever lead is found out at once
        words.add(w.returned[i.me, z], message)
        return i
    i, sends = w.acts.on_return(i, z, message, w.rules)  # type: ignore[arg-type]
    return emit(w, i, sends, words)
