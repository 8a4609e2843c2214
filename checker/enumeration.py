"""Scenarios within bounds, up to renaming: what is chosen for each, the form that stands for its isomorphism class, and the scenario itself.

Of the scenarios that are the same up to renaming brokers, clients, filters, events and moves, the one with the least form is enumerated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, permutations, product
from typing import TYPE_CHECKING

from roamcheck.model.feasible import all_moves_fire
from roamcheck.model.scenario import Event, Move, Publisher, Scenario, Subscriber
from roamcheck.spec.filters import parse_filter

if TYPE_CHECKING:
    import networkx as nx

NONE = -1
# The kinds of moves; each has a subject, and those below a second one: where it goes, or the other end.
KINDS = ("client-move", "link-down", "migrate", "merge", "crash-durable", "crash-volatile", "publisher-move")
CLIENT_MOVE, LINK_DOWN, MIGRATE, MERGE, DURABLE, VOLATILE, PUBLISHER_MOVE = range(len(KINDS))
USUAL = (CLIENT_MOVE, LINK_DOWN, MIGRATE, MERGE, DURABLE, VOLATILE)  # publishers stay where they are unless one asks for it
Action = tuple[int, int, int]  # kind, subject, second or NONE
Parents = tuple[int, ...]  # by broker its next hop to the leader, NONE where it leads; parents come before their children


class BoundsError(ValueError):
    """Bounds that make no sense; one line."""


@dataclass(frozen=True, slots=True)
class Size:
    """How many there are of each in a scenario."""

    brokers: int = 3
    components: int = 1
    subscribers: int = 1
    publishers: int = 1
    filters: int = 1
    events: int = 1  # each is published once
    moves: int = 1  # besides the publications

    @property
    def units(self) -> int:
        """Moves and publications: what the partial order is about."""
        return self.moves + self.events


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which scenarios to enumerate: sizes, in order, and what may move."""

    sizes: tuple[Size, ...]
    kinds: tuple[int, ...] = USUAL
    rooted: bool = True  # False: where the leader plays no part, one leader stands for all
    ordered: bool = True  # False: no move waits for another

    def __post_init__(self) -> None:
        if not self.rooted and {MIGRATE, MERGE} & {*self.kinds}:
            raise BoundsError("migrations and merges depend on who leads: give --leaders each, or leave them out of --kinds")
        for size in self.sizes:
            if size.components > size.brokers:
                raise BoundsError(f"{size.brokers} brokers cannot make {size.components} components")
            if size.publishers > size.events:
                raise BoundsError(f"{size.publishers} publishers and {size.events} events: each publisher publishes one at least")
            if size.filters > size.subscribers + size.events:
                raise BoundsError(f"{size.filters} filters: each is wanted by a subscriber or matched by an event, of which there are fewer")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A scenario by numbers.  `before` is a strict partial order of the units: the moves, then the publications."""

    size: Size
    parents: Parents
    subscribers: tuple[tuple[int, int], ...]  # broker, filter
    publishers: tuple[int, ...]  # broker
    events: tuple[tuple[int, int], ...]  # publisher, filter
    moves: tuple[Action, ...]
    before: tuple[tuple[int, int], ...]


# ---- the least form -------------------------------------------------------------------------------------


def tree(parents: Parents, rooted: bool) -> nx.Graph[int]:
    """The overlay; with `rooted`, leaders are told from the others."""
    import networkx as nx  # slow to import, and seldom needed

    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from((b, {"leads": rooted and parent == NONE}) for b, parent in enumerate(parents))
    graph.add_edges_from((b, parent) for b, parent in enumerate(parents) if parent != NONE)
    return graph


def alike(one: nx.Graph[int], other: nx.Graph[int]) -> bool:
    """The overlays are the same up to renaming brokers."""
    import networkx as nx

    return nx.is_isomorphic(one, other, node_match=nx.algorithms.isomorphism.categorical_node_match("leads", False))


@cache
def renamings(parents: Parents, rooted: bool) -> tuple[tuple[int, ...], ...]:
    """The renamings of the brokers under which the overlay stays the same: broker b becomes g[b]."""
    import networkx as nx

    graph = tree(parents, rooted)
    same = nx.algorithms.isomorphism.categorical_node_match("leads", False)
    matcher = nx.algorithms.isomorphism.GraphMatcher(graph, graph, node_match=same)
    return tuple(tuple(g[b] for b in range(len(parents))) for g in matcher.isomorphisms_iter())


def renamed_action(action: Action, brokers: tuple[int, ...], subscribers: tuple[int, ...], publishers: tuple[int, ...]) -> Action:
    """A move under a renaming of brokers and clients; a link is named by its lesser end first."""
    kind, x, y = action
    if kind in (CLIENT_MOVE, PUBLISHER_MOVE):
        return kind, (subscribers if kind == CLIENT_MOVE else publishers)[x], brokers[y]
    x, y = brokers[x], NONE if y == NONE else brokers[y]
    return (kind, min(x, y), max(x, y)) if kind == LINK_DOWN else (kind, x, y)


Placements = tuple[tuple[tuple[int, int], ...], tuple[int, ...], tuple[tuple[int, int], ...]]
Renaming = tuple[tuple[int, ...], ...]  # of brokers, subscribers, publishers, filters and events


def placements(c: Candidate, g: Renaming) -> Placements:
    """Who is where under a renaming."""
    brokers, subscribers, publishers, filters, events = g
    at, home, of = [(0, 0)] * len(c.subscribers), [0] * len(c.publishers), [(0, 0)] * len(c.events)
    for s, (broker, topic) in enumerate(c.subscribers):
        at[subscribers[s]] = brokers[broker], filters[topic]
    for p, broker in enumerate(c.publishers):
        home[publishers[p]] = brokers[broker]
    for e, (publisher, topic) in enumerate(c.events):
        of[events[e]] = publishers[publisher], filters[topic]
    return tuple(at), tuple(home), tuple(of)


def stabiliser(c: Candidate, rooted: bool) -> tuple[Renaming, ...] | None:
    """The renamings that leave all placements as they are; None if one of them makes the placements less."""
    size, mine = c.size, (c.subscribers, c.publishers, c.events)
    counts = (size.subscribers, size.publishers, size.filters, size.events)
    kept = []
    for g in product(renamings(c.parents, rooted), *(permutations(range(n)) for n in counts)):
        other = placements(c, g)
        if other < mine:
            return None
        if other == mine:
            kept.append(g)
    return tuple(kept)


def is_least(c: Candidate, kept: tuple[Renaming, ...]) -> bool:
    """No renaming that leaves the placements as they are makes moves and order less."""
    moves = range(len(c.moves))
    order = sorted(c.before)
    for g in kept:
        renamed = [renamed_action(move, g[0], g[1], g[2]) for move in c.moves]
        ranked = sorted(renamed)
        if tuple(ranked) > c.moves:
            continue
        if tuple(ranked) < c.moves:
            return False
        for ranks in _ranks(renamed, ranked):
            place = [ranks[k] for k in moves] + [len(moves) + e for e in g[4]]
            if sorted((place[i], place[j]) for i, j in c.before) < order:
                return False
    return True


def _ranks(moves: list[Action], ranked: list[Action]) -> Iterator[tuple[int, ...]]:
    """The ways to number the moves in order; equal ones can be numbered either way."""
    for ranks in permutations(range(len(moves))):
        if all(ranked[rank] == move for rank, move in zip(ranks, moves, strict=True)):
            yield ranks


# ---- the scenario ---------------------------------------------------------------------------------------


def to_scenario(c: Candidate, name: str = "enumerated", title: str = "") -> Scenario:
    """The scenario that a candidate stands for."""
    brokers = [f"b{b + 1}" for b in range(c.size.brokers)]
    units = [_unit(k, action, brokers) for k, action in enumerate(c.moves)]
    units += [(Move(f"publish-e{e + 1}", "publish", event=f"e{e + 1}"),) for e in range(c.size.events)]
    direct = [(i, j) for i, j in c.before if not any((i, k) in c.before and (k, j) in c.before for k in range(len(units)))]
    moves: list[Move] = []
    for j, unit in enumerate(units):
        after = tuple(units[i][-1].id for i in range(len(units)) if (i, j) in direct)
        moves += [replace(unit[0], after=after), *unit[1:]]
    return Scenario(
        name=name,
        title=title,
        brokers=tuple(brokers),
        leaders=tuple(brokers[b] for b, parent in enumerate(c.parents) if parent == NONE),
        links=tuple((brokers[parent], brokers[b]) for b, parent in enumerate(c.parents) if parent != NONE),
        filters=tuple((f"f{f + 1}", parse_filter({"topic": f"t{f + 1}"})) for f in range(c.size.filters)),
        subscribers=tuple(Subscriber(f"s{s + 1}", brokers[b], (f"f{f + 1}",)) for s, (b, f) in enumerate(c.subscribers)),
        publishers=tuple(Publisher(f"p{p + 1}", brokers[b]) for p, b in enumerate(c.publishers)),
        events=tuple(Event(f"e{e + 1}", f"p{p + 1}", (("topic", f"t{f + 1}"),)) for e, (p, f) in enumerate(c.events)),
        moves=tuple(moves),
    )


def _unit(number: int, action: Action, brokers: list[str]) -> tuple[Move, ...]:
    kind, x, y = action
    name = f"move-{number + 1}"
    if kind == CLIENT_MOVE:
        leaves = f"{name}-leaves"
        return Move(leaves, "detach", subscriber=f"s{x + 1}"), Move(name, "attach", (leaves,), subscriber=f"s{x + 1}", to=brokers[y])
    if kind == PUBLISHER_MOVE:
        leaves = f"{name}-leaves"
        return Move(leaves, "detach", publisher=f"p{x + 1}"), Move(name, "attach", (leaves,), publisher=f"p{x + 1}", to=brokers[y])
    if kind == LINK_DOWN:
        return (Move(name, "link-down", link=(brokers[x], brokers[y])),)
    if kind in (MIGRATE, MERGE):
        return (Move(name, KINDS[kind], broker=brokers[x], to=brokers[y]),)
    return (Move(name, "crash", broker=brokers[x], state="durable" if kind == DURABLE else "volatile"),)


def fires(c: Candidate) -> bool:
    """Some run fires all its moves."""
    return all_moves_fire(to_scenario(c))


def actions(size: Size, kinds: tuple[int, ...]) -> tuple[Action, ...]:
    """Every move of these kinds that can be named."""
    brokers, named = range(size.brokers), []
    for kind in kinds:
        if kind == CLIENT_MOVE:
            named += [(kind, s, b) for s in range(size.subscribers) for b in brokers]
        elif kind == PUBLISHER_MOVE:
            named += [(kind, p, b) for p in range(size.publishers) for b in brokers]
        elif kind == LINK_DOWN:
            named += [(kind, u, v) for u, v in combinations(brokers, 2)]
        elif kind in (MIGRATE, MERGE):
            named += [(kind, u, v) for u, v in permutations(brokers, 2)]
        else:
            named += [(kind, b, NONE) for b in brokers]
    return tuple(sorted(named))
