"""A lock or a reservation that nobody keeps is told of, and none that somebody keeps or has ended."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import quotalock
from locks import hold, wait_until
from surface import Surface

UNKEPT = r'^lock "sku:42" was released because nothing keeps its handle: keep it in a variable until you release it$'
DROPPED = r'^a reservation of limiter "llm" was dropped: settle or cancel it, or keep its id$'


@contextmanager
def silence() -> Iterator[None]:
    """Nothing is warned of, not even where a warning could only be printed."""
    failures: list[Any] = []
    before, sys.unraisablehook = sys.unraisablehook, failures.append
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
            gc.collect()
    finally:
        sys.unraisablehook = before
    assert failures == []


def test_a_lock_that_nobody_keeps_is_released_and_told_of(surface: Surface, url: str, prefix: str) -> None:
    client = surface.module.Client(url, prefix=prefix, timeout=10.0)
    with pytest.warns(RuntimeWarning, match=UNKEPT):
        assert surface.call(client.lock("sku:42").acquire)
    with quotalock.Client(url, prefix=prefix, timeout=10.0).lock("sku:42", wait=10.0):
        pass


MAKE: dict[str, Callable[[Any], Any]] = {
    "locks": lambda client: client.lock_all(["{a}1", "{a}2"]),
    "semaphore": lambda client: client.semaphore("pool", 3),
    "read lock": lambda client: client.read_lock("book"),
    "write lock": lambda client: client.write_lock("book"),
}


@pytest.mark.parametrize("kind", MAKE)
def test_a_handle_of_any_kind_that_nobody_keeps_is_told_of(surface: Surface, local: Any, kind: str) -> None:
    lock = MAKE[kind](local)
    assert surface.call(lock.acquire)
    with pytest.warns(RuntimeWarning, match="was released because nothing keeps its handle"):
        del lock


def test_what_was_adopted_is_told_of_and_what_was_handed_over_is_not(surface: Surface, local: Any) -> None:
    given = local.lock("sku:42")
    assert surface.call(given.acquire)
    text = given.handover()
    with silence():
        del given
    with pytest.warns(RuntimeWarning, match=UNKEPT):
        surface.call(local.adopt, text)


def test_a_lock_that_has_ended_is_not_told_of(surface: Surface, local: Any) -> None:
    call = surface.call
    with silence():
        local.lock("never acquired")
        released = local.lock("released")
        assert call(released.acquire)
        assert call(released.release)
        del released
        hold(surface, local.lock("in a block"))
        kept = local.lock("kept")
        assert call(kept.acquire)
        assert not call(local.lock("kept").acquire)
        call(kept.force_release)
        assert not call(kept.extend)
        assert kept.state == "lost"
        del kept


def test_a_lock_that_is_not_renewed_is_meant_to_end_by_itself(surface: Surface, local: Any) -> None:
    with silence():
        assert surface.call(local.lock("daily", renew=False).acquire)
    assert len(surface.call(local.lock("daily").inspect).holders) == 1


def test_a_lock_of_a_closed_client_is_not_told_of(surface: Surface, local: Any) -> None:
    with silence():
        lock = local.lock("sku:42")
        assert surface.call(lock.acquire)
        surface.call(local.close)
        del lock


def test_a_cancelled_acquisition_is_not_told_of(url: str, prefix: str) -> None:
    async def body() -> None:
        client = quotalock.aio.Client(url, prefix=prefix, timeout=10.0)
        for delay in (0, 0, 0.001, 0.002):
            lock = client.lock("sku:42", wait=10.0)
            task = asyncio.create_task(lock.acquire())
            await asyncio.sleep(delay)
            task.cancel()
            if (await asyncio.gather(task, return_exceptions=True))[0] is True:
                assert await lock.release()
        await client.close()

    with silence():
        asyncio.run(body())


def test_what_is_raised_when_a_handle_goes_is_raised_on(local: Any, surface: Surface) -> None:
    def held() -> Any:
        lock = local.lock("sku:42")
        assert surface.call(lock.acquire)
        return lock

    def fail() -> Any:
        raise LookupError("mine")

    def work() -> None:
        # The handle is on the interpreter's stack alone, which is cleared while the exception is on its way.
        with pytest.raises(LookupError, match="mine"):
            [held(), fail()]

    with pytest.warns(RuntimeWarning, match=UNKEPT):
        work()


def test_a_filter_that_makes_it_an_error_cannot_raise_it(local: Any, surface: Surface) -> None:
    told: list[Any] = []
    before, sys.unraisablehook = sys.unraisablehook, told.append
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert surface.call(local.lock("sku:42").acquire)
    finally:
        sys.unraisablehook = before
    assert [type(one.exc_value) for one in told] == [RuntimeWarning]
    told.clear()


def test_a_handle_that_goes_in_another_thread_is_told_of_there(url: str, prefix: str) -> None:
    client = quotalock.Client(url, prefix=prefix, timeout=10.0)
    handles = [client.lock("sku:42")]
    assert handles[0].acquire()

    def clear_elsewhere() -> None:
        thread = threading.Thread(target=handles.clear)
        thread.start()
        thread.join()

    with pytest.warns(RuntimeWarning, match=UNKEPT):
        clear_elsewhere()
    wait_until(lambda: client.lock("sku:42").inspect().holders == ())


def test_a_forked_child_does_not_tell_of_what_its_parent_holds(url: str, prefix: str) -> None:
    lock = quotalock.Client(url, prefix=prefix, timeout=10.0).lock("sku:42")
    assert lock.acquire()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        said = []
        warnings.showwarning = lambda *told: said.append(told)
        warnings.simplefilter("always")
        del lock
        os._exit(len(said))
    assert os.waitpid(child, 0)[1] == 0
    assert lock.held
    assert lock.release()


AT_EXIT = """
import asyncio, atexit, sys, threading
# What is registered first is called last, when the end has begun.
last = []
atexit.register(last.clear)
import quotalock
from quotalock import aio

