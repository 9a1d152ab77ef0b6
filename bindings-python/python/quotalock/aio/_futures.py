"""The native classes on a loop, for type checkers: what blocks in `quotalock` returns a future of the running loop."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Iterable
from typing import Protocol

from .._errors import NotAcquired
from .._native import CombinedDecision, Decision, Inspection, Rule
from ._limiter import Limiter


class LoopClient(Protocol):
    """A `Client` whose calls return futures."""

    @property
    def server(self) -> str: ...
    @property
    def prefix(self) -> str: ...
    def limiter(
        self, name: str, policy: str | Rule | Iterable[Rule], scope: str | bytes | None, enforce: bool
    ) -> LoopLimiter: ...
    def consume_all(
        self,
        charges: Iterable[tuple[Limiter, str | bytes] | tuple[Limiter, str | bytes, int]],
        request_id: str | bytes | None,
    ) -> Future[CombinedDecision]: ...
    def lock(
        self,
        name: str | bytes,
        ttl: float,
        wait: float,
        fair: bool,
        renew: bool,
        max_hold: float,
        floor: int,
        label: str,
        replicas_ack: int,
        ack_timeout: float,
    ) -> LoopLock: ...
    def lock_all(
        self,
        names: Iterable[str | bytes],
        ttl: float,
        wait: float,
        fair: bool,
        renew: bool,
        max_hold: float,
        floor: int,
        label: str,
        replicas_ack: int,
        ack_timeout: float,
    ) -> LoopLock: ...
    def semaphore(
        self,
        name: str | bytes,
        permits: int,
        weight: int,
        ttl: float,
        wait: float,
        fair: bool,
        renew: bool,
        max_hold: float,
        floor: int,
        label: str,
        replicas_ack: int,
        ack_timeout: float,
    ) -> LoopLock: ...
    def read_lock(
        self,
        name: str | bytes,
        ttl: float,
        wait: float,
        fair: bool,
        renew: bool,
        max_hold: float,
        floor: int,
        label: str,
        replicas_ack: int,
        ack_timeout: float,
    ) -> LoopLock: ...
    def write_lock(
        self,
        name: str | bytes,
        ttl: float,
        wait: float,
        fair: bool,
        renew: bool,
        max_hold: float,
        floor: int,
        label: str,
        replicas_ack: int,
        ack_timeout: float,
    ) -> LoopLock: ...
    def close(self) -> None: ...
    def _limit(
        self, name: str, key: str | bytes, policy: str | Rule | Iterable[Rule], cost: int
    ) -> Future[Decision]: ...


class LoopLimiter(Protocol):
    """A `Limiter` whose calls return futures."""

    @property
    def name(self) -> str: ...
    @property
    def policy(self) -> str: ...
    @property
    def scope(self) -> str | bytes | None: ...
    @property
    def enforce(self) -> bool: ...
    def consume(self, key: str | bytes, cost: int, request_id: str | bytes | None) -> Future[Decision]: ...
    def consume_up_to(self, key: str | bytes, most: int) -> Future[Decision]: ...
    def reservation(self, key: str | bytes, id: str) -> LoopReservation: ...
    def peek(self, key: str | bytes, cost: int) -> Future[Decision]: ...
    def require(self, key: str | bytes, cost: int) -> Future[Decision]: ...
    def wait(self, key: str | bytes, timeout: float, cost: int) -> Future[Decision]: ...
    def refund(self, key: str | bytes, amount: int, request_id: str | bytes | None) -> Future[Decision]: ...
    def block(self, key: str | bytes, duration: float) -> Future[Decision]: ...
    def reset(self, key: str | bytes) -> Future[bool]: ...
    def redis_key(self, key: str | bytes) -> bytes: ...
    def _reserve(
        self, key: str | bytes, estimate: int, ttl: float, unsettled: str
    ) -> tuple[LoopReservation, Future[Decision]]: ...


class LoopReservation(Protocol):
    """A `Reservation` whose calls return futures."""

    @property
    def key(self) -> str | bytes: ...
    @property
    def id(self) -> str: ...
    def settle(self, actual: int) -> Future[bool]: ...
    def cancel(self) -> Future[bool]: ...


class LoopLock(Protocol):
    """A `Lock` whose calls return futures."""

    @property
    def names(self) -> tuple[str | bytes, ...]: ...
    @property
    def redis_keys(self) -> tuple[bytes, ...]: ...
    @property
    def ttl(self) -> float: ...
    @property
    def token(self) -> int | None: ...
    @property
    def state(self) -> str: ...
    @property
    def held(self) -> bool: ...
    @property
    def remaining(self) -> float: ...
    @property
    def lost(self) -> LoopLoss: ...
    def acquire(self, wait: float | None) -> Future[bool]: ...
    def release(self) -> Future[bool]: ...
    def extend(self, ttl: float | None) -> Future[bool]: ...
    def assert_held(self) -> None: ...
    def raise_floor(self, floor: int) -> None: ...
    def inspect(self) -> Future[Inspection]: ...
    def force_release(self) -> Future[int]: ...
    def _abandon(self) -> None: ...
    def _not_acquired(self) -> NotAcquired: ...


class LoopLoss(Protocol):
    """A `Loss` that loops await."""

    def is_set(self) -> bool: ...
    def _future(self) -> Future[bool]: ...
