"""Scenarios: what is written is what is read, and whatever is wrong is refused in one line that says where and what would be right."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcheck.model.scenario import (
    FORMAT,
    MESSAGE_KINDS,
    MOVES,
    Assumptions,
    Event,
    Free,
    Move,
    Publisher,
    Scenario,
    ScenarioError,
    Subscriber,
    as_data,
    from_data,
    parse_scenario,
    to_toml,
    warnings,
)
from roamcheck.spec.filters import parse_filter

BUNDLED = Path(__file__).parents[2] / "model" / "scenarios"
UNMATCHED = "filter {} is matched by none of the events"
EACH_UNMATCHED = "filters {}: each is matched by none of the events"
WITHOUT_WARNINGS = (
    "broker-migration", "broker-migration-far", "broker-migration-publish", "broker-migration-publish-late-return",
    "broker-moves-under-shared-filter", "child-above-parent", "client-migration", "client-migration-publish", "client-then-broker",
    "client-there-and-back", "client-to-fresh-partition", "crash-durable", "figure-1a", "figure-1b", "figure-1b-concurrent", "free-star",
    "loss-detected", "loss-silent-control", "merge-at-leaders", "merge-reroot", "overlap-queue", "shared-filter-unsubscribe",
    "two-subscribers-one-filter",
)  # fmt: skip
EXPECTED: dict[str, tuple[str, ...]] = dict.fromkeys(WITHOUT_WARNINGS, ()) | {
    "figure-1b-settled": (UNMATCHED.format("f1"),),
    "peers-b": (UNMATCHED.format("f7"),),
    "peers-c": (UNMATCHED.format("f7"),),
    "peers-d": (UNMATCHED.format("f7"),),
    "peers-e": (EACH_UNMATCHED.format("f1, f2"),),
    "peers-f": (EACH_UNMATCHED.format("f2, f4"),),
}

EXAMPLE = """\
format = "roamcheck-scenario/1"
name = "two-brokers-move"
title = "two brokers move while an event is published"
source = "TR19 Figure 1b"

[network]
leaders = ["b1", "c1"]
links = [["b1","b2"], ["b1","b3"], ["c1","c2"]]

[filters]
f6 = { topic = "t6" }
hot = { topic = "t6", value = { ge = 30 } }

[subscribers.s6]
at = "b2"
filters = ["f6", "hot"]

[subscribers.nomad]

[publishers.p1]
at = "b1"

[events]
e1 = { from = "p1", attributes = { topic = "t6", value = 31 } }

[events.e2]
from = "p1"
attributes = { topic = "t6" }

[start]
subscriptions = "settled"

[[moves]]
id = "cut"
do = "link-down"
link = ["b3", "b1"]

[[moves]]
id = "roam"
do = "migrate"
broker = "b3"
to = "b2"
after = ["cut"]
when = "quiescent"

[[moves]]
id = "tell"
do = "publish"
event = "e1"

[[moves]]
id = "leave"
do = "detach"
subscriber = "s6"

[free]
publish = 1
losses = 1

[assume]
radio = "silent"
lossy = ["REP", "PUB"]

