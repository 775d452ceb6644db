"""A controller of Apache Kafka: formatted with its storage tool, started as it is shipped."""

import re
import signal
import time
from dataclasses import replace

import java
from process import Died, Process
from seat import LISTENER

START_SECONDS = 60


class KafkaController:
    def __init__(self, cluster, seat, directory, bootstrap, **settings):
        """`directory` is empty, or is not there yet; `bootstrap` are the addresses of the quorum's first voters."""
        self.seat = seat
        self.id = seat.id
        self.cluster = cluster
        self.log = directory.with_suffix(".log")
        self.data = directory
        self.metadata = directory / "__cluster_metadata-0"
        self.properties = directory.with_suffix(".properties")
        self._process = None
        properties = {
            "process.roles": "controller",
            "node.id": seat.id,
            "controller.listener.names": LISTENER,
            "listeners": seat.endpoint,
            "advertised.listeners": seat.endpoint,
            "controller.quorum.bootstrap.servers": ",".join(bootstrap),
            "log.dirs": directory,
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        self.properties.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))

    def format(self, initial=()):
        """Prepares the data; without initial voters as one that joins later."""
        voters = ",".join(seat.initial for seat in initial)
        how = ["--initial-controllers", voters] if voters else ["--no-initial-controllers"]
        java.tool("kafka.tools.StorageTool", "format", "-t", self.cluster, "-c", self.properties, *how)
        if not voters:
            # The tool draws the directory's id itself.
            written = re.search(r"^directory\.id=(.+)$", (self.data / "meta.properties").read_text(), re.MULTILINE)
            self.seat = replace(self.seat, directory=written[1])

    def start(self):
        self._process = Process(f"controller {self.id}", java.command("kafka.Kafka", self.properties), self.log)

    def started(self):
        """Waits until the node says that it runs."""
        deadline = time.monotonic() + START_SECONDS
        while "Kafka Server started" not in self.log.read_text(errors="replace"):
            if time.monotonic() > deadline or not self._process.running():
                raise Died(f"controller {self.id} did not start; {self._process.last_words()}")
            time.sleep(0.1)

    def status(self):
        """It tells nobody but through the quorum's leader."""
        return None

    def running(self):
        return self._process is not None and self._process.running()

    def kill(self):
        self._process.kill()

    def pause(self):
        self._process.signal(signal.SIGSTOP)

    def resume(self):
        self._process.signal(signal.SIGCONT)

    def stop(self):
        self._process.signal(signal.SIGTERM)
        # A JVM that SIGTERM has ended says so by its exit code, whatever its shutdown did.
        if self._process.ended(30) not in (0, 143):
            raise Died(f"controller {self.id} did not end cleanly; {self._process.last_words()}")
