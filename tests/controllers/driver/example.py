"""The example controller."""

import json
import re
import signal
import subprocess
import time

from node import Node, Own
from process import Died, Process
from seat import LISTENER

ANSWER_SECONDS = 20
LOAD_SECONDS = 60

# Of which a few snapshots are made.
RECORDS = 3000
SNAPSHOT_RECORDS = 500


class ExampleController(Node):
    ends_with = 0

    # The metadata of the cluster, in which controllers register what they support, is not its business.
    registers = False

    # Sooner than Kafka's followers it looks for another leader, and is refused; so it is ready to vote when they do.
    switches = ["--fetch-timeout", "1500"]

    def __init__(self, program, *place, snapshot_records=0):
        super().__init__(*place)
        contact = place[-1]
        self._program = program
        self._command = [program, "--id", self.id, "--data-dir", self.data, "--listener", LISTENER]
        self._command += [contact.switch, contact.value, "--snapshot-records", snapshot_records, *self.switches]
        self._first = []

    def format(self, initial=()):
        """The node does so itself when it first starts."""
        self._first = ["--cluster-id", self.cluster]
        if initial:
            self._first += ["--initial-controllers", ",".join(seat.initial for seat in initial)]

    def start(self):
        command = [str(word) for word in [*self._command, "--listen", self.seat.address, *self._first]]
        self._process = Process(f"node {self.id}", command, self.log, logged=True)
        self._first = []

    def fill(self, cluster):
        """Has records written until there are snapshots. The example checks that each is on each node."""
        addresses = ",".join(node.seat.address for node in cluster.nodes.values())
        load = [str(self._program), "--load", addresses, "--records", str(RECORDS)]
        ended = subprocess.run(load, capture_output=True, text=True, timeout=LOAD_SECONDS)
        if ended.returncode != 0:
            raise Died(f"the load failed: {ended.stdout.strip()} {ended.stderr.strip()}")

    def join_by_itself(self):
        """From its next start on the node adds itself to the voters."""
        self._command.append("--auto-join")

    def started(self):
        self._await(r"^listening on ")
        self._read_directory_id()

    def status(self):
        if not self.running():
            return None
        self._process.signal(signal.SIGUSR1)
        state = json.loads(self._await(r"^state (\{.*\})$")[1])
        return Own(state["leader"], state["epoch"], sorted(state["voters"]))

    def _await(self, pattern):
        deadline = time.monotonic() + ANSWER_SECONDS
        while True:
            if found := re.search(pattern, self._process.until(deadline)):
                return found
