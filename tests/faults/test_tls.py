"""TLS in front of clusters and Sentinels, with certificates of ours; and the name that a server is asked for."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from program import free_port
from sentinels import Sentinel
from servers import Server
from workers import Answer, Worker

POLICY = "100/1h"


def consume(worker: Worker, key: str = "k") -> Answer:
    return worker.ask("consume", limiter="place", policy=POLICY, key=key, cost=1)


def tls(certificates: Path, port: int, name: str = "server") -> tuple[str, ...]:
    """The options of a server that asks for client certificates."""
    files = {"cert": f"{name}.pem", "key": f"{name}.key", "ca-cert": "ca.pem"}
    options = [word for what, file in files.items() for word in (f"--tls-{what}-file", str(certificates / file))]
    return ("--tls-port", str(port), "--tls-auth-clients", "yes", *options)


@pytest.fixture(scope="session")
def other_ca(certificates: Path) -> Path:
    """A folder like `certificates`, of another CA that signed `server` there; `both.pem` has both CAs."""
    folder = certificates / "other"
    folder.mkdir()
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    leaf = ("-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-subj", "/CN=other", *leaf)
    for words in (
        ("-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Another CA"),
        ("-keyout", "server.key", "-out", "server.pem", *signed),
    ):
        subprocess.run(["openssl", "req", "-x509", *key, *words], cwd=folder, check=True, capture_output=True)
    (folder / "both.pem").write_text((folder / "ca.pem").read_text() + (certificates / "ca.pem").read_text())
    return folder


class TestClusters:
    @pytest.fixture
    def port(self, certificates: Path) -> Iterator[int]:
        """Where a cluster of one server speaks TLS."""
        port = free_port()
        with Server(
            "redis-7.0", "--cluster-enabled", "yes", "--tls-cluster", "yes", *tls(certificates, port)
        ) as server:
            server.command("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
            server.command("CONFIG", "SET", "cluster-announce-ip", "127.0.0.1")
            yield port

    def test_a_client_certificate_is_shown_to_all_servers(self, worker: Worker, port: int, certificates: Path) -> None:
        files = f"ca={certificates}/ca.pem&cert={certificates}/client.pem&key={certificates}/client.key"
        worker.client(f"rediss+cluster://localhost:{port}?{files}")
        for key in ("a", "b", "c"):
            assert consume(worker, key).get("result", {}).get("allowed")

    def test_one_that_is_missing_is_told(self, worker: Worker, port: int, certificates: Path) -> None:
        worker.client(f"rediss+cluster://127.0.0.1:{port}?ca={certificates}/ca.pem")
        answer = consume(worker)
        assert answer["error"] == "unavailable"
        for word in (f"127.0.0.1:{port}", "demands a client certificate", "cert="):
            assert word in answer["message"]


class TestSentinels:
    @pytest.fixture
    def ports(self, certificates: Path, other_ca: Path) -> Iterator[tuple[int, int]]:
        """A Sentinel and its primary that speak TLS, with certificates of different CAs and passwords of their own."""
        ours, theirs = free_port(), free_port()
        trusts = str(other_ca / "both.pem")
        files = [f"tls-cert-file {other_ca}/server.pem", f"tls-key-file {other_ca}/server.key"]
        extra = [
            *files,
            f"tls-ca-cert-file {trusts}",
            f"tls-port {theirs}",
            "tls-auth-clients no",
            "tls-replication yes",
        ]
        server = Server("redis-7.0", *tls(certificates, ours), "--tls-auth-clients", "no")
        sentinel = Sentinel("redis-7.0")
        with server, contextlib.closing(sentinel):
            sentinel.seed("shop", [sentinel], [SimpleNamespace(port=ours)], 1000, extra)  # type: ignore[list-item]
            sentinel.start()
            sentinel.ask("SENTINEL", "SET", "shop", "auth-pass", "right")
            sentinel.ask("ACL", "SETUSER", "default", "resetpass", ">told")
            server.command("CONFIG", "SET", "requirepass", "right")
            yield ours, theirs

    def test_both_speak_tls(self, worker: Worker, ports: tuple[int, int], other_ca: Path) -> None:
        ours, theirs = ports
        place, password = f"127.0.0.1:{theirs}/shop", "sentinel_password=told"
        worker.client(f"rediss+sentinel://:right@{place}?{password}&ca={other_ca}/both.pem")
        answer = consume(worker)
        assert answer.get("result", {}).get("allowed"), answer
        for url, code, words in (
            (f"rediss+sentinel://:right@{place}?{password}&ca={other_ca}/ca.pem", "unavailable", (f":{ours}", "ca=")),
            (f"rediss+sentinel://:right@{place}?{password}", "unavailable", (f":{theirs}", "ca=")),
            (
                f"rediss+sentinel://:lies@{place}?{password}&ca={other_ca}/both.pem",
                "not_permitted",
                (f":{ours}", "password"),
            ),
            (
                f"rediss+sentinel://:right@{place}?sentinel_password=lies&ca={other_ca}/both.pem",
                "not_permitted",
                (f":{theirs}", "sentinel_password"),
            ),
        ):
            # Sentinels are asked on for as long as the primary may be away.
            worker.client(url, timeout_ms=2_000 if f":{ours}" in words and code == "unavailable" else 10_000)
            answer = consume(worker)
            assert answer.get("error") == code, (url, answer)
            for word in words:
                assert word in answer["message"], answer
            assert "right@" not in answer["shown"]


class Named:
    """Says which name each of its clients asked for, and hangs up."""

    def __init__(self, certificates: Path) -> None:
        self.names: list[str | None] = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
        context.sni_callback = lambda _socket, name, _context: self.names.append(name)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, args=(context,), daemon=True)
        self._thread.start()

    def _serve(self, context: ssl.SSLContext) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                context.wrap_socket(connection, server_side=True).close()

    def close(self) -> None:
        self._listening.shutdown(2)
        self._listening.close()
        self._thread.join()


@pytest.mark.parametrize("scheme", ["rediss", "rediss+cluster"])
def test_the_server_hears_the_name_that_it_is_asked_for(worker: Worker, certificates: Path, scheme: str) -> None:
    with contextlib.closing(Named(certificates)) as named:
        for host, heard in (("localhost", "localhost"), ("127.0.0.1", None)):
            named.names.clear()
            worker.client(f"{scheme}://{host}:{named.port}?ca={certificates}/ca.pem", prefix=host)
            assert consume(worker)["error"] == "unavailable"
            assert set(named.names) == {heard}
