"""Python's libraries for asyncio; see `sync_peers.py` for how to add one. Here a call returns what is awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from operator import attrgetter
from typing import Any

from compare.workers.common import ARTICLE, DAY, PREFETCH, Calls, Task

# Who opens a thousand connections at once waits for some of them.
PATIENT: dict[str, Any] = {"socket_connect_timeout": 60, "socket_timeout": 60}


async def quotalock(task: Task) -> Calls:
    from quotalock import aio

    client = aio.Client(task.url, prefix=task.prefix, timeout=5.0)
    prefetch = min(PREFETCH, task.limit) if task.client == "quotalock-lease" else None
    return client.limiter("compare", f"{task.limit}/day", prefetch=prefetch).consume, attrgetter("allowed")


async def redis_asyncio(task: Task) -> Calls:
    from redis import asyncio as redis

    # Its pool ends at 100 connections and then raises.
    client = redis.Redis(port=task.port, max_connections=max(100, task.lanes), **PATIENT)
    loaded = await client.script_load(ARTICLE)
    sha = loaded.decode() if isinstance(loaded, bytes) else str(loaded)
    evalsha, argv, prefix = client.evalsha, (task.limit, DAY * 1000), task.key("")
    return lambda key: evalsha(sha, 1, prefix + key, *argv), bool


async def glide(task: Task) -> Calls:
    from glide import GlideClient, GlideClientConfiguration, NodeAddress, Script

    # The default allows fewer than 1,000 in flight, and 250 ms.
    config = GlideClientConfiguration(
        [NodeAddress("127.0.0.1", task.port)], inflight_requests_limit=max(1000, 2 * task.lanes), request_timeout=5000
    )
    invoke, script = (await GlideClient.create(config)).invoke_script, Script(ARTICLE)
    args, prefix = [str(task.limit), str(DAY * 1000)], task.key("")
    return lambda key: invoke(script, keys=[prefix + key], args=args), bool


async def limits(task: Task) -> Calls:
    from limits import RateLimitItemPerDay
    from limits.aio.strategies import FixedWindowRateLimiter
    from limits.storage import storage_from_string

    # Of the clients it can use the one that is faster here.
    url, most = f"async+{task.url}", max(100, task.lanes)
    storage = storage_from_string(url, implementation="redispy", max_connections=most, **PATIENT)
    hit, item = FixedWindowRateLimiter(storage).hit, RateLimitItemPerDay(task.limit)
    prefix = task.prefix
    return lambda key: hit(item, prefix, key), bool


async def throttled(task: Task) -> Calls:
    from throttled.asyncio import RateLimiterType, Throttled, per_day, store

    kept = store.RedisStore(server=task.url, options={"CONNECTION_POOL_KWARGS": {"max_connections": 2000, **PATIENT}})
    kind, quota = RateLimiterType.FIXED_WINDOW.value, per_day(task.limit)
    limit = Throttled(using=kind, quota=quota, store=kept, key_prefix=task.prefix).limit
    return limit, lambda result: not result.limited


LIMITERS: dict[str, tuple[Callable[[Task], Awaitable[Calls]], tuple[str, ...]]] = {
    "quotalock": (quotalock, ("quotalock",)),
    "quotalock-lease": (quotalock, ("quotalock",)),
    "redis-asyncio": (redis_asyncio, ("redis", "hiredis")),
    "glide": (glide, ("valkey-glide",)),
    "limits": (limits, ("limits", "redis", "hiredis")),
    "throttled": (throttled, ("throttled-py", "redis", "hiredis")),
}
