"""A program in the background: started, waited for, and ended with whoever started it."""

from __future__ import annotations

import fcntl
import functools
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

# Below the kernel's ephemeral range (from 32768): otherwise an outgoing connection may take the port of a server that
# is down, or even connect to itself. A cluster bus, 10,000 above, stays below it too.
PORTS = range(10_000, 20_000)
# Those that this process was given.
_given: set[int] = set()

READY_WITHIN = 10.0
STOPPED_WITHIN = 5.0


class ProgramError(Exception):
    """A program, or a port for it, could not be had; the message says why, with the end of the program's log."""


class Program:
    """A program that runs in the foreground of a process of its own, until it is ended or the `with` block is.

    `ready` is asked every few milliseconds whether the program answers yet, for `within` seconds. Its output goes to
    `log`.

    The process also ends when the *thread* that started it does, by the signal `orphaned`: the kernel's parent-death
    signal goes by threads.
    """

    def __init__(
        self,
        name: str,
        command: list[str],
        log: Path,
        ready: Callable[[], bool],
        *,
        orphaned: str = "TERM",
        within: float = READY_WITHIN,
    ) -> None:
        self._within = within
        self.name = name
        self._command = command
        self._log = log
        self._ready = ready
        self._orphaned = orphaned
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id; raises `ProgramError` when the program is not running."""
        return self._running().pid

    def start(self) -> None:
        """Starts the program in the folder of its log and returns once it is ready."""
        # A session of its own keeps the terminal's Ctrl-C away from it: whoever started it ends things in order.
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", self._orphaned, "--", *self._command],
                cwd=self._log.parent,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self._wait_until_ready(self._process)
        except BaseException:
            self.end()
            raise

    def send_signal(self, number: signal.Signals) -> None:
        """Sends a signal; raises `ProgramError` when the program is not running."""
        self._running().send_signal(number)

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Asks the program to end, also a frozen one, and kills it when it does not; nothing if it isn't running."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(STOPPED_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def __enter__(self) -> Program:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise ProgramError(f"{self.name} is not running")
        return self._process

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        give_up = time.monotonic() + self._within
        while time.monotonic() < give_up:
            if has_ended(process):
                raise ProgramError(f"{self.name} ended as soon as it was started:\n{self._end_of_log()}")
            if self._ready():
                return
            time.sleep(0.005)
        raise ProgramError(f"{self.name} did not answer within {self._within:.0f} s:\n{self._end_of_log()}")

    def _end_of_log(self) -> str:
        return self._log.read_text(errors="replace")[-2000:]


def has_ended(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> bool:
    """Whether a process has ended. Unlike `poll`, it takes no lock of `Popen`.

    If a signal's handler raises within `poll`, that lock can stay held, and the next `wait` for the process hangs.
    """
    return process.returncode is not None or (
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    )


def free_port() -> int:
    """Finds a loopback port where nobody listens now, and which is given to nobody else while this process lives: also
    not while whoever is to listen there has not started yet, or is down."""
    for port in random.sample(PORTS, 200):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if _reserve(port):
            return port
    raise ProgramError("no free port between 10000 and 20000")


def _reserve(port: int) -> bool:
    """Whether neither this process nor another one that lives was given the port before."""
    if port in _given:
        return False
    try:
        fcntl.lockf(_reservations(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    _given.add(port)
    return True


@functools.cache
def _reservations() -> BinaryIO:
    """A file of which every process has the bytes locked that are its ports; the kernel unlocks them when it ends."""
    # All have to share it, whatever folder for temporary files they are given.
    return Path(f"/tmp/quotalock-ports-{os.getuid()}").open("wb")


def listens(port: int) -> bool:
    """Tells whether a server accepts connections on a loopback port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