client = quotalock.Client({url!r}, prefix={prefix!r}, timeout=10.0)
lock = client.lock("global")
assert lock.acquire()
cycle = [client.lock("cycle")]
assert cycle[0].acquire()
cycle.append(cycle)
kept = client.limiter("n", "9/minute").reserve("k", 1, 60.0)
last.append(client.lock("last"))
assert last[0].acquire()
def hold(held):
    assert held.acquire()
    threading.Event().wait()
thread = threading.Thread(target=hold, args=[client.lock("daemon")], daemon=True)
thread.start()
async def main():
    global waited
    # Of a step that a busy machine made slow, a loop in debug mode would speak on stderr.
    asyncio.get_running_loop().slow_callback_duration = 60
    waited = aio.Client({url!r}, prefix={prefix!r}, timeout=10.0).lock("of a loop")
    assert await waited.acquire()
asyncio.run(main())
"""


def test_nothing_is_told_at_the_end_of_the_interpreter(url: str, prefix: str) -> None:
    for end in ("", "sys.exit(0)"):
        text = AT_EXIT.format(url=url, prefix=prefix + end) + end
        ended = subprocess.run([sys.executable, "-X", "dev", "-c", text], capture_output=True, text=True, timeout=60)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_a_reservation_that_nobody_can_settle_is_told_of(surface: Surface, local: Any) -> None:
    llm = local.limiter("llm", "100/minute")
    with pytest.warns(ResourceWarning, match=DROPPED):
        surface.call(llm.reserve, "ada", 10, 60.0)
    reservation = surface.call(llm.reserve, "ada", 10, 60.0)
    assert reservation
    with pytest.warns(ResourceWarning, match=DROPPED):
        del reservation


def test_a_reservation_that_is_known_or_over_is_not_told_of(surface: Surface, local: Any) -> None:
    call, llm = surface.call, local.limiter("llm", "100/minute")
    with silence():
        settled = call(llm.reserve, "ada", 10, 60.0)
        assert call(settled.settle, 5)
        del settled
        assert call(call(llm.reserve, "ada", 10, 60.0).cancel)
        # Whoever has the id can settle it.
        reservation_id = call(llm.reserve, "ada", 10, 60.0).id
        llm.reservation("ada", reservation_id)
        assert not call(llm.reserve, "ada", 99, 60.0)
