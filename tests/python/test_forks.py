"""Objects made and used before a fork work after it, in parent and children, and share no socket.

A shared socket shows as another process' reply: each process counts on a key of its own, so that an answer that is not
its own has the wrong number in it. And the server counts the connections.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import quotalock
from forks import all_well, fork
from quotalock import aio
from servers import Server

CHILDREN = 4
# Of gunicorn, and the threads that ask them.
WORKERS = 3
ASKING = 8
CALLS = 300
LIMIT = 1_000_000


@pytest.fixture(scope="module")
def server() -> Any:
    """A server of its own: its connections are counted."""
    with Server("redis-7.0") as server:
        yield server


def connections(server: Server) -> int:
    """How many there are but the one that asks."""
    return int(server.command("INFO", "clients").split("connected_clients:")[1].split()[0]) - 1


def count_down(consume: Callable[[str], quotalock.Decision], key: str) -> None:
    for number in range(1, CALLS + 1):
        assert consume(key).remaining == LIMIT - number, f"{key} got an answer that is not its own"


def in_threads(consume: Callable[[str], quotalock.Decision], who: str) -> None:
    failures: list[BaseException] = []

    def work(key: str) -> None:
        try:
            count_down(consume, key)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(f"{who}-{number}",)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


async def in_tasks(limiter: aio.Limiter, who: str) -> None:
    async def work(key: str) -> None:
        for number in range(1, CALLS + 1):
            assert (await limiter.consume(key)).remaining == LIMIT - number, key

    await asyncio.gather(*(work(f"{who}-{number}") for number in range(3)))


def test_a_child_holds_its_locks_itself(server: Server, prefix: str) -> None:
    client = quotalock.Client(server.url, prefix=prefix, timeout=10)

    def hold(name: str) -> None:
        with client.lock(name) as lock:
            assert [holder.pid for holder in lock.inspect().holders] == [os.getpid()]

    hold("before")
    assert all_well([fork(lambda: hold("child"))])
    hold("afterwards")
    client.close()


def test_a_client_used_before_os_fork(server: Server, prefix: str) -> None:
    before = connections(server)
    client = quotalock.Client(server.url, prefix=prefix, timeout=10)
    limiter = client.limiter("fork", f"{LIMIT}/hour")
    count_down(limiter.consume, "before")
    gate, opener = os.pipe()

    def work() -> None:
        os.read(gate, 1)
        in_threads(limiter.consume, f"child-{os.getpid()}")

    children = [fork(work) for _ in range(CHILDREN)]
    os.write(opener, b"x" * CHILDREN)
    in_threads(limiter.consume, "parent")
    assert all_well(children)
    in_threads(limiter.consume, "afterwards")
    client.close()
    wait_for(lambda: connections(server) == before)


def test_each_process_has_connections_of_its_own(server: Server, prefix: str) -> None:
    client = quotalock.Client(server.url, prefix=prefix, timeout=10)
    limiter = client.limiter("fork", f"{LIMIT}/hour")
    assert limiter.consume("before")
    before = connections(server)
    gate, opener = os.pipe()
    tell, told = os.pipe()

    def work() -> None:
        assert limiter.consume("child")
        os.write(told, b"x")
        os.read(gate, 1)

    children = [fork(work) for _ in range(CHILDREN)]
    for _ in range(CHILDREN):
        os.read(tell, 1)
    assert connections(server) == before + CHILDREN
    os.write(opener, b"x" * CHILDREN)
    assert all_well(children)
    assert limiter.peek("child").remaining == LIMIT - CHILDREN


def test_forks_while_threads_are_in_calls(server: Server, prefix: str) -> None:
    client = quotalock.Client(server.url, prefix=prefix, timeout=10)
    limiter = client.limiter("fork", f"{LIMIT}/hour")
    stop = threading.Event()
    made: list[int] = []

    def work(key: str) -> None:
        calls = 0
        while not stop.is_set():
            calls += 1
            assert limiter.consume(key).remaining == LIMIT - calls
        made.append(calls)

    threads = [threading.Thread(target=work, args=(f"thread-{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    children = []
    for _ in range(CHILDREN):
        time.sleep(0.05)
        children.append(fork(lambda: in_threads(limiter.consume, f"child-{os.getpid()}")))
    assert all_well(children)
    stop.set()
    for thread in threads:
        thread.join()
    assert len(made) == len(threads)
    assert min(made) > 0


def test_a_client_of_asyncio_used_before_os_fork(server: Server, prefix: str) -> None:
    client = aio.Client(server.url, prefix=prefix, timeout=10)
    limiter = client.limiter("fork", f"{LIMIT}/hour")
    event_loop = asyncio.new_event_loop()
    event_loop.run_until_complete(in_tasks(limiter, "before"))
    children = [fork(lambda: asyncio.run(in_tasks(limiter, f"child-{os.getpid()}"))) for _ in range(CHILDREN)]
    # The loop of before the fork goes on in the parent, with the connection it has: no child took it out of its epoll.
    event_loop.run_until_complete(in_tasks(limiter, "parent"))
    assert all_well(children)
    event_loop.run_until_complete(in_tasks(limiter, "afterwards"))
    event_loop.run_until_complete(client.close())
    event_loop.close()


def test_a_child_that_goes_on_with_its_parents_loop_has_a_connection_of_its_own(server: Server, prefix: str) -> None:
    limiter = aio.Client(server.url, prefix=prefix, timeout=10).limiter("fork", f"{LIMIT}/hour")
    event_loop = asyncio.new_event_loop()
    event_loop.run_until_complete(limiter.consume("k"))
    before = connections(server)

    def work() -> None:
        assert event_loop.run_until_complete(limiter.consume("k")).remaining == LIMIT - 2
        assert connections(server) == before + 1

    assert all_well([fork(work)])
    assert event_loop.run_until_complete(limiter.consume("k")).remaining == LIMIT - 3
    assert connections(server) == before
    event_loop.close()


def test_a_fork_in_the_middle_of_calls_on_a_loop(server: Server, prefix: str) -> None:
    client = aio.Client(server.url, prefix=prefix, timeout=10)
    limiter = client.limiter("fork", f"{LIMIT}/hour")

    def work() -> None:
        asyncio.run(in_tasks(limiter, f"child-{os.getpid()}"))
        asyncio.run(client.close())

    async def parent() -> None:
        under_way = [asyncio.create_task(in_tasks(limiter, f"parent-{number}")) for number in range(4)]
        await asyncio.sleep(0.01)
        children = [fork(work) for _ in range(2)]
        await asyncio.gather(*under_way)
        assert all_well(children)
        await in_tasks(limiter, "afterwards")

    asyncio.run(parent())


class Shared:
    """What the children of multiprocessing inherit."""

    limiter: quotalock.Limiter
    aio_limiter: aio.Limiter


def blocking_child(number: int) -> str:
    count_down(Shared.limiter.consume, f"child-{number}")
    return Shared.limiter.consume("all").source


def asyncio_child(number: int) -> str:
    asyncio.run(in_tasks(Shared.aio_limiter, f"aio-{number}"))
    return "redis"


@pytest.mark.parametrize("child", [blocking_child, asyncio_child])
def test_a_client_used_before_multiprocessing_forks(server: Server, prefix: str, child: Callable[[int], str]) -> None:
    Shared.limiter = quotalock.Client(server.url, prefix=prefix, timeout=10).limiter("fork", f"{LIMIT}/hour")
    Shared.aio_limiter = aio.Client(server.url, prefix=prefix, timeout=10).limiter("fork", f"{LIMIT}/hour")
    count_down(Shared.limiter.consume, "before")
    asyncio.run(in_tasks(Shared.aio_limiter, "before"))
    with multiprocessing.get_context("fork").Pool(CHILDREN) as pool:
        assert pool.map(child, range(2 * CHILDREN), chunksize=1) == ["redis"] * 2 * CHILDREN
        count_down(Shared.limiter.consume, "parent")
        pool.close()
        pool.join()


APPLICATION = """
import json, os, threading
import quotalock

