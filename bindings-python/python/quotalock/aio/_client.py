"""The client whose calls are awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .._native import Client as NativeClient
from .._native import CombinedDecision, tell_decisions
from ._cache import Cache, Once
from ._limiter import Limiter, OnDecision, TellingLimiter
from ._lock import Lock, OnLost
from ._plain import Client as PlainClient
from ._plain import unwrapped
from ._stock import Stock
from ._wrapper import on_loop

if TYPE_CHECKING:
    from .. import _native as rust
    from .._native import _OnError


class Client(PlainClient[Limiter, Lock, Stock, Once, Cache]):
    """A client of one Redis, or of this process' memory; see `quotalock.Client`. Loops and threads may share it."""

    __slots__ = ("__weakref__", "_native", "_on_decision", "_on_lost")
    _native: NativeClient
    _on_decision: OnDecision | None
    _on_lost: OnLost | None

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

    async def consume_all(
        self,
        charges: Iterable[tuple[Limiter, str | bytes | int] | tuple[Limiter, str | bytes | int, int]],
        request_id: str | bytes | None = None,
    ) -> CombinedDecision:
        """Charges several keys if all of them admit it, else none; see `quotalock.Client.consume_all`."""
        if self._on_decision is None:
            return await on_loop(self._native.consume_all)(unwrapped(charges), request_id)
        given = list(charges) if isinstance(charges, Iterable) else charges
        decision = await on_loop(self._native.consume_all)(unwrapped(given), request_id)
        tell_decisions(self._on_decision, decision, [charge[1] for charge in given])
        return decision

    async def adopt(self, text: str, renew: bool = True, name: str | bytes | None = None) -> Lock:
        """Makes a handle of what `Lock.handover` wrote, and takes the lease over; see `quotalock.Client.adopt`.

        If the call is cancelled, what it took over is released."""
        native, answer = self._native._adopt(text, renew, name)
        try:
            await on_loop(lambda: answer)()
        except BaseException:
            native._abandon()
            raise
        lock = Lock._of(native, self._on_lost)
        if self._on_lost is not None:
            lock._listen()
        return lock

    def _make_limiter(self, native: rust.Limiter) -> Limiter:
        return Limiter._of(native) if self._on_decision is None else TellingLimiter._by(native, self._on_decision)

    def _make_lock(self, native: rust.Lock, cancel_on_loss: bool = False) -> Lock:
        return Lock._of(native, self._on_lost, cancel_on_loss)

    def _make_stock(self, native: rust.Stock) -> Stock:
        return Stock._of(native)

    def _make_once(self, native: rust.Once) -> Once:
        return Once._by(self._native, native)

    def _make_cache(self, native: rust.Cache) -> Cache:
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

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return repr(self._native).replace("quotalock.Client", "quotalock.aio.Client", 1)


Client.__module__ = "quotalock.aio"
