"""The compiled loops over the visited set: look candidates up, add those that are new, number them.

The set is in parts, told apart by the top bits of the fingerprint, so that it can grow, and be moved to files, part by part.  Where a part is full,
the loops stop, and go on from the row that they name once it has grown; what they had done of that row does no harm.
"""

# mypy: disable-error-code="arg-type,assignment,call-arg,no-any-return,return-value,var-annotated"
# (numba compiles Python's and numpy's integers alike; mypy tells them apart)

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .addresses import claim_word, first_bit, lower_number, matches, number_at, number_by_now, prefetch, put_number, put_word, word_at, word_by_now
from .kernels import I32, I64, U8, U16, U32, U64
from .loops import loop

UNKNOWN = np.uint32(0xFFFFFFFF)
UNTOLD = 0xFFFF  # a reaction whose number has more than 16 bits, or is this one
PARTS = 16
PART_SHIFT = np.uint64(64 - 4)
AHEAD = 3  # rows


class Places(NamedTuple):
    """Where the hash tables of the parts are: in buckets of eight places, those of one bucket in one cache line."""

    keys: Any  # [part] U64: the address of the fingerprints' first words; 0 marks a free place
    seconds: Any  # [part] U64: the address of their second words, if they have any
    numbers: Any  # [part] U64: the address of the states' numbers
    room: Any  # [part] I64: how many places; 0 if the part is not in memory


@loop
def home(print_: np.uint64, room: int) -> int:
    """The bucket in which to look first: the lower half of the fingerprint, spread over the buckets."""
    return np.int64(((print_ & np.uint64(0xFFFFFFFF)) * np.uint64(room >> 3)) >> np.uint64(32))


@loop
def ask_for(places: Places, print_: np.uint64) -> None:
    """Have the memory where a fingerprint is looked up first brought near."""
    part = np.int64(print_ >> PART_SHIFT)
    bucket = np.uint64(home(print_, places.room[part]))
    prefetch(places.keys[part] + (bucket << np.uint64(6)))
    prefetch(places.numbers[part] + (bucket << np.uint64(5)))


@loop
def seek(places: Places, part: int, x: np.uint64, y: np.uint64, width: int) -> tuple[int, bool]:
    """The place in a part where a fingerprint is, or that is free for it; and whether it is there."""
    keys, room = places.keys[part], places.room[part]
    bucket = home(x, room)
    while True:
        found = matches(keys + np.uint64(64 * bucket), x)
        while found:
            at = 8 * bucket + first_bit(found)
            if width == 1 or word_at(places.seconds[part], at) == y:
                return at, True
            found &= found - np.uint64(1)
        found = matches(keys + np.uint64(64 * bucket), np.uint64(0))
        if found:
            return 8 * bucket + first_bit(found), False
        bucket += 1
        if bucket == room >> 3:
            bucket = 0


@loop
def put_key(places: Places, part: int, at: int, x: np.uint64, y: np.uint64, width: int) -> None:
    """Write a fingerprint into a free place."""
    put_word(places.keys[part], at, x)
    if width > 1:
        put_word(places.seconds[part], at, y)


@loop
def halves(prints: U64, j: int) -> tuple[np.uint64, np.uint64]:
    """A fingerprint as it is stored: no word of it is 0."""
    return max(prints[j, 0], np.uint64(1)), max(prints[j, prints.shape[1] - 1], np.uint64(1))


@loop
def find(places: Places, prints: U64, lo: int, hi: int, target: U32) -> None:
    """The numbers of the states that the candidates lo…hi-1 lead to, where they are in a part that is in memory; the others keep theirs."""
    for j in range(lo, hi):
        part = np.int64(prints[j, 0] >> PART_SHIFT)
        if places.room[part] > 0:
            x, y = halves(prints, j)
            at, there = seek(places, part, x, y, prints.shape[1])
            if there:
                target[j] = number_at(places.numbers[part], at)


