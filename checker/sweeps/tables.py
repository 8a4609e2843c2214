"""The Parquet files of a sweep: what is in a row, and how a chunk of jobs is written whole or not at all.

`jobs/` has one row a job, `violations/` one row a violation.  A chunk is one file in each, of one name; the violations are written first, so that a
file of jobs is there only when all that belongs to it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from roamcheck.checker.files import FileError

from .running import Done, Row

_VERDICT = pa.struct(
    [
        ("property", pa.string()),
        ("verdict", pa.string()),
        ("length", pa.int32()),
        ("shortest", pa.bool_()),
        ("why", pa.string()),
    ]
)
_ABOUT = [
    ("job", pa.string()),
    ("number", pa.int64()),
    ("place", pa.string()),
    ("scenario", pa.string()),
    ("protocol", pa.string()),
    ("readings", pa.string()),
    ("in_flight", pa.string()),
    ("bounce", pa.string()),
    ("client_links", pa.string()),
    ("radio", pa.string()),
    ("engine", pa.string()),
    ("seed", pa.int64()),
    ("version", pa.string()),
]
JOBS = pa.schema(
    [
        *_ABOUT,
        ("reading_values", pa.map_(pa.string(), pa.string())),
        ("outcome", pa.string()),
        ("complete", pa.bool_()),
        ("states", pa.int64()),
        ("transitions", pa.int64()),
        ("depth", pa.int32()),
        ("quiescent", pa.int64()),
        ("reductions", pa.list_(pa.string())),
        ("runs", pa.int64()),
        ("steps", pa.int64()),
        ("verdicts", pa.list_(_VERDICT)),
        ("violations", pa.int32()),
        ("warnings", pa.list_(pa.string())),
        ("lines", pa.list_(pa.string())),
        ("error", pa.string()),
        ("seconds", pa.float64()),
    ]
)
VIOLATIONS = pa.schema(
    [
        *_ABOUT,
        ("property", pa.string()),
        ("promised", pa.bool_()),
        ("length", pa.int32()),
        ("shortest", pa.bool_()),
        ("conjunct", pa.string()),
        ("values", pa.map_(pa.string(), pa.string())),
        ("cause", pa.string()),
        ("cause_lines", pa.list_(pa.string())),
        ("trace", pa.string()),
    ]
)
EMPTY: Mapping[str, Any] = {"complete": False, "violations": 0, "verdicts": [], "reductions": [], "warnings": [], "lines": []}


def write_chunk(folder: Path, name: str, done: Sequence[Done]) -> None:
    """The rows of a chunk.  Raises FileError; then there is no file of jobs by that name, or the one that there was."""
    violations = [row for one in done for row in one.violations]
    if violations:
        write(folder / "violations" / f"{name}.parquet", [pa.Table.from_pylist([as_cells(row) for row in violations], VIOLATIONS)], VIOLATIONS)
    write(folder / "jobs" / f"{name}.parquet", [pa.Table.from_pylist([as_cells({**EMPTY, **one.job}) for one in done], JOBS)], JOBS)


def as_cells(row: Row) -> Row:
    """Arrow takes a map as pairs."""
    return {key: [*value.items()] if isinstance(value, dict) else value for key, value in row.items()}


def write(path: Path, groups: Iterable[Any], schema: Any) -> None:
    """Write the file whole, each table a group of rows, or leave what was there.  Raises FileError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")  # Spark and we pass over names with a dot
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with pq.ParquetWriter(temporary, schema, compression="zstd") as file:
                for table in groups:
                    file.write_table(table)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except (OSError, pa.ArrowException) as error:
        raise FileError(f"{path}: cannot be written: {why(error)}") from None


def why(error: Exception) -> str:
    """Arrow gives the system's reason within a sentence of its own."""
    said = re.search(r".*\[errno \d+\] (.*)", str(error), re.IGNORECASE | re.DOTALL)
    return said[1] if said is not None else getattr(error, "strerror", None) or str(error)


def read(path: Path, columns: list[str] | None = None) -> list[Row]:
    """The rows of a file.  Raises FileError."""
    try:
        rows: list[Row] = pq.read_table(path, columns=columns, partitioning=None).to_pylist(maps_as_pydicts="strict")
    except (OSError, pa.ArrowException, KeyError) as error:
        hint = "delete the file, and --resume does its jobs again"
        raise FileError(f"{path}: no sound Parquet file: {' '.join(str(error).split())[:200]}; {hint}") from None
    return rows


def rows_of(folder: Path, table: str, names: Iterable[str], columns: list[str] | None = None) -> list[Row]:
    """The rows of these chunks, in the order of their jobs.  Raises FileError."""
    paths = (folder / table / f"{name}.parquet" for name in names)
    rows = [row for path in paths if table == "jobs" or path.exists() for row in read(path, columns)]
    return sorted(rows, key=lambda row: (row["number"], -1 if row["seed"] is None else row["seed"], row.get("property", "")))
