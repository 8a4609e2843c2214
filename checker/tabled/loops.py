"""How loops are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def loop(function: Callable[..., Any]) -> Any:
    """Compiled when it is first used, and kept; Python goes on while it runs.

    It cannot ask for memory, and so need not count references to arrays either: threads that share these would wait for one another at every count.
    """
    return njit(function, cache=True, nogil=True, _nrt=False)  # type: ignore[call-overload]
