"""The compiled loops of the expansion.  All that they know of a model are the arrays of `Arrays`.

Every kernel works on a range of rows or of candidates and writes to places that no other range writes to, so that ranges can be given to threads.
A *candidate* is a step that is enabled in a row, with the fingerprint of the state that it leads to, or the least one of it and its images.
"""

# mypy: disable-error-code="arg-type,assignment,no-any-return,return-value"
# (numba compiles Python's and numpy's integers alike; mypy tells them apart)

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .loops import loop

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
U32 = NDArray[np.uint32]
U16 = NDArray[np.uint16]
U8 = NDArray[np.uint8]

# Answers of the look-up table that are no numbers.
MISS = -1
DISABLED = -2
FAILED = -3
GONE = -4  # disabled, here and in every later state

# Why a step is disabled: nothing was put into its channel, no footprint is selected, its guard refuses, or another reason.
EMPTY, UNSELECTED, REFUSED, OTHER, NEVER = 0, 1, 2, 3, 4
REASONS = 5
KEYS = 11  # that are looked up of a step, at most, before it is the turn of others: guard, selector, word, and eight slots
# Columns of `reactions`.
TAKES, CHANGES, APPENDS, CHECKS = 0, 1, 3, 5  # a range is two columns: from, to; checks are two ranges, one after the other
HELD = 64
LINE = 16  # words of 64 bits that processors fetch together
SPREAD = np.uint64(0x9E3779B97F4A7C15)
THIRTY_TWO = np.int64(32)
# The place of a lone bit: multiplied by a sequence in which all numbers of six bits occur, it brings its own to the top.
SEQUENCE = np.uint64(0x03F79D71B4CB0A89)
PLACES = np.zeros(64, np.int64)
PLACES[[(0x03F79D71B4CB0A89 << place & (1 << 64) - 1) >> 58 for place in range(64)]] = np.arange(64)


class Arrays(NamedTuple):
    """The tables as the kernels see them."""

    key: Any  # [value, word] U64: what the value contributes to a fingerprint, and then what each of its images does
    busy: Any  # [value] U8: not idle
    head: Any  # [value] I32: the node of a channel's first word, -1 if it is empty
    rest: Any  # [value] I32: the channel without it
    popped: Any  # [value, word] U64: what taking it does to a fingerprint
    suspect: Any  # [value] U8: breaches a property that looks at this slot alone, perhaps
    local: Any  # [value] I32: which value of its slot it is
    blocks: Any  # [value, word] U64: the steps that are known to be disabled wherever their slot has this value
    gates: Any  # U32: the slots whose values may block steps
    holds: Any  # [node] U64: at the last slot of a check, the values with which it is known to hold: one bit for each of the slot's first HELD
    asked: Any  # [place, 2] I64: node << 32 | value, 0 if free; what it leads to
    shift: Any  # 64 - log2(places)
    selector: Any  # [step] I32: the slot that selects the footprint, or -1
    chosen: Any  # [step] I32: the node at which its value is looked up, or the move
    guard: Any  # [step] I32: the slot that the step's guard looks at, or -1
    barred: Any  # [step] I32: the node at which its value is looked up
    mouth: Any  # [step] I32: what it takes from, if that is always the same, or -1
    silent: Any  # [step] U8: waits for silence
    owed: Any  # [step] U8: is a protocol step
    takes: Any  # [move] I32: the channel it takes from, or -1
    start: Any  # [move] I32: the node at which its look-up starts
    reads: Any  # [move, 2] I32: a range of
    read: Any  # U32: slots
    reactions: Any  # [reaction, 8] I32: takes, and ranges of changes, appends, checks; from the third number on, checks of single slots
    delta: Any  # [reaction, word] U64: what the changes do to a fingerprint
    change: Any  # [n, 2] U32: slot, value
    append: Any  # [n, 2] U32: slot, node at which its value is looked up
    check: Any  # [n, 5] I32: number of a check, the node at which its look-up goes on, a range of `looks`, and the slot if there is but one, or -1
    checks: Any  # [check, 6] I32: node, range of `looks`, property or -1, range of `members`
    looks: Any  # U32: slots that checks look at
    members: Any  # I32: checks of which a bundle is made