[readings]
queue = "per-entry"
"""
KNOWN: dict[str, Any] = {
    "known_protocols": ("modular", "mft-pubsub"),
    "known_readings": {"queue": ("per-entry", "per-subscriber"), "flush": ("spin",)},
}


def test_the_example_is_read_as_it_is_meant() -> None:
    assert parse_scenario(EXAMPLE, where="x.toml", **KNOWN) == Scenario(
        name="two-brokers-move",
        title="two brokers move while an event is published",
        source="TR19 Figure 1b",
        protocol="mft-pubsub",
        brokers=("b1", "b2", "b3", "c1", "c2"),
        leaders=("b1", "c1"),
        links=(("b1", "b2"), ("b1", "b3"), ("c1", "c2")),
        filters=(("f6", parse_filter({"topic": "t6"})), ("hot", parse_filter({"topic": "t6", "value": {"ge": 30}}))),
        subscribers=(Subscriber("nomad", None, ()), Subscriber("s6", "b2", ("f6", "hot"))),
        publishers=(Publisher("p1", "b1"),),
        events=(Event("e1", "p1", (("topic", "t6"), ("value", 31))), Event("e2", "p1", (("topic", "t6"),))),
        settled=True,
        moves=(
            Move("cut", "link-down", link=("b3", "b1")),
            Move("roam", "migrate", after=("cut",), when="quiescent", broker="b3", to="b2"),
            Move("tell", "publish", event="e1"),
            Move("leave", "detach", subscriber="s6"),
        ),
        free=Free(publish=1, losses=1),
        assume=Assumptions(in_flight=None, radio="silent", lossy=("PUB", "REP")),
        readings=(("queue", "per-entry"),),
    )


def test_the_smallest_scenario_is_one_broker() -> None:
    scenario = parse_scenario(f'format = "{FORMAT}"\nname = "x"\nnetwork.leaders = ["b"]', where="x.toml")
    assert scenario == Scenario(name="x", brokers=("b",), leaders=("b",))
    assert warnings(scenario) == ()


# -- round trips ---------------------------------------------------------------------------------------


def assert_round_trips(scenario: Scenario) -> None:
    text, data = to_toml(scenario), as_data(scenario)
    assert parse_scenario(text, where="x.toml") == scenario
    assert to_toml(parse_scenario(text, where="x.toml")) == text
    assert from_data(json.loads(json.dumps(data)), "x.jsonl") == scenario
    assert from_data(json.loads(json.dumps(data, sort_keys=True)), "x.jsonl") == scenario


@pytest.mark.parametrize("name", sorted(path.stem for path in BUNDLED.glob("*.toml")))
def test_bundled_scenarios_load_and_survive_a_round_trip(name: str) -> None:
    scenario = parse_scenario((BUNDLED / f"{name}.toml").read_text(encoding="utf-8"), where=name)
    assert scenario.name == name
    assert warnings(scenario) == EXPECTED.get(name, ())
    assert_round_trips(scenario)


def test_odd_scenarios_survive_a_round_trip() -> None:
    odd = {
        "format": FORMAT,
        "name": "odd.one",
        "title": 'quoted "ü" \\ = # [x]',
        "network": {"brokers": ["b.1", "2"], "leaders": ["2"], "links": [["b.1", "2"]]},
        "filters": {
            "f.1": {"a.b": '\x00\x1f\x7f\n\r\t"\\\u2028\U0001f4a9', "x": 1e300, "y": -0.5, "z": True},
            "f-2": {"a": {"eq": 1, "in": ["x", 1, False], "ge": 5e-324, "prefix": "'", "exists": True}, "b": {"exists": False, "ne": ""}},
            "all": {},
        },
        "subscribers": {"s.1": {"filters": ["f.1", "f-2"]}, "1979-05-27": {"at": "2"}},
        "publishers": {"p": {}},
        "events": {"e.1": {"from": "p", "attributes": {"a.b": "\x7f"}}, "e2": {"from": "p"}},
        "start": {"subscriptions": "none"},
        "moves": [
            {"id": "m.1", "do": "publish", "event": "e.1"},
            {"id": "m2", "do": "subscribe", "subscriber": "s.1", "filter": "f.1", "after": ["m.1", "m3"]},
            {"id": "m3", "do": "unsubscribe", "subscriber": "s.1", "filter": "f-2", "when": "quiescent"},
            {"id": "m4", "do": "detach", "subscriber": "s.1"},
            {"id": "m5", "do": "attach", "publisher": "p", "to": "b.1"},
            {"id": "m6", "do": "link-down", "link": ["2", "b.1"]},
            {"id": "m7", "do": "migrate", "broker": "b.1", "to": "2"},
            {"id": "m8", "do": "merge", "broker": "b.1", "to": "2"},
            {"id": "m9", "do": "crash", "broker": "2", "state": "volatile"},
        ],
        "free": {"client-moves": 1, "broker-moves": 2, "link-failures": 3, "merges": 4, "crashes": 5, "volatile-crashes": 1000, "losses": 0},
        "assume": {"in-flight": "lost", "bounce": "later", "client-links": "instant", "radio": "detected", "lossy": [*MESSAGE_KINDS]},
        "readings": {"any": "thing at all"},
    }
    scenario = from_data(odd, "x.jsonl")
    assert {move.do for move in scenario.moves} == set(MOVES)
    assert scenario.free == Free(0, 1, 2, 3, 4, 5, 1000, 0)
    assert scenario.assume == Assumptions("lost", "later", "instant", "detected", MESSAGE_KINDS)
    assert_round_trips(scenario)


# -- what is refused -----------------------------------------------------------------------------------

NAMES = "a name is 1 to 64 letters, digits, '_', '.' or '-', the first a letter or a digit"
TOML = "see https://toml.io/en/v1.0.0"
KINDS = "SUB, UNS, PUB, MIG, REP, FILTERS, BMIG, BTAB, FMIG, BQUERY, BSUB, TURN, ACK, GOT, DONE"
BROKERS = "brokers are b1, b2, b3, c1, c2"
LINKS = '[["b1","b2"], ["b1","b3"], ["c1","c2"]]'
REFUSED: list[tuple[str, str, str]] = [  # of the example: this, replaced by that, gives this message, after the name of the file
    # the file
    ('format = "roamcheck-scenario/1"\n', "", 'format: missing; this version reads format = "roamcheck-scenario/1"'),
    ("scenario/1", "scenario/2", '1: format = "roamcheck-scenario/2": no format that is known here;'
     ' this version reads format = "roamcheck-scenario/1"'),
    ("title = ", "title ", f"3: not TOML: Expected '=' after a key in a key/value pair (at line 3, column 7); {TOML}"),
    ("title = ", "title = \0", f"3: not TOML: Invalid value (at line 3, column 9); {TOML}"),
    ('"per-entry"\n', '"""', f"not TOML: Unterminated string (at end of document); {TOML}"),
    ('"per-entry"', "9" * 5000, f"not TOML: a number has too many digits; {TOML}"),
    ('"per-entry"', "[" * 5000, "nested too deeply; no value of a scenario needs more than three levels"),
    ('"per-entry"', "a." * 1001, "65: more than 1000 dots on one line; break the line"),
    ('"per-entry"', "#" * (1 << 20), f"{len(EXAMPLE) - 11 + (1 << 20)} bytes are too many; a scenario has at most 1048576"),
    ("name =", "nome =", "2: nome = \"two-brokers-move\": unknown key; did you mean name? keys are format, name, title, source, protocol, network,"
     " filters, subscribers, publishers, events, start, moves, free, assume, readings, expect"),
    ('name = "two-brokers-move"\n', "", f"name is missing; {NAMES}"),
    # types
    ('"two-brokers-move"', "7", '2: name = 7: not a string; a string is in quotes, such as "b1"'),
    ('"two-brokers-move"', '"two\\u001bbrokers"', f'2: name = "two\\u001bbrokers": not a name; {NAMES}'),
    ('"two-brokers-move"', f'"{"x" * 65}"', f'2: name = "{"x" * 60}...": not a name; {NAMES}'),
    ('"TR19 Figure 1b"', '"""\na\nb"""', '4: source = "a\\nb": not a line; it is one line of at most 500 printable characters'),
    ("[subscribers.nomad]", "extra.x.y = 1", "18: [subscribers.s6] extra = a table: unknown key; keys are at, filters"),
    ("[publishers.p1]\nat = \"b1\"", "[publishers]\np1 = 1979-05-27", "21: publishers.p1 = a date: not a table; keys are at"),
    ("[publishers.p1]", '[publishers."p 1"]', f'20: publishers."p 1" = "p 1": not a name; {NAMES}'),
    ("[free]\npublish = 1\nlosses = 1", "[[free]]", "56: free = [a table]: not a table; keys are publish, client-moves, broker-moves, link-failures,"
     " merges, crashes, volatile-crashes, losses, repeats"),
    ("losses = 1", "losses = -1", "58: [free] losses = -1: not a budget; a budget is an integer from 0 to 1000"),
    ("losses = 1", "losses = 1001", "58: [free] losses = 1001: not a budget; a budget is an integer from 0 to 1000"),
    ("losses = 1", "losses = true", "58: [free] losses = true: not a budget; a budget is an integer from 0 to 1000"),
    ("losses = 1", "client_moves = 1", "58: [free] client_moves = 1: unknown key; did you mean client-moves? keys are publish, client-moves,"
     " broker-moves, link-failures, merges, crashes, volatile-crashes, losses, repeats"),
    ('"settled"', '"setled"', '31: [start] subscriptions = "setled": no such choice; did you mean settled? choices are settled, none'),
    ('radio = "silent"', "radio = 1", "61: [assume] radio = 1: no such choice; choices are reliable, detected, silent"),
    ('["REP", "PUB"]', '["rep"]', f'62: [assume] lossy = ["rep"]: rep is no kind of message; did you mean REP? kinds are {KINDS}'),
    ('["REP", "PUB"]', "[]", "62: [assume] lossy = []: names no kind of message; leave it out for every kind"),
    ('["REP", "PUB"]', '["REP", "REP"]', '62: [assume] lossy = ["REP", "REP"]: REP is there twice; name each once'),
    ('queue = "per-entry"', "queue = 1", '65: [readings] queue = 1: not a string; a string is in quotes, such as "b1"'),
    # the registries
    ('[network]', 'protocol = "modula"\n[network]', '6: protocol = "modula": no such protocol; did you mean modular?'
     " protocols are modular, mft-pubsub"),
    ('queue = "per', 'quee = "per', '65: [readings] quee = "per-entry": no such reading; did you mean queue? readings are queue, flush'),
    ("per-entry", "per", '65: [readings] queue = "per": no such value of this reading; values are per-entry, per-subscriber'),
    ('queue = "per-entry"', 'flush = "return"', '65: [readings] flush = "return": no such value of this reading; the only choice is spin'),
    # the network
    (LINKS, '"b1"', '8: [network] links = "b1": not a list'),
    (LINKS, '[["b1"]]', '8: [network] links = ["b1"]: not a link; a link is a list of two brokers, such as ["b1", "b2"]'),
    (LINKS, '[["b1","b1"]]', '8: [network] links = ["b1", "b1"]: a link from a broker to itself; a link joins two different brokers'),
    ('["b1","b3"]', '["b2","b1"]', '8: [network] links = ["b2", "b1"]: this link is there twice; keep one of the two: a link goes both ways'),
    ('["b1","b3"]', '["b1","b3"], ["b3","b2"]', '8: [network] links = ["b3", "b2"]: the links make a cycle b3, b1, b2, b3; the overlay is a forest:'
     " remove one of these links"),
    ('[network]', '[network]\nbrokers = ["b1", "b2"]', '9: [network] links = ["b1", "b3"]: b3 is no broker; brokers are b1, b2'),
    ('[network]', '[network]\nbrokers = ["b1", "b1"]', '7: [network] brokers = ["b1", "b1"]: b1 is there twice; name each once'),
    ('leaders = ["b1", "c1"]\nlinks = ' + LINKS, "", '6: [network]: there is no broker; name them in brokers, leaders or links,'
     ' such as leaders = ["b1"]'),
    ('leaders = ["b1", "c1"]', 'leaders = ["b1"]', '7: [network] leaders = ["b1"]: nobody leads the component of c1, c2; add one of c1, c2'),
    ('leaders = ["b1", "c1"]', 'leaders = ["b1", "c1", "b2"]', '7: [network] leaders = ["b1", "c1", "b2"]: b1 and b2 lead the same component'
     " (b1, b2, b3); keep one: a component has exactly one leader"),
    ('[network]', '[network]\nbrokers = ["b1", "b2", "b3", "c2"]\nlinks = []\n[network.x]', "9: [network] x = a table:"
     " unknown key; keys are brokers, leaders, links"),
    # filters, clients, events
    ("{ ge = 30 }", "{ ge = true }", "12: [filters] hot.value.ge = true: of the wrong type for ge; an order is between numbers or between strings"),
    ("{ ge = 30 }", "{ gee = 30 }", "12: [filters] hot.value.gee = 30: no such operator; operators are eq, ne, lt, le, gt, ge, in, prefix, exists"),
    ('{ topic = "t6" }\nhot', "1\nhot", "11: [filters] f6 = 1: not a table; a filter is a table of attributes, such as"
     ' { topic = "t6", value = { ge = 30 } }'),
    ('at = "b2"', 'at = "b9"', f'15: [subscribers.s6] at = "b9": no such broker; {BROKERS}'),
    ('at = "b2"', 'att = "b2"', '15: [subscribers.s6] att = "b2": unknown key; did you mean at? keys are at, filters'),
    ('["f6", "hot"]', '["f6", "hut"]', '16: [subscribers.s6] filters = "hut": no such filter; did you mean hot? filters are f6, hot'),
    ("[subscribers.nomad]", "[subscribers.b1]", "18: [subscribers.b1]: the name is taken by a broker; brokers, subscribers and publishers need"
     " different names"),
    ("[publishers.p1]", "[publishers.s6]", "20: [publishers.s6]: the name is taken by a subscriber; brokers, subscribers and publishers need"
     " different names"),
    ('from = "p1"\n', 'from = "p2"\n', '27: [events.e2] from = "p2": no such publisher; the only choice is p1'),
    ('from = "p1"\n', "", f"26: [events.e2]: from is missing; {NAMES}"),
    ("value = 31 }", "value = { ge = 31 } }", "24: [events.e1] attributes.value = a table: not a value; a value is a string, a 64-bit integer,"
     " a finite float, true or false"),
    # moves
    ('do = "detach"\n', "", "51: [moves.leave]: do is missing; choices are publish, subscribe, unsubscribe, detach, attach, link-down, migrate,"
     " merge, crash"),
    ('"migrate"', '"migrait"', '40: [moves.roam] do = "migrait": no such choice; did you mean migrate? choices are publish, subscribe, unsubscribe,'
     " detach, attach, link-down, migrate, merge, crash"),
    ('id = "roam"\n', "", f"38: [moves, number 2]: id is missing; {NAMES}"),
    ('id = "roam"', 'id = "cut"', '39: [moves.cut] id = "cut": move number 1 has this id too; give each its own'),
    ('to = "b2"\n', "", "38: [moves.roam]: to is missing; migrate takes broker and to"),
    ('to = "b2"\n', 'to = "b3"\n', '42: [moves.roam] to = "b3": b3 cannot migrate to itself; name another broker'),
    ('to = "b2"\n', 'to = "b2"\nevent = "e1"\n', '43: [moves.roam] event = "e1": unknown key; keys are id, do, after, when, broker, to'),
    ('to = "b2"\n', 'to = "b22"\n', f'42: [moves.roam] to = "b22": no such broker; did you mean b2? {BROKERS}'),
    ('event = "e1"', 'event = "e3"', '49: [moves.tell] event = "e3": no such event; events are e1, e2'),
    ('subscriber = "s6"', "", "51: [moves.leave]: detach takes a subscriber or a publisher, and neither is there; give one of the two"),
    ('subscriber = "s6"', 'subscriber = "s6"\npublisher = "p1"', "51: [moves.leave]: detach takes a subscriber or a publisher, not both;"
     " give one of the two"),
    ('subscriber = "s6"', 'publisher = "s6"', '54: [moves.leave] publisher = "s6": no such publisher; the only choice is p1'),
    ('"detach"', '"crash"', '54: [moves.leave] subscriber = "s6": unknown key; keys are id, do, after, when, broker, state'),
    ('link = ["b3", "b1"]', 'link = ["b3", "b3"]', '36: [moves.cut] link = ["b3", "b3"]: a link from a broker to itself; a link joins two different'
     " brokers"),
    ('link = ["b3", "b1"]', 'link = ["b3", "s6"]', f'36: [moves.cut] link = "s6": no such broker; {BROKERS}'),
    ('["cut"]', '["cut", "cat"]', '43: [moves.roam] after = "cat": no such move; did you mean cut? moves are cut, roam, tell, leave'),
    ('["cut"]', '["roam"]', '43: [moves.roam] after = ["roam"]: roam waits for itself: roam, roam; break the circle'),
    ('link = ["b3", "b1"]', 'link = ["b3", "b1"]\nafter = ["roam"]', '37: [moves.cut] after = ["roam"]: cut waits for itself: cut, roam, cut;'
     " break the circle"),
    ('"quiescent"', '"quiet"', '44: [moves.roam] when = "quiet": no such choice; did you mean quiescent? choices are any, quiescent'),
    ('do = "detach"\nsubscriber = "s6"', 'do = "publish"\nevent = "e1"', '54: [moves.leave] event = "e1": move tell publishes it already; an event is'
     " published at most once: declare another with the same attributes"),
    ('do = "detach"\nsubscriber = "s6"', 'do = "crash"\nbroker = "b1"\nstate = "lost"', '55: [moves.leave] state = "lost": no such choice;'
     " choices are durable, volatile"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), REFUSED)
