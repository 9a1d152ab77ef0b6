"""Permits that a process takes ahead: who spends them, who does not, and what becomes of them."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import quotalock
from clock_steps import ClockSteps
from forks import all_well, fork
from quotalock import aio
from servers import Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("redis-7.0") as server:
        yield server


@pytest.fixture(autouse=True)
def _empty(server: Server) -> None:
    # Behind the back of clients, which therefore remember no denials here.
    server.command("FLUSHALL")


def spend(limiter: quotalock.Limiter, calls: int) -> Counter[tuple[str, bool]]:
    """How many calls were answered by whom, and how."""
    decisions = [limiter.consume("k") for _ in range(calls)]
    return Counter((decision.source, decision.allowed) for decision in decisions)


def test_a_limiter_says_its_lease_and_refuses_what_cannot_be() -> None:
    client = quotalock.Client("memory://")
    assert client.limiter("n", "100/s").prefetch is None
    assert client.limiter("n", "100/s", prefetch=100).prefetch == 100
    assert aio.Client("memory://").limiter("n", "100/s", prefetch=7).prefetch == 7
    for policy, prefetch, says in [
        ("100/s", 101, "at most 100"),
        ("100/s", 1, "at least 2"),
        ("100/s", -1, "negative"),
        ("sliding-log 100/s", 10, "sliding-log"),
        ("sliding-window 100/s", 10, "sliding-window"),
    ]:
        with pytest.raises(quotalock.InvalidArgument, match=says):
            client.limiter("n", policy, prefetch=prefetch)
    for wrong in (1.5, "10", True):
        with pytest.raises(quotalock.InvalidArgument):
            client.limiter("n", "100/s", prefetch=wrong)  # type: ignore[arg-type]


def test_most_calls_ask_nobody(server: Server) -> None:
    with quotalock.Client(server.url, deny_cache_max=0, timeout=10.0) as client:
        limiter = client.limiter("n", "100000/h", prefetch=100)
        before = server.called().get("evalsha", 0)
        found = spend(limiter, 5_000)
        assert found["lease", True] > 4_900
        assert found.total() == 5_000
        assert all(allowed for _, allowed in found)
        assert server.called()["evalsha"] - before <= 5_000 - found["lease", True] + 1


def test_a_child_of_a_fork_spends_nothing_of_its_parent(server: Server) -> None:
    client = quotalock.Client(server.url, deny_cache_max=0, timeout=10.0)
    limiter = client.limiter("n", "100/h", prefetch=100)
    # 1, 2, 4, 8, 16 and then 32, of which 31 are here.
    assert spend(limiter, 32) == {("redis", True): 6, ("lease", True): 26}

    def work() -> None:
        assert limiter.consume("k").source == "redis"
        client.close()

    assert all_well([fork(work) for _ in range(3)])
    # What the parent holds is there: its children's close has given nothing of it back.
    assert spend(limiter, 31) == {("lease", True): 31}
    client.close()


def test_in_all_no_more_than_the_limit_is_admitted_after_forks(server: Server) -> None:
    client = quotalock.Client(server.url, deny_cache_max=0, timeout=10.0)
    limiter = client.limiter("n", "500/h", prefetch=50)
    ahead = sum(limiter.consume("k").allowed for _ in range(40))
    reading, writing = os.pipe()

    def work() -> None:
        admitted = sum(limiter.consume("k").allowed for _ in range(300))
        client.close()
        os.write(writing, bytes([admitted // 256, admitted % 256]))

    children = [fork(work) for _ in range(4)]
    ahead += sum(limiter.consume("k").allowed for _ in range(300))
    assert all_well(children)
    told = os.read(reading, 100)
    total = ahead + sum(256 * told[at] + told[at + 1] for at in range(0, len(told), 2))
    assert 400 < total <= 500
    client.close()


def test_a_killed_holder_only_loses(server: Server) -> None:
    with quotalock.Client(server.url, deny_cache_max=0, timeout=10.0) as client:
        limiter = client.limiter("n", "100/h", prefetch=100)

        def work() -> None:
            spend(limiter, 20)
            os.kill(os.getpid(), signal.SIGKILL)

        child = fork(work)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        # 1, 2, 4, 8 and 16 were taken.
        assert spend(client.limiter("n", "100/h"), 100) == {("redis", True): 69, ("redis", False): 31}


def test_closing_gives_back(server: Server) -> None:
    client = quotalock.Client(server.url, deny_cache_max=0, timeout=10.0)
    spend(client.limiter("n", "100/h", prefetch=100), 20)
    client.close()
    with quotalock.Client(server.url, deny_cache_max=0, timeout=10.0) as other:
        assert other.limiter("n", "100/h").peek("k").remaining == 80

    async def closed() -> None:
        async with aio.Client(server.url, deny_cache_max=0, timeout=10.0) as client:
            limiter = client.limiter("a", "100/h", prefetch=100)
            for _ in range(20):
                await limiter.consume("k")

    asyncio.run(closed())
    with quotalock.Client(server.url, deny_cache_max=0, timeout=10.0) as other:
        assert other.limiter("a", "100/h").peek("k").remaining == 80


def test_what_was_taken_is_spent_while_redis_is_away() -> None:
    with (
        Server("redis-7.0") as server,
        quotalock.Client(server.url, deny_cache_max=0, timeout=0.5, on_error="open") as client,
    ):
        limiter = client.limiter("n", "1000/h", prefetch=100)
        spend(limiter, 32)
        server.stop()
        # 31 are here.
        assert spend(limiter, 40) == {("lease", True): 31, ("open", True): 9}


def test_what_stands_in_is_charged_for_the_call_alone() -> None:
    with (
        Server("redis-7.0") as server,
        quotalock.Client(server.url, deny_cache_max=0, timeout=0.5, on_error="local") as client,
    ):
        limiter = client.limiter("n", "100/h", prefetch=50)
        spend(limiter, 15)
        server.stop()
        # Redis has counted 15 of the 100, all of which were spent.
        assert spend(limiter, 101)["local", True] == 85


def test_a_hundred_in_flight_on_a_loop(server: Server) -> None:
    async def main() -> Counter[tuple[str, bool]]:
        async with aio.Client(server.url, deny_cache_max=0, timeout=10.0) as client:
            limiter = client.limiter("n", "5000/h", prefetch=1_000)

            async def caller() -> list[quotalock.Decision]:
                return [await limiter.consume("k") for _ in range(100)]

            answers = [decision for some in await asyncio.gather(*(caller() for _ in range(100))) for decision in some]
            # The last take may be answered when the others were denied and have ended: what it brought is for who comes
            # then.
            while answers[-1].allowed or len(answers) <= 10_000:
                answers.append(await limiter.consume("k"))
        return Counter((decision.source, decision.allowed) for decision in answers)

    found = asyncio.run(main())
    assert found["lease", True] + found["redis", True] == 5_000
    assert found["redis", False] == found.total() - 5_000
    assert found["lease", True] > 1_000


def test_a_hundred_threads(server: Server) -> None:
    with quotalock.Client(server.url, deny_cache_max=0, timeout=10.0) as client, ThreadPoolExecutor(100) as pool:
        limiter = client.limiter("n", "5000/h", prefetch=1_000)
        found = sum(pool.map(lambda _: spend(limiter, 100), range(100)), Counter[tuple[str, bool]]())
        # What the last take brought when the others had ended.
        found += spend(limiter, 1_000)
    assert found["lease", True] + found["redis", True] == 5_000
    assert found["redis", False] == found.total() - 5_000


@pytest.mark.parametrize("seconds", [-60, 60])
def test_a_stepped_clock_of_the_server_prolongs_nothing(seconds: int) -> None:
    with (
        ClockSteps() as clock,
        Server("redis-7.0", prefix=clock.prefix) as server,
        quotalock.Client(server.url, deny_cache_max=0) as client,
    ):
        limiter = client.limiter("n", "100/2s", prefetch=100)
        spend(limiter, 1)
        opened = time.monotonic()
        # 31 are here.
        spend(limiter, 31)
        clock.step(seconds * 1_000_000)
        found = spend(limiter, 15)
        assert found["lease", True] == 15 or time.monotonic() > opened + 1.9
        time.sleep(max(0.0, opened + 2.0 - time.monotonic()))
        assert limiter.consume("k").source == "redis"
