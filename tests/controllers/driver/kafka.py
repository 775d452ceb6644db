"""A controller of Apache Kafka: formatted with its storage tool, started as it is shipped."""

import time

import java
from node import Node
from process import Died, Process

START_SECONDS = 60
STARTED = "Kafka Server started"


class KafkaController(Node):
    # What a JVM exits with that SIGTERM has ended, whatever its shutdown did.
    ends_with = 143

    registers = True

    # A snapshot is taken every few seconds, and what snapshots cover is deleted when the node next looks, each 60 s.
    # Followers give a leader up later than the example does, so that it is they who are elected.
    settings = {
        "metadata.log.max.snapshot.interval.ms": 4000,
        "metadata.max.retention.ms": 1,
        "controller.quorum.fetch.timeout.ms": 3000,
    }

    def __init__(self, *place):
        super().__init__(*place)
        self._said_before = 0
        self._write_properties(self.settings)

    def format(self, initial=()):
        """Prepares the data; unless the voters are static, without initial ones as a node that joins later."""
        how = []
        if initial:
            how = ["--initial-controllers", ",".join(seat.initial for seat in initial)]
        elif not self.contact.static:
            how = ["--no-initial-controllers"]
        java.tool("kafka.tools.StorageTool", "format", "-t", self.cluster, "-c", self.properties, *how)
        self._read_directory_id()

    def start(self):
        self._said_before = self.log.read_text(errors="replace").count(STARTED) if self.log.exists() else 0
        self._process = Process(f"controller {self.id}", java.command("kafka.Kafka", self.properties), self.log)

    def fill(self, cluster):
        """Has records written until there is a snapshot."""
        cluster.snapshot()

    def join_by_itself(self):
        """From its next start on the node adds itself to the voters."""
        self._write_properties({"controller.quorum.auto.join.enable": "true"})

    def be_patient(self, patient=True):
        """From its next start on the node leaves it to others to ask for votes."""
        self._write_properties({"controller.quorum.election.timeout.ms": 60_000 if patient else 1_000})

    def started(self):
        """Waits until the node says that it runs."""
        deadline = time.monotonic() + START_SECONDS
        while self.log.read_text(errors="replace").count(STARTED) == self._said_before:
            if time.monotonic() > deadline or not self.running():
                raise Died(f"controller {self.id} did not start; {self._process.last_words()}")
            time.sleep(0.1)

    def status(self):
        """Nothing: it tells of the quorum only as the leader."""
        return None
