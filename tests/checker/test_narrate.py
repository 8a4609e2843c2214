"""What a person is told of a run, and what other tools are given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roamcheck.checker import narrate
from roamcheck.checker.check import answer
from roamcheck.checker.files import bundled
from roamcheck.checker.interactive import Session
from roamcheck.checker.question import KNOWN_READINGS, question
from roamcheck.checker.replay import described, replay
from roamcheck.checker.trace import loads
from roamcheck.model.scenario import parse_scenario
from roamcheck.spec.protocols import PROTOCOLS

TRACES = Path(__file__).parent.parent.parent / "traces"


def replayed(name):
    return replay(loads((TRACES / f"{name}.jsonl").read_text(encoding="utf-8"), name))


def test_figure_3_is_told_with_its_payloads_and_printed_lines():
    told = narrate.text(replayed("figure-3"))
    assert "b3 sends BMIG(C=[(s3, 1, 1), (s6, 1, 2), (s7, 1, 2)], O=[(s1, 1, 2), (s2, 1, 3), (s4, 1, 4), (s5, 1, 4)], h=0) to b2" in told
    assert "b2 sends BMIG(C=[(s3, 1, 1), (s6, 1, 2), (s7, 1, 2)], O=[], h=1) to b1" in told
    assert "[TR19 Alg. 5 l.1–12" in told
    assert "b1: R (f3, b3 → b2, s3)" in told


def test_the_journal_version_is_told_by_its_own_line_numbers():
    told = narrate.text(replayed("mft-pubsub-2023.one-next-hop"))
    assert "WN23 Alg." in told
    assert "TR19" not in told


def test_a_run_for_ever_says_where_its_turn_begins():
    found = replayed("mft-pubsub.eventual-quiescence")
    told = narrate.text(found)
    assert f"from here on, steps {found.header.loop + 1}–{found.header.length} repeat for ever" in told
    assert "eventual-quiescence is violated" in told


def test_a_step_alone_shows_the_touched_states_in_full_before_and_after():
    told = narrate.one_step(replayed("figure-3"), 3)
    assert "b2 before" in told
    assert "b2 after" in told
    assert "b7 before" not in told
    assert "the start" in narrate.one_step(replayed("figure-3"), 0)


def test_mermaid_has_an_arrow_for_each_message_and_nothing_that_ends_a_statement_early():
    found = replayed("mft-pubsub.eventual-quiescence")
    lines = narrate.mermaid(found).splitlines()
    assert lines[0] == "sequenceDiagram"
    assert sum("->>" in line for line in lines) == sum(step.step.action == "deliver" for step in found.steps)
    assert not any(";" in line for line in lines)
    assert lines.count("    loop for ever") == lines.count("    end") == 1


def test_itf_has_a_state_more_than_steps_and_every_variable_in_each():
    found = replayed("mft-pubsub.eventual-quiescence")
    data = json.loads(narrate.itf(found))
    assert len(data["states"]) == found.header.length + 1
    assert data["loop"] == found.header.loop
    assert all(set(state) == {"#meta", *data["vars"]} for state in data["states"])
    stamp = data["states"][0]["b1"]["timestamps"]["#map"][0]
    assert stamp[0] == "s1"
    assert set(stamp[1]["#tup"][0]) == {"#bigint"}


@pytest.mark.parametrize(
    ("name", "number", "kind", "ends"),
    [("figure-3", 1, "link-down", ("b3", "b1")), ("figure-3", 2, "migrate", ("b3", "b2")), ("figure-3", 3, "deliver", ("b3", "b2"))],
)
def test_the_json_of_a_step_says_who_and_what(name, number, kind, ends):
    record = described(replayed(name).steps[number - 1])
    assert (record["step"], record["kind"], record["from"], record["to"]) == (number, kind, *ends)
    assert set(record) == {"step", "kind", "from", "to", "message", "changes"}
    assert (record["message"] is None) == (kind != "deliver")


def test_a_session_walks_back_and_forth_and_explains():
    session = Session(replayed("mft-pubsub.no-routing-loop"))
    assert "   1  " in session.ask("n")
    assert session.ask("p") == "the start"
    assert session.ask("p") == "this is the start"
    assert f"{len(session.found.steps):>4}  " in session.ask(f"g {len(session.found.steps)}")
    assert "no-routing-loop is violated" in session.ask("n")
    assert "there are" in session.ask("g 99")
    assert session.ask("s b1").startswith("b1\n        N = ")
    assert "names are" in session.ask("s nobody")
    assert "this does not hold" in session.ask("w " + str(session.found.steps[0].step))
    assert "no command" in session.ask("jump")
    assert "previous" in session.ask("h")
    session.ask("q")
    assert session.done


def test_mermaid_gives_odd_names_an_alias():
    renamed = replay(loads((TRACES / "figure-3.jsonl").read_text(encoding="utf-8"), "t"))
    trace = recorded_with({"b1": "end", "b2": "b-2"}, "child-above-parent")
    lines = narrate.mermaid(replay(trace)).splitlines()
    assert "    participant b2" in narrate.mermaid(renamed).splitlines()
    assert {"    participant _0 as end", "    participant _1 as b-2", "    participant b3"} <= set(lines)
    assert any(line.startswith("    b4->>_0: ") for line in lines)
    assert lines[5].startswith("    participant s1")


def recorded_with(names, scenario):
    """The shortest routing loop of a scenario whose brokers bear other names."""
    text = bundled()[scenario]
    for old, new in names.items():
        text = text.replace(f'"{old}"', f'"{new}"')
    asked = question(parse_scenario(text, where="t", known_protocols=PROTOCOLS, known_readings=KNOWN_READINGS))
    return answer(asked).traces["no-routing-loop"]


def test_itf_tells_sets_maps_and_sequences_apart():
    start = json.loads(narrate.itf(replayed("figure-3")))["states"][0]
    assert start["b3"]["neighbours"] == {"#set": ["b1", "b6", "b7"]}
    assert {"#tup": ["b1", "b2"]} in start["(overlay)"]["links"]["#set"]
    assert ["b2", "b1"] in start["(overlay)"]["parents"]["#map"]
    assert start["b3→b1"] == start["s3"]["received"] == []
