"""Quotalock for asyncio: the same names as `quotalock`, with `await` in front of each call that asks Redis.

    from quotalock import aio

    client = aio.Client("redis://127.0.0.1:6379")
    checkout = client.limiter("checkout", "10/minute;100/hour")

    async def buy() -> None:
        if not await checkout.consume("user:42"):
            ...  # say 429
        async with client.lock("sku:42", wait=5.0) as lock:
            ...  # alone, for as long as lock.held

A client has one connection per running loop, made at the first call. Calls of one tick of the loop go out together;
no thread is at work but the one that acquires, renews and releases locks. Cancelling a call leaves nothing behind, but
what Redis was asked already may have been counted. The loop must watch sockets (`add_reader`): on Windows use a
`SelectorEventLoop`.
"""

from __future__ import annotations

from collections.abc import Iterable

from .._errors import (
    Closed,
    CrossSlot,
    Internal,
    InvalidArgument,
    InvalidPolicy,
    LoadFailed,
    Lost,
    NewerVersion,
    NotAcquired,
    NotPermitted,
    QuotalockError,
    RateLimited,
    Timeout,
    Unavailable,
    WrongType,
)
from .._native import (
    Claimed,
    CombinedDecision,
    Decision,
    Holder,
    Inspection,
    LedgerEntry,
    Rule,
    RuleDecision,
    Seen,
    StockPage,
    StockReservation,
    StockStatus,
    Taken,
    TakenAll,
    client_address,
    metrics,
    prometheus,
)
from . import testing as testing
from ._cache import Cache, Once
from ._client import Client
from ._limiter import Limiter, Reservation
from ._lock import Lock
from ._plain import quorum_lock
from ._stock import Stock
from ._wrapper import maybe_on_loop

__all__ = [
    "Cache",
    "Claimed",
    "Client",
    "Closed",
    "CombinedDecision",
    "CrossSlot",
    "Decision",
    "Holder",
    "Inspection",
    "Internal",
    "InvalidArgument",
    "InvalidPolicy",
    "LedgerEntry",
    "Limiter",
    "LoadFailed",
    "Lock",
    "Lost",
    "NewerVersion",
    "NotAcquired",
    "NotPermitted",
    "Once",
    "QuotalockError",
    "RateLimited",
    "Reservation",
    "Rule",
    "RuleDecision",
    "Seen",
    "Stock",
    "StockPage",
    "StockReservation",
    "StockStatus",
    "Taken",
    "TakenAll",
    "Timeout",
    "Unavailable",
    "WrongType",
    "client_address",
    "limit",
    "metrics",
    "prometheus",
    "quorum_lock",
]


async def limit(name: str, key: str | bytes | int, policy: str | Rule | Iterable[Rule], cost: int = 1) -> Decision:
    """Limits in one line, with a client of the environment's; see `quotalock.limit`."""
    answer = maybe_on_loop(_of_environment()._native._limit)(name, key, policy, cost)
    return answer if isinstance(answer, Decision) else await answer


_default: Client | None = None


def _of_environment() -> Client:
    global _default
    _default = _default or Client()
    return _default
