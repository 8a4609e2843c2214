"""Whether all of a scenario's moves can happen in one run, as far as the overlay and the clients' links decide it: no message has a say in that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from roamcheck.spec.messages import BrokerId

from .initial import initial_overlay
from .overlay import Overlay
from .scenario import Move, Scenario


@dataclass(frozen=True, slots=True)
class Situation:
    """What decides whether a move can fire."""

    overlay: Overlay
    fired: frozenset[str]
    places: tuple[tuple[str, str | None], ...]  # clients, and the broker that each is attached to

    def place(self, client: str) -> str | None:
        """The broker that the client is attached to."""
        return dict(self.places)[client]

    def with_place(self, client: str, broker: str | None) -> Situation:
        """The client is there now."""
        return replace(self, places=tuple((name, broker if name == client else at) for name, at in self.places))


def all_moves_fire(scenario: Scenario) -> bool:
    """Some run fires every move of the scenario; free budgets are left out."""
    clients = [(client.name, client.at) for client in scenario.subscribers] + [(client.name, client.at) for client in scenario.publishers]
    start = Situation(initial_overlay(scenario), frozenset(), tuple(clients))
    seen, todo = {start}, [start]
    while todo:
        here = todo.pop()
        if len(here.fired) == len(scenario.moves):
            return True
        for after in _next(scenario, here):
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return False


def _next(scenario: Scenario, here: Situation) -> Iterator[Situation]:
    for b in here.overlay.next_turns():
        yield replace(here, overlay=here.overlay.turned(b))
    for move in scenario.moves:
        if move.id not in here.fired and here.fired.issuperset(move.after):
            after = _moved(scenario, move, here)
            if after is not None:
                yield replace(after, fired=here.fired | {move.id})


def _moved(scenario: Scenario, move: Move, here: Situation) -> Situation | None:
    """After the move; None where its guard refuses, as those of `environment` and `overlay_moves` do."""
    overlay, b, to = here.overlay, BrokerId(move.broker or ""), BrokerId(move.to or "")
    client = move.subscriber or move.publisher or ""
    match move.do:
        case "publish":
            publisher = next(event.publisher for event in scenario.events if event.name == move.event)
            return here if here.place(publisher) is not None else None
        case "detach":
            return here.with_place(client, None) if here.place(client) is not None else None
        case "attach":
            return here.with_place(client, to) if here.place(client) is None else None
        case "link-down":
            assert move.link is not None
            u, v = map(BrokerId, move.link)
            return replace(here, overlay=overlay.without_link(u, v)) if overlay.is_up(u, v) else None
        case "migrate":
            old = overlay.follows(b)
            if old == to or to in overlay.branch(b):
                return None
            return replace(here, overlay=(overlay if old is None else overlay.without_link(b, old)).moved(b, to))
        case "merge":
            if to in overlay.component(b) or any(path[0] in (*overlay.component(b), *overlay.component(to)) for path in overlay.turning):
                return None
            path = overlay.path_to_leader(b)
            turning = (*overlay.turning, *((path,) if len(path) > 1 else ()))
            return replace(here, overlay=replace(overlay.with_link(b, to).with_parent(b, to), turning=turning))
        case "crash":
            for neighbour in overlay.neighbours(b):
                overlay = overlay.without_link(b, neighbour)
            if move.state == "volatile":
                overlay = overlay.with_parent(b, None)
            gone = replace(here, overlay=overlay, places=tuple((name, None if at == b else at) for name, at in here.places))
            return gone
        case _:  # subscribe, unsubscribe: what a client wants can change at any time
            return here
