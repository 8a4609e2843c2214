"""What a batch leads to: its new states, and the breaches among them.

Each piece of the new states is written and asked at once, while its rows are in a cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from roamcheck.model.interface import Scope

from . import judging
from .candidates import Candidates
from .store import Chunk

if TYPE_CHECKING:
    from .search import Search


@dataclass(slots=True)
class New:
    """The new states, of which the first `kept` count."""

    states: Chunk
    suspect: Any  # [state] U8: a property of a single slot is breached, perhaps
    parents: Any  # [state] U32
    arrivals: Any  # [state] U16: the steps
    kept: int
    quiescent: int = 0  # of those that count
    breached: bool = False  # the last one that counts ends the search

    @property
    def ends(self) -> bool:
        """The search ends here."""
        return self.breached or self.kept < len(self.states)


def settle(search: Search, batch: Chunk, c: Candidates, count: int, beside: Sequence[Callable[[], None]] = ()) -> New:
    """The so many new states that the candidates of a batch lead to.  What is to be done `beside` is shared alike."""
    tables, kind = search.tables, np.promote_types(search.row_type(), batch.rows.dtype)
    rows, prints = np.empty((count, batch.rows.shape[1]), kind), np.empty((count, tables.columns), np.uint64)
    states = Chunk(rows, prints, np.empty(count, np.uint16), search.states)
    parents, arrivals, kept = search.parent.space(count), search.arrival.space(count), min(count, search.max_states - search.states)
    new, before = New(states, np.empty(count, np.uint8), parents, arrivals, kept), batch.rows.astype(kind, copy=False)
    asking = Asking(search, c, new)
    done = asking.round(judging.settle, lambda lo, hi: (
        before, batch.busy, c.new, c.origin, lo, hi, kept, c.prints, c.step, c.reaction, batch.first,
        rows, prints, states.busy, parents, arrivals, new.suspect,
    ), beside)  # fmt: skip
    asking.finish()
    new.quiescent = sum(quiet for _, _, quiet in done)
    if new.ends:
        new.quiescent = int(np.count_nonzero(states.busy[: new.kept] == 0))
    return new


class Asking:
    """Asks new states what a breach could have come up in, until there are answers for all."""

    def __init__(self, search: Search, c: Candidates, new: New) -> None:
        asked, self.ranges = search.tables.asked_of, search.shares(len(new.states))
        self.search, self.c, self.new, every = search, c, new, search.numbers(len(new.states))
        self.todo = [every[: hi - lo] for lo, hi in self.ranges]  # of each piece
        quiet = np.array([*asked[Scope.QUIESCENT], *asked[Scope.RUN]], np.int32)
        self.breaches = [np.full((len(search.active), 2), -1, np.int64) for _ in self.ranges]  # of each property the first: the state and the check
        self.asked = search.tables.spent, quiet, len(asked[Scope.QUIESCENT]), search.active

    def round(self, ask: Callable[..., Any], given: Callable[[int, int], tuple[Any, ...]], beside: Sequence[Callable[[], None]] = ()) -> list[Any]:
        """Ask all pieces at once, and learn what has no answer; `given` tells what a piece is given besides.  Answers what each of them answers."""
        search, t = self.search, self.search.tables.arrays(self.search.view)
        left = [w for w, some in enumerate(self.todo) if len(some)]
        again, notes, told = [np.empty(len(self.todo[w]), np.uint32) for w in left], [search.settling[w] for w in left], set[int]()
        for note in notes:
            note.begin(t)

        def learn(k: int, answer: Any) -> None:
            if k < len(left) and answer[1]:
                misses = notes[k].missed(answer[1])
                for (_, check, key), row in zip(misses.tolist(), self.new.states.rows[misses[:, 0]].tolist(), strict=True):
                    if key not in told:
                        told.add(key)
                        search.tables.learn_check(row, check)

        pieces = [
            (ask, t, *given(*self.ranges[w]), self.todo[w], *self.asked, self.breaches[w], note.misses, note.seen, some, note.keys, note.answers)
            for w, some, note in zip(left, again, notes, strict=True)
        ]
        together = len(pieces) > 1 or len(beside) > 1  # otherwise it is not worth a second thread
        done = search.each(_call, [*pieces, *((task,) for task in beside if together)], learn)[: len(left)]
        for task in () if together else beside:
            task()
        for w, some, (unfinished, *_) in zip(left, again, done, strict=True):
            self.todo[w] = some[:unfinished]
        return done

    def finish(self) -> None:
        """Ask what is left again, and keep the first breach of each property: `new` is cut behind the one that ends the search."""
        states, c = self.new.states, self.c
        while any(len(some) for some in self.todo):
            self.round(judging.judge, lambda lo, _: (states.rows, states.busy, self.new.suspect, c.new, c.reaction, lo))
        if (last := self._note()) is not None:
            self.new.kept, self.new.breached = last + 1, True

    def _note(self) -> int | None:
        """Keep the first breach of each property; with `first`, those up to the first one that decides, which is answered."""
        search, new = self.search, {}
        for of in range(len(search.model.properties)):
            hit = next((breach[of].tolist() for breach in self.breaches if breach[of, 0] >= 0), None)
            if hit is not None:
                new[of] = (int(hit[0]), int(hit[1]))
        decisive = [hit for of, hit in new.items() if search.model.properties[of].decisive] if search.first else []
        for of, hit in new.items():
            if not decisive or hit <= min(decisive):
                search.found[of] = (search.states + hit[0], hit[1])
                search.active[of] = 0
        return min(decisive)[0] if decisive else None


def _call(task: Callable[..., Any], *arguments: Any) -> Any:
    return task(*arguments)
