"""The mutants: each fits the source, each is killed where the registry says so, and no printed guard is without one."""

from __future__ import annotations

import ast
import dataclasses
import json
from pathlib import Path

import pytest

from roamcheck.checker.engines.reference import explore
from roamcheck.checker.files import bundled
from roamcheck.checker.guards import guards
from roamcheck.checker.mutant_kills import KILLS
from roamcheck.checker.mutant_registry import EQUIVALENT
from roamcheck.checker.mutants import MUTANTS, Kill, Mutant, MutantError, apply, as_rows, ask, hunt, is_killed, planted, protocols_of
from roamcheck.checker.recompiled import Printed, source, tags
from roamcheck.spec.properties import PROPERTIES
from roamcheck.spec.protocols import ALGORITHMS

TABLE = json.loads((Path(__file__).parents[1] / "agreement" / "table.json").read_text())
LARGE = {"peers-e", "peers-f"}  # in no table: too large for the reference engine
QUICK = 600  # states; the larger graphs are marked slow
KILLED = [mutant.name for mutant in MUTANTS.values() if mutant.killed_by]


# ---- the registry ------------------------------------------------------------------------------------


def test_there_are_enough_and_none_survives() -> None:
    assert len(MUTANTS) >= 200
    assert {name for name, mutant in MUTANTS.items() if mutant.status == "survives"} == set()
    assert len(EQUIVALENT) <= 1
    assert all(EQUIVALENT.values())
    assert set(KILLS) | set(EQUIVALENT) == set(MUTANTS)
    assert not set(KILLS) & set(EQUIVALENT)


def test_every_algorithm_module_has_some() -> None:
    assert {mutant.module for mutant in MUTANTS.values()} == set(ALGORITHMS)


@pytest.mark.parametrize("name", MUTANTS)
def test_it_fits_the_source_and_changes_one_line_of_it(name: str) -> None:
    mutant = MUTANTS[name]
    before, after = source(mutant.module).splitlines(), planted(mutant).splitlines()
    assert len(before) == len(after)
    assert sum(one != other for one, other in zip(before, after, strict=True)) == 1
    assert ast.dump(ast.parse(planted(mutant))) != ast.dump(ast.parse(source(mutant.module)))
    assert mutant.says
    assert set(apply(name)) == set(ALGORITHMS)


def test_no_two_are_the_same_fault() -> None:
    assert len({(mutant.module, planted(mutant)) for mutant in MUTANTS.values()}) == len(MUTANTS)


def test_the_rows_say_it_all() -> None:
    rows = as_rows()
    assert [row["name"] for row in rows] == list(MUTANTS)
    assert {row["status"] for row in rows} <= {"killed", "equivalent"}
    for row in rows:
        assert list(row) == ["name", "algorithm", "line", "status", "killed_by"]
        assert (row["killed_by"] is None) == (row["status"] == "equivalent")
        assert row["killed_by"] is None or set(row["killed_by"]) == {"scenario", "property", "protocol", "readings"}


def test_what_does_not_fit_is_refused_in_one_line() -> None:
    with pytest.raises(MutantError, match="no mutant is called 'nobody'"):
        apply("nobody")
    some = next(iter(MUTANTS.values()))
    for changed in ({"original": "nowhere"}, {"original": "i"}, {"line": "999"}, {"line": "no_function"}):
        with pytest.raises(MutantError, match=r"occurs \d+ times.*must occur once"):
            planted(dataclasses.replace(some, **changed))


# ---- every printed guard -----------------------------------------------------------------------------


def printed_conditions() -> list[tuple[str, Printed]]:
    """Each tagged line with an `if`, `elif` or `while`, a where-clause in a comprehension, or a broadcast ("foreach b ∈ N_i where b ≠ z")."""
    found = []
    for module in ALGORITHMS:
        lines = set()
        for node in ast.walk(ast.parse(source(module))):
            match node:
                case ast.If(test=test) | ast.While(test=test):
                    lines.add(test.lineno)
                case ast.comprehension(ifs=[_, *_] as ifs):
                    lines.update(test.lineno for test in ifs)
                case ast.Call(func=ast.Name(id="broadcast")):
                    lines.add(node.lineno)
        found += [(module, printed[0]) for line, printed in sorted(tags(module).items()) if line in lines]
    return found


