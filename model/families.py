"""Families of scenarios: every overlay of so many brokers with every placement of the clients, one of each symmetric lot, and free budgets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import permutations, product
from typing import Any

from .scenario import FORMAT, Scenario, from_data

Forest = tuple[int | None, ...]  # by broker its parent, None where it leads; parents come before their children


@dataclass(frozen=True, slots=True)
class Family:
    """What its scenarios have in common.

    Subscribers want the one filter that every event matches, all but `newcomers`, which subscribe at any time.  A filter change is a subscription of
    s1 to a second filter that every event matches too, and then the end of the first.  A publisher's move leads to any broker: one scenario for each.
    Where brokers crash, each client that loses its broker may come back to the one at which it began.
    """

    name: str
    brokers: int
    trees: tuple[int, ...] = (1,)
    subscribers: int = 1
    newcomers: int = 0  # of the subscribers, the last ones
    events: int = 1
    changes: int = 0
    publisher_moves: int = 0
    free: Mapping[str, int] = field(default_factory=dict)
    assume: Mapping[str, str] = field(default_factory=dict)
    reading: Mapping[str, str] = field(default_factory=dict)  # under which it is asked, whatever else is read how

    def __post_init__(self) -> None:
        assert 0 <= self.changes <= 2, "a filter comes, and a filter goes"


@cache
def forests(brokers: int, trees: int) -> tuple[Forest, ...]:
    """Rooted forests, one of each that differ but in the names of brokers."""
    found: dict[Any, Forest] = {}
    for parents in product(*((None, *range(b)) for b in range(brokers))):
        if parents.count(None) == trees:
            found.setdefault(min(renamed(parents, p) for p in permutations(range(brokers))), parents)
    return tuple(found.values())


def renamed(parents: Forest, p: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Links and leaders under other names, in order."""
    return tuple(sorted((p[child], -1 if parent is None else p[parent]) for child, parent in enumerate(parents)))


@cache
def symmetries(parents: Forest) -> tuple[tuple[int, ...], ...]:
    """The renamings of the brokers that leave the forest as it is."""
    same = renamed(parents, tuple(range(len(parents))))
    return tuple(p for p in permutations(range(len(parents))) if renamed(parents, p) == same)


def members(family: Family) -> Iterator[Scenario]:
    """The scenarios of the family, in a fixed order; all are named after it."""
    number, old = 0, family.subscribers - family.newcomers
    for trees in family.trees:
        for parents in forests(family.brokers, trees):
            seen = set()
            for placed in product(range(family.brokers), repeat=family.subscribers + 1 + family.publisher_moves):
                clients = (placed[: family.subscribers], *placed[family.subscribers :])
                if placed[family.subscribers : -1] == placed[family.subscribers + 1 :] and family.publisher_moves:
                    continue  # a publisher that moves to where it is
                alike = min(_form(clients, p, old) for p in symmetries(parents))
                if alike not in seen:
                    seen.add(alike)
                    number += 1
                    yield from_data(_data(family, f"{family.name}-{number:03}", parents, placed), family.name)


def _form(clients: tuple[Any, ...], p: tuple[int, ...], old: int) -> tuple[tuple[int, ...], ...]:
    at, *publisher = clients
    places = [p[b] for b in at]
    return tuple(sorted(places[:old])), tuple(sorted(places[old:])), tuple(p[b] for b in publisher)


def _data(family: Family, name: str, parents: Forest, placed: tuple[int, ...]) -> dict[str, Any]:
    old, brokers = family.subscribers - family.newcomers, [f"b{b + 1}" for b in range(family.brokers)]
    subscribers, (home, *goals) = placed[: family.subscribers], placed[family.subscribers :]
    moves: list[dict[str, Any]] = [
        {"id": f"s{k}-subscribes", "do": "subscribe", "subscriber": f"s{k}", "filter": "f1"} for k in range(old + 1, family.subscribers + 1)
    ]
    if family.changes:
        moves.append({"id": "another", "do": "subscribe", "subscriber": "s1", "filter": "f2"})
    if family.changes > 1:
        moves.append({"id": "no-more", "do": "unsubscribe", "subscriber": "s1", "filter": "f1", "after": ["another"]})
    for goal in goals:
        moves.append({"id": "p1-leaves", "do": "detach", "publisher": "p1"})
        moves.append({"id": "p1-arrives", "do": "attach", "publisher": "p1", "to": brokers[goal], "after": ["p1-leaves"]})
    if family.free.get("crashes"):
        homes = {**{("subscriber", f"s{k}"): b for k, b in enumerate(subscribers, 1)}, ("publisher", "p1"): home}
        moves += [{"id": f"{client}-returns", "do": "attach", kind: client, "to": brokers[b]} for (kind, client), b in homes.items()]
    attributes = {"f1": 1, **({"f2": 1} if family.changes else {})}
    return {
        "format": FORMAT,
        "name": name,
        "network": {
            "brokers": brokers,
            "leaders": [brokers[b] for b, parent in enumerate(parents) if parent is None],
            "links": [[brokers[parent], brokers[b]] for b, parent in enumerate(parents) if parent is not None],
        },
        "filters": {topic: {topic: 1} for topic in attributes},
        "subscribers": {f"s{k}": {"at": brokers[b], "filters": ["f1"] if k <= old else []} for k, b in enumerate(subscribers, 1)},
        "publishers": {"p1": {"at": brokers[home]}},
        "events": {f"e{k}": {"from": "p1", "attributes": attributes} for k in range(1, family.events + 1)},
        "start": {"subscriptions": "settled"},
        "moves": moves,
        "free": {"publish": family.events, **family.free},
        "assume": dict(family.assume),
    }
