"""What the tests of the program `quotalock` share: servers that nobody else uses, for it looks at all of a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command import Program
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