class Stubborn(NamedTuple):
    """What a partial order reduction knows of the steps; sets of steps are bit masks.  Without steps there is no reduction."""

    conflicts: Any  # [variant, step, word] U64: the steps that it conflicts with
    enablers: Any  # [variant, step, reason, word] U64: the steps that may enable it, given why it is disabled
    settlers: Any  # [slot, word] U64: the steps that may leave the slot idle
    serves: Any  # [step] I32: the slot that the step serves, or -1
    protocol: Any  # [step] U8: is a protocol step
    narrowing: Any  # the slot whose value tells the variant, or -1
    changers: Any  # [word] U64: the steps that may change it; the general variant, 0, holds while one of them may fire yet
    numbers: Any  # [value] I32: the variant, or -1 where it is not known


class Scratch(NamedTuple):
    """Room that `expand` needs for itself."""

    images: Any  # [word] U64: the fingerprints of the images of a state
    why: Any  # [step] I64: why it is disabled
    enabled: Any  # [word] U64: the steps that are enabled
    blocked: Any  # [word] U64: those that are known to be disabled
    sets: Any  # [4, word] U64
    # What each step's guard, selector, word and slots were answered last, and to which key: neighbours often ask the same.
    guard_key: Any
    guard_answer: Any
    move_key: Any
    move_answer: Any
    word_key: Any
    word_answer: Any
    path_key: Any  # [8 * step]
    path_answer: Any


def apart(shape: tuple[int, ...], kind: Any) -> Any:
    """Zeros that lie in no cache line with anything else: what one thread writes all the time would slow down others that use the same line."""
    size, line = int(np.prod(shape)) * np.dtype(kind).itemsize, 8 * LINE
    room = np.zeros(size + 2 * line, np.uint8)
    begin = -room.ctypes.data % line
    return room[begin : begin + size].view(kind).reshape(shape)


def scratch(keys: I64, answers: I64, words: int, columns: int) -> Scratch:
    """Room for steps, sets of them in so many words, and the words of fingerprints; `keys` and `answers` have KEYS places for each step."""
    steps, sets = len(keys) // KEYS, apart((6, words), np.uint64)
    ends = steps, 2 * steps, 3 * steps
    memos = [part for both in zip(np.split(keys, ends), np.split(answers, ends), strict=True) for part in both]
    return Scratch(apart((columns,), np.uint64), apart((steps,), np.int64), sets[4], sets[5], sets[:4], *memos)


@loop
def look(asked: I64, shift: np.uint64, key: int) -> int:
    """The answer to a key: node << 32 | value."""
    mask = np.uint64(asked.shape[0] - 1)
    place = (np.uint64(key) * SPREAD) >> shift
    while True:
        found = asked[place, 0]
        if found == key:
            return asked[place, 1]
        if found == 0:
            return np.int64(MISS)
        place = (place + np.uint64(1)) & mask


@loop
def next_bit(bits: U64, s: int) -> int:
    """The first bit from s on that is not set, or the number of bits."""
    w, end = s >> 6, 64 * bits.shape[0]
    while s < end:
        left = ~bits[w] >> np.uint64(s & 63)
        if left:
            return s + PLACES[((left & (~left + np.uint64(1))) * SEQUENCE) >> np.uint64(58)]
        w += 1
        s = w << 6
    return end


@loop
def store_answers(answers: I64, asked: I64, shift: np.uint64) -> None:
    """Write answers, [n, 2] as in `asked` with free places among them, into the look-up table, which has room."""
    mask = asked.shape[0] - 1
    for i in range(answers.shape[0]):
        key = answers[i, 0]
        if key != 0:
            place = np.int64((np.uint64(key) * SPREAD) >> shift)
            while asked[place, 0] != 0 and asked[place, 0] != key:
                place = (place + 1) & mask
            asked[place, 0] = key
            asked[place, 1] = answers[i, 1]


@loop
def missing(seen: I64, misses: I64, count: int, row: int, step: int, key: int) -> int:
    """Note a miss once for each key; the number of misses noted."""
    if count >= misses.shape[0]:
        return count
    mask = seen.shape[0] - 1
    place = np.int64((np.uint64(key) * SPREAD) >> np.uint64(40)) & mask
    while seen[place] != 0:
        if seen[place] == key:
            return count
        place = (place + 1) & mask
    seen[place] = key
    misses[count, 0] = row
    misses[count, 1] = step
    misses[count, 2] = key
    return count + 1


