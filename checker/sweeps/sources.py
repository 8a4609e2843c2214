"""Where a sweep's scenarios come from: files, folders of them, bundled names, and scenarios drawn by Hypothesis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from roamcheck.checker.files import FileError, bundled, load_scenario
from roamcheck.checker.generating import Bounds, draw
from roamcheck.checker.searching import imported
from roamcheck.model.scenario import Scenario, ScenarioError
from roamcheck.spec.protocols import PROTOCOLS

from .jobs import Source

BUNDLED = "bundled"


def named(places: Sequence[str]) -> Iterator[Source]:
    """The scenarios of files, of all `.toml` files below folders, and of bundled names (`bundled`: all of those); a bad file is told in its place.

    Raises FileError for a place that is not there.
    """
    for place in places:
        if Path(place).is_dir():
            files = sorted(str(path) for path in Path(place).rglob("*.toml"))
            if not files:
                raise FileError(f"{place}: no .toml file is in this folder or below it; name a folder of scenarios")
            yield from map(loaded, files)
        elif place == BUNDLED and not Path(place).exists():
            yield from map(loaded, bundled())
        else:
            if not Path(place).exists():
                load_scenario(place)  # which tells a slip of the pen before the work begins
            yield loaded(place)


def loaded(place: str) -> Source:
    """The scenario, or why there is none."""
    try:
        return Source(place, load_scenario(place))
    except (FileError, ScenarioError) as error:
        return Source(place, None, str(error))


def generated(bounds: Bounds, seed: int, protocols: Sequence[str]) -> Iterator[Source]:
    """Scenarios drawn by Hypothesis, whose moves each of the protocols knows.  Raises CannotBegin."""
    fewest = min(protocols, key=lambda name: len(PROTOCOLS[name].moves))
    found: list[Scenario] = imported().drawn(lambda choose: draw(choose, bounds, fewest), bounds.scenarios, seed)
    for number, scenario in enumerate(found, 1):
        yield Source("generated", replace(scenario, name=f"generated-{number:06}"))