def test_what_is_wrong_is_refused_in_one_line(old: str, new: str, message: str) -> None:
    assert old in EXAMPLE
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(EXAMPLE.replace(old, new, 1), where="x.toml", **KNOWN)
    assert str(caught.value).removeprefix("x.toml:").lstrip() == message


def test_a_crash_of_names_and_a_lone_client_are_allowed() -> None:
    """Filters, events and moves have names of their own, apart from those of brokers and clients."""
    text = EXAMPLE.replace("e1", "b1").replace('"tell"', '"b1"').replace("hot", "s6")
    assert len(parse_scenario(text, where="x.toml").events) == 2


def test_a_byte_order_mark_and_windows_line_ends_are_allowed() -> None:
    assert parse_scenario("\ufeff" + EXAMPLE.replace("\n", "\r\n"), where="x.toml") == parse_scenario(EXAMPLE, where="x.toml")
    with pytest.raises(ScenarioError, match=r"^x\.toml:15: \[subscribers\.s6\] at"):
        parse_scenario(EXAMPLE.replace('at = "b2"', 'at = "b9"').replace("\n", "\r\n"), where="x.toml")


def test_the_line_is_found_past_strings_and_lists_of_several_lines() -> None:
    text = EXAMPLE.replace(LINKS, '[\n  ["b1", "b2"], # ]\n  ["b1", "b3"],\n  ["c1", "c2"]\n]').replace('at = "b2"', 'at = "b9"')
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, where="x.toml")
    assert caught.value.line == 19
    text = EXAMPLE.replace("[network]", '[readings]\nx = """\n[subscribers.s6]\nat = 1\n"""\n[network]').replace("[readings]\nq", "[filters.x]\nq")
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text.replace('at = "b2"', 'at = "b9"'), where="x.toml")
    assert caught.value.line == 20


