"""A primary that Sentinels watch: found, checked, lost and found again, in every language."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator

import measure
import pytest
from kept import kept_worker
from member import Member
from program import free_port
from sentinels import Sentinels
from servers import Server, ServerError
from workers import Answer, Worker

POLICY = "1000000/1h"
worker = kept_worker
SECRET, WRONG = "sw0rdfish", "tuna-melt"


def consume(worker: Worker, key: str = "k") -> Answer:
    return worker.ask("consume", limiter="watched", policy=POLICY, key=key, cost=1)


def refused(worker: Worker, url: str, code: str, *words: str, timeout_ms: int = 2000) -> None:
    """A call over this URL fails in time with the code and these words, and shows no password."""
    assert "error" not in worker.client(url, timeout_ms=timeout_ms)
    with measure.Stalls() as stalls:
        answer = consume(worker)
    assert answer.get("error") == code, answer
    for word in words:
        assert word in answer["message"], answer
    for secret in (SECRET, WRONG):
        assert secret not in json.dumps(answer)
    assert (answer["ok_ns"] - answer["invoke_ns"]) / 1e6 < timeout_ms + 50 + stalls.worst_ms


@contextlib.contextmanager
def told(answer: bytes) -> Iterator[str]:
    """The host and port of what says only this to whoever asks, as a Sentinel that is wrong or hangs."""
    with socket.create_server(("127.0.0.1", 0)) as listener, contextlib.ExitStack() as kept:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection = kept.enter_context(listener.accept()[0])
                    if answer:
                        connection.recv(1024)
                        connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            # A close alone leaves the thread waiting.
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def named(server: Member) -> bytes:
    port = str(server.port)
    return f"*2\r\n$9\r\n127.0.0.1\r\n${len(port)}\r\n{port}\r\n".encode()


@pytest.fixture(scope="module")
def watched() -> Iterator[Sentinels]:
    with Sentinels("redis-7.0", down_ms=600) as sentinels:
        yield sentinels


class TestFinding:
    def test_the_primary_is_found_and_the_database_chosen(self, worker: Worker, watched: Sentinels) -> None:
        assert "error" not in worker.client(f"{watched.url}/3")
        answer = consume(worker)
        assert answer["result"]["source"] == "redis", answer
        assert "db3:" in watched.primary.ask("INFO", "keyspace")
        watched.primary.ask("FLUSHALL")

    def test_one_sentinel_of_three_is_enough(self, worker: Worker, watched: Sentinels) -> None:
        with told(b"") as silent:
            for others in (f"127.0.0.1:{free_port()}", silent):
                for hosts in (f"{others},{watched.sentinels[0].address}", f"{watched.sentinels[0].address},{others}"):
                    worker.client(f"redis+sentinel://{hosts}/{watched.master}", timeout_ms=5000)
                    assert consume(worker)["result"]["source"] == "redis"

    def test_who_names_a_replica_is_not_believed(self, worker: Worker, watched: Sentinels) -> None:
        with told(named(watched.replicas()[0])) as wrong:
            for hosts in (f"{wrong},{watched.sentinels[0].address}", f"{watched.sentinels[0].address},{wrong}"):
                worker.client(f"redis+sentinel://{hosts}/{watched.master}", timeout_ms=5000)
                assert consume(worker)["result"]["source"] == "redis"
            url = f"redis+sentinel://{wrong}/{watched.master}"
            refused(worker, url, "unavailable", "is a replica", "failover", timeout_ms=1000)

    def test_sentinels_that_are_gone_are_missed_only_when_the_primary_moves(self, worker: Worker) -> None:
        with Sentinels("valkey-9.1", replicas=1, down_ms=600) as sentinels:
            worker.client(sentinels.url, timeout_ms=5000)
            assert consume(worker)["result"]["source"] == "redis"
            for each in sentinels.sentinels:
                each.kill9()
            sentinels.servers[0].ask("CLIENT", "KILL", "TYPE", "normal")
            # A connection that was used within the last millisecond is not looked at before it is used again.
            time.sleep(0.01)
            assert consume(worker)["result"]["source"] == "redis"


class TestBadInput:
    def test_urls(self, worker: Worker) -> None:
        for url, words in (
            ("redis+sentinel://h:1,h:2", ("names no primary", "redis+sentinel://host:26379")),
            ("redis+sentinel://h:1/", ("names no primary",)),
            ("redis+sentinel://h:1/a%20b", ("invalid name",)),
            ("redis+sentinel://h:1/shop/x", ("not a number",)),
            ("redis+sentinel://h:1,h:99999/shop", ("port", "99999")),
            ("redis+sentinel://h:1,/shop", ("no host",)),
            ("redis+sentinel://h:1/shop?ca=/ca.pem", ("rediss+sentinel://",)),
            ("redis+sentinel://h:1/shop?sentinel_user=u", ("sentinel_password",)),
            (f"redis+sentinel://h:1/shop?sentinel_password={SECRET}&sentinel_password_file=/p", ("one of the two",)),
            (f"redis+sentinel://h:1/shop?sentinel_password_file={SECRET}", ("absolute path",)),
            (f"redis://h:1/0?sentinel_password={SECRET}", ("unknown option",)),
        ):
            answer = worker.client(url)
            assert answer["error"] == "invalid_argument", url
            assert all(word in answer["message"] for word in words), answer
            assert SECRET not in json.dumps(answer)

    def test_a_name_that_no_sentinel_knows(self, worker: Worker, watched: Sentinels) -> None:
        url = watched.url.replace(f"/{watched.master}", "/other")
        refused(worker, url, "invalid_argument", "other", "127.0.0.1:", "correct the name")

    def test_no_sentinel_that_answers(self, worker: Worker) -> None:
        ports = [free_port(), free_port()]
        url = f"redis+sentinel://127.0.0.1:{ports[0]},127.0.0.1:{ports[1]}/shop"
        refused(worker, url, "unavailable", "no Sentinel names", *(f"127.0.0.1:{port}" for port in ports))
        with told(b"") as silent:
            refused(worker, f"redis+sentinel://{silent}/shop", "timeout", "no Sentinel told", silent, timeout_ms=400)

    def test_what_is_no_sentinel(self, worker: Worker, server: Server) -> None:
        place = f"127.0.0.1:{server.port}"
        refused(worker, f"redis+sentinel://{place}/shop", "invalid_argument", place, "is no Sentinel", "redis://")
        with told(b"HTTP/1.1 400 Bad Request\r\n\r\n") as odd:
            refused(worker, f"redis+sentinel://{odd}/shop", "unavailable", odd, "not as Redis does")

    def test_a_wrong_password_for_one_of_the_two(self, worker: Worker) -> None:
        with Sentinels("redis-7.0", replicas=0, sentinels=1) as locked:
            (sentinel,), (server,) = locked.sentinels, locked.servers
            server.ask("CONFIG", "SET", "requirepass", SECRET)
            sentinel.ask("SENTINEL", "SET", locked.master, "auth-pass", SECRET)
            sentinel.ask("ACL", "SETUSER", "default", "resetpass", f">{SECRET}")
            hosts, primary = f"{sentinel.address}/{locked.master}", server.address
            worker.client(f"redis+sentinel://:{SECRET}@{hosts}?sentinel_password={SECRET}")
            assert consume(worker)["result"]["source"] == "redis"
            words = ("Sentinel", sentinel.address, "sentinel_password=")
            url = f"redis+sentinel://:{SECRET}@{hosts}"
            refused(worker, url, "not_permitted", *words, "wants a password")
            refused(worker, f"{url}?sentinel_password={WRONG}", "not_permitted", *words, "refused")
            refused(worker, f"{url}?sentinel_user=u&sentinel_password={WRONG}", "not_permitted", *words, "refused")
            right = f"{hosts}?sentinel_password={SECRET}"
            refused(worker, f"redis+sentinel://{right}", "not_permitted", primary, "wants a password")
            refused(worker, f"redis+sentinel://:{WRONG}@{right}", "not_permitted", primary, "of the url")


class TestFailover:
    def test_no_call_fails_when_the_primary_is_replaced(self, worker: Worker, watched: Sentinels) -> None:
        """Its connections are given up, and a write that it refuses goes to the next one."""
        worker.client(watched.url, timeout_ms=5000)
        for _ in range(2):
            assert consume(worker)["result"]["source"] == "redis"
            old = watched.primary
            watched.failover()
            old.ask("CONFIG", "RESETSTAT")
            answer = consume(worker)
            assert "error" not in answer, answer
            # It may take itself for the primary for a while longer.
            assert "cmdstat_evalsha" not in old.info("commandstats")
            watched.wait_until_it_serves()

    def test_the_next_primary_is_used_within_100_ms(self, worker: Worker, watched: Sentinels) -> None:
        for frozen in (False, True):
            worker.client(watched.url, timeout_ms=500)
            assert consume(worker)["result"]["source"] == "redis"
            old = watched.primary
            with measure.Stalls() as stalls, Eyes(watched, old) as eyes:
                old.freeze() if frozen else old.kill9()
                answers = [consume(worker)]
                while "error" in answers[-1]:
                    time.sleep(0.002)
                    answers.append(consume(worker))
            old.thaw() if frozen else old.start()
            watched.wait_until_it_serves()
            for answer in answers[:-1]:
                assert answer["error"] in {"unavailable", "timeout"}, answer
                assert (answer["ok_ns"] - answer["invoke_ns"]) / 1e6 < 550 + stalls.worst_ms, answer
            # All Sentinels may tell it a little later than the one that was asked.
            late = (answers[-1]["ok_ns"] - eyes.promoted_ns) / 1e6
            print(f"{worker.name}: {late:.0f} ms after the promotion, stalls of {stalls.worst_ms:.0f} ms")
            assert late < 100 + 2 * stalls.worst_ms

    @pytest.mark.parametrize("worker", ["python", "node"], indirect=True)
    def test_who_waits_for_a_lock_gets_it_from_the_next_primary(self, worker: Worker, watched: Sentinels) -> None:
        holder, waiter = {"ttl_ms": 60_000}, {"ttl_ms": 60_000, "wait_ms": 14_000}
        with Worker("aio") as other:
            for each in (worker, other):
                each.client(watched.url, timeout_ms=5000)
            assert worker.call("lock.acquire", "n", holder)["result"] is True
            watched.primary.ask("WAIT", 2, 5000)
            other.begin_call("lock.acquire", "n", waiter)
            while worker.call("lock.inspect", "n", holder)["result"]["waiters"] == 0:
                time.sleep(0.01)
            watched.primary.ask("WAIT", 2, 5000)
            watched.failover()
            assert worker.call("lock.release", "n", holder)["result"] is True
            assert other.end()["result"] is True
            assert other.call("lock.release", "n", waiter)["result"] is True
        watched.wait_until_it_serves()


class Eyes:
    """Looks when the Sentinels tell of another primary, that says itself that it is one."""

    def __init__(self, sentinels: Sentinels, old: Member) -> None:
        self.promoted_ns = 0
        self._sentinels, self._old = sentinels, old
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Eyes:
        self._thread.start()
        return self

    def __exit__(self, *how: object) -> None:
        self._thread.join(60)
        assert self.promoted_ns

    def _look(self) -> None:
        others = {server.port: server for server in self._sentinels.servers if server is not self._old}
        while not self.promoted_ns:
            with contextlib.suppress(ServerError):
                told = {each.primary_of(self._sentinels.master) for each in self._sentinels.sentinels}
                if len(told) == 1 and (new := others.get(next(iter(told)))) and new.ask("ROLE")[0] == "master":
                    self.promoted_ns = time.monotonic_ns()
            time.sleep(0.002)
