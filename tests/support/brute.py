"""All scenarios within bounds the slow way: every labelled one, told apart by networkx' isomorphism test, or counted by the renamings that leave
each as it is.  Knows nothing of Z3 and of least forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import combinations, permutations, product

import networkx as nx

from roamcheck.checker.enumeration import CLIENT_MOVE, LINK_DOWN, NONE, PUBLISHER_MOVE, Action, Bounds, Candidate, Size, actions, fires

MOVERS = {CLIENT_MOVE: "subscriber", PUBLISHER_MOVE: "publisher"}
ALIKE = {
    "node_match": nx.algorithms.isomorphism.categorical_node_match("kind", None),
    "edge_match": nx.algorithms.isomorphism.categorical_edge_match("role", None),
}


def classes(bounds: Bounds) -> list[nx.DiGraph]:
    """One graph for each class of scenarios whose moves all fire."""
    found: dict[str, list[nx.DiGraph]] = {}
    for size in bounds.sizes:
        for c in labelled(size, bounds):
            graph = as_graph(c)
            some = found.setdefault(rough(graph), [])
            if not any(nx.is_isomorphic(graph, other, **ALIKE) for other in some) and fires(c):
                some.append(graph)
    return [graph for some in found.values() for graph in some]


Fact = tuple[str, tuple[tuple[str, int], ...]]  # what is said, of which numbered things
Renaming = dict[str, tuple[int, ...]]


def count(size: Size, bounds: Bounds) -> int:
    """As many as `classes`, by the lemma that is not Burnside's: each labelled scenario counts as many times as renamings leave it as it is."""
    total = Fraction(0)
    overlays: list[nx.DiGraph] = []
    for parents in forests(size.brokers, size.components):
        graph = overlay(parents)
        if any(nx.is_isomorphic(graph, other) for other in overlays):
            continue
        overlays.append(graph)
        matches = nx.algorithms.isomorphism.DiGraphMatcher(graph, graph).isomorphisms_iter()
        brokers = [tuple(match[b] for b in range(size.brokers)) for match in matches]
        every = [*renamings(brokers, size)]
        alike: tuple[frozenset[Fact], list[Renaming]] = frozenset(), []
        for c in labelled(size, bounds, (parents,)):
            placed, rest = facts(c)
            if placed != alike[0] or not alike[1]:
                alike = placed, [g for g in every if renamed(placed, g) == placed]
            fixing = sum(renamed(rest, g) == rest for g in alike[1])
            if fires(c):
                total += Fraction(fixing, len(every))
    assert total.denominator == 1
    return int(total)


def overlay(parents: tuple[int, ...]) -> nx.DiGraph:
    """Who follows whom; leaders follow nobody."""
    graph = nx.DiGraph((b, parent) for b, parent in enumerate(parents) if parent != NONE)
    graph.add_nodes_from(range(len(parents)))
    return graph


def renamings(brokers: list[tuple[int, ...]], size: Size) -> Iterator[Renaming]:
    """Every way to rename everything, brokers in these ways."""
    others = (size.subscribers, size.publishers, size.filters, size.events, size.moves)
    for g in product(brokers, *(permutations(range(n)) for n in others)):
        yield dict(zip(("broker", "subscriber", "publisher", "filter", "event", "move"), g, strict=True))


def renamed(some: frozenset[Fact], g: Renaming) -> frozenset[Fact]:
    """What is said of the things under their other names."""
    new = ((what, tuple((of, g[of][n]) for of, n in things)) for what, things in some)
    return frozenset((what, tuple(sorted(things)) if what == f"move {LINK_DOWN}" else things) for what, things in new)


def facts(c: Candidate) -> tuple[frozenset[Fact], frozenset[Fact]]:
    """What is said of the clients, and of the moves and their order."""
    placed = {("at", (("subscriber", s), ("broker", b), ("filter", f))) for s, (b, f) in enumerate(c.subscribers)}
    placed |= {("at", (("publisher", p), ("broker", b))) for p, b in enumerate(c.publishers)}
    placed |= {("of", (("event", e), ("publisher", p), ("filter", f))) for e, (p, f) in enumerate(c.events)}
    unit = [*(("move", k) for k in range(len(c.moves))), *(("event", e) for e in range(len(c.events)))]
    rest = {("before", (unit[i], unit[j])) for i, j in c.before}
    for k, (kind, x, y) in enumerate(c.moves):
        ends = ((MOVERS.get(kind, "broker"), x), *(() if y == NONE else (("broker", y),)))
        rest.add((f"move {kind}", tuple(sorted((("move", k), *ends))) if kind == LINK_DOWN else (("move", k), *ends)))
    return frozenset(placed), frozenset(rest)


