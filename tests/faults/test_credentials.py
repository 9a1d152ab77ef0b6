"""Who we are: certificates that we show, passwords that are changed, and what an operator sees of us."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import measure
import pytest
from kept import kept_worker
from program import free_port
from security import rights
from servers import Server, ServerError
from workers import Answer, Worker

POLICY = "100/1h"
worker = kept_worker
OLD, NEW = "0ld-sw0rdfish", "n3w-tuna"


def consume(worker: Worker) -> Answer:
    return worker.ask("consume", limiter="place", policy=POLICY, key="k", cost=1)


def refused(worker: Worker, code: str, *words: str) -> None:
    answer = consume(worker)
    assert answer.get("error") == code, answer
    for word in words:
        assert word in answer["message"]
    for secret in (OLD, NEW, "PRIVATE KEY"):
        assert secret not in json.dumps(answer)


def admitted(worker: Worker) -> None:
    """It is admitted as soon as the breaker looks again."""
    with measure.Stalls() as stalls:
        end = time.monotonic() + 1.1
        while "error" in (answer := consume(worker)):
            assert time.monotonic() < end + stalls.worst, answer
    assert answer["result"]["source"] == "redis"


@pytest.fixture
def strict_port(certificates: Path) -> Iterator[int]:
    """A server that asks for a client certificate."""
    port = free_port()
    files = ("--tls-cert-file", "server.pem", "--tls-key-file", "server.key", "--tls-ca-cert-file", "ca.pem")
    options = [word if word.startswith("--") else str(certificates / word) for word in files]
    with Server("redis-7.0", "--tls-port", str(port), "--tls-auth-clients", "yes", *options):
        yield port


class TestCertificates:
    def url(self, port: int, folder: Path, cert: str = "", key: str = "") -> str:
        options = [
            f"ca={folder / 'ca.pem'}",
            *(f"{name}={folder / file}" for name, file in (("cert", cert), ("key", key)) if file),
        ]
        return f"rediss://127.0.0.1:{port}?{'&'.join(options)}"

    def test_a_server_that_asks_for_one_gets_it(self, worker: Worker, strict_port: int, certificates: Path) -> None:
        worker.client(self.url(strict_port, certificates, "client.pem", "client.key"))
        assert consume(worker)["result"]["remaining"] == 99
        assert consume(worker)["result"]["remaining"] == 98

    def test_what_is_wrong_is_told(self, worker: Worker, strict_port: int, certificates: Path) -> None:
        place = f"127.0.0.1:{strict_port}"
        for files, code, words in (
            (("", ""), "unavailable", (place, "demands a client certificate", "cert=")),
            (("stranger.pem", "stranger.key"), "unavailable", (place, "refused the certificate of cert=")),
            (("client.pem", "server.key"), "invalid_argument", ("client.pem", "server.key", "does not belong")),
            (("nowhere.pem", "client.key"), "invalid_argument", ("cert ", "nowhere.pem", "PEM")),
            (("client.pem", "nowhere.key"), "invalid_argument", ("key ", "nowhere.key", "PEM")),
            (("client.key", "client.key"), "invalid_argument", ("holds no certificate", "client.key")),
            (("client.pem", "client.pem"), "invalid_argument", ("holds no private key", "client.pem")),
        ):
            worker.client(self.url(strict_port, certificates, *files))
            refused(worker, code, *words)
        for url, words in (
            (self.url(strict_port, certificates, cert="client.pem"), ("cert=", "without key=")),
            (self.url(strict_port, certificates, key="client.key"), ("key=", "without cert=")),
            (f"redis://h?cert={certificates}/a&key={certificates}/b", ("without TLS", "rediss://")),
        ):
            answer = worker.client(url)
            assert answer["error"] == "invalid_argument"
            assert all(word in answer["message"] for word in words)
            assert str(certificates) not in answer["message"]

    def test_a_renewed_certificate_is_read_without_a_failed_call(
        self, worker: Worker, strict_port: int, certificates: Path, tmp_path: Path
    ) -> None:
        cert, key = tmp_path / "client.pem", tmp_path / "client.key"

        def put(name: str) -> None:
            for file, end in ((cert, "pem"), (key, "key")):
                file.write_text((certificates / f"{name}.{end}").read_text())

        url = f"rediss://127.0.0.1:{strict_port}?ca={certificates / 'ca.pem'}&cert={cert}&key={key}"
        put("stranger")
        worker.client(url)
        refused(worker, "unavailable", "refused the certificate")
        put("client")
        # Another client of the same process has the files as they were read.
        worker.client(url, prefix="other")
        assert consume(worker)["result"]["remaining"] == 99


class TestPasswordFile:
    def test_a_changed_password_is_read_without_a_failed_call(
        self, worker: Worker, server: Server, tmp_path: Path
    ) -> None:
        file = tmp_path / "pass word"
        file.write_text(f"{OLD}\n")
        server.command("ACL", "SETUSER", "app", "on", f">{OLD}", "~ql:*", "+@all")
        worker.client(f"redis://app@127.0.0.1:{server.port}?password_file={tmp_path}/pass%20word")
        assert consume(worker)["result"]["remaining"] == 99
        server.command("ACL", "SETUSER", "app", "resetpass", f">{NEW}")
        file.write_text(NEW)
        # An open connection stays, and the next one is logged in with what the file says now.
        assert consume(worker)["result"]["remaining"] == 98
        server.command("CLIENT", "KILL", "USER", "app")
        time.sleep(measure.SEEN)
        assert consume(worker)["result"]["remaining"] == 97

    def test_a_file_that_comes_after_the_change_is_found(self, worker: Worker, server: Server, tmp_path: Path) -> None:
        file = tmp_path / "password"
        file.write_text(OLD)
        server.command("CONFIG", "SET", "requirepass", NEW)
        worker.client(f"redis://127.0.0.1:{server.port}?password_file={file}")
        refused(worker, "not_permitted", f"127.0.0.1:{server.port}", str(file), "password")
        file.write_text(NEW)
        admitted(worker)

    def test_what_is_wrong_is_told(self, worker: Worker, server: Server, tmp_path: Path) -> None:
        place = f"127.0.0.1:{server.port}"
        for name, content in (("missing", None), ("empty", b"\n"), ("binary", b"\xff\xfe"), ("long", b"x" * 70_000)):
            if content is not None:
                (tmp_path / name).write_bytes(content)
            worker.client(f"redis://{place}?password_file={tmp_path}/{name}")
            refused(worker, "not_permitted", place, f"{tmp_path}/{name}", "correct it")
        for url, words in (
            (f"redis://:{OLD}@{place}?password_file={tmp_path}/p", ("password_file", "take one of the two out")),
            (f"redis://{place}?password_file=", ("password_file", "absolute path")),
            (f"redis://{place}?password_file={OLD}", ("password_file", "absolute path")),
            (f"redis://{place}?client_name=a%20b", ("client_name", "no spaces")),
        ):
            answer = worker.client(url)
            assert answer["error"] == "invalid_argument"
            assert all(word in answer["message"] for word in words)
            assert OLD not in json.dumps(answer)


class TestRights:
    """With exactly the rights of SECURITY.md, and keys and channels of the prefix alone."""

    @pytest.mark.parametrize("name", ["redis-6.2", "redis-7.0", "valkey-9.1"])
    def test_everything_works(self, worker: Worker, name: str) -> None:
        with Server(name) as server:
            words = [f">{NEW}" if word.startswith(">") else word for word in rights("A server")]
            server.command("ACL", "SETUSER", "app", *words)
            worker.client(f"redis://app:{NEW}@127.0.0.1:{server.port}/1")
            for policy in ("5/1h", "sliding-log 5/1h", "token-bucket 5/1h", "calendar-window 5/day"):
                assert worker.decide("consume", policy, policy, "k", cost=2)["remaining"] == 3
                assert worker.decide("peek", policy, policy, "k", cost=1)["remaining"] == 3
                worker.decide("refund", policy, policy, "k", amount=1)
                worker.decide("block", policy, policy, "k", duration_ms=60_000)
                assert worker.decide("reset", policy, policy, "k") is True
            assert self.done(worker, "lock.acquire") is True
            assert self.done(worker, "lock.extend") is True
            assert self.done(worker, "lock.release") is True
            assert self.done(worker, "stock.open", quantity=5, per_buyer=2) is True
            taken = self.done(worker, "stock.take", buyer="ada", quantity=2)["reservation"]
            assert self.done(worker, "stock.confirm", id=taken["id"]) is True
            assert self.done(worker, "stock.status")["sold"] == 2
            assert [entry["kind"] for entry in self.done(worker, "stock.ledger")] == ["opened", "held", "confirmed"]
            assert self.done(worker, "once.claim", key="k", value=b"v")["first"] is True
            assert self.done(worker, "cache.get", key="k", load={"value": b"v"}) == b"v".hex()
            assert self.done(worker, "cache.invalidate", key="k") is True

    def done(self, worker: Worker, op: str, **arguments: Any) -> Any:
        answer = worker.call(op, "n", **arguments)
        assert "error" not in answer, answer
        return answer["result"]

    @pytest.mark.parametrize("password", ["p", "command", "ERR", "user"])
    def test_a_password_that_is_a_word_of_the_refusal_hides_no_other(
        self, worker: Worker, server: Server, password: str
    ) -> None:
        rights = ("resetkeys", "~ql:*", "nocommands", "+eval", "+evalsha", "+time", "+get", "+getrange", "+del")
        server.command("ACL", "SETUSER", "app", "on", f">{password}", *rights)
        worker.client(f"redis://app:{password}@127.0.0.1:{server.port}")
        answer = consume(worker)
        assert answer["error"] == "not_permitted"
        if password != "command":
            assert "+set" in answer["message"]


class TestNames:
    def listed(self, server: Server) -> list[dict[str, str]]:
        lines = server.command("CLIENT", "LIST").splitlines()
        clients = [dict(word.split("=", 1) for word in line.split(" ")) for line in lines]
        return [client for client in clients if client["cmd"] != "client|list" and client["cmd"] != "client"]

    @pytest.mark.parametrize("name", ["redis-6.2", "redis-7.0", "valkey-9.1"])
    def test_an_operator_sees_who_is_connected(self, worker: Worker, name: str) -> None:
        with Server(name) as server:
            for url, shown in ((server.url, "quotalock"), (f"{server.url}?client_name=checkout:7", "checkout:7")):
                worker.client(url)
                admitted(worker)
                seen = [client for client in self.listed(server) if client["name"] == shown]
                assert seen
                if name == "valkey-9.1":
                    assert {client["lib-name"] for client in seen} == {"quotalock"}
                    assert all(client["lib-ver"] for client in seen)

    def test_a_server_that_may_not_be_told_is_used_without(self, worker: Worker, server: Server) -> None:
        rights = ("resetkeys", "~ql:*", "nocommands", "+eval", "+evalsha", "+time", "+get", "+getrange", "+set", "+del")
        server.command("ACL", "SETUSER", "app", "on", f">{NEW}", *rights)
        worker.client(f"redis://app:{NEW}@127.0.0.1:{server.port}")
        admitted(worker)
        assert [client["name"] for client in self.listed(server)] == [""]

    def test_a_server_without_the_command_is_used_without(self, worker: Worker) -> None:
        with Server("redis-7.0", "--rename-command", "CLIENT", "") as server:
            worker.client(server.url)
            admitted(worker)
            with pytest.raises(ServerError, match="unknown command"):
                server.command("CLIENT", "LIST")
