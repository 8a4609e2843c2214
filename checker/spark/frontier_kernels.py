"""The compiled loops of the distributed search: rows packed into words, candidates thinned before they travel, and merged where they arrive.

A *label* orders the states of a level as the reference explorer finds them: that of a child is its parent's times the number of steps, plus the step.
"""

# mypy: disable-error-code="arg-type,assignment,no-any-return,return-value"
# (numba compiles Python's and numpy's integers alike; mypy tells them apart)

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from roamcheck.checker.tabled.kernels import I32, I64, SPREAD, U8, U16, U32, U64

FIRING = np.uint64(0xD6E8FEB86659FD93)
QUIESCENT = np.uint8(1)  # a flag of a candidate


@njit(cache=True, nogil=True)
def pack(rows: Any, number: I32, word: I64, shift: U64, out: U64) -> None:
    """Write number[rows[i, slot]] of each slot to its place in the words of row i; `out` is zero."""
    for i in range(rows.shape[0]):
        for slot in range(rows.shape[1]):
            out[i, word[slot]] |= np.uint64(number[rows[i, slot]]) << shift[slot]


@njit(cache=True, nogil=True)
def unpack(words: U64, word: I64, shift: U64, mask: U64, value: I32, begin: I64, out: Any) -> None:
    """Write value[begin[slot] + number] for the number of each slot in the words of row i."""
    for i in range(out.shape[0]):
        for slot in range(out.shape[1]):
            out[i, slot] = value[begin[slot] + np.int64((words[i, word[slot]] >> shift[slot]) & mask[slot])]


@njit(cache=True, nogil=True)
def repack(words: U64, word: I64, shift: U64, mask: U64, number: I32, begin: I64, word_out: I64, shift_out: U64, out: U64) -> None:
    """Both at once: from one way of packing, by other numbers, to another one."""
    for i in range(words.shape[0]):
        for slot in range(word.shape[0]):
            found = number[begin[slot] + np.int64((words[i, word[slot]] >> shift[slot]) & mask[slot])]
            out[i, word_out[slot]] |= np.uint64(found) << shift_out[slot]


@njit(cache=True, nogil=True)
def used(rows: Any, mark: U8) -> None:
    """Mark the values that occur."""
    for i in range(rows.shape[0]):
        for slot in range(rows.shape[1]):
            mark[rows[i, slot]] = 1


@njit(cache=True, nogil=True)
def count_busy(rows: Any, busy: U8, out: U16) -> None:
    """How many slots of each row are not idle."""
    for i in range(rows.shape[0]):
        n = 0
        for slot in range(rows.shape[1]):
            n += busy[rows[i, slot]]
        out[i] = n


@njit(cache=True, nogil=True)
def firing(change: np.uint64, reaction: int) -> np.uint64:
    """A number, not 0, for what a reaction does to all slots, given what it does to the fingerprint: a step and its reverse do the same to that."""
    return (change ^ (np.uint64(reaction + 1) * FIRING)) | np.uint64(1)


@njit(cache=True, nogil=True)
def thin(
    row: int, rows: int, start: U32, size: U16, prints: U64, step: U16, reaction: I32, owed: U8, sources: U64, labels: U64, steps: int,
    sent: U64, sent_shift: np.uint64, known: U64, known_shift: np.uint64, kept: U32, origin: U32, label_out: U64, fresh: U32, fresh_row: U32,
    counts: I64,
) -> int:  # fmt: skip
    """Of the candidates of the rows row…rows-1 keep those whose states were not sent before, as far as `sent` remembers: least labels come first.

    counts[0] of them are kept so far, and counts[1] are `fresh`: protocol steps with a firing that is not among the `known` ones, to which it is
    added; counts[2] are in there.  Answers the first row that there was no room for.
    """
    mask = np.uint64(known.shape[0] - 1)
    while row < rows:
        if counts[1] + size[row] > fresh.shape[0] or 2 * (counts[2] + size[row]) > known.shape[0]:
            return row
        for j in range(start[row], start[row] + size[row]):
            x = prints[j, 0]
            if owed[step[j]]:
                way = firing(x ^ sources[row, 0], reaction[j])
                at = (way * SPREAD) >> known_shift
                while known[at] != 0 and known[at] != way:
                    at = (at + np.uint64(1)) & mask
                if known[at] == 0:
                    known[at] = way
                    counts[2] += 1
                    fresh[counts[1]], fresh_row[counts[1]] = j, row
                    counts[1] += 1
            place = (x * SPREAD) >> sent_shift
            if sent[place] != x or x == 0:
                sent[place] = x
                n = counts[0]
                kept[n], origin[n], label_out[n] = j, row, labels[row] * np.uint64(steps) + np.uint64(step[j])
                counts[0] += 1
        row += 1
    return row