@loop
def insert(
    places: Places, left: I64, prints: U64, start: U32, size: U16, row: int, rows: int, base: int, count: int, target: U32, new: U32, origin: U32,
) -> tuple[int, int]:  # fmt: skip
    """Look the candidates of the rows row…rows-1 up, all parts being in memory, and add those that are new, which get the numbers from
    `base` + `count` on.

    A state's number goes to `target`; the candidates of the new ones and their rows go to `new` and `origin`.  `left` says how many more there may
    be in each part.  Answers the row at which a part was full, or `rows`, and how many new ones there are by then.
    """
    width = prints.shape[1]
    for r in range(row, rows):
        if r + AHEAD < rows:
            for j in range(start[r + AHEAD], start[r + AHEAD] + size[r + AHEAD]):
                ask_for(places, prints[j, 0])
        for j in range(start[r], start[r] + size[r]):
            part = np.int64(prints[j, 0] >> PART_SHIFT)
            x, y = halves(prints, j)
            at, there = seek(places, part, x, y, width)
            if there:
                target[j] = number_at(places.numbers[part], at)
                continue
            if left[part] == 0:
                return r, count
            left[part] -= 1
            put_key(places, part, at, x, y, width)
            put_number(places.numbers[part], at, np.uint32(base + count))
            target[j] = base + count
            new[count] = j
            origin[count] = r
            count += 1
    return rows, count


@loop
def seek_or_claim(places: Places, part: int, x: np.uint64, y: np.uint64, width: int) -> tuple[int, bool]:
    """As `seek`, where other threads add fingerprints too; one that is not there is added.  So the number of its state is not there yet, perhaps."""
    keys, seconds, room = places.keys[part], places.seconds[part], places.room[part]
    bucket = home(x, room)
    while True:
        # In this order: a free place stays so until it is claimed, and then whoever claims it has seen all that was added before it.
        free = matches(keys + np.uint64(64 * bucket), np.uint64(0))
        found = matches(keys + np.uint64(64 * bucket), x)
        while found:
            at = 8 * bucket + first_bit(found)
            if width == 1:
                return at, True
            z = word_by_now(seconds, at)
            while z == 0:  # it is about to be written
                z = word_by_now(seconds, at)
            if z == y:
                return at, True
            found &= found - np.uint64(1)
        if free:
            at = 8 * bucket + first_bit(free)
            if claim_word(keys, at, x) == 0:
                if width > 1:
                    put_word(seconds, at, y)
                return at, False
        else:
            bucket += 1
            if bucket == room >> 3:
                bucket = 0


@loop
def insert_some(
    places: Places, asked: U8, left: I64, prints: U64, start: U32, size: U16, ahead: I64, row: int, rows: int, base: int, target: U32, place: U32,
) -> int:  # fmt: skip
    """Look up those candidates of the rows row…rows-1 that belong to the parts that are asked, all in memory, and add those that are new.

    Other threads do so with other rows.  A state's number goes to `target`.  For a new one that is, until all are done, `base` + the rank of a
    candidate that leads to it, in the order of the rows; `ahead` tells the rank of each row's first.  At its place, which `place` tells, is the
    least of these.  `left` says how many more this thread may add to each part.  Answers the row from which to go on once a part has grown, or
    `rows`.
    """
    width = prints.shape[1]
    for r in range(row, rows):
        if r + AHEAD < rows:
            for j in range(start[r + AHEAD], start[r + AHEAD] + size[r + AHEAD]):
                if asked[np.int64(prints[j, 0] >> PART_SHIFT)]:
                    ask_for(places, prints[j, 0])
        rank = base + ahead[r] - np.int64(start[r])
        for j in range(start[r], start[r] + size[r]):
            part = np.int64(prints[j, 0] >> PART_SHIFT)
            if not asked[part]:
                continue
            if left[part] == 0:
                return r
            x, y = halves(prints, j)
            at, there = seek_or_claim(places, part, x, y, width)
            number = np.int64(number_by_now(places.numbers[part], at))
            if there and number < base:
                target[j] = number
                continue
            left[part] -= not there
            target[j], place[j] = rank + j, at
            if number > rank + j:
                lower_number(places.numbers[part], at, np.uint32(rank + j))
    return rows


