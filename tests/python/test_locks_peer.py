"""What users of redis-py's `Lock` know, asked of ours: the same where it can be, and each difference with its reason.

| redis-py | here | why |
|---|---|---|
| `timeout=None`: never expires | `ttl=30.0`: every lock ends | a holder that died must not block for ever |
| a `timeout` ends a living holder too | renewed up to `max_hold` (`renew=True`) | work may take longer than thought |
| `acquire()` waits for ever | `acquire()` waits for `wait`, 0 unless said | no call without an end |
| `blocking=False` | `wait=0` | one number instead of two options |
| `blocking_timeout` | `wait` | |
| `sleep`: asks again every 0.1 s | woken by the release, no option | no storm of questions, no late wake-up |
| `release()` of what is not held raises `LockError` | `False` | clean-up code need not catch |
| `release()` of what is another's raises `LockNotOwnedError` | `False` | as above |
| leaving `with` after a loss raises `LockNotOwnedError` | raises `Lost` | what was done inside was not alone |
| `raise_on_release_error=False` | catch `Lost` | |
| `with` that gets none raises `LockError` | raises `NotAcquired`, which says who holds it | |
| `extend(n)` adds n to what is left | at least `ttl` from now | what is left is not known when it arrives |
| `extend(n, replace_ttl=True)` may shorten | never shortens | a token's holder may count on what it was told |
| `reacquire()` | `extend()` | |
| extending what is not held raises | `False` | as `release` |
| `locked()` | `bool(inspect().holders)` | `inspect` says by whom, too |
| `owned()` asks Redis | `held` asks this process' clock | an answer of Redis is old when it arrives; `extend()` asks |
| `local.token`: random, may be given | `token`: grows with each grant | for the resource, to refuse the late |
| `thread_local=True`: no other thread releases it | any thread that has the handle | a holder may be many threads |
"""

from __future__ import annotations

import threading
import time
from typing import Any

import measure
import pytest
import quotalock
from locks import PATIENT, SOON, wait_until
from surface import Surface


async def enter(lock: Any) -> None:
    async with lock:
        pass


def hold_for_a_moment(surface: Surface, lock: Any) -> None:
    """`with lock: pass`."""
    if surface.name == "python":
        with lock:
            pass
    else:
        surface.call(enter, lock)


def ttl_of(surface: Surface, client: Any, lock: Any) -> float:
    """For how long the server holds it, by the server's clock."""
    (holder,) = surface.call(lock.inspect).holders
    return float(holder.until - holder.since)


def test_acquire_and_release(surface: Surface, client: Any) -> None:
    lock = client.lock("foo")
    assert surface.call(lock.acquire)
    assert surface.call(lock.inspect).holders[0].token == lock.token
    assert surface.call(lock.release)
    assert surface.call(lock.inspect).holders == ()


def test_there_is_no_lock_without_an_end(surface: Surface, client: Any) -> None:
    lock = client.lock("foo")
    assert surface.call(lock.acquire)
    assert ttl_of(surface, client, lock) == pytest.approx(30)
    stored = surface.call(surface.testing.get, client, lock.redis_keys[0])
    assert stored[1] > 0


@pytest.mark.parametrize("ttl", [10, 9.5])
def test_a_timeout_is_whole_or_not(surface: Surface, client: Any, ttl: float) -> None:
    lock = client.lock("foo", ttl=ttl)
    assert lock.ttl == ttl
    assert surface.call(lock.acquire)
    assert ttl_of(surface, client, lock) == pytest.approx(ttl)


def test_locked(surface: Surface, client: Any) -> None:
    lock, other = client.lock("foo"), client.lock("foo")
    for held in (False, True, False):
        assert bool(surface.call(other.inspect).holders) is held
        surface.call(lock.release if held else lock.acquire)


def test_owned(surface: Surface, client: Any) -> None:
    call, lock, other = surface.call, client.lock("foo"), client.lock("foo")
    assert not lock.held
    assert call(lock.acquire)
    assert (lock.held, other.held) == (True, False)
    # Redis' own opinion.
    assert (call(lock.extend), call(other.extend)) == (True, False)
    assert call(lock.release)
    assert not lock.held


def test_another_does_not_get_it_meanwhile(surface: Surface, client: Any) -> None:
    lock, other = client.lock("foo"), client.lock("foo")
    assert surface.call(lock.acquire)
    assert not surface.call(other.acquire, wait=0)
    assert surface.call(lock.release)
    assert surface.call(other.acquire, wait=0)


def test_it_does_not_wait_unless_told(surface: Surface, client: Any) -> None:
    lock, other = client.lock("foo"), client.lock("foo")
    assert surface.call(lock.acquire)
    began = time.monotonic()
    assert not surface.call(other.acquire)
    assert time.monotonic() - began < SOON


@pytest.mark.parametrize("wait", [0.25, 1])
def test_a_wait_that_is_over(surface: Surface, client: Any, wait: float) -> None:
    lock, in_handle, in_call = client.lock("foo"), client.lock("foo", wait=wait), client.lock("foo", wait=60)
    assert surface.call(lock.acquire)
    for acquire in (in_handle.acquire, lambda: in_call.acquire(wait)):
        with measure.Stalls() as stalls:
            began = time.monotonic()
            assert not surface.call(acquire)
            took = time.monotonic() - began
        assert wait - 0.05 < took < wait + SOON + stalls.worst


def test_a_wait_ends_with_the_holders_timeout(surface: Surface, client: Any) -> None:
    lock, other = client.lock("foo", ttl=0.3, renew=False), client.lock("foo")
    assert surface.call(lock.acquire)
    assert surface.call(other.acquire, wait=PATIENT)
    assert not lock.held
    assert other.token > lock.token


