"""The lock of redis-py. Its lease must be asked for: without `timeout` a lock has none."""

from __future__ import annotations

import redis
from kit import Adapter, serve
from redis.exceptions import LockError
from redis.lock import Lock


class RedisPy(Adapter):
    name = "redis-py Lock"
    version = redis.__version__

    def __init__(self, url: str, timeout: float) -> None:
        self._redis = redis.Redis.from_url(url, socket_timeout=timeout, socket_connect_timeout=timeout)

    def acquire(self, name: str, seconds: float) -> Lock | None:
        lock = self._redis.lock(name, timeout=seconds)
        return lock if lock.acquire(blocking=False) else None

    def held(self, lock: Lock) -> bool:
        return bool(lock.owned())

    def release(self, lock: Lock) -> bool:
        try:
            lock.release()
        except LockError:
            return False
        return True


serve(RedisPy)
