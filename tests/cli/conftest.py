"""What the tests of the program `quotalock` share: for what looks at all of a server, servers that nobody else uses."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import Program
from console import Console
from member import Member
from servers import NAMES


@pytest.fixture
def quotalock(tmp_path: Path) -> Program:
    """The program, without a server yet."""
    return Program(tmp_path)


class Servers(dict[str, Member]):
    """A server of each kind, started when it is wanted."""

    def __missing__(self, name: str) -> Member:
        self[name] = Member(name)
        self[name].start()
        return self[name]


@pytest.fixture(scope="session")
def all_servers() -> Iterator[Servers]:
    servers = Servers()
    yield servers
    for server in servers.values():
        server.close()


@pytest.fixture(params=NAMES)
def server(request: pytest.FixtureRequest, all_servers: Servers, quotalock: Program) -> Member:
    """An empty server of each kind, which the program finds unless told otherwise."""
    member = all_servers[request.param]
    member.ask("FLUSHALL")
    quotalock.url = member.url
    return member


@pytest.fixture
def redis(all_servers: Servers, quotalock: Program) -> Member:
    """An empty Redis 7.0, for what does not differ between servers."""
    member = all_servers["redis-7.0"]
    member.ask("FLUSHALL")
    quotalock.url = member.url
    return member


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
