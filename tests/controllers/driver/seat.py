"""A node's place in a quorum: its id, its directory, its address."""

import base64
import random
import socket
import uuid
from dataclasses import dataclass

LISTENER = "CONTROLLER"


@dataclass(frozen=True)
class Seat:
    id: int
    directory: str
    port: int

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def endpoint(self):
        return f"{LISTENER}://{self.address}"

    @property
    def static(self):
        """As a voter of controller.quorum.voters."""
        return f"{self.id}@{self.address}"

    @property
    def initial(self):
        """As a voter that the quorum begins with."""
        return f"{self.id}@{self.address}:{self.directory}"


@dataclass(frozen=True)
class Contact:
    """How a node finds the others: as a setting of Kafka's, and as a switch of the example."""

    setting: str
    switch: str
    value: str

    @property
    def static(self):
        return self.switch == "--voters"


def bootstrap(seats):
    """It asks these for the leader; who the voters are is in the log."""
    servers = ",".join(seat.address for seat in seats)
    return Contact("controller.quorum.bootstrap.servers", "--bootstrap-servers", servers)


def static(seats):
    """These are the voters, until the log says otherwise."""
    return Contact("controller.quorum.voters", "--voters", ",".join(seat.static for seat in seats))


def seats(ids):
    """New seats, each with a directory id and a port of its own."""
    ports = free_ports(len(ids))
    return [Seat(id, new_uuid(), port) for id, port in zip(ids, ports)]


def new_uuid():
    """A random id as Kafka writes it; Kafka itself draws none that begins with a dash either."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def free_ports(count):
    """Ports below those that the system gives to connections, so that a node finds its own again after a crash."""
    found = []
    while len(found) < count:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in found:
            found.append(port)
    return found
