"""roamcheck: a model checker for publish/subscribe networks whose clients and brokers roam.

Three rooms, whose imports run one way: `roamcheck.spec` (what the papers say), `roamcheck.model` (closing it into a finite
transition system) and `roamcheck.checker` (search, and everything at the rim).
"""

from os.path import exists

__version__ = "0.1.0"  # as in pyproject.toml: a test holds the two equal

if not exists(__file__):  # in an archive
    from .archive import unpacked

    __path__ = [unpacked(__file__)]
