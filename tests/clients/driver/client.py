"""One client process, and the check that what it consumed is what was produced."""

import time
from collections import defaultdict, namedtuple

from process import Process

Record = namedtuple("Record", "topic partition offset value")

# A command takes the polls it was given at the very most, and each poll a few milliseconds; or the records that it was
# given, and what a client waits before it sends them again.
COMMAND_SECONDS = 120


class Failed(Exception):
    """A client could not do what it was told."""


class Client:
    def __init__(self, kind, command, address, log):
        self.kind = kind
        self._process = Process(kind.name, [*command, address], log)
        self._begun = None

    def do(self, *words):
        """Has the client obey a command; the records, or the assignment, that it printed on the way."""
        self.begin(*words)
        return self.finish()

    def begin(self, *words):
        self._begun = " ".join(map(str, words))
        self._process.say(self._begun)

    def finish(self):
        records = []
        deadline = time.monotonic() + COMMAND_SECONDS
        while True:
            word, _, rest = self._process.until(deadline).partition(" ")
            if word == "record":
                topic, partition, offset, value = rest.split(" ")
                records.append(Record(topic, int(partition), int(offset), value))
            elif word == "assigned":
                records.append(tuple(rest.split(" ")))
            elif word == "done":
                return records
            elif word == "failed":
                raise Failed(f"{self._begun}: {rest}")

    def quit(self):
        self._process.say("quit")
        if (code := self._process.ended(20)) != 0:
            raise Failed(f"quit: exit code {code}; {self._process.last_words()}")


class Batch(namedtuple("Batch", "topic partitions start count label")):
    """Numbered records of a topic: number n lies in partition n % partitions at offset n / partitions."""

    def produced_by(self, client):
        client.do("produce", *self)

    def logs(self):
        logs = defaultdict(list)
        for n in range(self.start, self.start + self.count):
            partition = n % self.partitions
            logs[self.topic, partition].append((n // self.partitions, f"{self.label}-{n}"))
        return logs


def difference(records, *batches):
    """Where the records are not exactly those of the batches, each once and in order; empty if they are."""
    expected, seen = {}, defaultdict(list)
    for batch in batches:
        expected.update(batch.logs())
    for record in records:
        seen[record.topic, record.partition].append((record.offset, record.value))
    for key in sorted(expected.keys() | seen.keys()):
        wanted, got = expected.get(key, []), seen.get(key, [])
        if wanted != got:
            at = next((i for i, pair in enumerate(zip(wanted, got)) if pair[0] != pair[1]), min(len(wanted), len(got)))
            return (
                f"{key[0]}-{key[1]}: {len(got)} records instead of {len(wanted)}, the first difference at {at}: "
                f"{got[at : at + 1]} instead of {wanted[at : at + 1]}"
            )
    return ""
