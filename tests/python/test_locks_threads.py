"""Locks of threads: signals while one waits, many waiters, and forks."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import measure
import pytest
import quotalock
from forks import all_well, fork
from locks import PATIENT, SOON, wait_until
from servers import Server


@pytest.fixture
def client(store_url: str, prefix: str) -> Iterator[quotalock.Client]:
    with quotalock.Client(store_url, prefix=prefix, timeout=PATIENT) as client:
        yield client


class Enough(Exception):
    """What a handler raises."""


def give_up(*_: object) -> None:
    raise Enough


def alarm(handler: Callable[..., Any], after: float, again: float = 0.0) -> AbstractContextManager[None]:
    """Has `handler` run by a signal. What it raises may come at once on a busy machine: call it in what expects it."""
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, after, again)
    return nullcontext()


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """No alarm and no handler outlasts its test."""
    before = signal.getsignal(signal.SIGALRM)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def is_left_alone(lock: quotalock.Lock) -> bool:
    seen = lock.inspect()
    return (seen.holders, seen.waiters) == ((), 0)


@pytest.mark.parametrize("how", ["acquire", "with"])
def test_control_c_ends_a_wait_and_leaves_nothing(client: quotalock.Client, how: str) -> None:
    holder, lock = client.lock("sku:42"), client.lock("sku:42", wait=100)
    assert holder.acquire()
    with measure.Stalls() as stalls:
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt), alarm(signal.default_int_handler, 0.1):
            lock.acquire() if how == "acquire" else lock.__enter__()
        took = time.monotonic() - began
    assert 0.1 <= took < 0.1 + SOON + stalls.worst
    assert lock.state == "released"
    assert holder.release()
    wait_until(lambda: is_left_alone(holder))
    # The handle is as good as before.
    assert lock.acquire()
    assert lock.release()


def test_control_c_ends_a_wait_for_a_loss(client: quotalock.Client) -> None:
    with client.lock("sku:42") as lock:
        with pytest.raises(KeyboardInterrupt), alarm(signal.default_int_handler, 0.1):
            lock.lost.wait()
        with measure.Stalls() as stalls:
            began = time.monotonic()
            assert not lock.lost.wait(0.12)
            took = time.monotonic() - began
        assert 0.1 < took < 0.12 + SOON + stalls.worst
        assert not lock.lost.wait(0)


def test_a_handler_that_raises_nothing_ends_nothing(client: quotalock.Client) -> None:
    holder, lock = client.lock("sku:42"), client.lock("sku:42")
    assert holder.acquire()
    ran: list[int] = []

    def run(number: int, _: object) -> None:
        ran.append(number)
        if len(ran) == 3:
            # It is waited for until then.
            holder.release()

    alarm(run, 0.1, 0.05)
    assert lock.acquire(PATIENT)
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert len(ran) >= 3
    assert lock.release()


def test_a_signal_at_any_moment_leaves_nothing(client: quotalock.Client) -> None:
    """Also one that comes with the grant: whoever gets an exception holds nothing."""
    lock, other, third = client.lock("sku:42", wait=5), client.lock("sku:42"), client.lock("sku:42")
    stop = threading.Event()

    def take_turns() -> None:
        while not stop.is_set():
            if other.acquire(1):
                time.sleep(0.001)
                other.release()

    turns = threading.Thread(target=take_turns)
    turns.start()
    ends = {"entered": 0, "raised": 0}
    chance = random.Random(42)
    try:
        for number in range(300):
            # Some surely come while it waits, others too late, however long a turn takes.
            surely, late = number % 20 == 10, number % 20 == 0
            assert not surely or third.acquire(PATIENT)
            try:
                alarm(give_up, chance.uniform(0.0001, 0.004) if not late else PATIENT)
                with lock:
                    ends["entered"] += 1
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Enough:
                ends["raised"] += 1
            finally:
                signal.signal(signal.SIGALRM, signal.SIG_IGN)
            assert not surely or third.release()
            # Whether it came before the grant, with it, in the block or in the release.
            assert lock.state == "released"
    finally:
        stop.set()
        turns.join()
    assert min(ends.values()) > 0, ends
    wait_until(lambda: is_left_alone(other))


def test_a_release_that_is_interrupted_is_done(prefix: str) -> None:
    with Server("redis-7.0") as server:
        client = quotalock.Client(server.url, prefix=prefix, timeout=PATIENT)
        lock = client.lock("sku:42")
        assert lock.acquire()
        server.sigstop()
        with pytest.raises(Enough), alarm(give_up, 0.1):
            lock.release()
        server.sigcont()
        wait_until(lambda: is_left_alone(lock))
        client.close()


def test_many_threads_take_turns(client: quotalock.Client) -> None:
    inside, most, turns = [0], [0], [0]

    def work() -> None:
        lock = client.lock("sku:42", wait=30)
        for _ in range(20):
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                turns[0] += 1
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (turns[0], most[0]) == (320, 1)
    wait_until(lambda: is_left_alone(client.lock("sku:42")))


def test_tokens_grow(client: quotalock.Client) -> None:
    tokens = []
    for _ in range(50):
        with client.lock("sku:42") as lock:
            tokens.append(lock.token)
    assert tokens == sorted(set(tokens), key=lambda token: token or 0)


def test_a_handle_is_used_by_several_threads(client: quotalock.Client) -> None:
    lock = client.lock("sku:42", ttl=10)
    assert lock.acquire()
    seen: list[Any] = []

    def look() -> None:
        seen.extend([lock.held, lock.extend(20), lock.release()])

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [True, True, True]
    assert not lock.held


def test_two_threads_cannot_acquire_one_handle(client: quotalock.Client) -> None:
    holder, lock = client.lock("sku:42"), client.lock("sku:42")
    assert holder.acquire()
    waiter = threading.Thread(target=lambda: lock.acquire(PATIENT))
    waiter.start()
    wait_until(lambda: holder.inspect().waiters == 1)
    with pytest.raises(quotalock.InvalidArgument, match="is already being acquired"):
        lock.acquire(0.5)
    assert holder.release()
    waiter.join()


def test_a_child_does_not_hold_and_both_go_on(url: str, prefix: str) -> None:
    client = quotalock.Client(url, prefix=prefix, timeout=PATIENT)
    lock = client.lock("sku:42", ttl=5)
    assert lock.acquire()
    lost = lock.lost
    tried, tell = os.pipe()

    def child() -> None:
        assert (lock.state, lock.held, lock.token) == ("released", False, None)
        # What the parent told of its grant: here it is not held.
        assert lost.is_set()
        assert lost.wait()
        assert not lock.release()
        assert not lock.extend()
        assert not lock.acquire()
        os.write(tell, b"x")
        with client.lock(f"child-{os.getpid()}", ttl=5) as own:
            time.sleep(5.3)
            assert own.held
        assert lock.acquire(PATIENT)
        assert lock.token
        assert lock.release()

    children = [fork(child) for _ in range(3)]
    time.sleep(5.3)
    for _ in children:
        os.read(tried, 1)
    # Renewed by the parent's thread, and released by no child.
    assert lock.held
    assert not lost.is_set()
    assert lock.release()
    assert all_well(children)
    assert lock.acquire(PATIENT)
    assert lock.release()
    client.close()


def test_forks_while_threads_wait(url: str, prefix: str) -> None:
    client = quotalock.Client(url, prefix=prefix, timeout=PATIENT)
    stop = threading.Event()

    def work() -> None:
        lock = client.lock("sku:42", wait=PATIENT)
        while not stop.is_set():
            with lock:
                time.sleep(0.001)

    def child() -> None:
        lock = client.lock("sku:42", wait=PATIENT)
        for _ in range(5):
            with lock:
                assert lock.held

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    children = []
    for _ in range(4):
        time.sleep(0.05)
        children.append(fork(child))
    assert all_well(children)
    stop.set()
    for thread in threads:
        thread.join()
    wait_until(lambda: is_left_alone(client.lock("sku:42")))
    client.close()
