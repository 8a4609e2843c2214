"""The environment's moves: what clients, links and brokers do, each while its budget lasts and its guard holds (semantics section 3).

A move is claimed in the budget first: one of the scenario's own is due once, after those that it follows; a free one costs one of its kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, permutations
from typing import cast

from roamcheck.spec.messages import BrokerId, EventId, FilterId, Message, Pub, PublisherId, SubscriberId
from roamcheck.spec.state import Broker, Publisher, Subscriber

from .bounds import may_attach, places, widest
from .interface import Disabled, Effect, Footprint, Kind, Step, Value, Word
from .overlay_moves import Arguments, Claim, crash, link_down, merge, migrate
from .scenario import Move
from .world import Budget, Words, World, converse, hung_up, lose_link, receive, transmit


def environment_steps(w: World) -> Iterator[Step]:
    """The scenario's moves in their order, then the free ones."""
    for move in w.scenario.moves:
        claim = due(w, move)
        if move.do == "attach" and move.subscriber:
            claim = landing(claim, cast(SubscriberId, move.subscriber))
        yield replace(guarded(w, scenario_step(w, move, claim), claim), only_when_quiescent=move.when == "quiescent")
    yield from free_steps(w)


def due(w: World, move: Move) -> Claim:
    """A move of the scenario fires once, after those that it follows."""

    fired = Disabled(f"{move.id} has not fired yet", w.budget, for_good=True)

    def claim(budget: Budget) -> Budget | Disabled:
        if move.id in budget.fired:
            return fired
        if missing := [before for before in move.after if before not in budget.fired]:
            return Disabled(f"{move.id} comes after {', '.join(missing)}", w.budget)
        return Budget(tuple(sorted((*budget.fired, move.id))), budget.left, budget.roaming)

    return claim


def costs(w: World, name: str) -> Claim:
    """A free move costs one of its kind."""

    spent = Disabled(f"free {name} remain", w.budget, for_good=True)

    def claim(budget: Budget) -> Budget | Disabled:
        return budget.spend(name) if budget.remaining(name) else spent

    return claim


def guarded(w: World, step: Step, claim: Claim) -> Step:
    """The step, with its claim as a guard of its own."""

    def claims(budget: Value) -> Budget | Disabled:
        return claim(cast(Budget, budget))

    def refuse(budget: Value) -> Disabled | None:
        claimed = claims(budget)
        return claimed if isinstance(claimed, Disabled) else None

    return replace(step, guard=(w.budget, refuse), claims=claims)


def scenario_step(w: World, move: Move, claim: Claim) -> Step:
    """The step of one of the scenario's own moves."""
    more = (("move", move.id),)
    s, p, to = cast(SubscriberId, move.subscriber), cast(PublisherId, move.publisher), cast(BrokerId, move.to)
    match move.do:
        case "publish":
            return publish(w, cast(EventId, move.event), claim, more)
        case "subscribe" | "unsubscribe":
            return change_filter(w, move.do, s, cast(FilterId, move.filter), claim, more)
        case "attach":
            return attach(w, s, to, claim, more) if s else attach_publisher(w, p, to, claim, more)
        case "detach":
            return detach(w, s, claim, more) if s else detach_publisher(w, p, claim, more)
        case "link-down":
            u, v = cast(tuple[BrokerId, BrokerId], move.link)
            return link_down(w, u, v, claim, more)
        case "migrate":
            return migrate(w, cast(BrokerId, move.broker), to, claim, more)
        case "merge":
            return merge(w, cast(BrokerId, move.broker), to, claim, more)
        case _:
            return crash(w, cast(BrokerId, move.broker), move.state == "volatile", claim, more)


def free_steps(w: World) -> Iterator[Step]:
    """The free moves: the explorer chooses what, where and when."""
    free = w.scenario.free
    if free.publish:
        reserved = {move.event for move in w.scenario.moves}
        for event in w.scenario.events:
            if event.name not in reserved:
                yield guarded(w, publish(w, EventId(event.name), costs(w, "publish"), ()), costs(w, "publish"))
    if free.client_moves:
        for s in w.subscriber:
            leaves, lands = leaving(costs(w, "client-moves"), s), landing(returns_from_roaming(w, s), s)
            yield guarded(w, detach(w, s, leaves, ()), leaves)
            for b in w.broker:
                yield guarded(w, attach(w, s, b, lands, ()), lands)
    if free.link_failures:
        for u, v in combinations(w.broker, 2):
            if v in w.linkable[u]:
                yield guarded(w, link_down(w, u, v, costs(w, "link-failures"), ()), costs(w, "link-failures"))
    if free.broker_moves:
        for b, to in permutations(w.broker, 2):
            yield guarded(w, migrate(w, b, to, costs(w, "broker-moves"), ()), costs(w, "broker-moves"))
    if free.merges:
        for b, to in permutations(w.broker, 2):
            yield guarded(w, merge(w, b, to, costs(w, "merges"), ()), costs(w, "merges"))
    for name, volatile in (("crashes", False), ("volatile-crashes", True)):
        if free.crashes if name == "crashes" else free.volatile_crashes:
            for b in w.broker:
                yield guarded(w, crash(w, b, volatile, costs(w, name), ()), costs(w, name))


