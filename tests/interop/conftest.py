"""Workers of every language on one server."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest
from crew import Crew, started
from workers import Worker


@pytest.fixture(scope="session")
def workers() -> Iterator[dict[str, Worker]]:
    with started() as workers:
        yield workers


@pytest.fixture(params=["redis-7.0", "valkey-9.1"])
def crew(request: pytest.FixtureRequest, workers: dict[str, Worker]) -> Iterator[Crew]:
    crew = Crew(workers, json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])[request.param])
    yield crew
    for worker in crew.values():
        worker.settle()
