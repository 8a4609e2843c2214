"""The registry of readings is the table of semantics section 5, and the named sets are its columns."""

from __future__ import annotations

import pytest

from roamcheck.checker.files import load_scenario
from roamcheck.checker.question import question
from roamcheck.spec.protocols import PROTOCOLS
from roamcheck.spec.readings import AMENDED, NAMED_SETS, PRINTED, READINGS, ReadingError, Readings

TABLE = """
queue: per-entry, per-subscriber•
flush: return, spin
rep-route: table-or-queue
mig-next-hop: neighbour-only
mig-stop: named-broker, routing-table•
stale-mig: drop, answer•
guard-hop: message, path•
hop-test: message, path, home•
newer-child: reroute-now, await-answer•
old-set: parent, dead-hop•
children: all-but-old, neither-old-nor-new, live
announce: routed, known
split-horizon: off, on•
return-to: table, original•
on-return: queue, reroute•
reroot: every-changed-hop, joiner-only
mig-argument: b
merges: wait, at-once
losses-left: spent, not-spent
"""  # semantics section 5, with its marks; the last two are of where sections 3 and 6 are silent


def rows() -> dict[str, list[str]]:
    return {name: values.split(", ") for name, values in (line.split(": ") for line in TABLE.strip().splitlines())}


def test_the_registry_is_the_table_of_section_5() -> None:
    asked_of_any = {reading.name: list(reading.values) for reading in READINGS if reading.only is None}
    assert asked_of_any == {name: [v.strip("•") for v in values] for name, values in rows().items()}


def test_the_printed_set_is_the_first_value_everywhere() -> None:
    assert NAMED_SETS["printed"] == PRINTED
    assert PRINTED.as_dict("mft-pubsub") == {name: values[0].strip("•") for name, values in rows().items()}


def test_the_amended_set_is_the_printed_one_but_for_the_marked_values() -> None:
    marked = {name: value.strip("•") for name, values in rows().items() for value in values if value.endswith("•")}
    assert len(marked) == 10
    assert NAMED_SETS["amended"] == AMENDED
    assert AMENDED.as_dict() == {**PRINTED.as_dict(), **marked}


def test_only_the_journals_text_prints_a_flush_that_spins() -> None:
    assert {name: protocol.printed() for name, protocol in PROTOCOLS.items() if protocol.printed()} == {"mft-pubsub-2023": {"flush": "spin"}}
    scenario = load_scenario("merge-reroot")
    for named in ("printed", "amended"):
        assert question(scenario, protocol="mft-pubsub-2023", readings=named).readings.flush == "spin"
        assert question(scenario, protocol="mft-pubsub", readings=named).readings.flush == "return"


def test_an_unknown_reading_or_value_is_refused_with_the_choices() -> None:
    with pytest.raises(ReadingError, match="no reading is called 'hop'; readings are queue, flush"):
        PRINTED.with_values({"hop": "home"})
    with pytest.raises(ReadingError, match="hop-test has no value 'house'; values are message, path, home"):
        PRINTED.with_values({"hop-test": "house"})


def test_a_replaced_value_leaves_the_others_and_the_set_itself_as_they_were() -> None:
    changed = PRINTED.with_values({"hop-test": "home"})
    assert {name for name, value in changed.as_dict().items() if value != PRINTED.as_dict()[name]} == {"hop-test"}
    assert Readings() == PRINTED