def test_no_line_is_better_than_an_exception() -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(f'"format" = "{FORMAT}"\nname = "x"\nmoves = [{{ id = "a" }}, {{}}]\nnetwork.leaders = ["b"]', where="x.toml")
    assert (caught.value.line, caught.value.problem) == (3, "[moves.a]: do is missing")
    with pytest.raises(ScenarioError) as caught:
        from_data({"format": FORMAT, "name": "x", "network": {"leaders": ["b"]}, "moves": [3]}, "x.jsonl")
    assert str(caught.value) == "x.jsonl: moves, number 1 = 3: not a table"


def test_an_error_names_its_file_without_its_control_characters_and_can_be_sent_to_another_process() -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario("", where="a\n\x1b[31m.toml")
    assert str(caught.value) == 'a\\n\\x1b[31m.toml: format: missing; this version reads format = "roamcheck-scenario/1"'
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


# -- whatever the text ---------------------------------------------------------------------------------


def assert_one_line(error: ScenarioError, text: str) -> None:
    assert str(error).isprintable()
    assert len(str(error)) < 2000
    assert error.line is None or 1 <= error.line <= text.count("\n") + 1


def read(text: str) -> Scenario | None:
    """A scenario that survives round trips, or None for one that was refused in one line.  Nothing else may come of any text."""
    try:
        scenario = parse_scenario(text, where="x.toml", **KNOWN)
    except ScenarioError as error:
        assert_one_line(error, text)
        return None
    assert all(warning.isprintable() for warning in warnings(scenario))
    assert_round_trips(scenario)
    return scenario


