"""What the tests of faults measure in a history."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable
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
    """

    def __init__(self) -> None:
        self.worst_ms = 0.0
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
        last_second: deque[tuple[float, float]] = deque()
        while not self._over.is_set():
            before = time.monotonic()
            time.sleep(0.01)
            after = time.monotonic()
            last_second.append((after, (after - before - 0.01) * 1e3))
            while last_second[0][0] < after - 1:
                last_second.popleft()
            self.worst_ms = max(self.worst_ms, sum(late for _, late in last_second))
