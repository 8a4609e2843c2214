"""A standalone Spark cluster on loopback: a master and workers, from the jars that pyspark brings."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from roamcheck.checker.spark.gateway import FLAGS, LOGGING, find_java, spark_home

PATIENCE = 60  # seconds for the workers to report to the master
EXECUTOR = "CoarseGrainedExecutorBackend"
SMALL = ("--conf", "spark.executor.memory=512m", "--conf", "spark.executor.cores=1")  # options of roamcheck


@dataclass(frozen=True)
class Cluster:
    """A master's address, and the processes of its workers."""

    master: str
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def executors(self) -> list[int]:
        """The processes of executors, which are children of the workers."""
        mine = {worker.pid for worker in self.workers}
        return sorted(pid for pid, parent, words in processes() if parent in mine and EXECUTOR in words)


def processes() -> Iterator[tuple[int, int, str]]:
    """Every process: its number, its parent's, and its command line."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                yield int(entry.name), parent, (entry / "cmdline").read_text()
            except (OSError, ValueError):  # it has ended meanwhile
                continue


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """Start it, and stop it with all that it has started; its files go to `folder`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log4j2.properties").write_text(LOGGING.replace("rootLogger.level = error", "rootLogger.level = info"), encoding="utf-8")
    with ExitStack() as stack:
        address = f"spark://127.0.0.1:{port}"
        started(stack, folder, "master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        until = time.monotonic() + PATIENCE
        while not answers(port) and time.monotonic() < until:
            time.sleep(0.1)
        found = Cluster(address)
        for number in range(workers):
            words = ("--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(folder / f"work-{number}"))
            found.workers.append(started(stack, folder, f"worker-{number}", "org.apache.spark.deploy.worker.Worker", *words, address))
        while (folder / "master.log").read_text(errors="replace").count("Registering worker") < workers:
            assert time.monotonic() < until, (folder / "master.log").read_text(errors="replace")[-2000:]
            time.sleep(0.1)
        yield found


def started(stack: ExitStack, folder: Path, name: str, main: str, *words: str) -> subprocess.Popen[bytes]:
    """A Java process, which ends with the stack."""
    command = [
        find_java(), "-cp", str(spark_home() / "jars" / "*"), "-Xmx256m", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:TieredStopAtLevel=1", *FLAGS,
        f"-Dlog4j2.configurationFile=file:{folder / 'log4j2.properties'}", main, *words,
    ]  # fmt: skip
    (scala,) = (spark_home() / "jars").glob("scala-library-*.jar")
    environment = {
        **os.environ, "SPARK_HOME": str(spark_home()), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_SCALA_VERSION": ".".join(scala.stem.split("-")[-1].split(".")[:2]),  # otherwise told by Spark's scripts
    }  # fmt: skip
    log = stack.enter_context((folder / f"{name}.log").open("wb"))
    process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=folder, start_new_session=True)

    def stop() -> None:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    stack.callback(stop)
    return process


def answers(port: int) -> bool:
    """Somebody listens there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
