"""A Redis that answers, but refuses to write or to work at all: calls are answered at once, and limits still limit."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import measure
import pytest
from kept import kept_worker
from servers import Server, ServerError
from workers import Answer, Worker

LIMITER = {"limiter": "refusing", "policy": "3/1h"}
worker = kept_worker
TIMEOUT_MS = 500
# How long a recovery may go unnoticed on a busy machine. A unit test knows the longest pause of the breaker.
NOTICED = 3.0

Trouble = Callable[[Server], AbstractContextManager[None]]


def consume(worker: Worker, key: str, cost: int = 1) -> Answer:
    return worker.ask("consume", **LIMITER, key=key, cost=cost)


def until(server: Server, condition: Callable[[Server], bool]) -> None:
    end = time.monotonic() + 10
    while not condition(server):
        assert time.monotonic() < end
        time.sleep(0.005)


@contextmanager
def a_disk_that_takes_nothing(server: Server) -> Iterator[None]:
    """MISCONF: a snapshot has failed, for a folder lies where its file should."""
    obstacle = server.folder / "dump.rdb" / "obstacle"
    obstacle.parent.unlink(missing_ok=True)
    obstacle.mkdir(parents=True)
    server.command("CONFIG", "SET", "save", "3600 1000000")
    server.command("BGSAVE")
    until(server, lambda it: "rdb_last_bgsave_status:err" in it.command("INFO", "persistence"))
    yield
    obstacle.rmdir()
    obstacle.parent.rmdir()
    server.command("BGSAVE")
    until(server, lambda it: "rdb_last_bgsave_status:ok" in it.command("INFO", "persistence"))


@contextmanager
def a_demotion(server: Server) -> Iterator[None]:
    """READONLY: it follows another that nobody has heard of."""
    server.command("REPLICAOF", "127.0.0.1", "1")
    yield
    server.command("REPLICAOF", "NO", "ONE")


@contextmanager
def no_replica(server: Server) -> Iterator[None]:
    """NOREPLICAS: it may not write without one."""
    server.command("CONFIG", "SET", "min-replicas-to-write", "1")
    yield
    server.command("CONFIG", "SET", "min-replicas-to-write", "0")


@contextmanager
def a_script_without_end(server: Server) -> Iterator[None]:
    """BUSY: somebody else's script."""
    server.command("CONFIG", "SET", "busy-reply-threshold", "10")

    def is_busy(it: Server) -> bool:
        try:
            it.command("PING")
        except ServerError as error:
            return "BUSY" in str(error)
        return False

    with socket.create_connection(("127.0.0.1", server.port)) as hog:
        hog.sendall(b'EVAL "while true do end" 0\r\n')
        until(server, is_busy)
        yield
        server.command("SCRIPT", "KILL")


@contextmanager
def a_dump_that_takes_long(server: Server) -> Iterator[None]:
    """LOADING: it was started anew, and reads its dump key by key."""
    server.command("DEBUG", "POPULATE", "100000")
    server.command("SAVE")
    server.stop()
    server.args = (*server.args, "--key-load-delay", "50", "--loading-process-events-interval-bytes", "1024")
    server.start(loaded=False)
    yield
    assert "\nloading:1" in server.command("INFO", "persistence"), "it was loaded too soon"
    server.command("CONFIG", "SET", "key-load-delay", "0")
    until(server, lambda it: "\nloading:0" in it.command("INFO", "persistence"))


@contextmanager
def full(server: Server) -> Iterator[None]:
    """OOM: nothing may be evicted."""
    server.command("CONFIG", "SET", "maxmemory", "1")
    yield
    server.command("CONFIG", "SET", "maxmemory", "0")


REFUSING = [a_disk_that_takes_nothing, a_demotion, no_replica, a_script_without_end, a_dump_that_takes_long]


@pytest.mark.parametrize("on_error", ["raise", "local"])
@pytest.mark.parametrize("trouble", REFUSING)
def test_a_refusal_that_lasts_is_answered_at_once(
    worker: Worker, server: Server, trouble: Trouble, on_error: str
) -> None:
    worker.client(server.url, timeout_ms=TIMEOUT_MS, on_error=on_error)
    assert consume(worker, "k")["result"]["source"] == "redis"
    with measure.Stalls() as stalls, trouble(server):
        first = consume(worker, "k")
        answers = [consume(worker, "k") for _ in range(100)]
    for answer in [first, *answers]:
        assert answer.get("error", answer.get("result", {}).get("source")) in {"unavailable", "local"}, answer
    assert measure.slowest_ms([first]) <= TIMEOUT_MS + 50 + stalls.worst_ms
    assert measure.slowest_ms(answers) <= 50 + stalls.worst_ms
    # A server that still reads is asked each time by `local`, but once.
    assert measure.median_ms(answers) < (1 if on_error == "raise" else 20)
    with measure.Stalls() as stalls:
        end = time.monotonic() + NOTICED
        while (answer := consume(worker, "k")).get("result", {}).get("source") != "redis":
            assert time.monotonic() < end + stalls.worst, f"not noticed: {answer}"


