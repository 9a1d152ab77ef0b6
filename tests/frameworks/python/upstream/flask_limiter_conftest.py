"""In the place of the conftest of flask-limiter: each storage of its tests is ours, at the time that they fake."""

from __future__ import annotations

import inspect
import itertools
import json
import os
import time
from typing import Any

import pytest
import quotalock.limits
import quotalock.testing

SERVER = json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])["redis-7.0"].replace("redis://", "quotalock://")

_numbers = itertools.count()


class OnFakeTime(quotalock.limits.QuotalockStorage):
    """Each has counts of its own; each call happens at the faked time of this process."""

    STORAGE_SCHEME = ["memory", "redis"]  # noqa: RUF012

    def __init__(self, uri: str, key_prefix: str = "", **options: Any) -> None:
        where = SERVER if uri.startswith("redis") else f"quotalock+memory://{next(_numbers)}"
        super().__init__(where, prefix=f"fl-{os.getpid()}-{next(_numbers)}{key_prefix}", timeout=5.0, **options)


def at_their_time(name: str) -> None:
    call = getattr(quotalock.limits.QuotalockStorage, name)

    def inner(self: OnFakeTime, *arguments: object, **named: object) -> object:
        quotalock.testing.set_time(self.storage, int(time.time() * 1_000_000))
        return call(self, *arguments, **named)

    setattr(OnFakeTime, name, inner)


METHODS = """
    incr get get_expiry clear
    acquire_entry get_moving_window
    acquire_sliding_window_entry get_sliding_window
"""
for method in METHODS.split():
    at_their_time(method)


@pytest.fixture(autouse=True)
def standing_clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a test that fakes no time the clock stands still, but for its sleeps: some want exactly 60 s to be left."""
    if "hiro" in inspect.getsource(request.function):
        return
    now = time.time()

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(time, "time", lambda: now)
    monkeypatch.setattr(time, "sleep", sleep)


# Their own fixtures, which build applications; those of containers are not asked for.
pytest_plugins = ["tests.their_conftest"]


@pytest.fixture
def redis_connection() -> None:
    """Nothing to flush: each storage has keys of its own."""
