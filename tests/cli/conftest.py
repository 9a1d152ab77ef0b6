"""Consoles on the servers that the harness started."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator

import pytest
from console import Console

_numbers = itertools.count()


def _prefix() -> str:
    return f"c{os.getpid()}-{next(_numbers)}"


SERVERS: dict[str, str] = json.loads(os.environ.get("QUOTALOCK_TEST_SERVERS", "{}"))
CLUSTERS: dict[str, str] = json.loads(os.environ.get("QUOTALOCK_TEST_CLUSTERS", "{}"))


@pytest.fixture
def console() -> Iterator[Console]:
    """On a server that other tests share."""
    console = Console(SERVERS["redis-7.0"], _prefix())
    yield console
    console.close()


@pytest.fixture(params=["redis-6.2", "redis-7.0", "valkey-9.1", "cluster-7.0", "cluster-9.1"])
def everywhere(request: pytest.FixtureRequest) -> Iterator[Console]:
    """On each kind of server."""
    in_cluster = request.param in CLUSTERS
    console = Console((SERVERS | CLUSTERS)[request.param], _prefix(), in_cluster=in_cluster)
    yield console
    console.close()
