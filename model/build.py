"""Closes a scenario, under a protocol, readings and assumptions, into a finite transition system."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from itertools import permutations
from types import ModuleType

from roamcheck.spec.filters import matches
from roamcheck.spec.messages import BrokerId, EventId, FilterId, PublisherId, SubscriberId
from roamcheck.spec.properties import PROPERTIES
from roamcheck.spec.protocols import Protocol, behaviour
from roamcheck.spec.readings import Readings
from roamcheck.spec.rules import Rules

from .commuting import unordered
from .environment import environment_steps
from .initial import initial_state
from .interface import Layout, Model, Slot, SlotSpec, Value
from .overlay import Overlay
from .protocol_steps import due, loss_steps, protocol_steps
from .questions import bind
from .scenario import Assumptions, Move, Scenario
from .symmetry import symmetries
from .world import Budget, Client, Way, World, record


def unknown_moves(scenario: Scenario, protocol: Protocol) -> tuple[str, ...]:
    """The scenario's moves that the protocol does not know; with one of them the scenario is not applicable as a whole."""
    free = scenario.free
    wanted = [_known_as(move) for move in scenario.moves]
    wanted += ["detach"] * (free.client_moves > 0) + ["link-down"] * (free.link_failures > 0) + ["migrate"] * (free.broker_moves > 0)
    wanted += ["merge"] * (free.merges > 0) + ["crash"] * (free.crashes + free.volatile_crashes > 0)
    return tuple(dict.fromkeys(name for name in wanted if name not in protocol.moves))


def _known_as(move: Move) -> str:
    return f"{move.do}-publisher" if move.publisher else move.do


def build_world(
    scenario: Scenario, protocol: Protocol, readings: Readings, assume: Assumptions | None = None, algorithms: Mapping[str, ModuleType] | None = None
) -> World:
    """Lay out the state vector.  `algorithms` replaces the printed ones by a mutant of them."""
    assume = in_force(assume or scenario.assume, protocol)
    attributes = {EventId(event.name): event.attributes for event in scenario.events}
    matching = {e: frozenset(FilterId(name) for name, f in scenario.filters if matches(f, attributes[e])) for e in attributes}
    rules = Rules(readings, matching, protocol.timestamps, protocol.queues, protocol.names_subscribers)
    brokers = tuple(BrokerId(b) for b in scenario.brokers)
    linkable, visitors = possible_links(scenario), possible_visitors(scenario)
    ways: list[Way] = [(u, v) for u in brokers for v in linkable[u]]
    if assume.client_links == "queued":
        subscribers, framed = {s.name for s in scenario.subscribers}, readings.acknowledged_links == "on"
        ways += [way for b in brokers for c in visitors[b] for way in ((c, b), (b, c)) if way[0] == c or c in subscribers or framed]
    returned = [way for way in ways if way[0] in brokers] if assume.bounce == "later" and protocol.queues else []
    names = ["(overlay)", "(environment)", *brokers, *(s.name for s in scenario.subscribers), *(p.name for p in scenario.publishers)]
    names += [f"{u}→{v}" for u, v in ways] + [f"returned {u}→{v}" for u, v in returned]
    fallen = [(u, v) for u in brokers for v in linkable[u]] if assume.notice == "apart" else []
    names += [f"fallen {u}–{v}" for u, v in fallen]
    slot = {name: index for index, name in enumerate(names)}
    return World(
        scenario, protocol, rules, behaviour(protocol, algorithms), assume,
        overlay=slot["(overlay)"], budget=slot["(environment)"],
        broker={b: slot[b] for b in brokers},
        subscriber={SubscriberId(s.name): slot[s.name] for s in scenario.subscribers},
        publisher={PublisherId(p.name): slot[p.name] for p in scenario.publishers},
        channel={(u, v): slot[f"{u}→{v}"] for u, v in ways},
        returned={(u, v): slot[f"returned {u}→{v}"] for u, v in returned},
        unnoticed={(u, v): slot[f"fallen {u}–{v}"] for u, v in fallen},
        linkable=linkable, visitors=visitors, names=tuple(names),
    )  # fmt: skip


def in_force(assume: Assumptions, protocol: Protocol) -> Assumptions:
    """The assumptions as they act: without queues nothing that comes back could be kept, so everything in flight is lost."""
    return replace(assume, in_flight=(assume.in_flight or "returned") if protocol.queues else "lost")


def possible_links(scenario: Scenario) -> dict[BrokerId, tuple[BrokerId, ...]]:
    """Whom each broker may ever be linked with, in the scenario's order."""
    pairs = {(u, v) for u, v in scenario.links}
    pairs |= {(move.broker, move.to) for move in scenario.moves if move.do in ("migrate", "merge") and move.broker and move.to}
    if scenario.free.broker_moves or scenario.free.merges:
        pairs |= set(permutations(scenario.brokers, 2))
    return {BrokerId(u): tuple(BrokerId(v) for v in scenario.brokers if (u, v) in pairs or (v, u) in pairs) for u in scenario.brokers}


def possible_visitors(scenario: Scenario) -> dict[BrokerId, tuple[Client, ...]]:
    """Which clients may ever be attached to each broker, in the scenario's order."""
    at = {(s.name, s.at) for s in scenario.subscribers} | {(p.name, p.at) for p in scenario.publishers}
    at |= {(move.subscriber or move.publisher or "", move.to) for move in scenario.moves if move.do == "attach"}
    if scenario.free.client_moves:
        at |= {(s.name, b) for s in scenario.subscribers for b in scenario.brokers}
    clients: list[Client] = [SubscriberId(s.name) for s in scenario.subscribers]
    clients += [PublisherId(p.name) for p in scenario.publishers]
    return {BrokerId(b): tuple(c for c in clients if (c, b) in at) for b in scenario.brokers}


def build(w: World, properties: Collection[str] | None = None) -> Model:
    """The transition system of a world, asked the named properties (default: all that apply)."""
    steps = (*protocol_steps(w), *environment_steps(w), *loss_steps(w))
    fold = partial(record, w.rules)
    recorders = set(w.subscriber.values())
    layout = Layout(tuple(SlotSpec(name, fold) if slot in recorders else SlotSpec(name) for slot, name in enumerate(w.names)))
    sequences = frozenset((*w.channel.values(), *w.returned.values()))

    def idle(slot: Slot, value: Value) -> bool:
        if slot in sequences:
            return value == ()
        if isinstance(value, Overlay):
            return not value.turning
        if isinstance(value, bool):
            return not value
        return not (w.framed and due(value))

    start = (initial_state(w),)
    return Model(
        w.scenario.name, layout, start, steps, tuple(bind(w, tuple(PROPERTIES if properties is None else properties))),
        idle, (w.budget,), partial(spent, w), unordered=unordered(w, steps),
        symmetries=(lambda: ()) if w.layered else partial(symmetries, w, steps, start),
    )  # fmt: skip


def spent(w: World, values: tuple[Value, ...]) -> bool:
    """Every move has fired and every free budget of the environment is used.

    Reading losses-left: a run in which the radio loses less than it may is a run all the same, so that losses need not be used up.  Nor need timers
    run out too early.
    """
    (budget,) = values
    assert isinstance(budget, Budget)
    owed = [n for name, n in budget.left if name != "repeats" and (name != "losses" or w.rules.readings.losses_left == "not-spent")]
    return len(budget.fired) == len(w.scenario.moves) and not any(owed)
