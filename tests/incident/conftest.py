from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from demo_run import DemoRun

SERVERS: dict[str, str] = json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])


@pytest.fixture(params=SERVERS)
def server_url(request: pytest.FixtureRequest) -> str:
    """The address of each server in turn."""
    return SERVERS[request.param]


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose path leaves room for the name of a Unix socket, which pytest's own may not."""
    with tempfile.TemporaryDirectory(prefix="ql-") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def demo() -> Iterator[DemoRun]:
    """The demo, run once: it looks on for only three seconds after the broken limiter died, and sells less."""
    with tempfile.TemporaryDirectory(prefix="ql-") as folder:
        yield DemoRun(Path(folder), "--seconds", "3", "--buyers", "1500", "--sale-seconds", "6")
