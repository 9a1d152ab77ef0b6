"""A decision for what a test doubles."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ._clock import Clock
from ._native import Client, Decision

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._native import Rule, _OnError

# Where nobody listens.
_AWAY = "unix:///nonexistent/quotalock.sock"
_numbers = itertools.count()


def decision(
    policy: str | Rule | Iterable[Rule] = "10/minute",
    used: int = 0,
    cost: int = 1,
    name: str = "test",
    key: str | bytes | int = "test",
    on_error: _OnError | None = None,
) -> Decision:
    """A decision such as `Limiter.consume` returns. `used`, at most the limit, was consumed before.

    With `on_error` it is that of a client which says so, while Redis is away.

        denied = testing.decision("10/minute", used=10)
        denied.headers()["Retry-After"]
    """
    url = f"memory://of-a-decision-{next(_numbers)}" if on_error is None else _AWAY
    with Client(url, on_error=on_error or "raise") as client:
        Clock(client)
        limiter = client.limiter(name, policy)
        if used and on_error is None:
            limiter.require(key, used)
        return limiter.consume(key, cost)
