"""Property arrow for any run: proved with its strengthening, which every state of real runs meets; what is taken out breaks it."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product
from types import MappingProxyType

import pytest

from roamcheck.checker.files import load_scenario
from roamcheck.checker.mutants import apply
from roamcheck.checker.question import question
from roamcheck.checker.solver import arrow_links
from roamcheck.checker.solver.arrow_links import ARROW, End, astray, conditions, end, failing, letter, message
from roamcheck.checker.solver.induction import Induction
from roamcheck.checker.solver.symbolic import Oracle
from roamcheck.spec.arrow import arrow
from roamcheck.spec.arrow_state import HOST, JOINER, ArrowBroker
from roamcheck.spec.messages import LOST, BrokerId, SubscriberId, Timestamp
from roamcheck.spec.protocols import PROTOCOLS
from roamcheck.spec.readings import NAMED_SETS
from support import naive

PRINTED = NAMED_SETS["printed"].with_values(PROTOCOLS["mft-pubsub-r"].printed())
S1 = SubscriberId("s1")


def unkept(readings=MappingProxyType({}), mutant=None):
    found = Induction()
    algorithms = apply(mutant) if mutant is not None else None
    arrow_links.induct(PRINTED.with_values(dict(readings)), algorithms, Oracle(), lambda seen: None, found)
    assert len(found.paths) > 15
    return {(reaction, part) for _, reaction, part in found.counterexamples}


@pytest.fixture
def small(monkeypatch):
    """Brokers with two neighbours at most."""
    monkeypatch.setattr(arrow_links, "NEIGHBOURS", arrow_links.NEIGHBOURS[:2])
    conditions.cache_clear()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("ingredient", "reaction", "part"),
    [
        ("joiner-ignores", "BSUB (claim) from a broker", ARROW),
        ("host-accepts", "SUB (claim) from a broker", ARROW),
        ("o-to-host", "migrate", ARROW),
        ("host-claims", "BMIG from a broker", "a joiner that does not know s will be told by a claim"),
        ("greet-first", "SUB from its subscriber", "until BMIG arrives the host sends nothing, and does not point over the link"),
        ("fallen-is-lost", "migrate", "a next hop is a greeted neighbour, s or lost"),
    ],
)
def test_it_takes_its_ingredients(ingredient, reaction, part):
    assert (reaction, part) in unkept({ingredient: "taken-out"})


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("mutant", ["mftr-1-l5-not-turned", "mftr-1-l6-to-sender", "mftr-1-l13-never", "mftr-3-l43-never", "mftr-3-l38-claims"])
def test_a_mutant_is_found(mutant):
    assert unkept(mutant=mutant)


@pytest.mark.parametrize(
    "name", ["free-star", "merge-reroot", "figure-1b-concurrent", "subscribe-from-scratch", "free-cut-and-merge", "crash-volatile"]
)
def test_every_state_of_a_run_meets_what_strengthens_it(name):
    """What is assumed of a link is no more than what comes about."""
    asked = question(load_scenario(name), protocol="mft-pubsub-r")
    world, links, seen = asked.world(), 0, naive.explore(asked.model())
    for state in seen.depth:
        for (u, v), there in world.channel.items():
            if u in world.broker and v in world.broker and v in state[world.broker[u]].neighbours:
                i, y = state[world.broker[u]], state[world.broker[v]]
                ways = ("".join(map(letter, state[slot])) for slot in (there, world.channel[v, u]))
                assert failing(end(i, y.me), end(y, i.me), *ways) is None
                assert astray(i) is None
                links += 1
    assert links > 100


def broker(me, other, what: End):
    hop = other if what.points else LOST
    stamps = ((S1, Timestamp(1, 1)),) if what.knows else ()
    return ArrowBroker(me, (other,), (), (), timestamps=stamps, directions=((S1, hop),) if what.heard else (), greeted=((other, what.role),))


def test_it_is_the_property():
    """Between two brokers that know s, the strengthened invariant asks for what the property asks for."""
    b1, b2 = BrokerId("b1"), BrokerId("b2")
    kinds = {"T": "TURN", "C": "BMIG (C)", "O": "BMIG (O)", "c": "BSUB (claim)", "d": "BSUB"}
    ways = [way for n in range(3) for way in product(kinds, repeat=n)]
    for points, back, role, there, here in product((False, True), (False, True), (JOINER, HOST), ways, ways):
        i, y = End(points, True, True, role), End(back, True, True, HOST if role == JOINER else JOINER)
        found = arrow(broker(b1, b2, i), broker(b2, b1, y), *([message(kinds[what], None) for what in way] for way in (there, here)))
        told = failing(i, y, "".join(there), "".join(here))
        assert told == ARROW or found is None or told is not None
        assert told != ARROW or found is not None


def test_it_is_proved_and_the_command_says_what_it_took():
    ran = subprocess.run(
        [sys.executable, "-m", "roamcheck", "prove", "mft-pubsub-r", "mft-pubsub", "--property", "arrow", "--json", "-"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    proved, refused = map(json.loads, ran.stdout.splitlines())
    assert (proved["verdict"], proved["strengthening"]) == ("proved", list(arrow_links.STRENGTHENING))
    assert (refused["verdict"], refused["why"]) == ("not-applicable", "it is an invariant of mft-pubsub-r, not of mft-pubsub")
