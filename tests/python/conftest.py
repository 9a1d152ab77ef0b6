"""The stores that every test may use: `memory://` and the servers that the harness started."""

from __future__ import annotations

import itertools
import json
import os

import pytest

_numbers = itertools.count()


def _servers() -> dict[str, str]:
    if "QUOTALOCK_TEST_SERVERS" not in os.environ:
        raise pytest.UsageError("QUOTALOCK_TEST_SERVERS is missing: run 'make test-python', or the harness yourself")
    servers: dict[str, str] = json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])
    if missing := {"redis-7.0", "redis-6.2", "valkey-9.1"} - servers.keys():
        raise pytest.UsageError(f"missing among the servers: {', '.join(sorted(missing))}")
    return servers


STORES = {"memory": "memory://", **_servers()}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> str:
    """The name of a store; the test runs on each."""
    return str(request.param)


@pytest.fixture
def store_url(store: str) -> str:
    return STORES[store]


@pytest.fixture
def url() -> str:
    """A real server, for tests of the language and not of the store."""
    return STORES["redis-7.0"]


@pytest.fixture
def prefix() -> str:
    """A prefix that no other test of this run uses."""
    return f"p{os.getpid()}-{next(_numbers)}"
