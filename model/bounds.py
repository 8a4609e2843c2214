"""How far a scenario can ever get: where clients may be, whom brokers may follow, which links may come and go.  Bounds from above, for reductions."""

from __future__ import annotations

from roamcheck.spec.messages import BrokerId

from .initial import initial_overlay
from .interface import Footprint
from .scenario import Scenario
from .world import Client, World


def widest(*footprints: Footprint) -> Footprint:
    """What any of these reads or appends to; none of them takes a head."""
    assert all(footprint.takes is None for footprint in footprints)
    reads = {slot for footprint in footprints for slot in footprint.reads}
    appends = {slot for footprint in footprints for slot in footprint.appends}
    return Footprint(None, tuple(sorted(reads)), tuple(sorted(appends)))


def places(w: World, client: Client) -> tuple[BrokerId, ...]:
    """The brokers at which a client may ever be."""
    return tuple(b for b, visitors in w.visitors.items() if client in visitors)


def possible_parents(w: World, b: BrokerId) -> tuple[BrokerId, ...]:
    """Whom b may ever follow.  A merge turns next hops to any neighbour; without one b's own moves alone change them."""
    if may_merge(w.scenario) or w.scenario.free.broker_moves:
        return w.linkable[b]
    found = {initial_overlay(w.scenario).parent(b)} | {move.to for move in w.scenario.moves if move.do == "migrate" and move.broker == b}
    return tuple(other for other in w.linkable[b] if other in found)


def may_merge(scenario: Scenario) -> bool:
    """Components may merge; nothing else makes next hops turn."""
    return scenario.free.merges > 0 or any(move.do == "merge" for move in scenario.moves)


def may_come_up(scenario: Scenario, u: BrokerId, v: BrokerId) -> bool:
    """The link between u and v may come up, be it for the first time or again."""
    free = scenario.free.broker_moves > 0 or scenario.free.merges > 0
    return free or any(move.do in ("migrate", "merge") and {move.broker, move.to} == {u, v} for move in scenario.moves)


def may_fall(scenario: Scenario) -> bool:
    """Some link between brokers may fall."""
    free = scenario.free.broker_moves + scenario.free.link_failures + scenario.free.crashes + scenario.free.volatile_crashes
    return free > 0 or any(move.do in ("migrate", "link-down", "crash") for move in scenario.moves)


def may_attach(scenario: Scenario, client: Client) -> bool:
    """The client may attach somewhere after the start."""
    roams = scenario.free.client_moves > 0 and any(s.name == client for s in scenario.subscribers)
    return roams or any(move.do == "attach" and client in (move.subscriber, move.publisher) for move in scenario.moves)