def rough(graph: nx.DiGraph) -> str:
    """Equal for graphs that are alike, and for few others."""
    return nx.weisfeiler_lehman_graph_hash(graph.to_undirected(), node_attr="kind", edge_attr="role")


def labelled(size: Size, bounds: Bounds, overlays: Iterable[tuple[int, ...]] | None = None) -> Iterator[Candidate]:
    """Every choice of everything, or of everything but the overlay."""
    spots = [*product(range(size.brokers), range(size.filters))]
    topics = [*product(range(size.publishers), range(size.filters))]
    for parents in overlays or forests(size.brokers, size.components):
        for subscribers in product(spots, repeat=size.subscribers):
            for publishers in product(range(size.brokers), repeat=size.publishers):
                for events in product(topics, repeat=size.events):
                    if {p for p, _ in events} != {*range(size.publishers)} or {f for _, f in (*subscribers, *events)} != {*range(size.filters)}:
                        continue
                    for moves in product(actions(size, bounds.kinds), repeat=size.moves):
                        for before in orders(size.units) if bounds.ordered else ((),):
                            yield Candidate(size, parents, subscribers, publishers, events, moves, before)


def forests(brokers: int, components: int) -> Iterator[tuple[int, ...]]:
    """Every way to say who follows whom."""
    for parents in product((NONE, *range(brokers)), repeat=brokers):
        graph = nx.Graph((b, parent) for b, parent in enumerate(parents) if parent != NONE)
        graph.add_nodes_from(range(brokers))
        leaders = parents.count(NONE)
        one_each = all(sum(parents[b] == NONE for b in part) == 1 for part in nx.connected_components(graph))
        if leaders == components and graph.number_of_edges() == brokers - components and one_each:
            yield parents


def orders(units: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Every strict partial order."""
    pairs = [*permutations(range(units), 2)]
    for size in range(len(pairs) + 1):
        for before in combinations(pairs, size):
            some = {*before}
            if not any((j, i) in some or any(k == j and (i, m) not in some for k, m in some) for i, j in some):
                yield tuple(sorted(before))


def as_graph(c: Candidate) -> nx.DiGraph:
    """Nodes are brokers, clients, filters, events and units; edges say what they are to each other."""
    graph = nx.DiGraph()
    graph.add_nodes_from((("broker", b), {"kind": f"broker {parent == NONE}"}) for b, parent in enumerate(c.parents))
    graph.add_edges_from((("broker", b), ("broker", parent), {"role": "follows"}) for b, parent in enumerate(c.parents) if parent != NONE)
    graph.add_nodes_from((("filter", f), {"kind": "filter"}) for f in range(c.size.filters))
    for s, (b, f) in enumerate(c.subscribers):
        graph.add_node(("subscriber", s), kind="subscriber")
        graph.add_edge(("subscriber", s), ("broker", b), role="at")
        graph.add_edge(("subscriber", s), ("filter", f), role="wants")
    for p, b in enumerate(c.publishers):
        graph.add_node(("publisher", p), kind="publisher")
        graph.add_edge(("publisher", p), ("broker", b), role="at")
    for k, action in enumerate(c.moves):
        add_move(graph, ("unit", k), action)
    for e, (p, f) in enumerate(c.events):
        graph.add_node(("unit", len(c.moves) + e), kind="publication")
        graph.add_edge(("unit", len(c.moves) + e), ("publisher", p), role="by")
        graph.add_edge(("unit", len(c.moves) + e), ("filter", f), role="about")
    graph.add_edges_from((("unit", i), ("unit", j), {"role": "before"}) for i, j in c.before)
    return graph


def add_move(graph: nx.DiGraph, node: tuple[str, int], action: Action) -> None:
    """A move, with its subject and its goal; the ends of a link are alike."""
    kind, x, y = action
    graph.add_node(node, kind=f"move {kind}")
    subject = MOVERS.get(kind, "broker")
    for role, there in (("subject", (subject, x)), *(() if y == NONE else (("goal", ("broker", y)),))):
        ends = "end" if kind == LINK_DOWN else role
        if graph.has_edge(node, there):  # it goes to itself: cannot be
            raise AssertionError(action)
        graph.add_edge(node, there, role=ends)
