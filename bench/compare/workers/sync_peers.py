"""Python's libraries that block, each by its own public API in its fastest sensible setting.

To add one: a function that takes the task and returns what makes a call for a key, and what reads from its answer
whether it was admitted; then a line in `LIMITERS`, and one in `peers.py`. A lock is what acquires a key without
waiting and returns a handle, or none, and what releases it.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from time import time_ns
from typing import Any

from compare.workers.common import ARTICLE, DAY, PREFETCH, Calls, Task


def quotalock(task: Task) -> Calls:
    import quotalock

    url = "memory://" if task.client == "quotalock-memory" else task.url
    client = quotalock.Client(url, prefix=task.prefix, timeout=5.0)
    prefetch = min(PREFETCH, task.limit) if task.client == "quotalock-lease" else None
    return client.limiter("compare", f"{task.limit}/day", prefetch=prefetch).consume, attrgetter("allowed")


def redis_py(task: Task) -> Calls:
    import redis

    client = redis.Redis(port=task.port)
    evalsha, sha, argv = client.evalsha, str(client.script_load(ARTICLE)), (task.limit, DAY * 1000)
    prefix = task.key("")
    return lambda key: evalsha(sha, 1, prefix + key, *argv), bool


def glide(task: Task) -> Calls:
    from glide_sync import GlideClient, GlideClientConfiguration, NodeAddress, Script

    # The default is 250 ms.
    config = GlideClientConfiguration([NodeAddress("127.0.0.1", task.port)], request_timeout=5000)
    client = GlideClient.create(config)
    invoke, script, args = client.invoke_script, Script(ARTICLE), [str(task.limit), str(DAY * 1000)]
    prefix = task.key("")
    return lambda key: invoke(script, keys=[prefix + key], args=args), bool


def limits(task: Task) -> Calls:
    from limits import RateLimitItemPerDay
    from limits.storage import storage_from_string
    from limits.strategies import FixedWindowRateLimiter

    url = "memory://" if task.client == "limits-memory" else task.url
    hit, item = FixedWindowRateLimiter(storage_from_string(url)).hit, RateLimitItemPerDay(task.limit)
    prefix = task.prefix
    return lambda key: hit(item, prefix, key), bool


def throttled(task: Task) -> Calls:
    from throttled import RateLimiterType, Throttled, per_day
    from throttled.store import MemoryStore, RedisStore

    memory = task.client == "throttled-memory"
    # The store in memory forgets all but the keys that were used last.
    store = MemoryStore(options={"MAX_SIZE": 1_000_000}) if memory else RedisStore(server=task.url)
    kind, quota = RateLimiterType.FIXED_WINDOW.value, per_day(task.limit)
    limit = Throttled(using=kind, quota=quota, store=store, key_prefix=task.prefix).limit
    return limit, lambda result: not result.limited


def pyrate(task: Task) -> Calls:
    from pyrate_limiter import BucketFactory, Duration, InMemoryBucket, Limiter, Rate, RateItem, RedisBucket
    from redis import Redis

    rates = [Rate(task.limit, Duration.DAY)]
    make: Callable[[str], Any]
    if task.client == "pyrate-memory":
        make = lambda key: InMemoryBucket(rates)  # noqa: E731
    else:
        redis = Redis(port=task.port)
        first = RedisBucket.init(rates, redis, task.key(""))
        make = lambda key: RedisBucket(rates, redis, task.key(key), first.script_hash)  # noqa: E731

    class PerKey(BucketFactory):
        """A bucket for each key, as the project's guide shows."""

        def __init__(self) -> None:
            self.buckets: dict[str, Any] = {}

        def wrap_item(self, name: str, weight: int = 1) -> Any:
            return RateItem(name, time_ns() // 1_000_000, weight=weight)

        def get(self, item: Any) -> Any:
            bucket = self.buckets.get(item.name)
            if bucket is None:
                bucket = self.buckets[item.name] = make(item.name)
            return bucket

    acquire = Limiter(PerKey()).try_acquire
    return lambda key: acquire(key, blocking=False), bool


Lock = tuple[Callable[[str], Any], Callable[[Any], Any]]


def quotalock_lock(task: Task) -> Lock:
    import quotalock

    client = quotalock.Client(task.url, prefix=task.prefix, timeout=5.0)

    def acquire(key: str) -> Any:
        lock = client.lock(key, ttl=30.0)
        return lock if lock.acquire() else None

    return acquire, lambda lock: lock.release()


def redis_py_lock(task: Task) -> Lock:
    import redis

    client = redis.Redis(port=task.port)

    def acquire(key: str) -> Any:
        lock = client.lock(task.key(key), timeout=30.0, thread_local=False)
        return lock if lock.acquire(blocking=False) else None

    return acquire, lambda lock: lock.release()


LIMITERS: dict[str, tuple[Callable[[Task], Calls], tuple[str, ...]]] = {
    "quotalock": (quotalock, ("quotalock",)),
    "quotalock-memory": (quotalock, ("quotalock",)),
    "quotalock-lease": (quotalock, ("quotalock",)),
    "redis-py": (redis_py, ("redis", "hiredis")),
    "glide": (glide, ("valkey-glide-sync",)),
    "limits": (limits, ("limits", "redis", "hiredis")),
    "limits-memory": (limits, ("limits",)),
    "throttled": (throttled, ("throttled-py", "redis", "hiredis")),
    "throttled-memory": (throttled, ("throttled-py",)),
    "pyrate": (pyrate, ("pyrate-limiter", "redis", "hiredis")),
    "pyrate-memory": (pyrate, ("pyrate-limiter",)),
}
LOCKS: dict[str, tuple[Callable[[Task], Lock], tuple[str, ...]]] = {
    "quotalock": (quotalock_lock, ("quotalock",)),
    "redis-py": (redis_py_lock, ("redis", "hiredis")),
}
