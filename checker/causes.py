"""What counterexamples have in common: the printed lines that their steps pass.  Those of one cause go wrong by the same lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from roamcheck.model.interface import Disabled, Model, State, Step, fire
from roamcheck.spec.protocols import PROTOCOLS

from .lines import Lines, Passed, claimed, describe, executed, in_margin
from .question import Question
from .verdict import Counterexample

MOST = 1 << 16  # reactions whose lines are remembered


@dataclass(frozen=True, slots=True)
class Cause:
    """Of a violation: the protocol, the property, the conjunct that failed, and the lines passed on the way there."""

    protocol: str
    property: str
    conjunct: str
    lines: tuple[Lines, ...]

    def __str__(self) -> str:
        return f"{self.property}: {self.conjunct}; {describe(self.lines) or 'no printed line'}"


class CauseFinder:
    """Remembers which lines a reaction passes, so that scenarios that share their names are told quickly."""

    def __init__(self) -> None:
        self.known: dict[Any, tuple[Passed, ...]] = {}

    def cause(self, question: Question, model: Model, name: str, found: Counterexample, printed: bool = True) -> Cause:
        """The cause of one violation; without lines where the algorithms are not as `printed`."""
        if not printed:
            return Cause(question.protocol, name, found.breach.conjunct, ())
        passed: set[Passed] = set()
        state = model.initial_states[found.initial]
        for index in found.steps:
            step = model.steps[index]
            passed.update(self.lines(question, step, state))
            after = fire(model, step, state)
            assert not isinstance(after, Disabled), "an engine's counterexample fires"
            state = after
        margin, numbers = PROTOCOLS[question.protocol].margin, dict[tuple[str, str], set[int]]()
        for module, line in passed:
            for claim in in_margin(claimed(module).get(line, ()), margin):
                numbers.setdefault((claim.paper, f"Alg. {claim.number}"), set()).update(range(claim.first, claim.last + 1))
        lines = tuple(Lines(*place, tuple(sorted(some))) for place, some in sorted(numbers.items()))
        return Cause(question.protocol, name, found.breach.conjunct, lines)

    def lines(self, question: Question, step: Step, state: State) -> tuple[Passed, ...]:
        """The lines of the algorithms that a step passes."""
        footprint = step.footprint(state)
        assert not isinstance(footprint, Disabled)
        channel: Any = () if footprint.takes is None else state[footprint.takes]
        about = question.protocol, question.readings, question.assume, step.action, step.arguments
        key = (*about, channel[:1], *(state[slot] for slot in footprint.reads))
        found = self.known.get(key)
        if found is None:
            if len(self.known) >= MOST:
                self.known.clear()
            found = self.known[key] = executed(step, state)
        return found