@loop
def place_again(places: Places, moved: U8, prints: U64, start: U32, size: U16, row: int, rows: int, base: int, target: U32, place: U32) -> None:
    """Tell anew where the new states among the candidates of some rows were added, in parts that have grown since."""
    for r in range(row, rows):
        for j in range(start[r], start[r] + size[r]):
            part = np.int64(prints[j, 0] >> PART_SHIFT)
            if moved[part] and target[j] >= base:
                x, y = halves(prints, j)
                place[j] = seek(places, part, x, y, prints.shape[1])[0]


@loop
def find_first(
    places: Places, asked: U8, prints: U64, start: U32, size: U16, ahead: I64, lo: int, hi: int, base: int, target: U32, place: U32
) -> int:  # fmt: skip
    """Have `target` tell the first candidate that leads to a new state, in the parts that are asked; how many of these the rows lo…hi-1 have."""
    count = 0
    for r in range(lo, hi):
        rank = base + ahead[r] - np.int64(start[r])
        for j in range(start[r], start[r] + size[r]):
            if target[j] >= base:
                part = np.int64(prints[j, 0] >> PART_SHIFT)
                if asked[part]:
                    target[j] = number_at(places.numbers[part], np.int64(place[j]))
                    count += target[j] == rank + j
    return count


@loop
def number_new(
    places: Places, prints: U64, target: U32, place: U32, start: U32, size: U16, ahead: I64, lo: int, hi: int, base: int, count: int,
    final: U32, new: U32, origin: U32,
) -> None:  # fmt: skip
    """Number the new states of the rows lo…hi-1 in their order, from `base` + `count` on: by rank in `final`, and in the parts that are in memory."""
    for r in range(lo, hi):
        rank = ahead[r] - np.int64(start[r])
        for j in range(start[r], start[r] + size[r]):
            if target[j] == base + rank + j:
                final[rank + j] = base + count
                new[count] = j
                origin[count] = r
                part = np.int64(prints[j, 0] >> PART_SHIFT)
                if places.room[part] > 0:
                    put_number(places.numbers[part], np.int64(place[j]), np.uint32(base + count))
                count += 1


@loop
def move_part(before: Places, after: Places, part: int, width: int, filled: U8) -> None:
    """Move a part of the visited set into a larger hash table, which is empty; `filled`, by bucket, is 0."""
    room = after.room[part]
    for i in range(before.room[part]):
        x = word_at(before.keys[part], i)
        if x != 0:
            bucket = home(x, room)
            while filled[bucket] == 8:
                bucket += 1
                if bucket == room >> 3:
                    bucket = 0
            at = 8 * bucket + filled[bucket]
            filled[bucket] += 1
            put_word(after.keys[part], at, x)
            if width > 1:
                put_word(after.seconds[part], at, word_at(before.seconds[part], i))
            put_number(after.numbers[part], at, number_at(before.numbers[part], i))


@loop
def targets(
    owed: U8, target: U32, step: U16, reaction: I32, start: U32, size: U16, lo: int, hi: int, base: int, final: U32, degree: U16, out: U32, by: U16,
) -> int:  # fmt: skip
    """Write the numbers of the states that the steps that are `owed` lead to from the rows lo…hi-1, by which reactions (or UNTOLD), and how many
    those are of each row.

    Where `final` is empty, `target` has the numbers already.
    """
    at, late = 0, final.shape[0] > 0
    for r in range(lo, hi):
        before = at
        for j in range(start[r], start[r] + size[r]):
            if owed[step[j]]:
                number = target[j]
                out[at] = final[number - base] if late and number >= base else number
                by[at] = min(reaction[j], UNTOLD)
                at += 1
        degree[r] = at - before
    return at


@loop
def unfold(
    start: U32, size: U16, step: U16, owed: U8, known: U32, only_owed: bool, first: int, row_out: Any, step_out: U16, target_out: U32
) -> int:  # fmt: skip
    """List the candidates of some rows, which are numbered from `first` on, with the states that they lead to.

    `known` has those by candidate or, if `only_owed`, of the steps that are owed, one after the other.  Answers how many it had of these.
    """
    n, count = 0, 0
    for r in range(start.shape[0]):
        for j in range(start[r], start[r] + size[r]):
            row_out[n], step_out[n] = first + r, step[j]
            if not only_owed:
                target_out[n] = known[j]
            elif owed[step[j]]:
                target_out[n] = known[count]
                count += 1
            n += 1
    return count
