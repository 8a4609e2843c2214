"""The abstract overlay: which links are up, who follows whom, and which brokers have yet to turn round after a merge."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from roamcheck.spec.messages import BrokerId

Link = tuple[BrokerId, BrokerId]  # in name order


def link(u: BrokerId, v: BrokerId) -> Link:
    """The undirected link between u and v."""
    return (u, v) if u < v else (v, u)


@dataclass(frozen=True, slots=True)
class Overlay:
    """A forest of brokers.

    `parents` keeps a broker's last next hop to its leader even when that link has fallen: the b_o of its next migration.  `tops` are those
    whose it has: each leads what broke off with it, also when its former parent comes back below it.
    `turning` holds, for each merge under way, the path (x0, x1, …) of which x0 has turned and x1 is the next to turn towards x0.
    """

    links: tuple[Link, ...]  # those that are up
    parents: tuple[tuple[BrokerId, BrokerId | None], ...]
    turning: tuple[tuple[BrokerId, ...], ...] = ()
    tops: tuple[BrokerId, ...] = ()

    def is_up(self, u: BrokerId, v: BrokerId) -> bool:
        """The link between u and v is up."""
        return link(u, v) in self.links

    def parent(self, b: BrokerId) -> BrokerId | None:
        """The last next hop of b to its leader."""
        return next(p for broker, p in self.parents if broker == b)

    def follows(self, b: BrokerId) -> BrokerId | None:
        """The next hop of b to its leader; None when b leads."""
        return None if b in self.tops else self.parent(b)

    def neighbours(self, b: BrokerId) -> tuple[BrokerId, ...]:
        """N_b, in order."""
        return _neighbours(self.links, b)

    def component(self, b: BrokerId) -> tuple[BrokerId, ...]:
        """The brokers that b can reach, itself among them, in order."""
        return _component(self.links, b)

    def branch(self, b: BrokerId) -> tuple[BrokerId, ...]:
        """The brokers that go with b when its link to its parent falls, itself among them."""
        parent = self.follows(b)
        links = self.links if parent is None else tuple(one for one in self.links if one != link(b, parent))
        return tuple(sorted(_distances(links, b)))

    def distance(self, b: BrokerId, home: BrokerId) -> int:
        """Links between b and home; raises KeyError when there is no path."""
        return _distances(self.links, home)[b]

    def towards(self, b: BrokerId, home: BrokerId) -> BrokerId:
        """The next hop from b to home; raises KeyError when there is no path."""
        return _towards(self.links, b, home)

    def path_to_leader(self, b: BrokerId) -> tuple[BrokerId, ...]:
        """b, its parent, … up to the broker that leads its component."""
        path = [b]
        while (parent := self.follows(path[-1])) is not None and parent not in path:
            path.append(parent)
        return tuple(path)

    def with_parent(self, b: BrokerId, parent: BrokerId | None) -> Overlay:
        """b follows `parent` from now on."""
        parents = tuple((broker, parent if broker == b else p) for broker, p in self.parents)
        return replace(self, parents=parents, tops=tuple(top for top in self.tops if top != b))

    def with_link(self, u: BrokerId, v: BrokerId) -> Overlay:
        """The link between u and v is up."""
        return replace(self, links=tuple(sorted({*self.links, link(u, v)})))

    def without_link(self, u: BrokerId, v: BrokerId) -> Overlay:
        """The link between u and v is down; a turn that would have crossed it does not go further."""
        fallen = link(u, v)
        turning = (tuple(_until(path, fallen)) for path in self.turning)
        return replace(
            self,
            links=tuple(one for one in self.links if one != fallen),
            turning=tuple(path for path in turning if len(path) > 1),
            tops=tuple(sorted({*self.tops, *(b for b, other in ((u, v), (v, u)) if self.parent(b) == other)})),
        )

    def moved(self, b: BrokerId, to: BrokerId) -> Overlay:
        """b, whose old link is down, has a link to `to` and follows it.

        Where b is the last on a path that turns, its way to the old leader goes by `to` now, so that the heartbeat goes on there.
        """
        ahead = self.path_to_leader(to)
        turning = tuple((*path, *(x for x in ahead if x not in path)) if path[-1] == b else path for path in self.turning)
        return replace(self.with_link(b, to).with_parent(b, to), turning=turning)

    def next_turns(self) -> dict[BrokerId, BrokerId]:
        """Who may turn round now, and towards whom."""
        return {path[1]: path[0] for path in reversed(self.turning)}

    def turned(self, b: BrokerId) -> Overlay:
        """b, the next on its path, follows the one before it; its successor is next."""
        towards = self.next_turns()[b]
        index = next(k for k, path in enumerate(self.turning) if path[:2] == (towards, b))
        paths = (path[1:] if k == index else path for k, path in enumerate(self.turning))
        return replace(self.with_parent(b, towards), turning=tuple(path for path in paths if len(path) > 1))


def _until(path: Iterable[BrokerId], fallen: Link) -> Iterator[BrokerId]:
    previous: BrokerId | None = None
    for b in path:
        if previous is not None and link(previous, b) == fallen:
            return
        yield b
        previous = b


@lru_cache(maxsize=4096)
def _neighbours(links: tuple[Link, ...], b: BrokerId) -> tuple[BrokerId, ...]:
    return tuple(sorted([v if u == b else u for u, v in links if b in (u, v)]))


@lru_cache(maxsize=4096)
def _component(links: tuple[Link, ...], b: BrokerId) -> tuple[BrokerId, ...]:
    return tuple(sorted(_distances(links, b)))


@lru_cache(maxsize=4096)
def _towards(links: tuple[Link, ...], b: BrokerId, home: BrokerId) -> BrokerId:
    distance = _distances(links, home)
    here = distance[b]
    return next(y for y in _neighbours(links, b) if distance[y] < here)


@lru_cache(maxsize=4096)
def _distances(links: tuple[Link, ...], start: BrokerId) -> dict[BrokerId, int]:
    distance = {start: 0}
    queue = deque([start])
    while queue:
        b = queue.popleft()
        for u, v in links:
            if b in (u, v):
                other = v if u == b else u
                if other not in distance:
                    distance[other] = distance[b] + 1
                    queue.append(other)
    return distance
