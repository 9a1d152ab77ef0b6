"""What the tests of faults measure in a history."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Any

Record = dict[str, Any]

# By then a worker, which does nothing else, has seen that a server has hung up on it, in seconds; also on a busy
# machine. A call on a connection that it believes in would be lost.
SEEN = 0.3


def errors(history: Iterable[Record]) -> list[Record]:
    """The calls that got no decision."""
    return [record for record in history if "error" in record]


def admitted(history: Iterable[Record]) -> int:
    """The cost that was admitted."""
    return sum(record["cost"] for record in history if "error" not in record and record["result"]["allowed"])


def during(history: Iterable[Record], begin: int, end: int) -> list[Record]:
    """The calls that were made and answered between two moments."""
    return [record for record in history if record["invoke_ns"] >= begin and record["ok_ns"] <= end]


def slowest_ms(history: Iterable[Record]) -> float:
    """The longest time that a call took."""
    return max(_times_ms(history))


def median_ms(history: Iterable[Record]) -> float:
    """The time that half of the calls took at most."""
    return median(_times_ms(history))


def _times_ms(history: Iterable[Record]) -> list[float]:
    return [(record["ok_ns"] - record["invoke_ns"]) / 1e6 for record in history]


class Stalls:
    """Measures how late the machine wakes a sleeper, so that a busy machine is not taken for a slow library.

    What counts is all that a sleeper was late within a second: a call waits several times, and may be late each time.
    A scheduler prefers one that sleeps to one that works, so for a process that has to work for its answer, what its
    threads waited for a core counts too: `pid` names it.
    """

    def __init__(self, pid: int | None = None) -> None:
        self.worst_ms = 0.0
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def worst(self) -> float:
        """The same in seconds."""
        return self.worst_ms / 1e3

    def __enter__(self) -> Stalls:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        last_second: deque[tuple[float, float, dict[str, float]]] = deque()
        waited = waited_for_a_core_ms(self._pid)
        while not self._over.is_set():
            before = time.monotonic()
            time.sleep(0.01)
            after = time.monotonic()
            last_second.append((after, (after - before - 0.01) * 1e3, waited))
            while last_second[0][0] < after - 1:
                last_second.popleft()
            waited = waited_for_a_core_ms(self._pid)
            began = last_second[0][2]
            threads = sorted(ms - began.get(thread, 0.0) for thread, ms in waited.items())
            # A call passes through two threads: its caller's, and the one that speaks to the server.
            self.worst_ms = max(self.worst_ms, sum(late for _, late, _ in last_second) + sum(threads[-2:]))


def waited_for_a_core_ms(pid: int | None) -> dict[str, float]:
    """How long each thread of a process has been ready without a core since it began; of no process, nothing."""
    waited = {}
    for thread in Path(f"/proc/{pid}/task").glob("*") if pid else ():
        # One that ends meanwhile is of no interest.
        with contextlib.suppress(OSError):
            waited[thread.name] = int((thread / "schedstat").read_text().split()[1]) / 1e6
    return waited
