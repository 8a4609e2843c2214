"""Reading and writing at the rim: scenarios by path or bundled name, and files that appear whole or not at all."""

from __future__ import annotations

import difflib
import os
import stat
import tempfile
from importlib import resources
from pathlib import Path

from roamcheck.model.scenario import Scenario, parse_scenario
from roamcheck.spec.filters import printable
from roamcheck.spec.protocols import PROTOCOLS

from .question import KNOWN_READINGS


class FileError(ValueError):
    """A file that cannot be read; one line that says which, why, and what would be right."""


def bundled() -> dict[str, str]:
    """Name → text of each bundled scenario, in order of name."""
    folder = resources.files("roamcheck.model") / "scenarios"
    found = {entry.name.removesuffix(".toml"): entry for entry in folder.iterdir() if entry.name.endswith(".toml")}
    return {name: found[name].read_text(encoding="utf-8") for name in sorted(found)}


def load_scenario(name: str) -> Scenario:
    """The scenario in the file `name`, or else the bundled one of that name.  Raises FileError or ScenarioError."""
    if not name or exists(name) or name.endswith(".toml") or "/" in name:
        return parse_scenario(read_text(name), where=printable(name), known_protocols=PROTOCOLS, known_readings=KNOWN_READINGS)
    library = bundled()
    if name not in library:
        near = difflib.get_close_matches(name, library, n=1)
        hint = f"did you mean {near[0]}?" if near else f"bundled are {', '.join(library)}"
        raise FileError(f"{printable(name)}: no such file and no bundled scenario of that name; {hint}")
    return parse_scenario(library[name], where=name, known_protocols=PROTOCOLS, known_readings=KNOWN_READINGS)


def exists(name: str) -> bool:
    """There is something of that name."""
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # a name too long, or with a NUL: no file has it
        return False


def read_text(name: str, limit: int = 16 << 20) -> str:
    """The text of a regular file of at most `limit` bytes, in UTF-8.  Raises FileError."""
    where, path = printable(name), Path(name)
    try:
        if not name:
            raise FileError("a file with no name: give a file, or the name of a bundled scenario")
        if path.is_dir():
            raise FileError(f"{where}: is a folder; give a file")
        if not path.is_file():
            raise FileError(f"{where}: {'is not a regular file' if path.exists() else 'no such file'}")
        if path.stat().st_size > limit:
            raise FileError(f"{where}: {path.stat().st_size:,} bytes; at most {limit:,} are read")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"{where}: not UTF-8 text (byte {error.start})") from None
    except (OSError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{where}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def writable(folder: Path) -> None:
    """See that files can be written to the folder, or that it can be made, without leaving anything behind.  Raises FileError."""
    try:
        there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
        with tempfile.TemporaryFile(dir=there):
            pass
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise FileError(f"{printable(str(folder))}: no files can be written there: {why}; name a folder") from None


def write_text(path: Path, text: str) -> None:
    """Write the file whole, or leave what was there; what is no regular file (a pipe, a device) is written to as it is.  Raises FileError."""
    try:
        path = path.resolve()
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open("w", encoding="utf-8") as pipe:
                pipe.write(text)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask()
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(temporary).chmod(mode)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except (OSError, ValueError, RuntimeError) as error:
        raise FileError(f"{printable(str(path))}: cannot be written: {getattr(error, 'strerror', None) or error}") from None


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
