"""What can be wrong with a scenario, and what is merely odd.

`Table` hands out the values of a table with the right types; `check` sees to it that a scenario makes sense: names that exist, a forest
of brokers, one leader each, moves in an order; `warnings` names what is allowed and yet probably not meant.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING

from roamcheck.spec.filters import NAME, NAME_RULE, matches, satisfiable, show

if TYPE_CHECKING:
    from .scenario import Move, Scenario

Path = tuple[str | int, ...]  # keys, and numbers of moves, from the top of the file

MAX_BUDGET = 1000
MAX_LINE = 500  # characters of a title or a source
MANY_INTERLEAVINGS = 1e6  # of moves and free choices; the largest of the peers' systems (22 million states) stays just below


class Problem(Exception):
    """Something wrong at a place in a scenario: `found` there (None: nothing, or no matter what); the hint names what would be right."""

    def __init__(self, path: Path, found: str | None, problem: str, hint: str = "") -> None:
        super().__init__(path, found, problem, hint)
        self.path, self.found, self.problem, self.hint = path, found, problem, hint


def listed(names: Iterable[str]) -> str:
    """b1, b2, b3: a list for a message, cut when long."""
    shown = [name if NAME.fullmatch(name) else show(name) for name in names]
    return ", ".join(shown if len(shown) <= 20 else [*shown[:18], f"and {len(shown) - 18} more"])


def choices(what: str, names: Collection[str], found: object = None) -> str:
    """A hint: the nearest of the names, if one is near, and all of them."""
    if not names:
        return f"there are no {what}"
    near = get_close_matches(found[:64], names, 1) if isinstance(found, str) and len(names) <= 1000 else []
    did_you_mean = f"did you mean {listed(near)}? " if near else ""
    return did_you_mean + (f"{what} are {listed(names)}" if len(names) > 1 else f"the only choice is {listed(names)}")


def dotted(path: Path) -> str:
    """network.links, or moves, number 3."""
    shown = "".join(f", number {part + 1}" if isinstance(part, int) else f".{part if NAME.fullmatch(part) else show(part)}" for part in path)
    return shown.removeprefix(".")


# -- types ---------------------------------------------------------------------------------------------


class Table:
    """A table of a file: hands out its values with the right types, or raises a Problem that says what is right (every method)."""

    def __init__(self, path: Path, data: object, keys: Collection[str] | None) -> None:
        if not isinstance(data, Mapping):
            raise Problem(path, show(data), "not a table", f"keys are {listed(keys)}" if keys else "")
        self.path = path
        self.key = str(path[-1]) if path else ""
        self.data: Mapping[str, object] = data
        if keys is not None:
            self.only(keys)

    def only(self, keys: Collection[str]) -> None:
        """Refuse any other key."""
        for key in self.data:
            if key not in keys:
                raise Problem((*self.path, str(key)), show(self.data[key]), "unknown key", choices("keys", keys, key))

    def get(self, key: str, default: object = None) -> object:
        """The value as it stands, of whatever type."""
        return self.data.get(key, default)

    def need(self, key: str, hint: str = "") -> object:
        """Likewise, but it must be there."""
        if key not in self.data:
            raise Problem(self.path, None, f"{key} is missing", hint)
        return self.data[key]

    def name(self, key: str, default: str | None = None) -> str:
        """A name; it must be there unless there is a default."""
        return name_at((*self.path, key), self.need(key, NAME_RULE) if default is None else self.get(key, default))

    def name_if_any(self, key: str) -> str | None:
        """A name; None when the key is not there."""
        return self.name(key) if key in self.data else None

    def names(self, key: str) -> tuple[str, ...]:
        """A list of different names; () when the key is not there."""
        path = (*self.path, key)
        names = tuple(name_at(path, name) for name in list_at(path, self.get(key, [])))
        if len(set(names)) < len(names):
            twice = next(name for name, times in Counter(names).items() if times > 1)
            raise Problem(path, show(names), f"{twice} is there twice", "name each once")
        return names

    def choice(self, key: str, values: Collection[str], default: str | None = None) -> str:
        """One of `values`; it must be there unless there is a default."""
        given = self.need(key, choices("choices", values)) if default is None else self.get(key, default)
        if not isinstance(given, str) or given not in values:
            raise Problem((*self.path, key), show(given), "no such choice", choices("choices", values, given))
        return given

    def line(self, key: str) -> str:
        """A text of one line; "" when the key is not there."""
        given = text_at((*self.path, key), self.get(key, ""))
        if len(given) > MAX_LINE or not given.isprintable():
            raise Problem((*self.path, key), show(given), "not a line", f"it is one line of at most {MAX_LINE} printable characters")
        return given

    def count(self, key: str) -> int:
        """A budget; 0 when the key is not there."""
        given = self.get(key, 0)
        if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= MAX_BUDGET:
            raise Problem((*self.path, key), show(given), "not a budget", f"a budget is an integer from 0 to {MAX_BUDGET}")
        return given

    def entries(self, key: str) -> list[tuple[str, object]]:
        """The entries of a table of named things, sorted by name."""
        given = self.get(key, {})
        if not isinstance(given, Mapping):
            raise Problem((*self.path, key), show(given), "not a table", f"one entry for each of the {key}, by name")
        return sorted(((name_at((*self.path, key, str(name)), name), value) for name, value in given.items()), key=lambda entry: entry[0])

    def tables(self, key: str, keys: Collection[str]) -> Iterator[Table]:
        """Likewise, where each entry is a table with these keys."""
        return (Table((*self.path, key, name), table, keys) for name, table in self.entries(key))


def list_at(path: Path, given: object) -> list[object]:
    """A list; raises Problem."""
    if not isinstance(given, list):
        raise Problem(path, show(given), "not a list", "")
    return given


def pair_at(path: Path, given: object) -> tuple[str, str]:
    """The two ends of a link; raises Problem."""
    pair = [name_at(path, end) for end in list_at(path, given)]
    if len(pair) != 2:
        raise Problem(path, show(given), "not a link", 'a link is a list of two brokers, such as ["b1", "b2"]')
    return pair[0], pair[1]


def text_at(path: Path, given: object) -> str:
    """A string; raises Problem."""
    if not isinstance(given, str):
        raise Problem(path, show(given), "not a string", 'a string is in quotes, such as "b1"')
    return given


def name_at(path: Path, given: object) -> str:
    """A name; raises Problem."""
    text = text_at(path, given)
    if not NAME.fullmatch(text):
        raise Problem(path, show(given), "not a name", NAME_RULE)
    return text


# -- sense ---------------------------------------------------------------------------------------------


def check(s: Scenario, known_protocols: Collection[str] | None, known_readings: Mapping[str, Collection[str]] | None) -> None:
    """Raises Problem at the first thing that makes no sense."""
    _check_registry(s, known_protocols, known_readings)
    _check_interfaces(s)
    _check_leaders(s, _components(s))
    _check_references(s)
    _check_order(s)


def _check_registry(s: Scenario, protocols: Collection[str] | None, readings: Mapping[str, Collection[str]] | None) -> None:
    if protocols is not None and s.protocol not in protocols:
        raise Problem(("protocol",), show(s.protocol), "no such protocol", choices("protocols", protocols, s.protocol))
    for name, value in s.readings if readings is not None else ():
        if readings is not None and name not in readings:
            raise Problem(("readings", name), show(value), "no such reading", choices("readings", readings, name))
        if readings is not None and value not in readings[name]:
            raise Problem(("readings", name), show(value), "no such value of this reading", choices("values", readings[name], value))


def _check_interfaces(s: Scenario) -> None:
    """Brokers, subscribers and publishers are all interfaces of brokers: no two share a name."""
    if not s.brokers:
        raise Problem(("network",), None, "there is no broker", 'name them in brokers, leaders or links, such as leaders = ["b1"]')
    kinds = dict.fromkeys(s.brokers, "broker")
    for section, clients in (("subscribers", s.subscribers), ("publishers", s.publishers)):
        for client in clients:
            if client.name in kinds:
                hint = "brokers, subscribers and publishers need different names"
                raise Problem((section, client.name), None, f"the name is taken by a {kinds[client.name]}", hint)
            kinds[client.name] = section[:-1]


# -- the overlay ---------------------------------------------------------------------------------------


def _components(s: Scenario) -> dict[str, list[str]]:
    """Each broker's component.  The links must make a forest."""
    path = ("network", "links")
    neighbours: dict[str, list[str]] = {broker: [] for broker in s.brokers}
    component = {broker: [broker] for broker in s.brokers}  # the members of a component share one list
    joined = set()
    for u, v in s.links:
        found = show([u, v])
        for end in (u, v):
            if end not in neighbours:
                raise Problem(path, found, f"{listed([end])} is no broker", choices("brokers", s.brokers, end))
        if u == v:
            raise Problem(path, found, "a link from a broker to itself", "a link joins two different brokers")
        if frozenset((u, v)) in joined:
            raise Problem(path, found, "this link is there twice", "keep one of the two: a link goes both ways")
        if component[u] is component[v]:
            cycle = _way(neighbours, u, v)
            raise Problem(path, found, f"the links make a cycle {listed([*cycle, u])}", "the overlay is a forest: remove one of these links")
        joined.add(frozenset((u, v)))
        neighbours[u].append(v)
        neighbours[v].append(u)
        small, large = sorted((component[u], component[v]), key=len)
        large += small
        component |= dict.fromkeys(small, large)
    return component


