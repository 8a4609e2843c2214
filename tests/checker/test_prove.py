"""Local properties for any run length: proved where they hold, refuted by a reaction that the pure functions confirm where they do not."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roamcheck.checker.solver import induction, proving
from roamcheck.checker.solver.asking import Undecided
from roamcheck.checker.solver.induction import BOUND, MONOTONE, ONE_NEXT_HOP, WELL_FORMED, induct, judged
from roamcheck.checker.solver.proving import PROVABLE, PROVED, REACHED, UNKNOWN, UNREACHED, Prover, as_record, asked_readings
from roamcheck.checker.solver.symbolic import Integer, Oracle, concrete, paths
from roamcheck.checker.solver.universe import B1, B2, B3, Local, Universe
from roamcheck.checker.solver.witness import Reached, reach
from roamcheck.model.interface import Disabled, fire
from roamcheck.model.questions import predicates
from roamcheck.spec.protocols import PROTOCOLS
from roamcheck.spec.readings import NAMED_SETS, PRINTED
from roamcheck.spec.state import Broker


@cache
def universe(protocol="mft-pubsub", readings="printed", bounded=False, **assumptions):
    return Universe(PROTOCOLS[protocol], NAMED_SETS[readings].with_values(PROTOCOLS[protocol].printed()), assumptions, None, bounded)


def some(found, *actions):
    """The same universe with these steps alone."""
    found = Universe(found.protocol, found.readings, found.assumptions, found.algorithms, found.bounded)
    found.__dict__["locals"] = tuple(local for local in found.locals if local.step.action in actions or str(local.step) in actions)
    assert found.locals
    return found


# ---- a symbolic reading is the function itself -------------------------------------------------------


class Drawn(Oracle):
    """Chooses as Hypothesis says, and gives every unknown the number that Hypothesis draws; Z3 then decides each comparison."""

    def __init__(self, data):
        super().__init__()
        self.data, self.numbers = data, {}

    def choose(self, options):
        return self.data.draw(st.integers(0, options - 1)) if options > 1 else 0

    def unknown(self, name):
        if name not in self.numbers:
            self.numbers[name] = self.data.draw(st.integers(-1, 4))
            x = Integer(self, ((name, 1),))
            self.at_most(x, self.numbers[name])
            self.at_most(self.numbers[name], x)
        return super().unknown(name)


@pytest.mark.parametrize("readings", NAMED_SETS)
@pytest.mark.parametrize("protocol", ["mft-pubsub", "modular", "phoenix-2016"])
@given(data=st.data())
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
def test_unknown_integers_that_are_pinned_go_the_way_of_plain_ones(protocol, readings, data):
    u = universe(protocol, readings)
    local = data.draw(st.sampled_from(u.locals))
    overlays, oracle = u.overlays_for(local.step), Drawn(data)
    frame = u.frame(local, oracle, overlays) if overlays else None
    if frame is None:
        return
    effect = local.step.react(frame.head, tuple(frame.values[slot] for slot in frame.reads))
    plain = {slot: concrete(value, oracle.numbers) for slot, value in frame.values.items()}
    again = local.step.react(concrete(frame.head, oracle.numbers), tuple(plain[slot] for slot in frame.reads))
    if isinstance(effect, Disabled):
        assert effect == again
        return
    assert concrete(effect.values, oracle.numbers) == again.values
    assert concrete(effect.appended, oracle.numbers) == again.appended


# ---- what the universe leaves out --------------------------------------------------------------------


def settled_frame(u, local, oracle, overlay):
    frame = u.frame(local, oracle, (overlay,))
    return None if frame is None else {slot: concrete(value, oracle.numbers) for slot, value in frame.values.items()}


@given(data=st.data())
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
def test_a_broker_does_not_see_the_state_of_another(data):
    """One broker is in every state and the others are bare: so what happens to it must be the same whatever they hold."""
    u = universe("mft-pubsub", data.draw(st.sampled_from(list(NAMED_SETS))))
    local = data.draw(st.sampled_from([one for one in u.locals if one.step.action in ("link-down", "migrate", "merge", "crash")]))
    overlay = data.draw(st.sampled_from(u.overlays_for(local.step)))
    values = settled_frame(u, local, Drawn(data), overlay)
    if values is None:
        return
    other = data.draw(st.sampled_from([b for b in (B1, B2, B3) if b != local.focus]))
    changed = {**values, u.world.broker[other]: concrete(u.broker(other, oracle := Drawn(data), None), oracle.numbers)}
    one, two = (fire(u.model, local.step, u.state(v)) for v in (values, changed))
    assert not isinstance(one, Disabled)
    assert not isinstance(two, Disabled)
    slot = u.world.broker[local.focus]
    assert one[slot] == two[slot]


@given(data=st.data())
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
def test_overlays_of_one_kind_make_no_difference_to_a_broker(data):
    u = universe("mft-pubsub", data.draw(st.sampled_from(list(NAMED_SETS))))
    local = data.draw(st.sampled_from([one for one in u.locals if one.step.action in ("link-down", "migrate", "merge", "turn")]))
    step = local.step
    overlay = data.draw(st.sampled_from(u.overlays))
    footprint = step.select(overlay)
    if isinstance(footprint, Disabled):
        return

    def kind(o):
        turn = (o.next_turns().get(B1), o.neighbours(B1)) if step.action == "turn" else None
        return step.select(o), o.parent(B1) if step.action != "link-down" else None, turn

    alike = next(o for o in u.overlays_for(step) if kind(o) == kind(overlay))
    values = settled_frame(u, local, Drawn(data), alike)
    if values is None:
        return
    one = step.react(None, tuple(values[slot] for slot in footprint.reads))
    two = step.react(None, tuple({**values, u.world.overlay: overlay}[slot] for slot in footprint.reads))
    assert [v for v in one.values if isinstance(v, Broker)] == [v for v in two.values if isinstance(v, Broker)]
    assert one.appended == two.appended


def test_every_kind_of_step_is_there():
    u = universe("mft-pubsub", bounce="later")
    assert {local.step.action for local in u.locals} == {step.action for step in u.model.steps}
    touched = {slot for step in u.model.steps for slot in step.fixed.reads}
    assert u.world.broker[B1] in touched
    assert Local(next(s for s in u.model.steps if str(s) == "migrate(b1, b2)"), B3) in u.locals


# ---- induction ---------------------------------------------------------------------------------------


def test_what_is_simple_is_proved_in_full():
    proofs = {p.property: p for p in Prover().prove("simple-routing", *asked_readings("printed", {}, "simple-routing"))}
    assert proofs[WELL_FORMED].verdict == PROVED
    assert proofs[WELL_FORMED].paths > 1000
    assert {name: p.verdict for name, p in proofs.items() if name != WELL_FORMED} == dict.fromkeys(PROVABLE[1:], "not-applicable")


def test_a_sub_from_elsewhere_breaks_one_next_hop_and_fire_confirms_it():
    found = induct(some(universe("phoenix-2016"), "deliver(b2, b1)"), (ONE_NEXT_HOP,))
    (example,) = found.counterexamples.values()
    assert example.reaction == "SUB from a broker"
    assert fire(example.model, example.step, example.before) == example.after
    world = universe("phoenix-2016").world
    broken = [ask.check(tuple(example.after[slot] for slot in ask.reads)) for ask in predicates(world, ONE_NEXT_HOP)]
    held = [ask.check(tuple(example.before[slot] for slot in ask.reads)) for ask in predicates(world, ONE_NEXT_HOP)]
    assert example.breach in broken
    assert not any(held)


@pytest.mark.parametrize("bounded", [False, True])
def test_messages_of_clients_preserve_all_that_is_asked_but_one_next_hop(bounded):
    wanted = (BOUND,) if bounded else (WELL_FORMED, MONOTONE)
    found = induct(some(universe("mft-pubsub", bounded=bounded), "deliver(s1, b1)", "deliver(b1, s1)", "attach", "subscribe"), wanted)
    assert found.counterexamples == {}
    assert found.paths["MIG from its subscriber"] > 100
    assert found.queries > 0


@pytest.mark.parametrize(
    ("mutant", "steps", "name", "own"),
    [
        ("tr19-4-l2-stamp-ahead", ("deliver(s1, b1)",), BOUND, True),
        ("tr19-4-l2-hop-not-counted", ("deliver(s1, b1)",), BOUND, True),
        ("tr19-4-l1-always", ("deliver(s1, b1)",), MONOTONE, True),
        ("tr19-4-l3-always", ("deliver(s1, b1)",), WELL_FORMED, True),
        ("tr19-5-l6-no-stamp", ("migrate",), BOUND, False),
    ],
)
def test_a_mutant_that_breaks_a_local_property_has_a_counterexample(mutant, steps, name, own):
    from roamcheck.checker.mutants import apply

    u = Universe(PROTOCOLS["mft-pubsub"], PRINTED, {}, apply(mutant), name == BOUND)
    found = induct(some(u, *steps), (name,))
    assert own in {example.own for example in found.counterexamples.values()}
    assert all(example.property == name for example in found.counterexamples.values())


@pytest.mark.parametrize(("name", "mutant"), [(MONOTONE, "tr19-4-l1-always"), (BOUND, "tr19-4-l2-stamp-ahead"), (WELL_FORMED, "tr19-4-l3-always")])
def test_the_explorer_reaches_what_a_mutant_breaks(name, mutant):
    found = reach(name, "mft-pubsub", PRINTED, mutant, None, lambda text: None)
    assert isinstance(found, Reached)
    assert found.radio == "reliable"


def test_out_of_time_is_unknown_and_never_proved():
    (proof,) = Prover(deadline=0.0).prove("modular", *asked_readings("printed", {}, "modular"), [WELL_FORMED])
    assert proof.verdict == UNKNOWN
    assert proof.why == "out of time"


def test_what_was_seen_before_the_time_was_up_is_told(monkeypatch):
    def cut_short(universe, wanted, oracle, observe, found):
        induct(universe, wanted, oracle, observe, found)
        raise Undecided("out of time")

    monkeypatch.setattr(proving, "induct", cut_short)
    (proof,) = Prover().prove("modular-2016", *asked_readings("printed", {}, "modular-2016"), [ONE_NEXT_HOP])
    assert proof.verdict == UNREACHED
    assert proof.why == "out of time"
    assert proof.counterexamples
    assert proof.paths


def test_judging_plain_integers_is_judging_unknown_ones():
    u = some(universe("mft-pubsub", "amended", bounded=True), "deliver(s1, b1)")
    local, oracle = u.locals[0], Oracle()
    seen = 0
    for answer in paths(lambda o: induction.reaction(u, local, o, u.overlays_for(local.step), (BOUND,)), oracle):
        if answer is not None and seen < 200:
            frame, findings = answer
            solution = oracle.solution()
            values = {slot: concrete(value, solution) for slot, value in frame.values.items()}
            effect = local.step.react(concrete(frame.head, solution), tuple(values[slot] for slot in frame.reads))
            change = induction.changed(u.places, local.step, frame.reads, values, effect)
            assert [name for name, _ in judged(change, (BOUND,))] == [name for name, _ in findings]
            seen += 1
    assert seen == 200


# ---- the command -------------------------------------------------------------------------------------


def roamcheck(*words):
    return subprocess.run([sys.executable, "-m", "roamcheck", *words], capture_output=True, text=True, check=False)


def test_prove_prints_a_table_and_its_universe():
    ran = roamcheck("prove", "simple-routing")
    assert ran.returncode == 0, ran.stderr
    assert "proved" in ran.stdout
    assert "for runs of any length" in ran.stdout
    assert "names no subscriber" in ran.stdout or "name no subscriber" in ran.stdout


def test_prove_shows_the_reaction_and_the_run_that_reaches_it():
    ran = roamcheck("prove", "modular-2016", "--property", "one-next-hop")
    assert ran.returncode == 1, ran.stderr
    assert "cut-off-while-subscribing, 6 steps" in ran.stdout
    assert "takes SUB(" in ran.stdout
    assert "fails   all entries of a subscriber have the same interface" in ran.stdout


def test_prove_as_json():
    ran = roamcheck("prove", "simple-routing", "--readings", "amended", "--json", "-")
    records = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [record["property"] for record in records] == list(PROVABLE)
    assert records[0]["verdict"] == "proved"
    assert records[0]["strengthening"]


def test_filters_are_compared():
    ran = roamcheck("prove", "--filters", "hot-and-cold", "--json", "-")
    assert ran.returncode == 0, ran.stderr
    assert {json.loads(line)["relation"] for line in ran.stdout.splitlines()} == {"overlaps"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["mqtt"], "no protocol is called 'mqtt'"),
        (["--property", "no-duplicate"], "no property that can be proved is called 'no-duplicate'"),
        (["--readings", "mine"], "no set of readings is called 'mine'"),
        (["--reading", "queue=none"], "reading queue has no value 'none'"),
        (["--mutant", "nobody"], "no mutant is called 'nobody'"),
        (["phoenix", "--mutant", "tr19-6-l16-never"], "changes nothing that phoenix runs"),
        (["--timeout", "0"], "0"),
        (["--filters", "nosuch"], "no such file"),
    ],
)
def test_bad_input_is_one_line(words, says):
    ran = roamcheck("prove", *words)
    assert ran.returncode == 2
    assert ran.stderr.startswith("roamcheck: error: ")
    assert says in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("readings", NAMED_SETS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_everything_is_decided(protocol, readings):
    for proof in Prover().prove(protocol, *asked_readings(readings, {}, protocol)):
        expected = "not-applicable" if proof.paths == 0 else REACHED if proof.property == ONE_NEXT_HOP else PROVED
        assert proof.verdict == expected, proof.property
        assert proof.rests_on == ()
        assert as_record(proof)["verdict"] == expected
