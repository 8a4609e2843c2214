"""The engine `search` of claims: runs chosen by Hypothesis, through `searching`."""

from __future__ import annotations

from roamcheck.model.interface import Model

from .check import Answer
from .question import Question
from .sampling.confirming import why_not
from .sampling.runs import Sampler
from .sampling.shrinking import shrink
from .searching import Effort, run, search
from .verdict import StepFailed, Verdict, Violated


class SearchFailed(Exception):
    """What was found does not replay; one line."""


def sample_question(question: Question, examples: int | None, seed: int | None) -> tuple[Answer, str, StepFailed | None]:
    """Search runs of a scenario: the answer, how much was looked at, and the step that failed.

    Raises SearchFailed, CannotBegin, KeyboardInterrupt.
    """
    found = search(question, effort(examples, seed))
    if found.interrupted:
        raise KeyboardInterrupt
    if found.disagreements:
        raise SearchFailed("; ".join(found.disagreements))
    return found.answer, extent(found.examples, found.steps, found.states), found.failed


def sample_model(model: Model, examples: int | None, seed: int | None) -> tuple[dict[str, Verdict], str, StepFailed | None]:
    """Likewise of a model of one's own."""
    asked = effort(examples, seed)
    sampler = Sampler(model, examples=asked.examples, longest=asked.longest)
    if run(sampler, asked):
        raise KeyboardInterrupt
    verdicts: dict[str, Verdict] = {}
    for number, of in enumerate(model.properties):
        verdict = sampler.verdict(number, asked.says())
        if isinstance(verdict, Violated):
            shrunk = shrink(sampler.graph, number, verdict.counterexample)
            why = why_not(model, of, shrunk)
            if why is not None:
                raise SearchFailed(f"{of.name}: the run that was found does not replay: {why}")
            verdict = Violated(shrunk)
        verdicts[of.name] = verdict
    return verdicts, extent(sampler.done, sampler.steps, len(sampler.graph.nodes)), sampler.failed


def effort(examples: int | None, seed: int | None) -> Effort:
    """By Hypothesis, as many runs as are asked for; nothing is compared with the shortest."""
    return Effort(seed=seed or 0, compare=0) if examples is None else Effort(examples=examples, seed=seed or 0, compare=0)


def extent(examples: int, steps: int, states: int) -> str:
    """How much was looked at."""
    return f"{examples:,} runs, {steps:,} steps, {states:,} states"
