"""In the place of the conftest of `limits`: its storages are ours, on each server, each test with keys and a clock of
its own. The clock moves by what a test sleeps, so that nothing waits and no test depends on how busy the machine is."""

from __future__ import annotations

import itertools
import json
import os
import time
from typing import Any

import pytest
import quotalock.limits
import quotalock.testing
import tests.utils

SERVERS = json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])
CLUSTER = json.loads(os.environ["QUOTALOCK_TEST_CLUSTERS"])["cluster-7.0"]

URLS = {
    "memory": "quotalock+memory://",
    **{name: url.replace("redis://", "quotalock://") for name, url in SERVERS.items()},
    "cluster": CLUSTER.replace("redis+cluster://", "quotalock+cluster://"),
}
STORAGES = [pytest.param(url, {}, None, id=name) for name, url in URLS.items()]
EXPECTED = [pytest.param(url, {}, quotalock.limits.QuotalockStorage, None, id=name) for name, url in URLS.items()]

for name in ("all_storage", "moving_window_storage", "sliding_window_counter_storage"):
    setattr(tests.utils, name, pytest.mark.parametrize(("uri", "args", "fixture"), STORAGES))

_prefixes = itertools.count()


def pytest_pycollect_makeitem(name: str, obj: Any) -> None:
    if name == "TestConcreteStorages":
        obj.pytestmark = [pytest.mark.parametrize(("uri", "args", "expected_instance", "fixture"), EXPECTED).mark]


@pytest.fixture(autouse=True)
def own_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    made = quotalock.limits.QuotalockStorage.__init__

    def with_prefix(self: quotalock.limits.QuotalockStorage, uri: str, **options: Any) -> None:
        made(self, uri, prefix=f"limits-{os.getpid()}-{prefix}", timeout=5.0, **options)

    prefix = next(_prefixes)
    monkeypatch.setattr(quotalock.limits.QuotalockStorage, "__init__", with_prefix)


METHODS = """
    incr get get_expiry clear
    acquire_entry get_moving_window
    acquire_sliding_window_entry get_sliding_window
"""


@pytest.fixture(autouse=True)
def own_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()

    def sleep(seconds: float) -> None:
        nonlocal now
        now += max(seconds, 0)

    def at_that_time(name: str) -> None:
        call = getattr(quotalock.limits.QuotalockStorage, name)

        def inner(self: quotalock.limits.QuotalockStorage, *arguments: object, **named: object) -> object:
            quotalock.testing.set_time(self.storage, round(now * 1_000_000))
            return call(self, *arguments, **named)

        monkeypatch.setattr(quotalock.limits.QuotalockStorage, name, inner)

    monkeypatch.setattr(time, "time", lambda: now)
    monkeypatch.setattr(time, "sleep", sleep)
    for name in METHODS.split():
        at_that_time(name)
