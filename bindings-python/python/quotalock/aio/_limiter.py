"""Limiters and reservations whose calls are awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from .. import _native
from .._errors import RateLimited
from .._native import Decision, tell_decision
from ._wrapper import Wrapper, maybe_on_loop, on_loop

if TYPE_CHECKING:
    from typing_extensions import Self

    from .._native import _Unsettled

OnDecision = Callable[[Decision, "str | bytes | int"], object]


class Limiter(Wrapper[_native.Limiter], made_by="Client.limiter"):
    """Decides for keys by one policy; made by `Client.limiter`. The methods are those of `quotalock.Limiter`."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name given."""
        return self._native.name

    @property
    def policy(self) -> str:
        """The policy in its canonical form."""
        return self._native.policy

    @property
    def scope(self) -> str | bytes | None:
        """The scope as it was given; None without one."""
        return self._native.scope

    @property
    def enforce(self) -> bool:
        """Whether the policy is enforced."""
        return self._native.enforce

    @property
    def lease(self) -> int | None:
        """How many permits it takes from Redis at once at most; None if each call asks."""
        return self._native.lease

    async def consume(self, key: str | bytes | int, cost: int = 1, request_id: str | bytes | None = None) -> Decision:
        """Charges `cost` to every rule if all admit it, else to none; with a `request_id` once for that id."""
        answer = maybe_on_loop(self._native.consume)(key, cost, request_id)
        return answer if isinstance(answer, Decision) else await answer

    async def consume_up_to(self, key: str | bytes | int, most: int) -> Decision:
        """Charges as much as is admitted now, up to `most`; the decision's `cost` tells how much."""
        return await on_loop(self._native.consume_up_to)(key, most)

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
        """The reservation of this id, made here or in another process. Asks nobody, so it is not awaited."""
        return Reservation._of(self._native.reservation(key, id))

    async def peek(self, key: str | bytes | int, cost: int = 1) -> Decision:
        """Returns what `consume` would return, and never writes."""
        return await on_loop(self._native.peek)(key, cost)

    async def require(self, key: str | bytes | int, cost: int = 1) -> Decision:
        """As `consume`, but a denial raises `RateLimited`, which carries the decision."""
        answer = maybe_on_loop(self._native.require)(key, cost)
        return answer if isinstance(answer, Decision) else await answer

    async def wait(self, key: str | bytes | int, timeout: float, cost: int = 1) -> Decision:
        """As `consume`, and after a denial sleeps as `retry_after` says and tries again, for at most `timeout` seconds.

        Ends with a denial at once when the next chance lies behind the timeout.
        """
        return await on_loop(self._native.wait)(key, timeout, cost)

    async def refund(self, key: str | bytes | int, amount: int, request_id: str | bytes | None = None) -> Decision:
        """Gives back `amount` of what was consumed, and returns what a peek right after it would return."""
        return await on_loop(self._native.refund)(key, amount, request_id)

    async def block(self, key: str | bytes | int, duration: float) -> Decision:
        """Denies everything for `duration` seconds, and returns what a peek right after it would return."""
        return await on_loop(self._native.block)(key, duration)

    async def reset(self, key: str | bytes | int) -> bool:
        """Forgets everything about `key`, including a block and reservations; True if there was anything."""
        return await on_loop(self._native.reset)(key)

    def redis_key(self, key: str | bytes | int) -> bytes:
        """The Redis key that holds the state of `key`."""
        return self._native.redis_key(key)


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


class Reservation(Wrapper[_native.Reservation], made_by="Limiter.reserve or Limiter.reservation"):
    """An amount held by `Limiter.reserve`; see `quotalock.Reservation`. Any loop or process can settle it."""

    __slots__ = ()

    @property
    def key(self) -> str | bytes | int:
        """The key as it was given."""
        return self._native.key

    @property
    def id(self) -> str:
        """The id: 32 hexadecimal digits."""
        return self._native.id

    @property
    def decision(self) -> Decision | None:
        """The answer of `reserve`; None if this was made by `Limiter.reservation`."""
        return self._native.decision

    async def settle(self, actual: int) -> bool:
        """Puts the `actual` amount in the place of the estimate; False if the reservation had ended."""
        return await on_loop(self._native.settle)(actual)

    async def cancel(self) -> bool:
        """Gives the whole estimate back: `settle` with 0."""
        return await on_loop(self._native.cancel)()

    def __bool__(self) -> bool:
        return bool(self._native)
