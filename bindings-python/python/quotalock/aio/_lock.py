"""Locks whose calls are awaited."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .. import _native
from .._errors import Lost, QuotalockError
from .._native import tell_lost
from ._plain import Lock as PlainLock
from ._wrapper import Wrapper, on_loop

if TYPE_CHECKING:
    from typing_extensions import Self


class Lock(PlainLock, made_by="Client.lock"):
    """A handle for a lock; made by `Client.lock` and its neighbours. The methods are those of `quotalock.Lock`.

    Cancelling `acquire` leaves nothing behind, also if the lock was granted meanwhile. A release that was begun is
    done, whatever becomes of its caller.
    """

    __slots__ = ("_cancel_on_loss", "_is_told", "_loss", "_on_lost", "_watch")
    _cancel_on_loss: bool
    _is_told: bool
    _loss: Loss | None
    _on_lost: OnLost | None
    _watch: Watch | None

    @classmethod
    def _of(cls, native: _native.Lock, on_lost: OnLost | None = None, cancel_on_loss: bool = False) -> Self:
        self = super()._of(native)
        self._cancel_on_loss, self._on_lost, self._is_told = cancel_on_loss, on_lost, False
        self._loss = self._watch = None
        return self

    @property
    def lost(self) -> Loss:
        """Tells the loss of the present grant, with `is_set()` and `await wait()`; see `quotalock.Lock.lost`."""
        native = self._native.lost
        if self._loss is None or self._loss._native is not native:
            self._loss = Loss._of(native)
        return self._loss

    async def acquire(self, wait: float | None = None) -> bool:
        """Acquires it, waiting for at most `wait` seconds (None: as the handle was made): True if it is held now."""
        answer = on_loop(self._native.acquire)(wait)
        try:
            granted = await answer
            if granted and self._on_lost is not None:
                self._listen()
            return granted
        except asyncio.CancelledError:
            # The task may have been cancelled when it was granted already.
            if answer.cancelled() or (answer.done() and not answer.exception() and answer.result()):
                self._native._abandon()
            raise
        except GeneratorExit:
            # Nobody awaits this any more, and of its loop nothing may be left.
            self._native._abandon()
            if not answer.get_loop().is_closed():
                answer.cancel()
            raise

    async def release(self) -> bool:
        """Releases it: True if it was held until now. Renewal stops at once; once begun, it is done."""
        was_held = self._on_lost is not None and self.held
        released = await on_loop(self._native.release)()
        if was_held and not released:
            self._tell_loss()
        return released

    async def __aenter__(self) -> Lock:
        if not await self.acquire():
            raise self._native._not_acquired()
        task = asyncio.current_task()
        if self._cancel_on_loss and task is not None:
            try:
                self._watch = Watch(task, self.lost)
            except BaseException:
                self._native._abandon()
                raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, GeneratorExit):
            # The coroutine is thrown away and may not await; nor is there a loop, as a rule.
            self._native._abandon()
            return
        watch, self._watch = self._watch, None
        is_own = watch is not None and watch.ends_as_loss(error)
        # What the body raised says more than what became of the lock.
        is_told = error is None or is_own
        was_acquired, loss = self.state != "released", self._loss_error()
        try:
            released = await self.release()
        except QuotalockError as failure:
            if is_told:
                raise loss or failure from error
            return
        if is_told and was_acquired and not released:
            raise loss or self._loss_error() or Lost() from error

    def _listen(self) -> None:
        """Has the running loop tell `on_lost` when the present grant is lost."""
        self._is_told, itself = False, weakref.ref(self)

        def on_end(future: asyncio.Future[bool]) -> None:
            lock = itself()
            if lock is not None and not future.cancelled() and not future.exception() and future.result():
                lock._tell_loss()

        self.lost._on_this_loop().add_done_callback(on_end)

    def _tell_loss(self) -> None:
        # A release may find what the loop is about to tell.
        if self._on_lost is not None and not self._is_told:
            self._is_told = True
            tell_lost(self._on_lost, self)

    def _loss_error(self) -> Lost | None:
        try:
            self.assert_held()
        except Lost as loss:
            return loss
        return None


OnLost = Callable[[Lock], object]


class Loss(Wrapper[_native.Loss], made_by="Lock.lost"):
    """Tells the loss of one grant of a lock; see `Lock.lost`. As a bool, whether it is lost."""

    __slots__ = ("_future",)
    _future: asyncio.Future[bool] | None

    @classmethod
    def _of(cls, native: _native.Loss) -> Self:
        self = super()._of(native)
        self._future = None
        return self

    def is_set(self) -> bool:
        """Whether it is lost."""
        return self._native.is_set()

    async def wait(self) -> bool:
        """Waits until it is lost: True if it is, False if the lock was released."""
        # All who wait have one future, so that one of them who goes leaves nothing behind.
        return await asyncio.shield(self._on_this_loop())

    def _on_this_loop(self) -> asyncio.Future[bool]:
        future = self._future
        if future is None or future.get_loop() is not asyncio.get_running_loop():
            future = self._future = self._native._future()
            # It is nobody's fault if the client is closed and nobody listens.
            future.add_done_callback(_retrieve)
        return future

    def __bool__(self) -> bool:
        return self.is_set()


class Watch:
    """Cancels a task when a lock is lost, and tells whether it was this that ended the task's block."""

    __slots__ = ("_before", "_future", "_has_cancelled", "_message", "_task")

    def __init__(self, task: asyncio.Task[Any], loss: Loss) -> None:
        self._task, self._has_cancelled = task, False
        self._message = f"a lock was lost in {task.get_name()}"
        # Python 3.10 counts no cancellations.
        self._before: int = task.cancelling() if hasattr(task, "cancelling") else 0
        self._future = loss._on_this_loop()
        self._future.add_done_callback(self._on_end)

    def _on_end(self, future: asyncio.Future[bool]) -> None:
        if not future.cancelled() and not future.exception() and future.result():
            self._has_cancelled = True
            self._task.cancel(self._message)

    def ends_as_loss(self, error: BaseException | None) -> bool:
        """Ends the watch: True if it is its own cancellation, and no other, that ends the block."""
        self._future.remove_done_callback(self._on_end)
        if not self._has_cancelled:
            return False
        if hasattr(self._task, "uncancel"):
            is_alone = self._task.uncancel() <= self._before
        else:
            # There only the message tells whose cancellation it is, and of two in one tick it is that of the first.
            is_alone = error is not None and any(message is self._message for message in error.args)
        return is_alone and isinstance(error, asyncio.CancelledError)


def _retrieve(future: asyncio.Future[bool]) -> None:
    if not future.cancelled():
        future.exception()
