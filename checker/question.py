"""What is asked: a scenario under a protocol, readings and assumptions; and the model that answers it.

Options override the file, the file overrides the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from roamcheck.model.build import build, build_world, in_force, unknown_moves
from roamcheck.model.interface import Model
from roamcheck.model.scenario import ASSUMPTIONS, Assumptions, Scenario
from roamcheck.model.world import World
from roamcheck.spec.properties import PROPERTIES, not_applicable
from roamcheck.spec.protocols import PROTOCOLS
from roamcheck.spec.readings import NAMED_SETS, PRINTED, READINGS, Readings, check_asked, check_reading


class QuestionError(ValueError):
    """An option that makes no sense; one line that names the choices."""


KNOWN_READINGS: dict[str, tuple[str, ...]] = {reading.name: reading.values for reading in READINGS}


@dataclass(frozen=True, slots=True)
class Question:
    """A scenario and all that a verdict on it depends on."""

    scenario: Scenario
    protocol: str
    readings: Readings
    assume: Assumptions  # in_flight filled in
    properties: tuple[str, ...]  # asked for, in the registry's order

    def why_not_applicable(self) -> str | None:
        """Why the scenario as a whole says nothing of the protocol."""
        unknown = unknown_moves(self.scenario, PROTOCOLS[self.protocol])
        return f"{self.protocol} does not know {', '.join(unknown)}" if unknown else None

    def not_applicable(self, name: str) -> str | None:
        """Why the property is not asked of the protocol."""
        return not_applicable(PROPERTIES[name], PROTOCOLS[self.protocol])

    def world(self, algorithms: Mapping[str, ModuleType] | None = None) -> World:
        """Where everything lives; `algorithms` replaces those printed (a mutant, or an instrumented copy)."""
        return build_world(self.scenario, PROTOCOLS[self.protocol], self.readings, self.assume, algorithms)

    def as_asked(self) -> Scenario:
        """The scenario with the assumptions and readings that are asked."""
        return replace(self.scenario, assume=self.assume, readings=tuple(self.readings.as_dict().items()))

    def model(self, algorithms: Mapping[str, ModuleType] | None = None) -> Model:
        """The transition system."""
        return build(self.world(algorithms), self.properties)


def question(
    scenario: Scenario,
    *,
    protocol: str | None = None,
    readings: str | None = None,
    reading: Mapping[str, str] | None = None,
    assumptions: Mapping[str, str] | None = None,
    losses: int | None = None,
    repeats: int | None = None,
    properties: tuple[str, ...] = (),
) -> Question:
    """Put the options over the scenario's own choices.

    `readings` names a set and stands in for what the file chooses; `reading` replaces single values.  Raises QuestionError.
    """
    name = scenario.protocol if protocol is None else protocol
    _choose("protocol", name, PROTOCOLS)
    if readings is not None:
        _choose("set of readings", readings, NAMED_SETS)
    for wanted in properties:
        _choose("property", wanted, PROPERTIES)
        if PROPERTIES[wanted].only not in (None, name):
            raise QuestionError(f"property {wanted} is an invariant of {PROPERTIES[wanted].only} alone, not of {name}: leave it out")
    for key, value in (assumptions or {}).items():
        _choose("assumption", key, ASSUMPTIONS)
        _choose(f"value of {key}", value, ASSUMPTIONS[key])
    for key, value in (reading or {}).items():
        try:
            check_reading(key, value)
        except ValueError as error:
            raise QuestionError(str(error)) from None
    if losses is not None:
        scenario = replace(scenario, free=replace(scenario.free, losses=losses))
    if repeats is not None:
        scenario = replace(scenario, free=replace(scenario.free, repeats=repeats))
    known = PROTOCOLS[name]
    chosen = {**known.printed(), **(dict(scenario.readings) if readings is None else {}), **(reading or {})}
    changes: dict[str, Any] = {key.replace("-", "_"): value for key, value in (assumptions or {}).items()}
    assume = replace(scenario.assume, **changes)
    assume = in_force(assume, known)
    base = PRINTED if readings is None else NAMED_SETS[readings]
    values = base.with_values(chosen)
    try:
        check_asked(name, values)
    except ValueError as error:
        raise QuestionError(str(error)) from None
    if repeats and values.acknowledged_links == "off":
        wanted = "add --reading acknowledged-links=on, which mft-pubsub-r has, or leave --repeats off"
        raise QuestionError(f"nothing is repeated unless links are acknowledged: {wanted}")
    asked = (p for p, info in PROPERTIES.items() if info.only in (None, name))
    return Question(scenario, name, values, assume, tuple(p for p in asked if not properties or p in properties))


def _choose(what: str, found: str, choices: Mapping[str, object] | tuple[str, ...]) -> None:
    if found not in choices:
        raise QuestionError(f"no {what} is called {found!r}; choose from {', '.join(choices)}")