def test_a_wait_ends_with_the_release(surface: Surface, client: Any) -> None:
    lock, other = client.lock("foo"), client.lock("foo", wait=PATIENT)
    assert surface.call(lock.acquire)

    def release() -> None:
        with Surface(surface.name) as elsewhere:
            assert elsewhere.call(lock.release)

    timer = threading.Timer(0.2, release)
    with measure.Stalls() as stalls:
        began = time.monotonic()
        timer.start()
        assert surface.call(other.acquire)
        took = time.monotonic() - began
        timer.join()
    assert 0.1 < took < 0.2 + SOON + stalls.worst


def test_a_block(surface: Surface, client: Any) -> None:
    lock = client.lock("foo")
    hold_for_a_moment(surface, lock)
    assert surface.call(lock.inspect).holders == ()


def test_a_block_that_gets_none_raises(surface: Surface, client: Any) -> None:
    lock, other = client.lock("foo"), client.lock("foo", wait=0.1)
    assert surface.call(lock.acquire)
    with pytest.raises(quotalock.NotAcquired):
        hold_for_a_moment(surface, other)
    assert lock.held


def test_a_block_whose_lock_is_anothers_by_now_raises(surface: Surface, client: Any) -> None:
    lock, other = client.lock("foo", ttl=0.2, renew=False), client.lock("foo", wait=PATIENT)

    async def lose() -> None:
        async with lock:
            assert await other.acquire()

    if surface.name == "python":
        with pytest.raises(quotalock.Lost), lock:
            assert other.acquire()
    else:
        with pytest.raises(quotalock.Lost):
            surface.call(lose)
    # Leaving released nothing of the other's.
    assert other.held
    assert surface.call(other.release)


def test_releasing_what_is_not_held(surface: Surface, client: Any) -> None:
    assert not surface.call(client.lock("foo").release)


def test_releasing_what_is_anothers_by_now(surface: Surface, client: Any) -> None:
    lock, other = client.lock("foo", ttl=0.2, renew=False), client.lock("foo", wait=PATIENT)
    assert surface.call(lock.acquire)
    assert surface.call(other.acquire)
    assert not surface.call(lock.release)
    assert other.held
    assert surface.call(other.extend)


def test_releasing_what_was_taken_away(surface: Surface, client: Any) -> None:
    lock, operator = client.lock("foo"), client.lock("foo")
    assert surface.call(lock.acquire)
    assert surface.call(operator.force_release) == 1
    assert not surface.call(lock.release)


@pytest.mark.parametrize("ttl", [20, 20.5])
def test_an_extension_counts_from_now(surface: Surface, client: Any, ttl: float) -> None:
    lock = client.lock("foo", ttl=10, renew=False)
    assert surface.call(lock.acquire)
    assert surface.call(lock.extend, ttl)
    # Not 10 more.
    assert ttl <= ttl_of(surface, client, lock) < ttl + 5
    assert lock.remaining <= ttl


def test_an_extension_never_shortens(surface: Surface, client: Any) -> None:
    lock = client.lock("foo", ttl=20, renew=False)
    assert surface.call(lock.acquire)
    assert surface.call(lock.extend, 1)
    assert ttl_of(surface, client, lock) == pytest.approx(20)
    assert lock.remaining > 15


def test_an_extension_by_the_locks_own_timeout(surface: Surface, client: Any) -> None:
    lock = client.lock("foo", ttl=10, renew=False)
    assert surface.call(lock.acquire)
    before = ttl_of(surface, client, lock)
    time.sleep(0.05)
    assert surface.call(lock.extend)
    assert before + 0.04 < ttl_of(surface, client, lock) < before + 5


def test_extending_what_is_not_held(surface: Surface, client: Any) -> None:
    lock, other = client.lock("foo", ttl=0.2, renew=False), client.lock("foo", wait=PATIENT)
    assert not surface.call(lock.extend, 10)
    assert surface.call(lock.acquire)
    assert surface.call(other.acquire)
    assert not surface.call(lock.extend, 10)
    assert other.held


def test_a_handle_is_acquired_again_after_its_release(surface: Surface, client: Any) -> None:
    lock = client.lock("foo")
    tokens = []
    for _ in range(3):
        assert surface.call(lock.acquire)
        tokens.append(lock.token)
        assert surface.call(lock.release)
    assert tokens == sorted(set(tokens))


def test_a_handle_is_not_reentrant(surface: Surface, client: Any) -> None:
    lock = client.lock("foo")
    assert surface.call(lock.acquire)
    with pytest.raises(quotalock.InvalidArgument):
        surface.call(lock.acquire, wait=0)
    # Nor are two of one thread one.
    assert not surface.call(client.lock("foo").acquire, wait=0)


def test_any_thread_may_release_a_handle(surface: Surface, client: Any) -> None:
    lock, released = client.lock("foo"), []
    assert surface.call(lock.acquire)

    def release() -> None:
        with Surface(surface.name) as elsewhere:
            released.append(elsewhere.call(lock.release))

    thread = threading.Thread(target=release)
    thread.start()
    thread.join()
    assert released == [True]
    assert not lock.held


def test_a_holder_that_lives_keeps_it(surface: Surface, client: Any) -> None:
    # So long that a machine that stands still for a while does not lose it.
    lock, other = client.lock("foo", ttl=6.0), client.lock("foo")
    assert surface.call(lock.acquire)
    before = ttl_of(surface, client, lock)
    assert not surface.call(other.acquire, wait=2.4)
    # It was renewed, or will be.
    wait_until(lambda: ttl_of(surface, client, lock) > before)
    assert lock.held


def test_names_are_text_or_bytes(surface: Surface, client: Any) -> None:
    lock, other = client.lock("føø"), client.lock("føø".encode())
    assert surface.call(lock.acquire)
    assert not surface.call(other.acquire)
