"""Locks on loops, cancelled at any moment: nothing is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import random
from typing import TYPE_CHECKING, Any, cast

import pytest
from locks import PATIENT, until_awaited, until_left_alone, wait_until
from quotalock import aio
from quotalock.aio._wrapper import on_loop
from surface import run

if TYPE_CHECKING:
    from quotalock._native import Lock as NativeLock


@pytest.mark.parametrize("names", [1, 7])
def test_a_storm_of_cancellations_leaks_nothing(store_url: str, prefix: str, names: int) -> None:
    """Waits that are cancelled at random moments: while they are in line, asked for, granted, or released."""
    chance = random.Random(names)

    async def body() -> None:
        client = aio.Client(store_url, prefix=prefix, timeout=PATIENT)
        ends = {"held": 0, "cancelled": 0, "refused": 0}

        async def attempt(number: int) -> None:
            lock = client.lock(f"sku:{number % names}", fair=number % 3 == 0)
            try:
                if await lock.acquire(chance.choice([0, 0.05, 60])):
                    ends["held"] += 1
                    try:
                        await asyncio.sleep(chance.choice([0, 0, 0.001]))
                    finally:
                        await lock.release()
                else:
                    ends["refused"] += 1
            except asyncio.CancelledError:
                ends["cancelled"] += 1
                assert not lock.held
                raise

        tasks = []
        event_loop = asyncio.get_running_loop()
        for number in range(3000):
            task = asyncio.create_task(attempt(number))
            tasks.append(task)
            event_loop.call_later(chance.uniform(0, 0.05) if number % 10 else 1.0, task.cancel)
            if number % 20 == 0:
                await asyncio.sleep(chance.uniform(0, 0.01))
        await asyncio.wait(tasks, timeout=60)
        assert all(task.done() for task in tasks)
        failed = [task.exception() for task in tasks if not task.cancelled()]
        assert not any(failed)
        assert min(ends.values()) > 0, ends
        for name in range(names):
            lock = client.lock(f"sku:{name}")
            await until_left_alone(lock)
            assert await lock.acquire()
            assert await lock.release()
        await client.close()

    run(body)


def test_a_cancelled_acquire_leaves_its_handle_free(store_url: str, prefix: str) -> None:
    async def body() -> None:
        client = aio.Client(store_url, prefix=prefix, timeout=PATIENT)
        holder, lock = client.lock("sku:42"), client.lock("sku:42")
        assert await holder.acquire()
        for _ in range(20):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(lock.acquire(60), 0.01)
            assert lock.state == "released"
        assert await holder.release()
        assert await lock.acquire(PATIENT)
        assert await lock.release()
        await until_left_alone(lock)
        await client.close()

    run(body)


class Cancelling:
    """The native half of a handle, whose caller is cancelled between the answer and its next turn."""

    def __init__(self, native: Any) -> None:
        self.native = native

    def acquire(self, wait: float | None) -> asyncio.Future[bool]:
        task, answer = asyncio.current_task(), self.native.acquire(wait)
        assert task is not None
        answer.add_done_callback(lambda _: task.cancel())
        return cast("asyncio.Future[bool]", answer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.native, name)


@pytest.mark.parametrize("told", [False, True])
def test_a_grant_that_comes_with_the_cancellation_is_given_back(store_url: str, prefix: str, told: bool) -> None:
    """The lock is granted, and the loop does not know yet; or it does, and the task was not its turn yet."""

    async def body() -> None:
        client = aio.Client(store_url, prefix=prefix, timeout=PATIENT)
        holder, lock = client.lock("sku:42"), client.lock("sku:42")
        if told:
            lock._native = cast("NativeLock", Cancelling(lock._native))
        for _ in range(20):
            assert await holder.acquire()
            task = asyncio.create_task(lock.acquire(60))
            await until_awaited(holder)
            release = on_loop(holder._native.release)()
            # The loop stands still while the lock is passed on.
            if not told:
                wait_until(lambda: lock.token is not None)
            if not told:
                task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert lock.state == "released"
            assert await release
            await until_left_alone(lock)
        await client.close()

    run(body)


def test_a_cancelled_release_is_done(store_url: str, prefix: str) -> None:
    async def body() -> None:
        client = aio.Client(store_url, prefix=prefix, timeout=PATIENT)
        for pause in (0, 0, 0.001):
            lock = client.lock("sku:42")
            assert await lock.acquire(PATIENT)
            release = asyncio.create_task(lock.release())
            await asyncio.sleep(0)
            await asyncio.sleep(pause)
            release.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await release
            assert not lock.held
            await until_left_alone(lock)
        await client.close()

    run(body)


def test_a_block_that_is_cancelled_releases(store_url: str, prefix: str) -> None:
    async def body() -> None:
        client = aio.Client(store_url, prefix=prefix, timeout=PATIENT)
        lock = client.lock("sku:42")

        async def work() -> None:
            async with lock:
                await asyncio.sleep(60)

        for pause in (0.0, 0.001, 0.05):
            task = asyncio.create_task(work())
            await asyncio.sleep(pause)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until_left_alone(lock)
        await client.close()

    run(body)
