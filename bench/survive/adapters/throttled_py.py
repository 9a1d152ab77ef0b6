"""throttled-py with its token bucket, which it takes unless told otherwise."""

from __future__ import annotations

from datetime import timedelta

import throttled
from kit import Adapter, serve


class ThrottledPy(Adapter):
    name = "throttled-py"
    version = throttled.__version__

    def __init__(self, url: str, timeout: float) -> None:
        options = {"SOCKET_TIMEOUT": timeout, "SOCKET_CONNECT_TIMEOUT": timeout}
        self._store = throttled.RedisStore(server=url, options=options)

    def consume(self, key: str, limit: int, seconds: int, request: str) -> bool:
        quota = throttled.per_duration(timedelta(seconds=seconds), limit, limit)
        return not throttled.Throttled(quota=quota, store=self._store).limit(key).limited


serve(ThrottledPy)
