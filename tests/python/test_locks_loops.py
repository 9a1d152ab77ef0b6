"""Locks on loops: cancelled at any moment, lost in the middle of a block, on loops that end, in forks."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import random
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

import pytest
import quotalock
from quotalock import aio

if TYPE_CHECKING:
    from quotalock.aio._futures import LoopLock

PATIENT = 10.0


def run(body: Callable[[], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        return await body()

    return asyncio.run(main())


async def until_left_alone(lock: aio.Lock) -> None:
    """Nobody holds it and nobody waits for it, or will: a held one that leaked is renewed for ever."""
    give_up = time.monotonic() + PATIENT
    while True:
        seen = await lock.inspect()
        if (seen.holders, seen.waiters) == ((), 0):
            return
        assert time.monotonic() < give_up, seen
        await asyncio.sleep(0.01)


def test_tasks_take_turns(store_url: str, prefix: str) -> None:
    async def body() -> None:
        client = aio.Client(store_url, prefix=prefix, timeout=PATIENT)
        inside, turns = 0, 0

        async def work() -> None:
            nonlocal inside, turns
            lock = client.lock("sku:42", wait=60)
            for _ in range(5):
                async with lock:
                    inside += 1
                    await asyncio.sleep(0)
                    assert inside == 1
                    turns += 1
                    inside -= 1

        await asyncio.gather(*(work() for _ in range(40)))
        assert turns == 200
        await until_left_alone(client.lock("sku:42"))
        await client.close()

    run(body)


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
            lock._native = cast("LoopLock", Cancelling(lock._native))
        for _ in range(20):
            assert await holder.acquire()
            task = asyncio.create_task(lock.acquire(60))
            await asyncio.sleep(0.005)
            release = holder._native.release()
            # The loop stands still while the lock is passed on.
            while not told and lock.token is None:
                time.sleep(0.001)
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
        async with lock:
            assert lock.held
        await asyncio.sleep(0.3)
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
        client = aio.Client("memory://")
        entered = asyncio.Event()

        async def work(then: str) -> str:
            try:
                async with client.lock("sku:42", ttl=0.1, renew=False, wait=PATIENT, cancel_on_loss=True):
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
            task = asyncio.create_task(work(then))
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
        client = aio.Client("memory://")
        lock = client.lock("sku:42", ttl=0.1, renew=False, cancel_on_loss=True)

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
        with pytest.raises(TimeoutError):
            async with timeout(0.05), lock:
                await asyncio.sleep(60)
        with pytest.raises(TimeoutError):
            async with lock, timeout(0.05):
                await asyncio.sleep(60)
        await until_left_alone(lock)
        await client.close()

    run(body)


def test_losses_are_told_to_all_who_wait(store_url: str, prefix: str) -> None:
    async def body() -> None:
        client = aio.Client(store_url, prefix=prefix, timeout=PATIENT)
        lock = client.lock("sku:42", ttl=0.4, renew=False)
        assert await lock.acquire()
        lost = lock.lost
        # One that gives up takes nothing from the others.
        for _ in range(20):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(lost.wait(), 0.001)
        assert not lost.is_set()
        assert await asyncio.gather(*(lost.wait() for _ in range(10))) == [True] * 10
        assert await lost.wait()
        await lock.release()
        assert await lock.acquire()
        waiting = asyncio.create_task(lock.lost.wait())
        await asyncio.sleep(0.01)
        assert await lock.release()
        assert await waiting is False
        await client.close()

    run(body)


def test_a_loop_that_is_closed_with_waiters_leaves_nothing(url: str, prefix: str) -> None:
    client = quotalock.Client(url, prefix=prefix, timeout=PATIENT)
    aclient = aio.Client(url, prefix=prefix, timeout=PATIENT)
    holder = client.lock("sku:42")
    for keeps_tasks in (True, False):
        assert holder.acquire()
        event_loop = asyncio.new_event_loop()
        event_loop.set_exception_handler(lambda *_: None)
        tasks = [event_loop.create_task(aclient.lock("sku:42").acquire(60)) for _ in range(5)]
        event_loop.run_until_complete(asyncio.sleep(0.1))
        event_loop.close()
        if not keeps_tasks:
            tasks.clear()
            gc.collect()
        assert holder.release()
        give_up = time.monotonic() + PATIENT
        # None of them gets it any more: what would be granted to nobody would be renewed for an hour.
        while (seen := holder.inspect()).holders or seen.waiters:
            assert time.monotonic() < give_up, seen
            time.sleep(0.01)
        time.sleep(0.1)
        assert holder.inspect().holders == ()
        tasks.clear()
        gc.collect()


def test_a_loop_that_is_closed_in_a_block_leaves_nothing(url: str, prefix: str) -> None:
    client = quotalock.Client(url, prefix=prefix, timeout=PATIENT)
    aclient = aio.Client(url, prefix=prefix, timeout=PATIENT)

    async def work() -> None:
        async with aclient.lock("sku:42"):
            await asyncio.sleep(60)

    event_loop = asyncio.new_event_loop()
    event_loop.set_exception_handler(lambda *_: None)
    task = event_loop.create_task(work())
    event_loop.run_until_complete(asyncio.sleep(0.1))
    event_loop.close()
    assert len(client.lock("sku:42").inspect().holders) == 1
    del task
    gc.collect()
    assert client.lock("sku:42").acquire(PATIENT)


def test_loops_of_several_threads_share_a_client(store_url: str, prefix: str) -> None:
    client = aio.Client(store_url, prefix=prefix, timeout=PATIENT)
    inside, turns = [0], [0]

    async def body() -> None:
        async def work() -> None:
            lock = client.lock("sku:42", wait=60)
            for _ in range(10):
                async with lock:
                    inside[0] += 1
                    assert inside[0] == 1
                    turns[0] += 1
                    inside[0] -= 1

        await asyncio.gather(*(work() for _ in range(5)))

    threads = [threading.Thread(target=run, args=(body,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert turns == [200]
    asyncio.run(client.close())


def test_a_handle_goes_from_loop_to_loop(store_url: str, prefix: str) -> None:
    client = aio.Client(store_url, prefix=prefix, timeout=PATIENT)
    lock = client.lock("sku:42")

    async def watch() -> bool:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(lock.lost.wait(), 0.01)
        return lock.held

    for _ in range(5):
        assert asyncio.run(lock.acquire(PATIENT))
        assert asyncio.run(watch())
        assert asyncio.run(lock.extend())
        assert asyncio.run(lock.release())
    asyncio.run(client.close())


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_fork_with_locks_on_a_loop(url: str, prefix: str) -> None:
    client = aio.Client(url, prefix=prefix, timeout=PATIENT)

    async def of_child(lock: aio.Lock) -> None:
        assert lock.state == "released"
        assert not await lock.acquire()
        assert lock.lost.is_set() is False
        async with client.lock(f"child-{os.getpid()}", ttl=1) as own:
            await asyncio.sleep(0.5)
            assert own.held
        assert await lock.acquire(PATIENT)
        assert await lock.release()

    def child(lock: aio.Lock) -> None:
        try:
            asyncio.run(of_child(lock))
        except BaseException as failure:
            print(repr(failure), flush=True)
            os._exit(1)
        os._exit(0)

    async def body() -> None:
        lock, waiting = client.lock("sku:42", ttl=1), client.lock("sku:42")
        assert await lock.acquire()
        waiter = asyncio.create_task(waiting.acquire(PATIENT))
        await asyncio.sleep(0.05)
        children = []
        for _ in range(2):
            pid = os.fork()
            if pid == 0:
                # The child has no running loop of its own yet.
                asyncio.events._set_running_loop(None)
                child(lock)
            children.append(pid)
        await asyncio.sleep(0.7)
        assert lock.held
        assert await lock.release()
        assert await waiter
        assert await waiting.release()
        ended = await asyncio.to_thread(lambda: [os.waitpid(pid, 0)[1] for pid in children])
        assert ended == [0, 0]
        await client.close()

    run(body)
