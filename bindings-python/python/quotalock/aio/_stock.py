"""Stocks whose calls are awaited."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .. import _native
from ._wrapper import Wrapper, on_loop

if TYPE_CHECKING:
    from .._native import LedgerEntry, StockPage, StockStatus, Taken


class Stock(Wrapper[_native.Stock], made_by="Client.stock"):
    """The units of a sale; made by `Client.stock`. The methods are those of `quotalock.Stock`.

    If a call is cancelled after Redis was asked, it may be done: what a take held returns when its hold is over.
    """

    __slots__ = ()

    @property
    def name(self) -> str | bytes:
        """The name as it was given."""
        return self._native.name

    @property
    def scope(self) -> str | bytes | None:
        """The scope as it was given; None without one."""
        return self._native.scope

    @property
    def redis_keys(self) -> tuple[bytes, ...]:
        """The Redis keys: hash, holds, ledger."""
        return self._native.redis_keys

    async def open(
        self,
        quantity: int,
        per_buyer: int | None = None,
        ends: float | None = None,
        prizes: Iterable[str | bytes] | None = None,
    ) -> bool:
        """Opens the sale: True if this call opened it, False if it is open so already; see `quotalock.Stock.open`."""
        return await on_loop(self._native.open)(quantity, per_buyer, ends, prizes)

    async def close(self) -> bool:
        """Ends the sale now, for good: True if this call did, False if it had ended; see `quotalock.Stock.close`."""
        return await on_loop(self._native.close)()

    async def restock(
        self, quantity: int, prizes: Iterable[str | bytes] | None = None, request_id: str | bytes | None = None
    ) -> int:
        """Adds units to an open sale, and returns how many there are now; see `quotalock.Stock.restock`."""
        return await on_loop(self._native.restock)(quantity, prizes, request_id)

    async def take(
        self, buyer: str | bytes, quantity: int = 1, hold: float = 600.0, request_id: str | bytes | None = None
    ) -> Taken:
        """Holds units for a buyer for `hold` seconds, or says why not; see `quotalock.Stock.take`."""
        return await on_loop(self._native.take)(buyer, quantity, hold, request_id)

    async def confirm(self, id: str) -> bool:
        """Sells what a reservation holds: False if its hold is over, then nothing is sold."""
        return await on_loop(self._native.confirm)(id)

    async def cancel(self, id: str) -> bool:
        """Returns what a reservation holds to stock: False if its hold is over, or it was confirmed."""
        return await on_loop(self._native.cancel)(id)

    async def extend(self, id: str, hold: float = 600.0) -> bool:
        """Has a hold last for at least `hold` seconds from now: False if it is over."""
        return await on_loop(self._native.extend)(id, hold)

    async def status(self) -> StockStatus:
        """The numbers of the sale."""
        return await on_loop(self._native.status)()

    async def reservations(self, cursor: str | None = None, count: int = 100) -> StockPage:
        """Lists holds that are not over, those that end first first; see `quotalock.Stock.reservations`."""
        return await on_loop(self._native.reservations)(cursor, count)

    async def ledger(self, after: str | None = None, count: int = 100) -> list[LedgerEntry]:
        """Reads entries of the ledger, those after the entry `after`; see `quotalock.Stock.ledger`."""
        return await on_loop(self._native.ledger)(after, count)
