"""Which edges may lie on a cycle, told from the tables alone.

Round a cycle, each slot comes back to the value that it had.  So a step that takes a slot from one value to another lies on a cycle only if other
steps of cycles lead back, one value after the other.  What reactions change is in the tables, and is little: of all reactions, those are struck off,
again and again, that leave a strongly connected component of the values of some slot.  Most often nothing is left, and there are no cycles;
otherwise the few edges of the few reactions that are left are all that have to be looked at.
"""

# mypy: disable-error-code="assignment,no-any-return,return-value"

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from . import trimming
from .kernels import APPENDS, CHANGES, TAKES
from .tables import Tables
from .visited import UNTOLD

if TYPE_CHECKING:
    from .search import Search

MOST = 1 << 22  # edges that are taken out of the others
BITS = 32  # of a value in a key, and what masks them
VALUE = (1 << BITS) - 1


class Changes(NamedTuple):
    """What each of some owners does to slots: of each slot that it changes, the ways in which it may."""

    owner: Any  # [change] I64
    change: Any  # [way] I64
    source: Any  # [way] I64: the value before
    target: Any  # [way] I64: the value after


class Edges(NamedTuple):
    """In the order of the states that they lead from; and the reactions that they are of, or UNTOLD."""

    source: Any  # U32
    target: Any  # U32
    reaction: Any  # U16


def may_return(changes: Changes, owners: int, values: int) -> Any:
    """Of each owner, whether all that it changes may be changed back by others of which the same is true."""
    owner, (change, source, target), returns, left = changes.owner, changes[1:], np.ones(owners, bool), -1
    order = np.argsort(source, kind="stable")  # as `components` wants them
    change, source, target = change[order], source[order], target[order]
    while left != (left := int(np.count_nonzero(returns))):
        here = returns[owner[change]]
        component = trimming.components(source[here], target[here], values)
        can = np.zeros(len(owner), bool)
        can[change[here][component[source[here]] == component[target[here]]]] = True
        returns[owner[~can]] = False
    return returns


def changes_of(tables: Tables, asked: Any) -> Changes:
    """What the reactions of the steps that are asked do to slots."""
    owner: list[int] = []
    written: list[tuple[int, int, int]] = []  # a change, and the value before and after
    looked_up: list[tuple[int, int]] = []  # a change, and the node at which what becomes of a value is looked up
    taken: list[tuple[int, int]] = []  # a change, and the word that it takes
    both: list[tuple[int, int, int]] = []  # a change, the word that it takes, and the node
    for reaction, (step, word, old) in tables.operands.items():
        if not asked[step]:
            continue
        columns = tables.reactions[reaction]
        mouth = columns[TAKES]
        for slot, number in tables.change.items[columns[CHANGES] : columns[CHANGES + 1]]:
            written.append((len(owner), old[slot], number))
            owner.append(reaction)
            mouth = -1 if slot == mouth else mouth
        for slot, node in tables.appended.items[columns[APPENDS] : columns[APPENDS + 1]]:
            if slot == mouth:
                both.append((len(owner), word, node))
                mouth = -1
            else:
                looked_up.append((len(owner), node))
            owner.append(reaction)
        if mouth >= 0:
            taken.append((len(owner), word))
            owner.append(reaction)
    answers, head, rest = tables.lookup.answers, tables.head.array[: len(tables.values)], tables.rest.array
    keys = np.fromiter(answers, np.int64, len(answers))
    order, by_head = np.argsort(keys), np.argsort(head, kind="stable")
    keys, leads_to = keys[order], np.fromiter(answers.values(), np.int64, len(answers))[order]
    heads, ways = head[by_head], [np.array(written, np.int64).reshape(-1, 3).T]
    change, nodes = np.array(looked_up, np.int64).reshape(-1, 2).T
    of, at = within(keys, nodes << BITS, nodes + 1 << BITS)
    ways.append(np.array([change[of], keys[at] & VALUE, leads_to[at]]))
    change, words = np.array(taken, np.int64).reshape(-1, 2).T
    of, at = within(heads, words, words + 1)
    ways.append(np.array([change[of], by_head[at], rest[by_head[at]]]))
    for number, word, node in both:
        ways += [
            np.array([[number], [value], [answers.get(node << BITS | int(rest[value]), -1)]])
            for value in by_head[slice(*np.searchsorted(heads, [word, word + 1]))].tolist()
        ]
    change, source, target = np.concatenate(ways, axis=1)
    return Changes(np.array(owner, np.int64), change[target >= 0], source[target >= 0], target[target >= 0])


