"""Many threads on the same objects: counts stay exact. On free-threaded Python they really run at once."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
import quotalock
from forks import all_well, fork
from quotalock import aio
from surface import fresh_memory

THREADS = 4
TURNS = 50
IS_FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
PATIENT = 30.0
# Prints whether there is a GIL.
LOOK = "import quotalock, sys; print(getattr(sys, '_is_gil_enabled', lambda: True)())"


@pytest.fixture(params=["memory", "redis"])
def make(request: pytest.FixtureRequest, url: str, prefix: str) -> Callable[[], quotalock.Client]:
    """Makes clients that share what they count."""
    at = fresh_memory() if request.param == "memory" else url
    return lambda: quotalock.Client(at, prefix=prefix, timeout=PATIENT)


@pytest.fixture
def client(make: Callable[[], quotalock.Client]) -> Iterator[quotalock.Client]:
    with make() as client:
        yield client


def together(*works: Callable[[], Any]) -> list[Any]:
    """Runs each on a thread of its own, all from the same moment on, and returns what they returned."""
    barrier, found = threading.Barrier(len(works)), [None] * len(works)
    failures: list[BaseException] = []

    def run(place: int) -> None:
        try:
            barrier.wait()
            found[place] = works[place]()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return found


def test_the_package_brings_no_gil_back() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", LOOK], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == str(not IS_FREE_THREADED)


def test_a_limit_is_exact(client: quotalock.Client) -> None:
    limiter, limit = client.limiter("logins", f"{THREADS * TURNS // 2}/hour"), THREADS * TURNS // 2

    def consume() -> int:
        return sum(limiter.consume("ada").allowed for _ in range(TURNS))

    assert sum(together(*[consume] * THREADS)) == limit
    assert limiter.peek("ada").remaining == 0


def test_the_one_line_limit_is_exact(client: quotalock.Client) -> None:
    def consume() -> int:
        return sum(client._limit("exports", "ada", f"{TURNS}/hour").allowed for _ in range(TURNS))

    assert sum(together(*[consume] * THREADS)) == TURNS


def test_one_thread_at_a_time_has_a_lock(client: quotalock.Client) -> None:
    count, tokens = [0], list[int]()

    def work() -> None:
        lock = client.lock("sku:42", wait=PATIENT)
        for _ in range(TURNS // 5):
            with lock:
                before = count[0]
                tokens.append(lock.token or 0)
                assert lock.lost.is_set() is False
                count[0] = before + 1

    together(*[work] * THREADS)
    assert count == [THREADS * (TURNS // 5)]
    assert tokens == sorted(set(tokens))


def test_threads_share_a_handle(client: quotalock.Client) -> None:
    """Another thread is refused while one acquires; whatever they do, the handle knows in the end what it holds."""
    lock = client.lock("sku:42", wait=PATIENT)

    def work() -> None:
        for _ in range(TURNS):
            with suppress(quotalock.InvalidArgument):
                lock.acquire(0.0)
            lock.release()
            bool(lock.lost)

    together(*[work] * THREADS)
    lock.release()
    assert not lock.held
    assert client.lock("sku:42").acquire(PATIENT)


def test_a_value_is_loaded_once(client: quotalock.Client) -> None:
    cache, loads = client.cache("prices", fresh=PATIENT), []

    def load(key: str) -> str:
        loads.append(key)
        return f"of {key}"

    def read() -> list[bytes | None]:
        return [cache.get(key, partial(load, key)) for key in map(str, range(TURNS // 5))]

    expected = [f"of {number}".encode() for number in range(TURNS // 5)]
    assert together(*[read] * THREADS) == [expected] * THREADS
    assert sorted(loads) == sorted(map(str, range(TURNS // 5)))


def test_a_function_runs_once_for_an_id(client: quotalock.Client) -> None:
    once, runs = client.once("payments"), []

    def pay(number: int) -> str:
        runs.append(number)
        return f"receipt {number}"

    def work() -> list[bytes | None]:
        return [once.run(str(number), partial(pay, number), PATIENT) for number in range(TURNS // 5)]

    together(*[work] * THREADS)
    assert sorted(runs) == list(range(TURNS // 5))


def test_a_sale_sells_what_it_has(client: quotalock.Client) -> None:
    sale, units = client.stock("sale:42"), THREADS * TURNS // 4
    sale.open(units)

    def buy() -> int:
        sold = 0
        for number in range(TURNS):
            taken = sale.take(f"buyer {number}")
            if taken and taken.reservation is not None:
                sold += sale.confirm(taken.reservation.id)
        return sold

    assert sum(together(*[buy] * THREADS)) == units
    status = sale.status()
    assert (status.available, status.held, status.sold) == (0, 0, units)


def test_a_client_is_closed_while_threads_call(make: Callable[[], quotalock.Client]) -> None:
    for _ in range(TURNS // 5):
        client = make()
        limiter, busy = client.limiter("logins", "1000000/hour"), threading.Event()

        def call(client: quotalock.Client = client, busy: threading.Event = busy) -> str:
            try:
                while True:
                    limiter = client.limiter("logins", "1000000/hour")
                    limiter.consume("ada")
                    client.lock("sku:42").acquire()
                    busy.set()
            except quotalock.Closed:
                return "closed"

        def close(client: quotalock.Client = client, busy: threading.Event = busy) -> str:
            busy.wait(PATIENT)
            client.close()
            return "closed"

        assert together(*[call] * THREADS, close, close) == ["closed"] * (THREADS + 2)
        with pytest.raises(quotalock.Closed):
            limiter.consume("ada")


def test_a_process_is_forked_while_threads_call(client: quotalock.Client) -> None:
    limiter, over = client.limiter("logins", "1000000/hour"), threading.Event()

    def call() -> int:
        calls = 0
        while not over.is_set():
            assert limiter.consume("parent")
            client.lock(f"lock {threading.get_ident()}").acquire()
            calls += 1
        return calls

    def child() -> None:
        for _ in range(TURNS):
            assert limiter.consume(str(os.getpid()))
        with client.lock("child", wait=PATIENT):
            pass

    def forks() -> bool:
        try:
            return all(all_well([fork(child)]) for _ in range(TURNS // 5))
        finally:
            over.set()

    *calls, well = together(*[call] * THREADS, forks)
    assert well
    assert 1_000_000 - limiter.peek("parent").remaining == sum(calls)


def test_loops_of_several_threads_share_a_client(url: str, prefix: str) -> None:
    client = aio.Client(url, prefix=prefix, timeout=PATIENT)
    limiter = client.limiter("logins", f"{THREADS * TURNS // 2}/hour")

    async def consume() -> int:
        return sum([(await limiter.consume("ada")).allowed for _ in range(TURNS)])

    async def work() -> int:
        return sum(await asyncio.gather(consume(), consume()))

    # A loop that is closed makes way for the next one.
    allowed = [sum(together(*[lambda: asyncio.run(work())] * THREADS)) for _ in range(5)]
    assert allowed == [THREADS * TURNS // 2, 0, 0, 0, 0]
    asyncio.run(client.close())


def test_a_client_is_closed_while_loops_of_several_threads_call(url: str, prefix: str) -> None:
    for _ in range(TURNS // 5):
        client, busy = aio.Client(url, prefix=prefix, timeout=PATIENT), threading.Event()
        limiter = client.limiter("logins", "1000000/hour")

        async def call(limiter: aio.Limiter = limiter, busy: threading.Event = busy) -> str:
            try:
                while True:
                    await limiter.consume("ada")
                    busy.set()
            except quotalock.Closed:
                return "closed"

        def close(client: aio.Client = client, busy: threading.Event = busy) -> str:
            busy.wait(PATIENT)
            asyncio.run(client.close())
            return "closed"

        calls = [lambda call=call: asyncio.run(call())] * THREADS
        assert together(*calls, close) == ["closed"] * (THREADS + 1)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_objects_come_and_go(url: str, prefix: str) -> None:
    told: list[str] = []

    def work() -> None:
        for number in range(TURNS):
            told_by = quotalock.Client(url, prefix=prefix, password=lambda: "", on_lost=lambda lock: None)
            told.append(told_by.server)
            client = quotalock.Client(fresh_memory(), on_decision=lambda decision, key: told.append(decision.name))
            assert client.limiter("logins", "5/minute").consume(number)
            lock = client.lock("sku:42")
            assert lock.acquire()
            assert not lock.lost
            del lock, client, told_by

    def collect() -> None:
        for _ in range(TURNS):
            gc.collect()

    together(*[work] * THREADS, collect)
    assert told.count("logins") == THREADS * TURNS


def test_threads_import_it_at_once() -> None:
    program = f"""
import threading
barrier, found = threading.Barrier({THREADS}), []
def work():
    barrier.wait()
    import quotalock
    found.append(sum(quotalock.limit("a", "k", "{TURNS}/hour").allowed for _ in range({TURNS})))
threads = [threading.Thread(target=work) for _ in range({THREADS})]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sum(found))
"""
    environment = {**os.environ, "QUOTALOCK_URL": "memory://"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout.strip()) == (0, "", str(TURNS))
