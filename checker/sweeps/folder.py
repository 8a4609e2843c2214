"""The folder of a sweep: what it asks, which chunks are done, and what another sweep must not touch.

    sweep.json      what is asked, and how many jobs there are
    plan/           the jobs that are explored and those that are searched, in chunks: `explore.parquet`, `search.parquet`
    jobs/           one row a job          (tables.py says what is in them)
    violations/     one row a violation

A chunk is done when its file is in `jobs/`.  What is in a chunk depends on what is asked alone, so that a second attempt, or one that was taken
for dead, writes the same file again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from roamcheck.checker.files import FileError, writable, write_text

from .jobs import Budget, Job, chunks, question_from, signature
from .tables import read, rows_of, why, write

FORMAT = "roamcheck-sweep/1"
MANIFEST = "sweep.json"
EXPLORE, SEARCH = "explore", "search"
PLAN = pa.schema(
    [
        ("chunk", pa.string()),
        ("number", pa.int64()),
        ("place", pa.string()),
        ("readings", pa.string()),
        ("seed", pa.int64()),
        ("asked", pa.string()),
        ("error", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Folder:
    """Of one sweep."""

    path: Path

    def begin(self, asked: Mapping[str, Any], jobs: Sequence[Job], resume: bool) -> bool:
        """Make it the folder of this sweep, or see that it is; whether there is something to go on from.  Raises FileError."""
        manifest = {"format": FORMAT, "asked": dict(asked), "questions": len(jobs), "signature": signature([job.asked for job in jobs])}
        there = self.manifest()
        if there is None:
            writable(self.path)
            if self.path.is_dir() and any(self.path.iterdir()):
                raise FileError(f"{self.path}: not empty, and no folder of a sweep (it has no {MANIFEST}); name another with --out")
            write_text(self.path / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
            return False
        if there != manifest:
            raise FileError(f"{self.path}: holds another sweep ({difference(there, manifest)}); name another folder with --out")
        if not resume:
            raise FileError(f"{self.path}: holds this sweep already; go on with --resume, or name another folder with --out")
        return True

    def manifest(self) -> dict[str, Any] | None:
        """What it says of itself; None if it is no folder of a sweep.  Raises FileError."""
        path = self.path / MANIFEST
        if not path.exists():
            return None
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise FileError(f"{path}: cannot be read: {error}; name another folder") from None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise FileError(f"{path}: not of the format {FORMAT}; name another folder, or use the version of roamcheck that wrote it")
        return found

    def plan(self, phase: str, jobs: Iterable[Job], budget: Budget) -> list[str]:
        """Write the jobs of a phase in chunks; the chunks' names, costly ones first.  Raises FileError."""
        found = chunks(jobs, budget)
        names = [f"{phase}-{number:06}" for number in range(len(found))]
        groups = (pa.Table.from_pylist(plan_rows(*item), PLAN) for item in zip(names, found, strict=True))
        write(self.path / "plan" / f"{phase}.parquet", groups, PLAN)
        return names

    def chunk(self, name: str) -> list[Job]:
        """The jobs of one chunk, from the plan.  Raises FileError."""
        phase, _, number = name.partition("-")
        path = self.path / "plan" / f"{phase}.parquet"
        try:
            with pq.ParquetFile(path) as plan:
                rows = plan.read_row_group(int(number)).to_pylist()
        except (OSError, pa.ArrowException) as error:
            raise FileError(f"{path}: cannot be read: {why(error)}; do all executors see this folder?") from None
        asked = (None if row["asked"] is None else question_from(json.loads(row["asked"])) for row in rows)
        return [Job(row["number"], row["place"], of, row["readings"], row["seed"], row["error"]) for row, of in zip(rows, asked, strict=True)]

    def is_done(self, name: str) -> bool:
        """The chunk is written."""
        return (self.path / "jobs" / f"{name}.parquet").exists()

    def done(self) -> list[str]:
        """The chunks that are written, in order."""
        return sorted(path.stem for path in (self.path / "jobs").glob("[!.]*.parquet")) if (self.path / "jobs").is_dir() else []

    def tidy(self) -> None:
        """Remove what a kill has left half done."""
        finished = {*self.done()}
        for path in [*self.path.glob("*/.*.parquet.*"), *(self.path / "violations").glob("*.parquet")]:
            if path.name.startswith(".") or path.stem not in finished:
                path.unlink(missing_ok=True)

    def see(self) -> None:
        """Read what is there, so that a damaged file is told before anything leans on it.  Raises FileError."""
        for name in self.done():
            for table in ("jobs", "violations"):
                path = self.path / table / f"{name}.parquet"
                if path.exists():
                    read(path, ["job"])

    def rows(self, table: str, columns: list[str] | None = None) -> list[dict[str, Any]]:
        """All rows of a table, in the order of the jobs.  Raises FileError."""
        return rows_of(self.path, table, self.done(), columns)


def plan_rows(name: str, chunk: Iterable[Job]) -> list[dict[str, Any]]:
    """A chunk's rows of the plan."""
    return [
        {
            "chunk": name, "number": job.number, "place": job.place, "readings": job.readings, "seed": job.seed,
            "asked": None if job.question is None else job.asked, "error": job.error,
        }
        for job in chunk
    ]  # fmt: skip


def difference(there: Mapping[str, Any], mine: Mapping[str, Any]) -> str:
    """Where they differ first."""
    theirs, ours = there.get("asked", {}), mine["asked"]
    for key in ours:
        if theirs.get(key) != ours[key]:
            return f"its {key} is {shown(theirs.get(key))}, here it is {shown(ours[key])}"
    return "its scenarios differ from those that are there now"


def shown(value: object) -> str:
    """As JSON, cut."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}…"
