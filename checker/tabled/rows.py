"""The compiled loop that writes the rows of new states."""

# mypy: disable-error-code="arg-type,assignment,no-any-return,return-value"
# (numba compiles Python's and numpy's integers alike; mypy tells them apart)

from __future__ import annotations

from typing import Any

import numpy as np

from .kernels import APPENDS, CHANGES, I32, TAKES, THIRTY_TWO, U8, U16, U32, U64, Arrays, look
from .loops import loop


@loop
def materialise(
    t: Arrays, rows: Any, busy: U16, new: U32, origin: U32, lo: int, hi: int, print_in: U64, step_in: U16, reactionin: I32, first: int,
    rows_out: Any, prints_out: U64, busy_out: U16, parent_out: U32, arrival_out: U16, suspect_out: U8,
) -> int:  # fmt: skip
    """Write the rows of the new states lo…hi-1 of a batch; `first` is the number of the state in rows[0].  Answers how many are quiescent."""
    idle, rests, suspect, asked, shift = t.busy, t.rest, t.suspect, t.asked, t.shift
    reactions, change, append, slots, keys = t.reactions, t.change, t.append, rows.shape[1], t.key
    columns, width, quiet = prints_out.shape[1], print_in.shape[1], 0
    for i in range(lo, hi):
        j = new[i]
        r, reaction = origin[i], np.uint32(reactionin[j])
        owing, odd = np.int64(busy[r]), np.uint8(0)
        for slot in range(slots):
            rows_out[i, slot] = rows[r, slot]
        taken = reactions[reaction, TAKES]
        if taken >= 0:
            slot = np.uint32(taken)
            was = rows[r, slot]
            now = np.uint32(rests[was])
            owing += np.int64(idle[now]) - np.int64(idle[was])
            odd |= suspect[now]
            rows_out[i, slot] = now
        for k in range(reactions[reaction, CHANGES], reactions[reaction, CHANGES + 1]):
            slot, now = change[k, 0], change[k, 1]
            owing += np.int64(idle[now]) - np.int64(idle[rows_out[i, slot]])
            odd |= suspect[now]
            rows_out[i, slot] = now
        for k in range(reactions[reaction, APPENDS], reactions[reaction, APPENDS + 1]):
            slot = append[k, 0]
            was = rows_out[i, slot]
            longer = np.uint32(look(asked, shift, (np.int64(append[k, 1]) << THIRTY_TWO) | np.int64(was)))
            owing += np.int64(idle[longer]) - np.int64(idle[was])
            odd |= suspect[longer]
            rows_out[i, slot] = longer
        if columns == width:
            for c in range(width):
                prints_out[i, c] = print_in[j, c]
        else:  # the least one is known, and all are needed
            for c in range(columns):
                prints_out[i, c] = 0
            for slot in range(slots):
                for c in range(columns):
                    prints_out[i, c] ^= keys[rows_out[i, slot], c]
        busy_out[i] = owing
        suspect_out[i] = odd
        quiet += owing == 0
        parent_out[i] = first + r
        arrival_out[i] = step_in[j]
    return quiet
