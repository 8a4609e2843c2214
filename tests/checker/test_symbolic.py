"""Runs on unknown integers: every path once, no two alike, and each as a run on plain integers goes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcheck.checker.solver.symbolic import Infeasible, Integer, Lazy, Oracle, Undecided, concrete, paths
from roamcheck.spec.messages import Bmig, Stamped, Timestamp, fresher

NAMES = ("x", "y", "z")
OPERATORS = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}  # fmt: skip
TERMS = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES), st.integers(-2, 2))
TESTS = st.tuples(st.sampled_from(sorted(OPERATORS)), TERMS, TERMS | st.integers(-3, 3))


def term(values, given_term):
    if isinstance(given_term, int):
        return given_term
    one, other, constant = given_term
    return values[one] + constant if constant % 2 else values[one] - values[other] + constant


def program(values, tests):
    """A tree of comparisons: what it answers says which way it went."""
    answers = []
    for operator, left, right in tests:
        answer = OPERATORS[operator](term(values, left), term(values, right))
        answers.append(answer)
        if answer and len(answers) % 2:
            values = {**values, "x": values["x"] + 1}
    return tuple(answers)


@given(st.lists(TESTS, min_size=1, max_size=5), st.lists(st.integers(-4, 4), min_size=3, max_size=3))
@settings(deadline=None, max_examples=60)
def test_each_run_on_plain_integers_is_one_path(tests, numbers):
    oracle = Oracle()
    unknown = {name: oracle.unknown(name) for name in NAMES}
    found = []
    for answers in paths(lambda _: program(unknown, tests), oracle):
        solution = {**dict.fromkeys(NAMES, 0), **oracle.solution()}
        assert program(solution, tests) == answers  # integers that are said to take the path take it
        found.append(answers)
    assert len(set(found)) == len(found)
    assert program(dict(zip(NAMES, numbers, strict=True)), tests) in found


def test_what_integers_cannot_do_is_no_path():
    oracle = Oracle()
    x, y = oracle.unknown("x"), oracle.unknown("y")
    assert list(paths(lambda _: (x < y, y < x + 1), oracle)) == [(True, False), (False, True), ]  # nothing lies between x and x + 1


def test_an_assumption_cuts_paths_off():
    oracle = Oracle()
    x = oracle.unknown("x")

    def run(oracle):
        oracle.at_most(1, x)
        return x > 0, x == 1

    assert list(paths(run, oracle)) == [(True, True), (True, False)]

    def nowhere(oracle):
        oracle.at_most(x, 0)
        oracle.at_most(1, x)
        return True

    assert list(paths(nowhere, Oracle())) == []
    with pytest.raises(Infeasible):
        Oracle().assume(False)


def test_real_functions_run_on_unknown_integers():
    oracle = Oracle()
    one, other = (Timestamp(oracle.unknown(f"{n}.t"), oracle.unknown(f"{n}.h")) for n in "ab")
    found = {}
    for answer in paths(lambda _: fresher(one, other), oracle):
        a, b = concrete((one, other), oracle.solution())
        assert fresher(a, b) is answer
        found.setdefault(answer, 0)
        found[answer] += 1
    assert found == {True: 2, False: 2}


def test_what_nobody_looks_at_is_not_chosen():
    oracle = Oracle()

    def run(look):
        def body(oracle):
            numbers = Lazy(oracle, [(1,), (1, 2), ()])
            return len(numbers) if look else id(numbers) > 0

        return body

    assert list(paths(run(True), oracle)) == [1, 2, 0]
    assert list(paths(run(False), Oracle())) == [True]


def test_a_lazy_is_what_it_is_wherever_it_is_looked_at():
    oracle = Oracle()

    def body(oracle):
        numbers = Lazy(oracle, [(1,), (2,)])
        return 1 in numbers, tuple(numbers), numbers[0], numbers[:1], numbers == (2,), hash(numbers) == hash((1,))

    assert list(paths(body, oracle)) == [(True, (1,), 1, (1,), False, True), (False, (2,), 2, (2,), True, False)]


def test_concrete_goes_into_messages():
    oracle = Oracle()
    message = Bmig((Stamped("s1", oracle.unknown("t"), 2 * 1),), Lazy(oracle, [()]), oracle.unknown("h") + 1)
    assert concrete(message, {"t": 4, "h": 0}) == Bmig((Stamped("s1", 4, 2),), (), 1)
    assert str(oracle.unknown("t") - 1) == "t + -1"
    assert isinstance(3 - oracle.unknown("t"), Integer)


def test_the_time_may_be_up():
    with pytest.raises(Undecided, match="out of time"):
        list(paths(lambda oracle: oracle.choose(2), Oracle(deadline=0.0)))


def test_a_function_that_is_not_pure_is_found_out():
    sizes = iter([2, 3, 4])
    with pytest.raises(Undecided, match="not pure"):
        list(paths(lambda oracle: oracle.choose(next(sizes)), Oracle()))
