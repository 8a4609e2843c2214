"""What is allowed in a scenario and yet probably not meant is named; so is a budget that explodes."""

import math

import pytest

from roamcheck.model.scenario import Free, Move, Scenario, parse_scenario, warnings
from roamcheck.model.scenario_check import interleavings

EXAMPLE = """\
format = "roamcheck-scenario/1"
name = "nothing-odd"
network.leaders = ["b1", "c1"]
network.links = [["b1", "b2"], ["b1", "b3"], ["c1", "c2"]]
filters.f6 = { topic = "t6" }
filters.hot = { topic = "t6", value = { ge = 30 } }
subscribers.s6 = { at = "b2", filters = ["f6", "hot"] }
publishers.p1.at = "b1"
events.e1 = { from = "p1", attributes = { topic = "t6", value = 31 } }
events.e2 = { from = "p1", attributes = { topic = "t6" } }
free = { publish = 1, losses = 1 }
assume.radio = "silent"
moves = [
    { id = "cut", do = "link-down", link = ["b3", "b1"] },
    { id = "roam", do = "migrate", broker = "b3", to = "b2", after = ["cut"] },
    { id = "tell", do = "publish", event = "e1" },
    { id = "leave", do = "detach", subscriber = "s6" },
]
"""
EXPLODES = "about {} interleavings of moves and free choices, before those of the messages: exploring them all may take too long"


@pytest.mark.parametrize(
    ("old", "new", "warning"),
    [
        ("topic", "topic", None),
        ('["f6", "hot"]', '["f6"]', "filter hot is used by no subscriber and no move"),
        ('["f6", "hot"]', "[]", "filters f6, hot: each is used by no subscriber and no move"),
        ("value = 31", "value = 29", "filter hot is matched by none of the events"),
        ("{ ge = 30 }", "{ ge = 30, lt = 30 }", "filter hot can match no event whatever: its constraints contradict each other"),
        ('attributes = { topic = "t6" }', "attributes = {}", "event e2 matches no filter"),
        ("publish = 1, ", "", "event e2 is never published: no move does it, and publish in [free] is 0"),
        ('["b3", "b1"]', '["b3", "c1"]', "move cut: the link b3-c1 can never be there, so this move never happens"),
        ('["b3", "b1"]', '["b3", "b2"]', None),  # comes up when b3 migrates
        ('["b3", "b1"] },', '["b3", "c1"] }, { id = "join", do = "merge", broker = "c1", to = "b3" },', None),
        ("losses = 1", "losses = 1, broker-moves = 1", None),
        ("losses = 1", "losses = 0", 'radio = "silent" in [assume] but losses = 0 in [free]: nothing is lost'),
        (
            '"silent"',
            '"reliable"',
            'losses = 1 in [free] but radio = "reliable" in [assume]: nothing is lost; radio is "detected" or "silent" where it is',
        ),
        ("losses = 1", "losses = 1, repeats = 2", 'repeats = 2 in [free] but acknowledged-links is not "on" in [readings]: nothing is repeated'),
        ("losses = 1", "losses = 20", EXPLODES.format("6,400,000")),
        ("publish = 1, losses = 1", "publish = 9, losses = 900", EXPLODES.format("10^35")),
    ],
)
def test_what_is_odd_is_named(old: str, new: str, warning: str | None) -> None:
    assert old in EXAMPLE
    scenario = parse_scenario(EXAMPLE.replace(old, new, 1), where="x.toml")
    assert warnings(scenario) == ((warning,) if warning else ())


def test_a_link_that_free_moves_may_make_is_not_odd() -> None:
    text = EXAMPLE.replace('["b3", "b1"]', '["b3", "c1"]').replace("losses = 1", "losses = 1, merges = 1")
    assert warnings(parse_scenario(text, where="x.toml")) == ()


def test_interleavings_are_counted() -> None:
    def orders(*after: tuple[int, ...], **free: int) -> float:
        moves = tuple(Move(str(number), "crash", broker="b", state="durable", after=tuple(map(str, waits))) for number, waits in enumerate(after))
        return 10 ** interleavings(Scenario(name="x", brokers=("a", "b", "c"), leaders=("a",), moves=moves, free=Free(**free)))

    assert math.isclose(orders((), (0,), (1,), (2,)), 1)
    assert math.isclose(orders((), (), ()), 6)
    assert math.isclose(orders((), (0,), (0,), (2,)), 3)
    assert math.isclose(orders((), (0,), (), (2,)), 6)
    assert math.isclose(orders((), (0,), crashes=1), 3 * 3)
    assert math.isclose(orders(broker_moves=2), 6 * 6)
