"""Processes of all languages spend permits that they took ahead: never one too many in any window."""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Sequence
from typing import Any

import pytest
import redis
from history import MS, WallClock
from lease_history import Report, check
from workers import Worker

KEYS = [b"user:42", bytes([0, 255, 10, 37, 123, 125])]
POLICIES = {
    "fixed": ("60/500ms", 20),
    "calendar": ("calendar-window 60/500ms", 60),
    "two": ("40/300ms;calendar-window 100/1000ms", 30),
    "bucket": ("token-bucket 100/1000ms capacity 40", 30),
}
MIX = [
    {"limiter": name, "policy": policy, "prefetch": prefetch, "key": key, "costs": [1, 1, 1, 2, 7]}
    for name, (policy, prefetch) in POLICIES.items()
    for key in KEYS
]


def server(name: str) -> str:
    url: str = json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])[name]
    return url


def spend(languages: Sequence[str], url: str, mix: Sequence[dict[str, Any]], seconds: float) -> Report:
    """Lets workers at the same keys and checks their history."""
    prefix, wall = f"lease{uuid.uuid4().hex[:12]}", WallClock()
    with contextlib.ExitStack() as stack:
        crew = [stack.enter_context(Worker(language)) for language in languages]
        database = stack.enter_context(redis.Redis.from_url(url))
        database.flushdb()
        for worker in crew:
            assert "error" not in worker.client(url, prefix=prefix, timeout_ms=5000)
        for number, worker in enumerate(crew):
            worker.begin_load(mix, seconds=seconds, in_flight=4, pause_us=200, seed=number)
        wall.look()
        history = [record for worker in crew for record in worker.end_load(within=seconds + 30)]
        wall.look()
    return check(history, wall)


@pytest.mark.parametrize("name", ["redis-7.0", "valkey-9.1"])
def test_no_window_admits_more_than_its_limit(name: str) -> None:
    report = spend(["php", "python", "node", "aio"], server(name), MIX, 8)
    print(f"{name}: {report.calls} calls, {report.leased} of them leased, {report.windows} windows, {report.full} full")
    assert report.problems == []
    # If few were leased, or few windows were used up, the test shows nothing.
    assert report.leased > 5 * report.windows
    assert report.full > 10


def record(policy: str, source: str, at_ms: int, cost: int) -> dict[str, Any]:
    """An admitted call that began at this time and took a microsecond; the first window began at 1,000 ms."""
    rules = [{"reset_after_ms": 500 - (at_ms - 1_000) % 500}]
    result = {"allowed": True, "source": source, "rules": rules}
    invoke = at_ms * 1_000_000
    call = {"limiter": "n", "policy": policy, "key": "00", "prefetch": 50, "cost": cost}
    return {**call, "invoke_ns": invoke, "ok_ns": invoke + 1_000, "result": result}


@pytest.mark.parametrize("policy", ["100/500ms", "calendar-window 100/500ms", "token-bucket 200/1000ms capacity 50"])
def test_the_checker_sees_one_too_many(policy: str) -> None:
    wall = WallClock()
    # As if the wall clock began with the monotonic one.
    wall.low = wall.high = 0
    # All of one window, the last of it spent from a prefetch; a bucket of 50 has 50 more of 200 a second and of 250 ms.
    history = [record(policy, "redis", 1_000, 50), record(policy, "lease", 1_003, 50)]
    assert check(history, wall).problems == []
    assert check([*history, record(policy, "lease", 1_004, 2)], wall).problems != []
    # What is left of one window is spent in the next, which is full.
    late = [*history, record(policy, "redis", 1_501, 100), record(policy, "lease", 1_502, 10)]
    assert check(late, wall).problems != []


def test_the_checker_does_not_guess_the_window_of_a_slow_answer() -> None:
    # Charged 10 ms after it was made, in the window that ended at 1,500 ms, and answered in the middle of the next.
    slow = record("100/500ms", "redis", 1_460, 7)
    slow = {**slow, "invoke_ns": 1_450 * MS, "ok_ns": 2_050 * MS}
    history = [record("100/500ms", "redis", 1_000, 93), slow, record("100/500ms", "redis", 1_501, 100)]
    assert check(history, WallClock()).problems == []