def test_the_guards_are_found() -> None:
    assert len(printed_conditions()) >= 60
    assert {(guard.module, guard.printed[0]) for guard in guards()} <= set(printed_conditions())


@pytest.mark.parametrize(("module", "printed"), printed_conditions(), ids=str)
def test_every_printed_guard_has_a_mutant_that_is_killed(module: str, printed: Printed) -> None:
    assert [m.name for m in MUTANTS.values() if m.module == module and m.killed_by and m.line.isdigit() and int(m.line) in printed]


# ---- killed, or the same -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", KILLED)
def test_the_property_catches_it(name: str) -> None:
    kill = MUTANTS[name].killed_by
    assert kill is not None
    assert kill.protocol in protocols_of(MUTANTS[name])
    assert is_killed(MUTANTS[name], kill)


MORE_KILLS = {  # for properties that are not the first to be violated
    "no-duplicate": ("tr19-1-l13-to-sender", "merge-at-leaders", "modular", "amended"),
    "no-routing-loop": ("tr19-5-l4-first-only", "broker-migration", "mft-pubsub", "amended"),
    "eventual-delivery": ("tr19-1-l4-sub-to-sender", "two-brokers-subscribe", "modular", "amended"),
}


@pytest.mark.parametrize("name", PROPERTIES)
def test_every_property_kills_a_mutant(name: str) -> None:
    if name in MORE_KILLS:
        mutant, *where = MORE_KILLS[name]
        assert is_killed(MUTANTS[mutant], Kill(*where, name))
    else:
        assert name in {kill.property for mutant in MUTANTS.values() if (kill := mutant.killed_by)}


def test_nothing_kills_what_changes_nothing() -> None:
    """The test above would otherwise pass for a kill that is violated anyway, and for one that never is."""
    harmless = Mutant("harmless", "TR19 Alg. 1", "28", "alg1_mobile_clients", "m.previous != i.me", "not m.previous == i.me", "nothing", None)
    known = {**MUTANTS, harmless.name: harmless}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("roamcheck.checker.mutants.MUTANTS", known)
        for property_ in ("routing-converged", "no-routing-loop", "well-formed", "step-failed"):
            assert not is_killed(harmless, Kill("client-migration", "phoenix", "printed", property_))


def test_the_hunt_finds_a_kill_that_is_one() -> None:
    mutant = MUTANTS["rp16-2-l28-not-rerouted"]
    found = hunt(mutant)
    assert found is not None
    assert is_killed(mutant, found)


def test_the_hunt_passes_over_what_applies_to_no_scenario_and_what_holds() -> None:
    mutant = MUTANTS["rp16-1-l12-no-match"]
    assert not is_killed(mutant, Kill("client-migration", "simple-routing", "printed", "delivered"))  # it knows no moves of clients


def graphs():
    for name in EQUIVALENT:
        protocols = protocols_of(MUTANTS[name])
        for key, row in sorted(TABLE.items()):
            if key.split()[1] in protocols:
                yield pytest.param(name, key, marks=[] if row["states"] <= QUICK else [pytest.mark.slow], id=f"{name} {key}")


@pytest.mark.parametrize(("name", "key"), list(graphs()))
def test_an_equivalent_one_has_the_same_graph(name: str, key: str) -> None:
    row, counts = TABLE[key], explore(ask(*key.split()).model(apply(name))).counts
    assert (counts.states, counts.transitions, counts.quiescent) == (row["states"], row["transitions"], row["quiescent"])


def test_the_graphs_of_all_scenarios_are_compared() -> None:
    assert {key.split()[0] for key in TABLE} | LARGE == set(bundled())
