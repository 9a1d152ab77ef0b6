"""Remembered denials: what Redis denied a moment ago is answered without it, in this process and in what it forks."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

import pytest
import quotalock
from forks import all_well, fork
from servers import Server
from surface import Surface


@pytest.fixture(scope="module")
def server() -> Any:
    """A server of its own: its calls are counted."""
    with Server("redis-7.0") as server:
        yield server


def calls(server: Server) -> int:
    """How many scripts it was asked for."""
    stats = server.command("INFO", "commandstats")
    return sum(int(line.split("calls=")[1].split(",")[0]) for line in stats.splitlines() if "evalsha:" in line)


def test_a_denial_is_answered_again_without_asking(surface: Surface, server: Server, prefix: str) -> None:
    client = surface.module.Client(server.url, prefix=prefix, timeout=10.0, deny_cache_max=60)
    limiter = client.limiter("n", "10/hour")
    assert surface.call(limiter.consume, "k", 8)
    assert surface.call(limiter.consume, "k", 3).source == "redis"
    before = calls(server)
    known = surface.call(limiter.consume, "k", 3)
    assert (known.source, known.allowed, known.remaining, known.cost) == ("deny-cache", False, 2, 3)
    assert known.retry_after == known.reset_after == known.rules[0].retry_after
    assert 3_500 < known.retry_after <= 3_600
    assert surface.call(limiter.consume, "k", 11).retry_after is None
    with pytest.raises(quotalock.RateLimited, match='"k" is over the limit of "n"') as limited:
        surface.call(limiter.require, "k", 3)
    assert limited.value.decision.source == "deny-cache"
    assert surface.call(limiter.wait, "k", timeout=0.01, cost=3).source == "deny-cache"
    assert calls(server) == before
    assert surface.call(limiter.consume, "k", 2), "a lower cost is asked about"
    surface.call(limiter.refund, "k", 5)
    assert surface.call(limiter.consume, "k", 3)
    assert not surface.call(limiter.consume, "k", 3)
    assert surface.call(limiter.reset, "k")
    assert surface.call(limiter.consume, "k", 3)
    surface.call(client.close)


def test_who_waits_asks_again_when_the_time_has_come(surface: Surface, url: str, prefix: str) -> None:
    client = surface.module.Client(url, prefix=prefix, timeout=10.0)
    limiter = client.limiter("n", "1/150 ms")
    assert surface.call(limiter.consume, "k")
    # A window may end between two calls.
    while surface.call(limiter.consume, "k"):
        pass
    admitted = surface.call(limiter.wait, "k", timeout=5.0)
    assert (admitted.allowed, admitted.source) == (True, "redis")
    surface.call(client.close)


def test_it_is_trusted_for_so_long(surface: Surface, url: str, prefix: str) -> None:
    off = surface.module.Client(url, prefix=prefix, timeout=10.0, deny_cache_max=0).limiter("off", "1/hour")
    assert [surface.call(off.consume, "k").source for _ in range(3)] == ["redis"] * 3
    brief = surface.module.Client(url, prefix=prefix, timeout=10.0, deny_cache_max=0.05).limiter("brief", "1/hour")
    assert surface.call(brief.consume, "k")
    began = time.monotonic()
    assert surface.call(brief.consume, "k").source == "redis"
    while surface.call(brief.consume, "k").source == "deny-cache":
        pass
    assert time.monotonic() - began > 0.04
    for bad in (-1, 60.1, float("nan")):
        with pytest.raises(quotalock.InvalidArgument, match="deny_cache_max"):
            surface.module.Client("memory://", deny_cache_max=bad)


def test_children_share_what_their_parent_made(url: str, prefix: str) -> None:
    limiter = quotalock.Client(url, prefix=prefix, timeout=10.0, deny_cache_max=60).limiter("n", "1/hour")
    assert limiter.consume("k")
    assert not limiter.consume("k")

    def work() -> None:
        assert limiter.consume("k").source == "deny-cache"
        own = quotalock.Client(url, prefix=prefix, timeout=10.0, deny_cache_max=60).limiter("n", "1/hour")
        assert own.consume("k").source == "deny-cache", "another client of the same limiter"
        own.consume("k2")
        own.consume("k2")

    assert all_well([fork(work) for _ in range(3)])
    assert limiter.consume("k2").source == "deny-cache", "what a child was denied"
    assert all_well([fork(lambda: limiter.reset("k"))])
    assert limiter.consume("k").source == "redis", "what a child has reset"


def test_a_killed_child_spoils_nothing(url: str, prefix: str) -> None:
    limiter = quotalock.Client(url, prefix=prefix, timeout=10.0, deny_cache_max=60).limiter("n", "1/hour")
    keys = [f"k{number}" for number in range(20)]

    def work() -> None:
        while True:
            for key in keys:
                limiter.consume(key)
                limiter.reset(key)

    for _ in range(5):
        child = os.fork()
        if child == 0:
            work()
        time.sleep(0.05)
        os.kill(child, 9)
        os.waitpid(child, 0)
    for key in keys:
        limiter.reset(key)
        assert limiter.consume(key), "nothing denies what was reset"
        assert not limiter.consume(key)


def test_asyncio_answers_a_crowd_from_memory(server: Server, prefix: str) -> None:
    async def main() -> None:
        from quotalock import aio

        client = aio.Client(server.url, prefix=prefix, timeout=10.0, deny_cache_max=60)
        limiter = client.limiter("n", "5/hour")
        await asyncio.gather(*(limiter.consume("k") for _ in range(20)))
        await limiter.consume("k")
        before = calls(server)
        decisions = await asyncio.gather(*(limiter.consume("k") for _ in range(5_000)))
        assert {decision.source for decision in decisions} == {"deny-cache"}
        assert calls(server) == before
        await client.close()

    asyncio.run(main())
