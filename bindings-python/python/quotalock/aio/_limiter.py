"""Limiters and reservations whose calls are awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from .. import _native
from .._errors import RateLimited
from .._native import Decision, tell_decision
from ._plain import Limiter as PlainLimiter
from ._plain import Reservation as PlainReservation
from ._wrapper import maybe_on_loop

if TYPE_CHECKING:
    from typing_extensions import Self

    from .._native import _Unsettled

OnDecision = Callable[[Decision, "str | bytes | int"], object]


class Limiter(PlainLimiter, made_by="Client.limiter"):
    """Decides for keys by one policy; made by `Client.limiter`. The methods are those of `quotalock.Limiter`."""

    __slots__ = ()

    async def consume(self, key: str | bytes | int, cost: int = 1, request_id: str | bytes | None = None) -> Decision:
        """Charges `cost` to every rule if all admit it, else to none; with a `request_id` once for that id."""
        answer = maybe_on_loop(self._native.consume)(key, cost, request_id)
        return answer if isinstance(answer, Decision) else await answer

    async def reserve(
        self, key: str | bytes | int, estimate: int, ttl: float, unsettled: _Unsettled = "spent"
    ) -> Reservation:
        """Charges `estimate` and holds it for `ttl` seconds, until the reservation is settled.

        If this is cancelled after Redis was asked, the estimate may be held until its end.
        """
        native, decision = self._native._reserve(key, estimate, ttl, unsettled)
        native._decided(await decision)
        return Reservation._of(native)

    def reservation(self, key: str | bytes | int, id: str) -> Reservation:
        """The reservation of this id, made here or in another process. Makes no call, so it is not awaited."""
        return Reservation._of(self._native.reservation(key, id))

    async def require(self, key: str | bytes | int, cost: int = 1) -> Decision:
        """As `consume`, but a denial raises `RateLimited`, which carries the decision."""
        answer = maybe_on_loop(self._native.require)(key, cost)
        return answer if isinstance(answer, Decision) else await answer


class TellingLimiter(Limiter):
    """A limiter that tells its decisions to `on_decision`, in the task whose call it is, right before the call ends."""

    __slots__ = ("_on_decision",)
    _on_decision: OnDecision

    @classmethod
    def _by(cls, native: _native.Limiter, on_decision: OnDecision) -> Self:
        self = cls._of(native)
        self._on_decision = on_decision
        return self

    async def consume(self, key: str | bytes | int, cost: int = 1, request_id: str | bytes | None = None) -> Decision:
        return await self._told(key, super().consume(key, cost, request_id))

    async def consume_up_to(self, key: str | bytes | int, most: int) -> Decision:
        return await self._told(key, super().consume_up_to(key, most))

    async def reserve(
        self, key: str | bytes | int, estimate: int, ttl: float, unsettled: _Unsettled = "spent"
    ) -> Reservation:
        reservation = await super().reserve(key, estimate, ttl, unsettled)
        if reservation.decision is not None:
            tell_decision(self._on_decision, reservation.decision, key)
        return reservation

    async def require(self, key: str | bytes | int, cost: int = 1) -> Decision:
        return await self._told(key, super().require(key, cost))

    async def wait(self, key: str | bytes | int, timeout: float, cost: int = 1) -> Decision:
        return await self._told(key, super().wait(key, timeout, cost))

    async def _told(self, key: str | bytes | int, deciding: Awaitable[Decision]) -> Decision:
        try:
            decision = await deciding
        except RateLimited as limited:
            tell_decision(self._on_decision, limited.decision, key)
            raise
        tell_decision(self._on_decision, decision, key)
        return decision


class Reservation(PlainReservation, made_by="Limiter.reserve or Limiter.reservation"):
    """An amount held by `Limiter.reserve`; see `quotalock.Reservation`. Any loop or process can settle it."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return bool(self._native)
