"""The symmetries of a scenario: which brokers, clients, filters, events and moves can trade places so that the model looks the same.

A scenario is drawn as a coloured graph, whose automorphisms are the candidates.  One is kept if it takes initial states to initial states and each
step to a step of the same shape.  Whether the reactions of the steps commute with it is not asked here: a handler that walks a set in the order of
names sends in another order after the renaming.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from roamcheck.spec.arrow_state import ArrowBroker
from roamcheck.spec.messages import (
    LOST,
    Bmig,
    BmigModular,
    BmigOnce,
    Bquery,
    BqueryNumber,
    BrokerId,
    Bsub,
    BsubClaim,
    Btab,
    Entry,
    Filters,
    Fmig,
    Mig,
    Numbered,
    Pub,
    PubFor,
    Rep,
    Stamped,
    Sub,
    SubSince,
    Turn,
    Uns,
    UnsSince,
)
from roamcheck.spec.state import Broker, Owed, Publisher, Received, Subscriber

from .interface import Footprint, Slot, State, Step, Symmetry, Value, Word
from .overlay import Overlay, link
from .world import Budget, World

MOST = 24  # members of the group, the identity among them
CANDIDATES = 240  # automorphisms that are looked at

Node = tuple[str, str]  # a sort and a name
Permutation = tuple[int, ...]  # of the nodes of a drawing: node k becomes node permutation[k]


def symmetries(w: World, steps: tuple[Step, ...], initial: tuple[State, ...]) -> tuple[Symmetry, ...]:
    """Renamings that make up a group with the identity, which is left out: all of them, or a subgroup where they are more than MOST."""
    drawing = draw(w)
    same = tuple(range(len(drawing.colours)))
    nodes = tuple(drawing.colours)
    numbers = {renaming(w, nodes, same).label(step): number for number, step in enumerate(steps)}

    def symmetry(permutation: Permutation) -> Symmetry | None:
        return verified(w, renaming(w, nodes, permutation), steps, numbers, initial)

    group = {same}
    for candidate in islice(automorphisms(drawing), CANDIDATES):
        if candidate not in group and symmetry(candidate):
            group = generated({*group, candidate}) or group
    found = (symmetry(permutation) for permutation in sorted(group - {same}))
    return tuple(one for one in found if one)  # all of them: what two symmetries make is one


def generated(generators: set[Permutation]) -> set[Permutation] | None:
    """The group that they generate, or None if it has more than MOST members."""
    group, waiting = set(generators), list(generators)
    for one in waiting:  # grows
        for generator in generators:
            product = tuple(one[k] for k in generator)
            if product not in group:
                group.add(product)
                waiting.append(product)
        if len(group) > MOST:
            return None
    return group


# ---- candidates ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Drawing:
    """A scenario as a directed graph, whose colours and roles say all that a renaming must keep."""

    colours: Mapping[Node, tuple[str, ...]]
    edges: Mapping[tuple[Node, Node], tuple[str, ...]]  # from, to → its roles


def draw(w: World) -> Drawing:
    """Filters that nobody ever wants and events that are never published play no part: they stand for themselves.

    Of a filter only the events count that match it: no protocol looks into filters.
    """
    scenario = w.scenario
    published = {move.event for move in scenario.moves}
    events = [event for event in scenario.events if event.name in published or scenario.free.publish]
    filters = sorted({f for s in scenario.subscribers for f in s.filters} | {move.filter for move in scenario.moves if move.filter})
    colours: dict[Node, tuple[str, ...]] = {("broker", b): ("leader",) if b in scenario.leaders else () for b in scenario.brokers}
    colours |= {("subscriber", s.name): () for s in scenario.subscribers} | {("publisher", p.name): () for p in scenario.publishers}
    colours |= {("filter", f): () for f in filters} | {("event", event.name): () for event in events}
    colours |= {("move", move.id): (move.do, move.when, move.state or "") for move in scenario.moves}
    edges: dict[tuple[Node, Node], tuple[str, ...]] = {}

    def edge(role: str, start: Node, sort: str, name: str | None) -> None:
        if name is not None:
            edges[start, (sort, name)] = (*edges.get((start, (sort, name)), ()), role)

    for u, v in scenario.links:
        edge("link", ("broker", u), "broker", v)
        edge("link", ("broker", v), "broker", u)
    for s in scenario.subscribers:
        edge("at", ("subscriber", s.name), "broker", s.at)
        for f in sorted(set(s.filters)):
            edge("wants", ("subscriber", s.name), "filter", f)
    for p in scenario.publishers:
        edge("at", ("publisher", p.name), "broker", p.at)
    for event in events:
        edge("from", ("event", event.name), "publisher", event.publisher)
        for f in filters:
            if w.rules.matches(f, event.name):  # type: ignore[arg-type]
                edge("matches", ("event", event.name), "filter", f)
    for move in scenario.moves:
        here = ("move", move.id)
        for role in ("broker", "subscriber", "publisher", "filter", "event"):
            edge(role, here, role, getattr(move, role))
        edge("to", here, "broker", move.to)
        for end in move.link or ():
            edge("end", here, "broker", end)
        for other in sorted(set(move.after)):
            edge("after", here, "move", other)
    return Drawing({node: (node[0], *colour) for node, colour in (colours | in_order(filters, edges)).items()}, edges)


def in_order(filters: Iterable[str], edges: Mapping[tuple[Node, Node], tuple[str, ...]]) -> dict[Node, tuple[str, ...]]:
    """Colours for filters that keep those with the same edges in order: a renaming that swaps them alone moves no slot and no step."""
    users: dict[str, list[tuple[Node, tuple[str, ...]]]] = {f: [] for f in filters}
    for (start, (sort, name)), roles in edges.items():
        if sort == "filter":
            users[name].append((start, roles))
    places = Counter[frozenset[tuple[Node, tuple[str, ...]]]]()
    colours: dict[Node, tuple[str, ...]] = {}
    for f, seen in users.items():
        places[frozenset(seen)] += 1
        colours["filter", f] = (str(places[frozenset(seen)]),)
    return colours


def automorphisms(drawing: Drawing) -> Iterator[Permutation]:
    """Of the drawing, as permutations of its nodes, in the same order in every process; none but the identity costs next to nothing."""
    shades, edges = refined(drawing)
    if len(set(shades)) == len(shades):
        yield tuple(range(len(shades)))
        return
    import networkx as nx  # slow to import, and seldom needed
    from networkx.algorithms import isomorphism

    graph: nx.DiGraph[int] = nx.DiGraph()
    for node, shade in enumerate(shades):
        graph.add_node(node, shade=shade)
    for start, end, roles in edges:
        graph.add_edge(start, end, roles=roles)
    alike, same_roles = isomorphism.categorical_node_match("shade", None), isomorphism.categorical_edge_match("roles", None)
    for mapping in isomorphism.DiGraphMatcher(graph, graph, alike, same_roles).isomorphisms_iter():
        yield tuple(mapping[node] for node in range(len(shades)))


def refined(drawing: Drawing) -> tuple[list[int], list[tuple[int, int, tuple[str, ...]]]]:
    """The nodes by number, each with a shade: equal shades have equal colours, and edges in the same roles to and from equal shades."""
    number = {node: k for k, node in enumerate(drawing.colours)}
    edges = [(number[start], number[end], tuple(sorted(roles))) for (start, end), roles in drawing.edges.items()]
    shades = ranked(list(drawing.colours.values()))
    while True:
        around: list[list[tuple[str, tuple[str, ...], int]]] = [[] for _ in shades]
        for start, end, roles in edges:
            around[start].append(("to", roles, shades[end]))
            around[end].append(("from", roles, shades[start]))
        finer = ranked([(shade, sorted(seen)) for shade, seen in zip(shades, around, strict=True)])
        if len(set(finer)) == len(set(shades)):
            return shades, edges
        shades = finer


def ranked(keys: list[Any]) -> list[int]:
    """Each key's place among those that differ."""
    different: list[Any] = []
    for key in sorted(keys):
        if not different or different[-1] != key:
            different.append(key)
    return [different.index(key) for key in keys]


