"""Makes a counterexample shorter: steps are left out, exchanged, or gone round, as long as the same property fails at the end.

Whatever is tried is a run of the model.  Nothing promises that the result is the shortest, or that it tells the same story.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from roamcheck.checker.verdict import Counterexample
from roamcheck.model.interface import Kind

from .lookup import Graph, Node, Raised
from .runs import Run

EFFORT = 200_000  # steps of runs that are tried for one counterexample
AROUND = 4_000  # states that are looked at for ways round, for one counterexample


def shrink(graph: Graph, of: int, found: Counterexample, around: int = AROUND) -> Counterexample:
    """A counterexample to the same property, no longer than the one given.

    Of each pass the first run that is shorter is taken.  `around` states are looked at for ways round; where a model has no more, the result is the
    shortest of all.
    """
    shrinker = _Shrinker(graph, of, found, around)
    try:
        while shrinker.leave_out() or shrinker.exchange() or shrinker.leave_out_two() or shrinker.go_round():
            pass
    except _Weary:
        pass
    return shrinker.best.counterexample(of)


class _Weary(Exception):
    """As much has been tried as is worth it."""


class _Shrinker:
    """The best run so far, and what may still be tried."""

    def __init__(self, graph: Graph, of: int, found: Counterexample, around: int) -> None:
        self.graph, self.of = graph, of
        self.effort, self.around = EFFORT, around
        best = self.play(found.initial, found.steps, len(found.steps), settle=False)
        assert best is not None, "what was found is a run that ends in the breach"
        self.best = best

    def play(self, initial: int, steps: Iterable[int], longest: int, settle: bool) -> Run | None:
        """Take the steps that are enabled, then, to `settle`, protocol steps as they come; the run, if it is no longer and the property fails."""
        run = Run(self.graph, (self.of,), initial)
        try:
            for step in steps:
                if run.breaches or len(run.steps) >= longest:
                    break
                run.follow(step)
                self.effort -= 1
            while settle and len(run.steps) < longest and (onward := self.owed(run)) is not None:
                run.take(*onward)
                self.effort -= 1
        except Raised:
            return None
        if self.effort < 0:
            raise _Weary
        return run if run.breaches else None

    def owed(self, run: Run) -> tuple[int, Node] | None:
        """The first protocol step with which the run can go on."""
        steps = self.graph.model.steps
        return next((choice for choice in run.choices() if steps[choice[0]].kind is Kind.PROTOCOL), None)

    def better(self, steps: Sequence[int]) -> bool:
        """Take the run of these steps, with or without what settles it, if it is shorter."""
        for settle in (False, True):
            run = self.play(self.best.initial, steps, len(self.best.steps) - 1, settle)
            if run is not None:
                self.best = run
                return True
        return False

    def leave_out(self) -> bool:
        """Leave out half of the steps, a quarter, …, one."""
        steps = self.best.steps
        size = len(steps) // 2
        while size:
            if any(self.better([*steps[:k], *steps[k + size :]]) for k in range(len(steps) - size, -1, -1)):
                return True
            size //= 2
        return False

    def leave_out_two(self) -> bool:
        """Leave out any two steps."""
        steps = self.best.steps
        return any(self.better([*steps[:a], *steps[a + 1 : b], *steps[b + 1 :]]) for a, b in combinations(range(len(steps)), 2))

    def exchange(self) -> bool:
        """Take another step at one place, and then those that followed, as far as they are enabled."""
        best = self.best
        for place in range(len(best.steps) - 1, -1, -1):
            try:
                others = [step for step, _ in self.graph.out(best.nodes[place]) if step != best.steps[place]]
            except Raised:
                continue
            for other in others:
                if any(self.better([*best.steps[:place], other, *best.steps[rest:]]) for rest in (place, place + 1)):
                    return True
        return False

    def go_round(self) -> bool:
        """From some place on, find the shortest way to a breach, breadth first: from the last place, then from those before."""
        return any(self._go_round(place) for place in range(len(self.best.steps) - 2, -1, -1))

    def _go_round(self, place: int) -> bool:
        start, limit = self.best.nodes[place], len(self.best.steps) - place - 1
        before: dict[Node, tuple[Node, int] | None] = {start: None}
        layer = [start]
        for _ in range(limit):
            following = []
            for node in layer:
                self.around -= 1
                if self.around < 0:
                    raise _Weary
                for step, target in self._out(node):
                    if target not in before:
                        before[target] = node, step
                        following.append(target)
                        if self.of in self.graph.breaches(target, node):
                            return self.better([*self.best.steps[:place], *_way(before, target)])
            layer = following
        return False

    def _out(self, node: Node) -> list[tuple[int, Node]]:
        try:
            return self.graph.out(node)
        except Raised:
            return []


def _way(before: dict[Node, tuple[Node, int] | None], node: Node) -> list[int]:
    steps = []
    while (arrival := before[node]) is not None:
        node, step = arrival
        steps.append(step)
    return steps[::-1]
