"""Fixtures for pytest, which finds them by itself where Quotalock is installed.

def test_logins(quotalock_client, quotalock_clock):
    logins = quotalock_client.limiter("login", "1/minute")
    assert logins.consume("ada")
    assert not logins.consume("ada")
    quotalock_clock.advance(60)
    assert logins.consume("ada")
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from . import Client
    from ._clock import Clock

_numbers = itertools.count()


@pytest.fixture
def quotalock_client() -> Iterator[Client]:
    """A client of memory that no other test has."""
    from . import Client

    with Client(f"memory://of-a-test-{next(_numbers)}") as client:
        yield client


@pytest.fixture
def quotalock_clock(quotalock_client: Client) -> Clock:
    """The time of `quotalock_client`, which stands still until `advance(seconds)`."""
    from ._clock import Clock

    return Clock(quotalock_client)
