"""Single runs through the graph of a model, and the search that they make up: budget, what was found, what may be claimed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from time import monotonic

from roamcheck.checker.interrupts import heed
from roamcheck.checker.verdict import Counterexample, HoldsWithin, StepFailed, Unknown, Verdict, Violated, goes_on_for_ever
from roamcheck.model.interface import Kind, Measure, Model, Scope
from roamcheck.spec.breach import Breach

from .lookup import Graph, Node, Raised

Choices = list[tuple[int, Node]]  # enabled steps in the model's order, and where they lead
OFTEN = 0.2  # seconds between two reports of progress


class Run:
    """A way through the graph.  Properties are asked in every state that it comes to, and of it when it comes back to one."""

    def __init__(self, graph: Graph, wanted: Collection[int], initial: int = 0) -> None:
        self.graph, self.wanted, self.initial = graph, wanted, initial
        self.steps: list[int] = []
        self.nodes = [graph.initial(initial)]
        self.breaches: dict[int, tuple[Breach, int | None]] = {}  # by property: what fails at the end, and where the loop begins if it is one
        self._since: dict[Node, int] = {}  # with the budget spent, and none but protocol steps since: when each state was reached first
        self._arrive()

    @property
    def node(self) -> Node:
        """Where it is."""
        return self.nodes[-1]

    def choices(self) -> Choices:
        """How it can go on; it is over at a breach.  Raises Raised."""
        return [] if self.breaches else self.graph.out(self.node)

    def take(self, step: int, target: Node) -> None:
        """Go on."""
        if self.graph.model.steps[step].kind is not Kind.PROTOCOL:
            self._since.clear()
        self.steps.append(step)
        self.nodes.append(target)
        self._arrive()

    def follow(self, step: int) -> bool:
        """Go on with this step if it is enabled.  Raises Raised."""
        for index, target in self.choices():
            if index == step:
                self.take(index, target)
                return True
        return False

    def counterexample(self, of: int) -> Counterexample:
        """To a property that fails at its end."""
        breach, loop = self.breaches[of]
        return Counterexample(self.initial, tuple(self.steps), loop, breach)

    def _arrive(self) -> None:
        node = self.nodes[-1]
        for of, breach in self.graph.breaches(node, self.nodes[-2] if self.steps else None).items():
            if of in self.wanted:
                self.breaches[of] = breach, None
        if node.spent and not self.breaches:
            loop = self._since.setdefault(node, len(self.steps))
            if loop < len(self.steps) and self._is_fair(loop):
                self._goes_on(loop)

    def _is_fair(self, loop: int) -> bool:
        """Whoever goes round from there for ever serves every slot that is never idle."""
        served = {self.graph.model.steps[step].serves for step in self.steps[loop:]}
        return frozenset.intersection(*(self.graph.busy(node) for node in self.nodes[loop:])) <= served

    def _goes_on(self, loop: int) -> None:
        steps = self.graph.model.steps
        for of, asked in enumerate(self.graph.model.properties):
            if of in self.wanted and asked.scope is Scope.RUN:
                self.breaches[of] = goes_on_for_ever(steps[step] for step in self.steps[loop:]), loop


@dataclass(frozen=True, slots=True)
class Found:
    """The first counterexample to a property, and the number of the run that it was found in, from 1."""

    counterexample: Counterexample
    example: int


@dataclass(frozen=True, slots=True)
class Sampled:
    """How far a search has come."""

    examples: int
    of: int
    steps: int
    states: int
    found: int
    seconds: float


class Enough(KeyboardInterrupt):
    """The search is told to end.  It is an interrupt, which no strategy takes for a failure of the run, and which Hypothesis lets pass at once."""


class Sampler:
    """A search by runs: strategies ask it for a run, choose its steps, and hand it in.  A property that has failed once is asked no more."""

    def __init__(
        self,
        model: Model,
        *,
        measures: tuple[Measure, ...] = (),
        examples: int = 2_000,
        longest: int = 200,
        seconds: float | None = None,
        observe: Callable[[Sampled], None] | None = None,
    ) -> None:
        self.model, self.graph = model, Graph(model, measures)
        self.measures = measures
        self.examples, self.longest, self.seconds, self.observe = examples, longest, seconds, observe
        self.open = set(range(len(model.properties)))
        self.found: dict[str, Found] = {}
        self.done = self.steps = self.reached = 0  # runs, steps of all of them, steps of the longest
        self.failed: StepFailed | None = None
        self.began = monotonic()
        self._due = self.began + OFTEN

    @property
    def elapsed(self) -> float:
        """Seconds since the search began."""
        return monotonic() - self.began

    def sample(self, choose: Callable[[Choices], int], initial: int = 0) -> Run:
        """A run, by a strategy that sees nothing but the choices.  Raises Enough."""
        if self.done >= self.examples or not self.open:
            raise Enough
        run = self.again(choose, self.open, initial)
        self.done += 1
        self.steps += len(run.steps)
        self.reached = max(self.reached, len(run.steps))
        self.keep(run)
        return run

    def again(self, choose: Callable[[Choices], int], wanted: Collection[int], initial: int = 0) -> Run:
        """A run that is not counted, on which these properties are asked: a strategy tries to shorten what it found.

        Raises Enough, KeyboardInterrupt.
        """
        heed()
        if self.seconds is not None and self.elapsed >= self.seconds:
            raise Enough
        if self.observe is not None and monotonic() >= self._due:
            self.observe(Sampled(self.done, self.examples, self.steps, len(self.graph.nodes), len(self.found), self.elapsed))
            self._due = monotonic() + OFTEN
        run = Run(self.graph, wanted, initial)
        while choices := self._choices(run):
            run.take(*choices[choose(choices)])
        return run

    def _choices(self, run: Run) -> Choices:
        """How the run may go on; nothing when it is over.  Raises Enough when the model itself failed."""
        if len(run.steps) >= self.longest:
            return []
        try:
            return run.choices()
        except Raised as raised:
            self.failed = StepFailed(self.model.steps[raised.step], raised.step, run.initial, tuple(run.steps), raised.cause)
            raise Enough from raised

    def keep(self, run: Run) -> None:
        """Keep what the run found, where it is new or shorter than what was found before."""
        for of in run.breaches:
            name, mine = self.model.properties[of].name, run.counterexample(of)
            before = self.found.get(name)
            if before is None or mine.length < before.counterexample.length:
                self.found[name] = Found(mine, self.done if before is None else before.example)
        self.open -= run.breaches.keys()

    def verdict(self, of: int, about: str) -> Verdict:
        """What may be claimed; `about` says how the runs were chosen."""
        asked = self.model.properties[of]
        if asked.name in self.found:
            return Violated(self.found[asked.name].counterexample)
        if self.failed is not None:
            return Unknown(str(self.failed))
        bound = f"{self.done:,} {'run' if self.done == 1 else 'runs'} of at most {self.reached} steps, {about}"
        if asked.scope is Scope.RUN:
            return Unknown(f"not violated in {bound}; liveness is never claimed from single runs")
        return HoldsWithin(bound)


def measured(sampler: Sampler, nodes: Sequence[Node]) -> list[float]:
    """The largest value of each measure in these states."""
    return [max(values) for values in zip(*map(sampler.graph.measured, nodes), strict=True)]
