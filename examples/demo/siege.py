"""The load of the incident: siege, 100 users, no pause between requests."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from types import TracebackType

from needs import DemoError, Tools
from program import has_ended

USERS = 100

# `failures`: siege gives up after so many; connections are kept, or the machine runs out of ports.
RC = """
verbose = false
quiet = true
color = off
logging = false
show-logfile = false
protocol = HTTP/1.1
connection = close
parser = false
benchmark = true
failures = 1000000000
timeout = 30
"""


class Siege:
    """Siege on one address for as long as the `with` block, though never longer than `at_most` seconds."""

    def __init__(self, tools: Tools, folder: Path, url: str, at_most: int) -> None:
        folder.mkdir()
        (folder / "siegerc").write_text(RC)
        self._folder = folder
        # siege 4.0.7 sometimes hangs when its time is over; timeout ends it, and its own -t comes first.
        dies_with_parent = ["setpriv", "--pdeathsig", "KILL", "--"]
        self._command = [*dies_with_parent, "timeout", "-k", "5", str(at_most + 5), *dies_with_parent]
        self._command += [tools.siege, "-R", str(folder / "siegerc"), f"-c{USERS}", f"-t{at_most}S", "-b", url]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Siege:
        # It makes ~/.siege in whatever it is told is the home.
        with (self._folder / "siege.log").open("wb") as log:
            self._process = subprocess.Popen(
                self._command,
                env=os.environ | {"HOME": str(self._folder)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        # Asked to end, siege 4.0.7 hangs more often than not; it has nothing that we would miss.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def check(self) -> None:
        """Raises when siege has ended although nobody asked it to."""
        if self._process is not None and has_ended(self._process):
            self._process.wait()
            log = (self._folder / "siege.log").read_text(errors="replace")[-2000:]
            raise DemoError(f"siege ended early, with exit code {self._process.returncode}:\n{log}")
