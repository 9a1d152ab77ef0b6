"""Quotalock in Python."""

from __future__ import annotations

from collections.abc import Callable

import quotalock
from kit import Adapter, serve


class Quotalock(Adapter):
    name = "Quotalock (Python)"
    version = quotalock.__version__

    def __init__(self, url: str, timeout: float) -> None:
        self._client = quotalock.Client(url, timeout=timeout)
        self._pages = self._client.cache("pages", fresh=60.0)

    def consume(self, key: str, limit: int, seconds: int, request: str) -> bool:
        limiter = self._client.limiter("survive", quotalock.Rule(limit, seconds))
        return limiter.consume(key, request_id=request).allowed

    def acquire(self, name: str, seconds: float) -> quotalock.Lock | None:
        lock = self._client.lock(name, ttl=seconds)
        return lock if lock.acquire() else None

    def token(self, lock: quotalock.Lock) -> int | None:
        return lock.token

    def held(self, lock: quotalock.Lock) -> bool:
        return lock.held

    def told(self, lock: quotalock.Lock) -> str | None:
        return "`lost` is set" if lock.lost.is_set() else None

    def release(self, lock: quotalock.Lock) -> bool:
        return lock.release()

    def read(self, key: str, seconds: int, load: Callable[[], str]) -> object:
        return self._pages.get(key, load)


serve(Quotalock)
