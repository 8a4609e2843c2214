"""What the README shows is what the program prints, and what it names is there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_its_generated_parts_are_up_to_date():
    ran = subprocess.run([sys.executable, str(ROOT / "benchmarks" / "readme.py"), "--check"], check=False)
    assert ran.returncode == 0, "run: python benchmarks/readme.py"


def test_its_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_its_scenario_is_one(tmp_path):
    (example,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    (tmp_path / "mine.toml").write_text(example, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "roamcheck", "check", "mine.toml", "--json", "-"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert ran.returncode in (0, 1), ran.stderr
    assert "warning" not in ran.stderr


COMMANDS = [line.partition("#")[0].strip() for line in README.splitlines() if line.startswith("roamcheck ") and "my.toml" not in line]
LONG = {"roamcheck prove modular --property well-formed", "roamcheck search hunt-child-above-parent"}
FAULTS = re.findall(r"\| `(roamcheck check [^`]*)` \|", README)


@pytest.mark.parametrize(
    "command", [pytest.param(command, marks=pytest.mark.slow if command in LONG else ()) for command in [*COMMANDS, *FAULTS]]
)
def test_its_commands_run(command, tmp_path):
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    ran = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)], capture_output=True, text=True, cwd=tmp_path, stdin=subprocess.DEVNULL, check=False
    )
    assert ran.returncode in ((1,) if command in FAULTS else (0, 1)), ran.stderr
    assert "error" not in ran.stderr
