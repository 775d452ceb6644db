"""The clients: how each is installed at its pinned version, and what it does with fetch sessions."""

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Callable

from programs import run

HERE = Path(__file__).resolve().parents[1]
WORK = HERE / ".work"

_run = partial(run, directory=HERE)


@dataclass(frozen=True)
class Kind:
    name: str
    # What the client calls itself in ApiVersions.
    software: str
    # How the broker keys the client's sessions: "id", "name", or "" for a client that has none.
    sessions: str
    # Whether the client closes its session when its consumer is closed.
    closes: bool
    # Whether sessions stay behind when an application has the client let go of a topic while a fetch is in flight.
    abandons: bool
    # Installs the client and returns the command that starts its program.
    install: Callable[[], list]


def _java():
    jars, classes = WORK / "java" / "jars", WORK / "java" / "classes"
    _run("mvn", "-B", "-q", "-f", "java/pom.xml", "dependency:copy-dependencies", f"-DoutputDirectory={jars}")
    _run("javac", "-Xlint:all", "-Werror", "-cp", f"{jars}/*", "-d", str(classes), "java/Client.java", "java/Member.java")
    return ["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{jars}/*:{classes}", "Client"]


def _go():
    program = WORK / "go" / "client"
    run("go", "build", "-mod=readonly", "-o", str(program), ".", directory=HERE / "go")
    run("go", "build", "-mod=readonly", "-o", str(program.with_name("member")), "./member", directory=HERE / "go")
    return [str(program)]


def _python(program):
    environment = WORK / "python"
    python = environment / "bin" / "python"
    if not python.exists():
        _run(sys.executable, "-m", "venv", str(environment))
    _run(str(python), "-m", "pip", "install", "-q", "-r", "python/requirements.txt")
    return [str(python), "-B", str(HERE / "python" / program)]


KINDS = [
    Kind("kafka-clients", "apache-kafka-java", "id", True, False, _java),
    Kind("franz-go", "kgo", "id", True, True, _go),
    Kind("kafka-python", "kafka-python", "name", False, False, lambda: _python("kafka_python_client.py")),
    Kind("confluent-kafka", "confluent-kafka-python", "", False, False, lambda: _python("confluent_client.py")),
]
