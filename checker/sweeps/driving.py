"""A sweep from its beginning to its end: what is explored, then what is searched, in chunks that someone does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from roamcheck.checker.interrupts import heed, held_back
from roamcheck.checker.verdict import ExitCode

from .folder import EXPLORE, SEARCH, Folder
from .jobs import Budget, Job
from .running import Done, do
from .tables import read, write_chunk

Answer = Callable[[Job, Budget], Done]
Tell = Callable[[str], None]  # how far it has come
Runner = Callable[["Work", Sequence[str], Tell], None]  # does these chunks; raises what doing one raises, and KeyboardInterrupt


@dataclass(frozen=True, slots=True)
class Work:
    """How a chunk is done; can be sent to other processes."""

    folder: Folder
    budget: Budget
    answer: Answer = do

    def chunk(self, name: str) -> int:
        """Do it, if it is not done, and write it; how many jobs there were.  Raises FileError, OSError, MemoryError, KeyboardInterrupt."""
        if self.folder.is_done(name):  # by an attempt that was taken for dead
            return 0
        jobs = self.folder.chunk(name)
        write_chunk(self.folder.path, name, [self.answer(job, self.budget) for job in jobs])
        return len(jobs)


def in_this_process(work: Work, names: Sequence[str], tell: Tell) -> None:
    """Do the chunks one after the other."""
    jobs = 0
    with held_back():
        for number, name in enumerate(names):
            tell(f"{number:,} of {len(names):,} chunks, {jobs:,} jobs")
            jobs += work.chunk(name)
            heed()


def sweep(work: Work, jobs: Sequence[Job], run: Runner, tell: Callable[[str, str], None]) -> None:
    """Do what is not done yet.  Raises FileError, OSError, MemoryError, KeyboardInterrupt; what is done stands."""
    do_phase(work, EXPLORE, jobs, run, tell)
    do_phase(work, SEARCH, [*beyond(work, jobs)], run, tell)


def do_phase(work: Work, phase: str, jobs: Sequence[Job], run: Runner, tell: Callable[[str, str], None]) -> None:
    """Plan these jobs, and do the chunks that are not done."""
    names, finished = work.folder.plan(phase, jobs, work.budget) if jobs else [], {*work.folder.done()}
    left = [name for name in names if name not in finished]
    if left:
        run(work, left, partial(tell, phase))


def beyond(work: Work, jobs: Sequence[Job]) -> Iterator[Job]:
    """The searches of what exploring within the budget did not come to the end of, a job for each seed."""
    rows = work.folder.rows("jobs", ["number", "seed", "complete", "outcome"])
    unfinished = [row["number"] for row in rows if row["seed"] is None and not row["complete"] and row["outcome"] != "error"]
    yield from (jobs[number].with_seed(seed) for number in unfinished for seed in work.budget.seeds)


# ---- what came of it -------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Outcomes:
    """How many jobs came to what."""

    explored: Counter[str] = field(default_factory=Counter)
    searched: Counter[str] = field(default_factory=Counter)
    refused: list[tuple[str, str]] = field(default_factory=list)  # places that hold no scenario, and why
    failed: list[tuple[str, str]] = field(default_factory=list)  # jobs in which something failed

    @property
    def exit_code(self) -> ExitCode:
        """Bad input before violated before undecided before holds."""
        both = self.explored + self.searched
        if self.refused:
            return ExitCode.USAGE
        if both["violated"]:
            return ExitCode.VIOLATED
        return ExitCode.UNDECIDED if both["undecided"] or both["error"] else ExitCode.HOLDS

    def as_record(self) -> Mapping[str, object]:
        """Part of the object of `--json`."""
        return {
            "explored": dict(sorted(self.explored.items())),
            "searched": dict(sorted(self.searched.items())),
            "refused": [{"file": place, "error": why} for place, why in self.refused],
            "failed": [{"job": name, "error": why} for name, why in self.failed],
        }


def outcomes(folder: Folder) -> Outcomes:
    """Of all that is done.  Raises FileError."""
    found = Outcomes()
    for name in folder.done():
        rows = read(folder.path / "jobs" / f"{name}.parquet", ["outcome", "seed", "error", "place", "protocol", "job"])
        for row in rows:
            (found.explored if row["seed"] is None else found.searched)[row["outcome"]] += 1
            if row["error"] is not None and row["protocol"] is None:
                found.refused.append((row["place"], row["error"]))
            elif row["error"] is not None:
                found.failed.append((f"{row['place']} (job {row['job']})", row["error"]))
    return found
