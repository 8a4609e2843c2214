"""The files of a distributed search: Parquet with checksums, written by whoever has the data, and trusted only where a manifest lists them.

    DIR/checkpoint.json                      how far the search has come; written last, by fsync and rename
    DIR/frontier/00012-003-….parquet         the states of depth 12 that belong to partition 3, in the order of their labels, a row a block
    DIR/visited/00012-003-….parquet          their fingerprints, in order; now and then those of all depths so far in one
    DIR/tables/00012-….parquet               what was first met at that depth: values, and changes that protocol steps make

Every attempt at a task writes files of its own names, so that one that was repeated, or was given up half way, leaves nothing that is taken for true.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from roamcheck.checker.tabled.checkpoint import MANIFEST, CheckpointError
from roamcheck.checker.tabled.store import StoreError, told

from .frontier_rows import CELLS, Block, block_of
from .frontier_values import Content, Damaged

FORMAT = "roamcheck-frontier 1"
FOLDERS = ("frontier", "visited", "tables")
BLOCK = 1 << 15  # states of a block
BLOCKS = pa.schema([("states", pa.int64()), *((name, pa.large_binary()) for name in CELLS)])
RUN = pa.schema([pa.field("print", pa.uint64(), nullable=False)])
LONG = 1 << 22  # fingerprints that are read at once
VALUES = pa.schema([("slot", pa.int32()), ("key", pa.binary()), ("data", pa.binary())])
CHANGES = pa.schema([("change", pa.uint64()), ("slot", pa.int32()), ("before", pa.uint64()), ("after", pa.uint64())])

File = tuple[str, int]  # its path within the folder, and its size
Change = list[tuple[int, int, int]]  # what a step does: slots, with the keys of the values that they had and have


def write(folder: Path, stem: str, table: Any, row_group: int | None = None, durable: bool = False) -> File:
    """A new file for a table.  Raises StoreError."""
    name = f"{stem}-{uuid4().hex[:12]}.parquet"
    with told(str(folder)):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("wb") as file:
                pq.write_table(
                    table, file, row_group_size=row_group, compression="none", use_dictionary=False, write_statistics=False, write_page_checksum=True
                )  # fmt: skip
                file.flush()
                if durable:
                    os.fsync(file.fileno())
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return name, path.stat().st_size


def opened(folder: Path, file: File) -> Any:
    """A file to be read.  Raises Damaged, StoreError."""
    path = folder / file[0]
    with told(str(path)):
        if not path.exists():
            raise Damaged(f"{path}: is not there")
        if path.stat().st_size != file[1]:
            raise Damaged(f"{path}: {path.stat().st_size:,} octets, and was {file[1]:,}")
    try:
        return pq.ParquetFile(path, page_checksum_verification=True, pre_buffer=False)
    except (OSError, pa.ArrowException):
        raise Damaged(f"{path}: is no Parquet file any more") from None


def pieces(folder: Path, file: File, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """The row groups of a file, one after the other, as tables.  Raises Damaged, StoreError."""
    source = opened(folder, file)
    try:
        for group in range(source.metadata.num_row_groups):
            yield source.read_row_group(group, columns=columns, use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise Damaged(f"{folder / file[0]}: cannot be read: {' '.join(str(error).split())}") from None
    finally:
        source.close()


# ---- what is in them ---------------------------------------------------------------------------------------------------------------


def write_frontier(folder: Path, stem: str, block: Block, durable: bool) -> File:
    """States in the order of their labels.  Raises StoreError."""
    parts = [block.take(slice(lo, lo + BLOCK)) for lo in range(0, len(block), BLOCK)]
    rows = [{"states": len(part), **part.cells()} for part in parts]
    return write(folder, f"frontier/{stem}", pa.Table.from_pylist(rows, BLOCKS), 1, durable)


def read_frontier(folder: Path, file: File) -> Iterator[Block]:
    """Its blocks.  Raises Damaged, StoreError."""
    for table in pieces(folder, file):
        for row in table.to_pylist():
            yield block_of(row)


def read_labels(folder: Path, file: File) -> Any:
    """The labels of its states.  Raises Damaged, StoreError."""
    cells = [cell for table in pieces(folder, file, ["labels"]) for cell in table["labels"].to_pylist()]
    return np.frombuffer(b"".join(cells), np.uint64).copy()


def write_run(folder: Path, stem: str, prints: Any, durable: bool) -> File:
    """Fingerprints in order.  Raises StoreError."""
    return write(folder, f"visited/{stem}", pa.table([prints], schema=RUN), LONG, durable)


def read_run(folder: Path, file: File) -> Iterator[Any]:
    """The fingerprints, some millions at a time.  Raises Damaged, StoreError."""
    for table in pieces(folder, file):
        yield table["print"].combine_chunks().to_numpy()


def write_values(folder: Path, stem: str, contents: Sequence[Content], durable: bool) -> File:
    """In the order of their shared numbers.  Raises StoreError."""
    slots, keys, data = ([one[i] for one in contents] for i in range(3))
    return write(folder, f"tables/{stem}-values", pa.table([slots, keys, data], schema=VALUES), None, durable)


def read_values(folder: Path, file: File) -> list[Content]:
    """Raises Damaged, StoreError."""
    return [Content(row["slot"], row["key"], row["data"]) for table in pieces(folder, file) for row in table.to_pylist()]


def write_changes(folder: Path, stem: str, changes: Mapping[int, Change], durable: bool) -> File:
    """What protocol steps do, by name; one that changes nothing has slot -1.  Raises StoreError."""
    rows = [(change, *one) for change, found in changes.items() for one in found or [(-1, 0, 0)]]
    columns = [[row[i] for row in rows] for i in range(4)]
    return write(folder, f"tables/{stem}-changes", pa.table(columns, schema=CHANGES), None, durable)


def read_changes(folder: Path, file: File) -> dict[int, Change]:
    """Raises Damaged, StoreError."""
    found: dict[int, Change] = {}
    for table in pieces(folder, file):
        for change, slot, before, after in zip(*(column.to_pylist() for column in table.columns), strict=True):
            found.setdefault(change, []).extend([(slot, before, after)] if slot >= 0 else [])
    return found


# ---- the manifest ------------------------------------------------------------------------------------------------------------------


class Manifest:
    """The folder of a search, and what the search in it is about: values that JSON can hold, by a name that says what they are."""

    def __init__(self, folder: Path, about: Mapping[str, Any], resume: bool = False) -> None:
        self.folder, self.about, self.resume = folder, json.loads(json.dumps(about)), resume

    def open(self) -> dict[str, Any] | None:
        """How far the search in the folder had come, if there is one to resume.  Raises CheckpointError."""
        try:
            with told(str(self.folder)):
                for name in FOLDERS:
                    (self.folder / name).mkdir(parents=True, exist_ok=True)
                there = (self.folder / MANIFEST).exists()
                (probe := self.folder / f".{MANIFEST}.new").write_bytes(b"")
                probe.unlink()
        except StoreError as error:
            raise CheckpointError(f"{error}; name a folder that can be written to") from None
        if there and not self.resume:
            raise CheckpointError(f"{self.folder}: there is a checkpoint already: give --resume to go on with it, or name another folder")
        return self._read() if there else None

    def _read(self) -> dict[str, Any]:
        path = self.folder / MANIFEST
        try:
            with told(str(path)):
                found = json.loads(path.read_bytes())
            body, sound = found["search"], zlib.crc32(_dumps(found["search"]).encode()) == found["checksum"]
        except StoreError as error:
            raise CheckpointError(str(error)) from None
        except (ValueError, KeyError, TypeError):
            found, body, sound = {}, {}, False
        if sound and found.get("format") != FORMAT:
            raise CheckpointError(f"{path}: not a checkpoint of --engine spark and this version: {FORMAT!r} is needed")
        if not sound:
            raise CheckpointError(f"{path}: damaged; begin anew in another folder")
        for name, value in self.about.items():
            was = body["about"].get(name)
            if was != value:
                raise CheckpointError(f"{self.folder}: a checkpoint of {name} {_short(was)}, not {_short(value)}; name another folder")
        return dict(body)

    def save(self, body: Mapping[str, Any], durable: bool) -> None:
        """Raises StoreError."""
        text = _dumps({"about": self.about, **body})
        with told(str(self.folder)):
            beside = self.folder / f".{MANIFEST}.new"
            with beside.open("w", encoding="utf-8") as file:
                file.write(f'{{"format": {json.dumps(FORMAT)}, "checksum": {zlib.crc32(text.encode())}, "search": {text}}}\n')
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            beside.replace(self.folder / MANIFEST)

    def sweep(self, listed: set[str]) -> None:
        """Remove files that the manifest does not list, of attempts that came to nothing."""
        for name in FOLDERS:
            for path in (self.folder / name).glob("*.parquet"):
                if f"{name}/{path.name}" not in listed:
                    path.unlink(missing_ok=True)


def _dumps(body: Mapping[str, Any]) -> str:
    return json.dumps(body, separators=(",", ":"))


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "…"
