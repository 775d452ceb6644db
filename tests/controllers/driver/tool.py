"""Kafka's quorum tool: what it prints, read back."""

import json
import re
from dataclasses import dataclass

import java

TOOL = "org.apache.kafka.tools.MetadataQuorumCommand"


@dataclass(frozen=True)
class Status:
    cluster: str
    leader: int
    epoch: int
    high_watermark: int
    # Both by id: the directory of each replica; of voters the endpoints beside it.
    voters: dict
    endpoints: dict
    observers: dict


@dataclass(frozen=True)
class Row:
    id: int
    directory: str
    end_offset: int
    lag: int
    last_fetch: int
    last_caught_up: int
    role: str


class QuorumTool:
    def __init__(self, addresses):
        self._bootstrap = ["--bootstrap-controller", ",".join(addresses)]

    def status(self):
        printed = java.tool(TOOL, *self._bootstrap, "describe", "--status")
        lines = dict(re.findall(r"^(\w+): +(.*)$", printed, re.MULTILINE))
        voters, observers = (json.loads(lines[kind]) for kind in ("CurrentVoters", "CurrentObservers"))
        return Status(
            lines["ClusterId"],
            int(lines["LeaderId"]),
            int(lines["LeaderEpoch"]),
            int(lines["HighWatermark"]),
            {voter["id"]: voter.get("directoryId") for voter in voters},
            {voter["id"]: voter.get("endpoints") for voter in voters},
            {observer["id"]: observer.get("directoryId") for observer in observers},
        )

    def replication(self):
        """The rows of the table, by id."""
        printed = java.tool(TOOL, *self._bootstrap, "describe", "--replication")
        rows = [line.split("\t") for line in printed.splitlines()[1:]]
        rows = [[word.strip() for word in row] for row in rows if len(row) > 1]
        return {int(row[0]): Row(int(row[0]), row[1], *map(int, row[2:6]), row[6]) for row in rows}

    def add(self, properties):
        """Adds the controller whose configuration file this is; what the tool says."""
        return java.tool(TOOL, *self._bootstrap, "--command-config", properties, "add-controller").strip()

    def remove(self, seat):
        """Removes a voter; what the tool says."""
        which = ["--controller-id", seat.id, f"--controller-directory-id={seat.directory}"]
        return java.tool(TOOL, *self._bootstrap, "remove-controller", *which).strip()