def returns_from_roaming(w: World, s: SubscriberId) -> Claim:
    """The attach that follows a free detach is free."""

    def claim(budget: Budget) -> Budget | Disabled:
        if s not in budget.roaming:
            return Disabled(f"{s} is on a free client move", w.budget, for_good=not budget.remaining("client-moves"))
        return budget

    return claim


def leaving(claim: Claim, s: SubscriberId) -> Claim:
    """The claim, with which s goes roaming."""

    def leaves(budget: Budget) -> Budget | Disabled:
        claimed = claim(budget)
        return claimed if isinstance(claimed, Disabled) else replace(claimed, roaming=tuple(sorted((*claimed.roaming, s))))

    return leaves


def landing(claim: Claim, s: SubscriberId) -> Claim:
    """The claim, with which s is back from where it roams, if it does."""

    def lands(budget: Budget) -> Budget | Disabled:
        claimed = claim(budget)
        return claimed if isinstance(claimed, Disabled) else replace(claimed, roaming=tuple(other for other in claimed.roaming if other != s))

    return lands


# ---- publishers -------------------------------------------------------------------------------------


def publish(w: World, e: EventId, claim: Claim, more: Arguments) -> Step:
    """publish(e): its publisher hands it to the broker that it is attached to."""
    p = PublisherId(next(event.publisher for event in w.scenario.events if event.name == e))
    slot = w.publisher[p]
    arguments = (("publisher", p), ("event", e), *more)
    detached = Disabled(f"{p} is attached", slot, for_good=not may_attach(w.scenario, p))

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        budget, publisher = claim(cast(Budget, values[0])), cast(Publisher, values[1])
        if isinstance(budget, Disabled):
            return budget
        if not publisher.attached or publisher.broker is None:
            return detached
        if e in publisher.published:
            return Disabled(f"{e} has not been published yet", slot, for_good=True)
        words, after = Words(), replace(publisher, published=(*publisher.published, e))
        if not w.instant:
            after = transmit(w, after, publisher.broker, (Pub(e),), words)
            return Effect((budget, after), words.collected())
        i = receive(w, cast(Broker, values[2]), p, Pub(e), words)
        return Effect((budget, after, i), words.collected())

    if not w.instant:
        channels = tuple(w.channel[p, b] for b in w.broker if (p, b) in w.channel)
        return Step("publish", arguments, Kind.ENVIRONMENT, react, Footprint(None, (w.budget, slot), channels))

    def at(b: BrokerId) -> Footprint:
        return Footprint(None, (w.budget, slot, w.broker[b]), tuple(sorted({*w.outgoing(b), *w.subscriber.values()})))

    def select(value: Value) -> Footprint | Disabled:
        publisher = cast(Publisher, value)
        return at(publisher.broker) if publisher.attached and publisher.broker is not None else detached

    return Step("publish", arguments, Kind.ENVIRONMENT, react, selector=slot, select=select, within=widest(*map(at, places(w, p))))


def attach_publisher(w: World, p: PublisherId, b: BrokerId, claim: Claim, more: Arguments) -> Step:
    """attach(p, b): the publisher's link comes up."""
    slot = w.publisher[p]

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        budget, publisher = claim(cast(Budget, values[0])), cast(Publisher, values[1])
        if isinstance(budget, Disabled):
            return budget
        if publisher.attached:
            return Disabled(f"{p} is detached", slot)
        return Effect((budget, w.acts.clients.attach_publisher(publisher, b), cast(Broker, values[2]).joined_by_publisher(p)))

    return Step("attach", (("publisher", p), ("to", b), *more), Kind.ENVIRONMENT, react, Footprint(None, (w.budget, slot, w.broker[b])))


def detach_publisher(w: World, p: PublisherId, claim: Claim, more: Arguments) -> Step:
    """detach(p): the publisher's link goes down; what it had under way is lost."""
    slot, detached = w.publisher[p], Disabled(f"{p} is attached", w.publisher[p], for_good=not may_attach(w.scenario, p))

    def at(b: BrokerId) -> Footprint:
        ways = (way for way in ((p, b), (b, p)) if way in w.channel)
        return Footprint(None, (w.budget, slot, w.broker[b], *(w.channel[way] for way in ways)))

    def select(value: Value) -> Footprint | Disabled:
        publisher = cast(Publisher, value)
        return at(publisher.broker) if publisher.attached and publisher.broker is not None else detached

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        budget = claim(cast(Budget, values[0]))
        if isinstance(budget, Disabled):
            return budget
        publisher = hung_up(w.acts.clients.detach_publisher(cast(Publisher, values[1])))
        return Effect((budget, publisher, cast(Broker, values[2]).unlinked(p), *(() for _ in values[3:])))

    within = widest(*map(at, places(w, p)))
    return Step("detach", (("publisher", p), *more), Kind.ENVIRONMENT, react, selector=slot, select=select, within=within)


