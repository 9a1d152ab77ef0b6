"""Many want one value: one loads it, in threads, on loops and in other processes, whatever becomes of the loader."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from types import FrameType
from typing import Any

import measure
import pytest
import quotalock
import quotalock.testing
from conftest import STORES
from quotalock import aio
from quotalock.aio import testing

# This machine has much to do.
SOON = 2.0
MANY = 50
NOW = 1_700_000_000_000_000


@pytest.fixture
def url(store_url: str) -> str:
    """Here every test runs on every store."""
    return store_url


def test_of_many_threads_one_loads(url: str, prefix: str) -> None:
    client = quotalock.Client(url, prefix=prefix, timeout=10.0)
    pages = client.cache("pages", fresh=60.0, beta=0.0)
    loads: list[float] = []
    barrier = threading.Barrier(MANY)

    def load() -> str:
        loads.append(time.monotonic())
        time.sleep(0.2)
        return f"page {len(loads)}"

    def get(_: int) -> bytes | None:
        barrier.wait()
        return pages.get("home", load, wait=20.0)

    with ThreadPoolExecutor(MANY) as threads:
        for number in (1, 2):
            # The second is at its expiry.
            quotalock.testing.set_time(client, NOW + number * 60_000_000)
            assert set(threads.map(get, range(MANY))) == {f"page {number}".encode()}
            assert len(loads) == number


def test_of_many_tasks_one_loads(url: str, prefix: str) -> None:
    async def body() -> None:
        async with aio.Client(url, prefix=prefix, timeout=10.0) as client:
            pages, orders = client.cache("pages", fresh=60.0, beta=0.0), client.once("orders")
            loads = 0

            async def load() -> str:
                nonlocal loads
                loads += 1
                await asyncio.sleep(0.2)
                return f"page {loads}"

            for number in (1, 2):
                # The second is at its expiry.
                await testing.set_time(client, NOW + number * 60_000_000)
                got = await asyncio.gather(*(pages.get("home", load, wait=20.0) for _ in range(MANY)))
                assert (set(got), loads) == ({f"page {number}".encode()}, number)
            got = await asyncio.gather(*(orders.run("1", load, wait=20.0) for _ in range(MANY)))
            assert (set(got), loads) == ({b"page 3"}, 3)
            many = await asyncio.gather(
                *(client.cache("many").get_many(["a", "b"], slowly, wait=20.0) for _ in range(MANY))
            )
            assert all(each == {"a": b"a", "b": b"b"} for each in many)
            assert asked == [["a", "b"]]

    asked: list[Any] = []

    async def slowly(missing: list[Any]) -> dict[Any, Any]:
        asked.append(missing)
        await asyncio.sleep(0.2)
        return {key: key for key in missing}

    asyncio.run(body())


def test_what_is_stale_is_served_while_one_loads(url: str, prefix: str) -> None:
    async def body() -> None:
        async with aio.Client(url, prefix=prefix, timeout=10.0) as client:
            pages = client.cache("pages", fresh=0.05, stale=60.0)
            await pages.put("home", "old")
            await asyncio.sleep(0.1)
            go = asyncio.Event()

            async def load() -> str:
                await go.wait()
                return "new"

            calls = [asyncio.ensure_future(pages.get("home", load)) for _ in range(MANY)]
            done, pending = set[asyncio.Future[Any]](), set(calls)
            # One waits for us.
            while len(pending) > 1:
                ended, pending = await asyncio.wait(pending, timeout=20.0, return_when=asyncio.FIRST_COMPLETED)
                assert ended, f"{len(pending)} wait"
                done |= ended
            assert (len(done), len(pending)) == (MANY - 1, 1)
            assert {call.result() for call in done} == {b"old"}
            go.set()
            assert [await call for call in pending] == [b"new"]

    asyncio.run(body())


def test_those_who_wait_hear_of_the_error(url: str, prefix: str) -> None:
    async def body() -> None:
        async with aio.Client(url, prefix=prefix, timeout=10.0) as client:
            pages = client.cache("pages")

            async def load() -> str:
                await asyncio.sleep(0.2)
                raise ZeroDivisionError("no")

            calls = (pages.get("home", load, wait=20.0) for _ in range(10))
            got = await asyncio.gather(*calls, return_exceptions=True)
            kinds = sorted(type(error).__name__ for error in got)
            assert kinds == [*["LoadFailed"] * 9, "ZeroDivisionError"]

    asyncio.run(body())


def test_a_cancelled_loader_frees_the_way(url: str, prefix: str) -> None:
    async def body() -> None:
        async with aio.Client(url, prefix=prefix, timeout=10.0) as client:
            pages, orders = client.cache("pages", lease=60.0), client.once("orders", lease=60.0, error_ttl=60.0)
            begun = asyncio.Event()

            async def hang() -> str:
                begun.set()
                await asyncio.sleep(60)
                raise AssertionError("it was cancelled")

            async def hang_for_all(_: list[Any]) -> dict[Any, Any]:
                await hang()
                return {}

            ways: list[tuple[Any, Any]] = [
                (lambda: pages.get("home", hang), lambda: pages.get("home", lambda: "x", wait=20.0)),
                (lambda: orders.run("1", hang), lambda: orders.run("1", lambda: "x", wait=20.0)),
                (lambda: pages.get_many(["a"], hang_for_all), lambda: pages.get("a", lambda: "x", wait=20.0)),
            ]
            for hanging, again in ways:
                begun.clear()
                loader: asyncio.Task[Any] = asyncio.ensure_future(hanging())
                await begun.wait()
                waiter = asyncio.ensure_future(again())
                await asyncio.sleep(0.1)
                assert not waiter.done()
                loader.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await loader
                # Not after its lease, nor by its own patience.
                assert await asyncio.wait_for(waiter, 10.0) == b"x"

    asyncio.run(body())


def test_a_cancelled_waiter_leaves_nothing_behind(url: str, prefix: str) -> None:
    async def body() -> None:
        async with aio.Client(url, prefix=prefix, timeout=10.0) as client:
            pages = client.cache("pages", lease=60.0)
            begun, go = asyncio.Event(), asyncio.Event()

            async def load() -> str:
                begun.set()
                await go.wait()
                raise KeyError("none")

            loader = asyncio.ensure_future(pages.get("home", load))
            await begun.wait()
            waiters = [asyncio.ensure_future(pages.get("home", lambda: "never", wait=60.0)) for _ in range(MANY)]
            await asyncio.sleep(0.2)
            for waiter in waiters:
                waiter.cancel()
            assert {type(end) for end in await asyncio.gather(*waiters, return_exceptions=True)} == {
                asyncio.CancelledError
            }
            await pages.invalidate("home")
            # None of them has got the lease.
            assert await pages.get("home", lambda: "x", wait=0.0) == b"x"
            go.set()
            with pytest.raises(KeyError):
                await loader
            assert await pages.get("home", lambda: "y", wait=0.0) == b"x"

    asyncio.run(body())


def test_a_task_that_is_cancelled_anywhere_holds_no_lease(url: str, prefix: str) -> None:
    async def body() -> None:
        async with aio.Client(url, prefix=prefix, timeout=10.0) as client:
            pages = client.cache("pages", lease=60.0)

            async def load() -> str:
                await asyncio.sleep(0)
                return "x"

            for turns in range(30):
                task = asyncio.ensure_future(pages.get(f"key:{turns}", load))
                for _ in range(turns):
                    await asyncio.sleep(0.0002)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            keys = [f"key:{turns}" for turns in range(30)]
            for key in keys:
                assert await asyncio.wait_for(pages.get(key, lambda: "x", wait=30.0), 5 * SOON) == b"x"

    asyncio.run(body())


def test_who_waits_too_long_is_told(url: str, prefix: str) -> None:
    client = quotalock.Client(url, prefix=prefix, timeout=10.0)
    pages, begun, go = client.cache("pages", lease=60.0), threading.Event(), threading.Event()

    def load() -> str:
        begun.set()
        assert go.wait(20)
        return "x"

    with ThreadPoolExecutor(1) as threads:
        loader = threads.submit(pages.get, "home", load)
        assert begun.wait(20)
        for wait in (0.0, 0.2):
            with pytest.raises(quotalock.Timeout, match="another caller is loading it"):
                pages.get("home", lambda: "never", wait=wait)

        async def waits() -> None:
            async with aio.Client(url, prefix=prefix, timeout=10.0) as other:
                with pytest.raises(quotalock.Timeout):
                    await other.cache("pages").get("home", lambda: "never", wait=0.2)

        if url != "memory://":
            asyncio.run(waits())
        go.set()
        assert loader.result() == b"x"


class Enough(Exception):
    """What a handler raises."""


def in_a_moment() -> AbstractContextManager[None]:
    """Has an alarm come, maybe at once on a busy machine: so it is called within what expects it."""
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    return nullcontext()


def test_a_signal_ends_a_wait(url: str, prefix: str) -> None:
    client = quotalock.Client(url, prefix=prefix, timeout=10.0)
    pages, go, begun = client.cache("pages", lease=60.0), threading.Event(), threading.Event()

    def load() -> str:
        begun.set()
        assert go.wait(20)
        return "x"

    def enough(_number: int, _frame: FrameType | None) -> None:
        raise Enough

    previous = signal.signal(signal.SIGALRM, enough)
    try:
        with ThreadPoolExecutor(1) as threads:
            loader = threads.submit(pages.get, "home", load)
            assert begun.wait(20)
            with measure.Stalls() as stalls:
                before = time.monotonic()
                with pytest.raises(Enough), in_a_moment():
                    pages.get("home", lambda: "never", wait=60.0)
                took = time.monotonic() - before
            assert took < SOON + stalls.worst
            go.set()
            assert loader.result() == b"x"
    finally:
        signal.signal(signal.SIGALRM, previous)


def test_closing_ends_waits(url: str, prefix: str) -> None:
    async def body() -> None:
        client = aio.Client(url, prefix=prefix, timeout=10.0)
        pages, begun = client.cache("pages"), asyncio.Event()

        async def hang() -> str:
            begun.set()
            await asyncio.sleep(60)
            raise AssertionError("it was cancelled")

        loader = asyncio.ensure_future(pages.get("home", hang))
        await begun.wait()
        waiter = asyncio.ensure_future(pages.get("home", hang, wait=60.0))
        await asyncio.sleep(0.1)
        await client.close()
        with pytest.raises(quotalock.Closed):
            await asyncio.wait_for(waiter, 10.0)
        loader.cancel()
        await asyncio.gather(loader, return_exceptions=True)

    asyncio.run(body())


KILLED = """
import os, sys, time
import quotalock
client = quotalock.Client(sys.argv[1], prefix=sys.argv[2], timeout=10.0)
def load():
    print("loading", flush=True)
    time.sleep(60)