# ---- verification --------------------------------------------------------------------------------------------------


def verified(
    w: World, names: Renaming, steps: tuple[Step, ...], numbers: Mapping[tuple[object, ...], int], initial: tuple[State, ...]
) -> Symmetry | None:
    """The renaming as a symmetry, if slots, steps and initial states have images; `numbers` finds a step by its label."""
    slots = moved_slots(w, names)
    images = [numbers.get(names.label(step)) for step in steps]
    if slots is None or not all(image is not None and same_shape(slots, step, steps[image]) for step, image in zip(steps, images, strict=True)):
        return None
    if {moved_state(names, slots, state) for state in initial} != set(initial):
        return None
    return Symmetry(slots, tuple(image for image in images if image is not None), names.value, names.word)


def moved_slots(w: World, names: Renaming) -> tuple[Slot, ...] | None:
    """The image of each slot; None if one has none."""
    z = names.interfaces
    images: dict[Slot, Slot | None] = {w.overlay: w.overlay, w.budget: w.budget}
    for clients in (w.broker, w.subscriber, w.publisher):
        images |= {slot: clients.get(z[name]) for name, slot in clients.items()}
    for ways in (w.channel, w.returned, w.unnoticed):
        images |= {slot: ways.get((z[u], z[v])) for (u, v), slot in ways.items()}
    slots = tuple(image for slot in range(len(w.names)) if (image := images[slot]) is not None)
    return slots if len(set(slots)) == len(w.names) else None


