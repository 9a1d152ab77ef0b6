"""Locks on both faces and every store: what a handle does and tells."""

from __future__ import annotations

import gc
import os
import socket
import threading
import time
from typing import Any

import measure
import pytest
import quotalock
from locks import PATIENT, SOON, hold, wait_until
from surface import Surface


def test_one_holds_and_the_other_learns_who(surface: Surface, client: Any) -> None:
    call = surface.call
    first, second = client.lock("sku:42", label="checkout"), client.lock(b"sku:42")
    assert (first.state, first.held, first.token, first.remaining, first.ttl) == ("released", False, None, 0.0, 30.0)
    assert call(first.acquire)
    assert (first.state, first.held) == ("held", True)
    assert 20.0 < first.remaining < 29.7
    assert not call(second.acquire)
    assert not call(second.release)
    seen = call(second.inspect)
    assert isinstance(seen, quotalock.Inspection)
    assert (seen.token, seen.waiters, seen.healed) == (first.token, 0, False)
    (holder,) = seen.holders
    assert isinstance(holder, quotalock.Holder)
    assert (holder.pid, holder.host, holder.label) == (os.getpid(), socket.gethostname(), "checkout")
    assert (holder.token, holder.permits) == (first.token, 1)
    assert abs(holder.since - time.time()) < 60
    assert holder.until == pytest.approx(holder.since + 30, abs=1e-3)
    assert seen == call(first.inspect)
    with pytest.raises(quotalock.NotAcquired, match="checkout") as caught:
        hold(surface, second)
    assert caught.value.code == "not_acquired"
    assert call(first.release)
    assert not call(first.release)
    token = seen.token
    assert call(second.acquire)
    assert second.token > token
    assert call(second.release)
    assert call(second.inspect).holders == ()


def test_names_are_given_back_as_they_were_given(local: Any) -> None:
    assert local.lock("ł").names == ("ł",)
    assert local.lock("ł").redis_keys == (b"ql:lock:{\xc5\x82}",)
    several = local.lock_all(iter(["a", b"\xff"]))
    assert several.names == ("a", b"\xff")
    assert several.redis_keys == (b"ql:lock:{a}", b"ql:lock:{\xff}")
    assert local.semaphore("pool", 2).redis_keys == (b"ql:sem:{pool}",)
    assert local.read_lock("doc").redis_keys == local.write_lock("doc").redis_keys == (b"ql:rw:{doc}",)


def test_what_reprs_say(surface: Surface, local: Any) -> None:
    module = "quotalock" if surface.name == "python" else "quotalock.aio"
    lock = local.lock_all(["sku:42", b"\xff"], label="it's")
    assert repr(lock) == f"<{module}.Lock 'sku:42', b'\\xff' released>"
    assert repr(lock.lost) == f"<{module}.Loss unset>"
    assert surface.call(lock.acquire)
    assert repr(lock) == f"<{module}.Lock 'sku:42', b'\\xff' held>"
    shown = repr(surface.call(lock.inspect))
    assert shown.startswith(f"Inspection(token={lock.token}, waiters=0, holders=(Holder(host='")
    assert f'label="it\'s", token={lock.token}, permits=1, since=' in shown
    assert shown.endswith("),), healed=False)")


def test_several_are_granted_all_or_none(surface: Surface, store_url: str, prefix: str) -> None:
    call = surface.call
    client = surface.module.Client(store_url, prefix=prefix, timeout=PATIENT)
    both, one, other = client.lock_all(["a", "b"]), client.lock("b"), client.lock("a")
    assert call(one.acquire)
    assert not call(both.acquire)
    assert call(other.acquire)
    assert call(other.release)
    assert call(one.release)
    assert call(both.acquire)
    assert not call(one.acquire)
    assert not call(other.acquire)
    assert call(both.release)


def test_a_semaphore_has_its_permits(surface: Surface, client: Any) -> None:
    call = surface.call
    light = [client.semaphore("pool", 3) for _ in range(3)]
    heavy = client.semaphore("pool", permits=3, weight=2)
    assert call(heavy.acquire)
    assert [call(lock.acquire) for lock in light] == [True, False, False]
    assert [holder.permits for holder in call(heavy.inspect).holders] == [2, 1]
    assert call(heavy.release)
    assert [call(lock.acquire) for lock in light[1:]] == [True, True]
    for lock in light:
        assert call(lock.release)