ODD_VALUES = [
    *(
        "1",
        "-0.0",
        "nan",
        "1e400",
        "0x" + "f" * 99,
        "true",
        "1979-05-27T07:32:00Z",
        "07:32:00",
        '""',
        '"b1"',
        '"\\u0000"',
        "'''x\n'''",
        f'"{"x" * 99}"',
    ),
    *("[]", "[[]]", "[" * 999, '["b1"]', '["b1", 1]', '["cut"]', "{}", "{ a = 1 }", '{ in = ["a", 1] }', '"s6"', "'cut'"),
]
EXAMPLE_LINES = EXAMPLE.splitlines()
LINE = st.integers(0, len(EXAMPLE_LINES) - 1)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """The example with some lines deleted, doubled, moved or altered."""
    lines = list(EXAMPLE_LINES)
    for how in draw(st.lists(st.sampled_from(["delete", "double", "move", "value", "key", "character"]), min_size=1, max_size=3)):
        at = draw(LINE) % len(lines)
        key, equals, _ = lines[at].partition("=")
        if how == "delete" and len(lines) > 1:
            del lines[at]
        elif how == "double":
            lines.insert(draw(LINE), lines[at])
        elif how == "move":
            lines.insert(draw(LINE), lines.pop(at))
        elif how == "value" and equals:
            lines[at] = f"{key}= {draw(st.sampled_from(ODD_VALUES))}"
        elif how == "key":
            lines[at] = draw(st.sampled_from([*EXAMPLE_LINES, "x.y = 1", "[network.links]", "[[free]]", "[moves.x]", "[filters.'a b']", "id = 1"]))
        else:
            place = draw(st.integers(0, len(lines[at])))
            lines[at] = lines[at][:place] + draw(st.text(max_size=2)) + lines[at][place + draw(st.integers(0, 2)) :]
    return "\n".join(lines)


