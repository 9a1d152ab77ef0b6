"""Processes of three languages on the same keys: never one too many in any window, and none too few."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import redis
from history import Report, WallClock, check
from workers import Worker

PLANTED = Path(__file__).parent / "planted.py"

FIXED = "20/500ms"
CALENDAR = "calendar-window 25/500ms"
TWO = "12/300ms;30/1000ms"
# Also a rule of each kind, where neither always binds.
MIXED = "calendar-window 15/400ms;45/1500ms"

KEYS = [b"user:42", "żółw 🐢".encode(), bytes([0, 255, 10, 37, 123, 125])]
FIXED_MIX = [{"limiter": "fixed", "policy": FIXED, "key": key, "costs": [1, 1, 2, 3]} for key in KEYS]
MIX = [
    *FIXED_MIX,
    *({"limiter": "calendar", "policy": CALENDAR, "key": key, "costs": [1, 1, 2, 3]} for key in KEYS),
    *({"limiter": "two", "policy": TWO, "key": key, "costs": [1, 1, 2]} for key in KEYS[:2]),
    {"limiter": "mixed", "policy": MIXED, "key": KEYS[0], "costs": [1, 2]},
]


def server(name: str) -> str:
    url: str = json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])[name]
    return url


def immortal_of(database: Any) -> list[bytes]:
    """The keys without a TTL."""
    return [key for key in database.scan_iter() if database.pttl(key) == -1]


def contend(workers: Sequence[Any], url: str, mix: Sequence[dict[str, Any]], seconds: float) -> Report:
    """Lets the workers at the same keys, whose TTL gets lost now and then, and checks their history."""
    prefix = f"c{uuid.uuid4().hex[:12]}"
    wall = WallClock()
    with contextlib.ExitStack() as stack:
        crew = [stack.enter_context(Worker(worker)) for worker in workers]
        database = stack.enter_context(redis.Redis.from_url(url))
        database.flushdb()
        for worker in crew:
            assert "error" not in worker.client(url, prefix=prefix, timeout_ms=5000)
        for number, worker in enumerate(crew):
            worker.begin_load(mix, seconds=seconds, in_flight=2, pause_us=700, seed=number)
        for _ in range(3):
            time.sleep(seconds / 4)
            wall.look()
            for key in database.scan_iter():
                database.persist(key)
        history = [record for worker in crew for record in worker.end_load(within=seconds + 30)]
        if immortal_of(database):
            # They lost it when the workers had ended, or nearly so: the next call is still to come.
            for number, worker in enumerate(crew):
                worker.begin_load(mix, seconds=4, in_flight=2, pause_us=700, seed=100 + number)
            history += [record for worker in crew for record in worker.end_load(within=34)]
        wall.look()
        immortal = immortal_of(database)
    assert all("error" not in record for record in history), [r for r in history if "error" in r][:3]
    report = check(history, wall)
    # A key that has lost its TTL gets one with the next call that is admitted.
    report.problems += [f"{key!r} never expires" for key in immortal]
    return report


@pytest.mark.parametrize(("name", "seconds"), [("redis-7.0", 30), ("valkey-9.1", 8)])
def test_three_languages_share_one_limit(name: str, seconds: float) -> None:
    report = contend(["php", "python", "node"], server(name), MIX, seconds)
    print(f"{name}: {report.calls} calls, {report.windows} windows, {report.full} of them full")
    assert report.problems == []
    # Of the windows that fit into the time, most must have been filled, or the test shows nothing.
    assert report.full > seconds * 10


@pytest.mark.parametrize(
    ("fault", "shows"),
    [
        ("client-clock", "window"),
        ("get-then-set", "too many"),
        ("no-ttl-rewrite", "too few"),
    ],
)
def test_the_same_check_catches_a_planted_fault(fault: str, shows: str) -> None:
    report = contend(planted(fault), server("redis-7.0"), FIXED_MIX, 3)
    assert any(shows in problem for problem in report.problems), report


def test_what_is_planted_without_a_fault_passes() -> None:
    report = contend(planted("none"), server("redis-7.0"), FIXED_MIX, 6)
    assert report.problems == []
    assert report.full > 9


def planted(fault: str) -> list[list[str]]:
    """Three processes on hosts whose clocks do not agree."""
    return [[sys.executable, str(PLANTED), fault, str(skew)] for skew in (0, 150, -90)]
