"""A limiter, a lock and a cache as they are often written by hand, each with classic faults: an adapter to look at, and
what the tests of the suite expect it to find."""

from __future__ import annotations

import os
from collections.abc import Callable

import redis
from kit import Adapter, serve


class ByHand(Adapter):
    name = "by hand"
    version = "1"

    def __init__(self, url: str, timeout: float) -> None:
        self._redis = redis.Redis.from_url(url, socket_timeout=timeout, decode_responses=True)

    def consume(self, key: str, limit: int, seconds: int, request: str) -> bool:
        count = int(self._redis.incr(key))
        if count == 1:
            self._redis.expire(key, seconds)
        return count <= limit

    def acquire(self, name: str, seconds: float) -> str | None:
        if not self._redis.set(name, os.urandom(16).hex(), nx=True, px=int(seconds * 1000)):
            return None
        return name

    def token(self, lock: str) -> int:
        return int(self._redis.incr(f"{lock}:token"))

    def held(self, lock: str) -> bool:
        return True

    def release(self, lock: str) -> bool:
        return bool(self._redis.delete(lock))

    def read(self, key: str, seconds: int, load: Callable[[], str]) -> object:
        value = self._redis.get(key)
        if value is None:
            value = load()
            self._redis.set(key, value, ex=seconds)
        return value


serve(ByHand)
