"""Imports run one way, the inner rooms touch nothing outside themselves, and no file says where it was written.

`spec ← model ← checker`: what a rule forbids is found by reading the syntax trees, so that a forbidden import inside a function counts too.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
ROOMS = ("spec", "model", "checker")

OUTSIDE = {"os", "pathlib", "io", "random", "time", "datetime", "subprocess", "socket"}  # what a pure function has no business with
RIM = {"click", "rich", "z3", "hypothesis", "pyspark"}  # imported in the checker only
IMPORTED_ONCE = {"z3": "checker/solver", "hypothesis": None, "pyspark": "checker/spark"}  # and the package that is made for it
MAY_PRINT = {"checker/report.py", "checker/cli.py", "checker/_parent/__main__.py"}
LONGEST = 500  # lines
MACHINE_PATH = re.compile(r"(?<![\w.~}-])/(?:work|root|home|Users|tmp)/[\w.-]")


# ---- reading a source ------------------------------------------------------------------------------------------------------------------


def package_of(file: str) -> str:
    """The package that a relative import in this file starts from."""
    if file.startswith("checker/_parent/"):
        return "roamcheck"
    return ".".join(("roamcheck", *Path(file).parent.parts))


def imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Every module that is imported anywhere, by its absolute name; of `from a import b` both `a` and `a.b`, as `b` may be a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = package.split(".")[: -(node.level - 1) or None] if node.level else []
            base = ".".join([*origin, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def calls(tree: ast.AST, *names: str) -> Iterator[int]:
    """The lines on which a function of one of these names is called, be it bare or an attribute."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in names:
                yield node.lineno


def standard_streams(tree: ast.AST) -> Iterator[int]:
    """The lines that take hold of sys.stdin, sys.stdout or sys.stderr."""
    streams = {"stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__"}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="sys"), attr=name) if name in streams:
                yield node.lineno
            case ast.ImportFrom(module="sys", names=aliases) if streams & {alias.name for alias in aliases}:
                yield node.lineno


def within(module: str, *roots: str) -> bool:
    return any(module == root or module.startswith(root + ".") for root in roots)


# ---- the rules: what a file breaks, given its path from the top and its tree -----------------------------------------------------------


def arrow_breaches(file: str, tree: ast.AST) -> Iterator[str]:
    later = ROOMS[ROOMS.index(Path(file).parts[0]) + 1 :]
    for module in imports(tree, package_of(file)):
        if within(module, *later, *(f"roamcheck.{room}" for room in later)):
            yield f"{file} imports {module}"


def purity_breaches(file: str, tree: ast.AST) -> Iterator[str]:
    if Path(file).parts[0] == "checker":
        return
    for module in imports(tree, package_of(file)):
        if within(module, *OUTSIDE, *RIM):
            yield f"{file} imports {module}"
    yield from (f"{file}:{line} opens a file or prints" for line in calls(tree, "open", "print"))
    yield from (f"{file}:{line} takes hold of a standard stream" for line in standard_streams(tree))


def print_breaches(file: str, tree: ast.AST) -> Iterator[str]:
    if file not in MAY_PRINT:
        yield from (f"{file}:{line} prints" for line in [*calls(tree, "print", "echo", "secho"), *standard_streams(tree)])


RULES: tuple[Callable[[str, ast.AST], Iterator[str]], ...] = (arrow_breaches, purity_breaches, print_breaches)


# ---- held against the repository -------------------------------------------------------------------------------------------------------


def sources() -> dict[str, ast.AST]:
    files = sorted(path for room in ROOMS for path in (TOP / room).rglob("*.py"))
    assert files
    return {path.relative_to(TOP).as_posix(): ast.parse(path.read_text(encoding="utf-8"), str(path)) for path in files}


@pytest.mark.parametrize("rule", RULES)
def test_the_sources_keep(rule: Callable[[str, ast.AST], Iterator[str]]) -> None:
    assert [breach for file, tree in sources().items() for breach in rule(file, tree)] == []


@pytest.mark.parametrize("library", IMPORTED_ONCE)
def test_imported_in_one_place(library: str) -> None:
    """In one file, or in its package."""
    places = [file for file, tree in sources().items() if any(within(module, library) for module in imports(tree, package_of(file)))]
    assert len(places) <= 1 or {str(Path(place).parent) for place in places} == {IMPORTED_ONCE[library]}, places


