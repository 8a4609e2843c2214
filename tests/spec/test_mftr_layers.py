"""The optional layers of the repaired protocol: acknowledged links for a radio that loses messages unseen, custody for brokers that forget."""

from __future__ import annotations

from dataclasses import replace

import pytest

from roamcheck.checker.check import Answer, Limits, answer
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import QuestionError, question
from roamcheck.checker.replay import replay
from roamcheck.checker.trace import dumps, loads
from roamcheck.checker.verdict import Holds, Violated
from roamcheck.model.build import build
from roamcheck.spec import custody, frames
from roamcheck.spec.arrow_state import ArrowBroker, Kept
from roamcheck.spec.frames import FRESH, Line, Taken, acknowledged, send, take
from roamcheck.spec.messages import LOST, Ack, Done, Frame, Pub, PubFor, Turn
from roamcheck.spec.readings import REPAIRED
from roamcheck.spec.state import Send

ONE, TWO, THREE = Turn(("s1",)), Turn(("s2",)), Turn(("s3",))  # type: ignore[arg-type]


def asked(
    scenario: str, layer: str | None, engine: str = "tabled", losses: int | None = None, repeats: int | None = None, **assumptions: str
) -> Answer:
    reading = {layer: "on"} if layer is not None else {}
    limits = Limits(reductions=frozenset()) if engine == "tabled" else None
    given = question(load_scenario(scenario), protocol=REPAIRED, reading=reading, assumptions=assumptions, losses=losses, repeats=repeats)
    return answer(given, engine=engine, limits=limits)


def violated(given: Answer) -> set[str]:
    assert given.exploration is not None
    assert given.exploration.complete
    return {name for name, verdict in given.verdicts.items() if isinstance(verdict, Violated)} - {"publisher-order"}


# ---- one end of a link -------------------------------------------------------------------------------


def test_frames_are_numbered_and_kept_until_an_acknowledgement_goes_beyond_them() -> None:
    line, first = send(FRESH, ONE)
    line, second = send(line, TWO)
    assert (first, second) == (Frame(1, ONE), Frame(2, TWO))
    assert line.frames() == (first, second)
    line = acknowledged(replace(line, due=True), Ack(2))
    assert (line.frames(), line.due) == ((second,), True)
    assert acknowledged(line, Ack(1)) == line  # an old one says nothing new
    line = acknowledged(line, Ack(3))
    assert (line.frames(), line.due) == ((), False)
    assert send(line, THREE)[1] == Frame(3, THREE)


def test_a_frame_out_of_turn_is_thrown_away_and_what_has_been_taken_is_acknowledged() -> None:
    taken = take(FRESH, Frame(2, TWO))
    assert taken == (FRESH, Ack(1), None)
    taken = take(FRESH, Frame(1, ONE))
    assert taken == (replace(FRESH, expected=2), Ack(2), ONE)
    assert take(taken.line, Frame(1, ONE)) == (taken.line, Ack(2), None)  # again


# ---- custody -----------------------------------------------------------------------------------------


def test_what_is_in_custody_moves_on_comes_back_and_is_settled_towards_where_it_came_from() -> None:
    i = custody.hold(ArrowBroker("b1", ("b2", "b3"), (), ()), "e1", "s1", "b2", LOST).enqueued("e1", "s1")  # type: ignore[arg-type]
    assert custody.comes_back(i, "b3") == ()  # type: ignore[arg-type]
    i = custody.passed_on(i, "e1", "s1", LOST, "b3")  # type: ignore[arg-type]
    assert i.custody == (Kept("e1", "s1", "b2", "b3"),)  # type: ignore[arg-type]
    assert custody.comes_back(i, "b3") == (PubFor("e1", ("s1",)),)  # type: ignore[arg-type]
    settled = custody.settle(i, "e1", "s1")  # type: ignore[arg-type]
    assert settled.sends == (Send("b2", Done("e1", "s1")),)  # type: ignore[arg-type]
    assert (settled.broker.queues, settled.broker.custody) == ((), ())  # type: ignore[attr-defined]
    assert custody.settle(i.unlinked("b2"), "e1", "s1").sends == ()  # type: ignore[arg-type]


# ---- what they are for -------------------------------------------------------------------------------


@pytest.mark.parametrize("scenario", ["hunt-lost-control", "loss-silent-event"])
def test_a_silent_loss_does_no_harm_with_acknowledged_links_and_does_without(scenario: str) -> None:
    assert violated(asked(scenario, None))
    assert violated(asked(scenario, "custody"))
    assert not violated(asked(scenario, "acknowledged-links"))


