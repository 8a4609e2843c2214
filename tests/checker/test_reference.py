"""The reference engine: counts, shortest runs, verdicts of each scope, cycles, early ends; on toy models, and against a naive search."""

import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from itertools import count, pairwise
from operator import eq
from pathlib import Path

import pytest
from hypothesis import given, settings

from roamcheck.checker import verdict as verdicts
from roamcheck.checker.engines import reference
from roamcheck.checker.engines.reference import explore
from roamcheck.checker.verdict import Counterexample, Exploration, Holds, HoldsWithin, Progress, Unknown, Verdict, Violated
from roamcheck.model.interface import Disabled, Effect, Footprint, FootprintError, Kind, Model, Predicate, Property, Scope, State, fire
from roamcheck.spec.breach import Breach
from support import naive, random_models
from support.toys import Edge, Rm, Tm, TwoPhase, arrived, counter, crane, digraph, lossy_channel, never, ping_pong

ENDLESS = Property("no endless run", Scope.RUN, ())


def follow(model: Model, initial: int, taken: tuple[int, ...]) -> list[State]:
    """The states of a run, by the definition of a step."""
    run = [model.initial_states[initial]]
    for step in taken:
        after = fire(model, model.steps[step], run[-1])
        assert not isinstance(after, Disabled), after
        run.append(after)
    return run


def violation(model: Model, name: str, exploration: Exploration | None = None) -> Counterexample:
    """The counterexample of a property, after seeing that it is one."""
    verdict = (exploration or explore(model)).verdicts[name]
    assert isinstance(verdict, Violated), verdict
    found = verdict.counterexample
    run = follow(model, found.initial, found.steps)
    if found.loop is not None:
        assert run[found.loop] == run[-1]
        assert found.loop < found.length
        assert naive.fair(model, frozenset(run[found.loop :]), frozenset(found.steps[found.loop :]))
    else:
        (asked,) = (of for of in model.properties if of.name == name)
        breaches = [predicate.check(tuple(run[-1][slot] for slot in predicate.reads)) for predicate in asked.predicates]
        assert next(filter(None, breaches)) == found.breach
    return found


# ---- counts ----


LARGE = pytest.param(6, 50_816, 402_305, 19, marks=pytest.mark.slow)


@pytest.mark.parametrize(("rms", "states", "transitions", "depth"), [(3, 288, 1_145, 10), (5, 8_832, 58_145, 16), LARGE])
def test_two_phase_commit_has_its_published_counts(rms: int, states: int, transitions: int, depth: int) -> None:
    model = TwoPhase(rms).model()
    exploration = explore(model)
    assert exploration.counts == verdicts.Counts(states, transitions, depth, quiescent=states)
    assert exploration.verdicts == {"consistent": Holds()}
    assert (exploration.complete, exploration.interrupted, exploration.unfired) == (True, False, ())
    assert sum(exploration.steps_by_action.values()) == transitions
    assert list(exploration.steps_by_action) == list(dict.fromkeys(step.action for step in model.steps))


def test_steps_that_change_nothing_or_lead_to_the_same_state_are_transitions() -> None:
    exploration = explore(digraph([(0, 0), (0, 1), (0, 1), (2, 0)]))
    assert (exploration.counts.states, exploration.counts.transitions, exploration.counts.depth) == (2, 3, 1)
    assert exploration.unfired == (3,)


def test_an_action_that_never_fires_is_listed() -> None:
    assert explore(ping_pong()).steps_by_action == {"hit": 2, "hear": 0, "close": 0}


def test_quiescent_states_are_those_with_all_slots_idle() -> None:
    model = lossy_channel(2, 1)
    assert explore(model).counts.quiescent == naive.explore(model).quiescent == 6


def test_equal_initial_states_are_one_and_no_initial_state_is_no_state() -> None:
    assert explore(digraph([], initial=(4, 4, 5))).counts.states == 2
    assert explore(replace(counter(3), initial_states=())).counts == verdicts.Counts(0, 0, 0, 0)


# ---- properties of states ----


