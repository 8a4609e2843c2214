"""The compiled loops that ask new states for breaches, and write them."""

# mypy: disable-error-code="arg-type,assignment,no-any-return,return-value"
# (numba compiles Python's and numpy's integers alike; mypy tells them apart)

from __future__ import annotations

from typing import Any

import numpy as np

from .kernels import CHECKS, HELD, I32, I64, MISS, THIRTY_TWO, U8, U16, U32, U64, Arrays, look, missing
from .loops import loop
from .rows import materialise

AT_ONCE = 1 << 8  # states, whose rows a processor's own cache holds


@loop
def ask(asked: I64, shift: np.uint64, checks: I32, looks: I32, rows: Any, i: int, number: int) -> tuple[int, int]:
    """A check's answer in rows[i], and the last key that was looked up."""
    node, key = np.int64(checks[number, 0]), np.int64(0)
    for m in range(checks[number, 1], checks[number, 2]):
        key = (node << THIRTY_TWO) | np.int64(rows[i, looks[m]])
        node = look(asked, shift, key)
        if node < 0:
            break
    return node, key


@loop
def judge(
    t: Arrays, rows: Any, busy: U16, suspect: U8, new: U32, reaction_in: I32, lo: int, todo: U32, spent: int, quiet: I32, quiescent: int, active: U8,
    breach: I64, misses: I64, seen: I64, again: U32, last_key: I64, last_answer: I64,
) -> tuple[int, int]:  # fmt: skip
    """Ask what a breach could have come up in, in the new states lo + todo[…]: of each property the first state and its first check go to `breach`.

    `quiet` are the checks of quiescent states: the first `quiescent` of them are asked in all, the rest only where the check `spent` says that
    the budget is spent.  Answers how many states must be asked again (written to `again`), and the number of misses.
    """
    asked, shift, checks, looks, reactions, check, local_of, holds = t.asked, t.shift, t.checks, t.looks, t.reactions, t.check, t.local, t.holds
    members = t.members
    lost, unfinished, one = 0, 0, np.uint64(1)
    for turned in range(todo.shape[0]):
        i = np.uint32(lo + todo[turned])
        reaction, complete = np.uint32(reaction_in[new[i]]), True
        first, local = np.int64(reactions[reaction, CHECKS]), np.int64(reactions[reaction, CHECKS + 1 + suspect[i]])
        last, turn = local, np.int64(-1)  # what is asked: check[first…local-1], whether the budget is spent, quiet[0…last-local-1]
        if busy[i] == 0:
            last = local + quiescent
            if quiescent < quiet.shape[0]:
                turn = last
                last += 1
        k = first
        while k < last:
            if k < local:
                c = np.uint32(k)
                if check[c, 4] >= 0:  # most often it is known to hold
                    which = np.uint64(local_of[rows[i, np.uint32(check[c, 4])]])
                    if which < HELD and holds[np.uint32(check[c, 1])] >> which & one:
                        k += 1
                        continue
                number, node, begin, end = np.int64(check[c, 0]), np.int64(check[c, 1]), np.int64(check[c, 2]), np.int64(check[c, 3])
            else:
                number = np.int64(spent)
                if k != turn:
                    number = np.int64(quiet[k - local - (turn >= 0 and k > turn)])
                node, begin, end = np.int64(checks[number, 0]), np.int64(checks[number, 1]), np.int64(checks[number, 2])
            of, key = np.int64(checks[number, 3]), np.int64(0)
            if of < 0 or (active[of] and (breach[of, 0] < 0 or i < breach[of, 0] or (i == breach[of, 0] and number < breach[of, 1]))):
                for m in range(begin, end):
                    value = rows[i, looks[m]]
                    if m + 1 == end:
                        which = np.uint64(local_of[value])
                        if which < HELD and holds[np.uint32(node)] >> which & one:
                            node = np.int64(0)
                            break
                    key = (node << THIRTY_TWO) | np.int64(value)
                    if key != last_key[m]:  # neighbours often ask the same
                        last_key[m], last_answer[m] = key, look(asked, shift, key)
                    node = last_answer[m]
                    if node < 0:
                        break
                if node == MISS:
                    complete = False
                    lost = missing(seen, misses, lost, i, number, key)
                elif node == 1 and k == turn:
                    last = local + quiet.shape[0] + 1
                elif node == 1 and of >= 0:
                    breach[of, 0] = i
                    breach[of, 1] = number
                elif node == 1:
                    for m in range(checks[number, 4], checks[number, 5]):
                        answer, key = ask(asked, shift, checks, looks, rows, i, members[m])
                        of = np.int64(checks[members[m], 3])
                        if answer == MISS:
                            complete = False
                            lost = missing(seen, misses, lost, i, members[m], key)
                        elif answer == 1 and active[of] and (
                            breach[of, 0] < 0 or i < breach[of, 0] or (i == breach[of, 0] and members[m] < breach[of, 1])
                        ):
                            breach[of, 0] = i
                            breach[of, 1] = members[m]
            k += 1
        if not complete:
            again[unfinished] = todo[turned]
            unfinished += 1
    return unfinished, lost


@loop
def settle(
    t: Arrays, rows: Any, busy: U16, new: U32, origin: U32, lo: int, hi: int, kept: int, print_in: U64, step_in: U16, reaction_in: I32, first: int,
    rows_out: Any, prints_out: U64, busy_out: U16, parent_out: U32, arrival_out: U16, suspect_out: U8,
    todo: U32, spent: int, quiet: I32, quiescent: int, active: U8, breach: I64, misses: I64, seen: I64, again: U32, last_key: I64, last_answer: I64,
) -> tuple[int, int, int]:  # fmt: skip
    """Write the rows of the new states lo…hi-1, as `materialise` does, and ask those before `kept`, as `judge` does, a few at a time.

    Answers what `judge` answers, and how many are quiescent.
    """
    unfinished, lost, idle = 0, 0, 0
    for begin in range(lo, hi, AT_ONCE):
        end = min(begin + AT_ONCE, hi)
        idle += materialise(
            t, rows, busy, new, origin, begin, end, print_in, step_in, reaction_in, first, rows_out, prints_out, busy_out, parent_out, arrival_out,
            suspect_out,
        )  # fmt: skip
        if begin < kept:
            more, missed = judge(
                t, rows_out, busy_out, suspect_out, new, reaction_in, lo, todo[begin - lo : min(end, kept) - lo], spent, quiet, quiescent, active,
                breach, misses[lost:], seen, again[unfinished:], last_key, last_answer,
            )  # fmt: skip
            unfinished += more
            lost += missed
    return unfinished, lost, idle
