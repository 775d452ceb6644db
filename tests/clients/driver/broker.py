"""The example broker: one process a scenario, its counters read while clients are connected."""

import json
import re
import signal
import time

from process import Died, Process


class Broker:
    """A running broker on a free port of the loopback address."""

    def __init__(self, program, log, *switches):
        self._command = [str(program), "--auto-create", "off", *switches]
        self._log = log
        self.address = "127.0.0.1:0"
        self.start()

    def start(self):
        """Starts the broker, again where it was before."""
        self._process = Process("the broker", [*self._command, "--listen", self.address], self._log)
        self.address = self._await(r"127\.0\.0\.1:\d+")[0]

    def crash(self):
        """Kills the broker (SIGKILL)."""
        self._process.kill()

    def stats(self):
        """The counters as they are now."""
        self._process.signal(signal.SIGUSR1)
        return self._counters()

    def stop(self):
        """Ends the broker; its last counters."""
        self._process.signal(signal.SIGTERM)
        last = self._counters()
        if self._process.ended(10) != 0:
            raise Died(f"the broker did not end cleanly; {self._process.last_words()}")
        return last

    def _counters(self):
        return flat(json.loads(self._await(r"^stats (\{.*\})$")[1]))

    def _await(self, pattern):
        deadline = time.monotonic() + 10
        while True:
            if found := re.search(pattern, self._process.until(deadline)):
                return found


def flat(counters):
    """The same counters with the fetches of each kind beside the others: `fetches_full` and so on."""
    fetches = {f"fetches_{kind}": count for kind, count in counters["fetches"].items()}
    clients = {"clients": [flat(client) for client in counters["clients"]]} if "clients" in counters else {}
    return {**counters, **fetches, **clients}


class Elsewhere:
    """A broker that somebody else started, Apache Kafka itself for example. It has no counters to look at."""

    def __init__(self, address):
        self.address = address

    def stats(self):
        return None

    def stop(self):
        return None
