"""Readers of every language who want one key of a cache at the same moment.

They are lanes of workers (see workers.py); PHP, which makes one call after the other, has a process for each.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Collection, Mapping
from types import TracebackType
from typing import Any

from workers import CONCURRENT, Answer, Worker

Record = dict[str, Any]

READY_WITHIN = 30.0
ENDED_WITHIN = 30.0
# All have been told by then that they are to read.
AHEAD_NS = 150_000_000


class Stampede:
    """So many `readers` of each language, which have connected when the `with` block begins."""

    def __init__(
        self, url: str, readers: Mapping[str, int], *, prefix: str, load_ms: int, spread_ms: int = 0, **times: int
    ) -> None:
        self._url, self._prefix, self._load_ms, self._spread_ms = url, prefix, load_ms, spread_ms
        wait = times.pop("wait_ms", None)
        self._wait: Answer = {} if wait is None else {"wait_ms": wait}
        self._cache: Answer = {**times, "beta": 0.0}
        self._counts = readers
        self._loads: list[Record] = []
        self._loading = threading.Event()
        self._killed: int | None = None
        self._workers: list[tuple[str, Worker]] = []
        # The worker, the lane and the number of each reader of a language.
        self._readers: list[tuple[str, Worker, int, int]] = []

    def go(self, languages: Collection[str] = (), *, at_ns: int = 0) -> int:
        """Has all readers, or those of some languages, read at one moment; answers the moment."""
        moment = max(at_ns, time.monotonic_ns() + AHEAD_NS)
        for proc, worker, lane, number in self._readers:
            if languages and proc not in languages:
                continue
            spread = self._spread_ms * 1_000_000 * number // self._counts[proc]
            load = {"value": f"loaded by {proc}", "takes_ms": self._load_ms}
            how = {"at_ns": moment + spread}
            worker.begin_call("cache.get", "pages", self._cache, lane=lane, how=how, key="key", load=load, **self._wait)
        return moment

    def loads(self) -> list[Record]:
        """Who has loaded so far, and when: `proc`, `pid` and `at_ns`."""
        return list(self._loads)

    def kill_loader(self) -> str:
        """Kills the process that loads, once it does; answers which language it is of."""
        assert self._loading.wait(READY_WITHIN), "nobody loads"
        self._killed = self._loads[0]["pid"]
        os.kill(self._killed, signal.SIGKILL)
        proc: str = self._loads[0]["proc"]
        return proc

    def end(self) -> list[Record]:
        """Waits for the last reader, and returns what each that lives was given."""
        gets = []
        for proc, worker, lane, _ in self._readers:
            if worker.pid != self._killed:
                answer = worker.end(lane, ENDED_WITHIN)
                got = {"value": bytes.fromhex(answer["result"]).decode()} if "result" in answer else answer
                gets.append({"proc": proc, "invoke_ns": answer["invoke_ns"], "done_ns": answer["ok_ns"], **got})
        return gets

    def __enter__(self) -> Stampede:
        for proc, count in self._counts.items():
            lanes = count if proc in CONCURRENT else 1
            for first in range(0, count, lanes):
                worker = self._started(proc)
                self._workers.append((proc, worker))
                self._readers += [(proc, worker, lane, first + lane) for lane in range(lanes)]
        for _, worker in self._workers:
            worker.client(self._url, prefix=self._prefix, timeout_ms=5000)
        for _, worker, lane, _ in self._readers:
            worker.begin_call("cache.peek", "pages", self._cache, lane=lane, key="warm")
        for _, worker, lane, _ in self._readers:
            assert "result" in worker.end(lane, READY_WITHIN)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for _, worker in self._workers:
            worker.kill()

    def _started(self, proc: str) -> Worker:
        def begun(lane: int, load: Answer) -> None:
            self._loads.append({"proc": proc, "pid": worker.pid, "at_ns": load["at_ns"]})
            self._loading.set()

        worker = Worker(proc, begun=begun)
        return worker
