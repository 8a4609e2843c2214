"""Two unguided strategies: steps drawn alike, and swarms, in which each run has likings of its own."""

from __future__ import annotations

from random import Random

from roamcheck.checker.sampling.runs import Choices, Sampler


def uniform(sampler: Sampler, seed: int) -> None:
    """Every enabled step is as likely as every other.  Raises Enough."""
    draw = Random(seed)
    while True:
        sampler.sample(lambda choices: draw.randrange(len(choices)), initial_state(sampler, draw))


def swarm(sampler: Sampler, seed: int) -> None:
    """Each run draws how much it likes each kind of step, and which kinds it puts off until nothing else is enabled.  Raises Enough.

    After Groce et al., "Swarm Testing", ISSTA 2012: a fault may need that something does not happen, or not soon.
    """
    draw = Random(seed)
    kinds = list(dict.fromkeys(step.action for step in sampler.model.steps))
    while True:
        liking = {kind: 0.0 if draw.random() < 0.25 else 4.0 ** draw.uniform(-2, 2) for kind in kinds}

        def choose(choices: Choices, liking: dict[str, float] = liking) -> int:
            weights = [liking[sampler.model.steps[step].action] for step, _ in choices]
            return draw.choices(range(len(choices)), weights)[0] if any(weights) else draw.randrange(len(choices))

        sampler.sample(choose, initial_state(sampler, draw))


def initial_state(sampler: Sampler, draw: Random) -> int:
    """One of the model's initial states."""
    return draw.randrange(len(sampler.model.initial_states))
