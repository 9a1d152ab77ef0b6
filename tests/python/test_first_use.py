"""What people meet in the first minutes: slips that are told, and what they look for."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import quotalock
import spec
from surface import Surface, fresh_memory


def test_a_timeout_of_milliseconds_is_warned_of(surface: Surface) -> None:
    with pytest.warns(UserWarning, match=r"timeout=500 is that many seconds"):
        surface.module.Client(fresh_memory(), timeout=500)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        surface.module.Client(fresh_memory(), timeout=60)


def test_policies_in_a_list_of_texts_are_told_how() -> None:
    with pytest.raises(TypeError, match="one str for all of them"):
        quotalock.Client(fresh_memory()).limiter("n", ["10/minute", "100/hour"])  # type: ignore[list-item]


def test_the_package_knows_its_version() -> None:
    project = spec.ROOT / "bindings-python/pyproject.toml"
    assert f'version = "{quotalock.__version__}"' in project.read_text()


def test_a_whole_number_is_a_key(surface: Surface) -> None:
    call, client = surface.call, surface.module.Client(fresh_memory())
    limiter = client.limiter("n", "9/minute")
    call(limiter.consume, 42)
    call(client.consume_all, [(limiter, 42), (limiter, "43")])
    assert call(limiter.peek, "42").remaining == 7
    assert limiter.redis_key(-7) == limiter.redis_key("-7")
    reservation = call(limiter.reserve, 42, 2, 60.0)
    assert call(limiter.reservation(42, reservation.id).cancel)
    cache = client.cache("c")
    call(cache.put, 42, "v")
    assert call(cache.peek, "42").value == b"v"
    for key in (True, 4.5):
        refused: Any = key
        with pytest.raises(TypeError, match="give a str, bytes or an int"):
            call(limiter.consume, refused)


def test_the_holder_of_a_lock_is_told_in_milliseconds() -> None:
    client = quotalock.Client(fresh_memory())
    quotalock.testing.set_time(client, 1_700_000_000_000_000)
    held = client.lock("sku", ttl=30.0)
    assert held.acquire()
    quotalock.testing.set_time(client, 1_700_000_000_000_086)
    with pytest.raises(quotalock.NotAcquired, match=r"holds it for 30s more"), client.lock("sku"):
        pass
