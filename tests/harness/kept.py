"""A worker in every language that a module keeps: its tests start none of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from workers import LANGUAGES, Worker


@pytest.fixture(scope="module", params=LANGUAGES)
def kept_worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    """For a module that says `worker = kept_worker`, and whose tests each make a client of their own."""
    with Worker(request.param) as process:
        yield process
