"""Hypothesis chooses: runs are examples of a strategy over the enabled steps, guided by measures, and shrunk by it first.

A run is drawn step by step: of the kinds of steps that are enabled, one, and of the steps of that kind, one.  Nothing is drawn where nothing can be
chosen, and a run that finds something ends there, so that fewer draws are fewer steps.  The state machines of `hypothesis.stateful` do the same with
bundles and rules that nothing here needs, at many times the cost per step.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings, target
from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase

from roamcheck.checker.sampling.runs import Choices, Run, Sampler, measured

FAR = 1 << 40  # Hypothesis mixes into small numbers those that it reads in the modules at hand, and then answers would depend on more than the seed
PHASES = (Phase.reuse, Phase.generate, Phase.target, Phase.shrink)
Some = TypeVar("Some")


class Breached(Exception):
    """A run ends in a breach."""


def guided(sampler: Sampler, number: int, targets: bool = True, database: Path | None = None) -> None:
    """Search until every property has failed or the budget is spent.  `number` is the seed.  Raises Enough.

    Each round ends with a breach of properties that have not failed before, or with the budget.  With a `database`, a folder, runs that found
    something are tried first the next time.
    """
    kept = None if database is None else DirectoryBasedExampleDatabase(database)
    done = -1
    while done < sampler.done:
        done = sampler.done
        attempt(sampler, number, targets, kept)
        number += 1


def attempt(sampler: Sampler, number: int, targets: bool, database: DirectoryBasedExampleDatabase | None) -> None:
    """One round."""
    names = [of.name for of in sampler.measures] if targets else []

    @seed(number)
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
    @given(runs(sampler))
    def all_runs_are_good(run: Run) -> None:
        if names:
            for name, value in zip(names, measured(sampler, run.nodes), strict=True):
                target(value, label=name)
        if run.breaches:
            raise Breached

    with suppress(Breached):
        all_runs_are_good()


def runs(sampler: Sampler) -> st.SearchStrategy[Run]:
    """Runs of the model, for one round: once one has found something, those that follow are asked the same and not counted."""
    actions, wanted = [step.action for step in sampler.model.steps], frozenset(sampler.open)

    def choose(draw: st.DrawFn, choices: Choices) -> int:
        kinds: dict[str, list[int]] = {}
        for place, (step, _) in enumerate(choices):
            kinds.setdefault(actions[step], []).append(place)
        return one_of(draw, one_of(draw, list(kinds.values())))

    @st.composite
    def run(draw: st.DrawFn) -> Run:
        initial = one_of(draw, range(len(sampler.model.initial_states)))
        if sampler.open >= wanted:
            return sampler.sample(lambda choices: choose(draw, choices), initial)
        shorter = sampler.again(lambda choices: choose(draw, choices), wanted, initial)
        sampler.keep(shorter)
        return shorter

    return run()


def one_of(draw: st.DrawFn, of: Sequence[Some]) -> Some:
    """One of these; the first where there is no choice, and where Hypothesis shrinks to."""
    return of[draw(below(len(of))) - FAR] if len(of) > 1 else of[0]


@cache
def below(n: int) -> st.SearchStrategy[int]:
    """n numbers from FAR on."""
    return st.integers(FAR, FAR + n - 1)