def test_a_property_of_every_state_is_violated_by_a_shortest_run() -> None:
    two_phase = TwoPhase(3)
    no_commit = never("no commit", two_phase.tm, lambda tm: tm is Tm.COMMITTED)
    model = two_phase.model(no_commit, never("no prepare", 1, lambda rm: rm is Rm.PREPARED))
    exploration = explore(model)
    assert violation(model, "no commit", exploration).length == 7  # each manager prepares and is received, then the commit
    assert violation(model, "no prepare", exploration).steps == (6,)
    assert list(exploration.verdicts) == ["consistent", "no commit", "no prepare"]


def test_what_is_left_of_a_channel_is_asked_too() -> None:
    assert violation(crane(never("b on top", 0, lambda pile: pile[:1] == ("b",))), "b on top").steps == (0,)


def test_a_breach_in_an_initial_state_has_length_zero_and_names_the_state() -> None:
    model = digraph([(0, 1), (0, 3)], never("not three", 0, lambda node: node == 3), initial=(0, 0, 3))
    assert violation(model, "not three") == Counterexample(2, (), None, Breach("bad", (("value", "3"),)))


def test_a_property_of_quiescent_states_is_asked_in_these_alone() -> None:
    always, silent = (replace(arrived(2, scope), name=scope.value) for scope in (Scope.EVERY_STATE, Scope.QUIESCENT))
    lossless = lossy_channel(2, 0, always, silent)
    assert violation(lossless, Scope.EVERY_STATE.value).steps == (1,)
    assert explore(lossless).verdicts[Scope.QUIESCENT.value] == Holds()
    assert violation(lossy_channel(2, 1, silent), Scope.QUIESCENT.value).steps == (1, 2)


def test_a_property_of_runs_is_asked_in_quiescent_states_with_the_budget_spent() -> None:
    assert violation(lossy_channel(2, 1, arrived(2, Scope.RUN)), "arrived").length == 4  # send, lose, send, deliver: nothing is left then
    assert explore(lossy_channel(2, 0, arrived(2, Scope.RUN))).verdicts == {"arrived": Holds()}


def test_the_breach_is_that_of_the_first_predicate() -> None:
    one, other = (Predicate((0,), partial(lambda word, values: Breach(word) if values[0] == 2 else None, word)) for word in ("one", "other"))
    model = counter(3, Property("p", Scope.EVERY_STATE, (one, other)))
    assert violation(model, "p") == Counterexample(0, (1,), None, Breach("one"))


# ---- footprints ----


def test_a_selector_chooses_what_is_taken() -> None:
    heap = 3
    mixed, late = never("mixed", heap, lambda load: load == ("a", "c")), never("late", heap, lambda load: load == ("c", "a"))
    model = crane(mixed, late)
    exploration = explore(model)
    assert violation(model, "mixed", exploration).steps == (0, 1, 0)
    assert exploration.verdicts["late"] == Holds()
    assert exploration.counts.states == len(naive.explore(model).depth)


def test_a_step_that_waits_for_silence_fires_in_quiescent_states_alone() -> None:
    closed = never("open", 4, lambda left: left == 0)
    model = ping_pong(closed, whistle=True, closing=True)
    assert violation(model, "open").length == 3  # hear, hit (the ball is kept), close
    assert explore(ping_pong(closed, closing=True)).verdicts == {"open": Holds()}


# ---- cycles ----


