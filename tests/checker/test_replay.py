"""A trace replays to the letter, or is refused in one line that names the step: whatever part of it was edited is found out."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcheck.checker.check import answer
from roamcheck.checker.files import bundled, load_scenario
from roamcheck.checker.question import question
from roamcheck.checker.replay import ReplayMismatch, breaches_in, enabled, replay, why_disabled
from roamcheck.checker.trace import Steps, Trace, TraceError, dumps, loads, record
from roamcheck.model.interface import Effect, Kind, Model, fire
from roamcheck.model.scenario import as_data, from_data
from roamcheck.spec.breach import Breach

FOR_EVER = "eventual-quiescence"  # of child-above-parent: 9 steps, of which the last two repeat
CASES: dict[str, dict[str, Any]] = {
    "child-above-parent": {},
    "client-there-and-back": {},
    "broker-migration-publish-late-return": {},
    "loss-detected": {},
    "overlap-queue": {"assumptions": {"client-links": "instant"}},
}


@cache
def traces(name: str) -> dict[str, Trace]:
    """The counterexamples of a scenario, by property."""
    return dict(answer(question(load_scenario(name), **CASES[name])).traces)


def lasso() -> Trace:
    return traces("child-above-parent")[FOR_EVER]


def refusal(trace: Trace) -> str:
    """The one line that says why the trace does not replay."""
    with pytest.raises(ReplayMismatch) as refused:
        replay(trace)
    assert str(refused.value).isprintable()
    return str(refused.value)


def edited(trace: Trace, edit: Callable[[list[dict[str, Any]]], object]) -> Trace:
    """The trace after an edit of its lines as data; it is still one by its form."""
    lines = [json.loads(line) for line in dumps(trace).splitlines()]
    edit(lines)
    return loads("".join(json.dumps(line) + "\n" for line in lines), "t.jsonl")


def renumbered(lines: list[dict[str, Any]]) -> None:
    """What someone does who wants steps dropped, added or moved not to be seen."""
    lines[0]["length"] = len(lines) - 1
    for number, line in enumerate(lines[1:], 1):
        line["step"] = number


# ---- what replays ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_every_counterexample_replays_with_its_breach(name: str) -> None:
    assert traces(name)
    for trace in traces(name).values():
        found = replay(loads(dumps(trace), "t.jsonl"))
        assert [(str(r.step), r.message) for r in found.steps] == [(str(step), step.message) for step in trace.steps]
        assert all(r.before == found.state(r.number - 1) and r.after == found.state(r.number) for r in found.steps)
        assert found.initial == found.state(0)


def test_a_run_for_ever_comes_back_to_where_its_turn_began() -> None:
    found = replay(lasso())
    assert (found.header.loop, found.header.length) == (7, 9)
    assert found.state(9) == found.state(7)


def test_what_a_step_changed_is_all_that_it_changed() -> None:
    found = replay(lasso())
    assert [str(change) for change in found.steps[2].changes] == [
        "b4: R (f1, s1 → b3, s1)",
        "b4: T(s1) (1, 1) → (1, 3)",
        "b3→b4: − BMIG(C=[(s1, 1, 2)], O=[], h=0)",
    ]
    for r in found.steps:
        differ = {spec.name for spec, a, b in zip(found.model.layout.slots, r.before, r.after, strict=True) if a != b}
        assert {change.slot for change in r.changes} == differ - {"(environment)"}


def test_the_printed_lines_of_a_step_are_those_that_ran() -> None:
    found = replay(lasso())
    assert [str(lines) for lines in found.steps[6].lines] == ["TR19 Alg. 2 l.43–45, 47–48"]
    assert found.steps[3].lines == ()  # a publisher is printed nowhere


# ---- what does not: steps --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(1, 10))
def test_a_dropped_step_is_found_out(number: int) -> None:
    def drop(lines: list[dict[str, Any]]) -> None:
        del lines[number]
        renumbered(lines)

    if number == 9:  # the turn is no turn any more
        assert "does not lead back" in refusal(edited(lasso(), drop))
    else:
        said = refusal(edited(lasso(), drop))
        assert said.startswith("step ")
        assert "enabled there: " in said


@pytest.mark.parametrize("number", range(1, 10))
def test_a_step_told_twice_is_found_out(number: int) -> None:
    def twice(lines: list[dict[str, Any]]) -> None:
        lines.insert(number, dict(lines[number]))
        renumbered(lines)

    assert refusal(edited(lasso(), twice)).startswith(f"step {number + 1}: ")


@pytest.mark.parametrize("number", range(1, 9))
def test_two_steps_in_the_other_order_are_found_out(number: int) -> None:
    def swap(lines: list[dict[str, Any]]) -> None:
        lines[number], lines[number + 1] = lines[number + 1], lines[number]
        renumbered(lines)

    assert refusal(edited(lasso(), swap)).startswith(f"step {number}: ")


@pytest.mark.parametrize("number", range(1, 10))
def test_an_edited_digest_is_found_out_at_its_step(number: int) -> None:
    said = refusal(edited(lasso(), lambda lines: lines[number].update(digest="0" * 32)))
    assert said.startswith(f"step {number}: the state after ")
    assert "differs from the recorded one" in said


@pytest.mark.parametrize(
    ("number", "message", "said"),
    [
        (3, {"kind": "BMIG", "children": [{"subscriber": "s1", "t": 1, "h": 1}], "others": [], "h": 0}, "takes another message"),
        (3, {"kind": "FMIG"}, "takes another message"),
        (3, None, "takes another message"),
        (1, {"kind": "FMIG"}, "takes another message"),
        (7, {"kind": "REP", "event": "e1", "subscriber": "s9"}, "takes another message"),
    ],
)
def test_an_edited_message_is_found_out_at_its_step(number: int, message: object, said: str) -> None:
    assert refusal(edited(lasso(), lambda lines: lines[number].update(message=message))).startswith(f"step {number}: ")
    assert said in refusal(edited(lasso(), lambda lines: lines[number].update(message=message)))


def test_a_refusal_names_the_step_the_prefix_the_guard_and_what_is_enabled() -> None:
    said = refusal(edited(lasso(), lambda lines: lines[3].update({"from": "b1"})))
    assert said.startswith("step 3: deliver(b1, b4) cannot fire, since this does not hold: b1→b4 is not empty; the first 2 steps replay; enabled ")
    assert "deliver(b3, b4)" in said
    said = refusal(edited(lasso(), lambda lines: lines[1].update(to="b2")))
    assert said.startswith("step 1: the scenario has no step migrate(b4, b2, t0-0); no step replays; enabled there: ")


# ---- what does not: the header ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"digest": "0" * 32}, "the initial state differs"),
        ({"initial": 1}, "the initial state differs"),
        ({"breach": Breach("a run goes on for ever")}, "another breach than the recorded one comes of them: a run goes on for ever; turn ="),
        ({"breach": Breach("each event arrives at most once", (("subscriber", "s1"),))}, "another breach"),
        ({"loop": None}, "the last state is not quiescent"),
        ({"loop": 6}, "the turn from step 7 on does not lead back"),
        ({"loop": 0}, "the turn from step 1 on does not lead back"),
        ({"loop": None, "property": "no-duplicate"}, "no-duplicate holds at their end"),
        ({"loop": None, "property": "delivered"}, "the last state is not quiescent"),
    ],
)
def test_an_edited_header_is_found_out(changes: dict[str, Any], said: str) -> None:
    assert said in refusal(replace(lasso(), header=replace(lasso().header, **changes)))


def test_a_breach_of_another_property_is_found_out() -> None:
    found = traces("child-above-parent")
    for name, trace in found.items():
        for other in found:
            if trace.header.loop is None and {name, other} != {"delivered", "eventual-delivery"}:
                changed = replace(trace, header=replace(trace.header, property=other))
                assert name == other or refusal(changed)


def test_another_protocol_or_reading_is_found_out() -> None:
    """Under a reading that does not matter to it, a run is a run too; hop-test decides what b4 makes of BMIG."""
    trace = traces("child-above-parent")["no-routing-loop"]
    assert "initial state differs" in refusal(replace(trace, header=replace(trace.header, protocol="modular")))
    readings = trace.header.readings.with_values({"hop-test": "home"})
    assert refusal(replace(trace, header=replace(trace.header, readings=readings))).startswith("step 4: the state after deliver(b3, b4) differs")


def test_a_budget_that_is_left_over_is_found_out() -> None:
    """The property of runs is asked with the budget spent: the same run before e1 is published breaches nothing of the kind."""
    trace = traces("child-above-parent")["no-routing-loop"]
    assert "budget is not spent in the last state" in refusal(replace(trace, header=replace(trace.header, property="eventual-delivery")))


def test_a_turn_needs_a_spent_budget_and_steps_that_are_owed(monkeypatch: pytest.MonkeyPatch) -> None:
    header, model = lasso().header, lasso().header.question().model()
    unspent = replace(model, spent=lambda _: False)
    assert "the environment's budget is not spent in the turn" in refused_with(monkeypatch, unspent)
    steps = tuple(replace(step, kind=Kind.ENVIRONMENT) if str(step) == "deliver(b3, b4)" else step for step in model.steps)
    assert "need not take" in refused_with(monkeypatch, replace(model, steps=steps))
    idle = model.layout.index("b2→b1")
    assert header.loop == 7
    assert "the turn is not fair: b2→b1 always holds something" in refused_with(
        monkeypatch, replace(model, idle=lambda slot, value: slot != idle and model.idle(slot, value))
    )


def refused_with(monkeypatch: pytest.MonkeyPatch, model: Model) -> str:
    """Why the lasso does not replay in this model."""
    monkeypatch.setattr("roamcheck.checker.question.Question.model", lambda _: model)
    return refusal(lasso())


def test_a_model_that_raises_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Effect:
        raise ZeroDivisionError("by\nzero")

    model = lasso().header.question().model()
    steps = tuple(replace(step, react=broken) if str(step) == "deliver(b3, b4)" else step for step in model.steps)
    said = refused_with(monkeypatch, replace(model, steps=steps))
    assert said.startswith("step 3: deliver(b3, b4) raises ZeroDivisionError: by zero; the first 2 steps replay; enabled there: ")
    assert "deliver(b3, b4)" not in said.partition("enabled there")[2]


def test_what_is_enabled_is_what_fires() -> None:
    model = lasso().header.question().model()
    state = model.initial_states[0]
    for step in model.steps:
        assert (step in enabled(model, state)) == isinstance(fire(model, step, state), tuple) == (why_disabled(model, step, state) is None)


# ---- any edit --------------------------------------------------------------------------------------------------------

STEP_VALUES = st.one_of(
    st.none(), st.integers(0, 9), st.sampled_from(["b1", "b3", "b4", "s1", "e1", "t0-0", "deliver", "migrate", "lose", "∞", "0" * 32]), st.just([])
)


@settings(max_examples=200)
@given(st.data())
def test_no_edit_of_a_step_goes_unseen(data: st.DataObject) -> None:
    """Unlike in the header, whose scenario has parts that do not matter to a run, everything that a step says is held to the model."""
    lines = [json.loads(line) for line in dumps(lasso()).splitlines()]
    before = json.dumps(lines)
    table = lines[data.draw(st.integers(1, len(lines) - 1))]
    while True:
        key = data.draw(st.sampled_from(sorted(table) if isinstance(table, dict) else range(len(table))))
        if not (isinstance(table[key], dict | list) and table[key] and data.draw(st.booleans())):
            break
        table = table[key]
    table[key] = data.draw(STEP_VALUES)
    if json.dumps(lines) != before:
        with pytest.raises((TraceError, ReplayMismatch)):
            replay(loads("".join(json.dumps(line) + "\n" for line in lines), "t.jsonl"))


def test_any_breach_of_the_property_in_the_last_state_may_be_recorded() -> None:
    """An engine that asks the predicates in another order records another one, as true as the first."""
    asked = question(load_scenario("figure-1a"), properties=("hop-count-exact",))
    trace = answer(asked).traces["hop-count-exact"]
    found = replay(trace)
    breaches = breaches_in(found.model.properties[0], found.state(trace.header.length))
    assert len(breaches) > 1
    for breach in breaches:
        replay(replace(trace, header=replace(trace.header, breach=breach)))
    assert "another breach" in refusal(replace(trace, header=replace(trace.header, breach=Breach(breaches[0].conjunct, breaches[1].values[:1]))))


def test_a_turn_that_starves_a_channel_is_no_turn() -> None:
    """REP(e1) goes round between b3 and b4 while a second event waits to be taken by b1, which happens in every fair run."""
    data: Any = as_data(lasso().header.scenario)
    data["events"]["e2"] = data["events"]["e1"]
    data["moves"].append({"id": "t2-0", "do": "publish", "event": "e2", "after": ["t1-0"]})
    asked = question(from_data(data, "t"), properties=(FOR_EVER,))
    model = asked.model()
    index = {str(step): number for number, step in enumerate(model.steps)}
    names = [str(step) for step in lasso().steps]
    names.insert(7, "publish(p1, e2, t2-0)")
    run, breach = Steps(tuple(index[name] for name in names)), lasso().header.breach
    assert "the turn is not fair: p1→b1" in refusal(record(asked, model, run, property=FOR_EVER, breach=breach, loop=8, engine="by hand"))


def test_the_name_of_a_step_is_its_own() -> None:
    """The replayer finds a step by its name, so no model may have two of one name."""
    for name in bundled():
        model = question(load_scenario(name), protocol="mft-pubsub", assumptions={"bounce": "later", "radio": "detected"}).model()
        assert len({(step.action, step.arguments) for step in model.steps}) == len(model.steps), name
