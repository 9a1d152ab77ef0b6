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
    LoadFailed,
    Lost,
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
)
from . import testing as testing
from ._cache import Cache, Once
from ._limiter import Limiter, Reservation
from ._lock import Lock
from ._stock import Stock

if TYPE_CHECKING:
    from ._futures import LoopClient

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
    "limit",
    "quorum_lock",
]


class Client:
    """A client of one Redis, or of this process' memory; see `quotalock.Client`. Loops and threads may share it."""

    __slots__ = ("__weakref__", "_native")
    _native: LoopClient

    def __init__(
        self,
        url: str | None = None,
        prefix: str = "ql",
        timeout: float = 0.5,
        on_error: str = "raise",
        request_memory: float = 60.0,
    ) -> None:
        self._native = _native.Client(url, prefix, timeout, on_error, request_memory)._for_loops()

    def limiter(
        self,
        name: str,
        policy: str | Rule | Iterable[Rule],
        scope: str | bytes | None = None,
        enforce: bool = True,
    ) -> Limiter:
        """Makes a limiter; see `quotalock.Client.limiter`."""
        return Limiter._of(self._native.limiter(name, policy, scope, enforce))

    async def consume_all(
        self,
        charges: Iterable[tuple[Limiter, str | bytes] | tuple[Limiter, str | bytes, int]],
        request_id: str | bytes | None = None,
    ) -> CombinedDecision:
        """Charges several keys if all of them admit it, else none; see `quotalock.Client.consume_all`."""
        return await self._native.consume_all(charges, request_id)

    def lock(
        self,
        name: str | bytes,
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3600.0,
        floor: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
        cancel_on_loss: bool = False,
    ) -> Lock:
        """Makes a handle for a mutex; see `quotalock.Client.lock`. Asks nobody, so it is not awaited.

        With `cancel_on_loss` the task inside `async with` is cancelled when the lock is lost, and leaves the block with
        `Lost`, as it leaves `asyncio.timeout` with `TimeoutError`.
        """
        native = self._native.lock(name, ttl, wait, fair, renew, max_hold, floor, label, replicas_ack, ack_timeout)
        return Lock._of(native, cancel_on_loss)

    def lock_all(
        self,
        names: Iterable[str | bytes],
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3600.0,
        floor: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
        cancel_on_loss: bool = False,
    ) -> Lock:
        """Makes a handle for several mutexes, granted all or none; see `quotalock.Client.lock_all`."""
        native = self._native.lock_all(names, ttl, wait, fair, renew, max_hold, floor, label, replicas_ack, ack_timeout)
        return Lock._of(native, cancel_on_loss)

    def semaphore(
        self,
        name: str | bytes,
        permits: int,
        weight: int = 1,
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3600.0,
        floor: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
        cancel_on_loss: bool = False,
    ) -> Lock:
        """Makes a handle for `weight` of a semaphore's `permits`; see `quotalock.Client.semaphore`."""
        native = self._native.semaphore(
            name, permits, weight, ttl, wait, fair, renew, max_hold, floor, label, replicas_ack, ack_timeout
        )
        return Lock._of(native, cancel_on_loss)

    def read_lock(
        self,
        name: str | bytes,
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3600.0,
        floor: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
        cancel_on_loss: bool = False,
    ) -> Lock:
        """Makes a handle for the reading side of a read-write lock; see `quotalock.Client.read_lock`."""
        native = self._native.read_lock(name, ttl, wait, fair, renew, max_hold, floor, label, replicas_ack, ack_timeout)
        return Lock._of(native, cancel_on_loss)

    def write_lock(
        self,
        name: str | bytes,
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3600.0,
        floor: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
        cancel_on_loss: bool = False,
    ) -> Lock:
        """Makes a handle for the writing side of a read-write lock; see `quotalock.Client.write_lock`."""
        native = self._native.write_lock(
            name, ttl, wait, fair, renew, max_hold, floor, label, replicas_ack, ack_timeout
        )
        return Lock._of(native, cancel_on_loss)

    def stock(
        self,
        name: str | bytes,
        scope: str | bytes | None = None,
        ledger_cap: int = 100_000,
        memory: float = 2_592_000.0,
    ) -> Stock:
        """Makes a handle for the units of a sale; see `quotalock.Client.stock`. Asks nobody, so it is not awaited."""
        return Stock._of(self._native.stock(name, scope, ledger_cap, memory))

    async def take_all(
        self,
        takes: Iterable[tuple[Stock, int]],
        buyer: str | bytes,
        hold: float = 600.0,
        request_id: str | bytes | None = None,
    ) -> TakenAll:
        """Holds units of several stocks for one buyer, or of none; see `quotalock.Client.take_all`."""
        return await self._native.take_all(takes, buyer, hold, request_id)

    async def confirm_all(self, reservations: Iterable[tuple[Stock, str]]) -> bool:
        """Sells what several reservations hold, or nothing if one is over; see `quotalock.Client.confirm_all`."""
        return await self._native.confirm_all(reservations)

    async def cancel_all(self, reservations: Iterable[tuple[Stock, str]]) -> bool:
        """Returns what several reservations hold to their stocks; see `quotalock.Client.cancel_all`."""
        return await self._native.cancel_all(reservations)

    async def extend_all(self, reservations: Iterable[tuple[Stock, str]], hold: float = 600.0) -> bool:
        """Lengthens several holds, or none if one of them is over; see `quotalock.Client.extend_all`."""
        return await self._native.extend_all(reservations, hold)

    def once(self, name: str, ttl: float = 86_400.0, lease: float = 10.0, errors: float = 0.0) -> Once:
        """Makes what is done once for each id; see `quotalock.Client.once`. Asks nobody, so it is not awaited."""
        return Once._by(self._native, self._native.once(name, ttl, lease, errors))

    def cache(
        self,
        name: str,
        fresh: float = 60.0,
        stale: float = 0.0,
        lease: float = 10.0,
        negative: float | None = None,
        errors: float = 1.0,
        beta: float = 1.0,
        when_away: str = "raise",
    ) -> Cache:
        """Makes a cache; see `quotalock.Client.cache`. Asks nobody, so it is not awaited."""
        native = self._native.cache(name, fresh, stale, lease, negative, errors, beta, when_away)
        return Cache._by(self._native, native)

    async def close(self) -> None:
        """Gives back locks and permits that are held through it, within the client's timeout, and hangs up.

        Calls under way and later ones raise `Closed`, and what was held is `lost`; closing twice does nothing.
        """
        try:
            if given_back := self._native._give_back():
                await given_back
        finally:
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


def quorum_lock(
    clients: Iterable[Client],
    name: str | bytes,
    ttl: float = 30.0,
    wait: float = 0.0,
    renew: bool = True,
    max_hold: float = 3600.0,
    floor: int = 0,
    label: str = "",
    cancel_on_loss: bool = False,
) -> Lock:
    """Makes a handle for a mutex over several independent servers; see `quotalock.quorum_lock`, and `Client.lock` for
    `cancel_on_loss`. Asks nobody, so it is not awaited."""
    natives = [_native_of(client) for client in clients]
    native = _native.quorum_lock(natives, name, ttl, wait, renew, max_hold, floor, label)
    return Lock._of(native, cancel_on_loss)


async def limit(name: str, key: str | bytes, policy: str | Rule | Iterable[Rule], cost: int = 1) -> Decision:
    """Limits in one line, with a client of the environment's; see `quotalock.limit`."""
    return await _of_environment()._native._limit(name, key, policy, cost)


def _native_of(client: Client) -> LoopClient:
    if not isinstance(client, Client):
        raise TypeError(f"clients has {client!r}: give clients of quotalock.aio")
    return client._native


_default: Client | None = None


def _of_environment() -> Client:
    global _default
    _default = _default or Client()
    return _default
