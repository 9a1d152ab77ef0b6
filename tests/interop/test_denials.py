"""Processes of three languages that share remembered denials by a file: nothing is denied that Redis would admit.

Each thread drives keys of its own, mostly one call after the other, so what Redis would have said is known for certain:
it is asked with a `peek`, which nobody remembers, before each call that may be answered from memory. Pairs of calls at
once come in between, whose effects must not outlive them. `DENIALS_SECONDS=600` does it for ten minutes.
"""

from __future__ import annotations

import json
import os
import random
import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from workers import Worker

SECONDS = float(os.environ.get("DENIALS_SECONDS", "20"))
THREADS = 3
# In seconds, a little less than clients have it.
REMEMBERED = 0.9
POLICIES = [
    ("6/400ms", "9/600ms"),
    ("token-bucket 5/500ms", "4/300ms"),
    ("sliding-window 6/300ms;20/1s", "sliding-log 5/300ms"),
]
Call = tuple[str, dict[str, Any]]


class Team:
    """A worker of each language, of whom one thread uses a lane."""

    def __init__(self, workers: dict[str, Worker], lane: int, php: Worker) -> None:
        self.members = [(workers["python"], lane), (workers["node"], lane), (php, 0)]
        self.dice = random.Random(lane)
        self.sources: Counter[str] = Counter()

    def begin(self, name: str, policy: str, key: str, call: Call) -> tuple[Worker, int]:
        worker, lane = self.dice.choice(self.members)
        worker.begin_call(f"limiter.{call[0]}", name, {"policy": policy}, lane=lane, key=key, **call[1])
        return worker, lane

    def end(self, worker: Worker, lane: int) -> Any:
        answer = worker.end(lane)
        assert "error" not in answer, answer
        result = answer["result"]
        if isinstance(result, dict) and result["source"] == "deny-cache":
            self.sources[worker.name] += 1
        return result

    def make(self, name: str, policy: str, key: str, call: Call) -> Any:
        return self.end(*self.begin(name, policy, key, call))

    def change(self) -> Call:
        """Something that may free something."""
        return self.dice.choice(
            [("reset", {}), ("refund", {"amount": self.dice.randint(1, 4)}), ("block", {"duration_ms": 30})]
        )

    def consume(self) -> Call:
        return "consume", {"cost": self.dice.choice([1, 1, 1, 2, 3, 7])}

    def drive(self, seconds: float) -> None:
        """Calls at random until the time is over; fails at the first wrong denial."""
        end = time.monotonic() + seconds
        names = [f"{index}-{uuid.uuid4().hex[:6]}" for index in range(len(POLICIES))]
        while time.monotonic() < end:
            index = self.dice.randrange(len(POLICIES))
            policy = POLICIES[index][self.dice.random() < 0.05]
            of = (names[index], policy, self.dice.choice("xy"))
            what = self.dice.random()
            if what < 0.04:
                self.make(*of, self.change())
            elif what < 0.08:
                first = self.begin(*of, self.change())
                # The other call is about the same key at the same time.
                other = self.dice.choice([member for member in self.members if member != first])
                verb, arguments = self.consume()
                other[0].begin_call(f"limiter.{verb}", of[0], {"policy": policy}, lane=other[1], key=of[2], **arguments)
                self.end(*other)
                self.end(*first)
            else:
                call = self.consume()
                would = self.make(*of, ("peek", call[1]))
                told = self.make(*of, call)
                # Nobody else calls: what was admitted a moment ago is admitted now.
                assert told["allowed"] or not would["allowed"], f"{of} {call}: {told} where Redis said {would}"


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that all processes started from now on share."""
    monkeypatch.setenv("QUOTALOCK_DENY_CACHE_FILE", str(tmp_path / "denials"))
    return tmp_path / "denials"


def test_nothing_is_denied_that_redis_would_admit(shared: Path) -> None:
    url, prefix = json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])["redis-7.0"], f"d{uuid.uuid4().hex[:12]}"
    with ExitStack() as stack:
        workers = {name: stack.enter_context(Worker(name)) for name in ("python", "node")}
        phps = [stack.enter_context(Worker("php")) for _ in range(THREADS)]
        for worker in [*workers.values(), *phps]:
            assert "error" not in worker.client(url, prefix=prefix, timeout_ms=10_000)
        # What one language was denied another knows.
        limiter = {"limiter": "first", "policy": "1/1h", "key": "k"}

        def source(worker: Worker) -> str:
            told: str = worker.ask("consume", **limiter, cost=1)["result"]["source"]
            return told

        assert source(phps[0]) == "redis"
        while True:
            began = time.monotonic()
            sources = [source(worker) for worker in (phps[0], *workers.values())]
            # A denial is remembered for a second: whoever came later knows nothing.
            if time.monotonic() - began < REMEMBERED:
                break
            # Until all have forgotten it.
            time.sleep(1.1)
        assert sources == ["redis", "deny-cache", "deny-cache"]
        teams = [Team(workers, lane, php) for lane, php in enumerate(phps, start=1)]
        with ThreadPoolExecutor(THREADS) as threads:
            list(threads.map(lambda team: team.drive(SECONDS), teams))
        known: Counter[str] = sum((team.sources for team in teams), Counter())
        assert len(known) == 3, f"only some languages know denials: {known}"
        assert min(known.values()) > SECONDS, f"too few came from memory: {known}"
    assert shared.stat().st_mode & 0o777 == 0o600
