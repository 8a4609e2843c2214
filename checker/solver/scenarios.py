"""Z3 chooses scenarios: every one within bounds that meets the constraints, in a fixed order, one decision after the other.

Each decision is a set of Booleans of which one is true.  The solver is asked at each whether what is chosen so far can be completed; only
then is it followed further.  So nothing has to be blocked, and memory does not grow with what was found.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from math import inf
from random import Random
from typing import Any

import z3

from roamcheck.checker.enumeration import (
    DURABLE,
    LINK_DOWN,
    MERGE,
    MIGRATE,
    NONE,
    VOLATILE,
    Action,
    Bounds,
    Candidate,
    Parents,
    Renaming,
    Size,
    actions,
    alike,
    fires,
    is_least,
    stabiliser,
    tree,
)  # fmt: skip
from roamcheck.checker.interrupts import heed

from .asking import Undecided, new_solver

FINITE = "QF_FD"  # decisions between finitely many values
PATIENCE = 60.0  # seconds for one answer, which takes a thousandth of one
Choice = dict[Any, z3.BoolRef]  # the values of a decision, and what is true if it is the one


def decide(solver: z3.Solver, name: str, values: Sequence[Hashable]) -> Choice:
    """A decision between values."""
    choice = {value: z3.Bool(f"{name}={value}") for value in values}
    solver.add(z3.PbEq([(literal, 1) for literal in choice.values()], 1))
    return choice


def is_possible(solver: z3.Solver, chosen: Sequence[z3.BoolRef]) -> bool:
    """What is chosen can be completed.  Raises Undecided, KeyboardInterrupt."""
    heed()
    answer = solver.check(*chosen)
    if answer == z3.unknown:
        raise Undecided(f"Z3 does not say whether there is such a scenario: {solver.reason_unknown()}; narrow the bounds")
    return bool(answer == z3.sat)


def overlays(brokers: int, components: int = 1, rooted: bool = True) -> Iterator[Parents]:
    """Forests of so many brokers in so many components, one of each isomorphism class; with `rooted`, one for each choice of leaders."""
    solver = new_solver(FINITE, PATIENCE)
    parent = [decide(solver, f"parent{b}", [NONE] if b < components else range(b)) for b in range(brokers)]
    for one, other in zip(parent[components:], parent[components + 1 :], strict=False):  # numbered breadth first: parents never go back
        solver.add(*(z3.Implies(one[b], z3.Not(other[a])) for b in one for a in other if a < b))
    found: dict[tuple[int, ...], list[Any]] = {}  # by sorted degrees, the overlays met
    for parents in _solutions(solver, parent):
        graph = tree(parents, rooted)
        alikes = found.setdefault(tuple(sorted(degree for _, degree in graph.degree)), [])
        if not any(alike(graph, other) for other in alikes):
            alikes.append(graph)
            yield parents


def _solutions(solver: z3.Solver, choices: Sequence[Choice], chosen: tuple[z3.BoolRef, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if not choices:
        yield ()
        return
    for value, literal in choices[0].items():
        if is_possible(solver, (*chosen, literal)):
            for rest in _solutions(solver, choices[1:], (*chosen, literal)):
                yield (value, *rest)


@dataclass(frozen=True)
class Problem:
    """All scenarios of one size on one overlay, as decisions and constraints."""

    bounds: Bounds
    size: Size
    parents: Parents
    constraints: tuple[Callable[[Problem], z3.BoolRef], ...] = ()
    solver: z3.Solver = field(default_factory=lambda: new_solver(FINITE, PATIENCE))

    # ---- decisions ------------------------------------------------------------------------------------------

    @cached_property
    def at(self) -> list[Choice]:
        """By subscriber: its broker and its filter."""
        values = [(b, f) for b in range(self.size.brokers) for f in range(self.size.filters)]
        return [decide(self.solver, f"subscriber{s}", values) for s in range(self.size.subscribers)]

    @cached_property
    def home(self) -> list[Choice]:
        """By publisher: its broker."""
        return [decide(self.solver, f"publisher{p}", range(self.size.brokers)) for p in range(self.size.publishers)]

    @cached_property
    def event(self) -> list[Choice]:
        """By event: its publisher, and the filter that it matches."""
        values = [(p, f) for p in range(self.size.publishers) for f in range(self.size.filters)]
        return [decide(self.solver, f"event{e}", values) for e in range(self.size.events)]

    @cached_property
    def move(self) -> list[Choice]:
        """By number: the move."""
        return [decide(self.solver, f"move{k}", actions(self.size, self.bounds.kinds)) for k in range(self.size.moves)]

    @cached_property
    def order(self) -> dict[tuple[int, int], Choice]:
        """By pair of units i < j: 1 if i comes first, -1 if j does, 0 if they are concurrent."""
        units = range(self.size.units)
        values = (0, 1, -1) if self.bounds.ordered else (0,)
        return {(i, j): decide(self.solver, f"order{i},{j}", values) for i in units for j in units if i < j}

    def first(self, i: int, j: int) -> z3.BoolRef:
        """Unit i comes before unit j."""
        return self.order[min(i, j), max(i, j)].get(1 if i < j else -1, z3.BoolVal(False))

    def concurrent(self, i: int, j: int) -> z3.BoolRef:
        """Neither of the units waits for the other."""
        return self.order[min(i, j), max(i, j)][0]

    def moving(self, k: int, holds: Callable[[Action], bool]) -> z3.BoolRef:
        """Move k is one of those for which this holds."""
        return z3.Or(*(literal for action, literal in self.move[k].items() if holds(action)))

    def branch(self, b: int) -> frozenset[int]:
        """The brokers below b at the start, itself among them."""
        found = {b}
        for child, parent in enumerate(self.parents):
            if parent in found:
                found.add(child)
        return frozenset(found)

    def joined(self, u: int, v: int) -> bool:
        """The brokers are in one component at the start."""

        def top(b: int) -> int:
            return b if self.parents[b] == NONE else top(self.parents[b])

        return top(u) == top(v)

    # ---- constraints ----------------------------------------------------------------------------------------

    def state(self) -> None:
        """Tell the solver all that must hold."""
        size, solver = self.size, self.solver
        for f in range(size.filters):  # no filter is idle
            solver.add(z3.Or(*(lit for choice in (*self.at, *self.event) for (_, topic), lit in choice.items() if topic == f)))
        for p in range(size.publishers):
            solver.add(z3.Or(*(lit for choice in self.event for (publisher, _), lit in choice.items() if publisher == p)))
        for one, other in zip(self.move, self.move[1:], strict=False):  # the least form names the moves in order
            solver.add(*(z3.Implies(one[a], z3.Not(other[b])) for a in one for b in other if b < a))
        units = range(size.units)
        solver.add(*(z3.Implies(z3.And(self.first(i, j), self.first(j, k)), self.first(i, k)) for i, j, k in permutations(units, 3)))
        for k in range(size.moves):
            for action, literal in self.move[k].items():
                needed = self.needs(k, action)
                if needed is not None:
                    solver.add(z3.Implies(literal, needed))
        solver.add(*(constraint(self) for constraint in self.constraints))

    def needs(self, k: int, action: Action) -> z3.BoolRef | None:
        """What must come about, by a move that is not later, for this one to be possible; None if nothing must.  Necessary, not sufficient."""
        kind, x, y = action

        def helped(holds: Callable[[Action], bool]) -> z3.BoolRef:
            others = (j for j in range(self.size.moves) if j != k)
            return z3.Or(*(z3.And(self.moving(j, holds), z3.Not(self.first(k, j))) for j in others))

        overlay = (LINK_DOWN, MIGRATE, MERGE, DURABLE, VOLATILE)
        if kind == LINK_DOWN and self.parents[x] != y and self.parents[y] != x:
            return helped(lambda other: other[0] in (MIGRATE, MERGE) and {other[1], other[2]} == {x, y})
        if kind == MIGRATE and (self.parents[x] == y or y in self.branch(x)):
            return helped(lambda other: other[0] in overlay)
        if kind == MERGE and self.joined(x, y):
            return helped(lambda other: other[0] in (LINK_DOWN, DURABLE, VOLATILE))
        return None

    # ---- solutions --------------------------------------------------------------------------------------------

    def candidates(self) -> Iterator[Candidate]:
        """The least forms that meet the constraints and whose moves all fire in some run."""
        placing = [*self.at, *self.home, *self.event]
        self.state()
        for placed in _solutions(self.solver, placing):
            c = self.candidate(placed)
            kept = stabiliser(c, self.bounds.rooted)
            if kept is not None:
                yield from self.completed(c, [choice[value] for choice, value in zip(placing, placed, strict=True)], kept)

    def candidate(self, placed: Sequence[Any]) -> Candidate:
        """Who is where; no moves yet."""
        s, p = self.size.subscribers, self.size.publishers
        return Candidate(self.size, self.parents, tuple(placed[:s]), tuple(placed[s : s + p]), tuple(placed[s + p :]), (), ())

    def completed(self, c: Candidate, chosen: list[z3.BoolRef], kept: tuple[Renaming, ...]) -> Iterator[Candidate]:
        """With moves and order."""
        moving, ordering, pairs = self.move, [*self.order.values()], [*self.order]
        for found in _solutions(self.solver, [*moving, *ordering], tuple(chosen)):
            order = zip(pairs, found[len(moving) :], strict=True)
            before = tuple((i, j) if way > 0 else (j, i) for (i, j), way in order if way)
            whole = Candidate(c.size, c.parents, c.subscribers, c.publishers, c.events, tuple(found[: len(moving)]), before)
            if is_least(whole, kept) and fires(whole):
                yield whole

    def probe(self, random: Random) -> float:
        """A guess at the number of solutions: a way down to one at random, and how many ways there were at each decision."""
        decisions, chosen, weight = [*self.at, *self.home, *self.event, *self.move, *self.order.values()], list[z3.BoolRef](), 1.0
        for choice in decisions:
            ways = [literal for literal in choice.values() if is_possible(self.solver, (*chosen, literal))]
            if not ways:
                return 0.0
            weight *= len(ways)
            chosen.append(random.choice(ways))
        return weight


def problems(bounds: Bounds, constraints: tuple[Callable[[Problem], z3.BoolRef], ...] = ()) -> Iterator[Problem]:
    """One for each size and overlay."""
    for size in bounds.sizes:
        for parents in overlays(size.brokers, size.components, bounds.rooted):
            yield Problem(bounds, size, parents, constraints)


def enumerate_scenarios(bounds: Bounds, constraints: tuple[Callable[[Problem], z3.BoolRef], ...] = ()) -> Iterator[Candidate]:
    """All scenarios within bounds that meet the constraints, one of each isomorphism class, in a fixed order.  Raises Undecided."""
    for problem in problems(bounds, constraints):
        yield from problem.candidates()


def estimate(
    bounds: Bounds, constraints: tuple[Callable[[Problem], z3.BoolRef], ...] = (), probes: int = 8, seed: int = 0, enough: float = inf
) -> float:  # fmt: skip
    """About how many candidates there are, before renamed ones are taken for one; where they are more than `enough`, those of the first overlays."""
    total, random = 0.0, Random(seed)
    for problem in problems(bounds, constraints):
        problem.state()
        total += sum(problem.probe(random) for _ in range(probes)) / probes
        if total > enough:
            break
    return total
