"""`roamcheck search --guide z3 --reach "…"`: can this come about, and how?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from roamcheck.checker.conditions import ConditionError
from roamcheck.checker.files import FileError, load_scenario, writable, write_text
from roamcheck.checker.interrupts import held_back
from roamcheck.checker.options import BAD_INPUT, need_z3, refuse, to_question
from roamcheck.checker.verdict import CannotBegin, ExitCode


def reach_all(scenarios: Sequence[str], text: str, json_to: str | None, traces: str | None, tell: str, options: dict[str, Any]) -> None:
    """Ask of each scenario; exits with the first that occurs of 130, 2, 1 (it cannot arise), 3 (not found) and 0 (it arises)."""
    from roamcheck.checker import report

    lines = report.JsonLines(json_to)
    folder = traces if traces is not None else (None if lines.quiet else "roamcheck-traces")
    codes: list[ExitCode] = []
    try:
        need_z3("--guide z3")
        if folder is not None:
            writable(Path(folder))
        for name in scenarios:
            codes.append(reach_one(name, text, lines, folder, tell, options))
        lines.close()
    except (FileError, CannotBegin) as error:
        codes.append(refuse(error))
    except KeyboardInterrupt:
        report.warn("interrupted; what was asked of the scenarios before stands")
        codes.append(ExitCode.INTERRUPTED)
    order = (ExitCode.INTERRUPTED, ExitCode.USAGE, ExitCode.VIOLATED, ExitCode.UNDECIDED, ExitCode.HOLDS)
    sys.exit(next(code for code in order if code in codes))


def reach_one(name: str, text: str, lines: Any, folder: str | None, tell: str, options: dict[str, Any]) -> ExitCode:
    """One scenario; a bad one is told and the rest go on."""
    from roamcheck.checker import narrate, reaching, report
    from roamcheck.checker.replay import replay
    from roamcheck.checker.trace import dumps

    began = monotonic()

    def late() -> bool:
        return options["seconds"] is not None and monotonic() - began > options["seconds"]

    try:
        asked = to_question(load_scenario(name), options)
        with report.progress(asked.scenario.name) as observe, held_back():
            found = reaching.reach(asked, text, solutions=options["examples"], seed=options["seed"], stop=late, observe=observe)
    except (*BAD_INPUT, ConditionError) as error:
        lines.add({"scenario": None, "file": name, "error": str(error)})
        return refuse(error)
    path = None
    if found.trace is not None and folder is not None:
        path = Path(folder) / f"{asked.scenario.name}.{asked.protocol}.reach.jsonl"
        write_text(path, dumps(found.trace))
    lines.add(reaching.as_record(found, path))
    if not lines.quiet:
        where = "" if path is None else f"  {path}"
        tried = f"orders tried: {found.solutions:,}, runs among them: {found.replayed:,}"
        report.say(f"{asked.scenario.name}: {text}: {found.answer} ({found.how}; {tried}){where}")
        if found.trace is not None and tell != "none":
            report.say(narrate.text(replay(found.trace)))
    return found.exit_code