@pytest.mark.parametrize(
    ("model", "steps", "loop"),
    [
        pytest.param(ping_pong(ENDLESS), (0, 1), 0, id="to and fro"),
        pytest.param(digraph([(0, 1), (1, 1)], ENDLESS), (0, 1), 1, id="a step to the same state"),
        pytest.param(digraph([(0, 1), Edge(1, 1, serves=1)], ENDLESS, raised={1: frozenset({1})}), (0, 1), 1, id="served"),
        pytest.param(digraph([(0, 1), (1, 0)], ENDLESS, raised={1: frozenset({1})}), (0, 1), 0, id="idle once"),
        pytest.param(
            digraph([(0, 1), (1, 0), (1, 2), Edge(2, 0, serves=1)], ENDLESS, raised=dict.fromkeys(range(3), frozenset({1}))),
            (0, 2, 3),
            0,
            id="the shorter turn serves nothing",
        ),
        pytest.param(
            digraph([Edge(0, 1, 1), (1, 0), Edge(0, 2, 2), (2, 0)], ENDLESS, raised=dict.fromkeys(range(3), frozenset({1, 2}))),
            (0, 1, 2, 3),
            0,
            id="two loops make one turn",
        ),
        pytest.param(digraph([(0, 1), (1, 2), (2, 3), (3, 0), (1, 4), (4, 5), (5, 4)], ENDLESS), (0, 1, 2, 3), 0, id="equal: the first found"),
        pytest.param(digraph([(0, 1), (1, 0), (0, 2), (2, 3), (3, 0)], ENDLESS, unspent=frozenset({1})), (2, 3, 4), 0, id="not by way of a budget"),
        pytest.param(digraph([(0, 1), (1, 0), (0, 2), (2, 3), (3, 2), (3, 1)], ENDLESS, unspent=frozenset({0, 1})), (2, 3, 4), 1, id="by budgets"),
        pytest.param(digraph([(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (4, 4)], ENDLESS, initial=(6, 0)), (0, 1, 2, 3), 0, id="another start"),
        pytest.param(digraph([(0, 1), (1, 2), (2, 3), (3, 0), (1, 4), (4, 4)], ENDLESS), (0, 4, 5), 2, id="longer way, shorter turn"),
    ],
)
def test_a_fair_cycle_violates_with_the_shortest_stem_and_turn(model: Model, steps: tuple[int, ...], loop: int) -> None:
    found = violation(model, ENDLESS.name)
    assert (found.steps, found.loop) == (steps, loop)
    assert found.breach.conjunct == "a run goes on for ever"
    assert dict(found.breach.values)["turn"] == ", ".join(str(model.steps[step]) for step in steps[loop:])


@pytest.mark.parametrize(
    ("model", "unfair", "waiting"),
    [
        pytest.param(ping_pong(ENDLESS, whistle=True), 1, 0, id="the whistle must be heard"),
        pytest.param(digraph([(0, 1), (1, 1)], ENDLESS, raised={1: frozenset({1})}), 1, 0, id="a step to the same state"),
        pytest.param(digraph([(0, 0), Edge(0, 1, serves=1)], ENDLESS, raised={0: frozenset({1})}), 1, 0, id="served by leaving"),
        pytest.param(digraph([(0, 1), Edge(1, 0, kind=Kind.ENVIRONMENT)], ENDLESS), 0, 0, id="closed by the environment"),
        pytest.param(digraph([(0, 1), (1, 0)], ENDLESS, unspent=frozenset({1})), 0, 0, id="in and out of the budget"),
        pytest.param(ping_pong(ENDLESS, closing=True), 0, 1, id="waits for silence"),
        pytest.param(digraph([(0, 0)], ENDLESS, unspent=frozenset({0}), raised={0: frozenset({1})}), 0, 0, id="waits, unfair"),
        pytest.param(digraph([(0, 0), Edge(0, 1, kind=Kind.ENVIRONMENT)], ENDLESS, unspent=frozenset({0})), 0, 0, id="the environment may end it"),
        pytest.param(digraph([(0, 0), Edge(0, 1, kind=Kind.LOSS)], ENDLESS, unspent=frozenset({0})), 0, 1, id="a loss may not come"),
        pytest.param(digraph([(0, 1), (0, 2), (1, 3), (2, 3)], ENDLESS), 0, 0, id="acyclic"),
    ],
)
def test_other_cycles_are_counted_and_violate_nothing(model: Model, unfair: int, waiting: int) -> None:
    exploration = explore(model)
    assert exploration.verdicts == {ENDLESS.name: Holds()}
    assert (exploration.counts.unfair_cycles, exploration.counts.waiting_cycles) == (unfair, waiting)


def test_the_shorter_of_a_breach_at_the_end_and_an_endless_run_is_reported() -> None:
    edges = [(0, 1), (1, 2), (2, 1)]
    late, tied, early = (never(str(node), 0, partial(eq, node), Scope.RUN) for node in (4, 3, 2))
    model = digraph([*edges, (2, 3), (3, 4)], ENDLESS, late, tied, early)
    exploration = explore(model)
    assert [violation(model, of.name, exploration).loop for of in model.properties] == [1, 1, None, None]
    assert [violation(model, of.name, exploration).length for of in model.properties] == [3, 3, 3, 2]


def test_acyclic_graphs_do_without_networkx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)  # importing it fails
    assert explore(TwoPhase(3).model()).counts.states == 288
    with pytest.raises(ImportError):
        explore(ping_pong())


