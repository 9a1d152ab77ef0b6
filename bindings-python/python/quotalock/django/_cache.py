"""A cache backend, on `Client.cache`."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.exceptions import ImproperlyConfigured

from .._native import Cache, Client

# Of `OPTIONS`: those of the client, and of a cache.
_OF_CLIENT = {"prefix", "timeout"}
_OF_CACHE = {"stale", "lease", "error_ttl", "when_away"}


class QuotalockCache(BaseCache):
    """A cache whose `get_or_set` and `add` load a missing value once for all callers.

    `LOCATION` is the URL. `OPTIONS` are `prefix` and `timeout` of a client, and `stale`, `lease`, `error_ttl` and
    `when_away` of a cache. What isn't promised is refused: to keep a value forever, to forget all of them, to count.
    """

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        options = dict(params.get("OPTIONS", {}))
        if unknown := set(options) - _OF_CLIENT - _OF_CACHE:
            known = ", ".join(sorted(_OF_CLIENT | _OF_CACHE))
            raise ImproperlyConfigured(f"OPTIONS has no {', '.join(sorted(unknown))}: there are {known}")
        if self.default_timeout is None:
            raise ImproperlyConfigured(f"TIMEOUT: {_FOREVER}")
        self._client = Client(location or None, **{name: options[name] for name in _OF_CLIENT & set(options)})
        self._options = {name: options[name] for name in _OF_CACHE & set(options)}
        self._of_timeout = lru_cache(maxsize=256)(self._made)
        self._any: Cache = self._made(60.0)

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:  # noqa: ANN401
        """Returns the value, or the default if there is none."""
        seen = self._any.peek(self.make_and_validate_key(key, version=version))
        return default if seen is None or seen.stale or seen.value is None else pickle.loads(seen.value)

    def set(
        self,
        key: str,
        value: Any,  # noqa: ANN401
        timeout: float | None = DEFAULT_TIMEOUT,
        version: int | None = None,
    ) -> None:
        """Stores a value for `timeout` seconds."""
        named = self.make_and_validate_key(key, version=version)
        if (seconds := self._seconds(timeout)) <= 0:
            self._any.invalidate(named)
        else:
            self._of_timeout(seconds).put(named, pickle.dumps(value, pickle.HIGHEST_PROTOCOL))

    def add(
        self,
        key: str,
        value: Any,  # noqa: ANN401
        timeout: float | None = DEFAULT_TIMEOUT,
        version: int | None = None,
    ) -> bool:
        """Stores a value if there is none; True if it did."""
        made: list[bytes] = []

        def load() -> bytes:
            made.append(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
            return made[0]

        named = self.make_and_validate_key(key, version=version)
        if (seconds := self._seconds(timeout)) <= 0:
            return self.get(key, made, version) is made
        # Never early: a value that is there stays.
        self._of_timeout(seconds, 0.0).get(named, load)
        return bool(made)

    def get_or_set(
        self,
        key: str,
        default: Any | Callable[[], Any],  # noqa: ANN401
        timeout: float | None = DEFAULT_TIMEOUT,
        version: int | None = None,
    ) -> Any:  # noqa: ANN401
        """Returns the value; if there is none, one caller makes it, and the others wait for it."""

        def load() -> bytes:
            return pickle.dumps(default() if callable(default) else default, pickle.HIGHEST_PROTOCOL)

        if (seconds := self._seconds(timeout)) <= 0:
            return super().get_or_set(key, default, timeout, version)
        value = self._of_timeout(seconds).get(self.make_and_validate_key(key, version=version), load)
        return None if value is None else pickle.loads(value)

    def delete(self, key: str, version: int | None = None) -> bool:
        """Forgets a value; True if there was one."""
        return self._any.invalidate(self.make_and_validate_key(key, version=version))

    def touch(self, key: str, timeout: float | None = None, version: int | None = None) -> bool:
        """Refuses: a value keeps the time that it was stored for."""
        raise NotImplementedError("a value keeps the time that it was stored for: set it again")

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Refuses: a cache may forget, so it is no place to count."""
        raise NotImplementedError("a cache does not count: use a limiter, or your database")

    def clear(self) -> None:
        """Refuses: finding every value means walking through all keys of a Redis that others use too."""
        raise NotImplementedError("Quotalock does not forget all values at once: change KEY_PREFIX or VERSION")

    def _seconds(self, timeout: float | None) -> float:
        if timeout is DEFAULT_TIMEOUT:
            timeout = self.default_timeout
        if timeout is None:
            raise ValueError(_FOREVER)
        return float(timeout)

    def _made(self, fresh: float, beta: float = 1.0) -> Cache:
        return self._client.cache("django", fresh=fresh, beta=beta, **self._options)


_FOREVER = "None would keep a value forever, which Quotalock does not promise: give it seconds"
