"""What every test may use: `memory://`, the servers that the harness started, and both faces of the package."""

from __future__ import annotations

import itertools
import json
import os
import sysconfig
from collections.abc import Iterator
from typing import Any

import pytest
import surface as surface_module
from surface import SURFACES, Surface, fresh_memory

_numbers = itertools.count()
# The one server that there is, if the tests were asked to run on one.
ONLY = os.environ.get("QUOTALOCK_TEST_ONLY")


def _servers() -> dict[str, str]:
    if "QUOTALOCK_TEST_SERVERS" not in os.environ:
        raise pytest.UsageError("QUOTALOCK_TEST_SERVERS is missing: run 'make test SUITE=python', or the harness")
    servers: dict[str, str] = json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])
    if missing := ({ONLY} if ONLY else {"redis-7.0", "redis-6.2", "valkey-9.1"}) - servers.keys():
        raise pytest.UsageError(f"missing among the servers: {', '.join(sorted(missing))}")
    return servers


def _clusters() -> dict[str, str]:
    clusters: dict[str, str] = json.loads(os.environ.get("QUOTALOCK_TEST_CLUSTERS", "{}"))
    if missing := (set() if ONLY else {"cluster-7.0", "cluster-9.1"}) - clusters.keys():
        raise pytest.UsageError(f"missing among the clusters: {', '.join(sorted(missing))}")
    return clusters


STORES = {"memory": "memory://", **_servers()}
# Where the vectors are executed.
EVERYWHERE = {**STORES, **_clusters()}


# What a package does with answers is the same whatever kind of server gives them: the vectors and the core's own tests
# run on all of them in `make test`, the others on one.
KINDS = [name if name in ("memory", "redis-7.0") else pytest.param(name, marks=pytest.mark.long) for name in STORES]


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest) -> str:
    """The name of a store; the test runs on each."""
    return str(request.param)


@pytest.fixture
def store_url(store: str) -> str:
    return EVERYWHERE[store]


@pytest.fixture
def url() -> str:
    """A real server, for tests of the language and not of the store."""
    return STORES["redis-7.0"]


@pytest.fixture
def prefix() -> str:
    """A prefix that no other test of this run uses."""
    return f"p{os.getpid()}-{next(_numbers)}"


# What is not there for free-threaded Python.
LOOPS = ["asyncio"] if sysconfig.get_config_var("Py_GIL_DISABLED") else ["asyncio", "uvloop"]


@pytest.fixture(params=LOOPS)
def each_loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `run` runs is on a loop of asyncio, and again on one of uvloop."""
    if request.param == "uvloop":
        import uvloop

        monkeypatch.setattr(surface_module, "on_new_loop", uvloop.run)


@pytest.fixture(params=SURFACES)
def surface(request: pytest.FixtureRequest) -> Iterator[Surface]:
    """A face of the package; the test runs on each."""
    with Surface(request.param) as surface:
        yield surface


@pytest.fixture
def client(surface: Surface, store_url: str, prefix: str) -> Iterator[Any]:
    """A client of a store. Tests share the machine with builds and other suites: what comes may come late."""
    client = surface.module.Client(store_url, prefix=prefix, timeout=10.0)
    yield client
    surface.call(client.close)


@pytest.fixture
def local(surface: Surface) -> Any:
    """A client for what is not about a store."""
    return surface.module.Client(fresh_memory())
