"""Unpacks the archive that roamcheck is imported from, as Spark ships a wheel: compiled loops are cached beside their source, or nowhere."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import zipfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path


def unpacked(module: str) -> str:
    """The folder of the package that `module`, a path that leads into an archive, belongs to; the same for all of a user's processes on a machine."""
    package = Path(module).parent
    archive = next(path for path in package.parents if path.is_file())
    folder = private_folder() / sha256(archive.read_bytes()).hexdigest()[:16]
    if not folder.exists():
        scratch = Path(tempfile.mkdtemp(dir=folder.parent))
        with zipfile.ZipFile(archive) as content:
            content.extractall(scratch)
        with suppress(OSError):  # another process was quicker
            scratch.rename(folder)
        shutil.rmtree(scratch, ignore_errors=True)
    return str(folder / package.relative_to(archive))


def private_folder() -> Path:
    """One for temporary files that nobody else can write to: code is run from it."""
    folder = Path(tempfile.gettempdir()) / f"roamcheck-{os.getuid()}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    mine = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
    return folder if mine else Path(tempfile.mkdtemp(prefix="roamcheck-"))
