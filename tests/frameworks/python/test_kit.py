"""The fixtures for pytest, the clock, and what is said when a framework is missing."""

from __future__ import annotations

import asyncio

import pytest
import quotalock
from quotalock import aio
from quotalock._require import require
from quotalock.testing import Clock, decision


def test_a_clock_stands_still_until_it_is_moved(quotalock_client: quotalock.Client, quotalock_clock: Clock) -> None:
    logins = quotalock_client.limiter("login", "1/minute")
    assert logins.consume("ada")
    assert logins.consume("ada").retry_after == 60.0
    quotalock_clock.advance(59.5)
    assert logins.consume("ada").retry_after == 0.5
    quotalock_clock.advance(0.5)
    assert logins.consume("ada")
    assert quotalock_clock.now == 1_700_000_060.0


def test_each_test_has_a_memory_of_its_own(quotalock_client: quotalock.Client) -> None:
    assert quotalock_client.limiter("login", "1/minute").peek("ada").remaining == 1


def test_a_clock_of_a_client_on_a_loop() -> None:
    async def body() -> list[bool]:
        client = aio.Client("memory://of-a-clock")
        clock, logins = Clock(client, at=1_700_006_400.0), client.limiter("login", "calendar-window 1/day")
        first = [bool(await logins.consume("ada")), bool(await logins.consume("ada"))]
        clock.advance(86_400)
        return [*first, bool(await logins.consume("ada"))]

    assert asyncio.run(body()) == [True, False, True]


def test_a_time_that_cannot_be_leaves_the_clock_as_it_was() -> None:
    clock = Clock(quotalock.Client("memory://of-a-wrong-time"))
    with pytest.raises(quotalock.InvalidArgument):
        clock.advance(-2_000_000_000)
    assert clock.now == 1_700_000_000.0


def test_a_decision_for_what_a_test_doubles() -> None:
    admitted, denied = decision(), decision("5/10s;9/minute", used=5, name="api")
    assert (admitted.allowed, admitted.remaining, admitted.retry_after) == (True, 9, 0.0)
    assert (denied.allowed, denied.retry_after, denied.name) == (False, 10.0, "api")
    assert denied.headers()["Retry-After"] == "10"
    assert denied.problem()["status"] == 429
    away = [decision(on_error=word) for word in ("open", "closed", "local")]
    assert [(one.allowed, one.source) for one in away] == [(True, "open"), (False, "closed"), (True, "local")]
    assert away[1].problem()["status"] == 503
    with pytest.raises(quotalock.RateLimited):
        decision("5/minute", used=6)


def test_a_missing_or_too_old_package_is_named_with_what_to_install() -> None:
    with pytest.raises(ImportError, match=r"it is not installed: pip install 'no-such-flask>=2.2'"):
        require("no-such-flask", "2.2", "flask")
    with pytest.raises(ImportError, match=r"needs pytest 999 or later, and version .* is installed"):
        require("pytest", "999", "flask")
    require("pytest", "9.0", "flask")
