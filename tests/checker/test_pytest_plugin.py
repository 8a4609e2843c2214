"""The pytest plugin: what is collected, what a claim says when it fails, and that others are left alone."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import roamcheck.checker.pytest_claims
from roamcheck.checker.check import Answer
from roamcheck.checker.files import bundled, load_scenario
from roamcheck.checker.findings import ClaimError, Search, holds, of_question, violated
from roamcheck.checker.own_models import of_model
from roamcheck.checker.question import question
from roamcheck.checker.trace import loads
from roamcheck.checker.verdict import HoldsWithin, Unknown
from roamcheck.model.interface import Effect, Footprint, Property, Scope
from support.toys import always_idle, arrived, counter, lossy_channel, never, ping_pong

pytest_plugins = ["pytester"]

EXAMPLES = Path(__file__).parents[2] / "examples"
SCENARIO = bundled()["child-above-parent"]
QUIET = ("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest")  # which would load Hypothesis anew in every run


def look_at_everything() -> None:
    """Load all that a claim loads: pytester takes out of the process what a run within it has loaded, and numpy can be loaded once."""
    found = of_question(question(load_scenario("child-above-parent")), Search())
    assert all(found.story(name) for name in ("no-routing-loop", "eventual-quiescence"))
    assert roamcheck.checker.pytest_claims.ScenarioFile is not None


look_at_everything()


@pytest.fixture
def scenario(pytester: pytest.Pytester) -> pytest.Pytester:
    """child-above-parent stands in the folder, as mine.toml, and expects nothing."""
    (pytester.path / "mine.toml").write_text(SCENARIO, encoding="utf-8")
    return pytester


def said(result: pytest.RunResult) -> str:
    return result.stdout.str()


# ---- what is collected -------------------------------------------------------------------------------------------------------


def test_a_scenario_that_expects_nothing_is_left_alone(scenario):
    (scenario.path / "pyproject.toml").write_text('[tool.other]\nformat = "x"\n')
    assert scenario.runpytest_inprocess(*QUIET).ret == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.parametrize("how", [("--roamcheck",), ("mine.toml",), ("-o", "roamcheck_collect=true")])
def test_it_is_collected_when_it_is_asked_for(scenario, how):
    result = scenario.runpytest_inprocess(*QUIET, "--collect-only", "-q", *how)
    assert "mine.toml::delivered" in said(result)
    assert "mine.toml::hop-count-exact" not in said(result), "the papers do not promise it"
    assert "11 tests collected" in said(result)


def test_what_it_expects_decides(scenario):
    text = SCENARIO + '\n[expect]\ndelivered = "violated"\nno-routing-loop = { violated-within = 3 }\nno-duplicate = "violated"\n'
    (scenario.path / "mine.toml").write_text(text, encoding="utf-8")
    result = scenario.runpytest_inprocess(*QUIET, "-rA")
    passed = set(re.findall(r"^PASSED mine.toml::(\S+)", said(result), re.MULTILINE))
    assert passed == {"delivered", "well-formed", "one-next-hop", "no-phantom", "timestamp-bound"}
    assert "no-routing-loop is violated, but not within 3 steps" in said(result)
    assert "no-duplicate holds, and was expected to be violated" in said(result)
    assert "routing-converged is violated, and was expected to hold" in said(result)


def test_a_file_may_expect_something_of_several_protocols_and_readings(scenario):
    expect = '\n[[expect]]\nreadings = "amended"\n[[expect]]\nprotocol = "modular"\nno-duplicate = "holds"\n'
    (scenario.path / "mine.toml").write_text(SCENARIO + expect, encoding="utf-8")
    result = scenario.runpytest_inprocess(*QUIET, "-rA", "-k", "no-duplicate or delivered")
    assert "PASSED mine.toml::delivered[amended]" in said(result)
    assert "PASSED mine.toml::no-duplicate[modular]" in said(result)


def test_a_bad_scenario_is_told_in_one_line(scenario):
    text = SCENARIO + '\n[expect]\ndelivered = "hold"\n'
    (scenario.path / "mine.toml").write_text(text, encoding="utf-8")
    result = scenario.runpytest_inprocess(*QUIET)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert f'mine.toml:{text.count(chr(10))}: expect.delivered = "hold": no such expectation; write' in said(result)
    assert "Traceback" not in said(result)
    assert "pytest_claims.py" not in said(result)


def test_a_scenario_that_the_protocol_does_not_know_is_told_in_one_line(scenario):
    (scenario.path / "mine.toml").write_text(SCENARIO + '\n[expect]\nprotocol = "phoenix"\n', encoding="utf-8")
    assert "mine.toml: nothing can be expected: phoenix does not know migrate" in said(scenario.runpytest_inprocess(*QUIET))


# ---- what a failure says -----------------------------------------------------------------------------------------------------


def test_a_failure_tells_the_counterexample_and_no_stack(pytester):
    pytester.makepyfile('def test_it(roamcheck):\n    roamcheck("child-above-parent").violated("delivered").holds("no-routing-loop")\n')
    result = pytester.runpytest_inprocess(*QUIET)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([
        "*.py:2: no-routing-loop is violated, and was expected to hold",
        "child-above-parent: protocol mft-pubsub, readings printed, *",
        "a shortest counterexample, 4 steps:",
        "   1  b4 migrates to b1   [[]TR19 Alg. 5 *",
        "        path = b1 → b4 → b3 → b4",
        "FAILED *::test_it - *",
    ])  # fmt: skip
    assert "def test_it" not in said(result)
    assert "pytest_claims.py" not in said(result)


def test_traces_are_written_named_and_replay(pytester):
    pytester.makepyfile(
        'def test_it(roamcheck):\n    roamcheck("child-above-parent").violated("delivered", within=6).holds("no-routing-loop")\n'
        "def test_other(roamcheck):\n"
        '    roamcheck("child-above-parent").violated("delivered")\n'
        '    roamcheck("child-above-parent", readings="amended").holds("delivered")\n'
    )
    result = pytester.runpytest_inprocess(*QUIET, "--roamcheck-traces", "kept")
    names = sorted(path.name for path in (pytester.path / "kept").iterdir())
    module = next(pytester.path.glob("test_*.py")).name
    assert names == [f"{module}-test_{end}.jsonl" for end in ("it.delivered", "it.no-routing-loop", "other.delivered")]
    for name in names:
        assert str(pytester.path / "kept" / name) in said(result)
        assert loads((pytester.path / "kept" / name).read_text(encoding="utf-8"), name).header.length in (4, 6)
    assert f"trace: {pytester.path / 'kept' / names[1]}" in said(result)


def test_a_folder_that_cannot_be_written_is_told_in_one_line(pytester):
    pytester.makepyfile('def test_it(roamcheck):\n    roamcheck("child-above-parent").violated("delivered")\n')
    (pytester.path / "kept").write_text("a file")
    result = pytester.runpytest_inprocess(*QUIET, "--roamcheck-traces", "kept")
    result.assert_outcomes(failed=1)
    assert "cannot be written" in said(result)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('roamcheck("child-above-parnt").holds()', "no bundled scenario of that name; did you mean child-above-parent?"),
        ('roamcheck("child-above-parent", protocol="modula").holds()', "no protocol is called 'modula'; choose from simple-routing, "),
        ('roamcheck("child-above-parent", reading={"queue": "x"}).holds()', "reading queue has no value 'x'; values are per-entry, per-subscriber"),
        ('roamcheck("child-above-parent", engine="fast").holds()', "no engine is called 'fast'; choose from tabled, reference, search"),
        ('roamcheck("child-above-parent", proto="modular")', "roamcheck(…) takes no proto; it takes scenario, protocol, "),
        ('roamcheck("child-above-parent").holds("deliverd")', "no property is called 'deliverd'; choose from well-formed, "),
        ('roamcheck("child-above-parent", protocol="modular").holds("timestamp-bound")', "says nothing here: modular keeps no timestamps"),
        ('roamcheck("child-above-parent", protocol="phoenix").holds()', "is no scenario for phoenix: phoenix does not know migrate"),
        ('roamcheck("child-above-parent").violated()', "violated: name a property"),
        ("roamcheck().holds()", "which scenario?"),
        ("roamcheck.model(3)", "takes a roamcheck.model.interface.Model, not int"),
        ('roamcheck("child-above-parent", max_states=9).holds("no-duplicate")', "neither proved nor refuted, and was expected to hold: no "),
    ],
)
def test_what_makes_no_sense_is_told_in_one_line(pytester, call, message):
    pytester.makepyfile(f"def test_it(roamcheck):\n    {call}\n")
    result = pytester.runpytest_inprocess(*QUIET)
    result.assert_outcomes(failed=1)
    assert message in said(result)
    assert "Error" not in said(result)


# ---- the marker --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "passes"),
    [
        ('"child-above-parent"', False),
        ('"child-above-parent", readings="amended"', True),
        ('"child-above-parent", properties=["no-duplicate", "no-phantom"]', True),
        ('scenario="child-above-parent", holds="delivered"', False),
        ('scenario="child-above-parent", reading={"hop-test": "home"}, holds="no-routing-loop", engine="reference"', True),
        ('scenario="child-above-parent", violated="delivered", within=6', True),
        ('scenario="child-above-parent", violated="delivered", within=5', False),
        ('scenario="child-above-parent", violated={"delivered": 6, "no-routing-loop": 4}, holds=["no-duplicate"]', True),
        ('scenario="child-above-parent", violated={"delivered": 6, "no-routing-loop": 3}', False),
        ('scenario="child-above-parent", within=3', False),
        ('scenario="child-above-parent", propertys="delivered"', False),
        ("", False),
    ],
)
def test_a_marker_expects(pytester, given, passes):
    pytester.makepyfile(f"import pytest\n\n@pytest.mark.roamcheck({given})\ndef test_it():\n    pass\n")
    result = pytester.runpytest_inprocess(*QUIET, "--strict-markers")
    result.assert_outcomes(passed=int(passes), failed=int(not passes))


def test_a_marker_asks_and_the_body_looks(pytester):
    pytester.makepyfile("""
        import unittest, pytest
        pytestmark = pytest.mark.roamcheck("child-above-parent", protocol="modular")

        def test_answer(roamcheck_answer):
            assert roamcheck_answer.counterexample("delivered") is not None
            assert roamcheck_answer.story("delivered").splitlines()[-1].strip().startswith("received =")
            assert roamcheck_answer.story("no-duplicate") == ""

        def test_defaults(roamcheck):
            assert "protocol modular," in roamcheck().findings.asked
            assert "protocol mft-pubsub," in roamcheck(protocol="mft-pubsub").findings.asked

        @pytest.mark.roamcheck(holds="no-duplicate")
        def test_closer(): ...

        class Old(unittest.TestCase):
            @pytest.mark.roamcheck(holds="delivered")
            def test_fails(self): ...
    """)
    pytester.runpytest_inprocess(*QUIET).assert_outcomes(passed=3, failed=1)


def test_an_answer_without_a_marker_is_refused(pytester):
    pytester.makepyfile("def test_it(roamcheck_answer):\n    pass\n")
    assert "this test has no such marker" in said(pytester.runpytest_inprocess(*QUIET))


# ---- a protocol of one's own -------------------------------------------------------------------------------------------------


def test_the_example_does_what_it_says(pytester):
    for name in ("alternating_bit.py", "test_alternating_bit.py"):
        (pytester.path / name).write_text((EXAMPLES / name).read_text(encoding="utf-8"), encoding="utf-8")
    pytester.syspathinsert()
    pytester.runpytest_inprocess(*QUIET).assert_outcomes(passed=2)


def test_a_run_of_ones_own_is_told_step_by_step():
    found = of_model(lossy_channel(2, 1, arrived(2, Scope.QUIESCENT)), Search())
    told = holds(found, "arrived")
    assert told is not None
    assert told.splitlines() == [
        "arrived is violated, and was expected to hold", "lossy", "a shortest counterexample, 2 steps:", "   1  send()", "        channel: + 0",
        "        sent: 0 → 1", "   2  lose() takes 0 from channel", "        lost: 0 → 1", "   arrived is violated: sent and not received",
        "        received = ()", "        sent = 1",
    ]  # fmt: skip
    assert violated(found, "arrived", 2) is None
    assert "not within 1 steps" in str(violated(found, "arrived", 1))


def test_a_run_that_goes_on_for_ever_is_told():
    found = of_model(ping_pong(Property("quiet", Scope.RUN, ())), Search())
    assert "---- from here on, steps 1–2 repeat for ever ----" in str(holds(found, "quiet"))


def test_a_protocol_that_raises_is_told_with_its_line_and_the_way_there():
    found = of_model(counter(5, never("six", 0, lambda n: n == 6), fails_at=2), Search())
    told = str(holds(found, "six"))
    assert "add(1) raised ZeroDivisionError: a defect of the model\n" in told
    assert "toys.py:" in told
    assert 'raise ZeroDivisionError("a defect of the model")' in told
    assert told.endswith("the way there, 1 step:\n   1  add(2)\n        n: 0 → 2")
    assert "findings.py" not in told


def broken(react, **search):
    """The counter, whose steps react so."""
    model = counter(3, never("nine", 0, lambda n: n == 9))
    return str(holds(of_model(replace(model, steps=tuple(replace(step, react=react) for step in model.steps)), Search(**search)), "nine"))


def test_a_protocol_that_is_not_pure_is_told():
    answers = iter(range(100))
    told = broken(lambda _, values: Effect((next(answers),)))
    assert re.search(r"add\(1\) is not pure: asked twice with \(0,\), it answers \(\d+,\) and then \(\d+,\)", told), told


def test_a_protocol_that_looks_at_what_it_does_not_declare_is_told_in_debug_mode():
    seen: list[object] = []

    def react(_, values):
        seen.append(values)
        return Effect((min(3, values[0] + (1 if len(seen) <= 4 else 2)),))  # both steps are tabled in four reactions

    assert "a step does not do what it declares: add(" in broken(react, debug=True)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "add(1) answers None, which is neither an Effect nor a Disabled"),
        (Effect(()), "add(1) reads 1 slots and returns 0 values"),
        (Effect(([],)), "add(1) answers ([],): unhashable type: 'list'; use tuples"),
        (Effect((0,), ((0, (1,)),)), "add(1) appends to n, which it does not declare"),
    ],
)
def test_an_answer_that_is_none_is_told(answer, message):
    assert message in broken(lambda _, values: answer)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"initial_states": ()}, "it has no initial state"),
        ({"initial_states": ((0, 1),)}, "an initial state is a tuple of 1 values, one for each slot (n), not (0, 1)"),
        ({"initial_states": (([],),)}, "n starts as [], which cannot be hashed; use tuples"),
        ({"steps": ("add",)}, "'add' stands among its steps and is no Step"),
        ({"steps": (replace(counter(1).steps[0], fixed=Footprint(reads=(7,))),)}, "add(1) touches slot 7, and there are slots 0 to 0"),
        ({"steps": (replace(counter(1).steps[0], fixed=Footprint(takes=0)),)}, "add(1) takes the first word of n, which does not start as a tuple"),
        ({"properties": (never("x", 3, bool),)}, "the property x reads slot 3, and there are slots 0 to 0"),
        ({"properties": (never("x", 0, bool), never("x", 0, bool))}, "two of its properties are called x"),
        ({"properties": (never("x", 0, lambda n: n[0]),)}, "the property x raised when it was asked of n = 0"),
        ({"idle": None}, "counter raised while it was explored\nTypeError: 'NoneType' object is not callable"),
    ],
)
def test_what_is_no_model_is_told(changed, message):
    with pytest.raises(ClaimError) as caught:
        of_model(replace(counter(1), **changed), Search())
    assert message in str(caught.value)


def test_a_model_without_end_is_undecided():
    endless = replace(counter(10**9, never("minus", 0, lambda n: n < 0)), idle=always_idle)
    assert "neither proved nor refuted" in str(holds(of_model(endless, Search(max_states=500)), "minus"))


# ---- among others ------------------------------------------------------------------------------------------------------------


def test_nothing_is_loaded_where_nothing_is_asked(scenario):
    scenario.makepyfile("""
        import sys
        def test_it():
            loaded = [name for name in sys.modules if name.split(".")[0] in ("numpy", "numba", "rich", "click", "networkx")]
            ours = [name for name in sys.modules if name.startswith("roamcheck.")]
            assert loaded == []
            assert ours == ["roamcheck.checker", "roamcheck.checker.pytest_plugin"]
    """)
    scenario.runpytest_subprocess(*QUIET).assert_outcomes(passed=1)


def test_workers_of_xdist_say_the_same(scenario):
    (scenario.path / "mine.toml").write_text(SCENARIO + '\n[expect]\ndelivered = "violated"\n', encoding="utf-8")
    options = ("-n", "2", "--dist", "loadgroup", "--roamcheck-traces", "kept", "-k", "deliver")
    result = scenario.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:hypothesispytest", *options)
    result.assert_outcomes(passed=1, failed=1)
    assert "eventual-delivery is violated, and was expected to hold" in said(result)
    assert f"{scenario.path / 'kept' / 'mine.toml-delivered.jsonl'}" in said(result)


def test_the_engine_search_is_used(pytester):
    pytester.makepyfile('def test_it(roamcheck):\n    roamcheck("child-above-parent").violated("no-routing-loop")\n')
    options = ("--roamcheck-engine", "search", "--roamcheck-examples", "300", "--roamcheck-seed", "1")
    pytester.runpytest_inprocess(*QUIET, *options).assert_outcomes(passed=1)


def test_the_engine_search_without_hypothesis(pytester, monkeypatch):
    monkeypatch.setitem(sys.modules, "roamcheck.checker.engines.hypothesis_guide", None)
    monkeypatch.delattr("roamcheck.checker.engines.hypothesis_guide", raising=False)
    pytester.makepyfile('def test_it(roamcheck):\n    roamcheck("child-above-parent").violated("no-routing-loop")\n')
    result = pytester.runpytest_inprocess(*QUIET, "--roamcheck-engine", "search")
    result.assert_outcomes(failed=1)
    assert "pip install 'roamcheck[guides]'" in said(result)


def test_what_the_engine_search_has_not_refuted_is_said_to_be_unproved(pytester, monkeypatch):
    verdicts = {"delivered": HoldsWithin("9 runs"), "eventual-delivery": Unknown("not violated in 9 runs")}
    asked = question(load_scenario("child-above-parent"), properties=tuple(verdicts))
    given = Answer(asked, "hypothesis", None, None, verdicts, {}, frozenset())
    monkeypatch.setattr("roamcheck.checker.findings.sample_question", lambda *_: (given, "9 runs", None))
    pytester.makepyfile(f"def test_it(roamcheck):\n    roamcheck('child-above-parent', engine='search', properties={(*verdicts,)}).holds()\n")
    result = pytester.runpytest_inprocess(*QUIET)
    result.assert_outcomes(passed=1)
    assert "roamcheck: 2 claims that a property holds: no violation was found by the engine search, which proves nothing" in said(result)
