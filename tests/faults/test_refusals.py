"""Wrong passwords, lacking rights, wrong ports: a code, a message that says what to do, and no secret in either."""

from __future__ import annotations

import contextlib
import http.server
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import hostile
import measure
import pytest
from kept import kept_worker
from servers import Server, ServerError
from workers import Answer, Worker

SECRET = "sw0rdfish"
WRONG = "tuna-melt"
LIMITER = {"limiter": "refused", "policy": "5/1h"}
worker = kept_worker


def consume(worker: Worker) -> Answer:
    return worker.ask("consume", **LIMITER, key="k", cost=1)


def refused(worker: Worker, url: str, code: str, *words: str, timeout_ms: int = 5000) -> Answer:
    """A call over this URL is refused with the code and these words, twice the same, and shows no password."""
    assert "error" not in worker.client(url, timeout_ms=timeout_ms)
    for _ in range(2):
        answer = consume(worker)
        assert answer.get("error") == code, answer
        for word in words:
            assert word in answer["message"]
        for form in (answer["message"], answer["shown"], json.dumps(answer)):
            assert SECRET not in form
            assert WRONG not in form
    return answer


def cured(worker: Worker) -> None:
    """What was mended is noticed without a new client, as soon as the breaker looks again."""
    with measure.Stalls() as stalls:
        end = time.monotonic() + 1.1
        while "error" in (answer := consume(worker)):
            assert time.monotonic() < end + stalls.worst, answer
    assert answer["result"]["source"] == "redis"


def echo(peer: hostile.Peer) -> None:
    while True:
        peer.send(peer.receive())


def is_busy(server: Server) -> bool:
    try:
        server.command("PING")
    except ServerError as error:
        return "BUSY" in str(error)
    return False


def with_login(server: Server, login: str) -> str:
    return server.url.replace("redis://", f"redis://{login}@")


def place(server: Server) -> str:
    return f"127.0.0.1:{server.port}"


class TestLogin:
    def test_wrong_password(self, worker: Worker, server: Server) -> None:
        server.command("CONFIG", "SET", "requirepass", SECRET)
        refused(worker, with_login(server, f":{WRONG}"), "not_permitted", "password", place(server))
        refused(worker, with_login(server, f"nobody:{WRONG}"), "not_permitted", "user", place(server))

    def test_missing_password(self, worker: Worker, server: Server) -> None:
        server.command("CONFIG", "SET", "requirepass", SECRET)
        refused(worker, server.url, "not_permitted", "password", place(server))

    def test_password_for_a_server_without_one(self, worker: Worker, server: Server) -> None:
        words = ("no password", place(server))
        refused(worker, with_login(server, f":{WRONG}"), "not_permitted", *words)

    def test_rights_taken_away_under_an_open_connection(self, worker: Worker, server: Server) -> None:
        worker.client(with_login(server, f"app:{SECRET}"))
        server.command("ACL", "SETUSER", "app", "on", f">{SECRET}", "~*", "+@all")
        cured(worker)
        server.command("ACL", "SETUSER", "app", "-@all")
        answer = consume(worker)
        assert answer["error"] == "not_permitted"
        assert SECRET not in json.dumps(answer)
        server.command("ACL", "SETUSER", "app", "+@all")
        cured(worker)

    def test_wrong_database(self, worker: Worker, server: Server) -> None:
        refused(worker, f"{server.url}/99", "invalid_argument", "database 99", "does not exist", place(server))

    @pytest.mark.parametrize(("command", "url"), [("SELECT", "/1"), ("TIME", ""), ("EVALSHA", "")])
    def test_a_command_that_was_renamed(self, worker: Worker, command: str, url: str) -> None:
        with Server("redis-7.0", "--rename-command", command, "") as renamed:
            answer = refused(worker, renamed.url + url, "not_permitted", "renamed", place(renamed))
            assert command in answer["message"].upper()
            assert "does not exist" not in answer["message"]

    def test_what_is_quoted_from_a_login_is_not_shown(self, worker: Worker) -> None:
        """A server without AUTH quotes its arguments: unknown command `AUTH`, with args beginning with: 'sw0rdfish'."""
        with Server("redis-7.0", "--rename-command", "AUTH", "") as renamed:
            for login in (f":{SECRET}", f"app:{SECRET}", f":{WRONG}"):
                refused(worker, with_login(renamed, login), "not_permitted", "auth", "renamed", place(renamed))

    def test_what_an_echo_says_is_not_shown(self, worker: Worker) -> None:
        """What sends back all it gets answers a login with the login."""
        with hostile.Hostile("connection", echo) as bad:
            for login in (f":{SECRET}", f"app:{SECRET}", f"{SECRET}:{WRONG}"):
                url = f"redis://{login}@127.0.0.1:{bad.port}"
                refused(worker, url, "unavailable", "not as Redis", f"127.0.0.1:{bad.port}")


class TestRights:
    @pytest.mark.parametrize("command", ["evalsha", "time", "getrange", "set"])
    def test_a_lacking_command_is_named(self, worker: Worker, server: Server, command: str) -> None:
        rights = ("resetkeys", "~ql:*", "nocommands", "+eval", "+evalsha", "+time", "+get", "+getrange", "+set", "+del")
        server.command("ACL", "SETUSER", "app", "on", f">{SECRET}", *rights, f"-{command}")
        url = with_login(server, f"app:{SECRET}")
        refused(worker, url, "not_permitted", f"'{command}'", f"+{command}", "ACL SETUSER")
        server.command("ACL", "SETUSER", "app", f"+{command}")
        cured(worker)

    def test_keys_that_are_not_allowed(self, worker: Worker, server: Server) -> None:
        server.command("ACL", "SETUSER", "app", "on", f">{SECRET}", "~other:*", "+@all")
        refused(worker, with_login(server, f"app:{SECRET}"), "not_permitted", "key", place(server))
        server.command("ACL", "SETUSER", "app", "~ql:*")
        cured(worker)


