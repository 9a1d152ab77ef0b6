"""The methods of `quotalock.aio` that only pass a call on. Written from api/surface.toml by `python3 tools/api`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .. import _native as rust
from ._wrapper import Wrapper, on_loop

if TYPE_CHECKING:
    from .._native import (
        Claimed,
        Decision,
        Inspection,
        LedgerEntry,
        Rule,
        Seen,
        StockPage,
        StockStatus,
        Taken,
        TakenAll,
        _LockState,
        _WhenAway,
    )

LimiterT = TypeVar("LimiterT")
LockT = TypeVar("LockT")
StockT = TypeVar("StockT")
OnceT = TypeVar("OnceT")
CacheT = TypeVar("CacheT")


class Client(Generic[LimiterT, LockT, StockT, OnceT, CacheT]):
    """The methods of a `Client` that pass a call on."""

    __slots__ = ()
    _native: rust.Client

    def _make_limiter(self, native: rust.Limiter) -> LimiterT:
        raise NotImplementedError

    def _make_lock(self, native: rust.Lock, cancel_on_loss: bool = False) -> LockT:
        raise NotImplementedError

    def _make_stock(self, native: rust.Stock) -> StockT:
        raise NotImplementedError

    def _make_once(self, native: rust.Once) -> OnceT:
        raise NotImplementedError

    def _make_cache(self, native: rust.Cache) -> CacheT:
        raise NotImplementedError

    @property
    def server(self) -> str:
        """The host and port, socket path or `memory://` of the server, never with a password."""
        return self._native.server

    @property
    def prefix(self) -> str:
        """The first part of every Redis key."""
        return self._native.prefix

    def limiter(
        self,
        name: str,
        policy: str | Rule | Iterable[Rule],
        scope: str | bytes | None = None,
        enforce: bool = True,
        prefetch: int | None = None,
    ) -> LimiterT:
        """Makes a limiter; see `quotalock.Client.limiter`. Does not ask Redis, so it is not awaited."""
        native = self._native.limiter(name, policy, scope, enforce, prefetch)
        return self._make_limiter(native)

    def lock(
        self,
        name: str | bytes,
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3_600.0,
        token_above: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
        cancel_on_loss: bool = False,
    ) -> LockT:
        """Makes a handle for a mutex, which only one handle holds at a time; see `quotalock.Client.lock`. Does not ask
        Redis, so it is not awaited.

        * `cancel_on_loss`: whether the task inside `async with` is cancelled when the lock is lost (default: False).
          The block then raises `Lost`, in the same way as `asyncio.timeout` raises `TimeoutError`.
        """
        native = self._native.lock(
            name, ttl, wait, fair, renew, max_hold, token_above, label, replicas_ack, ack_timeout
        )
        return self._make_lock(native, cancel_on_loss)

    def lock_all(
        self,
        names: Iterable[str | bytes],
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3_600.0,
        token_above: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
        cancel_on_loss: bool = False,
    ) -> LockT:
        """Makes a handle for several mutexes; see `quotalock.Client.lock_all`. Does not ask Redis, so it is not
        awaited.
        """
        native = self._native.lock_all(
            names, ttl, wait, fair, renew, max_hold, token_above, label, replicas_ack, ack_timeout
        )
        return self._make_lock(native, cancel_on_loss)

    def semaphore(
        self,
        name: str | bytes,
        permits: int,
        weight: int = 1,
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3_600.0,
        token_above: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
        cancel_on_loss: bool = False,
    ) -> LockT:
        """Makes a handle for a semaphore that has `permits` permits; see `quotalock.Client.semaphore`. Does not ask
        Redis, so it is not awaited.
        """
        native = self._native.semaphore(
            name, permits, weight, ttl, wait, fair, renew, max_hold, token_above, label, replicas_ack, ack_timeout
        )
        return self._make_lock(native, cancel_on_loss)

    def read_lock(
        self,
        name: str | bytes,
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3_600.0,
        token_above: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
        cancel_on_loss: bool = False,
    ) -> LockT:
        """Makes a handle for reading under a read-write lock; see `quotalock.Client.read_lock`. Does not ask Redis, so
        it is not awaited.
        """
        native = self._native.read_lock(
            name, ttl, wait, fair, renew, max_hold, token_above, label, replicas_ack, ack_timeout
        )
        return self._make_lock(native, cancel_on_loss)

    def write_lock(
        self,
        name: str | bytes,
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3_600.0,
        token_above: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
        cancel_on_loss: bool = False,
    ) -> LockT:
        """Makes a handle for writing under a read-write lock; see `quotalock.Client.write_lock`. Does not ask Redis, so
        it is not awaited.
        """
        native = self._native.write_lock(
            name, ttl, wait, fair, renew, max_hold, token_above, label, replicas_ack, ack_timeout
        )
        return self._make_lock(native, cancel_on_loss)

    def stock(
        self,
        name: str | bytes,
        scope: str | bytes | None = None,
        ledger_cap: int = 100_000,
        retention: float = 2_592_000.0,
    ) -> StockT:
        """Makes a handle for the units of a sale; see `quotalock.Client.stock`. Does not ask Redis, so it is not
        awaited.
        """
        native = self._native.stock(name, scope, ledger_cap, retention)
        return self._make_stock(native)

    async def take_all(
        self,
        takes: Iterable[tuple[StockT, int]],
        buyer: str | bytes,
        hold: float = 600.0,
        request_id: str | bytes | None = None,
    ) -> TakenAll:
        """Holds units of several stocks for one buyer in one atomic call: all the units, or none; see
        `quotalock.Client.take_all`.
        """
        return await on_loop(self._native.take_all)(unwrapped(takes), buyer, hold, request_id)

    async def confirm_all(self, reservations: Iterable[tuple[StockT, str]]) -> bool:
        """Sells the units of several reservations in one atomic call; see `quotalock.Client.confirm_all`."""
        return await on_loop(self._native.confirm_all)(unwrapped(reservations))

    async def cancel_all(self, reservations: Iterable[tuple[StockT, str]]) -> bool:
        """Returns the units of several reservations to their stocks in one atomic call, except those that have ended or
        were confirmed; see `quotalock.Client.cancel_all`.
        """
        return await on_loop(self._native.cancel_all)(unwrapped(reservations))

    async def extend_all(self, reservations: Iterable[tuple[StockT, str]], hold: float = 600.0) -> bool:
        """Extends several holds in one atomic call; see `quotalock.Client.extend_all`."""
        return await on_loop(self._native.extend_all)(unwrapped(reservations), hold)

    def once(self, name: str, ttl: float = 86_400.0, lease: float = 10.0, error_ttl: float = 0.0) -> OnceT:
        """Makes a `Once` handle, for work that is done once for each id, across all processes; see
        `quotalock.Client.once`. Does not ask Redis, so it is not awaited.
        """
        native = self._native.once(name, ttl, lease, error_ttl)
        return self._make_once(native)

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
    ) -> CacheT:
        """Makes a cache; see `quotalock.Client.cache`. Does not ask Redis, so it is not awaited."""
        native = self._native.cache(name, fresh, stale, lease, negative, error_ttl, beta, when_away)
        return self._make_cache(native)


class Limiter(Wrapper[rust.Limiter]):
    """The methods of a `Limiter` that pass a call on."""

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
        """The scope given; None without one."""
        return self._native.scope

    @property
    def enforce(self) -> bool:
        """Whether the policy is enforced."""
        return self._native.enforce

    @property
    def prefetch(self) -> int | None:
        """The largest number of permits that the limiter takes from Redis at once; None if each call asks Redis."""
        return self._native.prefetch

    async def consume_up_to(self, key: str | bytes | int, most: int) -> Decision:
        """Charges as much as the rules allow now, up to `most`. `Decision.cost` is the amount that was charged; see
        `quotalock.Limiter.consume_up_to`.
        """
        return await on_loop(self._native.consume_up_to)(key, most)

    async def peek(self, key: str | bytes | int, cost: int = 1) -> Decision:
        """Decides like `consume`, but charges and writes nothing. `Decision.remaining` is the amount that could be
        consumed now; see `quotalock.Limiter.peek`.
        """
        return await on_loop(self._native.peek)(key, cost)

    async def wait(self, key: str | bytes | int, timeout: float, cost: int = 1) -> Decision:
        """Works like `consume`, but after a denial it sleeps for `Decision.retry_after` and tries again; see
        `quotalock.Limiter.wait`.
        """
        return await on_loop(self._native.wait)(key, timeout, cost)

    async def refund(self, key: str | bytes | int, amount: int, request_id: str | bytes | None = None) -> Decision:
        """Gives back `amount` of the consumed cost; the count of a rule does not fall below zero; see
        `quotalock.Limiter.refund`.
        """
        return await on_loop(self._native.refund)(key, amount, request_id)

    async def block(self, key: str | bytes | int, duration: float) -> Decision:
        """Denies all calls of `key` for `duration`, and replaces an earlier block; see `quotalock.Limiter.block`."""
        return await on_loop(self._native.block)(key, duration)

    async def reset(self, key: str | bytes | int) -> bool:
        """Removes all state of `key`: counts, a block and reservations; see `quotalock.Limiter.reset`."""
        return await on_loop(self._native.reset)(key)

    def redis_key(self, key: str | bytes | int) -> bytes:
        """Returns the Redis key that holds the state of `key`: `<prefix>:limit:<name>:{<key>}`, or with a scope
        `<prefix>:limit:<name>:{<scope>}:{<key>}`; see `quotalock.Limiter.redis_key`. Does not ask Redis, so it is not
        awaited.
        """
        return self._native.redis_key(key)


class Reservation(Wrapper[rust.Reservation]):
    """The methods of a `Reservation` that pass a call on."""

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
        """The answer of `Limiter.reserve`; None if `Limiter.reservation` made this handle."""
        return self._native.decision

    async def settle(self, actual: int) -> bool:
        """Replaces the estimate by the `actual` amount; see `quotalock.Reservation.settle`."""
        return await on_loop(self._native.settle)(actual)

    async def cancel(self) -> bool:
        """Gives back the whole estimate, like `settle` with 0; see `quotalock.Reservation.cancel`."""
        return await on_loop(self._native.cancel)()


class Lock(Wrapper[rust.Lock]):
    """The methods of a `Lock` that pass a call on."""

    __slots__ = ()

    @property
    def names(self) -> tuple[str | bytes, ...]:
        """The names as they were given."""
        return self._native.names

    @property
    def redis_keys(self) -> tuple[bytes, ...]:
        """The Redis keys, one for each name: `<prefix>:lock:{<name>}`, for a semaphore `<prefix>:sem:{<name>}`, for a
        read-write lock `<prefix>:rw:{<name>}`.
        """
        return self._native.redis_keys

    @property
    def ttl(self) -> float:
        """How long a grant lasts if it is not renewed, in seconds."""
        return self._native.ttl

    @property
    def token(self) -> int | None:
        """The fencing token of the grant, larger than the token of every earlier grant of the name. None if the lock
        was never acquired, or is released. The token stays readable after a loss.
        """
        return self._native.token

    @property
    def state(self) -> _LockState:
        """The state as the handle knows it, without asking Redis: `released` (or never acquired), `held`, `uncertain`
        (held, but the last renewal failed) or `lost`.
        """
        return self._native.state

    @property
    def held(self) -> bool:
        """Whether the lock is certainly held now."""
        return self._native.held

    @property
    def remaining(self) -> float:
        """The number of seconds for which the lock is certainly held, if it is not renewed. 0 if the lock is not
        held.
        """
        return self._native.remaining

    async def extend(self, ttl: float | None = None) -> bool:
        """Extends the lease to at least `ttl` from now, and never shortens it; see `quotalock.Lock.extend`."""
        return await on_loop(self._native.extend)(ttl)

    def handover(self) -> str:
        """Returns a short text with which another process can take over the lock (`Client.adopt`); see
        `quotalock.Lock.handover`. Does not ask Redis, so it is not awaited.
        """
        return self._native.handover()

    def assert_held(self) -> None:
        """Fails unless the lock is certainly held now; see `quotalock.Lock.assert_held`. Does not ask Redis, so it is
        not awaited.
        """
        self._native.assert_held()

    def raise_floor(self, floor: int) -> None:
        """Makes every later fencing token of this handle larger than `floor`; see `quotalock.Lock.raise_floor`. Does
        not ask Redis, so it is not awaited.
        """
        self._native.raise_floor(floor)

    async def inspect(self) -> Inspection:
        """Returns the holders of the lock, and how many processes wait for it; see `quotalock.Lock.inspect`."""
        return await on_loop(self._native.inspect)()

    async def force_release(self) -> int:
        """Takes the lock away from all holders, and returns how many holders there were; see
        `quotalock.Lock.force_release`.
        """
        return await on_loop(self._native.force_release)()


class Stock(Wrapper[rust.Stock]):
    """The methods of a `Stock` that pass a call on."""

    __slots__ = ()

    @property
    def name(self) -> str | bytes:
        """The name as it was given."""
        return self._native.name

    @property
    def scope(self) -> str | bytes | None:
        """The scope given; None without one."""
        return self._native.scope

    @property
    def redis_keys(self) -> tuple[bytes, ...]:
        """The three Redis keys of the sale: `<prefix>:stock:{<name>}` (with a scope
        `<prefix>:stock:{<scope>}:{<name>}`), and the same key with `:holds` and with `:ledger` at its end.
        """
        return self._native.redis_keys

    async def open(
        self,
        quantity: int,
        per_buyer: int | None = None,
        ends: float | None = None,
        prizes: Iterable[str | bytes] | None = None,
    ) -> bool:
        """Opens the sale; see `quotalock.Stock.open`."""
        return await on_loop(self._native.open)(quantity, per_buyer, ends, prizes)

    async def close(self) -> bool:
        """Ends the sale now and for good; see `quotalock.Stock.close`."""
        return await on_loop(self._native.close)()

    async def restock(
        self, quantity: int, prizes: Iterable[str | bytes] | None = None, request_id: str | bytes | None = None
    ) -> int:
        """Adds units to a sale, even after its end, and returns the number of all units, including sold ones; see
        `quotalock.Stock.restock`.
        """
        return await on_loop(self._native.restock)(quantity, prizes, request_id)

    async def take(
        self, buyer: str | bytes, quantity: int = 1, hold: float = 600.0, request_id: str | bytes | None = None
    ) -> Taken:
        """Holds units for a buyer; see `quotalock.Stock.take`."""
        return await on_loop(self._native.take)(buyer, quantity, hold, request_id)

    async def confirm(self, id: str) -> bool:
        """Sells the units of a reservation; see `quotalock.Stock.confirm`."""
        return await on_loop(self._native.confirm)(id)

    async def cancel(self, id: str) -> bool:
        """Returns the units of a reservation to the stock; see `quotalock.Stock.cancel`."""
        return await on_loop(self._native.cancel)(id)

    async def extend(self, id: str, hold: float = 600.0) -> bool:
        """Extends a hold to at least `hold` from now, and never shortens it; see `quotalock.Stock.extend`."""
        return await on_loop(self._native.extend)(id, hold)

    async def status(self) -> StockStatus:
        """Returns the numbers of the sale; see `quotalock.Stock.status`."""
        return await on_loop(self._native.status)()

    async def reservations(self, cursor: str | None = None, count: int = 100) -> StockPage:
        """Lists open holds in the order in which they end; see `quotalock.Stock.reservations`."""
        return await on_loop(self._native.reservations)(cursor, count)

    async def ledger(self, after: str | None = None, count: int = 100) -> list[LedgerEntry]:
        """Returns entries of the ledger, in order; see `quotalock.Stock.ledger`."""
        return await on_loop(self._native.ledger)(after, count)


class Once(Wrapper[rust.Once]):
    """The methods of a `Once` that pass a call on."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name given."""
        return self._native.name

    async def claim(self, id: str | bytes, value: str | bytes | None = None) -> Claimed:
        """Claims an id. `Claimed.first` shows whether this caller is the first, and `Claimed.value` is the value of the
        first caller; see `quotalock.Once.claim`.
        """
        return await on_loop(self._native.claim)(id, value)

    async def release(self, id: str | bytes) -> bool:
        """Removes an id, even if another caller claimed it; see `quotalock.Once.release`."""
        return await on_loop(self._native.release)(id)

    def redis_key(self, id: str | bytes) -> bytes:
        """Returns the Redis key of an id: `<prefix>:once:<name>:{<id>}`; see `quotalock.Once.redis_key`. Does not ask
        Redis, so it is not awaited.
        """
        return self._native.redis_key(id)


