"""What makes locks whose calls are awaited."""

from __future__ import annotations

from collections.abc import Iterable

from .. import _native
from .._native import Client as NativeClient
from ._lock import Lock, OnLost
from ._wrapper import on_loop


class Locks:
    """The methods of a client that make locks."""

    __slots__ = ("__weakref__", "_native", "_on_lost")
    _native: NativeClient
    _on_lost: OnLost | None

    def lock(
        self,
        name: str | bytes,
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3600.0,
        token_above: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
        cancel_on_loss: bool = False,
    ) -> Lock:
        """Makes a handle for a mutex; see `quotalock.Client.lock`. Asks nobody, so it is not awaited.

        With `cancel_on_loss` the task inside `async with` is cancelled when the lock is lost, and leaves the block with
        `Lost`, as it leaves `asyncio.timeout` with `TimeoutError`.
        """
        native = self._native.lock(
            name, ttl, wait, fair, renew, max_hold, token_above, label, replicas_ack, ack_timeout
        )
        return Lock._of(native, self._on_lost, cancel_on_loss)

    def lock_all(
        self,
        names: Iterable[str | bytes],
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3600.0,
        token_above: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
        cancel_on_loss: bool = False,
    ) -> Lock:
        """Makes a handle for several mutexes, granted all or none; see `quotalock.Client.lock_all`."""
        native = self._native.lock_all(
            names, ttl, wait, fair, renew, max_hold, token_above, label, replicas_ack, ack_timeout
        )
        return Lock._of(native, self._on_lost, cancel_on_loss)

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
        token_above: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
        cancel_on_loss: bool = False,
    ) -> Lock:
        """Makes a handle for `weight` of a semaphore's `permits`; see `quotalock.Client.semaphore`."""
        native = self._native.semaphore(
            name, permits, weight, ttl, wait, fair, renew, max_hold, token_above, label, replicas_ack, ack_timeout
        )
        return Lock._of(native, self._on_lost, cancel_on_loss)

    def read_lock(
        self,
        name: str | bytes,
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3600.0,
        token_above: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
        cancel_on_loss: bool = False,
    ) -> Lock:
        """Makes a handle for the reading side of a read-write lock; see `quotalock.Client.read_lock`."""
        native = self._native.read_lock(
            name, ttl, wait, fair, renew, max_hold, token_above, label, replicas_ack, ack_timeout
        )
        return Lock._of(native, self._on_lost, cancel_on_loss)

    def write_lock(
        self,
        name: str | bytes,
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3600.0,
        token_above: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
        cancel_on_loss: bool = False,
    ) -> Lock:
        """Makes a handle for the writing side of a read-write lock; see `quotalock.Client.write_lock`."""
        native = self._native.write_lock(
            name, ttl, wait, fair, renew, max_hold, token_above, label, replicas_ack, ack_timeout
        )
        return Lock._of(native, self._on_lost, cancel_on_loss)

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


def quorum_lock(
    clients: Iterable[Locks],
    name: str | bytes,
    ttl: float = 30.0,
    wait: float = 0.0,
    renew: bool = True,
    max_hold: float = 3600.0,
    token_above: int = 0,
    label: str = "",
    cancel_on_loss: bool = False,
) -> Lock:
    """Makes a handle for a mutex over several independent servers; see `quotalock.quorum_lock`, and `Client.lock` for
    `cancel_on_loss`. Asks nobody, so it is not awaited."""
    given = list(clients)
    natives = [_native_of(client) for client in given]
    native = _native.quorum_lock(natives, name, ttl, wait, renew, max_hold, token_above, label)
    return Lock._of(native, given[0]._on_lost, cancel_on_loss)


def _native_of(client: Locks) -> NativeClient:
    if not isinstance(client, Locks):
        raise TypeError(f"clients has {client!r}: give clients of quotalock.aio")
    return client._native