# ---- early ends ----

FAR = never("not seven", 0, lambda n: n == 7)
NEAR = never("not two", 0, lambda n: n == 2)


def rest(exploration: Exploration, *names: str) -> list[Verdict]:
    """The verdicts of these properties, of a search that did not finish."""
    assert not exploration.complete
    return [exploration.verdicts[name] for name in names]


def test_a_bound_on_states_claims_no_more_than_was_seen() -> None:
    model = counter(10, NEAR, FAR, replace(FAR, name="at rest", scope=Scope.QUIESCENT), ENDLESS)
    exploration = explore(model, max_states=4)
    within = HoldsWithin("the first 4 states, depth 2")
    assert (exploration.counts.states, exploration.counts.depth, exploration.interrupted) == (4, 2, False)
    assert rest(exploration, "not seven", "at rest", ENDLESS.name) == [within, within, Unknown("liveness is never claimed on a truncated graph")]
    assert violation(model, "not two", exploration).length == 1


@pytest.mark.parametrize(("bound", "states", "complete"), [(0, 1, False), (2, 5, False), (5, 11, False), (6, 11, True)])
def test_a_bound_on_depth_explores_what_is_nearer(bound: int, states: int, complete: bool) -> None:
    exploration = explore(counter(10), max_depth=bound)
    assert (exploration.counts.states, exploration.counts.depth, exploration.complete) == (states, min(bound, 5), complete)


def test_a_bound_that_is_not_reached_changes_nothing() -> None:
    assert explore(counter(10, FAR), max_states=11).complete
    assert not explore(counter(10), max_states=10).complete
    assert f"the first {1000:,} states" in str(explore(TwoPhase(5).model(), max_states=1000).verdicts["consistent"])


def test_no_cycle_is_sought_on_a_truncated_graph() -> None:
    model = digraph([(0, 0), (0, 1), (1, 2)], ENDLESS)
    assert rest(explore(model, max_states=2), ENDLESS.name) == [Unknown("liveness is never claimed on a truncated graph")]
    assert violation(model, ENDLESS.name).steps == (0,)


