"""A storage for the package `limits`, and so for flask-limiter and slowapi: `quotalock://` instead of `redis://`.

    import quotalock.limits  # makes the URL known
    from flask_limiter import Limiter

    limiter = Limiter(get_remote_address, app=app, storage_uri="quotalock://127.0.0.1:6379")

The rest of the application stays as it is. A count can't lose its end any more, and Redis keys of Quotalock's own stand
beside those that `limits` had. What `limits` decides by itself stays too: one call for each limit of a request, and a
fixed window that counts refused requests. `quotalock.flask` and `quotalock.fastapi` decide once for all limits.

Which URLs there are says `URLS`. Options are those of `quotalock.Client`: `prefix`, `timeout` and `on_error`.
"""

from __future__ import annotations

import hashlib
import math
import time
from functools import lru_cache
from typing import Literal

from ._require import require

require("limits", "5.0", "limits")

from limits.storage.base import MovingWindowSupport, SlidingWindowCounterSupport, Storage

from ._errors import NewerVersion, NotPermitted, QuotalockError, Timeout, Unavailable, WrongType
from ._native import Client, Decision, Limiter
from ._whom import LONGEST

__all__ = ["URLS", "QuotalockStorage"]

# What a URL begins with, and what Quotalock's own begins with. Without a host `quotalock://` is as `Client()`.
URLS = {
    "quotalock": "redis",
    "quotalock+tls": "rediss",
    "quotalock+unix": "unix",
    "quotalock+cluster": "redis+cluster",
    "quotalock+cluster+tls": "rediss+cluster",
    "quotalock+sentinel": "redis+sentinel",
    "quotalock+sentinel+tls": "rediss+sentinel",
    "quotalock+memory": "memory",
}

# A count that has no limit: `limits` compares it with one of its own, which it does not tell.
_UNLIMITED = 2**52
# A fixed window that is looked at with a longer period keeps its end, and looking is not told the period.
_LONGEST = "36500 days"


def own_url(uri: str) -> str | None:
    """Quotalock's URL for one of `limits`; None for that of the environment."""
    scheme, _, rest = uri.removeprefix("async+").partition("://")
    return f"{URLS[scheme]}://{rest}" if rest or scheme != "quotalock" else None


class QuotalockStorage(Storage, MovingWindowSupport, SlidingWindowCounterSupport):
    """Keeps the counts of `limits` in Quotalock. By the strategy `sliding-window-counter` its windows begin with the
    clock's, and a part of a request that has not left a window yet counts as a whole one."""

    STORAGE_SCHEME = list(URLS)  # noqa: RUF012, by their contract

    def __init__(
        self,
        uri: str = "quotalock://",
        wrap_exceptions: bool = False,
        prefix: str = "ql",
        timeout: float = 0.5,
        on_error: Literal["raise", "open", "closed", "local"] = "raise",
    ) -> None:
        super().__init__(uri, wrap_exceptions=wrap_exceptions)
        # By this name flask-limiter's command line shows it.
        self.storage = Client(own_url(uri), prefix=prefix, timeout=float(timeout), on_error=on_error)
        self._limiter = lru_cache(maxsize=1024)(self.storage.limiter)
        self._counts = self.storage.limiter("limits:count", f"fixed-window {_UNLIMITED}/{_LONGEST}")

    @property
    def base_exceptions(self) -> type[Exception] | tuple[type[Exception], ...]:
        """What a call raises when Redis can't answer, or refuses."""
        return (Unavailable, Timeout, NotPermitted, WrongType, NewerVersion)

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Counts, in a window of `expiry` seconds that the first count opens, and returns the count."""
        return _used(self._limiter("limits:count", f"fixed-window {_UNLIMITED}/{expiry}s").consume(_key(key), amount))

    def get(self, key: str) -> int:
        """Returns the count."""
        return _used(self._counts.peek(_key(key), 0))

    def get_expiry(self, key: str) -> float:
        """Returns when the window of the count ends; now if there is none."""
        return time.time() + self._counts.peek(_key(key), 0).reset_after

    def check(self) -> bool:
        """Whether Redis answers."""
        try:
            return self._counts.peek("check", 0).source in ("redis", "memory")
        except QuotalockError:
            return False

    def reset(self) -> int | None:
        """Refuses: finding every count means walking through all keys of a Redis that others use too."""
        raise NotImplementedError("Quotalock does not forget all keys at once: clear those that you know")

    def clear(self, key: str) -> None:
        """Forgets what was counted for a key, by whichever strategy."""
        self._counts.reset(_key(key))
        self._limiter("limits:log", f"sliding-log 1/{_LONGEST}").reset(_key(key))

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Takes `amount` of what is left of `limit` in any `expiry` seconds."""
        return self._log(limit, expiry).consume(_key(key), amount).allowed

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        """Returns when the oldest entry was taken, and how many there are."""
        log = self._log(limit, expiry)
        remaining = log.peek(_key(key), 0).remaining
        if remaining >= limit:
            return time.time(), 0
        # One more than is left gets in as soon as the oldest entry leaves.
        frees_in = log.peek(_key(key), remaining + 1).retry_after or 0.0
        return time.time() + frees_in - expiry, limit - remaining

    def acquire_sliding_window_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Takes `amount` of what is left of `limit` by the weighted count of two windows."""
        return self._window(limit, expiry).consume(_key(key), amount).allowed

    def get_sliding_window(self, key: str, expiry: int) -> tuple[int, float, int, float]:
        """Returns the weighted count as that of the current window, and as its end when the count falls next."""
        window = self._window(_UNLIMITED, expiry)
        remaining = window.peek(_key(key), 0).remaining
        if remaining >= _UNLIMITED:
            return 0, 0.0, 0, 0.0
        # `limits` takes the rest of a division by the expiry.
        falls_in = min(window.peek(_key(key), remaining + 1).retry_after or 0.0, math.nextafter(expiry, 0.0))
        return 0, 0.0, _UNLIMITED - remaining, falls_in

    def clear_sliding_window(self, key: str, expiry: int) -> None:
        """Forgets what was counted for a key by the weighted count."""
        self._window(1, expiry).reset(_key(key))

    def _log(self, limit: int, expiry: int) -> Limiter:
        return self._limiter("limits:log", f"sliding-log {limit}/{expiry}s")

    def _window(self, limit: int, expiry: int) -> Limiter:
        return self._limiter("limits:window", f"sliding-window {limit}/{expiry}s")


def _key(key: str) -> bytes:
    """A key of `limits` for the core. What clients send may be part of it, and `limits` knows no answer but an error: a
    key over the core's bound is counted by its digest."""
    given = key.encode("utf-8", "surrogatepass")
    return given if len(given) <= LONGEST else hashlib.blake2b(given, digest_size=32).hexdigest().encode()


def _used(decision: Decision) -> int:
    return _UNLIMITED - decision.remaining
