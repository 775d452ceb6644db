"""Kafka's tool that prints log files: what it makes of the control records and of every batch."""

import json
import re
from dataclasses import dataclass

import java

TOOL = "org.apache.kafka.tools.DumpLogSegments"


@dataclass(frozen=True)
class Dump:
    batches: int
    invalid: int
    # In their order: who was elected, and the ids of each set of voters.
    leaders: list
    voter_sets: list
    # Whether there is a snapshot, as a whole.
    ends: bool


def dump(*files):
    printed = java.tool(TOOL, "--print-data-log", "--files", ",".join(map(str, files)))
    valid = re.findall(r"isvalid: (\w+)", printed)
    leaders = [json.loads(record)["leaderId"] for record in re.findall(r"LeaderChange:? (\{.*\})", printed)]
    voter_sets = [
        sorted(voter["voterId"] for voter in json.loads(record)["voters"])
        for record in re.findall(r"KRaftVoters:? (\{.*\})", printed)
    ]
    ends = "SnapshotHeader" in printed and "SnapshotFooter" in printed
    return Dump(len(valid), valid.count("false"), leaders, voter_sets, ends)