def test_first_stops_at_the_first_breach_that_decides() -> None:
    aside = replace(NEAR, name="aside", decisive=False)
    model = counter(10, aside, FAR, never("not ten", 0, lambda n: n == 10))
    exploration = explore(model, first=True)
    assert [violation(model, name, exploration).length for name in ("aside", "not seven")] == [1, 4]
    assert rest(exploration, "not ten") == [HoldsWithin("the first 8 states, depth 4")]
    assert explore(counter(10, aside), first=True).complete


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that advances 30 ms whenever it is read."""
    ticks = count()
    monkeypatch.setattr(reference, "monotonic", lambda: next(ticks) * 0.03)


@pytest.mark.usefixtures("clock")
def test_progress_is_reported_ten_times_a_second_at_most() -> None:
    reports = list[Progress]()
    exploration = explore(TwoPhase(3).model(), observe=reports.append)
    assert len(reports) > 20
    assert all(later.seconds - earlier.seconds >= 0.1 for earlier, later in pairwise(reports))
    assert (reports[0].states, reports[0].transitions, reports[0].frontier, reports[0].depth) == (1, 0, 1, 0)
    assert (reports[-1].states, reports[-1].depth) == (288, 9)  # its last level is being found
    assert reports[-1].transitions < exploration.counts.transitions
    assert exploration.seconds > reports[-1].seconds


@pytest.mark.usefixtures("clock")
def test_an_interrupt_returns_what_was_found() -> None:
    def interrupt(progress: Progress) -> None:
        if progress.states > 5:
            raise KeyboardInterrupt

    model = counter(30, NEAR, FAR, never("not thirty", 0, lambda n: n == 30), ENDLESS)
    exploration = explore(model, observe=interrupt)
    assert exploration.interrupted
    assert 5 < exploration.counts.states < 30
    assert violation(model, "not two", exploration).length == 1
    assert isinstance(rest(exploration, "not thirty")[0], HoldsWithin)
    assert isinstance(rest(exploration, ENDLESS.name)[0], Unknown)


def test_an_interrupt_among_the_cycles_claims_nothing_of_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(reference, "find_cycles", interrupt)
    exploration = explore(counter(3, ENDLESS))
    assert exploration.interrupted
    assert isinstance(rest(exploration, ENDLESS.name)[0], Unknown)


def test_a_step_that_raises_is_named_with_the_shortest_run_to_it() -> None:
    model = counter(5, fails_at=3)
    exploration = explore(model)
    failed = exploration.failed
    assert failed is not None
    assert not exploration.complete
    assert str(failed) == "add(1) raised ZeroDivisionError after 2 steps: a defect of the model"
    assert follow(model, failed.initial, failed.steps) == [(0,), (1,), (3,)]
    assert (failed.index, failed.step) == (0, model.steps[0])
    assert isinstance(failed.cause, ZeroDivisionError)


@pytest.mark.parametrize("effect", [Effect(()), Effect((1,), ((1, ("word",)),))], ids=["too few values", "an append that is not declared"])
def test_an_effect_that_does_not_fit_the_footprint_is_refused(effect: Effect) -> None:
    model = ping_pong()
    broken = replace(model.steps[0], react=lambda head, values: effect, fixed=Footprint(0, (3,), ()))
    with pytest.raises(FootprintError) as defined:
        fire(model, broken, model.initial_states[0])
    failed = explore(replace(model, steps=(broken,))).failed
    assert failed is not None
    assert isinstance(failed.cause, FootprintError)
    assert str(failed.cause) == str(defined.value)


# ---- agreement with the definition ----


@settings(max_examples=100, deadline=None)
@given(random_models.models())
def test_it_agrees_with_a_naive_search_over_fire(model: Model) -> None:
    exploration, seen = explore(model), naive.explore(model)
    fair, unfair, waiting = naive.cycles(model, seen)
    assert exploration.complete
    assert exploration.counts == verdicts.Counts(len(seen.depth), len(seen.edges), max(seen.depth.values()), seen.quiescent, unfair, waiting)
    assert exploration.unfired == tuple(sorted(set(range(len(model.steps))) - {step for _, step, _ in seen.edges}))
    for of in model.properties:
        nearest = seen.nearest.get(of.name)
        if nearest is None and not (fair and of.scope is Scope.RUN):
            assert exploration.verdicts[of.name] == Holds()
            continue
        found = violation(model, of.name, exploration)
        if found.loop is None:
            assert found.length == nearest
        else:
            assert of.scope is Scope.RUN
            assert fair
            assert nearest is None or found.length < nearest


@settings(max_examples=150, deadline=None)
@given(random_models.digraphs())
def test_its_endless_runs_are_shortest(model: Model) -> None:
    exploration, seen = explore(model), naive.explore(model)
    fair, unfair, waiting = naive.cycles(model, seen)
    assert (exploration.counts.unfair_cycles, exploration.counts.waiting_cycles) == (unfair, waiting)
    length = naive.shortest_lasso(model, seen)
    assert (length is None) == (fair == 0)
    if length is None:
        assert exploration.verdicts == {ENDLESS.name: Holds()}
    else:
        assert violation(model, ENDLESS.name, exploration).length == length


SAME = """
from dataclasses import replace
from roamcheck.checker.engines.reference import explore
from support.toys import TwoPhase, never
two_phase = TwoPhase(3)
print(replace(explore(two_phase.model(never("no commit", two_phase.tm, lambda tm: tm.value == "committed"))), seconds=0))
"""


def test_the_answer_does_not_depend_on_how_python_hashes() -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    answers = {
        subprocess.run([sys.executable, "-c", SAME], env=environment | {"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True).stdout
        for seed in ("1", "2", "3")
    }
    assert len(answers) == 1
    assert "Violated" in answers.pop()


def test_it_stays_small() -> None:
    assert len(Path(reference.__file__).read_text(encoding="utf-8").splitlines()) < 250
