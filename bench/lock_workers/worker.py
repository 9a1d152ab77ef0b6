"""A Python process of `bench/locks.py`: `worker.py TASK CLIENT PORT NUMBER`. Prints one line of JSON."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

NAME, HOLD, PATIENCE = "sku:42", 0.002, 30.0
COMPARE_AND_DELETE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"


def ours(port: int, **options: Any) -> Any:
    import quotalock

    return quotalock.Client(f"redis://127.0.0.1:{port}", timeout=5.0).lock(NAME, **options)


def redis_lock(port: int, ttl: float) -> Any:
    import redis

    return redis.Redis(port=port).lock(f"peer:{NAME}", timeout=ttl, thread_local=False)


class Poll:
    """What is written by hand: SET NX PX, and 5 to 50 ms between two tries."""

    def __init__(self, port: int) -> None:
        import redis

        redis_client = redis.Redis(port=port)
        self._set, self._token = redis_client.set, os.urandom(16)
        self._delete = redis_client.register_script(COMPARE_AND_DELETE)
        self._take = redis_client.register_script(
            "return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', 30000) and 1 or 0"
        )

    def acquire(self) -> None:
        while not self._take(keys=[f"poll:{NAME}"], args=[self._token]):
            time.sleep(random.uniform(0.005, 0.05))

    def release(self) -> None:
        self._delete(keys=[f"poll:{NAME}"], args=[self._token])


def contend(client: str, port: int, seconds: float) -> dict[str, Any]:
    """Takes the lock again and again; how long each wait was."""
    lock: Any
    acquire: Callable[[], object]
    if client == "poll":
        lock = Poll(port)
        acquire = lock.acquire
    else:
        lock = ours(port, ttl=30.0, fair=client == "fair")
        acquire = partial(lock.acquire, wait=PATIENCE)
    waits = []
    sys.stdin.readline()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.monotonic()
        if acquire() is False:
            raise SystemExit("not acquired")
        waits.append(time.monotonic() - begun)
        time.sleep(HOLD)
        lock.release()
    return {"waits": waits}


def pair(client: str, port: int, count: int) -> dict[str, Any]:
    """Acquires and releases a free lock; what a pair takes."""
    lock = ours(port, ttl=30.0) if client == "ours" else redis_lock(port, 30.0)
    acquire = lock.acquire if client == "ours" else lambda: lock.acquire(blocking=False)
    took = []
    for _ in range(count):
        begun = time.perf_counter()
        if not acquire():
            raise SystemExit("not acquired")
        lock.release()
        took.append(time.perf_counter() - begun)
    return {"seconds": sorted(took)[count // 2]}


def line(port: int, waiters: int) -> dict[str, Any]:
    """So many waiters in one loop, twice each."""
    from quotalock import aio

    async def run() -> None:
        client = aio.Client(f"redis://127.0.0.1:{port}", timeout=5.0)

        async def one() -> None:
            for _ in range(2):
                async with client.lock(NAME, ttl=30.0, wait=PATIENCE):
                    await asyncio.sleep(HOLD)

        await asyncio.gather(*(one() for _ in range(waiters)))
        await client.close()

    asyncio.run(run())
    return {"acquired": 2 * waiters}


def frozen(client: str, port: int, ttl: float) -> dict[str, Any]:
    """Holds, is stopped past its ttl by whoever started it, and tells when and how it noticed."""
    lock = ours(port, ttl=ttl) if client == "ours" else redis_lock(port, ttl)
    if not lock.acquire():
        raise SystemExit("not acquired")
    print(json.dumps({"held": True}), flush=True)
    sys.stdin.readline()
    begun = time.monotonic()
    if client == "ours":
        told = lock.lost.wait(ttl)
        return {"told": told, "after": time.monotonic() - begun, "how": "`lock.lost` is set"}
    time.sleep(ttl)
    try:
        lock.release()
    except Exception as error:
        return {"told": False, "after": None, "how": f"no notice; `release` raises {type(error).__name__}"}
    return {"told": False, "after": None, "how": "never"}


def main() -> None:
    task, client, port, number = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    tasks: dict[str, Callable[[], dict[str, Any]]] = {
        "contend": lambda: contend(client, port, number),
        "pair": lambda: pair(client, port, int(number)),
        "line": lambda: line(port, int(number)),
        "frozen": lambda: frozen(client, port, number),
    }
    print(json.dumps(tasks[task]()), flush=True)


if __name__ == "__main__":
    main()
