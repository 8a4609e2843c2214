"""Each property of semantics section 6, conjunct by conjunct: a state that reaches the premise and keeps it, one that breaches it, and what is said.

The properties are asked as an engine asks them: bound to the slots of a model, of a whole state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from roamcheck.checker.check import answer
from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.checker.verdict import Holds, Violated
from roamcheck.model.interface import Model, Scope, State
from roamcheck.model.scenario import parse_scenario
from roamcheck.spec.messages import (
    LOST,
    Bmig,
    BmigModular,
    BmigOnce,
    Bquery,
    BqueryNumber,
    Bsub,
    BsubClaim,
    Btab,
    Entry,
    Filters,
    Fmig,
    Mig,
    Numbered,
    Pub,
    PubFor,
    Rep,
    Stamped,
    Sub,
    SubSince,
    Timestamp,
    Turn,
    Uns,
    UnsSince,
)
from roamcheck.spec.properties import PROPERTIES, not_applicable
from roamcheck.spec.protocols import PROTOCOLS

SCENARIO = """\
format = "roamcheck-scenario/1"
name = "settled"
title = "a chain b1–b2–b3, and b4 by itself"
network = { brokers = ["b1", "b2", "b3", "b4"], leaders = ["b1", "b4"], links = [["b1", "b2"], ["b2", "b3"]] }
filters = { f1 = { x = 1 }, f2 = { y = 1 } }
subscribers = { s1 = { at = "b1", filters = ["f1"] }, s2 = { at = "b3", filters = ["f1", "f2"] } }
publishers.p1 = { at = "b2" }
events.e1 = { from = "p1", attributes = { x = 1 } }
events.e2 = { from = "p1", attributes = { y = 1 } }
assume.bounce = "later"
"""
Edit = Callable[[Any], Any]
Edits = dict[str, Edit]


@cache
def model(protocol: str) -> Model:
    return question(parse_scenario(SCENARIO, where="settled"), protocol=protocol).model()


def edited(protocol: str, edits: Edits) -> State:
    """The settled start with some slots changed."""
    state = list(model(protocol).initial_states[0])
    for name, edit in edits.items():
        slot = model(protocol).layout.index(name)
        state[slot] = edit(state[slot])
    return tuple(state)


def breaches(name: str, protocol: str, edits: Edits) -> list[str]:
    state = edited(protocol, edits)
    (bound,) = [one for one in model(protocol).properties if one.name == name]
    asked = [predicate.check(tuple(state[slot] for slot in predicate.reads)) for predicate in bound.predicates]
    return [str(breach) for breach in asked if breach is not None]


def put(**changes: Any) -> Edit:
    return lambda value: replace(value, **changes)


def entry(*added: str) -> Edit:
    """More entries, as "f1 b2 s1"."""
    return lambda i: replace(i, routing=tuple(sorted((*i.routing, *(Entry(*text.split(" ")) for text in added)))))


def route(hop: str, s: str = "s1") -> Edit:
    return lambda i: i.rerouted(s, hop)


def hear(s: str, t: int, h: int) -> Edit:
    return lambda i: i.heard(s, t, h)


def unheard(s: str) -> Edit:
    return lambda i: replace(i, timestamps=tuple(item for item in i.timestamps if item[0] != s))


def forget(s: str = "s1") -> Edit:
    return lambda i: i.without_entries(s)


def keep(s: str, *events: str) -> Edit:
    return lambda i: i.with_queue(s, events)


def both(*edits: Edit) -> Edit:
    def edit(value: Any) -> Any:
        for one in edits:
            value = one(value)
        return value

    return edit


def way(*messages: Any) -> Edit:
    return lambda old: messages


PUBLISHED = put(published=("e1", "e2"))
AWAY = put(attached=False)
CUT = {"(overlay)": lambda overlay: overlay.without_link("b1", "b2")}
ARROW_SAYS = "one end of each link points over it, or one reversal is on its way; "
MFT, STATIC, REPAIRED = "mft-pubsub", "simple-routing", "mft-pubsub-r"

# property, protocol, what is kept, what breaches, what the breach says
CONJUNCTS: list[tuple[str, str, Edits, Edits, str]] = [
    # -- well-formed
    ("well-formed", MFT, {"b4": entry("f1 b1 s1")}, {"b4": entry("f9 b1 s1")},
     "an entry names things that exist; broker = b4; entry = (f9, b1, s1)"),
    ("well-formed", MFT, {"b4": entry("f1 b1 s1")}, {"b4": entry("f1 b9 s1")},
     "an entry names things that exist; broker = b4; entry = (f1, b9, s1)"),
    ("well-formed", MFT, {"b4": entry("f1 b1 s1")}, {"b4": entry("f1 b1 s9")},
     "an entry names things that exist; broker = b4; entry = (f1, b1, s9)"),
    ("well-formed", STATIC, {"b4": entry("f1 s1 ")}, {"b4": entry("f1 s1 s1")},
     "an entry names things that exist; broker = b4; entry = (f1, s1, s1)"),
    ("well-formed", MFT, {"b4": entry("f1 b1 s1", "f2 b2 s1", "f1 b1 s2")}, {"b4": entry("f1 b1 s1", "f1 b2 s1")},
     "at most one entry per (f, s); broker = b4; entry = (f1, b2, s1)"),
    ("well-formed", MFT, {"b4": entry("f1 s1 s1")}, {"b4": entry("f1 s2 s1")},
     "a client interface in an entry is the entry's own subscriber; broker = b4; entry = (f1, s2, s1)"),
    ("well-formed", MFT, {"b4": hear("s1", 1, 1)}, {"b4": hear("s9", 1, 1)},
     "a timestamp names a subscriber that exists; broker = b4; T_i = s9: Timestamp(t=1, h=1)"),
    ("well-formed", MFT, {"b4": keep("s1", "e1")}, {"b4": keep("s9", "e1")}, "a queue names things that exist; broker = b4; Q_i = s9: e1"),
    ("well-formed", MFT, {"b4": keep("s1", "e1", "e2")}, {"b4": keep("s1", "e1", "e9")},
     "a queue names things that exist; broker = b4; Q_i = s1: e1, e9"),
    ("well-formed", MFT, {"returned b1→b2": way(Pub("e1", ("s1",)))}, {"returned b1→b2": way(Pub("e1", ("s9",)))},
     "a message names things that exist; message = PUB(e1)"),
    # -- the other properties of every state
    ("one-next-hop", MFT, {"b1": route("b2", "s2")}, {"b1": both(forget("s2"), entry("f1 b2 s2", "f2 s2 s2"))},
     "all entries of a subscriber have the same interface; broker = b1; subscriber = s2; next hops = b2, s2"),
    ("no-phantom", MFT, {"s1": put(received=("e1",)), "p1": PUBLISHED}, {"s1": put(received=("e1",))},
     "what arrives was published; subscriber = s1; event = e1"),
    ("no-phantom", MFT, {"s1": put(received=("e2",), asked=("f1", "f2")), "p1": PUBLISHED}, {"s1": put(received=("e2",)), "p1": PUBLISHED},
     "what arrives matches a filter that was asked for; subscriber = s1; event = e2; asked for = f1"),
    ("no-duplicate", MFT, {"s2": put(received=("e1", "e2"))}, {"s2": put(received=("e1", "e2", "e1"))},
     "each event arrives at most once; subscriber = s2; event = e1; received = e1, e2, e1"),
    ("timestamp-bound", MFT, {"b4": hear("s2", 2, 7)}, {"b4": hear("s2", 3, 7)},
     "T_i(s).t is at most what s has sent; broker = b4; subscriber = s2; T_i(s) = (3, 7); sent = 2"),
    ("timestamp-bound", MFT, {"b4": hear("s2", 1, 1)}, {"b4": hear("s2", 1, 0)},
     "T_i(s).h is at least 1; broker = b4; subscriber = s2; T_i(s) = (1, 0)"),
    ("publisher-order", MFT, {"s2": put(received=("e1", "e2")), "p1": PUBLISHED}, {"s2": put(received=("e2", "e1")), "p1": PUBLISHED},
     "events of one publisher arrive in the order published; subscriber = s2; publisher = p1; published = e1, e2; received = e2, e1"),
    # -- routing-converged: a filter too few, one too many, the wrong next hop; what is outside the component, or detached, is not asked
    ("routing-converged", MFT, {}, {"b3": forget("s1")},
     "every broker of the component has exactly the subscriber's filters; broker = b3; subscriber = s1; has = none; wanted = f1"),
    ("routing-converged", MFT, {"s1": put(wants=("f1", "f2")), "b1": entry("f2 s1 s1"), "b2": entry("f2 b1 s1"), "b3": entry("f2 b2 s1")},
     {"b2": entry("f2 b1 s1")},
     "every broker of the component has exactly the subscriber's filters; broker = b2; subscriber = s1; has = f1, f2; wanted = f1"),
    ("routing-converged", MFT, {"b4": entry("f2 b1 s1")}, {"s1": put(wants=()), "b1": forget(), "b3": forget()},
     "every broker of the component has exactly the subscriber's filters; broker = b2; subscriber = s1; has = f1; wanted = none"),
    ("routing-converged", MFT, {"s1": AWAY, "b2": route("b3")}, {"b2": route("b3")},
     "the next hop is the overlay's; broker = b2; subscriber = s1; next hop = b3; overlay = b1"),
    ("routing-converged", MFT, {"b1": route("s1")}, {"b1": route("b2")},
     "the next hop is the overlay's; broker = b1; subscriber = s1; next hop = b2; overlay = s1"),
    ("routing-converged", MFT, {**CUT, "s2": AWAY, "b3": forget("s1")}, {**CUT, "s2": AWAY, "b1": forget("s1")},
     "every broker of the component has exactly the subscriber's filters; broker = b1; subscriber = s1; has = none; wanted = f1"),
    ("routing-converged", STATIC, {"b3": entry("f1 b1 ")}, {"b3": put(routing=())},
     "every broker knows each filter wanted in its component and nothing else; broker = b3; knows = none; wanted = f1, f2"),
    ("routing-converged", STATIC, {}, {"b4": entry("f1 b1 ")},
     "every broker knows each filter wanted in its component and nothing else; broker = b4; knows = f1; wanted = none"),
    ("routing-converged", STATIC, {}, {"s2": AWAY},
     "every broker knows each filter wanted in its component and nothing else; broker = b1; knows = f1, f2; wanted = f1"),
    # -- no-routing-loop: a cycle, a link that is down, a broker without an entry, a client that is not there
    ("no-routing-loop", MFT, {"b4": forget()}, {"b2": route("b3")},
     "following next hops ends at the subscriber; subscriber = s1; attached to = b1; path = b2 → b3 → b2"),
    ("no-routing-loop", MFT, {"s1": AWAY, "b2": route("b4")}, {"b2": route("b4")},
     "following next hops ends at the subscriber; subscriber = s1; attached to = b1; path = b2 → b4 (down)"),
    ("no-routing-loop", MFT, {"b3": forget()}, {"b2": forget()},
     "following next hops ends at the subscriber; subscriber = s1; attached to = b1; path = b3 → b2 → nowhere"),
    ("no-routing-loop", MFT, {"b1": route("s1")}, {"b3": route("s1")},
     "following next hops ends at the subscriber; subscriber = s1; attached to = b1; path = b3 → s1 (down)"),
    # -- the debts
    ("no-stranded-event", MFT, {"b4": keep("s1", "e1"), "b2": keep("s2")}, {"b2": keep("s1", "e1")},
     "no broker of the component queues an event; broker = b2; subscriber = s1; queue = e1"),
    ("no-stranded-event", MFT, {"s1": AWAY, "b1": keep("s1", "e1")}, {"b1": keep("s1", "e1")},
     "no broker of the component queues an event; broker = b1; subscriber = s1; queue = e1"),
    *[
        row for name in ("delivered", "eventual-delivery") for row in (
            (name, MFT, {"s2": put(owed=("e1", "e2"), received=("e2", "e1"))}, {"s2": put(owed=("e1", "e2"), received=("e1",))},
             "every event owed has arrived; subscriber = s2; event = e2; received = e1"),
            (name, MFT, {"s1": put(owed=("e1",)), "b4": keep("s1", "e1")}, {"s1": put(owed=("e1",)), "b3": keep("s1", "e1")},
             "every event owed has arrived; subscriber = s1; event = e1; received = none"),
            (name, MFT, {"s1": put(owed=("e1",)), "b4": keep("s1", "e1")}, {"s1": put(owed=("e1",)), "b4": keep("s2", "e1")},
             "every event owed has arrived; subscriber = s1; event = e1; received = none"),
            (name, MFT, {"s1": put(owed=("e1",), attached=False)}, {"s1": put(owed=("e1",))},
             "every event owed has arrived; subscriber = s1; event = e1; received = none"),
        )
    ],
    # -- arrow: b2 joined b1, and b3 joined b2
    ("arrow", REPAIRED, {"b2": both(route(LOST), unheard("s1"))}, {"b2": route(LOST)},
     ARROW_SAYS + "link = b1–b2; subscriber = s1; found = nothing"),
    ("arrow", REPAIRED, {"b2": route("b3"), "b1→b2": way(Turn(("s1",))), "b3": route(LOST)}, {"b2": route("b3")},
     ARROW_SAYS + "link = b1–b2; subscriber = s1; found = nothing"),
    ("arrow", REPAIRED, {"b1": route("b2"), "b2": route(LOST)}, {"b1": route("b2")},
     ARROW_SAYS + "link = b1–b2; subscriber = s1; found = b1 → b2, b2 → b1"),
    ("arrow", REPAIRED, {"b2": route(LOST), "b2→b1": way(BmigOnce((Numbered("s1", 1),), ()))}, {"b2→b1": way(BmigOnce((Numbered("s1", 1),), ()))},
     ARROW_SAYS + "link = b1–b2; subscriber = s1; found = b2 → b1, a BMIG"),
    ("arrow", REPAIRED, {"b2": route(LOST), "b2→b1": way(SubSince("f1", "s1", 1, 0))}, {"b2": route(LOST), "b1→b2": way(SubSince("f1", "s1", 1, 0))},
     ARROW_SAYS + "link = b1–b2; subscriber = s1; found = nothing"),
    ("arrow", REPAIRED, {"b1→b2": way(BsubClaim("s1", ("f1",), 1, True))}, {"b2→b1": way(BsubClaim("s1", ("f1",), 1, True))},
     ARROW_SAYS + "link = b1–b2; subscriber = s1; found = b2 → b1, a claim"),
    # -- hop-count-exact
    ("hop-count-exact", MFT, {"b4": hear("s1", 1, 9)}, {"b3": hear("s1", 1, 2)},
     "T_i(s).h = distance + 1; broker = b3; subscriber = s1; T_i(s).h = 2; distance = 2"),
    ("hop-count-exact", MFT, {"s1": AWAY, "b1": unheard("s1")}, {"b1": unheard("s1")},
     "T_i(s).h = distance + 1; broker = b1; subscriber = s1; T_i(s).h = ∞; distance = 0"),
    ("hop-count-exact", MFT, {"s1": put(wants=()), "b2": hear("s1", 1, 9)}, {"b2": hear("s1", 1, 9)},
     "T_i(s).h = distance + 1; broker = b2; subscriber = s1; T_i(s).h = 9; distance = 1"),
]  # fmt: skip




@pytest.mark.parametrize(("name", "protocol", "kept", "broken", "said"), CONJUNCTS)
def test_a_conjunct_is_kept_where_its_premise_is_reached_and_its_breach_says_what_failed(name, protocol, kept, broken, said):
    assert breaches(name, protocol, kept) == []
    assert said in breaches(name, protocol, broken)


def test_every_property_but_the_one_about_runs_alone_has_a_breach_above():
    assert {name for name, *_ in CONJUNCTS} == set(PROPERTIES) - {"eventual-quiescence"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_settled_start_breaches_nothing(protocol):
    assert [breaches(one.name, protocol, {}) for one in model(protocol).properties] == [[]] * len(model(protocol).properties)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (Sub("f1", "s1", 1, 1), Sub("f9", "s1", 1, 1)),
        (Sub("f1", "s1", 1, 1), Sub("f1", "s9", 1, 1)),
        (Uns("f1", "s1", 1, 1), Uns("f9", "s1", 1, 1)),
        (Uns("f1", "s1", 1, 1), Uns("f1", "", 1, 1)),
        (Pub("e1"), Pub("e9")),
        (Pub("e1", ("s1", "s2")), Pub("e1", ("s1", "s9"))),
        (Rep("e1", "s1"), Rep("e9", "s1")),
        (Rep("e1", "s1"), Rep("e1", "s9")),
        (Mig("s1", "b3", 1, 1), Mig("s9", "b3", 1, 1)),
        (Mig("s1", "b3", 1, 1), Mig("s1", "b9", 1, 1)),
        (Filters(("f1", "f2")), Filters(("f1", "f9"))),
        (BmigModular(("s1",), "b1"), BmigModular(("s1", "s9"), "b1")),
        (BmigModular(("s1",), "b1"), BmigModular(("s1",), "b9")),
        (Btab((Entry("f1", "b1", "s1"),)), Btab((Entry("f1", "b1", "s1"), Entry("f9", "b1", "s1")))),
        (Bmig((Stamped("s1", 1, 1),), (), 0), Bmig((Stamped("s9", 1, 1),), (), 0)),
        (Bmig((), (Stamped("s1", 1, 1),), 0), Bmig((), (Stamped("s9", 1, 1),), 0)),
        (Bquery("s1", 1, 1), Bquery("s9", 1, 1)),
        (SubSince("f1", "s1", 2, 1), SubSince("f9", "s1", 2, 1)),
        (UnsSince("f1", "s1", 2, 1), UnsSince("f1", "s9", 2, 1)),
        (Turn(("s1",)), Turn(("s1", "s9"))),
        (BmigOnce((Numbered("s1", 1),), ()), BmigOnce((Numbered("s9", 1),), ())),
        (BmigOnce((), (Numbered("s1", 1),)), BmigOnce((), (Numbered("s9", 1),))),
        (BqueryNumber("s1", 1), BqueryNumber("s9", 1)),
        (PubFor("e1", ("s1",)), PubFor("e9", ("s1",))),
        (PubFor("e1", ("s1",)), PubFor("e1", ("s1", "s9"))),
        (BsubClaim("s1", ("f1",), 1, True), BsubClaim("s9", ("f1",), 1, True)),
        (BsubClaim("s1", ("f1",), 1, True), BsubClaim("s1", ("f9",), 1, True)),
        (Bsub("s1", ("f1",), Timestamp(1, 1), 0), Bsub("s9", ("f1",), Timestamp(1, 1), 0)),
        (Bsub("s1", ("f1",), Timestamp(1, 1), 0), Bsub("s1", ("f9",), Timestamp(1, 1), 0)),
    ],
)
def test_well_formed_asks_of_every_message_in_a_channel_that_it_names_what_exists(good, bad):
    assert breaches("well-formed", MFT, {"b1→b2": way(Fmig(), good)}) == []
    (said,) = breaches("well-formed", MFT, {"b1→b2": way(Fmig(), good, bad)})
    assert said.startswith("a message names things that exist; message = ")


def test_well_formed_wants_no_subscriber_in_the_messages_of_simple_routing():
    assert breaches("well-formed", STATIC, {"b1→b2": way(Sub("f1", ""), Uns("f1", ""))}) == []
    assert breaches("well-formed", STATIC, {"b1→b2": way(Sub("f1", "s1"))}) == ["a message names things that exist; message = SUB(f1, s1)"]


# ---- runs ----------------------------------------------------------------------------------------------


def verdict(scenario: str, name: str, **options: Any) -> Any:
    return answer(question(load_scenario(scenario), **options)).verdicts[name]


def test_eventual_quiescence_is_violated_where_events_circulate_for_ever_and_holds_where_they_arrive():
    assert isinstance(verdict("child-above-parent", "eventual-quiescence", readings="printed"), Violated)
    assert isinstance(verdict("broker-migration-publish", "eventual-quiescence", readings="printed"), Holds)


def test_eventual_delivery_is_violated_by_an_event_that_never_arrives_and_by_a_run_that_never_ends():
    assert isinstance(verdict("loss-silent-event", "eventual-delivery"), Violated)
    assert isinstance(verdict("loss-silent-event", "eventual-quiescence"), Holds)
    assert isinstance(verdict("child-above-parent", "eventual-delivery", readings="printed"), Violated)
    assert isinstance(verdict("broker-migration-publish", "eventual-delivery", readings="amended"), Holds)


# ---- the registry ----------------------------------------------------------------------------------------

TIMESTAMPS = {"timestamp-bound", "hop-count-exact"}
QUEUES = {"no-stranded-event"}
NAMES = {"one-next-hop", "no-routing-loop"}
ARROW = {"arrow"}
MISSING = {
    "simple-routing": TIMESTAMPS | QUEUES | NAMES | ARROW,
    "phoenix-2016": TIMESTAMPS | QUEUES | ARROW,
    "modular-2016": TIMESTAMPS | QUEUES | ARROW,
    "phoenix": TIMESTAMPS | ARROW,
    "modular": TIMESTAMPS | ARROW,
    "mft-pubsub": ARROW,
    "mft-pubsub-2023": ARROW,
    "mft-pubsub-r": {"hop-count-exact"},
}
APPLY = {
    "simple-routing": 8, "phoenix-2016": 10, "modular-2016": 10, "phoenix": 11, "modular": 11, "mft-pubsub": 13, "mft-pubsub-2023": 13,
    "mft-pubsub-r": 13,
}  # fmt: skip


@pytest.mark.parametrize("protocol", MISSING)
def test_the_properties_that_do_not_apply_are_those_of_section_6_and_say_why(protocol):
    why = {name: not_applicable(info, PROTOCOLS[protocol]) for name, info in PROPERTIES.items()}
    missing = {name for name, reason in why.items() if reason is not None}
    assert missing == MISSING[protocol]
    assert len(PROPERTIES) - len(missing) == APPLY[protocol]
    assert [one.name for one in model(protocol).properties] == [name for name in PROPERTIES if name not in missing]
    for name in missing:
        assert protocol in why[name]


def test_every_protocol_is_in_the_list():
    assert set(MISSING) == set(APPLY) == set(PROTOCOLS)


def test_each_property_is_asked_where_section_6_says_and_two_do_not_decide():
    every = ["well-formed", "one-next-hop", "no-phantom", "no-duplicate", "timestamp-bound", "publisher-order"]
    quiescent = ["routing-converged", "no-routing-loop", "no-stranded-event", "delivered", "hop-count-exact"]
    asked = {one.name: one for one in model(MFT).properties}
    assert {name for name, one in asked.items() if one.scope is Scope.EVERY_STATE} == set(every)
    assert {name for name, one in asked.items() if one.scope is Scope.QUIESCENT} == set(quiescent)
    assert {name for name, one in asked.items() if one.scope is Scope.RUN} == {"eventual-quiescence", "eventual-delivery"}
    assert {name for name, one in asked.items() if not one.decisive} == {"publisher-order", "hop-count-exact"}


def test_a_breach_that_no_later_state_can_mend_is_marked_so():
    """What has arrived stays in the record; tables and timestamps may be put right."""
    mendable = {one.name for one in model(MFT).properties if one.scope is Scope.EVERY_STATE and one.mendable}
    assert mendable == {"well-formed", "one-next-hop", "timestamp-bound"}
