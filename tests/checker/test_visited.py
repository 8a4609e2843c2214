"""The visited set numbers what is new as a dictionary would, in one pass or in parts, in memory or in files, however fingerprints cluster."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from roamcheck.checker.tabled import visited
from roamcheck.checker.tabled.refiring import loaded
from roamcheck.checker.tabled.search import Candidates
from roamcheck.checker.tabled.store import FIRST, FULLEST, where
from roamcheck.checker.tabled.visiting import VisitedSet

LOW = np.uint64(0xFFFFFFFF)


def each(task: Any, arguments: Any) -> list[Any]:
    """On two threads."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda given: task(*given), arguments))


def batches(seed: int, width: int, clustered: bool) -> list[tuple[Any, Any]]:
    """Fingerprints that recur, and how many of them belong to each row."""
    draw = np.random.default_rng(seed)
    words = draw.integers(0, 1 << 64, (4 * FIRST, width), np.uint64)
    if clustered:  # all that is looked up begins in the last buckets, and goes on in the first ones; or the first words are alike
        words[:, 0] |= LOW - np.uint64(3)
        words[::2, 0] = np.arange(len(words[::2])) % 7 if width > 1 else words[::2, 0]
    out = []
    for _ in range(6):
        size = draw.integers(0, 9, 2048).astype(np.uint16)
        out.append((words[draw.integers(0, draw.integers(1, len(words)), size.sum())], size))
    return out


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("shares", [1, 2])
@pytest.mark.parametrize("away", [(), (0, 5), range(visited.PARTS)], ids=["here", "partly away", "away"])
def test_new_states_are_numbered_in_order(width: int, clustered: bool, shares: int, away: Any) -> None:
    known: dict[bytes, int] = {}
    found = VisitedSet(width, None, each)
    for prints, size in batches(7 + shares, width, clustered):
        rows, n = len(size), len(prints)
        c = Candidates(rows, n, width)
        places = np.random.default_rng(n).permutation(rows)  # rows need not be in the order of their candidates
        c.size[:] = size
        many = size.astype(np.int64)
        c.start[places] = np.cumsum(many[places]) - many[places]
        c.prints[np.repeat(c.start - np.cumsum(many) + many, many) + np.arange(n)] = prints
        base, expected = len(known), []
        for key in map(bytes, prints):
            expected.append(known.setdefault(key, len(known)))
        cuts = [rows * share // shares for share in range(shares + 1)]
        assert found.insert(c, rows, list(pairwise(cuts)), base) == len(known) - base
        degree, out, by = np.empty(rows, np.uint16), np.empty(n, np.uint32), np.empty(n, np.uint16)
        every, step, reaction = np.ones(1, np.uint8), np.zeros(n, np.uint16), np.arange(70_000 - n, 70_000, dtype=np.int32)
        assert visited.targets(every, c.target, step, reaction, c.start, c.size, 0, rows, base, c.numbers, degree, out, by) == n
        assert out.tolist() == expected
        at = np.concatenate([np.arange(c.start[r], c.start[r] + size[r]) for r in range(rows)])
        assert by.tolist() == np.minimum(reaction[at], visited.UNTOLD).tolist()
        fresh = len(known) - base
        assert [bytes(c.prints[j]) for j in c.new[:fresh]] == list(known)[base:]
        assert (c.start[c.origin[:fresh]] <= c.new[:fresh]).all()
        assert (c.new[:fresh] < c.start[c.origin[:fresh]] + c.size[c.origin[:fresh]]).all()
        for p in away:
            if not found.parts[p].away:
                found.parts[p].put_away()
    prints, numbers = np.frombuffer(b"".join(known), np.uint64).reshape(-1, width), np.full(len(known), visited.UNKNOWN)
    for parts in loaded(found.parts):
        visited.find(where(parts), prints, 0, len(prints), numbers)
    assert numbers.tolist() == list(range(len(known)))


def test_a_part_that_grows_while_another_is_fetched_keeps_its_numbers() -> None:
    limit = int(FULLEST * FIRST)
    first, second = limit + 1, limit - 1  # so that part 0, which is away, has to grow, and part 1 is found nearly full then
    prints = np.random.default_rng(3).integers(0, 1 << 59, (first + second, 1), np.uint64)
    prints[first:] |= np.uint64(1) << visited.PART_SHIFT
    found, n = VisitedSet(1, None, each), len(prints)
    found.parts[0].put_away()
    c = Candidates(n, n, 1)
    c.prints[:], c.start[:], c.size[:] = prints, np.arange(n), 1
    assert found.insert(c, n, [(0, n)], 0) == n
    numbers = np.full(n, visited.UNKNOWN)
    for parts in loaded(found.parts):
        visited.find(where(parts), prints, 0, n, numbers)
    assert numbers.tolist() == list(range(n))
