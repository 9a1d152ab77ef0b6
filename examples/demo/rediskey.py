"""A look at one key from outside, as an engineer would with redis-cli."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType

import redis

NO_TTL = -1
NO_KEY = -2


@dataclass(frozen=True)
class Look:
    """A key at one moment: its value (None without a key) and PTTL in milliseconds (-1 no TTL, -2 no key)."""

    value: bytes | None
    ttl_ms: int

    @property
    def is_immortal(self) -> bool:
        """Whether the key is there and will never expire."""
        return self.ttl_ms == NO_TTL

    @property
    def is_dead(self) -> bool:
        """Whether the broken limiter refuses for ever: immortal, and below zero, from where DECR never comes back."""
        return self.is_immortal and self.value is not None and self.value.startswith(b"-")

    def describe_value(self) -> str:
        """Shows a number as it is, and our state, which is binary, by its size."""
        if self.value is None:
            return "no key"
        text = self.value.decode("ascii", "replace")
        return text if text.lstrip("-").isdigit() else f"{len(self.value)} bytes"

    def describe_ttl(self) -> str:
        """Shows the TTL, or that there is none."""
        return {NO_KEY: "-", NO_TTL: "none"}.get(self.ttl_ms, f"{self.ttl_ms} ms")


class RedisKey:
    """Looks at one key, whenever asked, over a connection of its own."""

    def __init__(self, port: int, key: bytes) -> None:
        self._redis, self._key = redis.Redis(port=port, socket_timeout=10), key

    def look(self) -> Look:
        """Reads value and TTL in one transaction, so that they belong together."""
        with self._redis.pipeline() as both:
            both.get(self._key)
            both.pttl(self._key)
            value, ttl_ms = both.execute()
        return Look(value, ttl_ms)

    def __enter__(self) -> RedisKey:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._redis.close()