@njit(cache=True, nogil=True)
def add_known(firings: U64, known: U64, shift: np.uint64) -> None:
    """Put firings into an empty table that has room."""
    mask = np.uint64(known.shape[0] - 1)
    for i in range(firings.shape[0]):
        at = (firings[i] * SPREAD) >> shift
        while known[at] != 0 and known[at] != firings[i]:
            at = (at + np.uint64(1)) & mask
        known[at] = firings[i]


@njit(cache=True, nogil=True)
def least(prints: U64, labels: U64, order: I64, chosen: I64) -> int:
    """Of the candidates, ordered by fingerprint, choose for each state the one with the least label; how many states there are."""
    n = 0
    for i in range(order.shape[0]):
        j = order[i]
        if n > 0 and prints[chosen[n - 1]] == prints[j]:
            if labels[j] < labels[chosen[n - 1]]:
                chosen[n - 1] = j
        else:
            chosen[n] = j
            n += 1
    return n


@njit(cache=True, nogil=True)
def strike(prints: U64, run: U64, old: U8) -> None:
    """Mark the fingerprints, which are in order, that are in a run, which is in order."""
    few, i, at = 16 * prints.shape[0] < run.shape[0], 0, 0
    while i < prints.shape[0] and at < run.shape[0]:
        if few:
            at += np.searchsorted(run[at:], prints[i])
            if at < run.shape[0] and run[at] == prints[i]:
                old[i] = 1
            i += 1
        elif run[at] < prints[i]:
            at += 1
        else:
            if run[at] == prints[i]:
                old[i] = 1
            i += 1


@njit(cache=True, nogil=True)
def add_ranks(labels: U64, others: U64, ranks: U64) -> None:
    """Add to the rank of each label, which are in order, how many of the others, which are in order, are less."""
    at = 0
    for i in range(labels.shape[0]):
        while at < others.shape[0] and others[at] < labels[i]:
            at += 1
        ranks[i] += np.uint64(at)


@njit(cache=True, nogil=True)
def able(rows: Any, begin: I64, slot: I64, number: I64, out: U8) -> None:
    """Mark the rows that have, for some i, all the values number[begin[i]…begin[i + 1] - 1] in their slots."""
    for r in range(rows.shape[0]):
        for i in range(begin.shape[0] - 1):
            k = begin[i]
            while k < begin[i + 1] and rows[r, slot[k]] == number[k]:
                k += 1
            if k == begin[i + 1]:
                out[r] = 1
                break


@njit(cache=True, nogil=True)
def changing(prints: U64, start: U32, size: U16, step: U16, owed: U8, sources: U64, rows: int, changes: U64, source: U32, target: U64) -> int:
    """Protocol steps that make one of some changes of fingerprints, which are in order: the row that each is taken in, and where it leads."""
    n = 0
    for row in range(rows):
        for j in range(start[row], start[row] + size[row]):
            if owed[step[j]]:
                change = prints[j, 0] ^ sources[row, 0]
                at = np.searchsorted(changes, change)
                if at < changes.shape[0] and changes[at] == change:
                    source[n], target[n] = row, prints[j, 0]
                    n += 1
    return n
