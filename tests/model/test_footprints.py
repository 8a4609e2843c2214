"""Every explored step is held to its footprint, over random walks through bundled scenarios; steps that cheat are found out."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, replace
from typing import Any

import pytest

from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.model.interface import Disabled, Effect, Footprint, Kind, Layout, Model, Slot, SlotSpec, State, Step
from roamcheck.model.scenario import Move
from support.footprints import Cheat, check_step, check_walk, enabled, look, name_of, pools_of, walk

CASES: dict[str, tuple[str, dict[str, Any], set[str]]] = {  # scenario, options, actions that must be seen to fire
    "client and broker move": (
        "free-star", {"protocol": "mft-pubsub"}, {"publish", "detach subscriber", "attach subscriber", "migrate", "deliver"}),
    "client and broker move, instant": (
        "free-star", {"protocol": "mft-pubsub", "assumptions": {"client-links": "instant"}},
        {"publish", "detach subscriber", "attach subscriber", "migrate", "deliver"}),
    "client and broker move, late returns": (
        "free-star", {"readings": "amended", "assumptions": {"bounce": "later"}}, {"detach subscriber", "attach subscriber", "migrate", "return"}),
    "late return to a detached client, instant": (
        "free-star", {"protocol": "modular", "assumptions": {"bounce": "later", "client-links": "instant"}}, {"migrate", "deliver"}),
    "merge": ("free-merge", {"protocol": "mft-pubsub"}, {"merge", "turn", "publish", "attach subscriber"}),
    "merge, instant": (
        "free-merge", {"readings": "amended", "assumptions": {"client-links": "instant", "bounce": "later"}}, {"merge", "turn", "publish"}),
    "merge, the joiner alone migrates": ("free-merge", {"protocol": "modular", "reading": {"reroot": "joiner-only"}}, {"merge", "turn"}),
    "cut and merge": ("free-cut-and-merge", {"protocol": "modular"}, {"link-down", "merge", "turn", "return"}),
    "cut and merge without queues": ("free-cut-and-merge", {"protocol": "modular-2016"}, {"link-down", "merge"}),
    "durable crash": ("free-crash", {"protocol": "mft-pubsub"}, {"crash", "migrate", "publish"}),
    "durable crash, instant, late returns": (
        "free-crash", {"readings": "amended", "assumptions": {"client-links": "instant", "bounce": "later"}}, {"crash", "migrate", "return"}),
    "volatile crash": ("crash-volatile", {"protocol": "mft-pubsub", "assumptions": {"bounce": "later"}}, {"crash", "migrate"}),
    "detected loss": ("loss-detected", {"protocol": "mft-pubsub"}, {"lose", "publish", "deliver"}),
    "detected loss, late returns": ("loss-detected", {"protocol": "phoenix", "assumptions": {"bounce": "later"}}, {"lose", "return"}),
    "silent loss": ("loss-silent-control", {"protocol": "mft-pubsub"}, {"lose", "subscribe", "detach subscriber", "attach subscriber"}),
    "publisher roams": ("publisher-roams", {"protocol": "phoenix"}, {"detach publisher", "attach publisher", "publish"}),
    "publisher roams, instant": (
        "publisher-roams", {"protocol": "mft-pubsub", "assumptions": {"client-links": "instant"}}, {"detach publisher", "attach publisher"}),
    "from scratch": ("subscribe-from-scratch", {"protocol": "simple-routing"}, {"unsubscribe", "publish", "deliver"}),
    "filters change": ("filters-change-while-away", {"protocol": "mft-pubsub"}, {"subscribe", "unsubscribe", "attach subscriber"}),
    "filters change, instant": (
        "filters-change-while-away", {"protocol": "phoenix-2016", "assumptions": {"client-links": "instant"}}, {"subscribe", "unsubscribe"}),
    "noticed apart": ("free-star", {"readings": "amended", "assumptions": {"notice": "apart"}}, {"migrate", "notice", "deliver"}),
    "cut and merge, noticed apart": (
        "free-cut-and-merge", {"readings": "amended", "assumptions": {"notice": "apart", "bounce": "later"}}, {"link-down", "merge", "notice"}),
    "durable crash, noticed apart": ("free-crash", {"protocol": "mft-pubsub-r", "assumptions": {"notice": "apart"}}, {"crash", "notice", "migrate"}),
    "two branches": ("figure-1b-concurrent", {"protocol": "modular"}, {"link-down", "migrate", "deliver"}),
}  # fmt: skip
ACTIONS = {
    "deliver", "return", "turn", "lose", "publish", "subscribe", "unsubscribe", "attach subscriber", "attach publisher", "detach subscriber",
    "detach publisher", "link-down", "migrate", "merge", "crash", "notice",
}  # fmt: skip


def model_of(case: str) -> Model:
    scenario, options, _ = CASES[case]
    return question(load_scenario(scenario), **options).model()


@pytest.mark.parametrize("case", CASES)
def test_every_step_of_a_walk_keeps_to_its_footprint_and_is_pure(case: str) -> None:
    model = model_of(case)
    states = list(dict.fromkeys((*walk(model, seed=1, states=30), *walk(model, seed=3, states=30))))
    exercised = check_walk(model, states, seed=11)
    assert exercised >= CASES[case][2]


def test_every_action_is_exercised_by_some_case() -> None:
    assert set().union(*(actions for _, _, actions in CASES.values())) == ACTIONS


@pytest.mark.parametrize("case", CASES)
def test_no_scenario_has_an_action_that_is_not_in_the_list(case: str) -> None:
    assert {step.action for step in model_of(case).steps} <= {name.partition(" ")[0] for name in ACTIONS}


# ---- effects that walks seldom meet: what comes back and is sent again, or told later --------------------

RARE: dict[str, tuple[str, tuple[Move, ...], dict[str, Any], set[tuple[str, str]]]] = {  # scenario, more moves, options, what is seen to append where
    "a migrant's old parent sends again": (
        "free-star", (), {"readings": "amended", "assumptions": {"client-links": "instant"}}, {("migrate", "channel"), ("migrate", "ghost")}),
    "a migrant's old parent learns later": (
        "free-star", (), {"readings": "amended", "assumptions": {"client-links": "instant", "bounce": "later"}},
        {("migrate", "returned"), ("return", "channel"), ("return", "ghost")}),
    "one end of a fallen link sends again": (
        "client-migration-publish", (Move("cut", "link-down", link=("b1", "b2")),),
        {"readings": "amended", "assumptions": {"client-links": "instant"}}, {("link-down", "channel")}),
    "a neighbour of a crash sends again": (
        "client-migration-publish", (Move("crash", "crash", broker="b1", state="durable"),),
        {"readings": "amended", "assumptions": {"client-links": "instant"}}, {("crash", "channel")}),
    "a crashed broker learns later of its clients": ("crash-durable", (), {"assumptions": {"bounce": "later"}}, {("crash", "returned")}),
    "a client leaves a broker that sends again": (
        "child-above-parent", (Move("leave", "detach", subscriber="s1"),), {"reading": {"on-return": "reroute"}}, {("detach subscriber", "channel")}),
    "a client leaves a broker that learns later": (
        "client-migration-publish", (), {"readings": "amended", "assumptions": {"bounce": "later"}},
        {("detach subscriber", "returned"), ("return", "channel")}),
    "a loss that is detected is sent again": ("loss-detected", (), {"readings": "amended"}, {("lose", "channel")}),
    "a filter over an instant link": (
        "loss-silent-control", (), {"assumptions": {"client-links": "instant"}}, {("subscribe", "channel"), ("attach subscriber", "channel")}),
}  # fmt: skip


def within_reach(model: Model, most: int) -> list[State]:
    """The states nearest to the start."""
    states = dict.fromkeys(model.initial_states)
    frontier = list(states)
    for state in frontier:  # grows
        for _, after in enabled(model, state):
            if after not in states and len(states) < most:
                states[after] = None
                frontier.append(after)
    return frontier


def sort_of(model: Model, slot: Slot) -> str:
    name = model.layout.slots[slot].name
    return "returned" if name.startswith("returned ") else "channel" if "→" in name else "ghost"


@pytest.mark.parametrize("case", RARE)
def test_every_combination_of_slots_that_a_step_appends_to_is_declared(case: str) -> None:
    scenario, more, options, expected = RARE[case]
    loaded = load_scenario(scenario)
    model = question(replace(loaded, moves=(*loaded.moves, *more)), **options).model()
    states = within_reach(model, 2000)
    pools, rng, seen, sorts = pools_of(states[:100]), random.Random(5), set[tuple[str, tuple[Slot, ...]]](), set[tuple[str, str]]()
    for state in states:
        for step, _ in enabled(model, state):
            effect = look(step, state).outcome
            assert isinstance(effect, Effect)
            slots = tuple(slot for slot, _ in effect.appended)
            if (str(step), slots) not in seen:
                seen.add((str(step), slots))
                sorts |= {(name_of(step), sort_of(model, slot)) for slot in slots}
                assert check_step(model, step, state, pools, rng)
    assert sorts >= expected


# ---- cheats ------------------------------------------------------------------------------------------
# Slots: 0 and 1 hold numbers, 2 and 3 are channels.  The honest step takes from 2, adds the head to 0 and passes it on to 3.

STATES: list[State] = [(a, b, c, d) for a, b, c, d in itertools.product((0, 1), (5, 6), ((1,), (2,), (1, 2)), ((), (9,), (8, 9)))]
HONEST = Footprint(takes=2, reads=(0,), appends=(3,))


def honest(head: Any, values: Any) -> Effect:
    return Effect((values[0] + head,), ((3, (head,)),))


def toy(step: Step, append: Any = None) -> Model:
    channel = SlotSpec("d") if append is None else SlotSpec("d", append)
    return Model("toy", Layout((SlotSpec("a"), SlotSpec("b"), SlotSpec("c"), channel)), (STATES[0],), (step,), (), lambda slot, value: True)


def found_out(step: Step, append: Any = None) -> str | None:
    model = toy(step, append)
    try:
        for seed in range(3):
            for state in STATES:
                check_step(model, step, state, pools_of(STATES), random.Random(seed))
    except Cheat as cheat:
        return str(cheat)
    return None


STEP = Step("deliver", (("from", "x"), ("to", "y")), Kind.PROTOCOL, honest, HONEST)


def test_an_honest_step_passes() -> None:
    assert found_out(STEP) is None
    assert all(check_step(toy(STEP), STEP, state, pools_of(STATES), random.Random(0)) for state in STATES)


def counting() -> Any:
    calls = itertools.count()
    return lambda head, values: Effect((values[0] + next(calls),))


@dataclass(frozen=True, slots=True)
class Peeping(Step):
    """Chooses its footprint by a slot that is no selector."""

    def footprint(self, state: State) -> Footprint:
        return HONEST if state[1] == 5 else Footprint(takes=2, reads=(0,), appends=(3, 1))


@dataclass(frozen=True, slots=True)
class LookingBehind(Step):
    """Chooses its footprint by what stands behind the head of the channel that it takes."""

    def footprint(self, state: State) -> Footprint:
        return HONEST if len(state[2]) == 1 else Footprint(takes=2, reads=(0,), appends=(3, 1))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class LookingWhereItAppends(Step):
    """Chooses its footprint by what is already under way."""

    def footprint(self, state: State) -> Footprint:
        return HONEST if not state[3] else Footprint(takes=2, reads=(0, 1), appends=(3,))


def like(kind: type[Step]) -> Step:
    return kind("deliver", STEP.arguments, Kind.PROTOCOL, honest, HONEST)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (replace(STEP, react=counting()), "equal arguments, different answers"),
        (replace(STEP, react=lambda head, values: Effect((id(values),))), "equal arguments, different answers"),
        (replace(STEP, react=lambda head, values: Effect(([1],))), "unhashable"),  # type: ignore[arg-type]
        (replace(STEP, react=lambda head, values: Effect((values[0],), ((3, ({},)),))), "unhashable"),  # type: ignore[arg-type]
        (replace(STEP, react=lambda head, values: Effect((), ())), "returns 0 values"),
        (replace(STEP, react=lambda head, values: Effect((0,), ((1, (7,)),))), "appends to b, which it does not declare"),
        (replace(STEP, react=lambda head, values: Effect(("text",))), "leaves a str in a"),
        (replace(STEP, react=lambda head, values: Effect((0,), ((3, (7,)), (3, (8,))))), "appends to a slot twice"),
        (replace(STEP, react=lambda head, values: Effect((0,), ((3, ()),))), "appends nothing"),
        (replace(STEP, fixed=Footprint(takes=2, reads=(0, 0)), react=lambda head, values: Effect(values)), "declares a slot twice"),
        (replace(STEP, fixed=Footprint(takes=2, reads=(0, 2)), react=lambda head, values: Effect(values)), "reads the whole of the channel"),
        (replace(STEP, fixed=Footprint(takes=2, reads=(0,), appends=(4,))), "a slot that is not there"),
        (replace(STEP, selector=1, select=lambda value: HONEST, within=replace(HONEST, appends=())), "goes beyond what it promises"),
        (replace(STEP, selector=1, select=lambda value: HONEST, within=replace(HONEST, takes=3)), "goes beyond what it promises"),
        (like(Peeping), "looks at what it does not declare"),
        (like(LookingBehind), "looks behind the head"),
        (like(LookingWhereItAppends), "looks at what it does not declare"),
    ],
)  # fmt: skip
def test_a_cheating_step_is_found_out(step: Step, said: str) -> None:
    cheat = found_out(step)
    assert cheat is not None
    assert said in cheat


@pytest.mark.parametrize("append", [lambda value, words: (*words, *value), lambda value, words: value, lambda value, words: (*value, *words, 0)])
def test_a_channel_that_does_not_append_at_its_end_is_found_out(append: Any) -> None:
    cheat = found_out(STEP, append)
    assert cheat is not None
    assert "d is not what was there and then the words appended" in cheat


CLAIMING = Footprint(reads=(0, 1))


@pytest.mark.parametrize(
    ("react", "says"),
    [
        (lambda head, values: Effect((values[0] + values[1], values[1])), "what it leaves is not what it claims"),
        (lambda head, values: Effect((values[0], values[1] + 1)), "what it leaves is not what it claims"),
        (lambda head, values: Effect((values[0] + 1, values[0] + values[1])), "what it does depends on what it finds"),
        (lambda head, values: Disabled("a is 0") if values[0] else Effect((1, values[1])), "what it does depends on what it finds"),
        (lambda head, values: Effect((values[0] + 1, values[1] + 1)), None),
    ],
)
def test_a_claim_that_is_not_apart_is_found_out(react: Any, says: str | None) -> None:
    cheat = found_out(Step("claim", (), Kind.ENVIRONMENT, react, CLAIMING, guard=(0, lambda value: None), claims=lambda a: a + 1))
    assert cheat is None if says is None else says in str(cheat)


def test_a_step_of_the_model_that_remembers_is_found_out() -> None:
    model = model_of("client and broker move")
    states = walk(model, seed=7, states=30)
    calls = itertools.count()
    number = next(k for k, step in enumerate(model.steps) if step.action == "publish")
    step = model.steps[number]

    def forgetful(head: Any, values: Any) -> Any:
        effect = step.react(head, values)
        return replace(effect, appended=()) if isinstance(effect, Effect) and next(calls) % 2 else effect

    cheating = replace(model, steps=(*model.steps[:number], replace(step, react=forgetful), *model.steps[number + 1 :]))
    with pytest.raises(Cheat, match="publish"):
        check_walk(cheating, states, seed=11)