client.cache("pages", lease=1.0).get("home", load)
"""


def test_a_killed_loader_costs_one_lease(url: str, prefix: str) -> None:
    if url == "memory://":
        # Other processes have a memory of their own.
        url = STORES["redis-7.0"]
    begun = time.monotonic()
    with subprocess.Popen([sys.executable, "-c", KILLED, url, prefix], stdout=subprocess.PIPE, text=True) as loader:
        assert loader.stdout is not None
        assert loader.stdout.readline() == "loading\n"
        killed = time.monotonic()
        loader.kill()
    loads: list[float] = []

    def load() -> str:
        loads.append(time.monotonic())
        return "x"

    pages = quotalock.Client(url, prefix=prefix, timeout=10.0).cache("pages", lease=60.0)
    with measure.Stalls() as stalls, ThreadPoolExecutor(MANY) as threads:
        assert set(threads.map(lambda _: pages.get("home", load, wait=20.0), range(MANY))) == {b"x"}
    assert len(loads) == 1
    # The lease began after the process did.
    assert loads[0] - begun > 1.0
    assert loads[0] - killed < 1.0 + SOON + stalls.worst


def test_a_fork_in_a_loader_takes_no_lease_along(url: str, prefix: str) -> None:
    if url == "memory://":
        url = STORES["redis-7.0"]
    client = quotalock.Client(url, prefix=prefix, timeout=10.0)
    pages, other = client.cache("pages", lease=60.0), client.cache("other")

    def load() -> str:
        child = os.fork()
        if child == 0:
            # It uses the same objects, and drops all of them.
            os._exit(0 if other.get("home", lambda: "child") == b"child" else 1)
        assert os.waitpid(child, 0)[1] == 0
        with pytest.raises(quotalock.Timeout):
            pages.get("home", lambda: "never", wait=0.0)
        return "parent"

    assert pages.get("home", load) == b"parent"
    assert pages.get("home", lambda: "never") == b"parent"
    assert other.get("home", lambda: "never") == b"child"


def test_a_child_that_leaves_a_loader_frees_nothing(url: str, prefix: str) -> None:
    if url == "memory://":
        url = STORES["redis-7.0"]
    client = quotalock.Client(url, prefix=prefix, timeout=10.0)
    pages = client.cache("pages", lease=60.0)

    def load() -> str:
        child = os.fork()
        if child == 0:
            raise Enough
        assert os.waitpid(child, 0)[1] == 0
        with pytest.raises(quotalock.Timeout):
            pages.get("home", lambda: "never", wait=0.0)
        return "parent"

    parent = os.getpid()
    try:
        assert pages.get("home", load) == b"parent"
    except Enough:
        assert os.getpid() != parent
        os._exit(0)
    assert pages.get("home", lambda: "never") == b"parent"
