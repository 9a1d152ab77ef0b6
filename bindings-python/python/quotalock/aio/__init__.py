"""Quotalock for asyncio: the same names as `quotalock`, with `await` in front of what asks Redis.

    from quotalock import aio

    client = aio.Client("redis://127.0.0.1:6379")
    checkout = client.limiter("checkout", "10/minute;100/hour")

    async def buy() -> None:
        if not await checkout.consume("user:42"):
            ...  # say 429

A client has one connection per running loop, made at the first call. Calls of one tick of the loop go out together;
no thread is at work. Cancelling a call leaves nothing behind, but what Redis was asked already may have been counted.
The loop must watch sockets (`add_reader`): on Windows use a `SelectorEventLoop`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING

from .. import _native
from .._errors import (
    Closed,
    CrossSlot,
    Internal,
    InvalidArgument,
    InvalidPolicy,
    Lost,
    NotAcquired,
    NotPermitted,
    QuotalockError,
    RateLimited,
    Timeout,
    Unavailable,
    WrongType,
)
from .._native import Decision, Rule, RuleDecision

if TYPE_CHECKING:
    from .._native import _LoopClient, _LoopLimiter

__all__ = [
    "Client",
    "Closed",
    "CrossSlot",
    "Decision",
    "Internal",
    "InvalidArgument",
    "InvalidPolicy",
    "Limiter",
    "Lost",
    "NotAcquired",
    "NotPermitted",
    "QuotalockError",
    "RateLimited",
    "Rule",
    "RuleDecision",
    "Timeout",
    "Unavailable",
    "WrongType",
    "limit",
]


class Client:
    """A client of one Redis, or of this process' memory; see `quotalock.Client`. Loops and threads may share it."""

    __slots__ = ("__weakref__", "_native")
    _native: _LoopClient

    def __init__(
        self, url: str | None = None, prefix: str = "ql", timeout: float = 0.5, on_error: str = "raise"
    ) -> None:
        self._native = _native.Client(url, prefix, timeout, on_error)._for_loops()

    def limiter(self, name: str, policy: str | Rule | Iterable[Rule]) -> Limiter:
        """Makes a limiter; see `quotalock.Client.limiter`."""
        return Limiter._of(self._native.limiter(name, policy))

    async def close(self) -> None:
        """Closes the connections. Calls under way and later ones raise `Closed`; closing twice does nothing."""
        self._native.close()
        # The running loop stops watching the connection in its next tick.
        await asyncio.sleep(0)

    @property
    def server(self) -> str:
        """The host and port, socket path or `memory://`; never a password."""
        return self._native.server

    @property
    def prefix(self) -> str:
        """What every Redis key starts with."""
        return self._native.prefix

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return repr(self._native).replace("quotalock.Client", "quotalock.aio.Client", 1)


class Limiter:
    """Decides for keys by one policy; made by `Client.limiter`. The methods are those of `quotalock.Limiter`."""

    __slots__ = ("__weakref__", "_native")
    _native: _LoopLimiter

    def __init__(self) -> None:
        raise TypeError("a limiter is made by Client.limiter")

    @classmethod
    def _of(cls, native: _LoopLimiter) -> Limiter:
        self = cls.__new__(cls)
        self._native = native
        return self

    @property
    def name(self) -> str:
        """The name given."""
        return self._native.name

    @property
    def policy(self) -> str:
        """The policy in its canonical form."""
        return self._native.policy

    async def consume(self, key: str | bytes, cost: int = 1) -> Decision:
        """Charges `cost` to every rule if all admit it, else to none."""
        return await self._native.consume(key, cost)

    async def peek(self, key: str | bytes, cost: int = 1) -> Decision:
        """Tells what `consume` would answer, and never writes."""
        return await self._native.peek(key, cost)

    async def require(self, key: str | bytes, cost: int = 1) -> Decision:
        """As `consume`, but a denial raises `RateLimited`, which carries the decision."""
        return await self._native.require(key, cost)

    async def wait(self, key: str | bytes, timeout: float, cost: int = 1) -> Decision:
        """As `consume`, and after a denial sleeps as `retry_after` says and tries again, for at most `timeout` seconds.

        Ends with a denial at once when the next chance lies behind the timeout.
        """
        return await self._native.wait(key, timeout, cost)

    async def refund(self, key: str | bytes, amount: int) -> Decision:
        """Gives back `amount` of what was consumed, and answers what a peek right after it would."""
        return await self._native.refund(key, amount)

    async def block(self, key: str | bytes, duration: float) -> Decision:
        """Denies everything for `duration` seconds, and answers what a peek right after it would."""
        return await self._native.block(key, duration)

    async def reset(self, key: str | bytes) -> bool:
        """Forgets everything about `key`, a block included; True if there was anything."""
        return await self._native.reset(key)

    def redis_key(self, key: str | bytes) -> bytes:
        """The Redis key that holds the state of `key`."""
        return self._native.redis_key(key)

    def __repr__(self) -> str:
        return repr(self._native).replace("quotalock.Limiter", "quotalock.aio.Limiter", 1)


async def limit(name: str, key: str | bytes, policy: str | Rule | Iterable[Rule], cost: int = 1) -> Decision:
    """Limits in one line, with a client of the environment's; see `quotalock.limit`."""
    return await _of_environment()._native._limit(name, key, policy, cost)


_default: Client | None = None


def _of_environment() -> Client:
    global _default
    _default = _default or Client()
    return _default
