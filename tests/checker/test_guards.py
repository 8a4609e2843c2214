"""Guard coverage: what a run has seen of each printed guard, without changing the run."""

from importlib import resources

import pytest

from roamcheck.checker.engines.tabled import explore
from roamcheck.checker.guards import GuardCoverage, guards, never
from roamcheck.checker.question import Question, question
from roamcheck.model.scenario import parse_scenario
from roamcheck.spec.protocols import PROTOCOLS


def ask(scenario: str, protocol: str) -> Question:
    text = (resources.files("roamcheck.model") / "scenarios" / f"{scenario}.toml").read_text(encoding="utf-8")
    return question(parse_scenario(text, where=scenario), protocol=protocol)


def covered(scenario: str, protocol: str) -> tuple[GuardCoverage, tuple[str, ...], tuple[str, ...]]:
    coverage = GuardCoverage()
    explore(ask(scenario, protocol).model(coverage.algorithms))
    return coverage, *never(coverage, PROTOCOLS[protocol])


@pytest.mark.parametrize("margin", ["", "WN23"])
def test_each_guard_has_a_name_of_its_own(margin: str) -> None:
    names = [guard.name(margin) for guard in guards()]
    assert len(set(names)) == len(names) >= 50


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("TR19 Alg. 1 l.13", "y != z"),
        ("TR19 Alg. 1 l.18", "hop == y and rules.matches(f, e)"),  # a comprehension
        ("TR19 Alg. 2 l.36", "i.queue(s)"),  # while
        ("TR19 Alg. 6 l.20", "t < i.stamp(s).t"),  # elif
        ("RP16 Alg. 3 l.33", "b in i.next_hops(s) and b != z"),
        ("TR19 Alg. 4 l.1", "is_news(i, s, t, h, rules)"),  # the where-clause of the handler, which the code refuses
        ("TR19 Alg. 7 l.48", "fresher(T_j, i.stamp(s))"),
    ],
)
def test_a_guard_is_the_printed_condition(name: str, text: str) -> None:
    assert [guard.text for guard in guards() if str(guard) == name] == [text]


def test_what_asks_only_the_readings_is_no_guard() -> None:
    assert [str(guard) for guard in guards() if str(guard) in ("TR19 Alg. 1 l.30", "TR19 Alg. 4 l.22", "RP16 Alg. 2 l.26")] == []


@pytest.mark.parametrize(
    ("scenario", "protocol"), [("client-migration-publish", "phoenix"), ("child-above-parent", "mft-pubsub"), ("figure-1a", "modular")]
)
def test_recording_changes_nothing(scenario: str, protocol: str) -> None:
    asked = ask(scenario, protocol)
    plain, recorded = explore(asked.model()), explore(asked.model(GuardCoverage().algorithms))
    assert (recorded.counts, recorded.verdicts) == (plain.counts, plain.verdicts)


def test_a_client_that_moves_takes_one_side_of_some_guards() -> None:
    coverage, never_true, never_false, never_asked = covered("client-migration", "phoenix")
    seen = {str(guard): (counted.true, counted.false) for guard, counted in coverage.seen.items()}
    assert seen["TR19 Alg. 1 l.23"] == (1, 2)  # z = s: MIG from s at b3, and from b3 at b2 and from b2 at b1
    assert seen["TR19 Alg. 1 l.28"] == (2, 1)  # b ≠ b_i: at b3 and b2, and not at b1
    assert "TR19 Alg. 1 l.23" not in never_true + never_false
    assert {"TR19 Alg. 1 l.2", "TR19 Alg. 1 l.7", "TR19 Alg. 1 l.13", "TR19 Alg. 2 l.45"} <= {*never_asked}  # no SUB, UNS, PUB or REP
    assert not {*never_asked} & {*never_true, *never_false}
    assert "TR19 Alg. 1 l.29" in never_false
    assert "TR19 Alg. 1 l.29" not in never_true
    assert "TR19 Alg. 2 l.36" in never_true
    assert "TR19 Alg. 2 l.36" not in never_false


def test_only_what_the_protocol_calls_is_asked_and_its_margin_names_it() -> None:
    _, never_true, _, never_asked = covered("figure-1a", "mft-pubsub-2023")
    assert "WN23 Alg. 4 l.76" in never_true  # t > T_i(s).ts: nobody has moved before
    assert "TR19 Alg. 1 l.14" in never_asked  # on_pub has no second tag
    assert not any(name.startswith(("RP16", "TR19 Alg. 3", "TR19 Alg. 4", "TR19 Alg. 1 l.2")) for name in never_true + never_asked)
    _, never_true, _, never_asked = covered("broker-migration", "modular-2016")
    assert never_true + never_asked
    assert all(name.startswith("RP16") for name in never_true + never_asked)


def test_a_protocol_without_a_step_has_seen_nothing() -> None:
    assert never(GuardCoverage(), PROTOCOLS["simple-routing"]) == ((), (), ("RP16 Alg. 1 l.11", "RP16 Alg. 1 l.12"))
