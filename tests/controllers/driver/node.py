"""What Kafka's controllers and the example's have in common: a place in the quorum, a directory, a process."""

import re
import signal
from dataclasses import dataclass, replace

from process import Died
from seat import LISTENER, free_ports

END_SECONDS = 30


@dataclass(frozen=True)
class Own:
    """What a node says of itself."""

    leader: int
    epoch: int
    # Their ids, ascending.
    voters: list


class Node:
    def __init__(self, cluster, seat, directory, contact):
        """The directory is not there yet."""
        # What another node takes that is to go on here.
        self.place = cluster, seat, directory, contact
        self.cluster = cluster
        self.contact = contact
        self.seat = seat
        self.id = seat.id
        self.data = directory
        self.metadata = directory / "__cluster_metadata-0"
        self.log = directory.with_suffix(".log")
        # What the node is started with, and for a node of any kind what the tool reads that adds it to the voters.
        self.properties = directory.with_suffix(".properties")
        self.properties.unlink(missing_ok=True)
        self._write_properties(
            {
                "process.roles": "controller",
                "node.id": seat.id,
                "controller.listener.names": LISTENER,
                "listeners": seat.endpoint,
                "advertised.listeners": seat.endpoint,
                contact.setting: contact.value,
                "log.dirs": directory,
            }
        )
        self._process = None

    def _write_properties(self, properties):
        with self.properties.open("a") as file:
            file.writelines(f"{name}={value}\n" for name, value in properties.items())

    def _read_directory_id(self):
        """A node that is not among the first voters draws the id of its directory itself."""
        written = re.search(r"^directory\.id=(.+)$", (self.data / "meta.properties").read_text(), re.MULTILINE)
        self.seat = replace(self.seat, directory=written[1])

    def move(self):
        """From its next start on the node is at another port."""
        self.seat = replace(self.seat, port=free_ports(1)[0])
        self._write_properties({"listeners": self.seat.endpoint, "advertised.listeners": self.seat.endpoint})

    def running(self):
        return self._process is not None and self._process.running()

    def kill(self):
        self._process.kill()

    def pause(self):
        self._process.signal(signal.SIGSTOP)

    def resume(self):
        self._process.signal(signal.SIGCONT)

    def stop(self):
        """Ends the node in a clean way."""
        self._process.signal(signal.SIGTERM)
        code = self._process.ended(END_SECONDS)
        if code != self.ends_with:
            how = "in time" if code is None else f"cleanly but with {code}"
            raise Died(f"node {self.id} did not end {how}; {self._process.last_words()}")
