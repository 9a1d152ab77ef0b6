"""Readers of every language who want one key of a cache at the same moment.

A worker is started as `COMMAND SETUP [KIND]` with a JSON object: `url`, `prefix`, `proc` (what the history calls it),
`readers`, `fresh_ms`, `stale_ms`, `lease_ms`, `load_ms` (how long its loader takes), `wait_ms`, `spread_ms` (over which
time its readers come, one after the other), `path` of its history and `go`, a file that is there once all are to read:
a JSON object with the monotonic time, in nanoseconds, by `proc`.

Its history has a line for each reader that has connected and is `ready`, each `load` (with `pid` and `at_ns`) and each
`get` (with `invoke_ns`, `done_ns` and `value`, or `error`).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from programs import NODE, PHP, PYTHON
from servers import ROOT

Record = dict[str, Any]

WORKERS = ROOT / "tests/harness/cache_worker"
LANGUAGES = {
    "python": [*PYTHON, str(WORKERS / "worker.py")],
    "aio": [*PYTHON, str(WORKERS / "worker.py")],
    "php": [*PHP, str(WORKERS / "worker.php")],
    "node": [*NODE, str(WORKERS / "worker.mjs")],
}
READY_WITHIN = 30.0
ENDED_WITHIN = 30.0
# All have seen by then that they are to read.
AHEAD_NS = 150_000_000


class Stampede:
    """So many `readers` of each language, which have connected when the `with` block begins."""

    def __init__(self, url: str, readers: Mapping[str, int], **setup: Any) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="quotalock-stampede-")
        folder = Path(self._folder.name)
        self._path, self._go = folder / "history", folder / "go"
        self._path.touch()
        self._readers = readers
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        for proc, count in readers.items():
            mine = {"url": url, "proc": proc, "readers": count, "path": str(self._path), "go": str(self._go), **setup}
            command = ["setpriv", "--pdeathsig", "KILL", "--", *LANGUAGES[proc], json.dumps(mine)]
            self._processes[proc] = subprocess.Popen(
                [*command, "aio"] if proc == "aio" else command, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def go(self, first: str = "", *, ahead_ms: int = 0, at_ns: int = 0) -> int:
        """Has all readers read at one moment, those of the `first` language a little sooner; answers the moment."""
        moment = max(at_ns, time.monotonic_ns() + AHEAD_NS)
        times = {proc: moment + (0 if proc == first else ahead_ms * 1_000_000) for proc in self._readers}
        fresh = self._go.with_suffix(".new")
        fresh.write_text(json.dumps(times))
        fresh.rename(self._go)
        return moment

    def history(self, op: str) -> list[Record]:
        """What was written so far about one operation."""
        records = [json.loads(line) for line in self._path.read_text().splitlines()]
        return [record for record in records if record["op"] == op]

    def kill_loader(self) -> str:
        """Kills the process that loads, once it does; answers which language it is of."""
        give_up = time.monotonic() + READY_WITHIN
        while not (loads := self.history("load")):
            assert time.monotonic() < give_up, "nobody loads"
            time.sleep(0.005)
        os.kill(loads[0]["pid"], signal.SIGKILL)
        proc: str = loads[0]["proc"]
        return proc

    def end(self) -> list[Record]:
        """Waits for the last reader, and returns what each that lives was given."""
        for process in self._processes.values():
            process.wait(ENDED_WITHIN)
        return self.history("get")

    def __enter__(self) -> Stampede:
        give_up = time.monotonic() + READY_WITHIN
        while len(self.history("ready")) < sum(self._readers.values()):
            assert time.monotonic() < give_up, f"only {len(self.history('ready'))} readers came"
            time.sleep(0.02)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes.values():
            # With those that it forked.
            os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
            process.wait()
        self._folder.cleanup()