def _way(neighbours: Mapping[str, list[str]], start: str, goal: str) -> list[str]:
    """The brokers on the way from start to goal, which exists."""
    came_from, waiting = {start: start}, [start]
    while goal not in came_from:
        here = waiting.pop()
        for there in neighbours[here]:
            if there not in came_from:
                came_from[there] = here
                waiting.append(there)
    way = [goal]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return way[::-1]


def _check_leaders(s: Scenario, component: Mapping[str, list[str]]) -> None:
    path, found = ("network", "leaders"), show(s.leaders)
    leader_of: dict[str, str] = {}
    for leader in s.leaders:
        if leader not in component:
            raise Problem(path, found, f"{listed([leader])} is no broker", choices("brokers", s.brokers, leader))
        if leader in leader_of:
            both = f"{leader_of[leader]} and {leader} lead the same component ({listed(sorted(component[leader]))})"
            raise Problem(path, found, both, "keep one: a component has exactly one leader")
        leader_of |= dict.fromkeys(component[leader], leader)
    for broker in s.brokers:
        if broker not in leader_of:
            members = sorted(component[broker])
            raise Problem(path, found, f"nobody leads the component of {listed(members)}", f"add one of {listed(members)}")


# -- clients, events and moves -------------------------------------------------------------------------


def _check_references(s: Scenario) -> None:
    """Every name that is used is declared."""
    declared = {
        "broker": dict.fromkeys(s.brokers),
        "subscriber": dict.fromkeys(c.name for c in s.subscribers),
        "publisher": dict.fromkeys(c.name for c in s.publishers),
        "event": dict.fromkeys(e.name for e in s.events),
        "filter": dict.fromkeys(name for name, _ in s.filters),
    }

    def refers(path: Path, name: str | None, kind: str) -> None:
        if name is not None and name not in declared[kind]:
            raise Problem(path, show(name), f"no such {kind}", choices(f"{kind}s", declared[kind], name))

    for subscriber in s.subscribers:
        refers(("subscribers", subscriber.name, "at"), subscriber.at, "broker")
        for name in subscriber.filters:
            refers(("subscribers", subscriber.name, "filters"), name, "filter")
    for publisher in s.publishers:
        refers(("publishers", publisher.name, "at"), publisher.at, "broker")
    for event in s.events:
        refers(("events", event.name, "from"), event.publisher, "publisher")
    for number, move in enumerate(s.moves):
        for kind in declared:
            refers(("moves", number, kind), getattr(move, kind), kind)
        refers(("moves", number, "to"), move.to, "broker")
        for end in move.link or ():
            refers(("moves", number, "link"), end, "broker")
        if move.link and move.link[0] == move.link[1]:
            raise Problem(("moves", number, "link"), show(move.link), "a link from a broker to itself", "a link joins two different brokers")
        if move.broker is not None and move.broker == move.to:
            raise Problem(("moves", number, "to"), show(move.to), f"{move.broker} cannot {move.do} to itself", "name another broker")


