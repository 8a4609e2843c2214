"""What `pytest_plugin.py` does once something is asked: questions, claims that fail by telling the counterexample, scenario files as tests."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import pytest

from roamcheck.model.expectations import Expectation, Expected
from roamcheck.model.interface import Model
from roamcheck.model.scenario import Scenario
from roamcheck.spec.properties import PROPERTIES
from roamcheck.spec.protocols import PROTOCOLS

from . import findings
from .check import trace_paths
from .files import load_scenario, write_text
from .findings import ClaimError, Findings, Search
from .options import BAD_INPUT
from .own_models import of_model
from .pytest_plugin import SAMPLED, TRACE
from .question import Question, question
from .tabled.loading import compiled
from .verdict import Counterexample, HoldsWithin, Unknown, Verdict

T = TypeVar("T")
STATES_OF_ONES_OWN = 1_000_000
KEPT = 64  # answers that a process keeps: the tests of one file ask the same
ANSWERS = pytest.StashKey[dict[tuple[Question, Search], Findings]]()
FOREWARNED = pytest.StashKey[bool]()
WRITTEN = pytest.StashKey[dict[Path, str]]()  # what the test has written, and where
ASKING = ("scenario", "protocol", "readings", "reading", "assumptions", "losses", "repeats", "properties", "engine", "max_states", "debug")
EXPECTING = ("holds", "violated", "within")
BAD = (*BAD_INPUT, ClaimError)


class Claim:
    """An answer, and what a test claims of it.  Claims are methods that return the object itself, or fail by telling what came out."""

    def __init__(self, item: pytest.Item, find: Callable[[], Findings]) -> None:
        self._item, self._find = item, find
        self._found: Findings | None = None

    @property
    def findings(self) -> Findings:
        """Explored when first asked for; bad input fails the test."""
        if self._found is None:
            forewarn(self._item.config)
            self._found = self._ask(self._find)
        return self._found

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """By property."""
        return self.findings.verdicts

    def counterexample(self, name: str) -> Counterexample | None:
        """The run that violates the property, if one was found."""
        __tracebackhide__ = True
        found = self.findings
        return self._ask(lambda: found.counterexample(name))

    def story(self, name: str) -> str:
        """The counterexample step by step; "" without one."""
        return self.findings.story(name) if self.counterexample(name) is not None else ""

    def holds(self, *names: str) -> Claim:
        """Each of the properties holds; without a name, every one that the protocol promises."""
        found = self.findings
        self._judge(names or found.decisive, lambda name: findings.holds(found, name))
        return self

    def violated(self, *names: str, within: int | None = None) -> Claim:
        """Each of the properties is violated, by a run of at most `within` steps."""
        if not names:
            fail("violated: name a property")
        self._judge(names, lambda name: findings.violated(self.findings, name, within))
        return self

    def _judge(self, names: Iterable[str], judge: Callable[[str], str | None]) -> None:
        """Fail with all that is wrong, and write the counterexamples down."""
        wrong = []
        for name in names:
            told = self._ask(partial(judge, name))
            path = self._ask(partial(self._write, name)) if self.counterexample(name) is not None else None
            if told is None and isinstance(self.verdicts[name], HoldsWithin | Unknown):
                self._item.user_properties.append((SAMPLED, name))
            if told is not None:
                wrong.append(f"{told}\ntrace: {path}" if path is not None else told)
                if self.findings.failed is not None and path is None:
                    break  # the others cannot be told for the same reason
        if wrong:
            fail("\n\n".join(wrong), claimed_at(self._item))

    def _ask(self, what: Callable[[], T]) -> T:
        try:
            return what()
        except BAD as error:
            wrong = str(error)
        fail(wrong, claimed_at(self._item))

    def _write(self, name: str) -> Path | None:
        """The counterexample goes to the folder for traces, if there is one."""
        folder = self._item.config.option.roamcheck_traces
        if folder is None:
            return None
        stem = re.sub(r"[^\w.+-]+", "-", self._item.nodeid).strip("-")
        stem = stem if stem.endswith(name) else f"{stem}.{name}"
        stem = stem if len(stem) < 150 else f"{stem[:60]}-{sha256(stem.encode()).hexdigest()[:8]}-{stem[-60:]}"
        written, text = self._item.stash.setdefault(WRITTEN, {}), self.findings.trace(name)
        paths = trace_paths(Path(folder), stem, self.findings.suffix)
        path = next(path for path in paths if written.get(path, text) == text)
        if path in written:
            return path
        written[path] = text
        write_text(path, text)
        self._item.user_properties.append((TRACE, str(path)))
        return path


def forewarn(config: pytest.Config) -> None:
    """The first search on a machine compiles its loops, for half a minute in which nothing seems to happen."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and not compiled() and not config.stash.get(FOREWARNED, False):
        config.stash[FOREWARNED] = True
        terminal.ensure_newline()
        terminal.write_line("roamcheck: the loops of the search are compiled first; this happens once and takes some seconds")


