"""Imported from an archive, as Spark ships a wheel, roamcheck unpacks itself to where nobody else can write."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import roamcheck

ASK = """
import json, sys
sys.path[:] = [sys.argv[1], *(place for place in sys.path if "editable" not in place)]
import roamcheck
from roamcheck.checker.files import load_scenario
from roamcheck.checker.recompiled import source
from roamcheck.checker.tabled import kernels
print(json.dumps([roamcheck.__file__, kernels.__file__, load_scenario("figure-1b").name, len(source("alg6_bmig")), roamcheck.__version__]))
"""


def test_an_archive_is_unpacked_once_and_works(tmp_path: Path) -> None:
    package = Path(roamcheck.__file__).parent
    with zipfile.ZipFile(tmp_path / "roamcheck.zip", "w") as archive:
        for path in sorted(package.rglob("*")):
            if path.suffix in (".py", ".toml"):
                archive.write(path, Path("roamcheck") / path.relative_to(package))
    (tmp_path / "temporary").mkdir()

    def ask() -> list[str]:
        ran = subprocess.run(
            [sys.executable, "-c", ASK, str(tmp_path / "roamcheck.zip")], capture_output=True, text=True, check=False, cwd=tmp_path,
            env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        found: list[str] = json.loads(ran.stdout)
        return found

    first, second = ask(), ask()
    assert first == second
    assert first[0] == str(tmp_path / "roamcheck.zip" / "roamcheck" / "__init__.py")
    (private,) = (tmp_path / "temporary").iterdir()
    assert private.stat().st_mode & 0o077 == 0
    assert len(list(private.iterdir())) == 1
    assert first[1].startswith(f"{private}{os.sep}")
    assert first[2:] == ["figure-1b", len(Path(package / "spec" / "algorithms" / "alg6_bmig.py").read_text(encoding="utf-8")), roamcheck.__version__]


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path: Path, monkeypatch) -> None:
    from roamcheck import archive

    monkeypatch.setattr(archive.tempfile, "gettempdir", lambda: str(tmp_path))
    taken = tmp_path / f"roamcheck-{os.getuid()}"
    assert archive.private_folder() == taken
    taken.chmod(0o777)
    assert archive.private_folder() != taken
