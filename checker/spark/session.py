"""A Spark session that is quiet, leaves nothing behind, and fails with one line."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from roamcheck.checker.interrupts import held_back
from roamcheck.checker.verdict import CannotBegin

from .failures import reason
from .gateway import Gateway, spark_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
FAILURES = 4  # attempts at a task; in local mode the master has to say so, or there is one
ANSWERS_WITHIN = 5  # seconds, a master that is reachable
LONGEST_SOCKET = 60  # characters of the folder of a socket, whose whole path may have about 100
QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.python.worker.reuse": "true",
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",  # by it, queries would have Python processes apart from those of RDDs
}
DAEMON = "roamcheck.checker.spark.daemon"
GATEWAY = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")


@contextmanager
def spark_session(
    master: str | None = None, properties: Mapping[str, str] | None = None, name: str = "roamcheck", *, quick: bool = False
) -> Iterator[SparkSession]:
    """A session on `master` (default: all cores of this machine, or under spark-submit what that was told), with Spark properties of the user's.

    In local mode a task that fails is tried again, and nothing listens beyond loopback.  What Spark writes on this machine goes to a folder that is
    removed at the end.  A `quick` one starts sooner, and its Java code is slower where it runs for minutes.  Ctrl-C is left to whoever handles it
    outside.  Raises CannotBegin; what Spark raises inside is for `reason`.
    """
    given = dict(properties or {})
    submitted = GATEWAY[0] in os.environ  # by spark-submit, which has started the Java side
    chosen = None if submitted and master is None else with_retries(master or given.pop("spark.master", LOCAL))
    spark_home()
    if chosen is not None:
        reach(chosen)
    with ExitStack() as stack:
        scratch = Path(tempfile.mkdtemp(prefix="roamcheck-spark-"))
        stack.callback(shutil.rmtree, scratch, ignore_errors=True)
        settings = {**defaults(chosen, scratch), **given}
        if not submitted and not given.get("spark.submit.pyFiles"):  # else roamcheck may come by Spark, which is after the daemon has begun
            settings.setdefault("spark.python.daemon.module", DAEMON)
        stack.enter_context(environment({"PYSPARK_PYTHON": given.get("spark.pyspark.python", os.environ.get("PYSPARK_PYTHON", sys.executable))}))
        gateway, told = None, {}
        if not submitted:
            gateway = Gateway({**settings, "spark.master": str(chosen)}, scratch, on_loopback(chosen), quick)
            stack.callback(gateway.stop)
            told = dict(zip(GATEWAY, (str(gateway.port), gateway.secret), strict=True))
        with environment(told):  # and not longer: a process that is begun meanwhile would take it for one of spark-submit
            session = begin(chosen, settings, name, gateway)
        stack.callback(end, session, own=gateway is not None)
        ship_wheels(session, scratch)
        yield session


def begin(master: str | None, settings: Mapping[str, str], name: str, gateway: Gateway | None) -> SparkSession:
    """Raises CannotBegin."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    if master is not None:
        builder = builder.master(master)
    try:
        with held_back(), handler_kept(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session = builder.getOrCreate()
    except Exception as error:  # whatever Java says
        why, said = reason(error), gateway.complaint() if gateway is not None else ""
        forget()
        raise CannotBegin(f"no Spark session on {master or 'the master of spark-submit'}: {why}{f' ({said})' if said else ''}") from None
    if gateway is None:
        session.sparkContext.setLogLevel("ERROR")
    return session


@contextmanager
def handler_kept() -> Iterator[None]:
    """Who deals with Ctrl-C still does so afterwards: PySpark puts a handler of its own there."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if main else None
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def ship_wheels(session: SparkSession, scratch: Path) -> None:
    """Wheels among the files to be sent along are sent as zip archives: Spark's Python imports from no others.  Raises CannotBegin."""
    context = session.sparkContext
    for place in context.getConf().get("spark.submit.pyFiles", "").split(","):
        path = Path(urlsplit(place).path)
        if path.suffix == ".whl":
            try:
                context.addPyFile(shutil.copyfile(path, scratch / f"{path.name}.zip").as_posix())
            except OSError as error:
                raise CannotBegin(f"spark.submit.pyFiles: {path}: {error.strerror or error}") from None


def end(session: SparkSession, own: bool) -> None:
    """Stop it, so that another can begin in this process."""
    with suppress(Exception), warnings.catch_warnings():  # its Java side may be gone
        warnings.simplefilter("ignore")
        session.stop()
    if own:
        forget()


def forget() -> None:
    """Have PySpark look for a gateway anew."""
    from pyspark import SparkContext

    with suppress(Exception):
        if SparkContext._gateway is not None:
            SparkContext._gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None


def defaults(master: str | None, scratch: Path) -> dict[str, str]:
    """Properties where the user gives none."""
    found = {
        **QUIET,
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.artifact.isolation.enabled": "false",
    }
    if on_loopback(master):
        found |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    if len(str(scratch)) <= LONGEST_SOCKET:
        found["spark.python.unix.domain.socket.enabled"] = "true"  # a third of the cost of a task
    return found


# ---- the master ------------------------------------------------------------------------------------------------------------------


def is_local(master: str | None) -> bool:
    """Whether it is this process's own, and no cluster."""
    return master is not None and master.startswith("local")


def on_loopback(master: str | None) -> bool:
    """Whether all of it is on this machine, so that nothing needs to be heard elsewhere."""
    return is_local(master) or (master is not None and re.fullmatch(r"spark://(127\.[\d.]+|localhost)(:\d+)?", master) is not None)


def with_retries(master: str) -> str:
    """`local[2]` as `local[2,4]`: Spark tries no task of the former again, whatever else it is told."""
    found = re.fullmatch(r"local(?:\[(\d+|\*)\])?", master)
    return master if found is None else f"local[{found[1] or 1},{FAILURES}]"


def reach(master: str) -> None:
    """See that the master is one, and that one with an address answers; Spark would try for a minute or more.  Raises CannotBegin."""
    if not re.match(r"(local($|\[|-cluster\[)|spark://|yarn$|k8s://)", master):
        raise CannotBegin(f"--master {master}: no Spark master; write local[*], local[N], spark://HOST:PORT, yarn or k8s://HOST:PORT")
    scheme = re.match(r"spark://|k8s://(?:https?://)?", master)
    if scheme is None:
        return
    default, why = "7077" if scheme[0] == "spark://" else "443", ""
    for place in master[scheme.end() :].rstrip("/").split(","):
        host, _, port = place.rpartition(":") if ":" in place else (place, "", default)
        try:
            with socket.create_connection((host.strip("[]"), int(port)), ANSWERS_WITHIN):
                return
        except (OSError, ValueError) as error:
            why = f"{place}: {getattr(error, 'strerror', None) or error}"
    raise CannotBegin(f"--master {master}: nothing answers there ({why}): is the master running, and the address right?")


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """With these variables."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