def _check_order(s: Scenario) -> None:
    """Ids and published events once each, `after` naming moves, and no circle."""
    ids: dict[str, int] = {}
    published: dict[str, str] = {}
    for number, move in enumerate(s.moves):
        if ids.setdefault(move.id, number) != number:
            raise Problem(("moves", number, "id"), show(move.id), f"move number {ids[move.id] + 1} has this id too", "give each its own")
    for number, move in enumerate(s.moves):
        for other in move.after:
            if other not in ids:
                raise Problem(("moves", number, "after"), show(other), "no such move", choices("moves", ids, other))
        if move.event is not None and published.setdefault(move.event, move.id) != move.id:
            hint = "an event is published at most once: declare another with the same attributes"
            raise Problem(("moves", number, "event"), show(move.event), f"move {published[move.event]} publishes it already", hint)
    _, waiting = _in_order(s.moves)
    if waiting:
        here, passed = min(waiting), dict[str, int]()
        while here not in passed:
            passed[here] = len(passed)
            here = next(other for other in waiting[here].after if other in waiting)
        circle = [*list(passed)[passed[here] :], here]
        raise Problem(("moves", ids[here], "after"), show(waiting[here].after), f"{here} waits for itself: {listed(circle)}", "break the circle")


def _in_order(moves: tuple[Move, ...]) -> tuple[list[Move], dict[str, Move]]:
    """The moves, each behind those it waits for; and those that cannot be put so."""
    followers: dict[str, list[Move]] = {}
    for move in moves:
        for other in move.after:
            followers.setdefault(other, []).append(move)
    missing = {move.id: len(move.after) for move in moves}
    ordered = [move for move in moves if not move.after]
    for move in ordered:  # grows
        for follower in followers.get(move.id, ()):
            missing[follower.id] -= 1
            if not missing[follower.id]:
                ordered.append(follower)
    return ordered, {move.id: move for move in moves if missing[move.id]}


