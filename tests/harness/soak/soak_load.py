"""Calls of every feature until its input ends, `soak_load.py URL [aio]`. Then tells how many, and what failed."""

from __future__ import annotations

import asyncio
import json
import random
import sys
import threading
from collections import Counter
from typing import Any

import quotalock
import quotalock.aio

THREADS, TASKS, PAUSE = 3, 8, 0.01
# So often a client is made anew.
ANEW = 200
counts: Counter[str] = Counter()
over = threading.Event()


def options() -> dict[str, Any]:
    """Those of all clients."""
    return {"prefix": "soak", "timeout": 1.0, "request_memory": 10.0}


def call(client: quotalock.Client, number: int, luck: random.Random) -> None:
    """One call of each feature in turn."""
    key = f"user:{luck.randrange(200)}"
    match number % 7:
        case 0 | 1:
            client.limiter("calls", "1000000/1h;token-bucket 100/1s").consume(key)
        case 2:
            client.limiter("once", "1000000/1h").consume(key, request_id=luck.randbytes(12).hex())
        case 3:
            with client.lock(f"door:{luck.randrange(4)}", ttl=2.0, wait=0.5):
                pass
        case 4:
            client.cache("page", fresh=0.5, stale=1.0).get(f"page:{luck.randrange(20)}", lambda: b"x" * 2000)
        case 5:
            client.limiter("leased", "1000000/1h", prefetch=50).consume("shared")
        case _:
            # Nearly always denied, by what the process remembers.
            client.limiter("small", "5/1s").consume("shared")


async def call_on_loop(client: quotalock.aio.Client, number: int, luck: random.Random) -> None:
    """The same on a loop."""

    async def made() -> bytes:
        return b"x" * 2000

    key = f"user:{luck.randrange(200)}"
    match number % 7:
        case 0 | 1:
            await client.limiter("calls", "1000000/1h;token-bucket 100/1s").consume(key)
        case 2:
            await client.limiter("once", "1000000/1h").consume(key, request_id=luck.randbytes(12).hex())
        case 3:
            async with client.lock(f"door:{luck.randrange(4)}", ttl=2.0, wait=0.5):
                pass
        case 4:
            await client.cache("page", fresh=0.5, stale=1.0).get(f"page:{luck.randrange(20)}", made)
        case 5:
            await client.limiter("leased", "1000000/1h", prefetch=50).consume("shared")
        case _:
            await client.limiter("small", "5/1s").consume("shared")


def run(url: str, seed: int) -> None:
    """What a thread does."""
    luck, number = random.Random(seed), seed
    with quotalock.Client(url, **options()) as client:
        while not over.wait(luck.random() * 2 * PAUSE):
            number += 1
            try:
                if number % ANEW == 0:
                    with quotalock.Client(url, **options() | {"prefix": "anew"}) as other:
                        call(other, 0, luck)
                call(client, number, luck)
                counts["calls"] += 1
            except quotalock.QuotalockError as error:
                counts[error.code] += 1


async def run_on_loop(url: str, client: quotalock.aio.Client, seed: int) -> None:
    """What a task does."""
    luck, number = random.Random(seed), seed
    while not over.is_set():
        number += 1
        try:
            if number % ANEW == 0:
                async with quotalock.aio.Client(url, **options() | {"prefix": "anew"}) as other:
                    await call_on_loop(other, 0, luck)
            await call_on_loop(client, number, luck)
            counts["calls"] += 1
        except quotalock.QuotalockError as error:
            counts[error.code] += 1
        await asyncio.sleep(luck.random() * 2 * PAUSE)


async def loop(url: str) -> None:
    """All tasks."""
    async with quotalock.aio.Client(url, **options()) as client:
        await asyncio.gather(*(run_on_loop(url, client, seed) for seed in range(TASKS)))


def wait_for_the_end() -> None:
    """Ends the load with the input."""
    sys.stdin.read()
    over.set()


def main() -> None:
    """Runs what the command line asks for."""
    threading.Thread(target=wait_for_the_end, daemon=True).start()
    if sys.argv[2:] == ["aio"]:
        asyncio.run(loop(sys.argv[1]))
    else:
        threads = [threading.Thread(target=run, args=(sys.argv[1], seed)) for seed in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
