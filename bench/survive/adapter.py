"""An adapter's process: one line of JSON is asked, one is answered. docs/survive.md has the lines."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import Any

from servers import ROOT

Answer = dict[str, Any]

# An adapter that fell silent is not waited for longer, unless it is said.
ANSWERS_WITHIN = 20.0


class SilentError(Exception):
    """No answer came in time."""


class EndedError(Exception):
    """The adapter ended, which none should."""


class Adapter:
    """A library's process on a server, with what a call may take there in seconds."""

    def __init__(self, command: Sequence[str], port: int, timeout: float) -> None:
        environment = {"SURVIVE_URL": f"redis://127.0.0.1:{port}", "SURVIVE_TIMEOUT": str(timeout)}
        self._late = 0
        self._read = b""
        # A group of its own, since some adapters fork; and it ends with whoever started it.
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=os.environ | environment,
            start_new_session=True,
        )

    def ask(self, do: str, *, within: float = ANSWERS_WITHIN, **fields: Any) -> Answer:
        """Asks, and waits for the answer."""
        self.begin(do, **fields)
        return self.end(within)

    def begin(self, do: str, **fields: Any) -> None:
        """Asks, and does not wait."""
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps({"do": do, **fields}).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise EndedError("the adapter ended") from None
        self._late += 1

    def end(self, within: float = ANSWERS_WITHIN) -> Answer:
        """Waits for the answer to what was asked last."""
        give_up = time.monotonic() + within
        while True:
            line = self._line(give_up)
            self._late -= 1
            if self._late == 0:
                answer: Answer = json.loads(line)
                return answer

    def answered(self) -> bool:
        """Whether what was asked last has an answer already."""
        assert self._process.stdout
        return b"\n" in self._read or bool(select.select([self._process.stdout], [], [], 0)[0])

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to it and to what it forked."""
        os.killpg(self._process.pid, number)

    def kill(self) -> None:
        """Ends it, as a crash would."""
        if self._process.poll() is None:
            self.signal(signal.SIGKILL)
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe
            pipe.close()

    def _line(self, give_up: float) -> bytes:
        assert self._process.stdout
        while b"\n" not in self._read:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, give_up - time.monotonic()))
            if not ready:
                raise SilentError
            chunk = os.read(self._process.stdout.fileno(), 65536)
            if not chunk:
                raise EndedError(f"the adapter ended: {self._process.args!r}")
            self._read += chunk
        line, self._read = self._read.split(b"\n", 1)
        return line