def within(ordered: Any, least: Any, beyond: Any) -> tuple[Any, Any]:
    """All places of numbers that are in order that lie in one of some ranges, from least[i] up to beyond[i]: the i and the place of each."""
    lo = np.searchsorted(ordered, least)
    many = np.searchsorted(ordered, beyond) - lo
    return np.repeat(np.arange(len(lo)), many), np.arange(many.sum()) + np.repeat(lo - np.cumsum(many) + many, many)


def cyclic(search: Search, alive: Any) -> trimming.Cyclic:
    """Of the states that are alive, those that lie on a cycle of such states, in order.  `alive` is used up."""
    edges = returning(search)
    if edges is None:
        return trimming.on_cycles(search.graph(), alive)
    source, target = search.fired_again()
    return trimming.cyclic(np.concatenate([edges.source, source]), np.concatenate([edges.target, target]), alive)


def returning(search: Search) -> Edges | None:
    """The edges that may lie on a cycle, but those of states that were explored again; None if the tables do not tell, or if there are too many."""
    if not search.told:
        return None
    tables = search.tables
    asked = np.ones(len(search.model.steps), bool) if search.reduction is not None else tables.owed.array > 0
    returns = may_return(changes_of(tables, asked), len(tables.reactions.items), len(tables.values))
    of_others = np.ones(len(returns), bool)
    of_others[[reaction for reaction, (step, _, _) in tables.operands.items() if asked[step]]] = False
    returns[of_others] = False
    wanted = np.zeros(UNTOLD + 1, np.uint8)
    wanted[: len(returns)] = returns[: UNTOLD + 1]
    wanted[UNTOLD] = returns[UNTOLD:].any()
    found = [Edges(np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0, np.uint16))]
    blocks = iter(search.extents() if wanted.any() else ())
    while some := [extent for _, extent in zip(range(search.threads.most), blocks, strict=False)]:
        found += search.each(pick, [
            (first, search.degree.read(first, last), search.edges.read(lo, hi), search.reacted.read(lo, hi), wanted) for first, last, lo, hi in some
        ])  # fmt: skip
        if sum(len(edges.source) for edges in found) > MOST:
            return None
    return Edges(*(np.concatenate(column) for column in zip(*found, strict=True)))


def pick(first: int, degree: Any, edges: Any, reaction: Any, wanted: Any) -> Edges:
    """Of the edges of the states from `first` on, those of reactions that are wanted."""
    room = np.empty(len(edges), np.uint32), np.empty(len(edges), np.uint32), np.empty(len(edges), np.uint16)
    found = write_picked(first, degree, edges, reaction, wanted, *room)
    return Edges(*(column[:found].copy() for column in room))


@njit(cache=True, nogil=True)
def write_picked(first: int, degree: Any, edges: Any, reaction: Any, wanted: Any, source: Any, target: Any, by: Any) -> int:
    """As `pick`, into arrays; how many edges there are."""
    found = np.uint64(0)
    for e in range(edges.shape[0]):
        source[found] = e  # is written over if it is not wanted
        found += np.uint64(wanted[reaction[e]])
    i, end = np.uint64(0), np.uint64(0)
    for k in range(found):
        e = source[k]
        while end <= e:
            end += np.uint64(degree[i])
            i += np.uint64(1)
        source[k], target[k], by[k] = first + i - 1, edges[e], reaction[e]
    return found
