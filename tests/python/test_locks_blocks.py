"""Locks in `with` and `async with`: released at the end, whatever became of the block or the lock."""

from __future__ import annotations

from typing import Any

import pytest
import quotalock
from locks import PATIENT, hold, wait_until
from surface import Surface


def test_a_block_releases_at_its_end(surface: Surface, client: Any) -> None:
    lock = client.lock("sku:42")
    assert hold(surface, lock, lambda: (lock.state, lock.token is not None)) == ("held", True)
    assert lock.state == "released"
    assert surface.call(lock.inspect).holders == ()
    # As often as you like.
    hold(surface, lock)


def test_a_block_that_raises_releases(surface: Surface, client: Any) -> None:
    lock = client.lock("sku:42")
    with pytest.raises(ZeroDivisionError):
        hold(surface, lock, lambda: 1 / 0)
    assert surface.call(lock.inspect).holders == ()


def test_a_block_may_release_by_itself(surface: Surface, client: Any) -> None:
    lock = client.lock("sku:42")

    async def inside() -> None:
        async with lock:
            assert await lock.release()

    if surface.name == "python":
        with lock:
            assert lock.release()
    else:
        surface.call(inside)
    assert lock.state == "released"


def test_a_block_whose_lock_was_lost_says_so(surface: Surface, client: Any) -> None:
    lock = client.lock("sku:42", ttl=0.3, renew=False)
    with pytest.raises(quotalock.Lost, match="was lost"):
        hold(surface, lock, lambda: wait_until(lambda: not lock.held))
    assert lock.state == "released"

    def fail() -> None:
        wait_until(lambda: not lock.held)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        hold(surface, lock, fail)


def test_a_block_whose_lock_was_taken_away_says_so(surface: Surface, client: Any) -> None:
    lock, operator = client.lock("sku:42"), client.lock("sku:42")
    with pytest.raises(quotalock.Lost, match="not held"):
        hold(surface, lock, operator.force_release)
    assert lock.state == "released"


def test_what_a_block_raises_wins_over_a_release_that_fails(surface: Surface, url: str, prefix: str) -> None:
    client = surface.module.Client(url, prefix=prefix, timeout=PATIENT)
    lock = client.lock("sku:42", ttl=1)

    def close() -> None:
        quotalock.Client.close(client if surface.name == "python" else client._native)

    def fail() -> None:
        close()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        hold(surface, lock, fail)
    client = surface.module.Client(url, prefix=prefix, timeout=PATIENT)
    lock = client.lock("sku:42", ttl=1, wait=PATIENT)
    with pytest.raises(quotalock.Lost):
        hold(surface, lock, close)
