"""The reference explorer: breadth first over exact states, so that the first breach it meets is a shortest one.

It is the definition that the other engines are held to, and takes no short cut: states are compared and never fingerprinted, every step is fired in
every state by `roamcheck.model.interface.fire` in the order of the model's steps, and every property is asked when a state is found.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache
from time import monotonic

from roamcheck.checker.cycles import ProtocolGraph, find_cycles, shortest_turn
from roamcheck.checker.verdict import (
    Counterexample,
    Counts,
    Exploration,
    Progress,
    StepFailed,
    by_actions,
    goes_on_for_ever,
    judge,
)
from roamcheck.model.interface import Disabled, Kind, Model, Property, Scope, State, fire
from roamcheck.spec.breach import Breach

OFTEN = 0.1  # seconds between two reports of progress


def explore(
    model: Model,
    *,
    max_states: int | None = None,
    max_depth: int | None = None,
    first: bool = False,
    observe: Callable[[Progress], None] | None = None,
) -> Exploration:
    """Explore `model` and give a verdict on each of its properties.

    The search ends early when a state beyond the first `max_states` is found, when all states less than `max_depth` steps away
    have been explored and there are more, with `first` at the first breach of a decisive property, and at an interrupt from the keyboard.
    What was found then stands; nothing else is claimed beyond it.  So it is when a step raises: the result says where.
    """
    search = _Search(model, max_states, max_depth, first)
    try:
        search.run(observe)
    except _Enough:
        return search.result(complete=False, interrupted=False)
    except KeyboardInterrupt:
        return search.result(complete=False, interrupted=True)
    except StepFailed as failed:
        return search.result(complete=False, interrupted=False, failed=failed)
    return search.result(complete=True, interrupted=False)


class _Enough(Exception):
    """The search was told to stop here."""


class _Search:
    """The graph as far as it is known.  States bear numbers in the order in which they were found."""

    def __init__(self, model: Model, max_states: int | None, max_depth: int | None, first: bool) -> None:
        self.model, self.max_states, self.max_depth, self.first = model, max_states, max_depth, first
        self.began = monotonic()
        self.number: dict[State, int] = {}
        self.states: list[State] = []
        self.quiescent = bytearray()
        self.origin = array("q")  # the state that it was found from; -1 - i for model.initial_states[i]
        self.arrival = array("I")  # the step that it was found by
        self.levels = [0]  # the first state of each depth
        self.fired = [0] * len(model.steps)
        self.graph = ProtocolGraph([step.serves for step in model.steps])
        self.unfair_cycles = self.waiting_cycles = 0
        self.found: dict[str, Counterexample] = {}

    def run(self, observe: Callable[[Progress], None] | None) -> None:
        """Find all states, level by level; then the cycles."""
        for i, initial in enumerate(self.model.initial_states):
            if initial not in self.number:
                self.add(initial, -1 - i, 0)
        due = self.began
        while self.levels[-1] < len(self.states):
            if self.max_depth is not None and len(self.levels) > self.max_depth:
                raise _Enough
            self.levels.append(len(self.states))
            for i in range(self.levels[-2], self.levels[-1]):
                if observe is not None and (now := monotonic()) >= due:
                    observe(Progress(len(self.states), sum(self.fired), len(self.states) - i, self.depth(i), now - self.began))
                    due = monotonic() + OFTEN
                self.expand(i)
        self.judge_cycles()

    def expand(self, i: int) -> None:
        """Fire all that is enabled in state i."""
        graph = self.graph
        graph.out.append(len(graph.targets))
        graph.stirred.append(False)
        for step, state in self.successors(i):
            self.fired[step] += 1
            if state not in self.number:
                self.add(state, i, step)
            target, kind = self.number[state], self.model.steps[step].kind
            if kind is Kind.PROTOCOL:
                graph.targets.append(target)
                graph.steps.append(step)
            elif kind is Kind.ENVIRONMENT:
                graph.stirred[i] = True

    def successors(self, i: int) -> Iterator[tuple[int, State]]:
        """Each step that is enabled in state i, and where it leads."""
        try:
            for number, step in enumerate(self.model.steps):
                after = fire(self.model, step, self.states[i])
                if not isinstance(after, Disabled):
                    yield number, after
        except Exception as cause:
            raise StepFailed(step, number, *self.path(i), cause) from cause

    def add(self, state: State, origin: int, arrival: int) -> None:
        """Number a new state and ask there what its properties ask."""
        if len(self.states) == self.max_states:
            raise _Enough
        i = self.number[state] = len(self.states)
        self.states.append(state)
        self.origin.append(origin)
        self.arrival.append(arrival)
        self.quiescent.append(self.model.quiescent(state))
        asked = {Scope.EVERY_STATE}
        if self.quiescent[i]:
            asked |= {Scope.QUIESCENT, Scope.RUN} if self.spent(i) else {Scope.QUIESCENT}
        for of in self.model.properties:
            breach = self.breach(of, state) if of.scope in asked and of.name not in self.found else None
            if breach is not None:
                self.found[of.name] = Counterexample(*self.path(i), None, breach)
                if self.first and of.decisive:
                    raise _Enough

    def breach(self, of: Property, state: State) -> Breach | None:
        """What the first of the property's predicates that fails in a state says."""
        answers = (predicate.check(tuple(state[slot] for slot in predicate.reads)) for predicate in of.predicates)
        return next((breach for breach in answers if breach is not None), None)

    def spent(self, i: int) -> bool:
        """The environment's budget is spent in state i."""
        return self.model.spent(tuple(self.states[i][slot] for slot in self.model.budget))

    def busy(self, i: int) -> frozenset[int]:
        """The slots that are not idle in state i."""
        return frozenset(slot for slot, value in enumerate(self.states[i]) if not self.model.idle(slot, value))

    def depth(self, i: int) -> int:
        """How many steps state i is away."""
        return bisect_right(self.levels, i) - 1

    def path(self, i: int) -> tuple[int, tuple[int, ...]]:
        """A shortest run to state i: the number of an initial state, and steps."""
        steps = []
        while self.origin[i] >= 0:
            steps.append(self.arrival[i])
            i = self.origin[i]
        return -1 - self.origin[i], tuple(reversed(steps))

    def judge_cycles(self) -> None:
        """A run that goes on for ever violates every property of runs, unless something shorter does."""
        self.graph.out.append(len(self.graph.targets))
        busy = cache(self.busy)
        cycles = find_cycles(self.graph, self.spent, busy)
        asked = [of for of in self.model.properties if of.scope is Scope.RUN]
        if asked and cycles.fair:
            turn = shortest_turn(self.graph, cycles.fair, busy, self.depth)
            initial, stem = self.path(turn.start)
            breach = goes_on_for_ever(self.model.steps[step] for step in turn.steps)
            lasso = Counterexample(initial, stem + turn.steps, len(stem), breach)
            for of in asked:
                if of.name not in self.found or lasso.length < self.found[of.name].length:
                    self.found[of.name] = lasso
        self.unfair_cycles, self.waiting_cycles = cycles.unfair, cycles.waiting

    def result(self, complete: bool, interrupted: bool, failed: StepFailed | None = None) -> Exploration:
        """What is known now."""
        states, depth = len(self.states), max(0, self.depth(len(self.states) - 1))
        counts = Counts(states, sum(self.fired), depth, sum(self.quiescent), self.unfair_cycles, self.waiting_cycles)

        by_action = by_actions(self.model, self.fired)
        verdicts = judge(self.model, self.found, counts, complete, failed)
        unfired = tuple(i for i, times in enumerate(self.fired) if not times)
        return Exploration(counts, verdicts, complete, interrupted, monotonic() - self.began, by_action, unfired, failed)