@given(mutated())
@settings(deadline=None, max_examples=300)
def test_a_damaged_scenario_is_read_or_refused(text: str) -> None:
    read(text)


def test_damage_is_seen_to_be_read_and_to_be_refused() -> None:
    assert read(EXAMPLE.replace("losses = 1\n", ""))
    assert not read(EXAMPLE.replace("losses = 1\n", "losses\n"))


@given(st.text() | st.binary().map(lambda some: some.decode("latin-1")) | st.binary().map(lambda some: f"{EXAMPLE}x = '{some.decode('latin-1')}'"))
@settings(deadline=None)
def test_any_text_is_refused(text: str) -> None:
    assert read(text) is None or "x =" in text


ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.sampled_from(["b1", "p1", "e1", "cut", FORMAT, *MOVES])
KEYS = st.text(max_size=3) | st.sampled_from(["at", "b1", "do", "id", "link", "from", "after", "f6", "e1", "value", "in", "losses", "x"])
ANYTHING = st.recursive(ATOMS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6)


@st.composite
def mutated_data(draw: st.DrawFn) -> object:
    """The example's tables, with anything at all in the place of one value or two."""
    data: Any = as_data(parse_scenario(EXAMPLE, where="x.toml"))
    for _ in range(draw(st.integers(1, 2))):
        table = data
        while True:
            key = draw(st.sampled_from(sorted(table)) if isinstance(table, dict) else st.integers(0, len(table) - 1))
            if not isinstance(table[key], dict | list) or not table[key] or draw(st.integers(0, 3)) == 0:
                break
            table = table[key]
        table[key if draw(st.integers(0, 4)) else draw(KEYS) if isinstance(table, dict) else key] = draw(ANYTHING)
    return data


@given(ANYTHING | mutated_data() | st.dictionaries(ATOMS, ATOMS))
@settings(deadline=None, max_examples=300)
def test_any_json_is_read_or_refused(data: object) -> None:
    try:
        assert_round_trips(from_data(data, "x.jsonl", **KNOWN))
    except ScenarioError as error:
        assert_one_line(error, "")
