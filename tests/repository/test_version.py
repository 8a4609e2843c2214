"""What the installed distribution says of itself: its version, its packages, its data."""

import re
import tomllib
from importlib import metadata, resources
from pathlib import Path

import roamcheck

TOP = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
STALE = "the install is older than the sources: run `make install`"


def test_one_version_everywhere() -> None:
    assert roamcheck.__version__ == PYPROJECT["project"]["version"]
    assert metadata.version("roamcheck") == roamcheck.__version__, STALE


def test_the_changelog_has_this_version() -> None:
    changelog = (TOP / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[{re.escape(roamcheck.__version__)}\]", changelog, re.MULTILINE)


def test_every_package_is_declared() -> None:
    declared = PYPROJECT["tool"]["setuptools"]["packages"]
    found = {"roamcheck"} | {
        ".".join(("roamcheck", *init.relative_to(TOP).parent.parts))
        for room in ("spec", "model", "checker")
        for init in (TOP / room).rglob("__init__.py")
        if init.parent.name != "_parent"
    }
    assert sorted(declared) == sorted(found)


def test_every_source_folder_is_a_package() -> None:
    folders = {source.parent for room in ("spec", "model", "checker") for source in (TOP / room).rglob("*.py")}
    assert folders
    assert [str(folder.relative_to(TOP)) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_the_scenarios_are_installed() -> None:
    sources = {path.name for path in (TOP / "model" / "scenarios").glob("*.toml")}
    shipped = resources.files("roamcheck.model") / "scenarios"
    installed = {entry.name for entry in shipped.iterdir() if entry.name.endswith(".toml")} if shipped.is_dir() else set()
    assert installed == sources, STALE


def test_no_folder_at_the_top_captures_the_import_name() -> None:
    assert not (TOP / "roamcheck").exists()
