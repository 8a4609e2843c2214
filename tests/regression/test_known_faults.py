"""The faults of the published protocols that an independent exploration found first: each is found here, by a run no longer than its own.

Semantics section 8.  A change that makes one of these disappear, or its counterexample longer, has broken the model or the search.
"""

from __future__ import annotations

import pytest

WITH_QUEUES = ("phoenix", "modular", "mft-pubsub", "mft-pubsub-2023")
WITH_NAMES = ("phoenix-2016", "modular-2016", *WITH_QUEUES)
FAULTS = [  # scenario, protocols, readings, property, no longer than
    ("broker-migration-far", ("mft-pubsub",), ("printed",), "no-routing-loop", 8),
    ("child-above-parent", ("mft-pubsub",), ("printed",), "no-routing-loop", 4),
    ("client-then-broker", ("mft-pubsub",), ("printed",), "no-routing-loop", 11),
    ("client-there-and-back", ("mft-pubsub",), ("printed",), "routing-converged", 8),
    ("overlap-queue", WITH_QUEUES, ("printed",), "no-duplicate", 9),
    ("broker-moves-under-shared-filter", ("mft-pubsub",), ("printed", "amended"), "no-duplicate", 9),
    ("loss-silent-control", WITH_NAMES, ("printed", "amended"), "routing-converged", 2),
    ("loss-silent-control", WITH_NAMES, ("printed", "amended"), "no-routing-loop", 7),
]
CASES = [(scenario, protocol, readings, prop, limit) for scenario, ps, rs, prop, limit in FAULTS for protocol in ps for readings in rs]


@pytest.mark.parametrize(("scenario", "protocol", "readings", "prop", "limit"), CASES)
def test_a_known_fault_is_found_as_shortly_as_elsewhere(roamcheck, scenario, protocol, readings, prop, limit):
    roamcheck(scenario, protocol=protocol, readings=readings).violated(prop, within=limit)


@pytest.mark.roamcheck("child-above-parent", violated="eventual-quiescence")
def test_the_child_above_its_parent_sends_replays_round_for_ever(roamcheck_answer):
    assert roamcheck_answer.counterexample("eventual-quiescence").loop is not None


@pytest.mark.parametrize("scenario", ["broker-migration-far", "child-above-parent", "client-then-broker", "client-there-and-back", "overlap-queue"])
def test_the_amended_readings_remove_the_faults_that_they_are_there_for(roamcheck, scenario):
    roamcheck(scenario, readings="amended").holds().holds("publisher-order")
