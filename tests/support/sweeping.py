"""A small sweep that has some of everything: what holds, what is violated, what does not apply, what is searched, and a file that is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from roamcheck.checker.sweeps.driving import Answer, Runner, Work, in_this_process, sweep
from roamcheck.checker.sweeps.folder import Folder
from roamcheck.checker.sweeps.jobs import Axes, Budget, Job, Radio, Source, questions
from roamcheck.checker.sweeps.running import do
from roamcheck.checker.sweeps.sources import named

BUDGET = Budget(max_states=150, seeds=(0, 1), examples=20, longest=60)
AXES = Axes(protocols=("mft-pubsub", "phoenix"), readings=("printed", "amended"), radios=(Radio("reliable", 0), Radio("silent", 1)))
PLACES = ("figure-1b", "child-above-parent", "client-there-and-back", "loss-detected")


def small_jobs(places: tuple[str, ...] = PLACES) -> list[Job]:
    """Its jobs, and one of a file that is no scenario."""
    return list(questions([*named(places), Source("bad.toml", None, "bad.toml:1: not TOML; see there")], AXES))


def swept(
    path: Path, jobs: list[Job], run: Runner = in_this_process, answer: Answer = do, resume: bool = False, budget: Budget = BUDGET
) -> Folder:
    """Its folder, when it is done."""
    folder = Folder(path)
    if folder.begin({"test": 1}, jobs, resume):
        folder.tidy()
    sweep(Work(folder, budget, answer), jobs, run, lambda phase, text: None)
    return folder


def rows(folder: Folder) -> dict[str, list[dict[str, Any]]]:
    """All rows, without what no two runs have in common."""
    found = {table: folder.rows(table) for table in ("jobs", "violations")}
    for row in found["jobs"]:
        assert row.pop("seconds") >= 0
    return found
