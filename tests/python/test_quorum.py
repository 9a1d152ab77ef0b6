"""A lock over three independent servers on both faces: most of them decide, also with one gone."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import quotalock
from conftest import STORES
from quotalock import aio
from surface import Surface, fresh_memory

# Longer than a stall of a machine that is shared, and soon shorter than the servers have been up.
TTL = 3.0
LONG = 20.0


@pytest.fixture
def clients(surface: Surface, prefix: str) -> Iterator[list[Any]]:
    urls = [url for name, url in STORES.items() if name != "memory"]
    clients = [surface.module.Client(url, prefix=prefix, timeout=LONG) for url in urls]
    yield clients
    for client in clients:
        surface.call(client.close)


def gone(surface: Surface, prefix: str, port: int = 1) -> Any:
    """A client of a server that is not there: nobody listens on so low a port."""
    return surface.module.Client(f"redis://127.0.0.1:{port}", prefix=prefix)


def lock_of(surface: Surface, clients: list[Any], **options: Any) -> Any:
    return surface.module.quorum_lock(clients, "sku:42", **{"ttl": TTL, "wait": LONG, **options})


def hold(surface: Surface, lock: Any, body: Callable[[], Any] = lambda: None) -> Any:
    """Runs `body` in the block of a lock."""

    async def inside() -> Any:
        async with lock:
            answer = body()
            return await answer if inspect.isawaitable(answer) else answer

    if surface.name == "python":
        with lock:
            return body()
    return surface.call(inside)


def lost_soon(surface: Surface, lock: Any) -> bool:
    if surface.name == "python":
        return bool(lock.lost.wait(LONG))
    return bool(surface.call(lambda: asyncio.wait_for(lock.lost.wait(), LONG)))


def test_one_holds(surface: Surface, clients: list[Any]) -> None:
    call = surface.call
    first, second = lock_of(surface, clients, label="checkout", token_above=7), lock_of(surface, clients)
    assert type(first) is surface.module.Lock
    assert (first.state, first.names, first.ttl) == ("released", ("sku:42",), TTL)
    assert call(first.acquire)
    assert first.held
    assert first.token > 7
    assert first.remaining < TTL
    assert not call(second.acquire, wait=0.0)
    with pytest.raises(quotalock.NotAcquired, match="0 of 3 servers granted it"):
        hold(surface, lock_of(surface, clients, wait=0.0))
    (holder,) = call(second.inspect).holders
    assert holder.label == "checkout"
    token = first.token
    assert call(first.release)
    assert not call(first.release)
    assert hold(surface, second, lambda: second.token) > token
    assert second.state == "released"


def test_it_is_renewed_and_extended(surface: Surface, clients: list[Any]) -> None:
    lock = lock_of(surface, clients)
    assert surface.call(lock.acquire)
    time.sleep(1.3 * TTL)
    assert lock.held
    assert surface.call(lock.extend, 60.0)
    assert lock.remaining > 50
    assert surface.call(lock.release)


def test_without_renewal_it_ends(surface: Surface, clients: list[Any]) -> None:
    lock = lock_of(surface, clients, renew=False)
    assert surface.call(lock.acquire)
    assert lost_soon(surface, lock)
    with pytest.raises(quotalock.Lost):
        lock.assert_held()
    assert not surface.call(lock.extend)
    assert surface.call(lock_of(surface, clients).acquire)


def test_a_holder_that_is_forced_out_is_told(surface: Surface, clients: list[Any]) -> None:
    lock = lock_of(surface, clients)
    assert surface.call(lock.acquire)
    assert surface.call(lock_of(surface, clients).force_release) == 1
    assert lost_soon(surface, lock)
    assert lock.state == "lost"


def test_one_server_may_be_gone_but_not_two(surface: Surface, clients: list[Any], prefix: str) -> None:
    two = [clients[0], gone(surface, prefix), clients[2]]
    lock = lock_of(surface, two)
    assert surface.call(lock.acquire)
    assert not surface.call(lock_of(surface, clients).acquire, 0.0)
    assert surface.call(lock.extend)
    assert surface.call(lock.release)
    one = [clients[0], gone(surface, prefix), gone(surface, prefix, 2)]
    with pytest.raises(quotalock.NotAcquired, match="1 of 3 servers granted it"):
        hold(surface, lock_of(surface, one, wait=0.2))
    # What the one granted was taken back.
    assert surface.call(clients[0].lock("sku:42").acquire)


def test_what_makes_no_quorum_is_refused(surface: Surface) -> None:
    make = surface.module.quorum_lock
    clients = [surface.module.Client(fresh_memory()) for _ in range(3)]
    for few in ([], clients[:2]):
        with pytest.raises(quotalock.InvalidArgument, match=f"{len(few)} clients make no quorum"):
            make(few, "n")
    with pytest.raises(quotalock.InvalidArgument, match="given twice"):
        make([*clients, clients[0]], "n")
    with pytest.raises(quotalock.InvalidArgument, match="ttl"):
        make(clients, "n", ttl=0.001)
    with pytest.raises(quotalock.InvalidArgument, match="name"):
        make(clients, "")
    other = (aio if surface.name == "python" else quotalock).Client(fresh_memory())
    for wrong in (clients[0], 5, [*clients, "memory://"], [*clients[:2], other]):
        with pytest.raises(TypeError):
            make(wrong, "n")
    with pytest.raises(TypeError):
        make(clients, "n", fair=True)


def test_on_memory_it_is_a_lock_as_well(surface: Surface) -> None:
    call = surface.call
    clients = (surface.module.Client(fresh_memory()) for _ in range(3))
    lock = surface.module.quorum_lock(clients, b"n", wait=LONG)
    assert hold(surface, lock, lock.extend) is True
    assert call(lock.acquire)
    assert call(lock.force_release) == 1
    assert not call(lock.extend)


def test_a_task_in_the_block_is_cancelled_by_the_loss(prefix: str) -> None:
    async def main() -> None:
        clients = [aio.Client(url, prefix=prefix, timeout=LONG) for name, url in STORES.items() if name != "memory"]

        async def work() -> None:
            async with aio.quorum_lock(clients, "n", ttl=TTL, wait=LONG, cancel_on_loss=True):
                assert await aio.quorum_lock(clients, "n").force_release() == 1
                await asyncio.sleep(LONG)

        with pytest.raises(quotalock.Lost):
            await work()
        for client in clients:
            await client.close()

    asyncio.run(main())


def test_who_is_cancelled_leaves_nothing(prefix: str) -> None:
    async def main() -> None:
        clients = [aio.Client(url, prefix=prefix, timeout=LONG) for name, url in STORES.items() if name != "memory"]
        holder, waiter, other = (aio.quorum_lock(clients, "n", ttl=2 * TTL) for _ in range(3))
        assert await holder.acquire(LONG)
        for patience in (0.0, 0.03, 0.1, 0.3):
            task = asyncio.create_task(waiter.acquire(LONG))
            await asyncio.sleep(patience)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert waiter.state == "released"
        assert await holder.release()
        # Whether or not it gets it in this moment.
        task = asyncio.create_task(waiter.acquire(LONG))
        await asyncio.sleep(0.003)
        task.cancel()
        (ended,) = await asyncio.gather(task, return_exceptions=True)
        if ended is True:
            assert await waiter.release()
        assert await other.acquire(LONG)
        assert waiter.state == "released"
        for client in clients:
            await client.close()

    asyncio.run(main())