def test_who_caches_loads_by_itself_while_redis_reads_its_dump(worker: Worker, server: Server) -> None:
    worker.client(server.url, timeout_ms=TIMEOUT_MS)
    options = {"when_away": "load"}

    def get(key: str) -> Answer:
        return worker.call("cache.get", "pages", options, key=key, load={"value": "x"})

    assert get("before")["loads"] == 1
    with measure.Stalls() as stalls, a_dump_that_takes_long(server):
        answers = [get("during") for _ in range(20)]
    assert [(answer["loads"], answer.get("error")) for answer in answers] == [(1, None)] * 20, answers
    assert measure.slowest_ms(answers[:1]) <= TIMEOUT_MS + 100 + stalls.worst_ms
    assert measure.slowest_ms(answers[1:]) <= 50 + stalls.worst_ms
    with measure.Stalls() as stalls:
        end = time.monotonic() + NOTICED
        while get("after")["loads"]:
            assert time.monotonic() < end + stalls.worst
    # It was in the dump.
    assert get("before")["loads"] == 0


def test_a_server_that_refuses_is_asked_by_one_now_and_then(worker: Worker, server: Server) -> None:
    worker.client(server.url, timeout_ms=TIMEOUT_MS)
    consume(worker, "k")
    with a_demotion(server):
        consume(worker, "k")
        server.called()
        began, calls = time.monotonic(), 0
        while time.monotonic() < began + 1:
            consume(worker, "k")
            calls += 1
        asked = server.called().get("evalsha", 0)
    # After 10, 20, 40, .. ms, and then five times a second.
    assert 2 <= asked <= 12, f"{asked} of {calls}"


def test_who_only_reads_is_not_kept_from_a_replica(worker: Worker, server: Server) -> None:
    worker.client(server.url, timeout_ms=TIMEOUT_MS)
    consume(worker, "k")
    with a_demotion(server):
        assert consume(worker, "k")["error"] == "unavailable"
        for _ in range(20):
            assert worker.decide("peek", **LIMITER, key="k", cost=1)["remaining"] == 2


@pytest.mark.parametrize("trouble", [full, a_demotion, a_disk_that_takes_nothing, no_replica])
def test_local_limits_while_reads_work_and_writes_do_not(worker: Worker, server: Server, trouble: Trouble) -> None:
    worker.client(server.url, timeout_ms=TIMEOUT_MS, on_error="local")
    for _ in range(3):
        consume(worker, "spent")

    def admitted(times: int = 12) -> int:
        count = 0
        for _ in range(times):
            count += consume(worker, "k")["result"]["allowed"]
            # These read, and so are answered by Redis, which shows nothing.
            worker.decide("peek", **LIMITER, key="k", cost=1)
            assert not consume(worker, "spent")["result"]["allowed"]
        return count

    with trouble(server):
        assert admitted() == 3
    # It takes writes again, but what stood in for it about this key still counts when it is full again at once.
    with measure.Stalls() as stalls:
        end = time.monotonic() + NOTICED
        while (answer := consume(worker, "another"))["result"]["source"] != "redis":
            assert time.monotonic() < end + stalls.worst, answer
    with trouble(server):
        assert admitted(4) == 0
    with measure.Stalls() as stalls:
        end = time.monotonic() + NOTICED
        while (answer := consume(worker, "k"))["result"]["source"] != "redis":
            assert time.monotonic() < end + stalls.worst, answer
    # Redis learns nothing of what was decided without it, and what was counted here counts until its window ends.
    assert answer["result"]["remaining"] == 2
    with trouble(server):
        assert admitted(4) == 0


def test_a_login_that_fails_is_tried_by_one_now_and_then(worker: Worker, server: Server) -> None:
    server.command("ACL", "SETUSER", "app", "on", ">right", "~*", "+@all")
    worker.client(server.url.replace("redis://", "redis://app:wrong@"), timeout_ms=TIMEOUT_MS)
    server.called()
    began = time.monotonic()
    answers = [consume(worker, "k") for _ in range(300)]
    took = time.monotonic() - began
    assert {answer["error"] for answer in answers} == {"not_permitted"}
    assert measure.median_ms(answers) < 1
    # Every 10 ms at most, for a refused login costs next to nothing.
    assert server.called()["auth"] <= 2 + took / 0.01
