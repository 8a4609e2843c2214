"""How much memory a search may take, and what it moves to files when that is used up: logs, then states to be explored, then the visited set."""

from __future__ import annotations

import ctypes
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from roamcheck.checker.verdict import CannotBegin

from .store import Chunk, Distant, StoreError, nameless

if TYPE_CHECKING:
    from .search import Search

BATCH = 1 << 15  # rows for each worker
SPARE = 96 << 20  # what the tables of a model may grow to, and what is only passing
MANY_EDGES = 64 << 20  # bytes
SMALL = 1 << 20  # states that leave room enough
GROWING = 3  # times the memory of a part of the visited set: one is fetched and grows, or two grow at once
ROOM = 1 << 10  # bytes of room that a row of a batch takes, with its candidates


MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1  # of glibc


class TooLittleMemory(CannotBegin):
    """Less than a search needs to start; one line."""


class Memory:
    """A limit in bytes on what the process takes, or none."""

    def __init__(self, limit: int | None, workers: int) -> None:
        self.limit, self.batch, self.taken, self.no_disk = limit, BATCH * workers, 0, False
        if limit is None:
            keep_at_hand()
            return
        give_back_at_once()
        self.taken = resident()
        least = self.taken + SPARE + ROOM * (self.batch // 8)
        if limit < least:
            raise TooLittleMemory(f"{limit >> 20} MiB is less than the search needs to start: give at least {-(-least >> 20)} MiB")
        self.batch = max(self.batch // 8, min(self.batch, (limit - self.taken - SPARE) // (4 * ROOM)))

    @property
    def room(self) -> int:
        """For all that can be moved to files."""
        return (self.limit or 0) - self.taken - SPARE - ROOM * self.batch

    def put_edges_away(self, search: Search) -> None:
        """Move to files where steps lead, which is read at the end alone.  Raises StoreError."""
        if search.edges.bytes > MANY_EDGES and not self.no_disk:
            for log in (search.edges, search.reacted):
                self._write(log.put_away)

    def relieve(self, search: Search) -> None:
        """Move to files what does not fit any more.  Raises StoreError."""
        if self.limit is None:
            return
        room = self.room - GROWING * max(part.size for part in search.visited.parts)
        logs = [*search.logs.values(), search.reacted]
        if sum(log.bytes for log in logs) + sum(part.bytes for part in search.visited.parts) + sum(chunk.bytes for chunk in search.frontier) <= room:
            return
        for log in logs:
            log.put_away()
        room -= sum(log.bytes for log in logs) + sum(part.bytes for part in search.visited.parts)
        if any(chunk.bytes for chunk in search.frontier) and sum(chunk.bytes for chunk in search.frontier) > max(room, 0):
            file = nameless(search.folder)
            search.frontier[:] = [Distant(chunk, file) if isinstance(chunk, Chunk) else chunk for chunk in search.frontier]
        for part in reversed(search.visited.parts):
            if room >= 0:
                break
            room += part.bytes
            if not part.away:
                part.put_away()

    def ahead(self, search: Search) -> list[Callable[[], None]]:
        """What can be written before it has to be moved, while other threads are at something else.  Raises StoreError when it is done."""
        logs = [log for log in (search.edges, search.reacted) if log.file is not None and not self.no_disk]
        return [partial(self._write, log.flush) for log in logs]

    def _write(self, write: Callable[[], None]) -> None:
        """Write where steps lead, as long as there is room for it."""
        try:
            write()
        except StoreError:
            if self.limit is not None:
                raise
            self.no_disk = True

    def make_room(self, search: Search) -> None:
        """Move all that can be moved to files, for what comes after the search and reads it part by part.  Raises StoreError."""
        if self.limit is None or search.states < SMALL:
            return
        for log in (*search.logs.values(), search.reacted):
            log.put_away()
        for part in search.visited.parts:
            if not part.away:
                part.put_away()


def resident() -> int:
    """Bytes of memory that the process has now."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:  # not Linux: what it had at most
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def give_back_at_once() -> None:
    """Have the C library give large arrays back to the system when they are let go; without it they count on."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, 1 << 16)


def keep_at_hand() -> None:
    """Have the C library keep what is let go for the next arrays: pages that come from the system are cleared first, one thread at a time."""
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(MMAP_THRESHOLD, 1 << 25)
        library.mallopt(TRIM_THRESHOLD, 1 << 28)
