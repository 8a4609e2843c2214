"""The compiled loops over the visited set: look candidates up, add those that are new, number them.

The set is in parts, told apart by the top bits of the fingerprint, so that each thread has parts of its own.
"""

# mypy: disable-error-code="arg-type,assignment,no-any-return,return-value"
# (numba compiles Python's and numpy's integers alike; mypy tells them apart)

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from .kernels import I64, U8, U16, U32, U64

UNKNOWN = np.uint32(0xFFFFFFFF)


@njit(cache=True, nogil=True)
def home(print_: np.uint64, room: int) -> int:
    """Where to look first: the lower half of the fingerprint, spread over the room."""
    return np.int64(((print_ & np.uint64(0xFFFFFFFF)) * np.uint64(room)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def find(all_keys: Any, all_numbers: Any, prints: U64, lo: int, hi: int, part_shift: np.uint64, target: U32) -> None:
    """The numbers of the states that the candidates lo…hi-1 lead to, where they are in a part that is in memory; the others keep theirs."""
    wide = prints.shape[1] > 1
    for j in range(lo, hi):
        part = np.int64(prints[j, 0] >> part_shift)
        keys, numbers = all_keys[part], all_numbers[part]
        room, x = keys.shape[0], max(prints[j, 0], np.uint64(1))
        at = home(x, room)
        while room > 0 and keys[at, 0] != 0:
            if keys[at, 0] == x and (not wide or keys[at, 1] == prints[j, 1]):
                target[j] = numbers[at]
                break
            at += 1
            if at == room:
                at = 0


@njit(cache=True, nogil=True)
def count_parts(prints: U64, start: U32, size: U16, lo: int, hi: int, shift: np.uint64, counts: I64) -> None:
    """How many of the candidates of the rows lo…hi-1 belong to each part of the visited set."""
    counts[:] = 0
    for r in range(lo, hi):
        for j in range(start[r], start[r] + size[r]):
            counts[np.int64(prints[j, 0] >> shift)] += 1


@njit(cache=True, nogil=True)
def sort_parts(prints: U64, start: U32, size: U16, lo: int, hi: int, shift: np.uint64, at: I64, order: U32, sorted_prints: U64) -> None:
    """Write the candidates and their fingerprints part by part, each part in the order of the rows; `at` says where, and is left at the ends."""
    wide = prints.shape[1] > 1
    for r in range(lo, hi):
        for j in range(start[r], start[r] + size[r]):
            part = np.int64(prints[j, 0] >> shift)
            order[at[part]] = j
            sorted_prints[at[part], 0] = prints[j, 0]
            if wide:
                sorted_prints[at[part], 1] = prints[j, 1]
            at[part] += 1


@njit(cache=True, nogil=True)
def insert(
    all_keys: Any, all_numbers: Any, prints: U64, order: U32, begin: I64, end: I64, share: int, shares: int, base: int,
    target: U32, place: U32, added: I64,
) -> None:  # fmt: skip
    """Look candidates up in every `shares`-th part of the visited set from `share` on, and add those that are new.

    Part p has the candidates order[begin[p]…end[p] - 1] with the fingerprints prints[begin[p]…end[p] - 1], none if it is not in memory.  A state's
    number goes to `target`; a new one is `base` + the candidate that it was first seen at.  `place` tells where order[i] was added if it was new;
    `added` counts the new ones by part.
    """
    wide = prints.shape[1] > 1
    for part in range(share, len(all_keys), shares):
        keys, numbers, lo, hi = all_keys[part], all_numbers[part], begin[part], end[part]
        room, ahead, touched = keys.shape[0], lo, np.uint64(0)
        for i in range(lo, hi):
            if i == ahead:  # ask for the memory of the next few at once, not for one after the other
                ahead = min(i + 32, hi)
                for k in range(i, ahead):
                    near = home(max(prints[k, 0], np.uint64(1)), room)
                    touched ^= keys[near, 0] ^ np.uint64(numbers[near])
            x = max(prints[i, 0], np.uint64(1))  # 0 marks a free place
            at = home(x, room)
            while True:
                found = keys[at, 0]
                if found == x and (not wide or keys[at, 1] == prints[i, 1]):
                    target[order[i]] = numbers[at]
                    break
                if found == 0:
                    keys[at, 0] = x
                    if wide:
                        keys[at, 1] = prints[i, 1]
                    numbers[at] = base + order[i]
                    target[order[i]] = base + order[i]
                    place[i] = at
                    added[part] += 1
                    break
                at += 1
                if at == room:
                    at = 0
        if touched == 1:  # so that the loads above are not optimised away
            added[part] += 0


@njit(cache=True, nogil=True)
def renumber(all_numbers: Any, order: U32, begin: I64, end: I64, share: int, shares: int, base: int, target: U32, place: U32, final: U32) -> None:
    """Give the new states of some parts their numbers."""
    for part in range(share, len(all_numbers), shares):
        numbers = all_numbers[part]
        for i in range(begin[part], end[part]):
            j = order[i]
            if target[j] == base + j:
                numbers[place[i]] = final[j]


@njit(cache=True, nogil=True)
def move_part(old_keys: U64, old_numbers: U32, keys: U64, numbers: U32) -> None:
    """Move a part of the visited set into larger arrays."""
    room, wide = keys.shape[0], keys.shape[1] > 1
    for i in range(old_keys.shape[0]):
        x = old_keys[i, 0]
        if x != 0:
            at = home(x, room)
            while keys[at, 0] != 0:
                at += 1
                if at == room:
                    at = 0
            keys[at, 0] = x
            if wide:
                keys[at, 1] = old_keys[i, 1]
            numbers[at] = old_numbers[i]


@njit(cache=True, nogil=True)
def number_new(target: U32, start: U32, size: U16, base: int, final: U32, new: U32, origin: U32) -> int:
    """Number the new states in the order of the rows that they come from; answers how many there are."""
    count = 0
    for r in range(start.shape[0]):
        for j in range(start[r], start[r] + size[r]):
            if target[j] == base + j:
                final[j] = base + count
                new[count] = j
                origin[count] = r
                count += 1
    return count


@njit(cache=True, nogil=True)
def targets(
    owed: U8, target: U32, step: U16, start: U32, size: U16, lo: int, hi: int, base: int, final: U32, degree: U16, out: U32,
) -> int:  # fmt: skip
    """Write the numbers of the states that the steps that are `owed` lead to from the rows lo…hi-1, and how many those are of each row."""
    at = 0
    for r in range(lo, hi):
        before = at
        for j in range(start[r], start[r] + size[r]):
            if owed[step[j]]:
                number = target[j]
                out[at] = number if number < base else final[number - base]
                at += 1
        degree[r] = at - before
    return at
