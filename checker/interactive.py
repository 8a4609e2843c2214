"""Stepping through a replayed trace: takes a line, returns text, knows no terminal."""

from __future__ import annotations

import re

from roamcheck.model.interface import State

from .changes import in_full
from .narrate import MARGIN, headline, step_text
from .replay import Replay, enabled, why_disabled

HELP = """n, Enter    the next step            p           the previous one
g N         go to step N             s [NAME]    the state, or that of one broker, client or channel (b2→b3)
e           the steps enabled here   w STEP      why a step cannot fire here: w deliver(b2, b3)
h           this text                q           leave"""
NUMBER = re.compile(r"[0-9]{1,9}")


class Session:
    """A place in a run."""

    def __init__(self, found: Replay, at: int = 0) -> None:
        self.found = found
        self.at = at  # steps taken
        self.done = False

    @property
    def prompt(self) -> str:
        """Where we are."""
        return f"[{self.at}/{len(self.found.steps)}] "

    @property
    def state(self) -> State:
        """The state we are in."""
        return self.found.state(self.at)

    def ask(self, line: str) -> str:
        """Answer one line of input."""
        word, _, rest = line.strip().partition(" ")
        match word:
            case "" | "n" | "next":
                return self.go(self.at + 1) if self.at < len(self.found.steps) else self.end()
            case "p" | "prev" | "previous":
                return self.go(self.at - 1) if self.at else "this is the start"
            case "g" | "go":
                return self.go(int(rest)) if NUMBER.fullmatch(rest.strip()) else "g takes the number of a step"
            case "s" | "state":
                return self.show(rest.strip())
            case "e" | "enabled":
                return "\n".join(str(step) for step in enabled(self.found.model, self.state)) or "nothing can happen here"
            case "w" | "why":
                return self.why(rest.strip())
            case "q" | "quit":
                self.done = True
                return ""
            case "h" | "help" | "?":
                return HELP
        return f"no command {word!r}; h lists them"

    def go(self, number: int) -> str:
        """Go to the state after step `number`, and tell that step."""
        if number > len(self.found.steps):
            return f"there are {len(self.found.steps)} steps"
        self.at = number
        return "\n".join(step_text(self.found.steps[number - 1])) if number else "the start"

    def end(self) -> str:
        """What the run shows."""
        header = self.found.header
        if header.property is None:
            return "this is the end"
        again = f"; steps {header.loop + 1}–{header.length} repeat for ever" if header.loop is not None else ""
        return f"this is the end: {header.property} is violated: {header.breach}{again}"

    def show(self, name: str) -> str:
        """The state, or one slot of it, in full."""
        slots = self.found.model.layout.slots
        names = [spec.name for spec in slots]
        if name and name not in names:
            return f"nothing is called {name!r}; names are {', '.join(names)}"
        parts = []
        for spec, value in zip(slots, self.state, strict=True):
            if spec.name == name or (not name and value != ()):
                parts += [spec.name, *(f"{'':{MARGIN}}{line}" for line in in_full(value) or ())]
        return "\n".join(parts)

    def why(self, name: str) -> str:
        """The guard that keeps a step from firing."""
        for step in self.found.model.steps:
            if name in (str(step), str(step).replace(" ", "")):
                guard = why_disabled(self.found.model, step, self.state)
                return f"{step} can fire" if guard is None else f"{step} cannot fire, since this does not hold: {guard}"
        return f"no step is called {name!r}; e lists those enabled, and this run's next is {self.next_step()}"

    def next_step(self) -> str:
        """The run's next step."""
        if self.at == len(self.found.steps):
            return "none"
        replayed = self.found.steps[self.at]
        return f"{replayed.step} ({headline(replayed)})"