def test_many_read_and_one_writes(surface: Surface, client: Any) -> None:
    call = surface.call
    readers, writer = [client.read_lock("doc") for _ in range(2)], client.write_lock("doc")
    assert all(call(reader.acquire) for reader in readers)
    assert not call(writer.acquire)
    for reader in readers:
        assert call(reader.release)
    assert call(writer.acquire)
    assert not call(readers[0].acquire)
    assert call(writer.release)


def test_a_wait_ends_in_its_time_and_leaves_nothing(surface: Surface, client: Any) -> None:
    call = surface.call
    first, second = client.lock("sku:42"), client.lock("sku:42", wait=0.2)
    assert call(first.acquire)
    for waits in ([], [None], [0.2]):
        with measure.Stalls() as stalls:
            began = time.monotonic()
            assert not call(second.acquire, *waits)
            took = time.monotonic() - began
        assert 0.18 < took < 0.2 + SOON + stalls.worst
    assert not call(second.acquire, wait=0)
    with pytest.raises(quotalock.NotAcquired, match="200 ms"):
        hold(surface, second)
    wait_until(lambda: call(first.inspect).waiters == 0)
    assert call(first.release)
    assert call(second.acquire)
    assert call(second.release)


def test_whoever_waits_is_woken_by_the_release(surface: Surface, client: Any) -> None:
    first, second = client.lock("sku:42"), client.lock("sku:42")
    assert surface.call(first.acquire)
    got: list[Any] = []

    def wait() -> None:
        with Surface(surface.name) as other:
            got.extend([other.call(second.acquire, PATIENT), time.monotonic(), other.call(second.release)])

    waiter = threading.Thread(target=wait)
    waiter.start()
    wait_until(lambda: surface.call(first.inspect).waiters == 1)
    with measure.Stalls() as stalls:
        freed = time.monotonic()
        assert surface.call(first.release)
        waiter.join()
    assert (got[0], got[2]) == (True, True)
    # Without a hint it would ask again after 0.8 s at the earliest.
    assert 0 <= got[1] - freed < 0.7 + stalls.worst


def test_a_wait_of_handles_in_order(surface: Surface, client: Any) -> None:
    first = client.lock("sku:42", fair=True)
    assert surface.call(first.acquire)
    order: list[int] = []
    begins = threading.Semaphore(0)

    def wait(number: int) -> None:
        with Surface(surface.name) as other:
            lock = client.lock("sku:42", fair=True)
            begins.release()
            assert other.call(lock.acquire, PATIENT)
            order.append(number)
            assert other.call(lock.release)

    waiters = [threading.Thread(target=wait, args=(number,)) for number in range(5)]
    for waiter in waiters:
        waiter.start()
        assert begins.acquire(timeout=PATIENT)
        # From there to its place in the line, which nobody sees in a process but its own.
        time.sleep(0.05)
    assert surface.call(first.release)
    for waiter in waiters:
        waiter.join()
    assert order == sorted(order)
    assert len(order) == 5


def test_assert_held_and_floors(surface: Surface, local: Any) -> None:
    lock = local.lock("sku:42", token_above=2**51)
    with pytest.raises(quotalock.Lost) as caught:
        lock.assert_held()
    assert caught.value.code == "lost"
    assert surface.call(lock.acquire)
    assert lock.assert_held() is None
    assert lock.token > 2**51
    assert surface.call(lock.release)
    lock.raise_floor(2**52)
    assert surface.call(lock.acquire)
    assert lock.token > 2**52


def test_an_extension_only_lengthens(surface: Surface, client: Any) -> None:
    call = surface.call
    lock = client.lock("sku:42", ttl=10.0, renew=False)
    assert not call(lock.extend)
    assert call(lock.acquire)
    assert call(lock.extend, 60.0)
    assert 50.0 < lock.remaining < 59.5
    assert call(lock.extend, ttl=1)
    assert lock.remaining > 49.0
    assert call(lock.release)
    assert not call(lock.extend, 60)


def test_a_lock_is_renewed_and_then_no_more(surface: Surface, client: Any) -> None:
    call = surface.call
    kept, limited = client.lock("kept", ttl=6.0), client.lock("limited", ttl=0.6, max_hold=0.7)
    assert call(kept.acquire)
    assert call(limited.acquire)
    lost, until = limited.lost, call(kept.inspect).holders[0].until
    wait_until(lambda: limited.state == "lost")
    # Its ttl is so long that a machine that stands still for a while does not lose it.
    wait_until(lambda: call(kept.inspect).holders[0].until > until)
    assert kept.held
    assert not kept.lost.is_set()
    assert not limited.held
    assert limited.state == "lost"
    assert lost.is_set()
    assert call(kept.release)