class TestState:
    def test_a_replica_that_may_not_write(self, worker: Worker, server: Server) -> None:
        worker.client(server.url)
        cured(worker)
        server.command("REPLICAOF", "127.0.0.1", "1")
        refused(worker, server.url, "unavailable", "READONLY", place(server), timeout_ms=500)
        server.command("REPLICAOF", "NO", "ONE")
        cured(worker)

    def test_a_busy_server_is_waited_for(self, worker: Worker, server: Server) -> None:
        """A script of somebody else's that runs for longer than its limit makes Redis answer BUSY meanwhile."""
        server.command("CONFIG", "SET", "busy-reply-threshold", "10")
        worker.client(server.url, timeout_ms=3000)
        cured(worker)
        with socket.create_connection(("127.0.0.1", server.port)) as hog:
            hog.sendall(b'EVAL "while true do end" 0\r\n')
            end = time.monotonic() + 10
            while not is_busy(server):
                assert time.monotonic() < end
            ended: list[int] = []

            def end_it() -> None:
                ended.append(time.monotonic_ns())
                server.command("SCRIPT", "KILL")

            with measure.Stalls() as stalls:
                timer = threading.Timer(0.3, end_it)
                timer.start()
                answer = consume(worker)
                timer.join()
        assert answer["result"]["remaining"] == 3
        assert 0 < (answer["ok_ns"] - ended[0]) / 1e6 < 700 + stalls.worst_ms

    def test_full(self, worker: Worker, server: Server) -> None:
        server.command("CONFIG", "SET", "maxmemory", "1")
        refused(worker, server.url, "unavailable", "full", "maxmemory", place(server))
        server.command("CONFIG", "SET", "maxmemory", "0")
        cured(worker)

    def test_wrong_type(self, worker: Worker, server: Server) -> None:
        server.command("RPUSH", "ql:limit:refused:{k}", "a list of somebody else's")
        refused(worker, server.url, "wrong_type", "ql:limit:refused:{k}")
        assert server.command("LLEN", "ql:limit:refused:{k}") == "1"
        server.command("DEL", "ql:limit:refused:{k}")
        cured(worker)

    def test_leftover_without_a_ttl_is_healed_by_the_first_call(self, worker: Worker, server: Server) -> None:
        """The incident: a counter below zero that never expires, and so blocks every buyer for ever."""
        server.command("SET", "ql:limit:refused:{k}", "-37412")
        worker.client(server.url)
        first, second = consume(worker)["result"], consume(worker)["result"]
        assert (first["allowed"], first["healed"], first["remaining"]) == (True, True, 4)
        assert (second["allowed"], second["healed"], second["remaining"]) == (True, False, 3)
        assert 3_590_000 < int(server.command("PTTL", "ql:limit:refused:{k}")) <= 3_600_001


@pytest.fixture
def http_port() -> Iterator[int]:
    """A server of another trade, as on a mistyped port."""

    class Quiet(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as site:
        thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield site.server_port
        site.shutdown()
        thread.join()


class TestPort:
    def test_nobody_listens(self, worker: Worker, server: Server) -> None:
        server.stop()
        refused(worker, with_login(server, f":{SECRET}"), "unavailable", place(server), "refused")

    def test_http_answers(self, worker: Worker, http_port: int) -> None:
        url = f"redis://:{SECRET}@127.0.0.1:{http_port}"
        refused(worker, url, "unavailable", "not as Redis", f"127.0.0.1:{http_port}")

    def test_nobody_answers(self, worker: Worker) -> None:
        with socket.create_server(("127.0.0.1", 0)) as mute:
            port = mute.getsockname()[1]
            url = f"redis://:{SECRET}@127.0.0.1:{port}"
            with measure.Stalls() as stalls:
                answer = refused(worker, url, "timeout", f"127.0.0.1:{port}", timeout_ms=200)
            # The second of the two calls came from the breaker.
            assert (answer["ok_ns"] - answer["invoke_ns"]) / 1e6 < 100 + stalls.worst_ms

    @pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_UNIX], ids=["tcp", "unix"])
    def test_nobody_accepts(self, worker: Worker, family: socket.AddressFamily, tmp_path: Path) -> None:
        """The queue of a server that hangs is full: connecting itself takes for ever."""
        unix = family == socket.AF_UNIX
        with contextlib.ExitStack() as stack:
            full = stack.enter_context(socket.socket(family))
            full.bind(str(tmp_path / "full") if unix else ("127.0.0.1", 0))
            full.listen(0)
            for _ in range(3):
                waiting = stack.enter_context(socket.socket(family))
                waiting.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    waiting.connect(full.getsockname())
            url = f"unix://{tmp_path / 'full'}" if unix else f"redis://127.0.0.1:{full.getsockname()[1]}"
            worker.client(url, timeout_ms=200)
            with measure.Stalls() as stalls:
                answer = consume(worker)
            assert answer["error"] == "timeout"
            assert (answer["ok_ns"] - answer["invoke_ns"]) / 1e6 < 350 + stalls.worst_ms

    def test_the_peer_hangs_up_at_once(self, worker: Worker, server: Server) -> None:
        server.command("CONFIG", "SET", "maxclients", "1")
        with socket.create_connection(("127.0.0.1", server.port)) as only:
            only.sendall(b"PING\r\n")
            assert only.recv(7) == b"+PONG\r\n"
            refused(worker, server.url, "unavailable", "maxclients", place(server))
