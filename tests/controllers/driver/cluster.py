"""The nodes of one quorum, and what Kafka's tool and Admin client say of it."""

import re
import time
from concurrent.futures import ThreadPoolExecutor

import java
import metadata
from admin import Admin, Refused
from process import Died
from tool import QuorumTool

WAIT_SECONDS = 40


def wait(what, condition, seconds=WAIT_SECONDS):
    """What the condition returns once that is something, asked again and again."""
    deadline = time.monotonic() + seconds
    while not (met := condition()):
        if time.monotonic() > deadline:
            raise Died(f"in {seconds} s it did not come to this: {what}")
        time.sleep(0.1)
    return met


# More than a follower of Kafka's fetches of a snapshot at once (controller.quorum.fetch.snapshot.max.bytes).
SNAPSHOT_BYTES = 1 << 20

# What a leader of Kafka's says, and what one of the example, before each voter has told it what it supports.
UNKNOWN_SUPPORT = "not all of the voters support it|or did not tell"

FEATURES = "org.apache.kafka.tools.FeatureCommand"


class Cluster:
    def __init__(self, directory, nodes):
        """The nodes are the first voters."""
        self.directory = directory
        self.nodes = {node.id: node for node in nodes}
        self.id = nodes[0].cluster
        addresses = [node.seat.address for node in nodes]
        # Whether controllers register with the leader.
        self._is_kafkas = all(node.registers for node in nodes)
        self._addresses = addresses
        self._written = 0
        self.tool = QuorumTool(addresses)
        self.admin = Admin(addresses, directory / "admin.log")

    def start(self, later=()):
        """Formats the first voters and starts them, except for those that are to be added later."""
        nodes = [*self.nodes.values(), *later]
        seats = [node.seat for node in nodes if not node.contact.static]
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda node: node.format(seats), nodes))
        for node in self.nodes.values():
            node.start()
        for node in self.nodes.values():
            node.started()
        return wait("a leader is elected", self.quorum)

    def join(self, node):
        """Starts one more node, which is no voter."""
        node.format()
        self.add(node)

    def add(self, node):
        """Starts a node that is formatted."""
        node.start()
        node.started()
        self.nodes[node.id] = node
        if self._is_kafkas and not node.registers:
            self.admin.register(node.seat)

    def restart(self, id):
        node = self.nodes[id]
        node.start()
        node.started()
        self.caught_up(id)

    def write(self, **size):
        """Has something written to the metadata log that was not written before."""
        self.begin_write(**size)
        self.admin.finish()

    def begin_write(self, **size):
        self._written += 1
        self.admin.begin_write(self._written, **size)

    def snapshot(self):
        """Has the leader take a snapshot that is fetched in more than one part; that leader."""
        self.write(records=50, size=30_000)
        leader = self.nodes[self.quorum().leader]
        wait("the leader takes a snapshot", lambda: metadata.largest(leader.metadata) > SNAPSHOT_BYTES)
        return leader

    def quorum(self):
        """What the leader says, if there is one that can be asked."""
        try:
            return self.admin.quorum()
        except Refused:
            return None

    def once(self, what, condition, seconds=WAIT_SECONDS):
        """What the leader says of the quorum once that meets the condition."""

        def asked():
            quorum = self.quorum()
            return quorum if quorum and condition(quorum) else None

        return wait(what, asked, seconds)

    def caught_up(self, id):
        """Waits until a replica has fetched since this was called and has what was committed by then."""
        now = time.time() * 1000
        target = wait("the leader answers", self.quorum).high_watermark

        def has(quorum):
            return quorum.ends.get(id, -1) >= target and quorum.fetched[id] >= now

        return self.once(f"node {id} has the log up to {target}", has)

    def other(self, *ids):
        """A voter that is none of these."""
        return next(node for id, node in sorted(self.nodes.items()) if id not in ids)

    def another_admin(self):
        """An Admin client of its own, for what nobody waits for."""
        return Admin(self._addresses, self.directory / "another-admin.log")

    def feature(self, name):
        """The range of levels of a feature that the nodes support and the level that is in force, by Kafka's tool."""
        printed = self._features("describe")
        columns = ("SupportedMinVersion", "SupportedMaxVersion", "FinalizedVersionLevel")
        row = rf"^Feature: {re.escape(name)}" + "".join(rf"\s+{column}: (\S+)" for column in columns)
        found = re.search(row, printed, re.MULTILINE)
        return found.groups() if found else printed

    def upgrade(self, name, level):
        """Sets the level of a feature with Kafka's tool, once the leader knows that all nodes support it."""

        def upgraded():
            try:
                return self._features("upgrade", "--feature", f"{name}={level}")
            except java.ToolFailed as refusal:
                if not re.search(UNKNOWN_SUPPORT, str(refusal)):
                    raise
                return None

        return wait(f"{name} is {level}", upgraded)

    def _features(self, *words):
        return java.tool(FEATURES, "--bootstrap-controller", ",".join(self._addresses), *words)

    def stop(self):
        """Ends what still runs, in a clean way."""
        self.admin.quit()
        running = [node for node in self.nodes.values() if node.running()]
        with ThreadPoolExecutor(len(running)) as pool:
            list(pool.map(lambda node: node.stop(), running))
