"""What a property says when it fails."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Breach:
    """The conjunct that failed, in words, and the values that made it fail (name, text)."""

    conjunct: str
    values: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.conjunct + "".join(f"; {name} = {text}" for name, text in self.values)
