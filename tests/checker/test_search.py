"""Search by runs: the graph that is looked up, the strategies, shrinking, replay, and the command."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from roamcheck.checker.engines import hypothesis_guide, random_runs, reference
from roamcheck.checker.files import load_scenario
from roamcheck.checker.generating import Bounds, generate
from roamcheck.checker.mutants import MUTANTS
from roamcheck.checker.question import Question, question
from roamcheck.checker.sampling.confirming import why_not
from roamcheck.checker.sampling.lookup import Graph
from roamcheck.checker.sampling.runs import Enough, Run, Sampler
from roamcheck.checker.sampling.shrinking import shrink
from roamcheck.checker.searching import Effort, as_record, search
from roamcheck.checker.verdict import CannotBegin, Counterexample, ExitCode, HoldsWithin, Unknown, Violated
from roamcheck.model.build import build
from roamcheck.model.interface import (
    Disabled,
    Effect,
    Footprint,
    FootprintError,
    Kind,
    Layout,
    Measure,
    Model,
    Property,
    Scope,
    SlotSpec,
    Step,
    Value,
    Word,
)
from roamcheck.model.measures import measures
from roamcheck.model.scenario import Scenario
from support.toys import Rm, Tm, TwoPhase, arrived, counter, crane, digraph, lossy_channel, never, ping_pong

ENDLESS = Property("no endless run", Scope.RUN, ())
Strategy = Callable[[Sampler, int], None]
STRATEGIES: dict[str, Strategy] = {
    "hypothesis": hypothesis_guide.guided,
    "no targets": lambda sampler, seed: hypothesis_guide.guided(sampler, seed, targets=False),
    "random": random_runs.uniform,
    "swarm": random_runs.swarm,
}
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)


def searched(model: Model, strategy: str, seed: int = 1, **budget: object) -> Sampler:
    """After the search."""
    sampler = Sampler(model, **{"examples": 100, "longest": 20, **budget})  # type: ignore[arg-type]
    with suppress(Enough):
        STRATEGIES[strategy](sampler, seed)
    return sampler


def two_phase() -> Model:
    """With a false invariant: the transaction manager never commits; it does, when all are prepared."""
    return TwoPhase(2).model(never("never committed", 2, lambda tm: tm is Tm.COMMITTED))


# ---- the graph ----


@pytest.mark.parametrize(
    "model",
    [TwoPhase(3).model(), crane(), lossy_channel(3, 2), ping_pong(whistle=True, closing=True), counter(7), digraph([(0, 1), (1, 0), (1, 2)])],
    ids=lambda model: model.name,
)
def test_what_is_looked_up_is_the_graph_of_the_reference_explorer(model: Model) -> None:
    counts, graph = reference.explore(model).counts, Graph(model)
    found = [graph.initial(which) for which in range(len(model.initial_states))]
    for node in found:
        found += [target for _, target in graph.out(node) if target not in found]
    assert (len(found), sum(len(graph.out(node)) for node in found)) == (counts.states, counts.transitions)
    assert sum(node.quiescent for node in found) == counts.quiescent


def test_properties_are_asked_of_what_has_changed_as_of_all() -> None:
    world = question(load_scenario("hunt-overlap-queue")).world()
    model = build(world)
    sampler = searched(model, "random", examples=40)
    for node in list(sampler.graph.nodes.values()):
        afresh = Graph(model)
        again = afresh.node(tuple(afresh._number(slot, value) for slot, value in enumerate(sampler.graph.state(node))))
        assert node.breaches is None or node.breaches == afresh.breaches(again)


def test_a_step_that_writes_what_it_does_not_declare_is_refused() -> None:
    sly = Step("sly", (), Kind.PROTOCOL, lambda head, values: Effect((), ((1, ("word",)),)))
    sampler = searched(replace(lossy_channel(1, 0, arrived(1, Scope.RUN)), steps=(sly,)), "random")
    assert sampler.failed is not None
    assert isinstance(sampler.failed.cause, FootprintError)


# ---- what is found ----


@every_strategy
def test_a_false_invariant_is_found_shrunk_and_replayed(strategy: str) -> None:
    model = two_phase()
    sampler = searched(model, strategy, examples=400)
    found = sampler.found["never committed"].counterexample
    shrunk = shrink(sampler.graph, 1, found)
    shortest = reference.explore(model).verdicts["never committed"]
    assert isinstance(shortest, Violated)
    assert shrunk.length == shortest.counterexample.length == 5 <= found.length
    assert why_not(model, model.properties[1], shrunk) is None
    verdict = sampler.verdict(0, "somehow")
    assert isinstance(verdict, HoldsWithin)
    assert verdict.bound.startswith("400 runs of at most ")


@every_strategy
def test_a_run_that_goes_on_for_ever_is_found_where_it_is_fair(strategy: str) -> None:
    model = ping_pong(ENDLESS)
    sampler = searched(model, strategy)
    shrunk = shrink(sampler.graph, 0, sampler.found[ENDLESS.name].counterexample)
    assert (shrunk.length, shrunk.loop) == (2, 0)
    assert why_not(model, ENDLESS, shrunk) is None


@every_strategy
def test_a_run_that_starves_a_channel_or_waits_violates_nothing(strategy: str) -> None:
    for model in (ping_pong(ENDLESS, whistle=True), ping_pong(ENDLESS, closing=True)):
        sampler = searched(model, strategy, examples=50)
        assert sampler.found == {}
        verdict = sampler.verdict(0, "somehow")
        assert isinstance(verdict, Unknown)
        assert "liveness is never claimed" in verdict.why


@every_strategy
def test_properties_are_asked_where_their_scope_says(strategy: str) -> None:
    for scope in Scope:
        model = lossy_channel(2, 1, arrived(2, scope))
        sampler = searched(model, strategy)
        shrunk = shrink(sampler.graph, 0, sampler.found["arrived"].counterexample)
        assert shrunk.length == {Scope.EVERY_STATE: 1, Scope.QUIESCENT: 2, Scope.RUN: 4}[scope]
        assert why_not(model, model.properties[0], shrunk) is None
    assert searched(lossy_channel(2, 0, arrived(2, Scope.QUIESCENT)), strategy).found == {}


@every_strategy
def test_a_step_that_raises_ends_the_search_and_is_told_with_the_way_there(strategy: str) -> None:
    sampler = searched(counter(9, never("seven", 0, lambda n: n == 99), fails_at=4), strategy)
    assert sampler.failed is not None
    assert str(sampler.failed).startswith("add(1) raised ZeroDivisionError after ")
    assert isinstance(sampler.verdict(0, "somehow"), Unknown)


@every_strategy
def test_every_initial_state_is_begun_with(strategy: str) -> None:
    model = digraph([(5, 6)], never("six", 0, lambda n: n == 6), initial=(1, 2, 5))
    found = searched(model, strategy).found["six"].counterexample
    assert (found.initial, found.length) == (2, 1)


# ---- the same in every run, and budgets ----


@every_strategy
def test_the_same_seed_gives_the_same_answer(strategy: str) -> None:
    def ask(seed: int) -> list[object]:
        sampler = searched(two_phase(), strategy, seed)
        return [sampler.found, sampler.done, sampler.steps, len(sampler.graph.nodes)]

    answers = [ask(seed) for seed in range(3)]
    assert answers == [ask(seed) for seed in range(3)]
    assert any(answer != answers[0] for answer in answers)


@every_strategy
def test_budgets_are_kept_to(strategy: str) -> None:
    model = TwoPhase(3).model()
    sampler = searched(model, strategy, examples=7, longest=5)
    assert (sampler.done, sampler.reached) == (7, 5)
    assert searched(model, strategy, seconds=0.0).done == 0


def test_a_graph_that_grows_too_large_is_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = searched(two_phase(), "random")
    monkeypatch.setattr("roamcheck.checker.sampling.lookup.MOST", 5)
    small = searched(two_phase(), "random")
    assert len(small.graph.nodes) < len(plain.graph.nodes)
    assert (small.found, small.steps) == (plain.found, plain.steps)


def needle(depth: int) -> tuple[Model, Measure]:
    """Of two steps one leads on and one back to the same state; the end is far, and the measure says how far one has come."""

    def go(right: bool) -> Callable[[Word | None, tuple[Value, ...]], Effect | Disabled]:
        def react(_: Word | None, values: tuple[Value, ...]) -> Effect | Disabled:
            assert isinstance(values[0], int)
            return Effect((values[0] + right,))

        return react

    steps = tuple(Step("go", (("right", str(right)),), Kind.PROTOCOL, go(right), Footprint(reads=(0,))) for right in (False, True))
    model = Model("needle", Layout((SlotSpec("n"),)), ((0,),), steps, (never("end", 0, lambda n: n == depth),), lambda slot, value: False)
    return model, Measure("depth", (0,), lambda values: values[0])  # type: ignore[arg-type]


def test_targets_lead_to_what_chance_does_not_find() -> None:
    model, depth = needle(27)
    assert searched(model, "hypothesis", measures=(depth,), examples=1_000, longest=28).found
    assert not searched(model, "no targets", measures=(depth,), examples=1_000, longest=28).found


def test_the_database_is_tried_first(tmp_path: Path) -> None:
    model = two_phase()

    def ask(seed: int) -> int:
        sampler = Sampler(model, examples=400, longest=20)
        with suppress(Enough):
            hypothesis_guide.guided(sampler, seed, database=tmp_path / "kept")
        return sampler.found["never committed"].example

    first = ask(seed=1)
    assert first > 1
    assert [ask(seed=2), ask(seed=3)] == [1, 1]


# ---- shrinking and replay ----


def test_shrinking_leaves_out_what_is_not_needed_even_without_ways_round() -> None:
    model = TwoPhase(3).model(never("an abort", 0, lambda rm: rm is Rm.ABORTED))
    run = Run(Graph(model), (1,))
    for name in ("prepare(rm1)", "tm-receives(rm1)", "prepare(rm2)", "tm-abort()", "hear-abort(rm1)", "prepare(rm0)", "hear-abort(rm0)"):
        assert run.follow(next(k for k, step in enumerate(model.steps) if str(step) == name)), name
    shrunk = shrink(run.graph, 1, run.counterexample(1), around=0)
    assert [str(model.steps[k]) for k in shrunk.steps] in (["tm-abort()", "hear-abort(rm0)"], ["choose-to-abort(rm0)"])
    assert shrink(run.graph, 1, run.counterexample(1)).length == 1


def test_a_counterexample_that_is_none_is_refused() -> None:
    model = ping_pong(ENDLESS)
    loop = searched(model, "random").found[ENDLESS.name].counterexample
    assert "cannot fire" in str(why_not(model, ENDLESS, replace(loop, steps=loop.steps[::-1])))
    assert "does not lead back" in str(why_not(model, ENDLESS, replace(loop, steps=loop.steps[:1])))
    unfair = ping_pong(ENDLESS, whistle=True)
    assert "is not fair: mail" in str(why_not(unfair, ENDLESS, loop))
    committed = two_phase()
    found = searched(committed, "random").found["never committed"].counterexample
    assert "holds at its end" in str(why_not(committed, committed.properties[1], replace(found, steps=found.steps[:-1])))
    lossy = lossy_channel(2, 1, arrived(2, Scope.QUIESCENT))
    assert "not quiescent" in str(why_not(lossy, lossy.properties[0], Counterexample(0, (1,), None, found.breach)))
    owed = lossy_channel(2, 1, arrived(2, Scope.RUN))
    assert "budget is not spent" in str(why_not(owed, owed.properties[0], Counterexample(0, (), None, found.breach)))


# ---- publish/subscribe ----


def per_algorithm() -> dict[str, str]:
    """The first mutant of each module that a property kills."""
    killed = [mutant for mutant in MUTANTS.values() if mutant.killed_by is not None and mutant.killed_by.property != "step-failed"]
    return {mutant.module: mutant.name for mutant in reversed(killed)}


@pytest.mark.parametrize("name", per_algorithm().values(), ids=per_algorithm().keys())
def test_hypothesis_finds_a_mutant_of_each_algorithm(name: str) -> None:
    kill = MUTANTS[name].killed_by
    assert kill is not None
    asked = question(load_scenario(kill.scenario), protocol=kill.protocol, readings=kill.readings, properties=(kill.property,))
    effort = Effort(compare=0)
    given = search(asked, effort, mutant=name)
    assert isinstance(given.answer.verdicts[kill.property], Violated)
    assert (given.exit_code, given.answer.traces) == (ExitCode.VIOLATED, {})
    assert not isinstance(search(asked, replace(effort, examples=100)).answer.verdicts[kill.property], Violated)


def test_measures_are_of_the_protocol_and_zero_where_all_has_settled() -> None:
    named = {
        protocol: [of.name for of in measures(question(load_scenario("subscribe-then-unsubscribe"), protocol=protocol).world())]
        for protocol in ("simple-routing", "modular", "mft-pubsub")
    }
    assert named["simple-routing"] == []
    assert named["modular"] == ["staleness", "disagreement", "queued"]
    assert named["mft-pubsub"] == ["staleness", "disagreement", "hop-count-error", "queued"]
    world = question(load_scenario("hunt-far-move")).world()
    graph = Graph(build(world), measures(world))
    start = graph.initial()
    assert graph.measured(start) == [0, 0, 0, 0]
    moved = next(target for step, target in graph.out(start) if str(graph.model.steps[step]) == "migrate(b3, b5)")
    assert graph.measured(moved)[0] > 0


def test_what_is_found_is_held_against_the_shortest_and_recorded() -> None:
    given = search(question(load_scenario("hunt-child-above-parent")), Effort("swarm", seed=3))
    hit = given.hits["no-routing-loop"]
    assert (hit.shrunk, hit.shortest) == (4, 4)
    trace = given.answer.traces["no-routing-loop"]
    assert (trace.header.engine, trace.header.seed, trace.header.length) == ("swarm", 3, 4)
    assert as_record(given)["properties"]["no-routing-loop"]["shortest"] is True


def test_without_hypothesis_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "hypothesis" or name.endswith(".hypothesis_guide")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("roamcheck.checker.engines.hypothesis_guide")
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(CannotBegin, match=r"hypothesis is not installed: pip install 'roamcheck\[guides\]', or choose --strategy swarm"):
        search(question(load_scenario("hunt-far-move")), Effort(compare=0))
    assert search(question(load_scenario("hunt-far-move")), Effort("swarm", compare=0)).hits


@pytest.mark.parametrize("strategy", ["hypothesis", "random"])
def test_scenarios_are_drawn_until_one_fails_and_made_smaller(strategy: str) -> None:
    def ask(scenario: Scenario) -> Question:
        return question(scenario, protocol="mft-pubsub")

    bounds, effort = Bounds(scenarios=60, brokers=5, budget=2), Effort(strategy, examples=40, seed=2)
    found = generate(ask, "mft-pubsub", bounds, effort)
    assert found == generate(ask, "mft-pubsub", bounds, effort)
    assert found.scenario is not None
    given = search(question(found.scenario, properties=(str(found.property),)), Effort("swarm", compare=0))
    assert isinstance(given.answer.verdicts[str(found.property)], Violated)
    if strategy == "hypothesis":
        assert len(found.scenario.brokers) <= 3
    quiet = generate(lambda scenario: question(scenario, protocol="simple-routing"), "simple-routing", Bounds(scenarios=5), effort)
    assert (quiet.scenario, quiet.property) == (None, None)
    assert 0 < quiet.drawn <= 5


# ---- the command ----


def roamcheck(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "roamcheck", *words], capture_output=True, text=True, cwd=cwd, check=False)


def test_the_command_tells_writes_and_replays(tmp_path: Path) -> None:
    ran = roamcheck("search", "hunt-far-move", "--examples", "300", "--seed", "4", cwd=tmp_path)
    assert ran.returncode == 1, ran.stderr
    assert "300 runs by hypothesis, with targets, seed 4" in ran.stdout
    assert "no-routing-loop: a counterexample, 8 steps" in ran.stdout or "routing-converged: a counterexample, 8 steps" in ran.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["roamcheck-traces"]
    replayed = roamcheck("replay", "roamcheck-traces/hunt-far-move.mft-pubsub.no-routing-loop.jsonl", cwd=tmp_path)
    assert replayed.returncode == 0, replayed.stderr


def test_z3_is_asked_whether_a_condition_can_come_about(tmp_path: Path) -> None:
    ran = roamcheck(
        "search", "child-above-parent", "--guide", "z3", "--reach", "a BMIG of b4 is in flight when b3 migrates", "--json", "-", cwd=tmp_path
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["scenario"] == "child-above-parent"


@pytest.mark.parametrize("strategy", ["hypothesis", "swarm"])
def test_as_json_everything_but_seconds_is_the_same_in_every_process(strategy: str, tmp_path: Path) -> None:
    words = ("search", "hunt-there-and-back", "client-migration", "--strategy", strategy, "--examples", "100", "--json", "-")
    answers = []
    for _ in range(2):
        ran = roamcheck(*words, cwd=tmp_path)
        assert ran.returncode == 1, ran.stderr
        answers.append([{**json.loads(line), "seconds": 0} for line in ran.stdout.splitlines()])
    assert answers[0] == answers[1]
    hunt, quiet = answers[0]
    assert hunt["properties"]["routing-converged"]["verdict"] == "violated"
    assert hunt["properties"]["routing-converged"]["shortest_length"] == 6
    assert (quiet["complete"], quiet["examples"], quiet["properties"]["delivered"]["verdict"]) == (False, 100, "holds-within")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["client-migration", "--examples", "50"], 3),
        (["hunt-far-move", "--property", "hop-count-exact", "--examples", "50"], 1),
        (["broker-migration", "--protocol", "phoenix"], 0),  # not applicable
        (["hunt-far-move", "nosuch", "--examples", "5"], 2),
        (["--generate", "40", "--examples", "30"], 1),
        (["--generate", "3", "--examples", "5", "--protocol", "simple-routing"], 3),
    ],
)
def test_exit_codes(words: list[str], code: int, tmp_path: Path) -> None:
    assert roamcheck("search", *words, "--compare", "0", "--json", "-", cwd=tmp_path).returncode == code


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nosuch"], "no such file and no bundled scenario"),
        (["hunt-far-move", "--property", "nosuch"], "no property is called 'nosuch'"),
        (["hunt-far-move", "--mutant", "nosuch", "--compare", "0"], "no mutant is called 'nosuch'"),
        (["hunt-far-move", "--examples", "0"], "not in the range"),
        (["hunt-far-move", "--strategy", "luck"], "'luck' is not one of"),
        (["hunt-far-move", "--strategy", "swarm", "--no-targets"], "--no-targets is an option of --strategy hypothesis"),
        (["hunt-far-move", "--strategy", "random", "--database", "d"], "--database is an option of --strategy hypothesis"),
        (["hunt-far-move", "--generate", "3"], "give SCENARIOs, or --generate N"),
        ([], "give SCENARIOs, or --generate N"),
        (["hunt-far-move", "--guide", "z3"], "--guide z3 and --reach CONDITION go together"),
        (["hunt-far-move", "--reach", "b3 migrates"], "--guide z3 and --reach CONDITION go together"),
        (["hunt-far-move", "--guide", "z3", "--reach", "b3 migrates", "--strategy", "swarm"], "--strategy is no option of --guide z3"),
        (["hunt-far-move", "--database", "afile"], "name a folder"),
        (["hunt-far-move", "--traces", "afile"], "name a folder"),
    ],
)
def test_bad_input_is_answered_in_one_line(words: list[str], says: str, tmp_path: Path) -> None:
    (tmp_path / "afile").write_text("")
    ran = roamcheck("search", *words, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    (line,) = ran.stderr.splitlines()
    assert line.startswith("roamcheck: error: ")
    assert says in line


def test_an_interrupt_passes_hypothesis_whenever_it_comes() -> None:
    """In the last replay of what failed, too, which is where Hypothesis took it for a strategy that is not always the same."""

    def made_until(last: int | None) -> int:
        made = 0

        def make(choose: Callable[[int], int]) -> int:
            nonlocal made
            made += 1
            first = choose(100)
            if made == last:
                raise KeyboardInterrupt
            return first + choose(100)

        assert hypothesis_guide.smallest(make, lambda thing: thing > 20, examples=20, number=1) == 21
        return made

    for last in range(1, made_until(None) + 1):
        with pytest.raises(KeyboardInterrupt):
            made_until(last)


def test_an_interrupt_leaves_what_was_found(tmp_path: Path) -> None:
    called = [sys.executable, "-m", "roamcheck", "search", "peers-e", "--examples", "1000000", "--database", "kept", "--json", "-"]
    ran = subprocess.Popen(called, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    while ran.poll() is None and not (tmp_path / "kept").exists():  # where the first thing that is found is kept
        time.sleep(0.1)
    ran.send_signal(signal.SIGINT)
    try:
        out, err = ran.communicate(timeout=60)
    finally:
        ran.kill()
    assert ran.returncode == 130, err
    record = json.loads(out)
    assert record["properties"]["hop-count-exact"]["verdict"] == "violated"
    assert 0 < record["examples"] < 1_000_000