client = quotalock.Client(os.environ["URL"], prefix=os.environ["PREFIX"], timeout=10)
limiter = client.limiter("gunicorn", "1000000/hour")
trusting = quotalock.Client(os.environ["URL"], prefix=os.environ["PREFIX"], timeout=10, deny_cache_max=60)
hot = trusting.limiter("hot", "1/hour")
assert limiter.consume("loaded")
assert quotalock.limit("default", "loaded", "1000000/hour")


def application(environ, start_response):
    key = environ["PATH_INFO"]
    decision = limiter.consume(key)
    other = quotalock.limit("default", key, "1000000/hour")
    start_response("200 OK", [("Content-Type", "application/json")])
    answer = [os.getpid(), decision.allowed, decision.remaining, other.remaining, hot.consume("k").source]
    return [json.dumps(answer).encode()]
"""


@pytest.mark.parametrize("worker", [("sync", "1"), ("gthread", "4")])
def test_an_application_that_gunicorn_loads_before_it_forks(
    server: Server, prefix: str, worker: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / "application.py").write_text(APPLICATION)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    kind, threads = worker
    command = [
        *(
            sys.executable,
            "-m",
            "gunicorn",
            "--preload",
            "--workers",
            str(WORKERS),
            "--worker-class",
            kind,
            "--threads",
            threads,
            # A worker that is told to end while it boots does not hear it.
            "--graceful-timeout",
            "5",
        ),
        # Nobody else can take the port.
        *("--bind", f"fd://{listener.fileno()}", "--no-control-socket", "application:application"),
    ]
    environment = {**os.environ, "URL": server.url, "PREFIX": prefix, "QUOTALOCK_URL": server.url}
    log = (tmp_path / "log").open("wb")
    gunicorn = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=log, stderr=log, pass_fds=[listener.fileno()]
    )
    listener.close()
    try:
        told = (tmp_path / "log").read_text
        wait_for(lambda: "Booting worker" in told(), or_tell=told)
        for _ in range(2):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/first", timeout=20) as reply:
                assert json.load(reply)[4] == "redis"
        answers = ask_until_each_worker_answered(port)
    finally:
        gunicorn.terminate()
        gunicorn.wait(30)
        log.close()
    assert all(answer[1] for answer in answers)
    # What one worker was denied, all know.
    assert {answer[4] for answer in answers} == {"deny-cache"}
    # Each of the keys was counted once for each of its answers, whoever of the workers did it.
    times = len(answers) // ASKING
    left = sorted(list(range(LIMIT - times, LIMIT)) * ASKING)
    assert sorted(answer[2] for answer in answers) == left
    assert sorted(answer[3] for answer in answers) == left


def ask_until_each_worker_answered(port: int) -> list[Any]:
    """The kernel chooses who answers: a worker that is ready before the others may answer all of a round."""
    answers: list[Any] = []

    def each_answered() -> bool:
        answers.extend(ask_from_threads(port))
        return len({answer[0] for answer in answers}) == WORKERS

    wait_for(each_answered, or_tell=lambda: f"{len(answers)} answers came from too few workers")
    return answers


def ask_from_threads(port: int) -> list[Any]:
    answers: list[Any] = []

    def ask(number: int) -> None:
        for _ in range(40):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{prefix_of(port)}-{number}", timeout=20) as reply:
                answers.append(json.load(reply))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(ASKING)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == ASKING * 40
    return answers


def prefix_of(port: int) -> str:
    """The client of `limit` has the default prefix, so the keys must differ between runs."""
    return f"{os.getpid()}-{port}"


def wait_for(condition: Callable[[], bool], or_tell: Callable[[], str] = lambda: "it did not come") -> None:
    give_up = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < give_up, or_tell()
        time.sleep(0.02)
