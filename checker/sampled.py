"""The engine `search` of claims: runs chosen by Hypothesis, through `searching`.  Both are imported when they are asked for, and not before."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from roamcheck.model.interface import Model

from .check import Answer
from .question import Question
from .verdict import StepFailed, Verdict, Violated

EXAMPLES = 2_000


class SearchFailed(Exception):
    """Hypothesis is not installed, this version has no such engine, or what it found does not replay; one line."""


def parts() -> Any:
    """The module that searches by runs.  Raises SearchFailed."""
    try:
        import_module("roamcheck.checker.engines.hypothesis_guide")
        return import_module("roamcheck.checker.searching")
    except ImportError as error:
        missing = "pip install 'roamcheck[guides]'" if error.name == "hypothesis" else "it is no part of this version"
        raise SearchFailed(f"the engine search cannot be had: {missing}; use tabled or reference") from None


def sample_question(question: Question, examples: int | None, seed: int | None) -> tuple[Answer, str, StepFailed | None]:
    """Search runs of a scenario: the answer, how much was looked at, and the step that failed.  Raises SearchFailed, KeyboardInterrupt."""
    searching = parts()
    found = searching.search(question, searching.Effort(examples=examples or EXAMPLES, seed=seed or 0, compare=0))
    if found.interrupted:
        raise KeyboardInterrupt
    if found.disagreements:
        raise SearchFailed("; ".join(found.disagreements))
    return found.answer, extent(found.examples, found.steps, found.states), found.failed


def sample_model(model: Model, examples: int | None, seed: int | None) -> tuple[dict[str, Verdict], str, StepFailed | None]:
    """Likewise of a model of one's own."""
    searching = parts()
    effort = searching.Effort(examples=examples or EXAMPLES, seed=seed or 0)
    sampler = searching.Sampler(model, examples=effort.examples, longest=effort.longest)
    if searching.run(sampler, effort, None):  # the question is read where a database is kept
        raise KeyboardInterrupt
    verdicts: dict[str, Verdict] = {}
    for number, of in enumerate(model.properties):
        verdict = sampler.verdict(number, effort.says())
        if isinstance(verdict, Violated):
            shrunk = searching.shrink(sampler.graph, number, verdict.counterexample)
            why = searching.why_not(model, of, shrunk)
            if why is not None:
                raise SearchFailed(f"{of.name}: the run that was found does not replay: {why}")
            verdict = Violated(shrunk)
        verdicts[of.name] = verdict
    return verdicts, extent(sampler.done, sampler.steps, len(sampler.graph.nodes)), sampler.failed


def extent(examples: int, steps: int, states: int) -> str:
    """How much was looked at."""
    return f"{examples:,} runs, {steps:,} steps, {states:,} states"