@pytest.mark.slow
def test_nor_does_the_silent_loss_of_any_message_of_a_client_or_its_broker() -> None:
    assert violated(asked("loss-silent-control", None)) == {"routing-converged", "no-routing-loop"}
    assert not violated(asked("loss-silent-control", "acknowledged-links"))


@pytest.mark.parametrize("scenario", ["client-migration", "merge-below-a-crash", "migrate-to-strangers"])
def test_any_frame_or_acknowledgement_may_be_lost(scenario: str) -> None:
    assert not violated(asked(scenario, "acknowledged-links", losses=1, radio="silent", bounce="later"))


@pytest.mark.parametrize("scenario", ["broker-migration", "client-there-and-back", "loss-silent-event", "publish-while-cut"])
@pytest.mark.parametrize("repeats", [1, 2])
def test_a_timer_may_run_out_too_early(scenario: str, repeats: int) -> None:
    once, given = asked(scenario, "acknowledged-links"), asked(scenario, "acknowledged-links", repeats=repeats)
    assert not violated(given)
    assert given.exploration.counts.states > once.exploration.counts.states  # type: ignore[union-attr]


def test_what_is_repeated_is_told_by_its_number_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def credulous(line: Line, frame: Frame) -> Taken:
        return Taken(replace(line, expected=frame.number + 1), Ack(frame.number + 1), frame.message)

    monkeypatch.setattr(frames, "take", credulous)
    assert not violated(asked("client-there-and-back", "acknowledged-links"))
    assert violated(asked("client-there-and-back", "acknowledged-links", repeats=1)) == {"arrow"}


def test_repeats_need_acknowledged_links() -> None:
    with pytest.raises(QuestionError, match="nothing is repeated unless links are acknowledged: add --reading acknowledged-links=on"):
        question(load_scenario("free-star"), protocol=REPAIRED, repeats=1)


@pytest.mark.parametrize("assumptions", [{}, {"bounce": "later"}, {"client-links": "instant"}, {"in-flight": "lost"}])
def test_an_event_survives_a_volatile_crash_with_custody_alone(assumptions: dict[str, str]) -> None:
    if assumptions.get("bounce") != "later":  # what a broker learns after its crash, this one still remembers
        assert violated(asked("crash-volatile", "acknowledged-links", **assumptions)) == {"delivered", "eventual-delivery"}
    assert not violated(asked("crash-volatile", "custody", **assumptions))


@pytest.mark.parametrize(("scenario", "layer"), [("broker-migration-publish-late-return", "custody"), ("loss-silent-event", "acknowledged-links")])
def test_all_engines_agree_on_layers(scenario: str, layer: str) -> None:
    repeats = 1 if layer == "acknowledged-links" else None
    tabled, reference = (asked(scenario, layer, engine, repeats=repeats).exploration for engine in ("tabled", "reference"))
    assert tabled is not None
    assert reference is not None
    counts = [(of.counts.states, of.counts.transitions, of.counts.depth, of.counts.quiescent) for of in (tabled, reference)]
    assert counts[0] == counts[1]
    assert counts[0][0] > asked(scenario, None).exploration.counts.states  # type: ignore[union-attr]


@pytest.mark.parametrize("layer", ["acknowledged-links", "custody"])
def test_a_layer_takes_no_symmetry_and_its_traces_are_replayed(layer: str) -> None:
    scenario = "crash-volatile" if layer == "acknowledged-links" else "loss-silent-event"
    given = asked(scenario, layer)
    assert build(given.question.world()).symmetries() == ()
    trace = loads(dumps(given.traces["delivered"]), where="trace")
    assert replay(trace).header.readings.value(layer) == "on"
    messages = [step.message for step in trace.steps if step.message is not None]
    assert messages
    if layer == "acknowledged-links":
        assert any(isinstance(m, Frame) and isinstance(m.message, Pub | PubFor) for m in messages)


@pytest.mark.parametrize("layer", ["acknowledged-links", "custody"])
def test_a_layer_asked_of_a_protocol_that_has_none_is_refused_in_one_line(layer: str) -> None:
    with pytest.raises(QuestionError, match=f"reading {layer} is one of mft-pubsub-r alone, not of modular; leave it off"):
        question(load_scenario("free-star"), protocol="modular", reading={layer: "on"})
    assert all(isinstance(v, Holds) for v in asked("broker-migration", layer).verdicts.values() if not hasattr(v, "why"))
