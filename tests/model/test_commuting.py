"""What the model promises to a reduction: independent steps commute, who is blamed is to blame, what is over is over, no step reaches further."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from roamcheck.checker.files import bundled, load_scenario
from roamcheck.checker.question import question
from roamcheck.model.interface import Disabled, Model, Slot, State, Step, fire
from roamcheck.spec.protocols import PROTOCOLS
from support.footprints import changed, check_walk, pools_of, walk
from support.independence import Dependent, Unordered, check_blame, check_commute, check_for_good, independent
from support.runs import Run

INSTANT, LATER, APART = {"client-links": "instant"}, {"bounce": "later"}, {"notice": "apart"}
CASES: dict[str, tuple[str, dict[str, Any]]] = {  # scenario, options
    "client and broker move": ("free-star", {"protocol": "mft-pubsub"}),
    "client and broker move, instant": ("free-star", {"protocol": "modular", "assumptions": INSTANT}),
    "client and broker move, late returns": ("free-star", {"readings": "amended", "assumptions": LATER}),
    "two subscribers roam": ("free-fork-4-two-subscribers", {"readings": "amended"}),
    "two subscribers roam, instant": ("free-fork-4-two-subscribers", {"protocol": "mft-pubsub-2023", "readings": "amended", "assumptions": INSTANT}),
    "merge": ("free-merge", {"protocol": "mft-pubsub"}),
    "merge, instant, late returns": ("free-merge", {"readings": "amended", "assumptions": INSTANT | LATER}),
    "merge of two moves": ("merge-reroot", {"protocol": "modular"}),
    "cut and merge": ("free-cut-and-merge", {"protocol": "modular"}),
    "cut and merge without queues": ("free-cut-and-merge", {"protocol": "modular-2016", "assumptions": INSTANT}),
    "durable crash": ("free-crash", {"protocol": "mft-pubsub"}),
    "durable crash, instant, late returns": ("free-crash", {"readings": "amended", "assumptions": INSTANT | LATER}),
    "volatile crash": ("crash-volatile", {"protocol": "mft-pubsub", "assumptions": LATER}),
    "detected loss": ("loss-detected", {"protocol": "phoenix", "assumptions": LATER}),
    "silent loss": ("loss-silent-control", {"protocol": "mft-pubsub"}),
    "publisher roams": ("publisher-roams", {"protocol": "phoenix"}),
    "publisher roams, instant": ("publisher-roams", {"protocol": "mft-pubsub", "assumptions": INSTANT}),
    "from scratch": ("subscribe-from-scratch", {"protocol": "simple-routing"}),
    "from scratch, instant": ("subscribe-from-scratch", {"protocol": "phoenix-2016", "assumptions": INSTANT}),
    "filters change": ("filters-change-while-away", {"protocol": "mft-pubsub"}),
    "filters change, instant": ("filters-change-while-away", {"protocol": "phoenix-2016", "assumptions": INSTANT}),
    "client and broker move, noticed apart": ("free-star", {"protocol": "mft-pubsub-r", "assumptions": APART}),
    "cut and merge, noticed apart": ("free-cut-and-merge", {"readings": "amended", "assumptions": APART | LATER}),
    "durable crash, noticed apart": ("free-crash", {"protocol": "mft-pubsub", "assumptions": APART}),
    "two branches": ("figure-1b-concurrent", {"protocol": "modular"}),
    "seven brokers": ("peers-f", {"assumptions": INSTANT}),
    "a link comes back": ("link-lost-and-found", {"protocol": "mft-pubsub"}),
}  # fmt: skip
NONE_COMMUTE = {  # every broker may hand something to each subscriber at once, wherever that roams
    "client and broker move, instant", "two subscribers roam, instant", "merge, instant, late returns",
}  # fmt: skip


@cache
def model_of(case: str) -> Model:
    scenario, options = CASES[case]
    return question(load_scenario(scenario), **options).model()


@cache
def states_of(case: str) -> list[State]:
    model = model_of(case)
    return list(dict.fromkeys((*walk(model, seed=1, states=60), *walk(model, seed=2, states=60, length=40))))


# ---- steps that pass for independent ---------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_independent_steps_commute_and_neither_disables_the_other_nor_enables_it_but_by_feeding(case: str) -> None:
    model = model_of(case)
    assert (check_commute(model, independent(model), states_of(case)) > 0) == (case not in NONE_COMMUTE)


@pytest.mark.parametrize("case", CASES)
def test_the_promise_does_not_depend_on_who_is_named_first(case: str) -> None:
    model = model_of(case)
    for slot in (*model.budget, *(slot for slot, spec in enumerate(model.layout.slots) if spec.name.startswith("s"))):
        for one in model.steps:
            assert all(model.unordered(slot, one, other) == model.unordered(slot, other, one) for other in model.steps)


def test_claims_on_the_budget_and_debts_commute_where_they_have_nothing_to_do_with_each_other() -> None:
    model, slot = model_of("two subscribers roam"), model_of("two subscribers roam").layout.index
    publish, other = named(model, "publish", "p1", "e1"), named(model, "detach", "s1")
    assert model.unordered(slot("(environment)"), publish, other)
    assert not model.unordered(slot("(environment)"), named(model, "detach", "s2"), other)
    assert not model.unordered(slot("(environment)"), named(model, "attach", "s1"), other)
    assert model.unordered(slot("(environment)"), named(model, "attach", "s2"), other)
    assert not model.unordered(slot("(overlay)"), publish, other)


def named(model: Model, action: str, *arguments: str) -> Step:
    return next(s for s in model.steps if s.action == action and [value for _, value in s.arguments][: len(arguments)] == list(arguments))


# ---- too much promised -----------------------------------------------------------------------------------


def everything(model: Model) -> Unordered:
    return lambda slot, one, other: True


def the_whole_budget(model: Model) -> Unordered:
    return lambda slot, one, other: slot in model.budget or model.unordered(slot, one, other)


def all_of_a_subscriber(model: Model) -> Unordered:
    return lambda slot, one, other: model.layout.slots[slot].name == "s1" or model.unordered(slot, one, other)


WAITS = {"moves": ("a: publish e1", "b: subscribe s1 f2 after a")}
ONE_LOSS = {"moves": ("a: publish e1", "b: subscribe s1 f2"), "free": {"losses": 1}, "assume": {"radio": "silent"}}
WAVERS = {"moves": ("a: unsubscribe s1 f1", "b: subscribe s1 f1 after a", "c: publish e1")}


@pytest.mark.parametrize(
    ("options", "mutant", "said"),
    [
        (WAITS, everything, "commute|disables|enables"),
        (WAITS, the_whole_budget, "publish.* enables the other"),
        (ONE_LOSS, the_whole_budget, "lose.* disables the other"),
        (WAVERS, all_of_a_subscriber, "subscribe.* do not commute"),
    ],
)
def test_a_model_that_promises_too_much_is_found_out(options: dict[str, Any], mutant: Callable[[Model], Unordered], said: str) -> None:
    model = Run(**options).model
    states = walk(model, seed=1, states=200)
    assert check_commute(model, independent(model), states) > 0
    with pytest.raises(Dependent, match=said):
        check_commute(model, independent(model, mutant(model)), states)


def test_a_step_that_reaches_beyond_its_bound_is_found_out() -> None:
    """A publisher that roams is thought to stay where it began."""
    case = "publisher roams, instant"
    model = model_of(case)
    tight = [replace(s, within=s.select(model.initial_states[0][s.selector])) if s.select and s.selector is not None else s for s in model.steps]
    with pytest.raises(AssertionError, match="goes beyond"):
        check_walk(replace(model, steps=tuple(tight)), states_of(case), seed=11)


# ---- why a step is disabled ------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_whoever_is_blamed_is_to_blame_alone(case: str) -> None:
    assert check_blame(model_of(case), states_of(case)[:25], altered(states_of(case)))


def altered(states: list[State]) -> Callable[[State, Slot], Iterator[State]]:
    """States in which all slots but one hold what they hold elsewhere."""
    pools, rng = pools_of(states), random.Random(5)
    return lambda state, slot: (changed(state, pools, rng, {slot}) for _ in range(3))


@pytest.mark.parametrize("case", CASES)
def test_a_step_that_is_disabled_for_good_never_fires_again(case: str) -> None:
    assert check_for_good(model_of(case), 250)


CUT = ("a: link-down b2 b3", "b: migrate b1 b3 after a")
ROAM = {"free": {"client-moves": 1}}
PUBLISH, SILENT = ("a: publish e1",), {"radio": "silent", "lossy": ["MIG"]}
TWICE = {"free": {"publish": 2}}
AWAY = {"subscribers": {"s1": {"filters": ["f1"]}}, "publishers": {"p1": {}}}
REFUSED: list[tuple[dict[str, Any], str, str, str, str | None, bool]] = [  # options, steps before, a step, its guard, who is to blame, for good
    ({"moves": PUBLISH}, "publish", "publish", "a has not fired yet", "(environment)", True),
    ({"moves": ("a: publish e1 after b", "b: publish e2")}, "", "publish p1 e1", "a comes after b", "(environment)", False),
    (TWICE, "publish p1 e1", "publish p1 e1", "e1 has not been published yet", "p1", True),
    (TWICE, "publish p1 e1,publish p1 e2", "publish p1 e3", "free publish remain", "(environment)", True),
    (ROAM, "", "attach s1 b1", "s1 is on a free client move", "(environment)", False),
    (ROAM, "detach s1", "detach s1", "s1 is attached", "s1", False),
    (ROAM, "detach s1,attach s1 b2", "detach s1", "free client-moves remain", "(environment)", True),
    (ROAM, "detach s1,attach s1 b2", "attach s1 b1", "s1 is on a free client move", "(environment)", True),
    ({"moves": ("a: attach s1 b1", "b: attach p1 b2")}, "", "attach s1", "s1 is detached", "s1", False),
    ({"moves": ("a: attach s1 b1", "b: attach p1 b2")}, "", "attach p1", "p1 is detached", "p1", False),
    ({"moves": ("a: detach s1",), **AWAY}, "", "detach s1", "s1 is attached", "s1", True),
    ({"moves": ("a: detach p1",), **AWAY}, "", "detach p1", "p1 is attached", "p1", True),
    ({"moves": PUBLISH, **AWAY}, "", "publish", "p1 is attached", "p1", True),
    ({"moves": PUBLISH, "assume": INSTANT, **AWAY}, "", "publish", "p1 is attached", "p1", True),
    ({"moves": ("a: publish e1", "b: attach p1 b1"), **AWAY}, "", "publish", "p1 is attached", "p1", False),
    ({"moves": ("a: unsubscribe s1 f2",)}, "", "unsubscribe", "s1 wants f2", "s1", False),
    ({"moves": CUT}, "link-down", "link-down", "the link b2–b3 is up", "(overlay)", True),
    ({"moves": (*CUT, "c: migrate b2 b3")}, "link-down", "link-down", "the link b2–b3 is up", "(overlay)", False),
    ({"moves": CUT, "free": {"broker-moves": 1}}, "link-down", "link-down", "the link b2–b3 is up", "(overlay)", False),
    ({"free": {"merges": 1}}, "", "merge b1 b2", "b1 and b2 are in different components", "(overlay)", True),
    ({"free": {"merges": 1, "crashes": 1}}, "", "merge b1 b2", "b1 and b2 are in different components", "(overlay)", False),
    ({"free": {"merges": 1}}, "", "turn b2", "the heartbeat of a new leader has reached its neighbour", "(overlay)", False),
    ({}, "", "turn b2", "the heartbeat of a new leader has reached its neighbour", "(overlay)", True),
    ({"moves": PUBLISH, "assume": {"radio": "silent"}}, "publish", "lose p1 b1", "the radio may lose another message", "(environment)", True),
    ({"moves": PUBLISH, "assume": SILENT, "free": {"losses": 1}}, "publish", "lose p1 b1", "PUB may be lost", None, False),
    ({"moves": ("a: detach s1 when quiescent", "b: publish e1")}, "publish", "detach", "the network is quiescent", None, False),
]  # fmt: skip


@pytest.mark.parametrize(("options", "before", "step", "guard", "culprit", "for_good"), REFUSED)
def test_who_is_to_blame_and_for_how_long(options: dict[str, Any], before: str, step: str, guard: str, culprit: str | None, for_good: bool) -> None:
    run = Run(**options).do(*filter(None, before.split(",")))
    refused = fire(run.model, run.step(step), run.state)
    assert isinstance(refused, Disabled)
    assert (refused.guard, refused.for_good) == (guard, for_good)
    assert refused.slot == (None if culprit is None else run.model.layout.index(culprit))


def blaming(model: Model, action: str, **blame: Any) -> Model:
    """The model whose steps of this action say of every refusal that it is as `blame` says."""

    def react(step: Step) -> Any:
        def changed_react(head: Any, values: Any) -> Any:
            outcome = step.react(head, values)
            return replace(outcome, **blame) if isinstance(outcome, Disabled) else outcome

        return changed_react

    return replace(model, steps=tuple(replace(s, react=react(s)) if s.action == action else s for s in model.steps))


def test_the_wrong_slot_blamed_is_found_out() -> None:
    model = Run(moves=("a: publish e1", "b: detach p1", "c: attach p1 b1 after b")).model
    states = walk(model, seed=1, states=60)
    check_blame(model, states, altered(states))
    with pytest.raises(Dependent, match="not to blame"):
        check_blame(blaming(model, "publish", slot=model.layout.index("(environment)")), states, altered(states))


def test_a_step_that_is_only_disabled_for_now_is_found_out() -> None:
    with pytest.raises(Dependent, match="disabled for good, and fires"):
        check_for_good(blaming(model_of("client and broker move"), "attach", for_good=True), 250)


# ---- the long sweep --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("assumptions", [{}, INSTANT, LATER, INSTANT | LATER], ids=["queued", "instant", "later", "instant later"])
def test_every_promise_is_kept_in_every_bundled_scenario(protocol: str, assumptions: dict[str, str]) -> None:
    for name in bundled():
        asked = question(load_scenario(name), protocol=protocol, assumptions=assumptions, reading={"flush": "return"})
        if asked.why_not_applicable() is None:
            model = asked.model()
            states = list(dict.fromkeys((*walk(model, seed=3, states=40), *walk(model, seed=4, states=40, length=40))))
            check_commute(model, independent(model), states)
            check_blame(model, states[:25], altered(states))
            check_for_good(model, 250)
            check_walk(model, states[:10], seed=5)
