"""The pytest plugin: scenario files as tests, and tests that claim what holds and what is violated.

pytest imports this module in every run where roamcheck is installed, so it imports nothing of roamcheck until something is asked.

    pytest my-scenarios --roamcheck                              # each *.toml in the scenario format: a test per property

    def test_far_move(roamcheck):
        roamcheck("broker-migration-far", protocol="mft-pubsub").violated("no-routing-loop", within=8)

    @pytest.mark.roamcheck(scenario="broker-migration-far", readings="amended", holds="delivered")
    def test_far_move_amended(): ...

    def test_mine(roamcheck):
        roamcheck.model(my_model).holds("mutual-exclusion")      # any `roamcheck.model.interface.Model`
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .pytest_claims import Asker, Claim, ScenarioFile

TRACE = "roamcheck-trace"  # the name under which a report says where a trace was written
SAMPLED = "roamcheck-sampled"  # and which property is not known to hold, but was not seen violated
HEAD = 1 << 16  # characters of a file that are looked at to see whether it is a scenario
FORMAT = re.compile(r"""^\s*["']?format["']?\s*=\s*["']roamcheck-scenario/""", re.MULTILINE)
EXPECT = re.compile(r"^\s*(\[\[?\s*expect\s*[\].]|expect\s*[.=])", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, all of them named after the plugin."""
    group = parser.getgroup("roamcheck", "model checking with roamcheck")
    group.addoption("--roamcheck", action="store_true", help="Collect every *.toml in roamcheck's scenario format, also where it expects nothing.")
    group.addoption("--roamcheck-engine", choices=("tabled", "reference", "search"), help="How to look where a test does not say (default: tabled).")
    group.addoption("--roamcheck-examples", type=positive, metavar="N", help="How many runs the engine search tries.")
    group.addoption("--roamcheck-seed", type=int, metavar="N", help="The seed of the engine search.")
    group.addoption("--roamcheck-max-states", type=positive, metavar="N", help="Stop after N states; what is still open then fails as undecided.")
    group.addoption("--roamcheck-debug", action="store_true", help="Hold every step to what it declares (tabled engine; slow).")
    group.addoption("--roamcheck-traces", metavar="DIR", help="Write each counterexample that a test meets to a file in DIR.")
    parser.addini("roamcheck_collect", "collect every *.toml in roamcheck's scenario format, as --roamcheck does", type="bool", default=False)


def positive(text: str) -> int:
    """A number from 1 on; raises ValueError."""
    if int(text) < 1:
        raise ValueError(text)
    return int(text)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker; settle where traces go before workers are told."""
    text = "what to ask of a scenario, and what is expected: scenario, protocol, readings, reading, assumptions, losses, repeats, properties, holds,"
    config.addinivalue_line("markers", f"roamcheck(...): {text} violated, within, engine, max_states, debug")
    if config.option.roamcheck_traces is not None:
        config.option.roamcheck_traces = str(config.invocation_params.dir / config.option.roamcheck_traces)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """A scenario that is named on the command line, that expects something, or whatever scenario where all are asked for."""
    if file_path.suffix != ".toml" or not file_path.is_file():
        return None
    with file_path.open(encoding="utf-8", errors="replace") as file:
        head = file.read(HEAD)
    if FORMAT.search(head) is None:
        return None
    config = parent.config
    asked = config.option.roamcheck or config.getini("roamcheck_collect") or parent.session.isinitpath(file_path)
    if not asked and EXPECT.search(head) is None:
        return None
    from .pytest_claims import ScenarioFile

    return ScenarioFile.from_parent(parent, path=file_path)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """A test that is marked: what the marker expects is seen to before its body runs."""
    if item.get_closest_marker("roamcheck") is not None:
        from .pytest_claims import see_to_marker

        see_to_marker(item)


@pytest.fixture
def roamcheck(request: pytest.FixtureRequest) -> Asker:
    """Ask about a scenario, `roamcheck("figure-1b", protocol="modular").holds("delivered")`, or a model, `roamcheck.model(mine).holds()`."""
    from .pytest_claims import Asker

    return Asker(request.node)


@pytest.fixture
def roamcheck_answer(request: pytest.FixtureRequest) -> Claim:
    """What came of the question that the test's marker asks."""
    from .pytest_claims import answer_of

    return answer_of(request.node)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Where the traces are, and what no engine has proved."""
    reports = (report for some in terminalreporter.stats.values() for report in some if getattr(report, "when", None) == "call")
    told = [pair for report in reports for pair in report.user_properties]
    folder, sampled = terminalreporter.config.option.roamcheck_traces, sum(name == SAMPLED for name, _ in told)
    if sampled:
        claims = f"{sampled} claim{'' if sampled == 1 else 's'} that a property holds"
        terminalreporter.write_line(f"roamcheck: {claims}: no violation was found by the engine search, which proves nothing")
    if folder is not None:
        paths = sorted({value for name, value in told if name == TRACE})
        terminalreporter.section("roamcheck traces")
        terminalreporter.write_line("\n".join(paths) if paths else f"no counterexample was met; nothing was written to {folder}")
