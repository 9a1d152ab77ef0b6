"""Locks and the close of their client: what it held is given back, who waits is told, and nothing works after it."""

from __future__ import annotations

import threading
import time
from typing import Any

import measure
import pytest
import quotalock
from locks import PATIENT, wait_until
from servers import Server
from surface import Surface


def test_nothing_works_after_close(surface: Surface, store_url: str, prefix: str) -> None:
    call = surface.call
    client = surface.module.Client(store_url, prefix=prefix, timeout=PATIENT)
    held, lock = client.lock("held", ttl=1), client.lock("sku:42")
    assert call(held.acquire)
    call(client.close)
    for verb in (lock.acquire, lambda: lock.acquire(5), lock.inspect, lock.force_release, held.extend):
        with pytest.raises(quotalock.Closed) as caught:
            call(verb)
        assert caught.value.code == "closed"
    assert not call(lock.release)
    assert lock.state == "released"
    # It was given back.
    assert (held.state, held.held, call(held.release)) == ("lost", False, False)


def test_close_gives_back_what_is_held(surface: Surface, url: str, prefix: str) -> None:
    call = surface.call
    options: dict[str, Any] = {"prefix": prefix, "timeout": PATIENT}
    other = quotalock.Client(url, **options)
    for close in ("close", "block"):
        client = surface.module.Client(url, **options)
        held = [
            client.lock("sku:42"),
            client.lock_all(["{all}a", "{all}b"]),
            client.semaphore("pool", permits=3, weight=2),
            client.read_lock("book"),
        ]
        assert all(call(lock.acquire) for lock in held)
        if close == "close":
            call(client.close)
        elif surface.name == "python":
            with client:
                pass
        else:

            async def block(client: Any = client) -> None:
                async with client:
                    pass

            call(block)
        for lock in held:
            assert (lock.state, lock.held, lock.lost.is_set()) == ("lost", False, True)
            with pytest.raises(quotalock.Lost):
                lock.assert_held()
        assert other.lock("sku:42").inspect().holders == ()
        # Nothing of it is left.
        for lock in (other.lock_all(["{all}a", "{all}b"]), other.semaphore("pool", 3, 3), other.write_lock("book")):
            with lock:
                pass
        call(client.close)


def test_close_takes_no_longer_than_the_timeout(surface: Surface, prefix: str) -> None:
    with Server("redis-7.0") as server, measure.Stalls() as stalls:
        client = surface.module.Client(server.url, prefix=prefix, timeout=1.0)
        locks = [client.lock(f"sku:{n}") for n in range(20)]
        assert all(surface.call(lock.acquire) for lock in locks)
        server.sigstop()
        began = time.monotonic()
        surface.call(client.close)
        assert time.monotonic() - began < 1.5 + stalls.worst
        assert not any(lock.held for lock in locks)


def test_close_ends_those_who_wait(surface: Surface, url: str, prefix: str) -> None:
    client = surface.module.Client(url, prefix=prefix, timeout=PATIENT)
    holder, lock = quotalock.Client(url, prefix=prefix, timeout=PATIENT).lock("sku:42"), client.lock("sku:42")
    assert holder.acquire()
    ends: list[str] = []

    def wait() -> None:
        with Surface(surface.name) as other:
            try:
                other.call(lock.acquire, PATIENT)
            except quotalock.QuotalockError as error:
                ends.append(error.code)

    waiter = threading.Thread(target=wait)
    waiter.start()
    wait_until(lambda: holder.inspect().waiters == 1)
    surface.call(client.close)
    waiter.join(PATIENT)
    assert ends == ["closed"]
    wait_until(lambda: holder.inspect().waiters == 0)
    assert holder.release()
