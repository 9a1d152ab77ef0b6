"""The client whose calls are awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .._native import Client as NativeClient
from .._native import CombinedDecision, Rule, TakenAll, tell_decisions
from ._cache import Cache, Once
from ._limiter import Limiter, OnDecision, TellingLimiter
from ._lock import OnLost
from ._locks import Locks
from ._stock import Stock
from ._wrapper import on_loop

if TYPE_CHECKING:
    from .._native import _OnError, _WhenAway


class Client(Locks):
    """A client of one Redis, or of this process' memory; see `quotalock.Client`. Loops and threads may share it."""

    __slots__ = ("_on_decision",)
    _on_decision: OnDecision | None

    def __init__(
        self,
        url: str | None = None,
        prefix: str = "ql",
        timeout: float = 0.5,
        on_error: _OnError = "raise",
        request_memory: float = 60.0,
        password: Callable[[], str | Awaitable[str]] | None = None,
        deny_cache_max: float = 1.0,
        on_decision: OnDecision | None = None,
        on_lost: OnLost | None = None,
        report: bool = False,
    ) -> None:
        checked: Any = (on_decision, on_lost, report)
        native = NativeClient(url, prefix, timeout, on_error, request_memory, password, deny_cache_max, *checked)
        self._native = native._for_loops()
        self._on_decision, self._on_lost = on_decision, on_lost

    def limiter(
        self,
        name: str,
        policy: str | Rule | Iterable[Rule],
        scope: str | bytes | None = None,
        enforce: bool = True,
        lease: int | None = None,
    ) -> Limiter:
        """Makes a limiter; see `quotalock.Client.limiter`."""
        native = self._native.limiter(name, policy, scope, enforce, lease)
        return Limiter._of(native) if self._on_decision is None else TellingLimiter._by(native, self._on_decision)

    async def consume_all(
        self,
        charges: Iterable[tuple[Limiter, str | bytes | int] | tuple[Limiter, str | bytes | int, int]],
        request_id: str | bytes | None = None,
    ) -> CombinedDecision:
        """Charges several keys if all of them admit it, else none; see `quotalock.Client.consume_all`."""
        if self._on_decision is None:
            return await on_loop(self._native.consume_all)(_any(charges), request_id)
        given = list(charges) if isinstance(charges, Iterable) else charges
        decision = await on_loop(self._native.consume_all)(_any(given), request_id)
        tell_decisions(self._on_decision, decision, [charge[1] for charge in given])
        return decision

    def stock(
        self,
        name: str | bytes,
        scope: str | bytes | None = None,
        ledger_cap: int = 100_000,
        retention: float = 2_592_000.0,
    ) -> Stock:
        """Makes a handle for the units of a sale; see `quotalock.Client.stock`. Asks nobody, so it is not awaited."""
        return Stock._of(self._native.stock(name, scope, ledger_cap, retention))

    async def take_all(
        self,
        takes: Iterable[tuple[Stock, int]],
        buyer: str | bytes,
        hold: float = 600.0,
        request_id: str | bytes | None = None,
    ) -> TakenAll:
        """Holds units of several stocks for one buyer, or of none; see `quotalock.Client.take_all`."""
        return await on_loop(self._native.take_all)(_any(takes), buyer, hold, request_id)

    async def confirm_all(self, reservations: Iterable[tuple[Stock, str]]) -> bool:
        """Sells what several reservations hold, or nothing if one is over; see `quotalock.Client.confirm_all`."""
        return await on_loop(self._native.confirm_all)(_any(reservations))

    async def cancel_all(self, reservations: Iterable[tuple[Stock, str]]) -> bool:
        """Returns what several reservations hold to their stocks; see `quotalock.Client.cancel_all`."""
        return await on_loop(self._native.cancel_all)(_any(reservations))

    async def extend_all(self, reservations: Iterable[tuple[Stock, str]], hold: float = 600.0) -> bool:
        """Lengthens several holds, or none if one of them is over; see `quotalock.Client.extend_all`."""
        return await on_loop(self._native.extend_all)(_any(reservations), hold)

    def once(self, name: str, ttl: float = 86_400.0, lease: float = 10.0, error_ttl: float = 0.0) -> Once:
        """Makes what is done once for each id; see `quotalock.Client.once`. Asks nobody, so it is not awaited."""
        return Once._by(self._native, self._native.once(name, ttl, lease, error_ttl))

    def cache(
        self,
        name: str,
        fresh: float = 60.0,
        stale: float = 0.0,
        lease: float = 10.0,
        negative: float | None = None,
        error_ttl: float = 1.0,
        beta: float = 1.0,
        when_away: _WhenAway = "raise",
    ) -> Cache:
        """Makes a cache; see `quotalock.Client.cache`. Asks nobody, so it is not awaited."""
        native = self._native.cache(name, fresh, stale, lease, negative, error_ttl, beta, when_away)
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


def _any(wrapped: object) -> Any:  # noqa: ANN401
    """Limiters and stocks of this package, in which the native half finds its own."""
    return wrapped


Client.__module__ = "quotalock.aio"
