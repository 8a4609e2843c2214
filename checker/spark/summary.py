"""What the rows of a sweep come to, by Spark SQL over its Parquet files: nothing here holds more than the answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamcheck.checker.files import FileError
from roamcheck.checker.interrupts import heed
from roamcheck.checker.passing import printed_lines
from roamcheck.checker.sweeps.folder import Folder
from roamcheck.checker.sweeps.tables import JOBS, VIOLATIONS

from .failures import failure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]
Z = 1.959964  # standard deviations that 95 % of a normal distribution are within
WITHIN = "protocol, readings, radio, in_flight, bounce, client_links"
SLOWEST = 10
ERRORS = 100  # of jobs that failed, in the answer

TOTALS = """
    SELECT seed IS NOT NULL AS searched, outcome, count(*) AS jobs, sum(coalesce(states, 0)) AS states, sum(coalesce(runs, 0)) AS runs,
           sum(seconds) AS seconds
    FROM jobs GROUP BY ALL ORDER BY searched, outcome"""
VERDICTS = f"""
    SELECT {WITHIN}, v.property, count(*) AS jobs,
           count_if(v.verdict = 'violated') AS violated, count_if(v.verdict = 'holds') AS holds,
           count_if(v.verdict IN ('holds-within', 'unknown')) AS undecided, count_if(v.verdict = 'not-applicable') AS not_applicable,
           min(v.length) AS shortest
    FROM (SELECT *, explode(verdicts) AS v FROM jobs WHERE seed IS NULL) GROUP BY ALL ORDER BY {WITHIN}, v.property"""
RATES = f"""
    SELECT *, violated / searches AS rate,
           greatest(0, (centre - half) / (1 + {Z * Z} / searches)) AS low, least(1, (centre + half) / (1 + {Z * Z} / searches)) AS high
    FROM (SELECT *, violated / searches + {Z * Z / 2} / searches AS centre,
                 {Z} * sqrt(violated / searches * (1 - violated / searches) / searches + {Z * Z / 4} / (searches * searches)) AS half
          FROM (SELECT engine, {WITHIN}, v.property, count(*) AS searches, count_if(v.verdict = 'violated') AS violated, min(v.length) AS shortest
                FROM (SELECT *, explode(verdicts) AS v FROM jobs WHERE seed IS NOT NULL)
                WHERE v.verdict <> 'not-applicable' GROUP BY ALL))
    ORDER BY engine, {WITHIN}, property"""
CAUSES = """
    SELECT cause, property, protocol, promised, conjunct, count(*) AS violations, count(DISTINCT number) AS questions, min(length) AS length,
           min_by(struct(scenario, readings, radio, job, cause_lines, trace), struct(length, number, coalesce(seed, -1))) AS smallest
    FROM violations GROUP BY cause, property, protocol, promised, conjunct
    ORDER BY promised DESC, questions DESC, length, cause"""
SLOW = f"""
    SELECT job, scenario, protocol, readings, radio, engine, seed, states, seconds FROM jobs ORDER BY seconds DESC, job LIMIT {SLOWEST}"""
PASSED = """
    SELECT protocol, line, count(*) AS jobs FROM (SELECT protocol, explode(lines) AS line FROM jobs) GROUP BY ALL"""
FAILED = f"""
    SELECT place, scenario, protocol, readings, radio, seed, job, error FROM jobs WHERE error IS NOT NULL ORDER BY number, seed LIMIT {ERRORS}"""


class Summary:
    """Of the folder of a sweep, finished or not."""

    def __init__(self, session: SparkSession, folder: Folder) -> None:
        """Raises FileError for a folder that is none of a sweep."""
        manifest = folder.manifest()
        if manifest is None:
            raise FileError(f"{folder.path}: holds no sweep (it has no sweep.json); name the folder that was given to sweep as --out")
        self.session, self.folder, self.manifest = session, folder, manifest
        done = {*folder.done()}
        strays = sorted(path.name for path in (folder.path / "violations").glob("[!.]*.parquet") if path.stem not in done)
        self.see("jobs", JOBS, []).createOrReplaceTempView("jobs")
        self.see("violations", VIOLATIONS, strays).createOrReplaceTempView("violations")

    def see(self, table: str, schema: Any, strays: list[str]) -> DataFrame:
        """The rows of a table, without those of files that a kill has left."""
        from pyspark.sql.functions import col
        from pyspark.sql.pandas.types import from_arrow_schema

        known, path = from_arrow_schema(schema), self.folder.path / table
        if not path.is_dir():
            return self.session.createDataFrame([], known)
        frame = self.session.read.schema(known).parquet(str(path))
        return frame.where(~col("_metadata.file_name").isin(strays)) if strays else frame

    def rows(self, query: str) -> list[Row]:
        """What it answers.  Raises FileError, CannotBegin, SparkFailed, KeyboardInterrupt."""
        try:
            found = [row.asDict(recursive=True) for row in self.session.sql(query).collect()]
        except Exception as error:  # whatever Spark says
            raise self.damage(error) or failure(error) from None
        heed()
        return found

    def damage(self, error: Exception) -> FileError | None:
        """What it means if a file cannot be read."""
        found = re.search(r"file:/*(/[^\s,]*?\.parquet)", str(error))
        if found is None:
            return None
        return FileError(f"{found[1]}: no sound Parquet file; delete it, and sweep --resume does its jobs again")

    def all(self) -> dict[str, Any]:
        """Everything but the causes."""
        totals = self.rows(TOTALS)
        return {
            "questions": self.manifest["questions"],
            "explored": sum(row["jobs"] for row in totals if not row["searched"]),
            "asked": self.manifest["asked"],
            "totals": totals,
            "verdicts": self.rows(VERDICTS),
            "rates": self.rows(RATES),
            "slowest": self.rows(SLOW),
            "coverage": coverage(self.rows(PASSED)),
            "errors": self.rows(FAILED),
        }

    def causes(self) -> Iterator[Row]:
        """One after the other, those of the properties that the papers promise first, and of these the commonest; each with its smallest trace.

        Raises FileError, CannotBegin, SparkFailed.
        """
        try:
            for row in self.session.sql(CAUSES).toLocalIterator():
                yield row.asDict(recursive=True)
                heed()
        except Exception as error:
            raise self.damage(error) or failure(error) from None


def coverage(passed: list[Row]) -> list[Row]:
    """By protocol: how many of its printed lines some job has passed, and which none has."""
    by_protocol: dict[str, set[str]] = {}
    for row in passed:
        by_protocol.setdefault(row["protocol"], set()).add(row["line"])
    found = []
    for protocol, lines in sorted(by_protocol.items()):
        printed = printed_lines(protocol)
        found.append({"protocol": protocol, "lines": len(printed), "passed": len(lines), "never": [line for line in printed if line not in lines]})
    return found


def trace_path(folder: Path, cause: Mapping[str, Any]) -> Path:
    """Where the smallest trace of a cause goes."""
    return folder / f"{cause['protocol']}.{cause['property']}.{cause['cause']}.jsonl"
