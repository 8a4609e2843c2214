"""The trace file: what is recorded is what is read, the same in every process, and whatever is no trace is refused in one line."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcheck.checker.engines.reference import explore
from roamcheck.checker.files import bundled, load_scenario
from roamcheck.checker.question import question
from roamcheck.checker.trace import ARGUMENTS, FORMAT, MAX_BYTES, OWN_ACCORD, Steps, Trace, TraceError, dumps, loads, record
from roamcheck.checker.verdict import Violated
from roamcheck.model.interface import Kind
from roamcheck.spec.breach import Breach
from roamcheck.spec.protocols import PROTOCOLS

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "child": ("child-above-parent", {}),
    "journal": ("child-above-parent", {"protocol": "mft-pubsub-2023"}),
    "modular": ("child-above-parent", {"protocol": "modular"}),
    "client": ("client-there-and-back", {}),
    "amended": ("client-there-and-back", {"readings": "amended", "assumptions": {"client-links": "instant"}}),
    "late": ("broker-migration-publish-late-return", {}),
    "loss": ("loss-detected", {}),
}


@cache
def traces(case: str) -> dict[str, Trace]:
    """The counterexamples of a case, by property."""
    name, options = CASES[case]
    asked = question(load_scenario(name), **options)
    model = asked.model()
    found = explore(model)
    return {
        name: record(asked, model, verdict.counterexample, property=name, engine="reference")
        for name, verdict in found.verdicts.items()
        if isinstance(verdict, Violated)
    }


def valid() -> str:
    """A text that is a trace: a run that goes on for ever."""
    return dumps(traces("child")["eventual-quiescence"])


def edited(line: int, edit: Callable[[dict[str, Any]], object]) -> str:
    """The valid text with one of its lines (from 1) edited."""
    lines = valid().splitlines()
    data = json.loads(lines[line - 1])
    edit(data)
    lines[line - 1] = json.dumps(data, ensure_ascii=False)
    return "\n".join(lines) + "\n"


# ---- what is recorded is what is read ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_every_counterexample_is_read_as_it_was_recorded(case: str) -> None:
    for trace in traces(case).values():
        text = dumps(trace)
        assert loads(text, "t.jsonl") == trace
        assert dumps(loads(text, "t.jsonl")) == text


def test_what_a_trace_says() -> None:
    header, *steps = map(json.loads, valid().splitlines())
    assert list(header) == [
        "format", "scenario", "protocol", "readings", "assumptions", "property", "breach", "loop", "length", "engine", "seed", "version", "initial",
        "digest",
    ]  # fmt: skip
    assert (header["format"], header["protocol"], header["property"], header["engine"]) == (FORMAT, "mft-pubsub", "eventual-quiescence", "reference")
    assert header["breach"] == {"conjunct": "a run goes on for ever", "values": {"turn": "deliver(b4, b3), deliver(b3, b4)"}}
    assert (header["loop"], header["length"], header["seed"], header["initial"]) == (7, 9, None, 0)
    assert header["readings"]["queue"] == "per-entry"
    assert header["assumptions"] == {"in-flight": "returned", "bounce": "atomic", "client-links": "queued", "radio": "reliable", "lossy": []}
    assert [step["step"] for step in steps] == list(range(1, 10))
    assert {key: value for key, value in steps[0].items() if key != "digest"} == {
        "step": 1, "kind": "migrate", "broker": "b4", "to": "b1", "move": "t0-0", "message": None,
    }  # fmt: skip
    taken = next(step for step in steps if step["kind"] == "deliver" and step["from"] == "b3")
    assert taken["message"] == {"kind": "BMIG", "children": [{"subscriber": "s1", "t": 1, "h": 2}], "others": [], "h": 0}


def test_a_run_may_be_recorded_for_its_own_sake() -> None:
    asked = question(load_scenario("figure-1a"))
    model = asked.model()
    first = next(index for index, step in enumerate(model.steps) if step.action == "link-down")
    trace = record(asked, model, Steps((first,)), engine="by hand", seed=7)
    assert (trace.header.property, trace.header.breach, trace.header.loop, trace.header.length, trace.header.seed) == (None, None, None, 1, 7)
    assert loads(dumps(trace), "t") == trace
    assert loads(dumps(record(asked, model, Steps(()), engine="by hand")), "t").steps == ()


def test_only_runs_of_the_model_are_recorded() -> None:
    asked = question(load_scenario("figure-1a"))
    model = asked.model()
    with pytest.raises(ValueError, match=r"step 1, deliver.* cannot fire: .* is not empty"):
        record(asked, model, Steps((0,)), engine="by hand")


def test_every_kind_of_step_has_a_place_in_the_format() -> None:
    """A step with arguments that ARGUMENTS does not list could be recorded and never read."""
    seen = set()
    for name in bundled():
        scenario = load_scenario(name)
        layer: dict[str, str] = {"acknowledged-links": "on"}
        instant = {"client-links": "instant", "bounce": "later", "radio": "silent", "notice": "apart"}
        for protocol, reading, assumptions in (("mft-pubsub", {}, {}), ("mft-pubsub", {}, instant), ("mft-pubsub-r", layer, {})):
            asked = question(scenario, protocol=protocol, reading=reading, assumptions=assumptions, repeats=1 if reading else None)
            for step in asked.model().steps:
                names = tuple(name for name, _ in step.arguments if name != "move" or step.action in OWN_ACCORD)
                assert names in ARGUMENTS[step.action], step
                assert (step.kind is not Kind.ENVIRONMENT) == (step.action in OWN_ACCORD)
                seen.add(step.action)
    assert seen == set(ARGUMENTS)


# ---- the same in every process -----------------------------------------------------------------------------------------------

SCRIPT = """
import sys
from roamcheck.checker.check import answer
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.checker.trace import dumps
for name in sys.argv[1:]:
    for protocol in ("mft-pubsub", "modular"):
        for trace in answer(question(load_scenario(name), protocol=protocol), engine="reference").traces.values():
            sys.stdout.buffer.write(dumps(trace).encode())