class Cache(Wrapper[rust.Cache]):
    """The methods of a `Cache` that pass a call on."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name given."""
        return self._native.name

    async def peek(self, key: str | bytes | int) -> Seen | None:
        """Returns the value of a key, fresh or stale, without loading or waiting; None if there is no value; see
        `quotalock.Cache.peek`.
        """
        return await on_loop(self._native.peek)(key)

    async def put(self, key: str | bytes | int, value: str | bytes | None) -> bool:
        """Stores a value that you already have; see `quotalock.Cache.put`."""
        return await on_loop(self._native.put)(key, value)

    async def invalidate(self, key: str | bytes | int) -> bool:
        """Removes the value of a key; see `quotalock.Cache.invalidate`."""
        return await on_loop(self._native.invalidate)(key)

    def redis_key(self, key: str | bytes | int) -> bytes:
        """Returns the Redis key of `key`: `<prefix>:cache:<name>:{<key>}`; see `quotalock.Cache.redis_key`. Does not
        ask Redis, so it is not awaited.
        """
        return self._native.redis_key(key)


def quorum_lock(
    clients: Iterable[Client[Any, LockT, Any, Any, Any]],
    name: str | bytes,
    ttl: float = 30.0,
    wait: float = 0.0,
    renew: bool = True,
    max_hold: float = 3_600.0,
    token_above: int = 0,
    label: str = "",
    cancel_on_loss: bool = False,
) -> LockT:
    """Makes a handle for a quorum lock: a mutex over several independent servers; see `quotalock.quorum_lock`. Does not
    ask Redis, so it is not awaited.
    """
    given = list(clients)
    natives = [_native_of(client) for client in given]
    native = rust.quorum_lock(natives, name, ttl, wait, renew, max_hold, token_above, label)
    return given[0]._make_lock(native, cancel_on_loss)


def _native_of(client: Client[Any, Any, Any, Any, Any]) -> rust.Client:
    if not isinstance(client, Client):
        raise TypeError(f"clients has {client!r}: give clients of quotalock.aio")
    return client._native


def unwrapped(given: object) -> Any:  # noqa: ANN401
    """Limiters and stocks of this package, in which the native half finds its own."""
    return given
