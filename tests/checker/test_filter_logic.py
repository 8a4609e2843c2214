"""The algebra of filters is exact: against what spec/ decides, and against a search of a small world of events."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcheck.checker.solver.filter_logic import after_prefix, covers, equivalent, event, number_between, overlaps, relations, satisfiable
from roamcheck.spec.filters import Constraint, Filter, matches, parse_filter
from roamcheck.spec.filters import satisfiable as by_samples


def f(**table):
    return parse_filter(table)


# a world that has a value between any two of the constants, wherever there is one, and the next after each
NUMBERS = st.sampled_from([0, 1, 1.5, 2])
STRINGS = st.text("ab", max_size=2)
ORDERED = st.builds(Constraint, st.sampled_from("xy"), st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), NUMBERS | STRINGS)
OTHERS = (
    st.builds(Constraint, st.sampled_from("xy"), st.sampled_from(["=", "!="]), st.booleans())
    | st.builds(Constraint, st.sampled_from("xy"), st.just("in"), st.lists(NUMBERS | STRINGS | st.booleans(), max_size=3).map(tuple))
    | st.builds(Constraint, st.sampled_from("xy"), st.just("prefix"), STRINGS)
    | st.builds(Constraint, st.sampled_from("xy"), st.just("exists"), st.booleans())
)
FILTERS = st.lists(ORDERED | OTHERS, max_size=4).map(lambda constraints: Filter(tuple(constraints)))
TEXTS = ["".join(letters) for length in range(4) for letters in itertools.product("\0abc", repeat=length)]
VALUES = [True, False, *(quarter / 4 for quarter in range(-4, 13)), *TEXTS]


def on_x(given_filter):
    return Filter(tuple(Constraint("x", c.operator, c.value) for c in given_filter.constraints))


WORLD = [(), *((("x", value),) for value in VALUES)]


@given(FILTERS)
@settings(deadline=None, max_examples=150)
def test_satisfiable_over_dense_orders_is_what_the_specification_decides(one):
    assert satisfiable(one, "dense") is by_samples(one)


@given(FILTERS.map(on_x))
@settings(deadline=None, max_examples=100)
def test_satisfiable_is_exact(one):
    assert satisfiable(one) is any(matches(one, attributes) for attributes in WORLD)


@given(FILTERS.map(on_x), FILTERS.map(on_x))
@settings(deadline=None, max_examples=200)
def test_covers_overlaps_and_equivalent_are_exact(one, other):
    mine = [matches(one, attributes) for attributes in WORLD]
    theirs = [matches(other, attributes) for attributes in WORLD]
    assert covers(one, other) is all(m or not t for m, t in zip(mine, theirs, strict=True))
    assert overlaps(one, other) is any(m and t for m, t in zip(mine, theirs, strict=True))
    assert equivalent(one, other) is (mine == theirs)


@given(FILTERS, FILTERS)
@settings(deadline=None, max_examples=150)
def test_an_event_is_what_was_asked_for(one, other):
    found = event((one,), (other,))
    if found is None:
        assert covers(other, one)
    else:
        assert matches(one, found)
        assert not matches(other, found)
    assert by_samples(Filter((*one.constraints, *other.constraints))) or not overlaps(one, other)  # dense orders have all values, and more


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        (f(), f(x=1)),
        (f(x={"ge": 30}), f(x={"gt": 30})),
        (f(x={"ge": 30}), f(x={"in": [30, 31.5]}, y="z")),
        (f(x={"prefix": "lab"}), f(x={"ge": "lab-1", "lt": "lac"})),
        (f(x={"prefix": ""}), f(x={"gt": ""})),
        (f(x={"exists": True}), f(x={"ne": 1})),
        (f(x={"ne": "1"}), f(x=1)),
    ],
)
def test_one_covers_the_other_and_not_the_other_way_round(wide, narrow):
    assert covers(wide, narrow)
    assert not covers(narrow, wide)
    assert overlaps(wide, narrow)
    assert not equivalent(wide, narrow)


def test_different_words_for_the_same():
    assert equivalent(f(x={"prefix": "a"}), f(x={"ge": "a", "lt": "b"}))
    assert equivalent(f(x={"ge": "a", "le": "a"}), f(x="a"))
    assert equivalent(f(x={"in": []}), f(y={"lt": 1, "gt": 1}))
    assert not equivalent(f(x={"exists": False}), f())


def test_no_value_lies_in_a_gap_that_a_dense_order_fills():
    for gap in ({"gt": "a", "lt": "a\0"}, {"gt": 2**60, "lt": 2**60 + 1}):
        assert by_samples(f(x=gap))
        assert satisfiable(f(x=gap), "dense")
        assert not satisfiable(f(x=gap))
    assert satisfiable(f(x={"gt": 2.0**63}))  # floats go on where integers end
    assert not satisfiable(f(x={"gt": 1.7976931348623157e308}))
    assert number_between(None, None) is not None


def test_true_is_not_one():
    assert not overlaps(f(x=True), f(x=1))
    assert not overlaps(f(x={"ge": 0}), f(x={"in": [True, "1"]}))


def test_what_follows_a_prefix():
    assert after_prefix("ab") == "ac"
    assert after_prefix("a\U0010ffff") == "b"
    assert after_prefix("\ud7ff") == "\ue000"
    assert after_prefix("\U0010ffff") is None
    assert after_prefix("") is None


def test_relations_name_each_pair_once_with_an_event_that_shows_it():
    warm, same = f(v={"ge": 20}), f(v={"ge": 20, "gt": 19})
    found = list(relations({"hot": f(v={"ge": 30}), "warm": warm, "same": same, "cold": f(v={"lt": 0}), "none": f(v={"in": []})}))
    said = {(r.one, r.says, r.other) for r in found}
    assert said == {
        ("none", "unsatisfiable", ""), ("warm", "covers", "hot"), ("same", "covers", "hot"), ("same", "equivalent", "warm"),
        ("cold", "disjoint", "hot"), ("cold", "disjoint", "warm"), ("cold", "disjoint", "same"),
    }  # fmt: skip
    assert all(r.shows is not None for r in found if r.says == "covers")
