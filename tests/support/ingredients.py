"""Where each ingredient of the repaired protocol, taken out, is missed."""

from __future__ import annotations

LOOP, ROUTE = ("eventual-quiescence", "eventual-delivery"), ("routing-converged", "no-routing-loop")
MISSED: dict[str, tuple[str, int, tuple[str, ...]]] = {  # ingredient → where, the length at most, the properties
    "pub-targets": ("broker-moves-under-shared-filter", 9, ("no-duplicate",)),
    "home-refuses": ("client-there-and-back-instant", 5, ROUTE),
    "home-answers": ("client-there-and-back-instant", 5, ROUTE),
    "fallen-is-lost": ("crash-then-reached-again", 6, LOOP),
    "greet-first": ("three-trees-two-merges", 10, ROUTE),
    "lost-in-o": ("merge-from-below", 4, ROUTE),
    "o-to-host": ("free-star", 2, ROUTE),
    "host-claims": ("free-merge", 2, ("routing-converged",)),
    "joiner-ignores": ("subscribe-here-then-there", 13, LOOP),
    "host-accepts": ("late-joiner", 12, ROUTE),
    "bmig-notes": ("migrate-to-strangers", 7, LOOP),
    "reroot-is-nothing": ("merge-below-a-crash", 8, LOOP),
    "hop-outlives-filters": ("event-returns-after-unsubscribe", 6, ("no-stranded-event",)),
    "base-number": ("filters-change-twice", 8, ("routing-converged",)),
    "second-filters": ("gives-up-while-away", 9, ("routing-converged",)),
    "bmig-numbers": ("merge-at-leaders", 5, ("routing-converged",)),
    "return-routed": ("loss-detected", 3, ("no-stranded-event", "delivered")),
    "flush-at-turn": ("publish-while-cut", 4, ("no-stranded-event", "delivered")),
}
