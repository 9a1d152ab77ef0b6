"""Lets Python's libraries write their keys on the server at a port, and prints the family and name of each.

It runs in the environment of bench/peers/setup.sh.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, cast

import redis
import redis_lock
from cashews import Cache
from celery import Celery
from celery_singleton import Singleton
from dramatiq.rate_limits import ConcurrentRateLimiter, WindowRateLimiter
from dramatiq.rate_limits.backends import RedisBackend
from pyrate_limiter import Duration, Limiter, Rate, RedisBucket
from walrus import Database

PORT = int(sys.argv[1])
URL = f"redis://127.0.0.1:{PORT}"
CLIENT = redis.Redis(port=PORT)
KEPT: list[Any] = []


def names() -> set[str]:
    """The names of all keys."""
    return {name.decode() for name in cast("list[bytes]", CLIENT.keys())}


def told(family: str, make: Any) -> None:
    """Prints what keys there are that were not there before."""
    before = names()
    KEPT.append(make())
    for name in sorted(names() - before):
        sys.stdout.write(f"{family} {name}\n")


def python_redis_lock() -> Any:
    lock = redis_lock.Lock(CLIENT, "nightly")
    lock.acquire()
    return lock


def pyrate() -> Any:
    limiter = Limiter(RedisBucket.init([Rate(3, Duration.MINUTE)], CLIENT, "mail:42"))
    limiter.try_acquire("user:1")
    return limiter


def dramatiq(limiter: Any) -> Any:
    entered = limiter.acquire()
    entered.__enter__()
    return entered


def walrus_lock() -> Any:
    lock = Database(port=PORT).lock("report")
    lock.acquire()
    return lock


async def cashews(what: str) -> None:
    cache = Cache()
    cache.setup(URL)

    async def view(number: int) -> int:
        return number

    limit = cache.rate_limit if what == "limited" else cache.slice_rate_limit
    await limit(limit=3, period="10m")(view)(1)
    await cache.close()


def singleton() -> Any:
    app = Celery(broker="memory://")
    app.conf.singleton_backend_url = URL

    def send(number: int) -> None: ...

    return app.task(base=Singleton, name="mail.send")(send).apply_async((1,))


def main() -> None:
    """Lets each write."""
    backend = RedisBackend(client=CLIENT)
    told("python-redis-lock", python_redis_lock)
    told("redis-py-lock", lambda: CLIENT.lock("nightly").acquire())
    told("pyrate-limiter", pyrate)
    told("dramatiq", lambda: dramatiq(WindowRateLimiter(backend, "window", limit=3, window=60)))
    told("counter", lambda: dramatiq(ConcurrentRateLimiter(backend, "distributed-mutex", limit=1)))
    told("walrus-lock", walrus_lock)
    told("walrus-limiter", lambda: Database(port=PORT).rate_limit("api", limit=3, per=60).limit("user:1"))
    told("cashews", lambda: asyncio.run(cashews("limited")))
    told("cashews", lambda: asyncio.run(cashews("sliced")))
    told("job-lock", singleton)


if __name__ == "__main__":
    main()
