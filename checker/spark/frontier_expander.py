"""What a process that expands states keeps between its tasks: the model, and the tables of the tabled engine, which grow as they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from roamcheck.checker.tabled.loading import load
from roamcheck.checker.tabled.rows import materialise
from roamcheck.checker.tabled.search import Search
from roamcheck.checker.tabled.settling import settle
from roamcheck.checker.tabled.store import Chunk
from roamcheck.model.interface import Kind, Model

from . import frontier_kernels as kernels
from .frontier_files import Change
from .frontier_rows import Block, decode, encode
from .frontier_values import Translation

SENT = range(10, 23)  # bits: of how many fingerprints a task remembers that it has sent them
FRESH = 1 << 12  # changes that are looked at together


class Expander:
    """Expands blocks of states by the tables of one process."""

    def __init__(self, model: Model) -> None:
        load()
        self.model, self.search = model, Search(model, None, None, False)
        self.tables = self.search.tables
        self.known, self.files = Translation(self.tables), 0  # so many files of shared values were learnt
        self.owed = np.array([step.kind is Kind.PROTOCOL for step in model.steps], np.uint8)
        self._met: dict[int, tuple[int, Change]] = {}  # by firing of this process: the change, and its name
        self.begin((), (), 0)

    def begin(self, changes: Iterable[int], found: Iterable[int], states: int) -> None:
        """A new task, with about so many states: the changes that are known, and the properties that need not be asked any more."""
        self.search.failed, self.search.found = None, {}
        self.search.active[:] = 1
        self.search.active[list(found)] = 0
        self.fired = np.zeros(len(self.model.steps), np.int64)
        self.changes: dict[int, Change] = {}  # that the task has met, by their names
        bits = max(SENT[0], min(SENT[-1], (4 * states).bit_length()))
        self.sent, self.sent_shift = np.zeros(1 << bits, np.uint64), np.uint64(64 - bits)
        self._known = frozenset(changes)
        self._note(np.array([firing for firing, (name, _) in self._met.items() if name in self._known], np.uint64))

    def _note(self, firings: Any) -> None:
        places = 1 << max(16, (8 * len(firings)).bit_length())
        self._table, self._shift = np.zeros(places, np.uint64), np.uint64(64 - (places.bit_length() - 1))
        kernels.add_known(firings, self._table, self._shift)
        self._noted = firings

    def chunk(self, block: Block) -> Chunk:
        """The rows of a block, with what goes with them.  Raises Damaged."""
        rows = decode(block, self.known)
        busy = np.empty(len(rows), np.uint16)
        kernels.count_busy(rows, self.tables.busy.array, busy)
        return Chunk(rows, block.prints.reshape(-1, 1), busy, 0)

    def expand(self, batch: Chunk, labels: Any, base: Sequence[int]) -> tuple[Block, list[tuple[int, int, int]], int | None]:
        """The candidates of a batch that may be new; of each property that one of them breaches the first label and check; and the label of the step
        that failed, if one did."""
        search, steps = self.search, len(self.model.steps)
        self.fired += search.expand(batch, np.ones(len(batch), np.uint8))
        failed = None if search.failed is None else int(labels[search.failed[0]]) * steps + search.failed[1]
        at, origin, found = self._thin(batch, labels)
        c, n, before = search.candidates, len(at), set(search.found)
        c.new[:n], c.origin[:n] = at, origin
        new = settle(search, batch, c, n).states
        breaches = [(of, int(found[search.found[of][0]]), search.found[of][1]) for of in search.found if of not in before]
        flags = np.where(new.busy == 0, kernels.QUIESCENT, 0).astype(np.uint8)
        return encode(new.rows, new.prints[:, 0], found, flags, base, self.known), breaches, failed

    def _thin(self, batch: Chunk, labels: Any) -> tuple[Any, Any, Any]:
        """The candidates to be sent: their places, the rows that they come from, and their labels; all of them are looked at for changes."""
        c, rows, steps = self.search.candidates, len(batch), len(self.model.steps)
        total = int(c.size[:rows].sum())
        kept, origin, label = np.empty(total, np.uint32), np.empty(total, np.uint32), np.empty(total, np.uint64)
        fresh, fresh_row = np.empty(FRESH + steps, np.uint32), np.empty(FRESH + steps, np.uint32)
        counts, row = np.array([0, 0, len(self._noted)], np.int64), 0
        while True:
            row = kernels.thin(
                row, rows, c.start, c.size, c.prints, c.step, c.reaction, self.owed, batch.prints, labels, steps, self.sent, self.sent_shift,
                self._table, self._shift, kept, origin, label, fresh, fresh_row, counts,
            )  # fmt: skip
            if counts[1]:
                self._look_at(batch, fresh[: counts[1]], fresh_row[: counts[1]])
                counts[1], counts[2] = 0, len(self._noted)
            if row == rows:
                return kept[: counts[0]], origin[: counts[0]], label[: counts[0]]

    def _look_at(self, batch: Chunk, at: Any, origin: Any) -> None:
        """Note the changes behind firings."""
        c, key = self.search.candidates, self.tables.key.array[:, 0]
        firings = (c.prints[at, 0] ^ batch.prints[origin, 0] ^ (c.reaction[at].astype(np.uint64) + np.uint64(1)) * kernels.FIRING) | np.uint64(1)
        new = np.array([firing not in self._met for firing in firings.tolist()], bool)
        after = self._made(batch, at[new], origin[new])
        for firing, was, now in zip(firings[new].tolist(), batch.rows[origin[new]], after, strict=True):
            change = [(slot, int(key[was[slot]]), int(key[now[slot]])) for slot in np.flatnonzero(was != now).tolist()]
            self._met[firing] = name_of(change), change
        for name, change in (self._met[firing] for firing in firings.tolist()):
            if name not in self._known:
                self.changes[name] = change
        self._note(np.concatenate([self._noted, firings]))

    def _made(self, batch: Chunk, at: Any, origin: Any) -> Any:
        """The rows of candidates."""
        n, t, c = len(at), self.tables.arrays(), self.search.candidates
        kind = np.promote_types(self.search.row_type(), batch.rows.dtype)
        out, prints, busy = np.empty((n, batch.rows.shape[1]), kind), np.empty((n, 1), np.uint64), np.empty(n, np.uint16)
        parent, arrival, suspect = np.empty(n, np.uint32), np.empty(n, np.uint16), np.empty(n, np.uint8)
        rows = batch.rows.astype(kind, copy=False)
        materialise(
            t, rows, batch.busy, at, origin, 0, n, c.prints, c.step, c.reaction, 0, out, prints, busy, parent, arrival, suspect
        )  # fmt: skip
        return out

    def changing(self, batch: Chunk, changes: Any) -> tuple[Any, Any]:
        """Protocol steps that make one of these changes of fingerprints, which are in order: the rows that they are taken in, and where they lead."""
        self.search.expand(batch, np.ones(len(batch), np.uint8))
        c = self.search.candidates
        total = int(c.size[: len(batch)].sum())
        source, target = np.empty(total, np.uint32), np.empty(total, np.uint64)
        n = kernels.changing(c.prints, c.start, c.size, c.step, self.owed, batch.prints, len(batch), changes, source, target)
        return source[:n], target[:n]

    def able(self, block: Block, changes: Iterable[Change]) -> Any:
        """The rows in which one of some changes finds all that it changes: the only ones in which it can be made.  Raises Damaged."""
        rows, begin, slots, numbers = decode(block, self.known), [0], [], []
        of = [dict(self._keys(slot)) for slot in range(rows.shape[1])]
        for change in changes:
            here = [(slot, of[slot].get(before, -1)) for slot, before, _ in change]
            if all(number >= 0 for _, number in here):
                slots += [slot for slot, _ in here]
                numbers += [number for _, number in here]
                begin.append(len(slots))
        out = np.zeros(len(rows), np.uint8)
        kernels.able(rows, np.array(begin, np.int64), np.array(slots, np.int64), np.array(numbers, np.int64), out)
        return np.flatnonzero(out)

    def _keys(self, slot: int) -> Iterator[tuple[int, int]]:
        """The keys of a slot's values, and their numbers."""
        return ((self.tables.key[number][0], number) for number in self.tables.numbers[slot].values())


def name_of(change: Change) -> int:
    """A number for a change, the same in every process; its reverse has another one."""
    return sum(3 * before + 5 * after for _, before, after in change) & ((1 << 64) - 1)


Recipe = Callable[[], Model]
_LAST: dict[str, Expander] = {}  # of the search that this process worked for last


def expander_of(run: str, recipe: Recipe) -> Expander:
    """This process's, for a search with that name."""
    if run not in _LAST:
        _LAST.clear()
        _LAST[run] = Expander(recipe())
    return _LAST[run]