def test_what_is_not_renewed_is_lost(surface: Surface, client: Any) -> None:
    call = surface.call
    lock = client.lock("sku:42", ttl=1.0, renew=False)
    never = lock.lost
    with measure.Stalls() as stalls:
        began = time.monotonic()
        assert call(lock.acquire)
        token, lost = lock.token, lock.lost
        assert not lost
        assert lock.lost is lost
        assert call(lost.wait)
        took = time.monotonic() - began
    assert 0.9 < took < 1.0 + SOON + stalls.worst
    assert lost
    assert lost.is_set()
    assert lock.lost.is_set()
    assert (lock.state, lock.held, lock.remaining, lock.token) == ("lost", False, 0.0, token)
    with pytest.raises(quotalock.Lost, match="was lost"):
        lock.assert_held()
    assert not call(lock.extend)
    assert not call(lock.release)
    # What was told of a grant is never about the next.
    assert call(lock.acquire)
    assert not lock.lost.is_set()
    assert lost.is_set()
    assert not never.is_set()
    assert call(lock.release)


def test_a_wait_for_the_loss_ends_with_the_release(surface: Surface, client: Any) -> None:
    lock = client.lock("sku:42")
    assert not surface.call(lock.lost.wait)
    assert surface.call(lock.acquire)
    lost = lock.lost
    ends: list[bool] = []

    def watch() -> None:
        with Surface(surface.name) as other:
            ends.extend([other.call(lost.wait), lost.is_set()])

    watchers = [threading.Thread(target=watch) for _ in range(3)]
    for watcher in watchers:
        watcher.start()
    time.sleep(0.1)
    assert surface.call(lock.release)
    for watcher in watchers:
        watcher.join(PATIENT)
    assert ends == [False] * 6


def test_a_forced_release_is_learned_of(surface: Surface, client: Any) -> None:
    call = surface.call
    lock, operator = client.lock("sku:42"), client.lock("sku:42")
    assert call(operator.force_release) == 0
    assert call(lock.acquire)
    lost = lock.lost
    assert call(operator.force_release) == 1
    assert lock.held
    assert not call(lock.extend)
    assert (lock.state, lost.is_set()) == ("lost", True)
    assert not call(lock.release)


def test_a_handle_that_is_dropped_is_released(surface: Surface, client: Any) -> None:
    call = surface.call
    lock, other = client.lock("sku:42"), client.lock("sku:42")
    assert call(lock.acquire)
    watched = lock.lost
    with pytest.warns(RuntimeWarning, match="nothing keeps its handle"):
        del lock
    gc.collect()
    assert call(other.acquire, PATIENT)
    assert not watched.is_set()
    assert call(other.release)
    kept = client.lock("sku:42", renew=False)
    assert call(kept.acquire)
    del kept
    gc.collect()
    assert not call(other.acquire, 0.2)
    assert call(other.force_release) == 1


def test_a_handle_is_acquired_once_at_a_time(surface: Surface, client: Any) -> None:
    lock = client.lock("sku:42")
    assert surface.call(lock.acquire)
    with pytest.raises(quotalock.InvalidArgument, match="sku:42") as caught:
        surface.call(lock.acquire)
    assert caught.value.code == "invalid_argument"
    assert lock.held
    assert surface.call(lock.release)


def test_a_key_of_another_type_is_named(surface: Surface, client: Any) -> None:
    lock = client.lock("sku:42")
    surface.call(surface.testing.put, client, lock.redis_keys[0], "list", "x")
    for verb in (lock.acquire, lambda: lock.acquire(PATIENT), lock.inspect):
        with pytest.raises(quotalock.WrongType, match="sku:42"):
            surface.call(verb)


@pytest.mark.parametrize("store", ["redis-7.0"], indirect=True)
def test_a_server_that_is_away_is_unavailable_whatever_on_error_says(surface: Surface, store: str) -> None:
    for on_error in ("raise", "open", "local"):
        client = surface.module.Client("redis://127.0.0.1:1", on_error=on_error)
        for wait in (0, 1):
            with pytest.raises(quotalock.Unavailable):
                surface.call(client.lock("sku:42").acquire, wait)
