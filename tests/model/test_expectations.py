"""What a scenario file expects is read as it is meant, written back, and refused where it makes no sense."""

import json

import pytest

from roamcheck.model.expectations import Expectation, Expected
from roamcheck.model.scenario import Scenario, ScenarioError, as_data, from_data, parse_scenario, to_toml

HEAD = """\
format = "roamcheck-scenario/1"
name = "alone"
network.leaders = ["b"]
"""
PROTOCOLS = ("modular", "mft-pubsub")


def parsed(text: str) -> Scenario:
    return parse_scenario(HEAD + text, where="x.toml", known_protocols=PROTOCOLS)


def test_one_table_speaks_of_the_files_own_protocol() -> None:
    scenario = parsed('[expect]\nno-duplicate = "violated"\ndelivered = { violated-within = 12 }\nwell-formed = "holds"\n')
    expected = (Expected("delivered", True, 12), Expected("no-duplicate", True), Expected("well-formed", False))
    assert scenario.expect == (Expectation(None, None, expected),)


def test_several_tables_speak_of_a_protocol_and_readings_each() -> None:
    scenario = parsed('[[expect]]\ndelivered = "violated"\n[[expect]]\nprotocol = "modular"\nreadings = "amended"\n')
    assert scenario.expect == (Expectation(properties=(Expected("delivered", True),)), Expectation("modular", "amended"))


@pytest.mark.parametrize("text", ["", "[expect]", '[expect]\nreadings = "printed"\ndelivered = { violated-within = 0 }', "[[expect]]"])
def test_it_survives_a_round_trip(text: str) -> None:
    scenario = parsed(text)
    assert parse_scenario(to_toml(scenario), where="x.toml") == scenario
    assert from_data(json.loads(json.dumps(as_data(scenario), sort_keys=True)), "x.jsonl") == scenario


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[expect]\ndelivered = "hold"', '5: expect.delivered = "hold": no such expectation; write "holds", "violated" or { violated-within = 12 }'),
        ("[expect]\ndelivered = true", '5: expect.delivered = true: no such expectation; write "holds", "violated" or { violated-within = 12 }'),
        (
            "[[expect]]\ndelivered.violated-within = -1",
            '5: [expect, number 1] delivered.violated-within = -1: not a number of steps; write "holds", "violated" or { violated-within = 12 }',
        ),
        ("[expect]\ndelivered.within = 3", "5: [expect.delivered] within = 3: unknown key; the only choice is violated-within"),
        ('[expect]\nreadings = "amend"', '5: expect.readings = "amend": no such choice; did you mean amended? choices are printed, amended'),
        ('[expect]\nprotocol = "modula"', '5: expect.protocol = "modula": no such protocol; did you mean modular? protocols are modular, mft-pubsub'),
        (
            '[[expect]]\n[[expect]]\nprotocol = "mft-pubsub"',
            "5: [expect, number 2]: asks the same as number 1: one protocol, one set of readings; join the two",
        ),
        ("expect = 3", "4: expect = 3: not a table; keys are protocol, readings, "),
        ("[expect]\ndelievered = 3", "5: expect.delievered = 3: unknown key; did you mean delivered? keys are protocol, readings, "),
    ],
)
def test_what_is_wrong_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parsed(text)
    assert str(caught.value).startswith(f"x.toml:{message}")
