"""What must be there before anything starts: installed programs, the project's own examples, and a limit of time."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Missing(Exception):
    """Something cannot be installed here."""


def run(*command, directory=None):
    """Runs an installed program to its end."""
    program = shutil.which(command[0])
    if program is None:
        raise Missing(f"{command[0]} is not installed")
    try:
        finished = subprocess.run(
            [program, *command[1:]],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
    except subprocess.TimeoutExpired:
        raise Missing(f"{command[0]} did not end in time") from None
    if finished.returncode != 0:
        raise Missing(f"{' '.join(command[:3])} failed: " + " | ".join(finished.stdout.splitlines()[-5:]))


def build(example):
    """Builds an example of the project and returns the path of the program."""
    command = ["cargo", "build", "--locked", "--release", "--example", example, "--features", "wire"]
    command.append("--message-format=json")
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        sys.exit(f"the example {example} cannot be built")
    for message in map(json.loads, built.stdout.splitlines()):
        if message.get("executable") and message["target"]["name"] == example:
            return Path(message["executable"])
    sys.exit(f"cargo names no {example} among what it has built")


def limit(seconds):
    """Lets the run end by itself, its children with it, at a signal as much as at the time limit."""

    def stop(number, _):
        sys.exit(f"stopped by {signal.Signals(number).name}")

    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    signal.alarm(seconds)
