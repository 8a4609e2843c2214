"""What went wrong in Spark, in one line: its errors are pages of two languages' stacks."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib import metadata

from roamcheck import __version__
from roamcheck.checker.verdict import CannotBegin

PACKAGES = ("numpy", "numba", "pyarrow")  # whose versions are to be the same everywhere, beside Python's and roamcheck's
LONGEST = 400  # characters of a reason
UNLIKE = "the executors have Python {0}, the driver {1}: set PYSPARK_PYTHON, or --conf spark.pyspark.python=PATH, to the same on both"
HINTS = (
    (r"No module named '(roamcheck[\w.]*)'", "executors have no {0}: install it there, or give the wheel: --conf spark.submit.pyFiles=…whl"),
    (r"No module named '([\w.]+)'", "executors have no {0}: install there what roamcheck[spark] needs"),
    (r"Python in worker has different version: ([\d.]+) than that in driver: ([\d.]+)", UNLIKE),
)


class VersionsDiffer(RuntimeError):
    """An executor runs other versions than the driver."""


class SparkFailed(RuntimeError):
    """Spark gave up; one line says why."""


def failure(error: BaseException) -> Exception:
    """What to raise in its place: CannotBegin where executors are not as they should be, SparkFailed else."""
    said = reason(error)
    unfit = any(word in said for word in (VersionsDiffer.__name__, "executors have"))
    return CannotBegin(said) if unfit else SparkFailed(said)


@cache
def versions() -> Mapping[str, str]:
    """By package, what runs here."""
    return {
        "python": "{}.{}".format(*sys.version_info),
        "roamcheck": __version__,
        **{name: metadata.version(name) for name in PACKAGES},
    }


def agree(driver: Mapping[str, str]) -> None:
    """Called in a task: see that the versions here are those of the driver.  Raises VersionsDiffer."""
    here = versions()
    differing = [f"{name} {here[name]}, the driver {driver[name]}" for name in here if here[name] != driver[name]]
    if differing:
        raise VersionsDiffer(f"versions differ: an executor has {'; '.join(differing)}: install the same on both")


def reason(error: BaseException) -> str:
    """Why: the exception that a Python task ended with, or else the innermost of Java's, and what to do where that is known."""
    try:
        text = str(error)
    except Exception:  # Java is asked for it, and may be gone
        text = "Spark's Java side has ended"
    for pattern, hint in HINTS:
        found = re.search(pattern, text, re.DOTALL)
        if found is not None:
            return hint.format(*found.groups())
    raised = ""
    if worker := re.search(r"Error from python worker:\n(.*?)\n\s*PYTHONPATH was:", text, re.DOTALL):  # it did not even start
        raised = worker[1].strip().splitlines()[-1].strip()
    elif "Traceback (most recent call last)" in text:  # the last of the traceback is where it ended
        after = text.rpartition("Traceback (most recent call last)")[2].splitlines()
        raised = next((line for line in after[1:] if line and not line[0].isspace()), "")
    causes = re.findall(r"^\s*Caused by: (.*)$", text, re.MULTILINE)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = raised or (causes[-1] if causes else "") or next((line for line in lines if not line.endswith(":")), type(error).__name__)
    return shortened(said)


def shortened(text: str) -> str:
    """Without the package of the exception."""
    return re.sub(r"^(?:[\w$]+\.)+([A-Z][\w$]*): ", r"\1: ", text.strip())[:LONGEST]
