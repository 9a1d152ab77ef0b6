"""Locks on loops: tasks take turns, on loops that end, of several threads, and in forks."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import threading
import time

import pytest
import quotalock
from locks import PATIENT, until_left_alone
from quotalock import aio
from surface import run

pytestmark = pytest.mark.usefixtures("each_loop")


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

    entered = asyncio.Event()

    async def work() -> None:
        async with aclient.lock("sku:42"):
            entered.set()
            await asyncio.sleep(60)

    event_loop = asyncio.new_event_loop()
    event_loop.set_exception_handler(lambda *_: None)
    task = event_loop.create_task(work())
    event_loop.run_until_complete(entered.wait())
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


def test_a_fork_with_locks_on_a_loop(url: str, prefix: str) -> None:
    client = aio.Client(url, prefix=prefix, timeout=PATIENT)
    tried, tell = os.pipe()

    async def of_child(lock: aio.Lock) -> None:
        assert lock.state == "released"
        assert not await lock.acquire()
        assert lock.lost.is_set() is False
        os.write(tell, b"x")
        async with client.lock(f"child-{os.getpid()}", ttl=4) as own:
            await asyncio.sleep(1.5)
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
        lock, waiting = client.lock("sku:42", ttl=4), client.lock("sku:42")
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
        await asyncio.sleep(1.5)
        for _ in children:
            await asyncio.to_thread(os.read, tried, 1)
        assert lock.held
        assert await lock.release()
        assert await waiter
        assert await waiting.release()
        ended = await asyncio.to_thread(lambda: [os.waitpid(pid, 0)[1] for pid in children])
        assert ended == [0, 0]
        await client.close()

    run(body)
