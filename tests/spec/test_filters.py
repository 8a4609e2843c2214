"""Filters match what their constraints say, are equal when they say the same, and are known to be satisfiable exactly when they are."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcheck.spec.filters import (
    OPERATORS,
    Attributes,
    Constraint,
    Filter,
    FilterError,
    describe,
    filter_table,
    matches,
    parse_attributes,
    parse_filter,
    satisfiable,
    show,
)

EVENT: Attributes = parse_attributes({"topic": "t6", "value": 31, "ratio": 0.5, "urgent": True})


@pytest.mark.parametrize(
    ("table", "met", "missed"),
    [
        ("eq", ({"topic": "t6"}, {"value": 31}, {"value": 31.0}, {"urgent": True}), ({"topic": "t7"}, {"urgent": 1}, {"value": "31"}, {"gone": 1})),
        ("ne", ({"value": {"ne": 30}}, {"value": {"ne": "31"}}, {"urgent": {"ne": 1}}), ({"value": {"ne": 31.0}}, {"gone": {"ne": 1}})),
        ("lt", ({"value": {"lt": 31.5}}, {"topic": {"lt": "t7"}}), ({"value": {"lt": 31}}, {"value": {"lt": "x"}}, {"gone": {"lt": 1}})),
        ("le", ({"value": {"le": 31}}, {"topic": {"le": "t6"}}), ({"value": {"le": 30}}, {"urgent": {"le": 1}}, {"gone": {"le": 1}})),
        ("gt", ({"value": {"gt": 30}}, {"ratio": {"gt": 0}}), ({"value": {"gt": 31}}, {"topic": {"gt": 0}}, {"urgent": {"gt": 0}})),
        ("ge", ({"value": {"ge": 31}}, {"topic": {"ge": ""}}), ({"value": {"ge": 32}}, {"gone": {"ge": 0}})),
        ("in", ({"value": {"in": ["x", 31]}}, {"urgent": {"in": [True]}}), ({"value": {"in": []}}, {"urgent": {"in": [1]}}, {"gone": {"in": [1]}})),
        ("prefix", ({"topic": {"prefix": "t"}}, {"topic": {"prefix": ""}}), ({"topic": {"prefix": "t66"}}, {"value": {"prefix": ""}})),
        ("exists", ({"value": {"exists": True}}, {"gone": {"exists": False}}), ({"value": {"exists": False}}, {"gone": {"exists": True}})),
        ("conjunction", ({}, {"topic": "t6", "value": {"ge": 30, "lt": 40}}), ({"topic": "t6", "value": {"ge": 30, "lt": 31}},)),
    ],
)
def test_each_operator_is_seen_to_match_and_to_fail(table: str, met: tuple[object, ...], missed: tuple[object, ...]) -> None:
    assert [matches(parse_filter(f), EVENT) for f in met] == [True] * len(met), table
    assert [matches(parse_filter(f), EVENT) for f in missed] == [False] * len(missed), table


def test_equal_filters_are_equal_however_they_are_written() -> None:
    one, other = parse_filter({"a": {"ge": 1, "in": [2.0, "x", 2]}, "b": 1}), parse_filter({"b": 1.0, "a": {"in": ["x", 2], "ge": 1}})
    assert one == other
    assert hash(one) == hash(other)
    assert Filter((*one.constraints, *one.constraints)) == one


def test_true_is_not_one() -> None:
    assert parse_filter({"a": True}) != parse_filter({"a": 1})
    assert parse_filter({"a": {"in": [True]}}) != parse_filter({"a": {"in": [1]}})
    assert len(Constraint("a", "in", (True, 1, 1.0)).value) == 2  # type: ignore[arg-type]


def test_filters_are_readable() -> None:
    assert describe(parse_filter({"value": {"ge": 30}, "topic": "t6"})) == "topic = t6 and value >= 30"
    assert describe(parse_filter({"a": {"in": ["x", 1, "true", True]}, "b": {"exists": False}})) == 'a in [true, 1, "true", x] and b is not there'
    assert describe(parse_filter({"a": "two words\x1b"})) == 'a = "two words\\u001b"'
    assert describe(Filter()) == "anything"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (3, '3: not a table; a filter is a table of attributes, such as { topic = "t6", value = { ge = 30 } }'),
        ({"a b": 1}, "\"a b\" = 1: not an attribute name; a name is 1 to 64 letters, digits, '_', '.' or '-', the first a letter or a digit"),
        ({"a": None}, "a = null: not a value; a value is a string, a 64-bit integer, a finite float, true or false"),
        ({"a": 2**63}, f"a = {2**63}: not a value; a value is a string, a 64-bit integer, a finite float, true or false"),
        ({"a": float("nan")}, "a = nan: not a value; a value is a string, a 64-bit integer, a finite float, true or false"),
        ({"a": "\ud800"}, 'a = "\\ud800": not a value; a value is a string, a 64-bit integer, a finite float, true or false'),
        ({"a": {}}, "a = {}: says nothing; operators are eq, ne, lt, le, gt, ge, in, prefix, exists"),
        ({"a": {"like": 1}}, "a.like = 1: no such operator; operators are eq, ne, lt, le, gt, ge, in, prefix, exists"),
        ({"a": {"in": 1}}, "a.in = 1: not a list; in takes a list of values"),
        ({"a": {"in": [[]]}}, "a.in = []: not a value; a value is a string, a 64-bit integer, a finite float, true or false"),
        ({"a": {"prefix": 1}}, "a.prefix = 1: of the wrong type for prefix; prefix takes a string"),
        ({"a": {"exists": 1}}, "a.exists = 1: of the wrong type for exists; exists takes true or false"),
        ({"a": {"lt": True}}, "a.lt = true: of the wrong type for lt; an order is between numbers or between strings"),
    ],
)
def test_what_is_wrong_is_said(table: object, message: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter(table)
    assert str(caught.value) == message


def test_attributes_are_sorted_and_checked() -> None:
    assert parse_attributes({"b": 2.0, "a": "x"}) == (("a", "x"), ("b", 2))
    with pytest.raises(FilterError, match=r"^a = \[1\]: not a value"):
        parse_attributes({"a": [1]})


def test_foreign_values_are_shown_on_one_short_line() -> None:
    assert show('a"\n\x1b\x7f\u2028' + "x" * 100) == '"a\\"\\n\\u001b\\x7f\\u2028' + "x" * 54 + '..."'
    assert show([1, ["x"], {}, True, 10**100, 1.5, 7]) == "[1, [...], a table, true, a huge integer, 1.5, ...]"


@pytest.mark.parametrize(
    ("constraints", "expected"),
    [
        ({"gt": 1, "lt": 2}, True),
        ({"gt": 1, "lt": 1}, False),
        ({"ge": 1, "le": 1}, True),
        ({"ge": 1, "le": 1, "ne": 1}, False),
        ({"gt": 1, "lt": 2, "ne": 1.5}, True),
        ({"eq": 1, "in": [1, 2]}, True),
        ({"eq": 1, "in": [2]}, False),
        ({"eq": True, "in": [1]}, False),
        ({"in": []}, False),
        ({"in": ["a", "b"], "gt": "a"}, True),
        ({"in": ["a", "b"], "gt": "b"}, False),
        ({"gt": 1, "lt": "a"}, False),
        ({"gt": 1, "prefix": "a"}, False),
        ({"ne": "a"}, True),
        ({"prefix": "ab", "lt": "ab"}, False),
        ({"prefix": "ab", "le": "ab"}, True),
        ({"prefix": "ab", "le": "ab", "ne": "ab"}, False),
        ({"prefix": "ab", "gt": "ab"}, True),
        ({"prefix": "ab", "ge": "ac"}, False),
        ({"lt": ""}, False),
        ({"le": ""}, True),
        ({"gt": "a", "lt": "a\0"}, True),  # no string lies between: the price of a dense order
        ({"gt": 2**60, "lt": 2**60 + 1}, True),  # nor a float
        ({"exists": False}, True),
        ({"exists": False, "ne": 1}, False),
        ({"exists": True, "eq": 1}, True),
    ],
)
def test_satisfiable(constraints: dict[str, object], expected: bool) -> None:
    f = parse_filter({"a": constraints})
    assert satisfiable(f) is expected
    assert satisfiable(parse_filter({"a": constraints, "b": 1})) is expected
    assert not satisfiable(Filter((*f.constraints, *parse_filter({"b": {"in": []}}).constraints)))


def test_attributes_do_not_get_in_each_others_way() -> None:
    assert satisfiable(parse_filter({"a": {"lt": 1}, "b": {"gt": 1}}))
    assert not satisfiable(Filter(parse_filter({"a": {"exists": False}}).constraints + parse_filter({"a": {"exists": True}}).constraints))


# -- against a search of a small world, which has a value between any two of the constants and below each ------------------------------

NUMBERS = st.integers(0, 3)
STRINGS = st.text("bc", max_size=2)
ORDERED = st.builds(Constraint, st.just("a"), st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), NUMBERS | STRINGS)
CONSTRAINTS = (
    ORDERED
    | st.builds(Constraint, st.just("a"), st.sampled_from(["=", "!="]), st.booleans())
    | st.builds(Constraint, st.just("a"), st.just("in"), st.lists(NUMBERS | STRINGS | st.booleans(), max_size=4).map(tuple))
    | st.builds(Constraint, st.just("a"), st.just("prefix"), STRINGS)
    | st.builds(Constraint, st.just("a"), st.just("exists"), st.booleans())
)
FILTERS = st.lists(ORDERED | CONSTRAINTS, max_size=4).map(lambda constraints: Filter(tuple(constraints)))
WORLD: list[Attributes] = [
    (),
    *((("a", value),) for value in (True, False)),
    *((("a", half / 2),) for half in range(-2, 9)),
    *((("a", "".join(letters)),) for length in range(4) for letters in product("abcd", repeat=length)),
]


@given(FILTERS)
@settings(deadline=None)
def test_satisfiable_is_exact(f: Filter) -> None:
    assert satisfiable(f) is any(matches(f, attributes) for attributes in WORLD)


def operator_table(f: Filter) -> dict[str, object]:
    """The last constraint of each operator, as a table would have it."""
    keys = {sign: key for key, sign in OPERATORS.items()}
    return {keys[c.operator]: list(c.value) if isinstance(c.value, tuple) else c.value for c in f.constraints}


@given(st.dictionaries(st.sampled_from("abc"), FILTERS.map(operator_table), max_size=3))
@settings(deadline=None)
def test_a_filter_survives_its_table(tables: dict[str, dict[str, object]]) -> None:
    f = parse_filter({name: table for name, table in tables.items() if table})
    assert parse_filter(filter_table(f)) == f


def test_a_table_has_room_for_each_operator_once() -> None:
    with pytest.raises(ValueError, match="a has two constraints !=: a table has room for one"):
        filter_table(Filter((Constraint("a", "!=", 1), Constraint("a", "!=", 2))))
