"""Interrupts from the keyboard, heeded where nothing is half done.

Python raises one wherever it happens to be.  In a finaliser, or in a callback of the garbage collector, it is told on standard error and lost: Z3's
objects have finalisers, and Hypothesis has such a callback.  So it is noted, and those who work in a loop heed it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_came = threading.Event()


@contextmanager
def held_back() -> Iterator[None]:
    """Note an interrupt until it is heeded, at the end at the latest; a second one does not wait.  Within another one, that one notes it."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        heed()
        return
    signal.signal(signal.SIGINT, _note)
    try:
        yield
        heed()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _came.clear()


def heed() -> None:
    """Raises KeyboardInterrupt if one was noted."""
    if _came.is_set():
        raise KeyboardInterrupt


def _note(signum: int, frame: FrameType | None) -> None:
    heed()
    _came.set()
