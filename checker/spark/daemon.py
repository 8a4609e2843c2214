"""Spark's daemon of Python processes, with the engine loaded before it forks any of them: each then begins at once.

`session.py` names it where executors find roamcheck by themselves.  Spark's own imports nothing, so that every process takes seconds to begin.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module

USED = ("pyarrow.parquet", "pyspark.worker", "pyspark.sql.conversion", "pyspark.sql.pandas.serializers", "roamcheck.checker.spark.frontier_tasks")


def main() -> None:
    """Load, and be the daemon."""
    from pyspark.daemon import manager

    with suppress(Exception):  # a task tells what is missing here; a daemon that ends does not
        for name in USED:
            import_module(name)
        from .sweep import warm

        warm()
    manager()


if __name__ == "__main__":
    main()
