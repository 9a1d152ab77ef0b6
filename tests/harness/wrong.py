"""What every language says at the first call with a wrong address, or before it."""

from __future__ import annotations

import measure
from workers import Answer, Worker

TIMEOUT_MS = 1000
BESIDE_MS = 50
POLICY = "10/1h"


def fails(workers: list[Worker], url: str, code: str, *parts: str, key: str = "k") -> None:
    """All say the same: this code, or one of several, and a message with these parts, within the timeout."""
    for worker in workers:
        with measure.Stalls() as stalls:
            answer = called(worker, url, key)
        assert answer.get("error") in code.split(), f"{worker.name}: {answer}"
        missing = [part for part in parts if part not in answer["message"]]
        assert not missing, f"{worker.name} does not say {missing}: {answer['message']}"
        if "ok_ns" in answer:
            assert measure.slowest_ms([answer]) <= TIMEOUT_MS + BESIDE_MS + stalls.worst_ms, worker.name


def called(worker: Worker, url: str, key: str = "k") -> Answer:
    """Makes a client and a call."""
    made = worker.client(url, prefix="wrong", timeout_ms=TIMEOUT_MS)
    return made if "error" in made else worker.ask("consume", limiter="l", policy=POLICY, key=key, cost=1)
