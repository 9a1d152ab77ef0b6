"""A Python process of bench/cache.py: `worker.py KIND PORT READERS ROUNDS PAUSE`, with KIND `threads` or `asyncio`.

Says `ready`, waits for a line, and prints what the steps took, in nanoseconds, as one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import quotalock
import quotalock.aio
import redis
import redis.asyncio

KIND, PORT, READERS, ROUNDS, PAUSE = sys.argv[1], *map(int, sys.argv[2:5]), float(sys.argv[5])
URL = f"redis://127.0.0.1:{PORT}"
# Long stale since the parent stored it.
STALE: dict[str, Any] = {"fresh": 0.05, "stale": 3600.0, "beta": 0.0}
TOOK: dict[str, list[int]] = {"peer": [], "trip": [], "get": []}


def order(turn: int) -> list[str]:
    """The steps, each as often in each place."""
    steps = list(TOOK)
    return steps[turn % 3 :] + steps[: turn % 3]


def check(value: Any) -> None:
    """Who is not served the old value has waited for the new one."""
    if value != b"old":
        raise SystemExit(f"{value!r} is not the stale value")


def never() -> bytes:
    """Does not load: the parent does."""
    raise SystemExit("a reader was asked to load, although another does")


async def never_either() -> bytes:
    """As `never`."""
    return never()


def threads() -> None:
    """Has each reader in a thread of its own."""
    cache = quotalock.Client(URL, timeout=5.0).cache("bench", **STALE)
    gate = threading.Barrier(READERS + 1)

    def read() -> None:
        peer = redis.Redis(port=PORT)
        steps: dict[str, Callable[[], Any]] = {
            "peer": lambda: peer.get("bench:plain"),
            "trip": lambda: cache.peek("nothing"),
            "get": lambda: check(cache.get("key", never)),
        }
        steps["peer"](), steps["trip"]()
        gate.wait()
        gate.wait()
        for turn in range(ROUNDS):
            time.sleep(2 * PAUSE * random.random())
            for name in order(turn):
                begun = time.monotonic_ns()
                steps[name]()
                TOOK[name].append(time.monotonic_ns() - begun)

    readers = [threading.Thread(target=read) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    gate.wait()
    started()
    gate.wait()
    for reader in readers:
        reader.join()


async def tasks() -> None:
    """Has all readers on one loop."""
    cache = quotalock.aio.Client(URL, timeout=5.0).cache("bench", **STALE)
    peer = redis.asyncio.Redis(port=PORT)

    async def get() -> None:
        check(await cache.get("key", never_either))

    steps: dict[str, Callable[[], Awaitable[Any]]] = {
        "peer": lambda: peer.get("bench:plain"),
        "trip": lambda: cache.peek("nothing"),
        "get": get,
    }

    async def read() -> None:
        for turn in range(ROUNDS):
            await asyncio.sleep(2 * PAUSE * random.random())
            for name in order(turn):
                begun = time.monotonic_ns()
                await steps[name]()
                TOOK[name].append(time.monotonic_ns() - begun)

    await asyncio.gather(*(steps[name]() for name in ("peer", "trip") for _ in range(READERS)))
    await asyncio.to_thread(started)
    await asyncio.gather(*(read() for _ in range(READERS)))
    await peer.aclose()


def started() -> None:
    """Says that it is ready, and waits for the sign."""
    print("ready", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    threads() if KIND == "threads" else asyncio.run(tasks())
    print(json.dumps(TOOK))
