"""A load in several languages at once on servers that change, and the accounts of it.

Each worker has keys of its own for calls with a request id and for calls without, so that their accounts are exact key
by key, and keys that all share, whose window is small: those show whether a limit held.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType

import measure
import quotalock
from accounts import Counted, Record
from workers import Answer, Worker

PLENTY, WINDOW = 1_000_000, 400
# So many times longer than usual a day lasts: more of each fault.
LONGER = float(os.environ.get("QUOTALOCK_TEST_LONGER", "1"))
# Each with so many callers: on long days more, who make more calls. Whoever looks for a fault may take other languages.
LANES = {"python": 3, "aio": 4, "php": 1, "node": 4 if LONGER == 1 else 16}
CREW = {name: LANES[name] for name in os.environ.get("QUOTALOCK_TEST_CREW", "python php node").split() if name in LANES}
TIMEOUT_MS = 1500


class ClusterLoad:
    """Calls by all of the crew, from the beginning of the `with` block until `end`.

    Not `once` leaves out the calls with a request id, at which a caller stays until it is answered.
    """

    def __init__(
        self,
        url: str,
        *,
        seconds: float = 60 + 60 * LONGER,
        crew: Mapping[str, int] = CREW,
        keys: int = 8,
        pause_us: int = 1500,
        timeout_ms: int = TIMEOUT_MS,
        on_error: str = "raise",
        once: bool = True,
    ) -> None:
        self._once = once
        self.url, self.timeout_ms = url, timeout_ms
        self._crew, self._keys, self._seconds, self._on_error = crew, keys, seconds, on_error
        self._pause_us = pause_us
        self._stack = ExitStack()
        self._workers: dict[str, Worker] = {}
        self.stalls = measure.Stalls()

    @property
    def keys(self) -> list[str]:
        """All keys that the load is about."""
        return sorted({entry["key"] for name in self._crew for entry in self.mix(name)})

    def mix(self, language: str) -> list[Answer]:
        """What a worker calls."""
        many = f"{PLENTY}/1h"
        own = [f"{language} {number}" for number in range(self._keys)]
        counts = [{"limiter": "count", "policy": many, "key": key, "costs": [1]} for key in own]
        once = [{"limiter": "once", "policy": many, "key": key, "costs": [1], "once": True} for key in own]
        windows = [
            {"limiter": "window", "policy": f"{WINDOW}/1h", "key": f"shared {n}", "costs": [1]} for n in range(3)
        ]
        return [*counts, *(once if self._once else []), *windows]

    def __enter__(self) -> ClusterLoad:
        with ExitStack() as stack:
            stack.enter_context(self.stalls)
            for name in self._crew:
                self._workers[name] = stack.enter_context(Worker(name))
            for worker in self._workers.values():
                answer = worker.client(self.url, prefix="day", timeout_ms=self.timeout_ms, on_error=self._on_error)
                assert "error" not in answer, answer
            for name, worker in self._workers.items():
                how = {"in_flight": self._crew[name], "pause_us": self._pause_us}
                worker.begin_load(self.mix(name), seconds=self._seconds, **how)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def end(self) -> list[Record]:
        """Ends the load, and returns the history of all."""
        for worker in self._workers.values():
            worker.stop_load()
        return [record for worker in self._workers.values() for record in worker.end_load(within=60)]


def counted(url: str, history: Sequence[Record], prefix: str = "day") -> dict[Counted, int]:
    """What the servers remember of all that was called."""
    found: dict[Counted, int] = {}
    with quotalock.Client(url, prefix=prefix, timeout=10.0) as client:
        for record in history:
            which = (record["limiter"], record["policy"], record["key"])
            if which not in found:
                limit = int(record["policy"].split("/")[0])
                decision = client.limiter(record["limiter"], record["policy"]).peek(bytes.fromhex(record["key"]))
                found[which] = limit - decision.remaining
    return found