# ---- subscribers ------------------------------------------------------------------------------------


def say(w: World, s: Subscriber, sends: tuple[Message, ...], i: Broker | None, words: Words) -> tuple[Subscriber, Broker | None]:
    """A subscriber's messages go to its broker: through the channel, or at once under client-links = instant."""
    if i is not None and w.instant:
        i, s = converse(w, i, s, sends, words)
    elif sends:
        s = transmit(w, s, cast(BrokerId, s.broker), sends, words)
    return s, i


def attach(w: World, s: SubscriberId, b: BrokerId, claim: Claim, more: Arguments) -> Step:
    """attach(s, b): the client's link comes up and the client acts, in one step."""

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        budget, subscriber = claim(cast(Budget, values[0])), cast(Subscriber, values[1])
        if isinstance(budget, Disabled):
            return budget
        if subscriber.attached:
            return Disabled(f"{s} is detached", w.subscriber[s])
        words = Words()
        subscriber, sends = w.acts.clients.attach(subscriber, b, w.rules)
        subscriber, i = say(w, subscriber, sends, cast(Broker, values[2]).joined_by(s), words)
        return Effect((budget, subscriber, i), words.collected())

    appends = w.outgoing(b) if w.instant else (w.channel[s, b],)
    footprint = Footprint(None, (w.budget, w.subscriber[s], w.broker[b]), appends)
    return Step("attach", (("subscriber", s), ("to", b), *more), Kind.ENVIRONMENT, react, footprint)


def detach(w: World, s: SubscriberId, claim: Claim, more: Arguments) -> Step:
    """detach(s): the client's link goes down; what its broker had under way to it may come back."""
    slot, detached = w.subscriber[s], Disabled(f"{s} is attached", w.subscriber[s], for_good=not may_attach(w.scenario, s))

    def at(b: BrokerId) -> Footprint:
        channels = () if w.instant else (w.channel[s, b], w.channel[b, s])
        return Footprint(None, (w.budget, slot, w.broker[b], *channels), (*w.outgoing(b), *w.pending_returns((b, s))))

    def select(value: Value) -> Footprint | Disabled:
        subscriber = cast(Subscriber, value)
        return at(subscriber.broker) if subscriber.attached and subscriber.broker is not None else detached

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        budget = claim(cast(Budget, values[0]))
        if isinstance(budget, Disabled):
            return budget
        words = Words()
        in_flight = cast(tuple[Message, ...], values[4]) if not w.instant else ()
        i = lose_link(w, cast(Broker, values[2]), s, in_flight, words)
        return Effect((budget, hung_up(w.acts.clients.detach(values[1])), i, *(() for _ in values[3:])), words.collected())

    within = widest(*map(at, places(w, s)))
    return Step("detach", (("subscriber", s), *more), Kind.ENVIRONMENT, react, selector=slot, select=select, within=within)


def change_filter(w: World, do: str, s: SubscriberId, f: FilterId, claim: Claim, more: Arguments) -> Step:
    """subscribe(s, f), unsubscribe(s, f): while detached this changes only what s wants."""
    slot = w.subscriber[s]
    alone = Footprint(None, (w.budget, slot))

    def at(b: BrokerId) -> Footprint:
        return Footprint(None, (w.budget, slot, w.broker[b]), w.outgoing(b)) if w.instant else replace(alone, appends=(w.channel[s, b],))

    def select(value: Value) -> Footprint | Disabled:
        subscriber = cast(Subscriber, value)
        return at(subscriber.broker) if subscriber.attached and subscriber.broker is not None else alone

    def react(head: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
        budget, subscriber = claim(cast(Budget, values[0])), cast(Subscriber, values[1])
        if isinstance(budget, Disabled):
            return budget
        if (f in subscriber.wants) == (do == "subscribe"):
            return Disabled(f"{s} {'does not want' if do == 'subscribe' else 'wants'} {f}", slot)
        words = Words()
        change = w.acts.clients.subscribe if do == "subscribe" else w.acts.clients.unsubscribe
        subscriber, sends = change(subscriber, f, w.rules)
        subscriber, i = say(w, subscriber, sends, cast(Broker, values[2]) if len(values) > 2 else None, words)
        return Effect((budget, subscriber, *((i,) if i is not None else ())), words.collected())

    within = widest(alone, *map(at, places(w, s)))
    return Step(do, (("subscriber", s), ("filter", f), *more), Kind.ENVIRONMENT, react, selector=slot, select=select, within=within)