def fail(text: str, where: str | None = None) -> NoReturn:
    """The test fails, and the text is all that is shown."""
    __tracebackhide__ = True
    pytest.fail(f"{where}: {text}" if where is not None else text, pytrace=False)


def claimed_at(item: pytest.Item) -> str | None:
    """The line of the test that claims, as FILE:LINE; None where no Python file claims."""
    frame: Any = sys._getframe()
    while frame is not None and Path(frame.f_code.co_filename) != item.path:
        frame = frame.f_back
    return None if frame is None else f"{os.path.relpath(item.path, item.config.invocation_params.dir)}:{frame.f_lineno}"


class Asker:
    """The fixture `roamcheck`.  What a call does not say, the test's marker says."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item

    def __call__(self, scenario: str | os.PathLike[str] | Scenario | None = None, **asked: Any) -> Claim:
        """Ask about a scenario: a file, the name of a bundled one, or a Scenario.

        protocol, readings, reading={…}, assumptions={…}, losses, repeats, properties: as on the command line; engine, max_states, debug: how to look.
        """
        given = {name: value for name, value in marked(self._item).items() if name in ASKING} | asked
        if scenario is not None:
            given["scenario"] = scenario
        unknown = [name for name in given if name not in ASKING]
        if unknown:
            fail(f"roamcheck(…) takes no {', '.join(unknown)}; it takes {', '.join(ASKING)}", claimed_at(self._item))
        return Claim(self._item, lambda: find(self._item, given))

    def model(self, model: Model, *, engine: str | None = None, max_states: int | None = None, debug: bool | None = None) -> Claim:
        """Ask about a model of one's own; after a million states the search stops, since such a model may have no end."""
        if not isinstance(model, Model):
            fail(f"roamcheck.model takes a roamcheck.model.interface.Model, not {type(model).__name__}", claimed_at(self._item))
        config = self._item.config
        bound = max_states or config.option.roamcheck_max_states or STATES_OF_ONES_OWN
        return Claim(self._item, lambda: of_model(model, to_search(config, engine, bound, debug)))


def find(item: pytest.Item, given: Mapping[str, Any]) -> Findings:
    """Explore a scenario, or remember what came of it.  Raises one of BAD."""
    if given.get("scenario") is None:
        raise ClaimError("which scenario? give a file, the name of a bundled one, or a Scenario")
    properties = given.get("properties") or ()
    asked = question(
        scenario_of(item, given["scenario"]),
        protocol=given.get("protocol"), readings=given.get("readings"), reading=given.get("reading"), assumptions=given.get("assumptions"),
        losses=given.get("losses"), repeats=given.get("repeats"), properties=(properties,) if isinstance(properties, str) else tuple(properties),
    )  # fmt: skip
    return remembered(item.config, asked, to_search(item.config, given.get("engine"), given.get("max_states"), given.get("debug")))


def remembered(config: pytest.Config, asked: Question, search: Search) -> Findings:
    """Explore, once in a process; the oldest answers are forgotten."""
    answers = config.stash.setdefault(ANSWERS, {})
    if (asked, search) not in answers:
        answers[asked, search] = findings.of_question(asked, search)
        if len(answers) > KEPT:
            del answers[next(iter(answers))]
    return answers[asked, search]


def scenario_of(item: pytest.Item, given: str | os.PathLike[str] | Scenario) -> Scenario:
    """A file beside the test, or in the working directory, or a bundled scenario.  Raises ScenarioError, FileError."""
    if isinstance(given, Scenario):
        return given
    name = os.fspath(given)
    beside = item.path.parent / name
    return load_scenario(str(beside) if name.endswith(".toml") and beside.is_file() else name)


def to_search(config: pytest.Config, engine: str | None, max_states: int | None, debug: bool | None) -> Search:
    """How to look: as the test says, or else the command line.  Raises ClaimError."""
    option = config.option
    chosen = engine or option.roamcheck_engine or "tabled"
    if chosen not in findings.ENGINES:
        raise ClaimError(f"no engine is called {chosen!r}; choose from {', '.join(findings.ENGINES)}")
    states = option.roamcheck_max_states if max_states is None else max_states
    held = (option.roamcheck_debug if debug is None else debug) and chosen == "tabled"
    if chosen == "search":
        return Search(chosen, None, False, option.roamcheck_examples, option.roamcheck_seed)
    return Search(chosen, states, held)


