"""Writes scenario.h, with which mft.pml is the transition system of a scenario.

    python benchmarks/spin/generate.py SCENARIO [--capacity N] > scenario.h

A scenario that mft.pml cannot express is refused in one line.  What it can express: `mft-pubsub` under the printed readings, clients that
stay and are handed their events at once, one filter for each subscriber, events that are published at any time, and brokers that lose the
link to their parent and later migrate.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator

from roamcheck.checker.files import FileError, load_scenario
from roamcheck.checker.question import question
from roamcheck.model.initial import initial_overlay
from roamcheck.model.overlay import Overlay
from roamcheck.model.scenario import Assumptions, Free, Scenario, ScenarioError
from roamcheck.spec.filters import matches
from roamcheck.spec.messages import BrokerId
from roamcheck.spec.readings import PRINTED

BROKERS, SUBSCRIBERS, EVENTS, BOUND = 7, 31, 7, 16  # what the state of mft.pml has room for
LOCAL, NO_CHANNEL = 7, 255
ASSUMED = Assumptions(in_flight="returned", client_links="instant")
CAPACITY = 5  # of every channel; but where it was measured what is needed, that: (of most channels, of the roomy ones)
MEASURED = {"peers-b": (2, 5), "peers-c": (2, 5), "peers-d": (2, 5), "peers-e": (3, 5)}
ROOMY = (("b2", "b1"), ("b1", "b3"), ("b2", "b5"), ("b2", "b3"), ("b5", "b6"))

Mover = tuple[BrokerId, BrokerId, BrokerId]  # who, its parent at the start, whom it joins
Ways = list[tuple[BrokerId, BrokerId]]


class InexpressibleError(ValueError):
    """What the scenario has and mft.pml has not."""


def movers(scenario: Scenario) -> list[Mover]:
    """The brokers that move, each by a link-down and a migrate that comes after it.  Raises InexpressibleError."""
    overlay, found = initial_overlay(scenario), []
    downs = [move for move in scenario.moves if move.do == "link-down" and move.link]
    for move in scenario.moves:
        if move.do == "migrate":
            b = BrokerId(move.broker or "")
            parent = overlay.parent(b)
            mine = [down for down in downs if parent and set(down.link or ()) == {b, parent}]
            if parent is None or len(mine) != 1 or mine[0].after or move.after != (mine[0].id,):
                raise InexpressibleError(f"move {move.id}: a broker migrates after one link-down of the link to its parent, and after nothing else")
            found.append((b, parent, BrokerId(move.to or "")))
    if len(downs) != len(found) or len({b for b, _, _ in found}) != len(found):
        raise InexpressibleError("a broker moves once, and no link falls otherwise")
    return found


def overlays(start: Overlay, moving: list[Mover]) -> None:
    """See that every move is enabled whenever it is due, whatever the order: mft.pml asks nothing else.  Raises InexpressibleError."""
    seen = {(0,) * len(moving): start}
    todo = list(seen)
    for at in todo:
        for n, (b, old, new) in enumerate(moving):
            overlay = seen[at]
            if at[n] == 2:
                continue
            if at[n] == 0 and not overlay.is_up(b, old):
                raise InexpressibleError(f"the link {b}–{old} may be down before {b} loses it")
            if at[n] == 1 and (overlay.follows(b) is not None or new in overlay.branch(b)):
                raise InexpressibleError(f"{b} may find {new} in its own branch, or have joined another before")
            overlay = overlay.without_link(b, old) if at[n] == 0 else overlay.moved(b, new)
            after = (*at[:n], at[n] + 1, *at[n + 1 :])
            if seen.setdefault(after, overlay) != overlay:
                raise InexpressibleError("who follows whom depends on the order of the moves")
            if after not in todo:
                todo.append(after)


def obstacles(scenario: Scenario) -> Iterator[str]:
    """What mft.pml cannot express, in parts of the scenario other than how brokers move."""
    asked = question(scenario)
    changed = [name for name, value in asked.readings.as_dict().items() if value != PRINTED.as_dict()[name]]
    if asked.protocol != "mft-pubsub":
        yield f"the protocol is mft-pubsub, not {asked.protocol}"
    if changed:
        yield f"the readings are the printed ones, and {changed[0]} is not"
    if asked.assume != ASSUMED:
        yield "client links are instant, what is in flight is returned at once, and the radio is reliable"
    if not scenario.settled:
        yield "all subscriptions are settled at the start"
    if scenario.free != Free():
        yield "nothing is free: every move is the scenario's own"
    if len(scenario.leaders) != 1 or len(scenario.links) != len(scenario.brokers) - 1:
        yield "the network is one tree"
    for what, count, most in (("brokers", scenario.brokers, BROKERS), ("subscribers", scenario.subscribers, SUBSCRIBERS)):
        if not 1 <= len(count) <= most:
            yield f"there are 1 to {most} {what}, not {len(count)}"
    yield from (f"subscriber {s.name}: is attached, with one filter" for s in scenario.subscribers if s.at is None or len(set(s.filters)) != 1)
    for move in scenario.moves:
        if move.do not in ("publish", "link-down", "migrate"):
            yield f"move {move.id}: there is publish, link-down and migrate, but no {move.do}"
        elif move.when != "any" or (move.do == "publish" and move.after):
            yield f"move {move.id}: waits neither for silence nor for what is not its own link"
    publishers = {event.name: event.publisher for event in scenario.events}
    published = Counter(publishers[move.event] for move in scenario.moves if move.do == "publish" and move.event)
    if not 1 <= published.total() <= EVENTS:
        yield f"there are 1 to {EVENTS} events that are published, not {published.total()}"
    yield from (f"publisher {p.name}: is attached" for p in scenario.publishers if p.at is None and p.name in published)
    yield from (f"publisher {name}: publishes {times} times; one event for each publisher" for name, times in published.items() if times > 1)


def channels(scenario: Scenario, moving: list[Mover], capacity: int | None) -> tuple[Ways, Ways, int, int]:
    """The channels with little room and those with much, and how much."""
    pairs = [(BrokerId(u), BrokerId(v)) for u, v in scenario.links] + [(b, new) for b, _, new in moving]
    ways = list(dict.fromkeys(way for u, v in pairs for way in ((u, v), (v, u))))
    if capacity is not None or scenario.name not in MEASURED:
        return ways, [], capacity or CAPACITY, 0
    return [way for way in ways if way not in ROOMY], [way for way in ways if way in ROOMY], *MEASURED[scenario.name]


def header(scenario: Scenario, capacity: int | None = None) -> str:
    """The text of scenario.h; `capacity` for every channel.  Raises InexpressibleError."""
    for obstacle in obstacles(scenario):
        raise InexpressibleError(obstacle)
    overlay, moving = initial_overlay(scenario), movers(scenario)
    overlays(overlay, moving)
    small, large, room, much = channels(scenario, moving, capacity)
    number = {BrokerId(b): n for n, b in enumerate(scenario.brokers)}
    filters, homes = dict(scenario.filters), [BrokerId(s.at or "") for s in scenario.subscribers]
    at = {p.name: number[BrokerId(p.at)] for p in scenario.publishers if p.at}
    published = {move.event for move in scenario.moves if move.do == "publish"}
    events = [event for event in scenario.events if event.name in published]
    wanted = [[matches(filters[s.filters[0]], event.attributes) for s in scenario.subscribers] for event in events]
    subscribers, fields = len(homes), max(len(homes), 2)  # a REP and a BSUB have two fields
    number_of = {way: n for n, way in enumerate([*small, *large])}
    most = max(map(sum, zip(*wanted, strict=True)))
    kind, full = ("byte", 1 << 5) if most <= 2 else ("short", 1 << 12) if most <= 5 else ("int", 1 << 28)
    steps = [f"FROM_SMALL({n})" for n in range(len(small))] + [f"FROM_LARGE({n})" for n in range(len(large))]
    steps += [f"PUBLISH({n},{at[event.publisher]})" for n, event in enumerate(events)]
    steps += [f"MOVE({n},{','.join(str(number[x]) for x in mover)})" for n, mover in enumerate(moving)]
    defined: dict[str, object] = {
        "NB": len(number), "NS": subscribers, "NE": len(events), "NMOVERS": max(len(moving), 1), "NF": fields,
        "NSMALL": len(small), "NLARGE": len(large), "SMALL": room, "LARGE": much,
        "QTYPE": kind, "QFULL": full,
        "FIELD_TYPES": listed(["byte"] * fields),
        "FIELDS": listed(f"m[{i}]" for i in range(fields)),
        "CI_ARGS": listed(f"ci[{i}]" for i in range(fields)),
        "ONE(x)": listed(["x", *["0"] * (fields - 1)]),
        "TWO(x,y)": listed(["x", "y", *["0"] * (fields - 2)]),
        "R_START": listed(LOCAL if b == home else number[overlay.towards(b, home)] for b in number for home in homes),
        "T_START": listed(BOUND + overlay.distance(b, home) + 1 for b in number for home in homes),
        "NB_START": listed(sum(1 << number[y] for y in overlay.neighbours(b)) for b in number),
        "SRC_TABLE": listed(number[u] for u, _ in number_of),
        "DST_TABLE": listed(number[v] for _, v in number_of),
        "CH_TABLE": listed(number_of.get((u, v), NO_CHANNEL) for u, v in every_pair(scenario)),
        "WANTED_TABLE": listed(sum(1 << i for i, yes in enumerate(row) if yes) for row in wanted),
        "STEPS": " ".join(steps),
    }  # fmt: skip
    return f"/* {scenario.name} */\n" + "".join(f"#define {name} {value}\n" for name, value in defined.items())


def every_pair(scenario: Scenario) -> Iterator[tuple[BrokerId, BrokerId]]:
    """(from, to) in the order of CH, eight to a row."""
    names = [*map(BrokerId, scenario.brokers), *[BrokerId("")] * (8 - len(scenario.brokers))]
    yield from ((u, v) for u in names for v in names)


def listed(values: Iterator[object] | list[str]) -> str:
    """With commas, as an initializer or as arguments."""
    return ",".join(map(str, values))


def main() -> int:
    words = argparse.ArgumentParser(description="Writes scenario.h for mft.pml.")
    words.add_argument("scenario", help="a file, or the name of a bundled scenario")
    words.add_argument("--capacity", type=int, help=f"of every channel (default: {CAPACITY}, or as measured); too little is an error of the run")
    given = words.parse_args()
    try:
        print(header(load_scenario(given.scenario), given.capacity), end="")
    except (FileError, ScenarioError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except InexpressibleError as error:
        print(f"error: {given.scenario}: the Promela model cannot express it: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
