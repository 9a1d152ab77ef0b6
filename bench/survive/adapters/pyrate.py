"""PyrateLimiter with its Redis bucket."""

from __future__ import annotations

from importlib.metadata import version

import redis
from kit import Adapter, serve
from pyrate_limiter import Limiter, Rate, RedisBucket


class Pyrate(Adapter):
    name = "PyrateLimiter"
    version = version("pyrate-limiter")

    def __init__(self, url: str, timeout: float) -> None:
        self._redis = redis.Redis.from_url(url, socket_timeout=timeout, socket_connect_timeout=timeout)
        self._limiters: dict[tuple[str, int, int], Limiter] = {}

    def consume(self, key: str, limit: int, seconds: int, request: str) -> bool:
        named = (key, limit, seconds)
        if named not in self._limiters:
            # A bucket is one key of Redis.
            bucket = RedisBucket.init([Rate(limit, seconds * 1000)], self._redis, key)
            self._limiters[named] = Limiter(bucket)
        return bool(self._limiters[named].try_acquire(key, blocking=False))


serve(Pyrate)
