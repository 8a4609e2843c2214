"""The reference explorer: breadth first over exact states, so that the first breach it meets is a shortest one.

It is the definition that the other engines are held to: states are compared and never fingerprinted, every enabled step of every
state is fired in the order of the model's steps, and properties are asked when a state is found.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from time import monotonic

from roamcheck.checker.cycles import ProtocolGraph, find_cycles, shortest_turn
from roamcheck.checker.lifting import Check, LiftedModel, Numbers
from roamcheck.checker.verdict import (
    Counterexample,
    Counts,
    Exploration,
    Holds,
    HoldsWithin,
    Progress,
    StepFailed,
    Unknown,
    Verdict,
    Violated,
    goes_on_for_ever,
)
from roamcheck.model.interface import Kind, Model, Property, Scope

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
        self.lifted = LiftedModel(model)
        self.number: dict[Numbers, int] = {}
        self.states: list[Numbers] = []
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
            state = self.lifted.state(initial)
            if state not in self.number:
                self.add(state, -1 - i, 0, self.lifted.checks[Scope.EVERY_STATE])
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
        for step, state, checks in self.successors(i):
            self.fired[step] += 1
            target = self.number.get(state)
            if target is None:
                target = self.add(state, i, step, checks)
            kind = self.model.steps[step].kind
            if kind is Kind.PROTOCOL:
                graph.targets.append(target)
                graph.steps.append(step)
            elif kind is Kind.ENVIRONMENT:
                graph.stirred[i] = True

    def successors(self, i: int) -> Iterator[tuple[int, Numbers, tuple[Check, ...]]]:
        """Each step that is enabled in state i, where it leads, and what to ask there in every state."""
        before, quiescent, popped = self.states[i], self.quiescent[i], self.lifted.popped
        try:
            for step, lifted in enumerate(self.lifted.steps):
                move = None if lifted.only_when_quiescent and not quiescent else lifted.moves[before[lifted.selector]]
                if move is None:
                    continue
                head = rest = 0
                if move.takes is not None:
                    channel = popped[move.takes][before[move.takes]]
                    if channel is None:
                        continue
                    head, rest = channel
                reaction = move.reactions[head, move.pick(before)]
                if reaction is None:
                    continue
                after = list(before)
                if move.takes is not None:
                    after[move.takes] = rest
                for slot, number in reaction.changes:
                    after[slot] = number
                for slot, longer in reaction.appends:
                    after[slot] = longer[after[slot]]
                yield step, tuple(after), reaction.checks
        except Exception as cause:
            raise StepFailed(self.model.steps[step], step, *self.path(i), cause) from cause

    def add(self, state: Numbers, origin: int, arrival: int, checks: tuple[Check, ...]) -> int:
        """Number a new state and ask there what a breach could have come up in."""
        if len(self.states) == self.max_states:
            raise _Enough
        i = self.number[state] = len(self.states)
        self.states.append(state)
        self.origin.append(origin)
        self.arrival.append(arrival)
        self.quiescent.append(self.lifted.quiescent(state))
        if self.quiescent[i]:
            checks += self.lifted.checks[Scope.QUIESCENT]
            if self.lifted.spent(state):
                checks += self.lifted.checks[Scope.RUN]
        for check in checks:
            breach = check.breach[check.pick(state)]
            if breach is not None and check.of.name not in self.found:
                self.found[check.of.name] = Counterexample(*self.path(i), None, breach)
                if self.first and check.of.decisive:
                    raise _Enough
        return i

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

        def spent(i: int) -> bool:
            return self.lifted.spent(self.states[i])

        def busy(i: int) -> frozenset[int]:
            return self.lifted.busy(self.states[i])

        self.graph.out.append(len(self.graph.targets))
        cycles = find_cycles(self.graph, spent, busy)
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

        def verdict(of: Property) -> Verdict:
            if of.name in self.found:
                return Violated(self.found[of.name])
            if complete:
                return Holds()
            if failed is not None:
                return Unknown(str(failed))
            if of.scope is Scope.RUN:
                return Unknown("liveness is never claimed on a truncated graph")
            return HoldsWithin(f"the first {states:,} states, depth {depth}")

        by_action = dict.fromkeys((step.action for step in self.model.steps), 0)
        for step, times in zip(self.model.steps, self.fired, strict=True):
            by_action[step.action] += times
        verdicts = {of.name: verdict(of) for of in self.model.properties}
        unfired = tuple(i for i, times in enumerate(self.fired) if not times)
        return Exploration(counts, verdicts, complete, interrupted, monotonic() - self.began, by_action, unfired, failed)