"""


def test_traces_are_byte_identical_whatever_the_hash_seed() -> None:
    names = ("child-above-parent", "client-there-and-back", "overlap-queue")
    outputs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT, *names], check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("0", "12345")
    ]  # fmt: skip
    assert outputs[0] == outputs[1]
    assert valid().encode() in outputs[0]


# ---- what is no trace --------------------------------------------------------------------------------------------------------


def refusal(text: str, where: str = "t.jsonl") -> str:
    """The one line that refuses the text."""
    with pytest.raises(TraceError) as refused:
        loads(text, where)
    said = str(refused.value)
    assert said.isprintable()
    assert "; " in said
    return said


@pytest.mark.parametrize(
    ("line", "edit", "said"),
    [
        (1, lambda d: d.update(format="roamcheck-trace/2"), 'format = "roamcheck-trace/2": no format that is known here; this version reads'),
        (1, lambda d: d.pop("format"), "format: missing; this version reads"),
        (1, lambda d: d.update(colour="red"), 'colour = "red": unknown key; keys are'),
        (1, lambda d: d.pop("engine"), "engine is missing"),
        (1, lambda d: d["scenario"]["network"].update(leaders=["b9"]), "scenario: [network] leaders = [\"b9\"]: b9 is no broker"),
        (1, lambda d: d["scenario"].update(readings={"queue": "sometimes"}), "scenario: "),
        (1, lambda d: d.update(scenario=3), "scenario: 3: not a table"),
        (1, lambda d: d.update(protocol="gossip"), 'protocol = "gossip": no such choice'),
        (1, lambda d: d.update(protocol="phoenix"), 'protocol = "phoenix": phoenix does not know migrate'),
        (1, lambda d: d.update(protocol=["modular"]), 'protocol = ["modular"]: no such choice'),
        (1, lambda d: d["readings"].update(queue="sometimes"), 'readings.queue = "sometimes": no such choice'),
        (1, lambda d: d["readings"].update(mood="good"), 'readings.mood = "good": unknown key'),
        (1, lambda d: d["readings"].pop("queue"), "readings: queue is missing"),
        (1, lambda d: d["assumptions"].update(bounce=1), "assumptions.bounce = 1: no such choice"),
        (1, lambda d: d["assumptions"].update(lossy=["PUB"]), 'assumptions.lossy = ["PUB"]: not what the scenario says'),
        (1, lambda d: d.update(property="happiness"), 'property = "happiness": no such choice'),
        (1, lambda d: d.update(property=None), "breach: there is one, but no property"),
        (1, lambda d: d.update(breach=None), "breach: there is none of eventual-quiescence"),
        (1, lambda d: d.update(property="delivered"), "loop = 7: a run for ever breaches no delivered"),
        (1, lambda d: d["breach"].update(values=[]), "breach.values = []: not a table"),
        (1, lambda d: d["breach"]["values"].update({"a\n": "b"}), "breach.values: a name has odd characters"),
        (1, lambda d: d["breach"].update(conjunct="a\nb"), r"not a text of one line"),
        (1, lambda d: d.update(loop=9), "loop = 9: not one of the 9 steps"),
        (1, lambda d: d.update(loop=-1), "loop = -1: not a count"),
        (1, lambda d: d.update(loop=True), "loop = true: not a count"),
        (1, lambda d: d.update(length=1.5), "length = 1.5: not a count"),
        (1, lambda d: d.update(seed="a"), 'seed = "a": not a count'),
        (1, lambda d: d.update(digest="A" * 32), "not a digest"),
        (2, lambda d: d.update(step=2), "step = 2: out of order; this line is step 1"),
        (2, lambda d: d.update(kind="teleport"), 'kind = "teleport": no such choice'),
        (2, lambda d: d.pop("kind"), "kind is missing"),
        (2, lambda d: d.pop("broker"), "broker is missing"),
        (2, lambda d: d.update(state="durable"), 'state = "durable": unknown key'),
        (2, lambda d: d.update(to=["b1"]), 'to = ["b1"]: not a string'),
        (2, lambda d: d.update(to="b 1"), 'to = "b 1": not a name'),
        (2, lambda d: d.pop("message"), "message is missing"),
        (2, lambda d: d.pop("digest"), "digest is missing"),
        (2, lambda d: d.update(message={"kind": "PUB"}), "message: event is missing"),
        (2, lambda d: d.update(message="PUB(e1)"), 'message = "PUB(e1)": not a table'),
        (6, lambda d: d.update(move="t0-0"), 'move = "t0-0": unknown key'),
    ],
)
def test_what_is_wrong_is_said_with_its_line(line: int, edit: Callable[[dict[str, Any]], object], said: str) -> None:
    assert refusal(edited(line, edit)).startswith(f"t.jsonl:{line}: ")
    assert said in refusal(edited(line, edit))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (lambda: "", "1: the line is empty"),
        (lambda: "\n", "1: the line is empty"),
        (lambda: "[]", "1: []: not an object"),
        (lambda: "roamcheck", "1: not JSON: Expecting value at column 1"),
        (lambda: "[" * 100_000, "1: not JSON: nested too deeply"),
        (lambda: '{"format": 1' + "0" * 5000 + "}", "1: not JSON: a number has too many digits"),
        (lambda: valid().replace('"loop": 7', '"loop": NaN'), "1: NaN is no number"),
        (lambda: valid().replace('"loop": 7', '"loop": 7, "loop": 7'), '1: the key "loop" is there twice'),
        (lambda: valid()[: valid().index("\n") + 1], "2: the trace is truncated: it ends after 0 of 9 steps"),
        (lambda: "".join(valid().splitlines(keepends=True)[:5]), "6: the trace is truncated: it ends after 4 of 9 steps"),
        (lambda: valid()[:-20], "10: not JSON: "),
        (lambda: valid() + valid().splitlines()[-1], "11: the trace goes on after its 9 steps"),
        (lambda: valid() + "\n", "11: the trace goes on after its 9 steps"),
        (lambda: valid().replace("\n", "\n\n", 3), "2: the line is empty"),
        (lambda: " " * (MAX_BYTES + 1), f"1: {MAX_BYTES + 1} bytes are too many"),
        (lambda: "é" * (MAX_BYTES // 2 + 1), f"1: {MAX_BYTES + 2} bytes are too many"),
        (lambda: valid().replace('"title": "', '"title": "\\ud800'), "1: scenario: "),
    ],
)
def test_a_text_that_is_no_trace(text: Callable[[], str], said: str) -> None:
    assert f"t.jsonl:{said}" in refusal(text())


def test_a_name_of_a_file_cannot_break_the_line() -> None:
    assert refusal("", "a\nb\x1b[1m.jsonl").startswith("a\\nb\\x1b[1m.jsonl:1: ")


def test_a_few_bytes_cannot_ask_for_a_network_that_takes_for_ever() -> None:
    def large(data: dict[str, Any]) -> None:
        data["scenario"]["network"]["brokers"] = ["b1", "b2", "b3", "b4", *(f"x{k}" for k in range(3000))]
        data["scenario"]["network"]["leaders"] += [f"x{k}" for k in range(3000)]

    assert "3004 brokers and 2 clients; too many to replay" in refusal(edited(1, large))


def test_line_ends_of_other_systems_are_read() -> None:
    assert loads(valid().replace("\n", "\r\n"), "t") == loads("\ufeff" + valid().removesuffix("\n"), "t") == traces("child")["eventual-quiescence"]


# ---- anything at all ---------------------------------------------------------------------------------------------------------


def read_or_refuse(text: str) -> Trace | None:
    """Whatever the text: a trace that is written as it was read, or one line."""
    try:
        trace = loads(text, "t.jsonl")
    except TraceError as refused:
        said = str(refused)
        assert said.startswith("t.jsonl:"), said
        assert said.isprintable(), said
        return None
    assert loads(dumps(trace), "t.jsonl") == trace
    return trace


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    assert read_or_refuse(text) is None
    assert read_or_refuse(f'{{"format": "{FORMAT}", "scenario": {text}}}') is None


WORDS = st.sampled_from(["b1", "s1", "PUB", "deliver", "delivered"])
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 12), st.floats(), st.text(max_size=4), WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(["kind", "at", "x", "b1"]), inner, max_size=2)),
    max_leaves=4,
)


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every part of JSON data."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(place for key, part in items for place in places(part, (*path, key)))]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A valid trace with a part replaced, removed or added, or with a character changed."""
    lines = valid().splitlines(keepends=True)
    number = draw(st.integers(0, len(lines) - 1))
    how = draw(st.sampled_from(["replace", "remove", "add", "characters", "line"]))
    if how == "characters":
        at = draw(st.integers(0, len(lines[number])))
        lines[number] = lines[number][:at] + draw(st.text(max_size=3)) + lines[number][at + draw(st.integers(0, 3)) :]
    elif how == "line":
        lines[number : number + draw(st.integers(0, 1))] = draw(st.lists(st.sampled_from(lines), max_size=2))
    else:
        data = json.loads(lines[number])
        *path, last = draw(st.sampled_from(places(data)[1:]))
        table = data
        for key in path:
            table = table[key]
        if how == "remove":
            del table[last]
        elif how == "add" and isinstance(table, dict):
            table[draw(st.text(max_size=3))] = draw(JSON)
        else:
            table[last] = draw(JSON)
        lines[number] = json.dumps(data) + "\n"
    return "".join(lines)


@settings(max_examples=300)
@given(mutated())
def test_a_mutated_trace_is_read_or_refused(text: str) -> None:
    read_or_refuse(text)


def test_a_property_needs_its_breach() -> None:
    asked = question(load_scenario("figure-1a"))
    for lone in ({"property": "delivered"}, {"breach": Breach("x")}):
        with pytest.raises(AssertionError, match="is recorded with its breach"):
            record(asked, asked.model(), Steps(()), engine="by hand", **lone)  # type: ignore[arg-type]


def test_protocols_of_all_documents_are_recorded() -> None:
    scenario = load_scenario("client-migration")
    for name in PROTOCOLS:
        asked = question(scenario, protocol=name)
        if asked.why_not_applicable() is None:
            trace = record(asked, asked.model(), Steps(()), engine="by hand")
            assert loads(dumps(trace), "t").header.protocol == name
