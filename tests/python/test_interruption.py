"""Signals while a call blocks, and threads that go on meanwhile."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from types import FrameType
from typing import Any

import measure
import pytest
import quotalock
from surface import fresh_memory

# A handler runs at most 50 ms late, and this machine has much to do.
SOON = 1.0
LONG = 20.0


@pytest.fixture
def silent_url() -> Iterator[str]:
    """A server that accepts and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        yield f"redis://127.0.0.1:{mute.getsockname()[1]}"


@pytest.fixture
def silent(silent_url: str) -> quotalock.Limiter:
    return quotalock.Client(silent_url, timeout=LONG).limiter("checkout", "1/minute")


@pytest.fixture
def denied() -> quotalock.Limiter:
    """A limiter in memory that has nothing left."""
    limiter = quotalock.Client(fresh_memory()).limiter("checkout", "1/minute")
    assert limiter.consume("k")
    return limiter


def in_a_moment(handler: Callable[[int, FrameType | None], Any], *, times: int = 1) -> AbstractContextManager[None]:
    """Has `handler` run by a signal, while the caller is in a call.

    What it raises may come before that on a busy machine: so this is called within what expects it.
    """
    previous = signal.signal(signal.SIGALRM, handler)
    left = times

    def count(number: int, frame: FrameType | None) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)
        handler(number, frame)

    signal.signal(signal.SIGALRM, count)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.05)
    return nullcontext()


class Enough(Exception):
    """What a handler raises."""


def give_up(number: int, frame: FrameType | None) -> None:
    raise Enough


def test_what_a_handler_raises_ends_the_call(silent: quotalock.Limiter) -> None:
    with measure.Stalls() as stalls:
        began = time.monotonic()
        with pytest.raises(Enough), in_a_moment(give_up):
            silent.consume("k")
        took = time.monotonic() - began
    assert took < 0.1 + SOON + stalls.worst


def test_control_c_ends_a_call(silent: quotalock.Limiter) -> None:
    with pytest.raises(KeyboardInterrupt), in_a_moment(signal.default_int_handler):
        silent.consume("k")


def test_control_c_ends_a_wait_for_a_real_server(url: str, prefix: str) -> None:
    limiter = quotalock.Client(url, prefix=prefix, timeout=LONG).limiter("checkout", "1/minute")
    assert limiter.consume("k")
    with measure.Stalls() as stalls:
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt), in_a_moment(signal.default_int_handler):
            limiter.wait("k", timeout=100)
        took = time.monotonic() - began
    assert took < 0.1 + SOON + stalls.worst
    # The connection is as good as before.
    assert not limiter.consume("k")


def test_control_c_ends_a_wait_in_memory(denied: quotalock.Limiter) -> None:
    with pytest.raises(KeyboardInterrupt), in_a_moment(signal.default_int_handler):
        denied.wait("k", timeout=100)


def test_a_handler_that_raises_nothing_ends_nothing(url: str, prefix: str) -> None:
    limiter = quotalock.Client(url, prefix=prefix, timeout=LONG).limiter("checkout", "1/4s")
    assert limiter.consume("k")
    ran: list[int] = []
    in_a_moment(lambda number, _: ran.append(number), times=4)
    assert limiter.wait("k", timeout=LONG)
    assert ran == [signal.SIGALRM] * 4


def test_a_handler_may_call_the_same_limiter(url: str, prefix: str) -> None:
    limiter = quotalock.Client(url, prefix=prefix, timeout=LONG).limiter("checkout", "2/4s")
    assert limiter.consume("k", 2)
    peeked: list[quotalock.Decision] = []
    in_a_moment(lambda *_: peeked.append(limiter.peek("k")))
    assert limiter.wait("k", timeout=LONG)
    assert [decision.allowed for decision in peeked] == [False]


def time_out(silent_url: str) -> None:
    limiter = quotalock.Client(silent_url, timeout=4.0).limiter("checkout", "1/minute")
    with pytest.raises(quotalock.Timeout):
        limiter.consume("k")


def wait_in_memory(_: str) -> None:
    limiter = quotalock.Client(fresh_memory()).limiter("checkout", "1/4s")
    assert limiter.consume("k")
    assert limiter.wait("k", timeout=LONG)


@pytest.mark.parametrize("block", [time_out, wait_in_memory])
def test_other_threads_go_on_while_a_call_blocks(silent_url: str, block: Callable[[str], None]) -> None:
    thread = threading.Thread(target=block, args=(silent_url,))
    thread.start()
    # This thread never gives up the GIL by itself, so what it does it does while the other one blocks: its own time
    # tells how much, since on a busy machine it may have to wait for a processor.
    began = time.thread_time()
    while time.thread_time() - began < 0.05:
        assert thread.is_alive()
    thread.join()


def test_control_c_in_one_thread_leaves_the_calls_of_others_alone(silent_url: str) -> None:
    """The main thread gives up on a server that says nothing; the others wait until their time is over."""
    limiter = quotalock.Client(silent_url, timeout=3.0).limiter("checkout", "1/minute")
    ends: list[tuple[str, float]] = []

    def wait_in_vain() -> None:
        began = time.monotonic()
        try:
            limiter.consume("k")
        except quotalock.Timeout as error:
            ends.append((error.code, time.monotonic() - began))

    threads = [threading.Thread(target=wait_in_vain) for _ in range(8)]
    with measure.Stalls() as stalls:
        for thread in threads:
            thread.start()
        with pytest.raises(KeyboardInterrupt), in_a_moment(signal.default_int_handler):
            limiter.consume("k")
        for thread in threads:
            thread.join()
    assert [code for code, _ in ends] == ["timeout"] * 8
    assert all(2.9 < took < 3.0 + SOON + stalls.worst for _, took in ends)


def test_a_handler_that_takes_its_time_keeps_no_other_thread_from_its_calls(url: str, prefix: str) -> None:
    client = quotalock.Client(url, prefix=prefix, timeout=LONG)
    limiter, spent = client.limiter("checkout", "1000000/hour"), client.limiter("spent", "1/2s")
    assert spent.consume("k")
    stop = threading.Event()
    calls = [0] * 8
    meanwhile: list[bool] = []

    def call(number: int) -> None:
        while not stop.is_set():
            limiter.consume("k")
            calls[number] += 1

    def take_time(*_: object) -> None:
        """Until each of the others has made some calls, or cannot."""
        before, give_up = list(calls), time.monotonic() + LONG
        while min(now - then for now, then in zip(calls, before, strict=True)) < 5 and time.monotonic() < give_up:
            time.sleep(0.01)
        meanwhile.extend(now - then >= 5 for now, then in zip(calls, before, strict=True))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    in_a_moment(take_time)
    assert spent.wait("k", timeout=2 * LONG)
    stop.set()
    for thread in threads:
        thread.join()
    assert meanwhile == [True] * 8


def test_many_threads_share_a_limiter(url: str, prefix: str) -> None:
    limiter = quotalock.Client(url, prefix=prefix, timeout=LONG).limiter("checkout", "1000/hour")
    admitted: list[int] = []

    def consume() -> None:
        admitted.append(sum(limiter.consume("k").allowed for _ in range(200)))

    threads = [threading.Thread(target=consume) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(admitted) == 1000