# ---- the marker --------------------------------------------------------------------------------------------------------------


def marked(item: pytest.Item) -> dict[str, Any]:
    """What the test's markers say, the closest first; a positional argument is the scenario."""
    said: dict[str, Any] = {}
    for marker in item.iter_markers("roamcheck"):
        given = dict(marker.kwargs)
        if len(marker.args) > 1 or (marker.args and "scenario" in given):
            fail("@pytest.mark.roamcheck takes one scenario; everything else has a name")
        said = given | ({"scenario": marker.args[0]} if marker.args else {}) | said
    unknown = [name for name in said if name not in (*ASKING, *EXPECTING)]
    if unknown:
        fail(f"@pytest.mark.roamcheck takes no {', '.join(unknown)}; it takes {', '.join((*ASKING, *EXPECTING))}")
    return said


def answer_of(item: pytest.Item) -> Claim:
    """The answer to what the marker asks."""
    if item.get_closest_marker("roamcheck") is None:
        fail("roamcheck_answer is the answer to what @pytest.mark.roamcheck(…) asks, and this test has no such marker")
    return Asker(item)()


def see_to_marker(item: pytest.Item) -> None:
    """What the marker expects; where it expects nothing and the test looks at no answer itself, that everything promised holds."""
    said = marked(item)
    holds, violated, within = said.get("holds", ()), said.get("violated", ()), said.get("within")
    claim = answer_of(item)
    if within is not None and not violated:
        fail("@pytest.mark.roamcheck(within=…) is about violated=…, which is missing")
    if holds:
        claim.holds(*((holds,) if isinstance(holds, str) else holds))
    limits = dict(violated) if isinstance(violated, Mapping) else dict.fromkeys((violated,) if isinstance(violated, str) else violated, within)
    for name, steps in limits.items():
        claim.violated(name, within=within if steps is None else steps)
    if not holds and not violated and not {"roamcheck", "roamcheck_answer"} & {*getattr(item, "fixturenames", ())}:
        properties = said.get("properties") or ()
        claim.holds(*((properties,) if isinstance(properties, str) else properties))


# ---- scenario files ----------------------------------------------------------------------------------------------------------


class ScenarioFile(pytest.File):
    """A scenario: a test for each property under each protocol and readings that it speaks of."""

    def collect(self) -> Iterator[pytest.Item]:
        """Raises CollectError in one line for a file that is no scenario."""
        try:
            scenario = load_scenario(str(self.path))
            for expectation in scenario.expect or (Expectation(),):
                asked = question(scenario, protocol=expectation.protocol, readings=expectation.readings)
                why = asked.why_not_applicable()
                if why is not None:
                    raise ClaimError(f"{os.path.relpath(self.path)}: nothing can be expected: {why}")
                yield from self._items(asked, expectation)
        except BAD as error:
            raise self.CollectError(str(error)) from None

    def _items(self, asked: Question, expectation: Expectation) -> Iterator[pytest.Item]:
        under = "-".join(part for part in (expectation.protocol, expectation.readings) if part)
        said = {expected.property: expected for expected in expectation.properties}
        for name, info in PROPERTIES.items():
            if name in said or (info.decisive and asked.not_applicable(name) is None):
                expected = said.get(name, Expected(name, violated=False))
                yield ScenarioItem.from_parent(self, name=f"{name}[{under}]" if under else name, asked=asked, expected=expected)


class ScenarioItem(pytest.Item):
    """A property of a scenario, and what is expected of it."""

    def __init__(self, *, asked: Question, expected: Expected, **given: Any) -> None:
        super().__init__(**given)
        self.asked, self.expected = asked, expected
        if self.config.pluginmanager.hasplugin("xdist"):  # with --dist loadgroup the scenario is explored once
            self.add_marker(pytest.mark.xdist_group(str(self.path)))

    def runtest(self) -> None:
        """Explore, unless another property of the scenario was asked before; then judge."""
        claim = Claim(self, lambda: remembered(self.config, self.asked, to_search(self.config, None, None, None)))
        if self.expected.violated:
            claim.violated(self.expected.property, within=self.expected.within)
        else:
            claim.holds(self.expected.property)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where it stands."""
        return self.path, None, f"{self.asked.scenario.name}, {PROTOCOLS[self.asked.protocol].name}: {self.expected.property}"
