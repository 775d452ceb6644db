"""Members of consumer groups: a process each, beside the one that creates and produces."""

import time
from collections import defaultdict
from pathlib import Path

from client import Client, difference

# Polls of a round: a member is left alone for no longer than these take.
ROUND = 20
# A rebalance takes a few heartbeats, of three seconds each with the clients' defaults.
PATIENCE_SECONDS = 60


class Member(Client):
    def __init__(self, kind, command, group, protocol, address, log):
        super().__init__(kind, [*_program(command), group, protocol], address, log)

    def assignment(self):
        """The partitions that the member has, as it says itself."""
        lines = self.do("assignment")
        return {(topic, int(partition)) for topic, partition in lines}


def _program(command):
    """The member's program, which lies beside the client's and is named alike."""
    *start, last = command
    path = Path(last)
    return [*start, str(path.with_name(path.name.replace("client", "member").replace("Client", "Member")))]


class Group:
    """The members of one group, polled side by side, and what they have consumed."""

    def __init__(self, start):
        self._start = start
        self.members = []
        self.records = []

    def join(self, *topics, command="subscribe"):
        """One more member."""
        member = self._start()
        self.members.append(member)
        member.do(command, *topics)
        return member

    def leave(self, member):
        self.members.remove(member)
        member.quit()

    def poll(self):
        for member in self.members:
            member.begin("poll", ROUND, 0)
        for member in self.members:
            self.records += member.finish()

    def until(self, holds):
        """Polls until something holds. Whether it does."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            if holds():
                return True
            self.poll()
        return holds()

    def shares(self, *topics):
        """Whether every partition of the topics is one member's, and every member has some, alike many."""
        wanted = {(topic, p) for topic, partitions in topics for p in range(partitions)}
        assigned = [member.assignment() for member in self.members]
        counts = [len(partitions) for partitions in assigned]
        return sum(counts) == len(wanted) and set().union(*assigned) == wanted and max(counts) - min(counts) <= 1

    def shown(self):
        """What the members have, for a report."""
        counts = [defaultdict(int) for _ in self.members]
        for count, member in zip(counts, self.members):
            for topic, _ in member.assignment():
                count[topic] += 1
        return ", ".join(str(dict(count)) for count in counts)

    def consumes(self, *batches):
        """Polls until as many records have come as the batches have, and a little longer; where they differ, or empty."""
        self.until(lambda: len(self.records) >= sum(batch.count for batch in batches))
        for _ in range(5):
            self.poll()
        found = difference(self.records, *batches)
        self.records.clear()
        return found