def test_what_takes_long_to_load_is_loaded_where_it_is_used() -> None:
    """To list, show and replay takes none of it."""
    told = "import sys, roamcheck.checker.cli, roamcheck.checker.report; print({'numba', 'numpy', 'networkx', 'z3', 'pyspark'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", told], check=True, capture_output=True, text=True).stdout == "set()\n"


def test_no_file_is_too_long() -> None:
    files = [path for folder in (*ROOMS, "tests", "benchmarks") for path in (TOP / folder).rglob("*.py")]
    lengths = {path.relative_to(TOP).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert {file: length for file, length in lengths.items() if length > LONGEST} == {}


def test_no_file_says_where_it_was_written() -> None:
    if not (TOP / ".git").exists():
        pytest.skip("not a git checkout: which files are tracked is unknown")
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, check=True, capture_output=True, text=True).stdout
    tracked = [TOP / name for name in listing.split("\0") if name]
    texts = ((path, path.read_bytes()) for path in tracked if path.is_file())
    assert [
        f"{path.relative_to(TOP)}:{number}: {line.strip()}"
        for path, content in texts
        if b"\0" not in content
        for number, line in enumerate(content.decode("utf-8", errors="replace").splitlines(), start=1)
        if MACHINE_PATH.search(line)
    ] == []


# ---- each rule is seen to refuse and to allow ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "file", "source"),
    [
        (arrow_breaches, "spec/state.py", "import roamcheck.model.steps"),
        (arrow_breaches, "spec/state.py", "from roamcheck import model"),
        (arrow_breaches, "spec/state.py", "from ..checker import verdict"),
        (arrow_breaches, "spec/algorithms/alg2_replay.py", "def f():\n    from ...model import steps"),
        (arrow_breaches, "spec/algorithms/__init__.py", "from ... import checker"),
        (arrow_breaches, "model/steps.py", "from .. import checker"),
        (arrow_breaches, "model/steps.py", "import checker"),
        (purity_breaches, "spec/state.py", "import os.path"),
        (purity_breaches, "model/radio.py", "from random import Random"),
        (purity_breaches, "model/radio.py", "def f():\n    import z3"),
        (purity_breaches, "model/scenario.py", "text = path.open()"),
        (purity_breaches, "model/scenario.py", "text = open(name)"),
        (purity_breaches, "model/scenario.py", "import sys\nsys.stdout.write('')"),
        (print_breaches, "spec/state.py", "print()"),
        (print_breaches, "checker/engines/reference.py", "from sys import stderr"),
        (print_breaches, "checker/replay.py", "click.echo('')"),
    ],
)
def test_refused(rule: Callable[[str, ast.AST], Iterator[str]], file: str, source: str) -> None:
    assert list(rule(file, ast.parse(source))) != []


@pytest.mark.parametrize(
    ("rule", "file", "source"),
    [
        (arrow_breaches, "spec/algorithms/alg2_replay.py", "from ..state import Broker\nfrom roamcheck.spec import messages"),
        (arrow_breaches, "model/steps.py", "from roamcheck.spec import state\nfrom . import interface"),
        (arrow_breaches, "checker/engines/reference.py", "from ...model import interface"),
        (arrow_breaches, "checker/_parent/__main__.py", "from .checker.cli import main"),
        (purity_breaches, "spec/state.py", "from dataclasses import dataclass\nimport sys\nname = sys.intern('b1')"),
        (purity_breaches, "spec/state.py", "from . import time"),
        (purity_breaches, "checker/trace.py", "from pathlib import Path\ntext = open(name)"),
        (print_breaches, "checker/report.py", "print()"),
    ],
)
def test_allowed(rule: Callable[[str, ast.AST], Iterator[str]], file: str, source: str) -> None:
    assert list(rule(file, ast.parse(source))) == []


@pytest.mark.parametrize("folder", ["work", "root", "home", "Users", "tmp"])
def test_a_machine_path_is_seen(folder: str) -> None:
    assert MACHINE_PATH.search(f"see /{folder}/here.txt")
    assert MACHINE_PATH.search(f'"/{folder}/here.txt"')
    assert not MACHINE_PATH.search(f"https://example.org/{folder}/here")
