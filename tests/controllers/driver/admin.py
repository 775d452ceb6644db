"""Kafka's Admin client, which asks often and is told what went wrong by the class of an exception."""

import time
from dataclasses import dataclass

import java
from process import Process, Silent

COMMAND_SECONDS = 40


class Refused(Exception):
    """What the client's call ended with: the name of its exception, and the rest."""

    def __init__(self, command, error, message):
        super().__init__(f"{command}: {error} {message}")
        self.error = error


@dataclass(frozen=True)
class Quorum:
    leader: int
    epoch: int
    high_watermark: int
    # By id: the directory of each, the end of its log, and when it last fetched.
    voters: dict
    observers: dict
    ends: dict
    fetched: dict


class Admin:
    def __init__(self, addresses, log):
        self._process = Process("the Admin client", java.command("Quorum", ",".join(addresses), level="warn"), log)
        self._early = []

    def quorum(self):
        """What the leader says of the quorum."""
        words = [line.split(" ") for line in self._do("describe")]
        leader, epoch, high_watermark = map(int, words[0][1:])
        of = {kind: {int(w[1]): w[2] for w in words if w[0] == kind} for kind in ("voter", "observer")}
        ends = {int(w[1]): int(w[3]) for w in words[1:]}
        fetched = {int(w[1]): int(w[4]) for w in words[1:]}
        return Quorum(leader, epoch, high_watermark, of["voter"], of["observer"], ends, fetched)

    def add(self, seat, endpoint=None, cluster=None):
        self._do("add", seat.id, seat.directory, endpoint or seat.endpoint, *([cluster] if cluster else []))

    def begin_remove(self, seat):
        self._process.say(f"remove {seat.id} {seat.directory}")

    def remove(self, seat, cluster=None):
        self._do("remove", seat.id, seat.directory, *([cluster] if cluster else []))

    def register(self, seat):
        """Registers a node with the leader, which a node without the cluster's metadata does not do itself."""
        self._do("register", seat.id, seat.endpoint)

    def begin_write(self, text, records=1, size=0):
        """Has records written to the metadata log, each of so many bytes; `finish` waits until they are committed."""
        self._process.say(f"write {records} {size} {text}")

    def finish(self, command="write"):
        lines = []
        deadline = time.monotonic() + COMMAND_SECONDS
        while True:
            line = self._early.pop() if self._early else self._process.until(deadline)
            word, _, rest = line.partition(" ")
            if word == "done":
                return lines
            if word == "failed":
                error, _, message = rest.partition(" ")
                raise Refused(command, error, message)
            lines.append(line)

    def answered(self, seconds):
        """Whether the command that was begun ends, one way or the other, within the time."""
        try:
            self._early.append(self._process.until(time.monotonic() + seconds))
        except Silent:
            return False
        return True

    def _do(self, *words):
        command = " ".join(map(str, words))
        self._process.say(command)
        return self.finish(command)

    def kill(self):
        self._process.kill()

    def quit(self):
        self._process.say("quit")
        self._process.ended(20)