# -- warnings ------------------------------------------------------------------------------------------


def warnings(scenario: Scenario) -> tuple[str, ...]:
    """What is allowed and yet probably not meant, a line each."""
    return (*_filters_and_events(scenario), *_moves(scenario), *_budget(scenario), *_radio(scenario))


def _filters_and_events(s: Scenario) -> Iterator[str]:
    if len(s.filters) * len(s.events) > 1_000_000:
        yield f"{len(s.filters)} filters and {len(s.events)} events: too many to compare them all"
        return
    impossible = [name for name, f in s.filters if not satisfiable(f)]
    unmatched = [name for name, f in s.filters if name not in impossible and not any(matches(f, e.attributes) for e in s.events)]
    used = {name for subscriber in s.subscribers for name in subscriber.filters} | {move.filter for move in s.moves}
    unused = [name for name, _ in s.filters if name not in used]
    homeless = [e.name for e in s.events if not any(matches(f, e.attributes) for _, f in s.filters)]
    published = {move.event for move in s.moves}
    unpublished = [e.name for e in s.events if e.name not in published] if not s.free.publish else []
    for names, what, said in (
        (impossible, "filter", "can match no event whatever: its constraints contradict each other"),
        (unmatched if s.events else [], "filter", "is matched by none of the events"),
        (unused, "filter", "is used by no subscriber and no move"),
        (homeless, "event", "matches no filter"),
        (unpublished, "event", "is never published: no move does it, and publish in [free] is 0"),
    ):
        if names:
            yield f"{what} {listed(names)} {said}" if len(names) == 1 else f"{what}s {listed(names)}: each {said}"


def _moves(s: Scenario) -> Iterator[str]:
    links = {frozenset(link) for link in s.links} | {frozenset((m.broker, m.to)) for m in s.moves if m.broker is not None and m.to is not None}
    for move in s.moves if not (s.free.broker_moves or s.free.merges) else ():
        if move.link and frozenset(move.link) not in links:
            yield f"move {move.id}: the link {move.link[0]}-{move.link[1]} can never be there, so this move never happens"


def _budget(s: Scenario) -> Iterator[str]:
    count = interleavings(s)
    if count > math.log10(MANY_INTERLEAVINGS):
        figure = f"{round(10**count, 1 - int(count)):,.0f}" if count < 15 else f"10^{count:.0f}"
        yield f"about {figure} interleavings of moves and free choices, before those of the messages: exploring them all may take too long"


def interleavings(s: Scenario) -> float:
    """The decimal logarithm of an estimate of how many orders and choices the moves and the free budget allow: n! over the number of moves
    that each move holds up (exact where no move waits for two), times the ways to lace in free steps, times what each may choose."""
    ordered, _ = _in_order(s.moves)
    bit = {move.id: 1 << number for number, move in enumerate(ordered)}
    for move in reversed(ordered):  # bit[m] becomes the set of m and all that wait for it
        for other in move.after:
            bit[other] |= bit[move.id]
    brokers, overlay = len(s.brokers), max(len(s.brokers) - 1, 1)
    free = (
        (s.free.publish, len(s.events)), (2 * s.free.client_moves, math.sqrt(len(s.subscribers) * brokers)), (s.free.broker_moves, brokers * overlay),
        (s.free.link_failures, len(s.links)), (s.free.merges, brokers * overlay), (s.free.crashes, brokers), (s.free.volatile_crashes, brokers),
        (s.free.losses, 1), (s.free.repeats, 1),
    )  # fmt: skip
    steps = len(ordered) + sum(budget for budget, _ in free)
    logarithm = math.lgamma(steps + 1) - sum(math.log(descendants.bit_count()) for descendants in bit.values())
    logarithm += sum(budget * math.log(max(options, 1)) - math.lgamma(budget + 1) for budget, options in free)
    return logarithm / math.log(10)


def _radio(s: Scenario) -> Iterator[str]:
    if s.assume.radio == "reliable" and s.free.losses:
        yield f'losses = {s.free.losses} in [free] but radio = "reliable" in [assume]: nothing is lost; radio is "detected" or "silent" where it is'
    if s.assume.radio != "reliable" and not s.free.losses:
        yield f"radio = {show(s.assume.radio)} in [assume] but losses = 0 in [free]: nothing is lost"
    if s.free.repeats and dict(s.readings).get("acknowledged-links") != "on":
        yield f'repeats = {s.free.repeats} in [free] but acknowledged-links is not "on" in [readings]: nothing is repeated'
