"""One program in the background: started, waited for, and ended with whoever started it."""

from __future__ import annotations

import random
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from needs import DemoError

# Below the kernel's ephemeral range, where an outgoing connection could take a port before its server does.
PORTS = range(10_000, 20_000)

READY_WITHIN = 10.0
STOPPED_WITHIN = 5.0


class Daemon:
    """A program that runs in the foreground of a process of its own, until the `with` block or this process ends.

    `ready` is asked every few milliseconds whether the program answers yet. Its output goes to `<folder>/<name>.log`.
    """

    def __init__(self, name: str, command: list[str], folder: Path, ready: Callable[[], bool]) -> None:
        self.name = name
        self._command = command
        self._log = folder / f"{name}.log"
        self._ready = ready
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Daemon:
        # The parent-death signal ends it even when this process is killed. A session of its own keeps the terminal's
        # Ctrl-C away from it: we end things in order.
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", "--", *self._command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self._wait_until_ready(self._process)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Asks the program to end, and ends it when it does not; does nothing when it isn't running."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOPPED_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        give_up = time.monotonic() + READY_WITHIN
        while time.monotonic() < give_up:
            if process.poll() is not None:
                raise DemoError(f"{self.name} ended as soon as it was started:\n{self._end_of_log()}")
            if self._ready():
                return
            time.sleep(0.01)
        raise DemoError(f"{self.name} did not answer within {READY_WITHIN:.0f} s:\n{self._end_of_log()}")

    def _end_of_log(self) -> str:
        return self._log.read_text(errors="replace")[-2000:]


def free_port() -> int:
    """Finds a loopback port where nobody listens."""
    for port in random.sample(PORTS, 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise DemoError("no free port between 10000 and 20000")


def listens(port: int) -> bool:
    """Tells whether a server accepts connections on a loopback port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
