"""A server of each test's own, to be killed and frozen, and a worker in every language."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from servers import Server
from workers import LANGUAGES, Worker


@pytest.fixture(params=LANGUAGES)
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    with Worker(request.param) as process:
        yield process


@pytest.fixture
def server() -> Iterator[Server]:
    with Server("redis-7.0") as running:
        yield running
