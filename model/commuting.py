"""Which steps commute on a slot that both write: claims on the budget that have nothing to do with each other, and debts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from roamcheck.spec.messages import BrokerId, PublisherId, SubscriberId

from .bounds import places
from .interface import Kind, Slot, Step
from .overlay_moves import Arguments
from .scenario import Move
from .world import World

COSTS = {  # of the free moves, of a loss and of a repeat: the budget that each draws on
    "publish": "publish", "detach": "client-moves", "link-down": "link-failures", "migrate": "broker-moves", "merge": "merges", "lose": "losses",
    "repeat": "repeats",
}  # fmt: skip
Key = tuple[str, Arguments]  # of a step


@dataclass(frozen=True, slots=True)
class Claimed:
    """The parts of the budget that a step changes, and those that it looks at besides."""

    writes: frozenset[str]
    reads: frozenset[str] = frozenset()

    def apart_from(self, other: Claimed) -> bool:
        """Neither changes what the other looks at."""
        return not (self.writes & (other.reads | other.writes) or other.writes & self.reads)


def unordered(w: World, steps: tuple[Step, ...]) -> partial[bool]:
    """Model.unordered for these steps of a world."""
    moves = {move.id: move for move in w.scenario.moves}
    claims = {key(step): claimed(step, moves) for step in steps if step.kind is not Kind.PROTOCOL}
    return partial(_unordered, w, claims)


def _unordered(w: World, claims: dict[Key, Claimed], slot: Slot, one: Step, other: Step) -> bool:
    if slot == w.budget:
        first, second = claims.get(key(one)), claims.get(key(other))
        return first is not None and second is not None and first.apart_from(second)
    if slot not in w.subscriber.values():
        return False
    debts = owes_only(w, slot, one) or owes_only(w, slot, other)
    return debts and only_appends(slot, one) and only_appends(slot, other)


def key(step: Step) -> Key:
    """What tells the steps of a model apart."""
    return step.action, step.arguments


def claimed(step: Step, moves: dict[str, Move]) -> Claimed:
    """What a step of the environment or the radio changes in the budget, and looks at there: a move of the scenario, or a free step."""
    given = dict(step.arguments)
    roaming = frozenset({f"roaming {given['subscriber']}"} if "subscriber" in given else ())
    if "move" in given:
        attaches = roaming if step.action == "attach" else frozenset()
        return Claimed(frozenset({f"move {given['move']}"}) | attaches, frozenset(f"move {before}" for before in moves[given["move"]].after))
    if step.action == "attach":
        return Claimed(roaming)
    if step.action == "crash":
        return Claimed(frozenset({"volatile-crashes" if given["state"] == "volatile" else "crashes"}))
    return Claimed(frozenset({COSTS[step.action]}) | roaming)


def only_appends(slot: Slot, step: Step) -> bool:
    """The step touches the slot in no other way than by appending to it."""
    if step.selector is not None and step.within is None:
        return False
    footprint = step.within or step.fixed
    return slot in footprint.appends and slot not in (*footprint.reads, footprint.takes, step.selector)


def owes_only(w: World, slot: Slot, step: Step) -> bool:
    """Where the step appends to a subscriber's slot, it appends debts: it hands over a publisher's event where that subscriber can never be."""
    given = dict(step.arguments)
    if step.action == "publish":
        brokers = places(w, PublisherId(given["publisher"]))
    elif step.action == "deliver" and given["from"] in w.publisher:
        brokers = (BrokerId(given["to"]),)
    else:
        return False
    return not w.instant or all(w.subscriber.get(SubscriberId(client)) != slot for b in brokers for client in w.visitors[b])