def moved_state(names: Renaming, slots: tuple[Slot, ...], state: State) -> State:
    """The state in which each slot's image holds the renamed value."""
    moved = {slots[slot]: names.value(slot, value) for slot, value in enumerate(state)}
    return tuple(moved[slot] for slot in range(len(slots)))


def same_shape(slots: tuple[Slot, ...], one: Step, other: Step) -> bool:
    """The slots of `one`, moved, are those of `other`, and both are owed or allowed alike."""

    def touched(footprint: Footprint | None, moved: Iterable[Slot]) -> object:
        image = tuple(moved)
        return footprint and (
            None if footprint.takes is None else image[footprint.takes], {image[k] for k in footprint.reads}, {image[k] for k in footprint.appends}
        )  # fmt: skip

    def shape(step: Step, moved: tuple[Slot, ...]) -> object:
        single = tuple(None if slot is None else moved[slot] for slot in (step.selector, step.serves))
        return step.kind, step.only_when_quiescent, single, touched(step.fixed, moved), touched(step.within, moved)

    return shape(one, slots) == shape(other, tuple(range(len(slots))))


# ---- renaming ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Renaming:
    """What becomes of each name, sort by sort: a filter, an event and a move may bear the name of a broker.

    Sets are kept in the order of names and are sorted anew.  Sequences stay as they are: channels, queues, `received`, `published`, `turning`.
    """

    interfaces: Mapping[Any, Any]  # brokers and clients; nobody (""), nowhere (None) and LOST stand for themselves
    filters: Mapping[Any, Any]
    events: Mapping[Any, Any]
    moves: Mapping[Any, Any]
    brokers: tuple[BrokerId, ...]  # in the order in which the overlay keeps their parents

    def label(self, step: Step) -> tuple[object, ...]:
        """What tells the image of the step from all other steps."""
        return step.action, tuple((role, self._argument(role, value)) for role, value in step.arguments)

    def _argument(self, role: str, value: str) -> object:
        match role:
            case "event":
                return self.events[value]
            case "filter":
                return self.filters[value]
            case "move":
                return self.moves[value]
            case "state":
                return value
            case "link":
                return frozenset(self.interfaces[end] for end in value.split("–"))
        return self.interfaces[value]

    def value(self, slot: Slot, value: Value) -> Value:
        """What a slot holds."""
        match value:
            case bool():
                return value
            case tuple():
                return tuple(self.word(slot, word) for word in value)
            case Broker():
                return self._broker(value)
            case Subscriber():
                return self._subscriber(value)
            case Publisher():
                z, e = self.interfaces, self.events
                return replace(value, me=z[value.me], broker=z[value.broker], published=tuple(e[one] for one in value.published))
            case Overlay():
                return self._overlay(value)
            case Budget():
                return replace(value, fired=_set(self.moves, value.fired), roaming=_set(self.interfaces, value.roaming))
        raise TypeError(f"a {type(value).__name__} is in no slot")

    def _broker(self, i: Broker) -> Broker:
        z, e = self.interfaces, self.events
        if isinstance(i, ArrowBroker):
            directions = tuple(sorted((z[s], z[y]) for s, y in i.directions))
            i = replace(i, directions=directions, greeted=tuple(sorted((z[b], role) for b, role in i.greeted)))
        return replace(
            i,
            me=z[i.me],
            neighbours=_set(z, i.neighbours),
            subscribers=_set(z, i.subscribers),
            publishers=_set(z, i.publishers),
            routing=self._table(i.routing),
            timestamps=tuple(sorted((z[s], stamp) for s, stamp in i.timestamps)),
            queues=tuple(sorted((z[s], tuple(e[one] for one in events)) for s, events in i.queues)),
        )

    def _table(self, entries: Iterable[Entry]) -> tuple[Entry, ...]:
        z, f = self.interfaces, self.filters
        return tuple(sorted(Entry(f[entry.filter], z[entry.next_hop], z[entry.subscriber]) for entry in entries))

    def _subscriber(self, s: Subscriber) -> Subscriber:
        z, f, e = self.interfaces, self.filters, self.events
        received = tuple(e[one] for one in s.received)
        return replace(s, me=z[s.me], broker=z[s.broker], wants=_set(f, s.wants), asked=_set(f, s.asked), owed=_set(e, s.owed), received=received)

    def _overlay(self, overlay: Overlay) -> Overlay:
        z = self.interfaces
        parents = {z[b]: z[parent] for b, parent in overlay.parents}
        return replace(
            overlay,
            links=tuple(sorted(link(z[u], z[v]) for u, v in overlay.links)),
            parents=tuple((b, parents[b]) for b in self.brokers),
            turning=tuple(tuple(z[b] for b in path) for path in overlay.turning),
            tops=_set(z, overlay.tops),
        )

    def word(self, slot: Slot, word: Word) -> Word:
        """What is appended to a slot: a message, a ghost of a subscriber."""
        z, f, e = self.interfaces, self.filters, self.events
        match word:
            case Sub() | Uns() | SubSince() | UnsSince():
                return replace(word, filter=f[word.filter], subscriber=z[word.subscriber])
            case Pub():
                return replace(word, event=e[word.event], sent_for=_set(z, word.sent_for))
            case Mig():
                return replace(word, subscriber=z[word.subscriber], previous=z[word.previous])
            case Rep():
                return replace(word, event=e[word.event], subscriber=z[word.subscriber])
            case Filters():
                return replace(word, filters=_set(f, word.filters))
            case BmigModular():
                return replace(word, attached=_set(z, word.attached), migrated=z[word.migrated])
            case Btab():
                return replace(word, table=self._table(word.table))
            case Fmig():
                return word
            case Bmig():
                return replace(word, children=self._stamped(word.children), others=self._stamped(word.others))
            case Bquery() | BqueryNumber():
                return replace(word, subscriber=z[word.subscriber])
            case PubFor():
                return replace(word, event=e[word.event], targets=_set(z, word.targets))
            case Turn():
                return replace(word, subscribers=_set(z, word.subscribers))
            case BmigOnce():
                return replace(word, children=self._numbered(word.children), others=self._numbered(word.others))
            case Bsub() | BsubClaim():
                return replace(word, subscriber=z[word.subscriber], filters=_set(f, word.filters))
            case Received():
                return replace(word, event=e[word.event])
            case Owed():
                return replace(word, event=e[word.event], via=None if word.via is None else _set(f, word.via))
        raise TypeError(f"a {type(word).__name__} is no word")

    def _numbered(self, subscribers: tuple[Numbered, ...]) -> tuple[Numbered, ...]:
        return tuple(sorted(one._replace(subscriber=self.interfaces[one.subscriber]) for one in subscribers))

    def _stamped(self, subscribers: tuple[Stamped, ...]) -> tuple[Stamped, ...]:
        return tuple(sorted(one._replace(subscriber=self.interfaces[one.subscriber]) for one in subscribers))


def _set(names: Mapping[Any, Any], members: Iterable[str]) -> tuple[Any, ...]:
    return tuple(sorted(names[member] for member in members))


def renaming(w: World, nodes: tuple[Node, ...], permutation: Permutation) -> Renaming:
    """Node k takes the name of node permutation[k]; what is not drawn keeps its own."""
    scenario = w.scenario
    image = {node: nodes[k][1] for node, k in zip(nodes, permutation, strict=True)}

    def names(sort: str, all_of_them: Iterable[str]) -> dict[Any, Any]:
        return {name: image.get((sort, name), name) for name in all_of_them}

    interfaces = names("broker", w.broker) | names("subscriber", w.subscriber) | names("publisher", w.publisher)
    return Renaming(
        {None: None, "": "", LOST: LOST, **interfaces},
        names("filter", (name for name, _ in scenario.filters)),
        names("event", (event.name for event in scenario.events)),
        names("move", (move.id for move in scenario.moves)),
        tuple(w.broker),
    )
