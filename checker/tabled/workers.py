"""Threads that share the work of compiled loops, which let other threads run meanwhile."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from threading import Event
from typing import Any

FEW = 1 << 12  # rows that are not worth a second thread
QUICK = 1 << 13  # the same, where little is done for each
PIECES = 4  # for each thread, so that none waits long for another
SOON = 0.0005  # seconds after which Python is left to a thread that waits for it


class Workers:
    """So many threads, that of the caller among them."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.most = count * PIECES if count > 1 else 1  # pieces
        self.pool = ThreadPoolExecutor(count - 1) if count > 1 else None
        self.offers: deque[tuple[Future[None], Callable[[], Iterator[None]]]] = deque()
        self.news = Event()  # something was offered, or has ended

    def shares(self, n: int, few: int | None = None) -> list[tuple[int, int]]:
        """The range 0…n-1 in pieces, the last of which are small, so that no thread waits long for another at the end; of so few, there is one."""
        pieces = min(self.most, max(1, 2 * n // (few or FEW)))
        ends = [0]
        for left in range(pieces, 0, -1):
            ends.append(ends[-1] + (n - ends[-1]) * 2 // (left + 1 if pieces > 2 else 2 * left))
        return [*pairwise(ends)]

    def each(self, task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], after: Callable[[int, Any], None] | None = None) -> list[Any]:
        """Run a task for each tuple of arguments.  What each answers is given to `after` by the caller's thread, while others may be at work."""
        answers: list[Any] = [None] * len(arguments)
        todo, done = iter(range(len(arguments))), deque[int]()  # both are shared: to take from them, or to add to them, is one step

        def work() -> Iterator[None]:
            for k in todo:
                answers[k] = task(*arguments[k])
                done.append(k)
                yield

        def tell() -> None:
            while done and after is not None:
                after(k := done.popleft(), answers[k])

        others = [] if self.pool is None else [self._offer(work) for _ in range(min(self.count, len(arguments)) - 1)]
        try:
            for _ in work():
                tell()
        finally:
            for other in others:
                if not other.cancel():  # all threads may be at other tasks
                    other.result()
        tell()
        return answers

    def _offer(self, work: Callable[[], Iterator[None]]) -> Future[None]:
        """Have some of this done by the next thread that has nothing to do."""
        assert self.pool is not None, "there is another thread"
        offered: Future[None] = Future()
        self.offers.append((offered, work))
        self.pool.submit(self._take)
        self.news.set()
        return offered

    def _take(self) -> bool:
        """Do what was offered first; whether there was something."""
        while self.offers:
            try:
                offered, work = self.offers.popleft()
            except IndexError:  # another thread was faster
                break
            if offered.set_running_or_notify_cancel():
                try:
                    deque(work(), 0)
                except BaseException as raised:
                    offered.set_exception(raised)
                else:
                    offered.set_result(None)
                return True
        return False

    def begin(self, task: Callable[..., None], *arguments: Any) -> Callable[[Callable[[], bool]], bool]:
        """Have another thread run a task before it shares in others.  Answers how to wait for its end, or until there is enough, and share in it
        meanwhile; that raises what the task raises, and says whether it has ended."""
        assert self.pool is not None, "there is another thread"
        begun = self.pool.submit(task, *arguments)
        begun.add_done_callback(lambda _: self.news.set())

        def wait(enough: Callable[[], bool]) -> bool:
            while not begun.done() and not enough():
                self.news.clear()
                if not begun.done() and not enough() and not self._take():
                    self.news.wait()
            if begun.done():
                begun.result()
            return begun.done()

        return wait

    @contextmanager
    def in_turns(self) -> Iterator[None]:
        """Python goes from thread to thread soon: those that have just left a compiled loop need it for a moment only."""
        before = sys.getswitchinterval()
        if self.pool is not None:
            sys.setswitchinterval(SOON)
        try:
            yield
        finally:
            sys.setswitchinterval(before)
