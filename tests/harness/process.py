"""Child processes that are spoken to line by line, and never outlive the driver."""

import atexit
import queue
import subprocess
import threading
import time

_processes = []


class Died(Exception):
    """The process ended, or said nothing in time."""


class Silent(Died):
    """The process said nothing in time."""


class Process:
    """A child whose output arrives as a queue of lines; what it says on standard error goes to a file.

    With `logged` all that it says does.
    """

    def __init__(self, name, command, log, directory=None, logged=False):
        self.name = name
        self._log = log
        self._logged = logged
        with log.open("ab") as errors:
            self._child = subprocess.Popen(
                command,
                cwd=directory,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                bufsize=1,
            )
        _processes.append(self)
        self._lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self._child.stdout:
            if self._logged:
                with self._log.open("a") as log:
                    log.write(line)
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def say(self, line):
        try:
            self._child.stdin.write(line + "\n")
        except OSError as error:
            raise Died(f"{self.name} is gone: {error}; {self.last_words()}") from error

    def signal(self, number):
        self._child.send_signal(number)

    def until(self, deadline):
        """The next line of output, if it comes before the deadline."""
        try:
            line = self._lines.get(timeout=max(0, deadline - time.monotonic()))
        except queue.Empty:
            raise Silent(f"{self.name} said nothing in time; {self.last_words()}") from None
        if line is None:
            raise Died(f"{self.name} ended early; {self.last_words()}")
        return line

    def running(self):
        return self._child.poll() is None

    def ended(self, seconds):
        """Waits for the end; the exit code, or none where the process had to be killed."""
        try:
            return self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def kill(self):
        """Ends the process at once, if it has not ended."""
        if self.running():
            self._child.kill()
            self._child.wait()

    def last_words(self):
        tail = self._log.read_text(errors="replace").splitlines()[-5:]
        return " | ".join(tail) or "it left no word"


@atexit.register
def kill_all():
    """Ends every process that was started, those that ended by themselves aside."""
    while _processes:
        _processes.pop().kill()
