"""`limits` with its fixed window, which Flask-Limiter and slowapi take unless told otherwise."""

from __future__ import annotations

import limits
from kit import Adapter, serve
from limits.storage import storage_from_string
from limits.strategies import FixedWindowRateLimiter


class Limits(Adapter):
    name = "limits"
    version = limits.__version__

    def __init__(self, url: str, timeout: float) -> None:
        storage = storage_from_string(url, socket_timeout=timeout, socket_connect_timeout=timeout)
        self._limiter = FixedWindowRateLimiter(storage)

    def consume(self, key: str, limit: int, seconds: int, request: str) -> bool:
        return self._limiter.hit(limits.RateLimitItemPerSecond(limit, seconds), key)


serve(Limits)
