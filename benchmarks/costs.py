"""What a protocol costs: messages between brokers, and the names, numbers and bytes that they carry, on Figures 3 and 4 and on the bundled scenarios.

    python benchmarks/costs.py [--schedules N] [--keep]

Each scenario without losses that all contenders know is run along N random schedules (the same seeds for each contender; a run ends when nothing can
happen any more, or after 400 steps), and means are taken over them.  --keep writes benchmarks/results/costs.json, which FINDINGS.md shows.

An *item* is a name, a number or a bit.  In bytes a message is one for its kind, one for the length of each list in it and two for each item; an event
counts as its number, its content aside.  Ghosts (whom a PUB was sent for, where that is not part of the protocol) count nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from roamcheck.checker.files import bundled, load_scenario
from roamcheck.checker.question import Question, question
from roamcheck.model.interface import Disabled, Model, State, fire
from roamcheck.model.scenario import Scenario
from roamcheck.spec.messages import EVENTFUL, Message, Pub

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "costs.json"
CONTENDERS = ("mft-pubsub:printed", "mft-pubsub:amended", "mft-pubsub-r:printed")
STEPS = 400


def items_and_lists(value: Any) -> tuple[int, int]:
    """How many names, numbers and bits a part of a message carries, and how many lists."""
    if not isinstance(value, tuple):
        return 1, 0
    inner = [items_and_lists(part) for part in value]
    return sum(items for items, _ in inner), sum(lists for _, lists in inner) + (not hasattr(value, "_fields"))


def carried(message: Message) -> tuple[int, int]:
    """Its items, and its bytes."""
    parts = (message.event,) if isinstance(message, Pub) else tuple(getattr(message, name) for name in message.__dataclass_fields__)
    counted = [items_and_lists(part) for part in parts]
    items = sum(n for n, _ in counted)
    return items, 1 + sum(n for _, n in counted) + 2 * items


def asked(scenario: Scenario, contender: str) -> Question:
    """The scenario under a contender."""
    protocol, _, readings = contender.partition(":")
    return question(scenario, protocol=protocol, readings=readings)


def run(model: Model, brokers: frozenset[str], chance: random.Random) -> Counter[str]:
    """One random schedule: what the brokers have sent to each other."""
    links = [slot for slot, spec in enumerate(model.layout.slots) if {*spec.name.split("→")} <= brokers and "→" in spec.name]
    state, sent = model.initial_states[0], Counter[str]()
    for _ in range(STEPS):
        order = [*model.steps]
        chance.shuffle(order)
        for step in order:
            after = fire(model, step, state)
            if not isinstance(after, Disabled):
                break
        else:
            return sent
        for slot in links:
            for message in appended(state, after, slot):
                items, size = carried(message)
                sort = "events" if isinstance(message, EVENTFUL) else "control"
                sent.update({f"{sort}-messages": 1, f"{sort}-items": items, f"{sort}-bytes": size})
        state = after
    sent["cut-off"] = 1
    return sent


def appended(before: State, after: State, slot: int) -> tuple[Message, ...]:
    """What a step has put on a channel, of which it may have taken the head, or all of it with the link."""
    old, new = before[slot], after[slot]
    assert isinstance(old, tuple)
    assert isinstance(new, tuple)
    if old == new:
        return ()
    left = next(k for k in (0, 1, len(old)) if new[: len(old) - k] == old[k:])
    return new[len(old) - left :]


def measured(scenario: Scenario, schedules: int) -> dict[str, dict[str, float]] | None:
    """Means over the schedules for each contender; None where one of them does not know a move, or messages may be lost."""
    questions = {contender: asked(scenario, contender) for contender in CONTENDERS}
    if scenario.assume.radio != "reliable" or any(one.why_not_applicable() for one in questions.values()):
        return None
    means = {}
    for contender, one in questions.items():
        model, total = one.model(), Counter[str]()
        for seed in range(schedules):
            total += run(model, frozenset(scenario.brokers), random.Random(seed))
        means[contender] = {name: round(n / schedules, 3) for name, n in sorted(total.items())}
    return means


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=40, metavar="N")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    rows = {}
    for scenario in map(load_scenario, bundled()):
        means = measured(scenario, options.schedules)
        if means is not None:
            rows[scenario.name] = means
            told = (f"{contender} {of.get('control-messages', 0):.1f} + {of.get('events-messages', 0):.1f}" for contender, of in means.items())
            print(f"{scenario.name}: {', '.join(told)}", flush=True)
    if options.keep:
        kept = {"schedules": options.schedules, "steps": STEPS, "scenarios": rows}
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
