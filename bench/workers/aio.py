"""Python's asyncio: Quotalock, or redis.asyncio with hiredis."""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from itertools import cycle
from operator import attrgetter
from typing import Any

from serve import Lane, Setup, serve, setup, turned, was_admitted

Call = Callable[[str], Awaitable[Any]]
Judge = Callable[[Any], bool]

# So many lanes, at most, watch the clock: reading it must not become part of what is measured.
WATCHED = 10


async def quotalock_calls(setup: Setup) -> tuple[list[str], Call, Judge]:
    from quotalock import aio

    client = aio.Client(setup.url, prefix=setup.prefix, timeout=5.0, deny_cache_max=0)
    limiter = client.limiter("bench", setup.policy)
    return setup.own_keys(), limiter.consume, attrgetter("allowed")


async def redis_asyncio_calls(setup: Setup) -> tuple[list[str], Call, Judge]:
    from redis import asyncio as redis

    # Its pool ends at 100 connections and then raises.
    client, argv = redis.Redis(port=setup.port, max_connections=max(100, setup.lanes)), setup.argv
    evalsha, loaded = client.evalsha, await client.script_load(setup.script_text())
    sha = loaded.decode() if isinstance(loaded, bytes) else str(loaded)
    return setup.raw_keys(), lambda key: evalsha(sha, 1, key, *argv), was_admitted


class Rounds:
    """Makes rounds on one loop, so that connections live from the first to the last."""

    def __init__(self, setup: Setup, keys: list[str], call: Call, judge: Judge) -> None:
        self.call, self.judge = call, judge
        self.keys = [turned(keys, number, setup.lanes) for number in range(setup.lanes)]
        self.running = False

    async def round(self, seconds: float, took: list[int]) -> list[Lane]:
        """Keeps every lane busy until the time is over."""
        lanes = [Lane() for _ in self.keys]
        self.running = True
        asyncio.get_running_loop().call_later(seconds, self.stop)
        step = max(1, len(lanes) // WATCHED)
        await asyncio.gather(
            *(
                self.watched(lane, keys, took) if number % step == 0 else self.drive(lane, keys)
                for number, (lane, keys) in enumerate(zip(lanes, self.keys, strict=True))
            )
        )
        return lanes

    def stop(self) -> None:
        self.running = False

    async def drive(self, lane: Lane, keys: list[str]) -> None:
        call, judge, calls, admitted = self.call, self.judge, 0, 0
        for key in cycle(keys):
            if judge(await call(key)):
                admitted += 1
            calls += 1
            if not self.running:
                break
        lane.calls, lane.admitted = calls, admitted

    async def watched(self, lane: Lane, keys: list[str], took: list[int]) -> None:
        """As `drive`, and times each call."""
        call, judge, calls, admitted, clock = self.call, self.judge, 0, 0, time.perf_counter_ns
        for key in cycle(keys):
            before = clock()
            if judge(await call(key)):
                admitted += 1
            took.append(clock() - before)
            calls += 1
            if not self.running:
                break
        lane.calls, lane.admitted = calls, admitted


def main() -> None:
    this = setup()
    loop = asyncio.new_event_loop()
    make = quotalock_calls if this.client == "quotalock" else redis_asyncio_calls
    rounds = Rounds(this, *loop.run_until_complete(make(this)))
    packages = ("quotalock",) if this.client == "quotalock" else ("redis", "hiredis")
    versions = [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in packages)]
    serve(", ".join(versions), lambda seconds, took: loop.run_until_complete(rounds.round(seconds, took)))


if __name__ == "__main__":
    main()
