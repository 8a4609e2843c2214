"""Copies of the algorithm modules are isolated, complete, and keep files, lines and tags."""

import sys

import pytest

from roamcheck.checker.recompiled import claims, functions_of, recompile, source, tags
from roamcheck.spec.protocols import ALGORITHMS, PROTOCOLS


def unchanged(module: str, text: str) -> str:
    return text


def test_the_copies_are_others_and_the_real_ones_stay() -> None:
    before = {name: dict(vars(module)) for name, module in ALGORITHMS.items()}
    copies = recompile(unchanged)
    assert list(copies) == list(ALGORITHMS)
    assert all(copies[name] is not ALGORITHMS[name] and sys.modules[copies[name].__name__] is ALGORITHMS[name] for name in copies)
    assert {name: dict(vars(module)) for name, module in ALGORITHMS.items()} == before


def test_siblings_are_copies_and_all_else_is_real() -> None:
    copies = recompile(unchanged)
    on_mig = copies["alg4_timestamped_clients"]
    assert on_mig.send_queued_messages is copies["alg2_replay"].send_queued_messages is not ALGORITHMS["alg2_replay"].send_queued_messages
    assert on_mig.answer_stale is copies["alg7_consistency"].answer_stale
    assert copies["returns"].on_rep is copies["alg2_replay"].on_rep
    assert on_mig.Broker is ALGORITHMS["alg4_timestamped_clients"].Broker


def test_a_change_reaches_those_that_import_it() -> None:
    copies = recompile(lambda module, text: text.replace("def on_rep(", "changed = True\ndef on_rep(") if module == "alg2_replay" else text)
    assert copies["returns"].on_rep.__globals__["changed"] is True
    assert not hasattr(ALGORITHMS["alg2_replay"], "changed")


def test_files_and_lines_stay() -> None:
    copies = recompile(unchanged)
    for name, module in ALGORITHMS.items():
        assert copies[name].__file__ == module.__file__
        for key, function in vars(module).items():
            if hasattr(function, "__code__"):
                assert vars(copies[name])[key].__code__.co_firstlineno == function.__code__.co_firstlineno
                assert vars(copies[name])[key].__code__.co_filename == function.__code__.co_filename


def test_a_module_sees_what_it_is_given() -> None:
    copies = recompile(lambda module, text: text + "\nseen = given\n", {"given": 7})
    assert {module.seen for module in copies.values()} == {7}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("from .returns import on_return", "returns is imported by a module that comes before it"),
        ("from . import returns", "imports its siblings as"),
        ("import roamcheck.spec.algorithms.returns", "imports its siblings as"),
    ],
)
def test_an_import_that_would_reach_a_real_sibling_is_refused(line: str, says: str) -> None:
    with pytest.raises(ImportError, match=says):
        recompile(lambda module, text: f"{text}\n{line}\n")


def test_tags_are_read_with_their_paper() -> None:
    assert [str(claim) for claim in claims("alg6_bmig")] == ["TR19 Alg. 6 l.13–47", "WN23 Alg. 4 l.73–115"]
    assert claims("clients") == claims("returns") == ()
    lines = source("alg6_bmig").splitlines()
    tag = next(printed for line, printed in tags("alg6_bmig").items() if "is_closer(i" in lines[line - 1])
    assert [str(printed) for printed in tag] == ["TR19 Alg. 6 l.23–24", "WN23 Alg. 4 l.81–82"]
    assert 23 in tag[0]
    assert 24 in tag[0]
    assert 25 not in tag[0]


def test_the_functions_of_a_protocol_are_those_that_it_may_call() -> None:
    def of(protocol: str, *modules: str) -> set[str]:
        return {name for module, name in functions_of(PROTOCOLS[protocol]) if module in modules}

    assert of("mft-pubsub", "alg1_mobile_clients", "alg2_replay") == {"on_pub", "on_rep", "send_queued_messages"}
    assert {"is_closer", "send_subscriptions", "announced", "has_live_hop"} <= of("mft-pubsub", "alg5_migrate", "alg6_bmig", "alg7_consistency")
    assert of("modular", "alg4_timestamped_clients", "alg5_migrate", "alg6_bmig", "alg7_consistency") == set()
    assert of("modular-2016", "alg1_mobile_clients", "alg2_replay") == set()
