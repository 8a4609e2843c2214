"""A checkpoint: a folder from which a search goes on after its process has ended, however it ended.

It holds what cannot be worked out again at once: from which state, and by which step, each state was found, where steps lead that may lie on a cycle,
and a manifest of how far the search had come.  The manifest is written last, by renaming, once for each level; what the other files hold beyond it is
ignored.  All the rest is fired anew, a fraction of the work since each state is reached by one step alone, and compared by fingerprint.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from roamcheck.checker.verdict import CannotBegin, Progress

from .refiring import Unfireable, children, chunk, initial_rows, rebuild
from .store import Chunk, Distant, StoreError, named, nameless, told

if TYPE_CHECKING:
    from .search import Search

FORMAT = "roamcheck-checkpoint 1"
MANIFEST = "checkpoint.json"
OFTEN = 1.0  # seconds between two times that the disk is waited for


class CheckpointError(CannotBegin):
    """A folder that cannot serve; one line."""


class Checkpoint:
    """The folder, and what the search in it is about: values that JSON can hold, by a name that says what they are."""

    def __init__(self, folder: Path, about: Mapping[str, Any], resume: bool = False) -> None:
        self.folder, self.about, self.resume = folder, json.loads(json.dumps(about)), resume
        self._synced = 0.0

    # ---- begin ---------------------------------------------------------------------------------------------

    def open(self, search: Search, observe: Callable[[Progress], None] | None) -> bool:
        """Take the search to where it was, if there is something to resume; the answer says so.  Raises CheckpointError."""
        try:
            with told(str(self.folder)):
                self.folder.mkdir(parents=True, exist_ok=True)
                there = (self.folder / MANIFEST).exists()
                nameless(self.folder).close()
        except StoreError as error:
            raise CheckpointError(f"{error}; name a folder that can be written to") from None
        if there and not self.resume:
            raise CheckpointError(f"{self.folder}: there is a checkpoint already: give --resume to go on with it, or name another folder")
        manifest = self._manifest() if there else None
        for name, log in search.logs.items():
            log.file = named(self.folder / f"{name}.bin", new=manifest is None)
        if manifest is not None:
            self._restore(search, manifest, observe)
        return manifest is not None

    def _manifest(self) -> dict[str, Any]:
        path = self.folder / MANIFEST
        with told(str(path)):
            text = path.read_bytes()
        try:
            manifest = json.loads(text)
            body, checksum = manifest["search"], manifest["checksum"]
            sound = isinstance(body, dict) and zlib.crc32(_dumps(body).encode()) == checksum
        except (ValueError, KeyError, TypeError):
            manifest, sound = {}, False
        if isinstance(manifest, dict) and sound and manifest.get("format") != FORMAT:
            raise CheckpointError(f"{path}: not a checkpoint of this version: {FORMAT!r} is needed")
        if not sound:
            raise CheckpointError(f"{path}: damaged; begin anew in another folder")
        for name, value in self.about.items():
            was = body["about"].get(name)
            if was != value:
                raise CheckpointError(f"{self.folder}: a checkpoint of {name} {_short(was)}, not {_short(value)}; name another folder")
        return dict(body)

    def _restore(self, search: Search, manifest: dict[str, Any], observe: Callable[[Progress], None] | None) -> None:
        for name, log in search.logs.items():
            length, checksum = manifest["logs"][name]
            try:
                sound = log.restore(length, checksum)
            except StoreError:
                sound = False
            if not sound:
                raise CheckpointError(f"{self.folder / f'{name}.bin'}: damaged; begin anew in another folder")
        search.initial, search.levels, search.told = manifest["initial"], manifest["levels"], False
        search.besides = [(np.array(source, np.int64), np.array(target, np.int64)) for source, target in manifest["besides"]]
        try:
            refire(search, manifest["states"], observe)
        except Unfireable:
            search.digest = -1
        if search.digest != int(manifest["digest"], 16):
            raise CheckpointError(f"{self.folder}: the steps that it holds lead elsewhere now; it is damaged, or the protocol has changed since")
        search.quiescent, search.fired = manifest["quiescent"], np.array(manifest["fired"], np.int64)
        for of, hit in manifest["found"]:
            search.found[of] = (hit[0], hit[1])
            search.active[of] = 0

    # ---- go on -------------------------------------------------------------------------------------------------

    def save(self, search: Search) -> None:
        """Write how far the search has come; called between two levels.  Raises StoreError."""
        now = monotonic()
        wait, self._synced = now - self._synced > OFTEN, now if now - self._synced > OFTEN else self._synced
        for log in search.logs.values():
            log.flush()
            if wait and log.file is not None:
                with told(str(self.folder)):
                    os.fsync(log.file.fileno())
        body = {
            "about": self.about,
            "states": search.states,
            "quiescent": search.quiescent,
            "levels": search.levels,
            "initial": search.initial,
            "fired": search.fired.tolist(),
            "found": sorted(search.found.items()),
            "besides": [(source.tolist(), target.tolist()) for source, target in search.besides],
            "logs": {name: (len(log), log.checksum) for name, log in search.logs.items()},
            "digest": f"{search.digest:016x}",
        }
        text = _dumps(body)
        with told(str(self.folder)):
            beside = self.folder / f".{MANIFEST}.new"
            with beside.open("w", encoding="utf-8") as file:
                file.write(f'{{"format": {json.dumps(FORMAT)}, "checksum": {zlib.crc32(text.encode())}, "search": {text}}}\n')
                file.flush()
                if wait:
                    os.fsync(file.fileno())
            beside.replace(self.folder / MANIFEST)


def refire(search: Search, states: int, observe: Callable[[Progress], None] | None) -> None:
    """Find the states anew by the steps that are known, and leave the last level as the frontier.  Raises Unfireable."""
    first = chunk(search, initial_rows(search))
    add(search, first)
    level: list[Chunk | Distant] = [first]
    for depth in range(1, len(search.levels)):
        lo, hi = search.levels[depth], search.levels[depth + 1] if depth + 1 < len(search.levels) else states
        before, search.frontier = level, []
        if lo < hi and int(search.parent.read(lo, lo + 1)[0]) < search.levels[depth - 1]:  # of states that were explored again
            numbers = np.unique(search.parent.read(lo, hi))
            descend(search, rebuild(search, numbers), numbers, lo, hi)
        else:
            while before:
                some = before.pop(0).fetch()
                numbers = np.arange(some.first, some.first + len(some), dtype=np.uint32)
                end = lo + int(np.searchsorted(search.parent.read(lo, hi), some.first + len(some)))
                descend(search, some, numbers, lo, end)
                lo = end
                if observe is not None:
                    observe(search.progress(states - search.states, monotonic()))
        if lo < hi and not before and search.states < hi:
            raise Unfireable
        level = search.frontier
    search.frontier = level


def descend(search: Search, parents: Chunk, numbers: Any, lo: int, hi: int) -> None:
    """The states lo…hi-1, all of which were found from those with these numbers."""
    for at in range(lo, hi, search.memory.batch):
        end = min(at + search.memory.batch, hi)
        found = children(search, parents, np.searchsorted(numbers, search.parent.read(at, end)), search.arrival.read(at, end))
        found.first = at
        add(search, found)
        search.frontier.append(found)
        search.memory.relieve(search)


def add(search: Search, found: Chunk) -> None:
    """Put states into the visited set, which has none of them yet.  Raises Unfireable."""
    n = len(found)
    c = search.room_for(n, 1, 1)
    c.prints[:n], c.start[:n], c.size[:n] = found.prints, np.arange(n), 1
    if search.visited.insert(c, n, search.shares(n), search.states) < n:
        raise Unfireable
    search.take_note(found.prints)
    search.states += n


def _dumps(body: Mapping[str, Any]) -> str:
    return json.dumps(body, separators=(",", ":"))


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "…"
