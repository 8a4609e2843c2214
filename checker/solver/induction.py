"""Induction: from every local state and message of a universe, does every reaction preserve what is assumed of them?

What is assumed is a property of the registry (its own predicate, asked here too) with what it takes besides, its strengthening.  A path of a
reaction after which something fails is a counterexample to induction: it is made concrete and fired by definition before it counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from roamcheck.model.interface import Disabled, Effect, Model, Slot, State, Step, fire
from roamcheck.model.questions import predicates
from roamcheck.model.world import Way, World
from roamcheck.spec import properties as p
from roamcheck.spec.breach import Breach
from roamcheck.spec.messages import Bmig, Bquery, Bsub, Filters, Message, Mig, Pub, Rep, Sub, SubscriberId, Uns, kind
from roamcheck.spec.state import Broker, Subscriber

from .asking import Undecided
from .symbolic import Infeasible, Oracle, concrete, paths
from .universe import Frame, Local, Places, Universe

WELL_FORMED, ONE_NEXT_HOP, BOUND, MONOTONE = "well-formed", "one-next-hop", "timestamp-bound", "timestamps-never-go-back"
LOCAL = (WELL_FORMED, ONE_NEXT_HOP, BOUND, MONOTONE)
RAISED = "the step ends"

STRENGTHENING: Mapping[str, tuple[str, ...]] = {
    WELL_FORMED: (
        "what a subscriber sends is SUB, UNS or MIG and names itself; what a publisher sends is PUB",
        "what reaches a subscriber is PUB, REP or FILTERS; what may come back is PUB or REP; brokers do not send FILTERS to each other",
        "a subscriber wants filters that exist and is, or was last, at a broker that exists",
    ),
    ONE_NEXT_HOP: ("well-formed",),
    BOUND: (
        "well-formed",
        "every SUB, UNS, MIG, BMIG, BQUERY and BSUB under way carries of s a t that is at most what s has sent",
        "hop counts under way are at least 0, those of subscribers in BMIG and BSUB at least 1",
        "what s has sent is at least 0 and never goes back",
    ),
    MONOTONE: ("well-formed",),
}
ASSUMED = "what a message comes from is an interface that is up: the channels of a link are emptied when it falls"
EXCEPTED: Mapping[str, str] = {MONOTONE: "a volatile crash, which is to empty T_i"}

Finding = tuple[str, Breach]  # the property that fails, or whose strengthening does


@dataclass(frozen=True)
class Change:
    """What a reaction did: values by slot before and after, and the words that it appended."""

    places: Places
    step: Step
    before: Mapping[Slot, Any]
    after: Mapping[Slot, Any]
    appended: Sequence[tuple[Slot, Sequence[Any]]]


@dataclass(frozen=True)
class Counterexample:
    """A concrete reaction, from a local state that meets what is assumed to one that does not."""

    property: str
    own: bool  # the property itself fails, not what strengthens it
    reaction: str
    breach: Breach
    model: Model
    step: Step
    assumptions: Mapping[str, str]
    slots: tuple[Slot, ...]  # those that the step touches
    message: Message | None
    before: State
    after: State


@dataclass
class Induction:
    """What came of one universe."""

    paths: dict[str, int] = field(default_factory=dict)  # by reaction
    counterexamples: dict[tuple[str, str, str], Counterexample] = field(default_factory=dict)  # by property, reaction and conjunct
    queries: int = 0


# ---- what is assumed and asked -----------------------------------------------------------------------


def judged(change: Change, wanted: Sequence[str]) -> Iterator[Finding]:
    """Everything wanted that fails after the change, given that it held before.  The same code judges unknown and plain integers."""
    w, universe, slots, back = change.places.world, change.places.existing, change.places.ways, change.places.returned
    for b, slot in w.broker.items():
        if slot in change.after:
            yield from judged_broker(change, change.before[slot], change.after[slot], universe, wanted, volatile(change.step, b))
    for slot in w.subscriber.values():
        if slot in change.after:
            yield from judged_subscriber(change.before[slot], change.after[slot], universe, wanted)
    clocks = {s: change.after.get(slot, change.before[slot]).sent for s, slot in w.subscriber.items()}
    for slot, words in change.appended:
        for m in words if slot in slots or slot in back else ():
            if WELL_FORMED in wanted and (found := p.well_formed_channel((m,), universe, w.rules) or misplaced(m, slots.get(slot), w)):
                yield WELL_FORMED, found
            if BOUND in wanted and (found := beyond(m, clocks)):
                yield BOUND, found


def volatile(step: Step, b: str) -> bool:
    """The step empties broker b."""
    return step.action == "crash" and dict(step.arguments)["state"] == "volatile" and dict(step.arguments)["broker"] == b


def judged_broker(change: Change, i: Broker, j: Broker, universe: p.Universe, wanted: Sequence[str], emptied: bool) -> Iterator[Finding]:
    """A broker before and after; a field that is the very one of before keeps what was assumed of it."""
    same = {name: () for name in ("routing", "timestamps", "queues") if getattr(j, name) is getattr(i, name)}
    changed = replace(j, **cast(Any, same))
    w = change.places.world
    if WELL_FORMED in wanted and (found := p.well_formed_broker(changed, universe, w.rules)):
        yield WELL_FORMED, found
    if ONE_NEXT_HOP in wanted and "routing" not in same and p.one_next_hop(i) is None and (found := p.one_next_hop(j)):
        yield ONE_NEXT_HOP, found
    for s, slot in w.subscriber.items() if "timestamps" not in same else ():
        if BOUND in wanted:
            clock = change.after.get(slot, change.before[slot])
            if found := p.timestamp_bound(changed, clock):
                yield BOUND, found
        if MONOTONE in wanted and not emptied and j.stamp(s).t < i.stamp(s).t:
            what = (("broker", str(i.me)), ("subscriber", str(s)), ("T_i(s).t", f"{i.stamp(s).t} → {j.stamp(s).t}"))
            yield MONOTONE, Breach("T_i(s).t never goes back", what)


def judged_subscriber(s: Subscriber, after: Subscriber, universe: p.Universe, wanted: Sequence[str]) -> Iterator[Finding]:
    """A subscriber before and after."""
    if WELL_FORMED in wanted:
        if after.wants is not s.wants and not universe.filters.issuperset(after.wants):
            yield WELL_FORMED, Breach("a subscriber wants filters that exist", (("subscriber", s.me), ("wants", ", ".join(after.wants))))
        if after.broker is not None and after.broker not in universe.brokers:
            yield WELL_FORMED, Breach("a subscriber is at a broker that exists", (("subscriber", s.me), ("broker", after.broker)))
    if BOUND in wanted and after.sent < s.sent:
        yield BOUND, Breach("what s has sent never goes back", (("subscriber", s.me), ("sent", f"{s.sent} → {after.sent}")))


def misplaced(m: Message, way: Way | None, w: World) -> Breach | None:
    """Strengthening of well-formed: who sends what to whom; `way` is None for what comes back."""
    if way is None:
        fits = isinstance(m, Pub | Rep)
    elif way[0] in w.publisher:
        fits = isinstance(m, Pub) and not m.sent_for
    elif way[0] in w.subscriber:
        fits = isinstance(m, Sub | Uns | Mig) and (m.subscriber == way[0] or not w.rules.names_subscribers)
    elif way[1] in w.subscriber:
        fits = isinstance(m, Pub | Rep | Filters)
    else:
        fits = type(m) in w.protocol.handlers
    if fits:
        return None
    u, v = way if way is not None else ("a link", "the sender")
    return Breach("messages go where they belong", (("from", u), ("to", v), ("message", kind(m))))


def beyond(m: Message, clocks: Mapping[SubscriberId, Any]) -> Breach | None:
    """Strengthening of timestamp-bound: what a message carries."""
    for s, t, h, least in carried(m):
        if t > clocks[s]:
            return Breach("a message under way is no newer than what s has sent", (("subscriber", s), ("t", str(t)), ("sent", str(clocks[s]))))
        if h < least:
            return Breach(f"a hop count under way is at least {least}", (("subscriber", s), ("h", str(h))))
    if isinstance(m, Bmig | Bsub) and m.h < 0:
        return Breach("a hop count under way is at least 0", (("h", str(m.h)),))
    return None


def carried(m: Message) -> Iterator[tuple[SubscriberId, Any, Any, int]]:
    """(s, t, h) and the least that h may be, for every timestamp in the message."""
    match m:
        case Sub(_, s, t, h) | Uns(_, s, t, h) | Mig(s, _, t, h) | Bquery(s, t, h):
            yield s, t, h, 0
        case Bmig(children, others, _):
            for s, t, h in (*children, *others):
                yield s, t, h, 1
        case Bsub(s, _, stamp, _):
            yield s, stamp.t, stamp.h, 1


# ---- the induction -----------------------------------------------------------------------------------


def induct(
    universe: Universe, wanted: Sequence[str], oracle: Oracle | None = None, observe: Callable[[int], None] = lambda paths: None,
    found: Induction | None = None,
) -> Induction:  # fmt: skip
    """Every path of every reaction, added to `found` one by one.  An oracle that has served before remembers what it was told.  Raises Undecided."""
    found, oracle = found if found is not None else Induction(), oracle or Oracle()
    before = oracle.queries
    for local in universe.locals:
        overlays = universe.overlays_for(local.step)

        def run(oracle: Oracle, local: Local = local, overlays: Sequence[Any] = overlays) -> tuple[Frame, list[Finding]] | None:
            return reaction(universe, local, oracle, overlays, wanted)

        for answer in paths(run, oracle) if overlays else ():
            if answer is None:
                continue
            frame, findings = answer
            name = label(local.step, frame.head, universe.world)
            found.paths[name] = found.paths.get(name, 0) + 1
            for failed, breach in findings:
                if (failed, name, breach.conjunct) not in found.counterexamples:
                    found.counterexamples[failed, name, breach.conjunct] = confirmed(universe, frame, oracle, failed, breach, name, wanted)
            if sum(found.paths.values()) % 500 == 0:
                observe(sum(found.paths.values()))
    found.queries = oracle.queries - before
    return found


def reaction(
    universe: Universe, local: Local, oracle: Oracle, overlays: Sequence[Any], wanted: Sequence[str]
) -> tuple[Frame, list[Finding]] | None:
    """One run of a step, and what fails after it; None where the step cannot fire."""
    frame = universe.frame(local, oracle, overlays)
    if frame is None:
        return None
    try:
        effect = local.step.react(frame.head, tuple(frame.values[slot] for slot in frame.reads))
    except (Infeasible, Undecided):
        raise
    except Exception as error:  # of the transition function
        return frame, [(name, Breach(RAISED, (("raised", type(error).__name__),))) for name in wanted]
    if isinstance(effect, Disabled):
        return None
    return frame, list(judged(changed(universe.places, local.step, frame.reads, frame.values, effect), wanted))


def changed(places: Places, step: Step, reads: Sequence[Slot], values: Mapping[Slot, Any], effect: Effect) -> Change:
    """An effect, slot by slot."""
    return Change(places, step, values, dict(zip(reads, effect.values, strict=True)), effect.appended)


def label(step: Step, head: Any, w: World) -> str:
    """What kind of reaction it is: "SUB from a broker", "detach", "crash volatile"."""
    arguments = dict(step.arguments)
    if head is None:
        client = "publisher" if step.action in ("attach", "detach") and "publisher" in arguments else ""
        return " ".join(filter(None, (step.action, arguments.get("state", client))))
    if step.action != "deliver":
        return f"{step.action} {kind(head)}"
    if arguments["to"] in w.subscriber:
        return f"{kind(head)} to a subscriber"
    sender = "its subscriber" if arguments["from"] in w.subscriber else "its publisher" if arguments["from"] in w.publisher else "a broker"
    return f"{kind(head)} from {sender}"


def confirmed(universe: Universe, frame: Frame, oracle: Oracle, failed: str, breach: Breach, name: str, wanted: Sequence[str]) -> Counterexample:
    """The path with plain integers, fired by definition, and judged again.  Raises Undecided if it does not come out the same."""
    solution = oracle.solution()
    values = {slot: concrete(value, solution) for slot, value in frame.values.items()}
    head, step, model = concrete(frame.head, solution), frame.local.step, universe.model
    if frame.takes is not None:
        values[frame.takes] = (head,)
    before = universe.state(values)
    if breach.conjunct == RAISED:
        return Counterexample(failed, True, name, breach, model, step, universe.assumptions, touched(frame), head, before, before)
    after = fire(model, step, before)
    effect = step.react(head, tuple(before[slot] for slot in frame.reads))
    if isinstance(after, Disabled) or isinstance(effect, Disabled):
        raise Undecided(f"{step}: a counterexample to induction cannot be fired")
    change = changed(universe.places, step, frame.reads, dict(enumerate(before)), effect)
    again = next((found for prop, found in judged(change, wanted) if (prop, found.conjunct) == (failed, breach.conjunct)), None)
    if again is None:
        raise Undecided(f"{step}: a counterexample to induction does not fail when it is fired: {breach}")
    own = failed == MONOTONE or any(
        ask.check(tuple(after[slot] for slot in ask.reads)) == again for ask in predicates(universe.world, failed)
    )
    return Counterexample(failed, own, name, again, model, step, universe.assumptions, touched(frame), head, before, after)


def touched(frame: Frame) -> tuple[Slot, ...]:
    """The slots that a step takes or reads."""
    return tuple(dict.fromkeys((*([frame.takes] if frame.takes is not None else []), *frame.reads)))

