"""What becomes of a cache's calls whose callers are gone, or whose server is: no lease is left to nobody, no value is lost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
import quotalock
from proxy import Proxy
from quotalock import aio
from servers import Server

# In a process of its own, that has no thread yet: asks, connecting for that, and is cancelled after so many seconds.
CANCELLED = """
import asyncio, sys
from quotalock import aio

async def body():
    async with aio.Client(sys.argv[1], prefix="cancelled", timeout=5.0) as client:
        pages = client.cache("pages", lease=60.0)
        key = sys.argv[2] + sys.argv[3]
        ways = {"one": lambda: pages.get(key, never), "many": lambda: pages.get_many([key], never)}
        task = asyncio.ensure_future(ways[sys.argv[2]]())
        await asyncio.sleep(float(sys.argv[3]))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        # It arrives after its task has ended, and what takes it back after that.
        await asyncio.sleep(3)

async def never(*_):
    raise asyncio.CancelledError

asyncio.run(body())
"""


@pytest.mark.parametrize("way", ["one", "many"])
def test_a_question_whose_task_was_cancelled_leaves_no_lease(server: Server, way: str) -> None:
    with Proxy(server.port) as proxy, quotalock.Client(server.url, prefix="cancelled") as client:
        proxy.faults.late = 0.15
        after = [f"{tenths / 20}" for tenths in range(1, 17)]
        asked = [subprocess.Popen([sys.executable, "-c", CANCELLED, proxy.url, way, seconds]) for seconds in after]
        assert [process.wait(timeout=60) for process in asked] == [0] * len(asked)
        pages = client.cache("pages")
        free = {seconds: pages.get(way + seconds, lambda: "x", wait=0.0) for seconds in after}
        assert free == dict.fromkeys(after, b"x")


def test_several_values_are_stored_in_one_round_trip(server: Server) -> None:
    keys = [f"key:{number}" for number in range(200)]
    with Proxy(server.port) as proxy, quotalock.Client(proxy.url, prefix="several", timeout=5.0) as client:
        pages = client.cache("pages")
        pages.get_many(["first", "second"], lambda missing: dict.fromkeys(missing, "x"))
        before = proxy.counts.replies
        found = pages.get_many(keys, lambda missing: {key: key * 3 for key in missing})
        assert found == {key: (key * 3).encode() for key in keys}
        # What is long may come in more than one piece.
        assert proxy.counts.replies - before <= 8
        assert pages.get_many(keys, lambda _: {}) == found
        with pytest.raises(ZeroDivisionError):
            pages.get_many([f"new:{number}" for number in range(200)], lambda _: 1 / 0)
        assert proxy.counts.replies - before <= 20


def gets(pages: Any, load: Callable[..., Any]) -> list[Callable[[], Any]]:
    return [lambda: pages.get("one", load), lambda: pages.get_many(["two", "three"], load)]


@pytest.mark.parametrize("awaited", [False, True])
def test_who_loads_when_redis_is_away_has_its_value(server: Server, awaited: bool) -> None:
    with Proxy(server.port) as proxy:

        def load(missing: list[str] | None = None) -> Any:
            proxy.faults.mute = True
            proxy.hang_up()
            return "x" if missing is None else dict.fromkeys(missing, "x")

        for when_away in ("load", "raise"):
            for way in (0, 1):
                proxy.faults.mute = False
                began = time.monotonic()
                outcome = ask(proxy.url, when_away, way, load, awaited)
                if when_away == "load":
                    assert outcome == (b"x" if way == 0 else {"two": b"x", "three": b"x"})
                else:
                    # Nobody knows whether it is stored, and who asked to be told is.
                    assert isinstance(outcome, quotalock.Unavailable | quotalock.Timeout)
                assert time.monotonic() - began < 5
                with quotalock.Client(server.url, prefix="away") as client:
                    for key in ("one", "two", "three"):
                        client.cache("pages").invalidate(key)


def ask(url: str, when_away: str, way: int, load: Callable[..., Any], awaited: bool) -> Any:
    async def on_a_loop() -> Any:
        async with aio.Client(url, prefix="away", timeout=0.5) as client:
            return await gets(client.cache("pages", when_away=when_away), load)[way]()

    try:
        if awaited:
            return asyncio.run(on_a_loop())
        with quotalock.Client(url, prefix="away", timeout=0.5) as client:
            return gets(client.cache("pages", when_away=when_away), load)[way]()
    except quotalock.QuotalockError as error:
        return error
