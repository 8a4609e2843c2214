"""Hypothesis chooses: runs are examples of a strategy over the enabled steps, guided by measures, and shrunk by it first.

A run is drawn: first how much it likes each kind of step, then one of the enabled steps after the other.  Nothing is drawn where nothing can be
chosen, and a run that finds something ends there, so that fewer draws are fewer steps; smaller draws are steps that stand earlier in the model, the
protocol's before the environment's.  The state machines of `hypothesis.stateful` do as much with bundles and rules that nothing here needs, at many
times the cost per step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings, target
from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase

from roamcheck.checker.sampling.runs import Choices, Run, Sampler, measured

FAR = 1_700_000_000_000  # Hypothesis mixes constants of its own and of the modules that it sees into what it draws: none are here
PHASES = (Phase.reuse, Phase.generate, Phase.target, Phase.shrink)
LIKINGS = (1, 4, 16, 64, 0)  # 0: not until nothing else is enabled
Some = TypeVar("Some")


class Breached(Exception):
    """A run ends in a breach."""


class Interrupts:
    """Brings an interrupt out of Hypothesis, which takes one in its last replay of what failed for a flaky strategy."""

    def __init__(self) -> None:
        self.first: KeyboardInterrupt | None = None

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Around whatever Hypothesis calls."""
        try:
            yield
        except KeyboardInterrupt as interrupt:
            self.first = self.first or interrupt
            raise

    @contextmanager
    def brought_out(self) -> Iterator[None]:
        """Around a call of Hypothesis, of which a Breached is no error.  Raises the first interrupt, whatever was made of it."""
        try:
            yield
        except Breached:
            pass
        except BaseException:
            if self.first is not None:
                raise self.first from None
            raise


def guided(sampler: Sampler, number: int, targets: bool = True, database: Path | None = None) -> None:
    """Search until every property has failed or the budget is spent.  `number` is the seed.  Raises Enough.

    Each round ends with a breach of properties that have not failed before, or with the budget.  With a `database`, a folder, runs that found
    something are tried first the next time, each in its own round: in a later one they would be forgotten, as nothing that fails.
    """
    done, which = -1, 0
    while done < sampler.done:
        done, which = sampler.done, which + 1
        kept = None if database is None else DirectoryBasedExampleDatabase(database / f"round-{which}")
        attempt(sampler, number + which - 1, targets, kept)


def attempt(sampler: Sampler, number: int, targets: bool, database: DirectoryBasedExampleDatabase | None) -> None:
    """One round."""
    names = [of.name for of in sampler.measures] if targets else []
    interrupts = Interrupts()

    @settings(
        max_examples=sampler.examples - sampler.done + 1,  # so that it is the sampler that ends the search
        database=database,
        deadline=None,
        phases=[phase for phase in PHASES if targets or phase is not Phase.target],
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    @seed(number)  # below the settings, since it takes the database away
    @given(runs(sampler, interrupts))
    def all_runs_are_good(run: Run) -> None:
        if names:
            for name, value in zip(names, measured(sampler, run.nodes), strict=True):
                target(value, label=name)
        if run.breaches:
            raise Breached

    with interrupts.brought_out():
        all_runs_are_good()


def runs(sampler: Sampler, interrupts: Interrupts) -> st.SearchStrategy[Run]:
    """Runs of the model, for one round: once one has found something, those that follow are asked the same and not counted."""
    actions, wanted = [step.action for step in sampler.model.steps], frozenset(sampler.open)
    kinds = list(dict.fromkeys(actions))

    @st.composite
    def run(draw: st.DrawFn) -> Run:
        initial = one_of(draw, range(len(sampler.model.initial_states)))
        liking = {kind: one_of(draw, LIKINGS) for kind in kinds} if len(kinds) > 1 else dict.fromkeys(kinds, 1)

        def choose(choices: Choices) -> int:
            likings = [liking[actions[step]] for step, _ in choices]
            return weighed(draw, likings if any(likings) else [1] * len(choices))

        with interrupts.noted():
            if sampler.open >= wanted:
                return sampler.sample(choose, initial)
            shorter = sampler.again(choose, wanted, initial)
            sampler.keep(shorter)
            return shorter

    return run()


def smallest(make: Callable[[Callable[[int], int]], Some], fails: Callable[[Some], bool], examples: int, number: int) -> Some | None:
    """Make things of choices below n until one fails, then smaller choices as long as it does; the last that failed, or None."""
    failed: list[Some] = []
    interrupts = Interrupts()

    @st.composite
    def things(draw: st.DrawFn) -> Some:
        with interrupts.noted():
            return make(lambda n: one_of(draw, range(n)))

    @settings(
        max_examples=examples, database=None, deadline=None, phases=(Phase.generate, Phase.shrink), verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck), report_multiple_bugs=False, print_blob=False,
    )  # fmt: skip
    @seed(number)
    @given(things())
    def none_fails(thing: Some) -> None:
        with interrupts.noted():
            if fails(thing):
                failed[:] = [thing]
                raise Breached

    with interrupts.brought_out():
        none_fails()
    return failed[0] if failed else None


def drawn(make: Callable[[Callable[[int], int]], Some], count: int, number: int) -> list[Some]:
    """So many things made of choices below n, simple ones first; fewer where there are no more."""
    found: list[Some] = []

    @st.composite
    def things(draw: st.DrawFn) -> Some:
        return make(lambda n: one_of(draw, range(n)))

    @settings(
        max_examples=count, database=None, deadline=None, phases=(Phase.generate,), verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck), print_blob=False,
    )  # fmt: skip
    @seed(number)
    @given(things())
    def keep(thing: Some) -> None:
        found.append(thing)

    keep()
    return found


def weighed(draw: st.DrawFn, weights: Sequence[int]) -> int:
    """A place, by its weight; the first one that has any where Hypothesis shrinks to."""
    place, drawn = 0, one_of(draw, range(sum(weights)))
    while drawn >= weights[place]:
        drawn -= weights[place]
        place += 1
    return place


def one_of(draw: st.DrawFn, of: Sequence[Some]) -> Some:
    """One of these; the first where there is no choice, and where Hypothesis shrinks to."""
    return of[draw(below(len(of))) - FAR] if len(of) > 1 else of[0]


@cache
def below(n: int) -> st.SearchStrategy[int]:
    """n numbers from FAR on."""
    return st.integers(FAR, FAR + n - 1)
