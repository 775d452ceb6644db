"""Apache Kafka's programs: what they need, brought once, and how one of them is started."""

import subprocess
from pathlib import Path

from programs import ROOT, run

HERE = Path(__file__).resolve().parents[1]
WORK = ROOT / "target" / "controllers"
CLASSPATH = WORK / "classpath"
CLASSES = WORK / "classes"

# No program here lives long enough to gain from the second compiler.
OPTIONS = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
LOGGING = ["-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS"]

TOOL_SECONDS = 90


class ToolFailed(Exception):
    """A program of Kafka's ended with an error."""


def install():
    """Brings Kafka 4.4.0 and compiles the one program of ours that uses it."""
    pom = HERE / "java" / "pom.xml"
    if not _brought(pom):
        run("mvn", "-B", "-q", "-f", str(pom), "dependency:build-classpath", f"-Dmdep.outputFile={CLASSPATH}")
    source = HERE / "java" / "Quorum.java"
    run("javac", "-Xlint:all,-processing", "-Werror", "-cp", CLASSPATH.read_text(), "-d", str(CLASSES), str(source))


def _brought(pom):
    if not CLASSPATH.exists() or CLASSPATH.stat().st_mtime < pom.stat().st_mtime:
        return False
    return all(Path(jar).exists() for jar in CLASSPATH.read_text().split(":"))


def command(program, *arguments, level="info"):
    """The command that runs a Java program by the name of its class."""
    logging = [*LOGGING, f"-Dorg.slf4j.simpleLogger.defaultLogLevel={level}"]
    return ["java", *OPTIONS, *logging, "-cp", f"{CLASSPATH.read_text()}:{CLASSES}", program, *map(str, arguments)]


def tool(program, *arguments):
    """What a tool of Kafka's prints."""
    words = command(program, *arguments, level="warn")
    try:
        ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TOOL_SECONDS)
    except subprocess.TimeoutExpired:
        raise ToolFailed(f"{program} {' '.join(map(str, arguments))}: no end in time") from None
    if ended.returncode != 0:
        raise ToolFailed(f"{program}: {ended.stdout.strip()} {ended.stderr.strip()}")
    return ended.stdout
