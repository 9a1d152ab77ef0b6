"""Locks on loops that are lost: who is told, and whose block is cancelled."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

import pytest
import quotalock
from locks import PATIENT, until_left_alone
from quotalock import aio
from surface import fresh_memory, run


def test_the_loss_cancels_the_block(store_url: str, prefix: str) -> None:
    async def body() -> None:
        client = aio.Client(store_url, prefix=prefix, timeout=PATIENT)
        lock = client.lock("sku:42", ttl=0.2, renew=False, cancel_on_loss=True)
        began = time.monotonic()
        with pytest.raises(quotalock.Lost, match="was lost") as caught:
            async with lock:
                await asyncio.sleep(60)
        assert time.monotonic() - began < 5
        assert isinstance(caught.value.__cause__, asyncio.CancelledError)
        task = asyncio.current_task()
        assert task is not None
        if hasattr(task, "cancelling"):
            assert task.cancelling() == 0
        # The task is as good as before.
        await asyncio.sleep(0)
        async with client.lock("sku:42", cancel_on_loss=True, wait=PATIENT) as again:
            await asyncio.sleep(0.3)
            assert again.held
        await client.close()

    run(body)


def test_without_the_option_nobody_is_cancelled(store_url: str, prefix: str) -> None:
    async def body() -> None:
        client = aio.Client(store_url, prefix=prefix, timeout=PATIENT)
        done = False

        async def work() -> None:
            nonlocal done
            async with client.lock("sku:42", ttl=0.2, renew=False) as lock:
                assert await lock.lost.wait()
                await asyncio.sleep(0.05)
                done = True

        with pytest.raises(quotalock.Lost):
            await work()
        assert done
        await client.close()

    run(body)


@pytest.fixture(params=["3.11", "3.10"])
def counting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether tasks count their cancellations, which those of Python 3.10 do not."""
    if request.param == "3.10":
        monkeypatch.setattr("quotalock.aio._lock.hasattr", lambda *_: False, raising=False)
    return bool(request.param == "3.11" and sys.version_info >= (3, 11))


@pytest.mark.usefixtures("counting")
def test_what_ends_a_block_that_was_cancelled() -> None:
    async def body() -> None:
        client = aio.Client(fresh_memory())
        entered = asyncio.Event()

        async def work(then: str, cancelled: bool) -> str:
            try:
                # What is to be cancelled is not to be lost before.
                ttl = 2.0 if then or not cancelled else 30.0
                async with client.lock("sku:42", ttl=ttl, renew=False, wait=PATIENT, cancel_on_loss=True):
                    entered.set()
                    try:
                        await asyncio.sleep(60)
                    except asyncio.CancelledError:
                        if then == "raise":
                            raise ZeroDivisionError from None
                        if then != "swallow":
                            raise
            except quotalock.Lost:
                return "lost"
            return "nothing"

        async def end(then: str, *, cancel: bool = False) -> Any:
            entered.clear()
            task = asyncio.create_task(work(then, cancel))
            await entered.wait()
            if cancel:
                task.cancel()
            return (await asyncio.gather(task, return_exceptions=True))[0]

        assert await end("") == "lost"
        assert isinstance(await end("", cancel=True), asyncio.CancelledError)
        assert isinstance(await end("raise"), ZeroDivisionError)
        assert await end("swallow") == "lost"
        await client.close()

    run(body)


def test_an_outer_cancellation_in_the_same_tick_is_not_swallowed(counting: bool) -> None:
    async def body() -> None:
        client = aio.Client(fresh_memory())
        lock = client.lock("sku:42", ttl=2.0, renew=False, cancel_on_loss=True)

        async def work(is_first: bool) -> None:
            async with lock:
                # Callbacks run in the order in which they were added, and the block's own is there already.
                task, loss, watch = asyncio.current_task(), lock.lost._on_this_loop(), lock._watch
                assert task is not None
                assert watch is not None
                loss.add_done_callback(lambda _: task.cancel())
                if is_first:
                    loss.remove_done_callback(watch._on_end)
                    loss.add_done_callback(watch._on_end)
                await asyncio.sleep(60)

        # Python 3.10 cannot know of the second of two.
        for is_first in (True, False) if counting else (True,):
            task = asyncio.create_task(work(is_first))
            with pytest.raises(asyncio.CancelledError):
                await task
            assert task.cancelled()
        await client.close()

    run(body)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio.timeout is new in 3.11")
def test_within_a_timeout(store_url: str, prefix: str) -> None:
    async def body() -> None:
        timeout: Any = asyncio.timeout  # type: ignore[attr-defined,unused-ignore]
        client = aio.Client(store_url, prefix=prefix, timeout=PATIENT)
        lock = client.lock("sku:42", ttl=0.2, renew=False, cancel_on_loss=True)
        with pytest.raises(quotalock.Lost):
            async with timeout(PATIENT), lock:
                await asyncio.sleep(60)
        with pytest.raises(quotalock.Lost):
            async with lock, timeout(PATIENT):
                await asyncio.sleep(60)
        lasting = client.lock("sku:42", wait=PATIENT, cancel_on_loss=True)
        with pytest.raises(TimeoutError):
            async with timeout(0.05), lasting:
                await asyncio.sleep(60)
        with pytest.raises(TimeoutError):
            async with lasting, timeout(0.05):
                await asyncio.sleep(60)
        await until_left_alone(lock)
        await client.close()

    run(body)


def test_losses_are_told_to_all_who_wait(store_url: str, prefix: str) -> None:
    async def body() -> None:
        client = aio.Client(store_url, prefix=prefix, timeout=PATIENT)
        lock = client.lock("sku:42")
        assert await lock.acquire()
        lost = lock.lost
        # One that gives up takes nothing from the others.
        for _ in range(20):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(lost.wait(), 0.001)
        assert not lost.is_set()
        waiting = [asyncio.create_task(lost.wait()) for _ in range(10)]
        await asyncio.sleep(0.01)
        assert await client.lock("sku:42").force_release() == 1
        # It learns of it by that.
        assert not await lock.extend()
        assert await asyncio.gather(*waiting) == [True] * 10
        assert await lost.wait()
        await lock.release()
        assert await lock.acquire()
        watching = asyncio.create_task(lock.lost.wait())
        await asyncio.sleep(0.01)
        assert await lock.release()
        assert await watching is False
        await client.close()

    run(body)