@loop
def expand(
    t: Arrays, p: Stubborn, full: U8, rows: Any, prints: U64, busy: U16, only: U16, todo: U32, base: int,
    print_out: U64, step_out: U16, reactionout: I32, start: U32, size: U16, fired: I64, misses: I64, seen: I64, again: U32, scratch: Scratch,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Write a candidate for each step that is enabled in the rows `todo`, from place `base` on: those of row r from start[r] on, size[r] of them.

    Answers: the place after the last candidate, how many rows must be done again (written to `again`), the number of misses, and
    row * steps + step of the first failed reaction (or -1).  A row is done again where an answer was missing, or where there was no room.

    With a reduction, of a row that is not to be explored in full only the steps of a stubborn set are left; `full` tells which rows lost none.
    Where `only` is not empty, no step but only[r] is fired in row r.
    """
    keys, heads, rests, popped, asked, shift = t.key, t.head, t.rest, t.popped, t.asked, t.shift
    mouth, selector, chosen, silent, takes, start_of, reads, read = t.mouth, t.selector, t.chosen, t.silent, t.takes, t.start, t.reads, t.read
    guard, barred, reactions, delta, append = t.guard, t.barred, t.reactions, t.delta, t.append
    blocks, gates, blocked, sets = t.blocks, t.gates, scratch.blocked, scratch.sets
    reduced, words, narrowing, changers, variants = p.conflicts.shape[0] > 0, blocks.shape[1], p.narrowing, p.changers, p.numbers
    steps, wide, room, one = selector.shape[0], print_out.shape[1] > 1, print_out.shape[0], np.uint64(1)
    symmetric, images, why, enabled = prints.shape[1] > print_out.shape[1], scratch.images, scratch.why, scratch.enabled
    guard_key, guard_answer, move_key, move_answer = scratch.guard_key, scratch.guard_answer, scratch.move_key, scratch.move_answer
    word_key, word_answer, path_key, path_answer = scratch.word_key, scratch.word_answer, scratch.path_key, scratch.path_answer
    n, lost, failed, unfinished = base, 0, np.int64(-1), 0
    blocked[:] = 0
    for turn in range(todo.shape[0]):
        r = todo[turn]
        if n + steps > room or lost >= misses.shape[0]:
            again[unfinished] = r
            unfinished += 1
            continue
        first, complete, lowest, highest = n, True, 0, steps
        if only.shape[0] > 0:
            lowest, highest = np.int64(only[r]), np.int64(only[r]) + 1
        elif not reduced:  # a reduction wants to know why each of the others is disabled
            for w in range(words):
                ruled_out = np.uint64(0)
                for k in range(gates.shape[0]):
                    ruled_out |= blocks[rows[r, gates[k]], w]
                blocked[w] = ruled_out
        enabled[:] = 0
        following = lowest
        while True:
            s = np.uint32(next_bit(blocked, following))
            if s >= highest:
                break
            following = np.int64(s) + 1
            if mouth[s] >= 0 and heads[rows[r, np.uint32(mouth[s])]] < 0:
                why[s] = EMPTY
                continue
            if silent[s] and busy[r]:
                why[s] = NEVER
                continue
            if guard[s] >= 0:
                key = (np.int64(barred[s]) << THIRTY_TWO) | np.int64(rows[r, np.uint32(guard[s])])
                if key != guard_key[s]:
                    guard_key[s], guard_answer[s] = key, look(asked, shift, key)
                found = guard_answer[s]
                if found < 0:
                    why[s] = NEVER if found == GONE else REFUSED
                    if found == MISS:
                        complete = False
                        lost = missing(seen, misses, lost, r, s, key)
                    elif found == FAILED and (failed < 0 or r * steps + s < failed):
                        failed = r * steps + s
                    continue
            # The reaction, or DISABLED, GONE, FAILED, or MISS with the key that has no answer.
            why[s], key, reaction, move = UNSELECTED, np.int64(0), np.int64(DISABLED), np.int64(chosen[s])
            if selector[s] >= 0:
                key = (move << THIRTY_TWO) | np.int64(rows[r, np.uint32(selector[s])])
                if key != move_key[s]:
                    move_key[s], move_answer[s] = key, look(asked, shift, key)
                reaction = move = move_answer[s]
            if move >= 0:
                why[s] = OTHER
                m = np.uint32(move)
                taken, reaction = takes[m], np.int64(start_of[m])
                if taken >= 0:
                    word = np.int64(heads[rows[r, np.uint32(taken)]])
                    if word < 0:
                        why[s] = EMPTY
                        continue
                    key = (reaction << THIRTY_TWO) | word
                    if key != word_key[s]:
                        word_key[s], word_answer[s] = key, look(asked, shift, key)
                    reaction = word_answer[s]
                k, end = reads[m, 0], reads[m, 1]
                while k < end and reaction >= 0:
                    key = (reaction << THIRTY_TWO) | np.int64(rows[r, read[k]])
                    at = np.uint32((s << 3) + (k & 7))
                    if key != path_key[at]:
                        path_key[at], path_answer[at] = key, look(asked, shift, key)
                    reaction = path_answer[at]
                    k += 1
            if reaction < 0:
                if reaction == MISS:
                    complete = False
                    lost = missing(seen, misses, lost, r, s, key)
                elif reaction == FAILED and (failed < 0 or r * steps + s < failed):
                    failed = r * steps + s
                elif reaction == GONE:
                    why[s] = NEVER
                continue
            q = np.uint32(reaction)
            x, y = prints[r, 0] ^ delta[q, 0], np.uint64(0)
            if wide:
                y = prints[r, 1] ^ delta[q, 1]
            taken = reactions[q, TAKES]
            if taken >= 0:
                x ^= popped[rows[r, np.uint32(taken)], 0]
                if wide:
                    y ^= popped[rows[r, np.uint32(taken)], 1]
            longer = np.int64(0)
            for k in range(reactions[q, APPENDS], reactions[q, APPENDS + 1]):
                slot = append[k, 0]
                was = np.uint32(rows[r, slot])
                if slot == taken:
                    was = np.uint32(rests[was])
                key = (np.int64(append[k, 1]) << THIRTY_TWO) | np.int64(was)
                longer = look(asked, shift, key)
                if longer < 0:
                    break
                now = np.uint32(longer)
                x ^= keys[was, 0] ^ keys[now, 0]
                if wide:
                    y ^= keys[was, 1] ^ keys[now, 1]
            if longer == MISS:
                complete = False
                lost = missing(seen, misses, lost, r, s, key)
            elif longer < 0:
                failed = r * steps + s if failed < 0 else min(failed, r * steps + s)
            else:
                print_out[n, 0] = x
                if wide:
                    print_out[n, 1] = y
                step_out[n] = s
                reactionout[n] = reaction
                n += 1
                if reduced:
                    enabled[s >> 6] |= one << np.uint64(s & 63)
        if complete and reduced:
            if full[r] or busy[r] == 0 or n - first < 2:
                full[r] = 1
            else:
                variant = np.int64(0)
                if narrowing >= 0:
                    variant = variant_of(silent, changers, variants, np.int64(rows[r, narrowing]), enabled, why, sets[0])
                if variant < 0:
                    complete = False
                    lost = missing(seen, misses, lost, r, steps, (np.int64(1) << np.int64(62)) | np.int64(rows[r, narrowing]))
                else:
                    kept = keep_stubborn(t, p, variant, rows, r, first, n, enabled, why, print_out, step_out, reactionout, sets)
                    full[r] = kept == n
                    n = kept
        if complete and symmetric:
            take_least(t, rows, r, prints, first, n, print_out, reactionout, images)
        if complete:
            start[r], size[r] = first, n - first
            for k in range(first, n):
                fired[step_out[k]] += 1
        else:
            n = first
            again[unfinished] = r
            unfinished += 1
    return n, unfinished, lost, failed


@loop
def take_least(t: Arrays, rows: Any, r: int, prints: U64, first: int, n: int, print_out: U64, reactionout: I32, images: U64) -> None:
    """Of the states that the candidates first…n-1 of row r lead to, take the least fingerprints of all images; `images` is room for them."""
    keys, rests, popped, asked, shift, reactions, delta, append = t.key, t.rest, t.popped, t.asked, t.shift, t.reactions, t.delta, t.append
    columns, width = prints.shape[1], print_out.shape[1]
    for i in range(first, n):
        reaction = np.int64(reactionout[i])
        for c in range(width, columns):
            images[c] = prints[r, c] ^ delta[reaction, c]
        taken = np.int64(reactions[reaction, TAKES])
        if taken >= 0:
            was = np.int64(rows[r, taken])
            for c in range(width, columns):
                images[c] ^= popped[was, c]
        for k in range(reactions[reaction, APPENDS], reactions[reaction, APPENDS + 1]):
            slot = np.int64(append[k, 0])
            was = np.int64(rows[r, slot])
            if slot == taken:
                was = np.int64(rests[was])
            longer = look(asked, shift, (np.int64(append[k, 1]) << THIRTY_TWO) | was)
            for c in range(width, columns):
                images[c] ^= keys[was, c] ^ keys[longer, c]
        for c in range(width, columns, width):
            if images[c] < print_out[i, 0] or (width > 1 and images[c] == print_out[i, 0] and images[c + 1] < print_out[i, 1]):
                for w in range(width):
                    print_out[i, w] = images[c + w]


@loop
def variant_of(silent: U8, changers: U64, variants: I32, value: int, enabled: U64, why: I64, over: U64) -> int:
    """Which relations hold in a row: 0 while a step that may change the narrowing slot may fire yet; -1 if its value is not known yet."""
    over[:] = 0
    for s in range(why.shape[0]):
        if why[s] == NEVER and not silent[s] and not enabled[s >> 6] >> np.uint64(s & 63) & np.uint64(1):
            over[s >> 6] |= np.uint64(1) << np.uint64(s & 63)
    for w in range(over.shape[0]):
        if changers[w] & ~over[w]:
            return 0
    return np.int64(variants[value]) if value < variants.shape[0] else np.int64(-1)


@loop
def keep_stubborn(
    t: Arrays, p: Stubborn, variant: int, rows: Any, r: int, first: int, n: int, enabled: U64, why: I64,
    print_out: U64, step_out: U16, reactionout: I32, sets: U64,
) -> int:  # fmt: skip
    """Of the candidates first…n-1 of row r, keep those of the stubborn set with the fewest; answers the place after the last.

    One set is grown from what may settle each busy slot that is served here.
    """
    one, words, fewest, idle, reactions = np.uint64(1), enabled.shape[0], n - first, t.busy, t.reactions
    conflicts, enablers, settlers, serves, protocol = p.conflicts, p.enablers, p.settlers, p.serves, p.protocol
    grown, done, best = sets[1], sets[2], sets[3]
    for c in range(first, n):
        s = np.int64(step_out[c])
        slot = np.int64(reactions[reactionout[c], TAKES])
        if slot < 0:
            slot = np.int64(serves[s])
        if not protocol[s] or slot < 0 or not idle[rows[r, slot]]:
            continue
        for w in range(words):
            grown[w] = settlers[slot, w]
            done[w] = 0
        grown[s >> 6] |= one << np.uint64(s & 63)
        growing = True
        while growing:
            growing = False
            for w in range(words):
                todo = grown[w] & ~done[w]
                done[w] |= todo
                m = 64 * w
                while todo:
                    if todo & one:
                        growing = True
                        is_on = enabled[w] >> np.uint64(m & 63) & one
                        for v in range(words):
                            if is_on:
                                grown[v] |= conflicts[variant, m, v]
                            else:
                                grown[v] |= enablers[variant, m, why[m], v]
                    todo >>= one
                    m += 1
        size = 0
        for k in range(first, n):
            size += np.int64(grown[step_out[k] >> 6] >> np.uint64(step_out[k] & 63) & one)
        if size < fewest:
            fewest = size
            for w in range(words):
                best[w] = grown[w]
            if size == 1:
                break
    if fewest == n - first:
        return n
    kept = first
    for k in range(first, n):
        if best[step_out[k] >> 6] >> np.uint64(step_out[k] & 63) & one:
            for c in range(print_out.shape[1]):
                print_out[kept, c] = print_out[k, c]
            step_out[kept], reactionout[kept] = step_out[k], reactionout[k]
            kept += 1
    return kept
