"""The ways to a server: TLS with a CA of one's own, a Unix socket, a user, a database."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import measure
import pytest
from kept import kept_worker
from program import free_port
from servers import Server
from workers import Worker

POLICY = "5/1h"
worker = kept_worker


def consume(worker: Worker, url: str) -> dict[str, object]:
    assert "error" not in worker.client(url)
    answer: dict[str, object] = worker.decide("consume", "place", POLICY, "k", cost=1)
    return answer


@pytest.fixture
def tls_port(certificates: Path) -> Iterator[int]:
    port = free_port()
    files = ("--tls-cert-file", "server.pem", "--tls-key-file", "server.key", "--tls-ca-cert-file", "ca.pem")
    options = [word if word.startswith("--") else str(certificates / word) for word in files]
    with Server("redis-7.0", "--tls-port", str(port), "--tls-auth-clients", "no", *options):
        yield port


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_tls_with_a_ca_of_ones_own(worker: Worker, tls_port: int, certificates: Path, host: str) -> None:
    url = f"rediss://{host}:{tls_port}?ca={certificates / 'ca.pem'}"
    for remaining in (4, 3, 2):
        assert worker.client(url).keys() == {"result"}
        assert worker.decide("consume", "place", POLICY, "k", cost=1)["remaining"] == remaining
    # Many at once, and a connection that is used again and again.
    worker.begin_load(
        [{"limiter": "tls", "policy": "300/1h", "key": "k", "costs": [1]}], seconds=9, calls=800, in_flight=8
    )
    history = worker.end_load(within=15)
    assert sum(record["result"]["allowed"] for record in history) == 300


def test_tls_without_the_ca_is_refused(worker: Worker, tls_port: int) -> None:
    worker.client(f"rediss://127.0.0.1:{tls_port}")
    answer = worker.ask("consume", limiter="place", policy=POLICY, key="k", cost=1)
    assert answer["error"] == "unavailable"
    for word in (f"127.0.0.1:{tls_port}", "TLS", "certificate", "ca="):
        assert word in answer["message"]


@pytest.fixture(scope="session")
def self_signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `openssl req -x509` makes: certificates that are their own CAs, for 127.0.0.1 and for another host."""
    folder = tmp_path_factory.mktemp("self-signed")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=t")
    for name, names in (("own", "IP:127.0.0.1"), ("same", "IP:127.0.0.1"), ("elsewhere", "DNS:elsewhere.test")):
        files = ("-keyout", f"{name}.key", "-out", f"{name}.pem", "-addext", f"subjectAltName={names}")
        subprocess.run(["openssl", "req", "-x509", *key, *files], cwd=folder, check=True, capture_output=True)
    return folder


def with_certificate(folder: Path, name: str, port: int) -> Server:
    files = ("--tls-cert-file", str(folder / f"{name}.pem"), "--tls-key-file", str(folder / f"{name}.key"))
    return Server("redis-7.0", "--tls-port", str(port), "--tls-auth-clients", "no", *files)


def test_a_self_signed_certificate_is_trusted_where_it_is_given_and_nowhere_else(
    worker: Worker, self_signed: Path
) -> None:
    port = free_port()
    url = f"rediss://127.0.0.1:{port}"
    own, same, elsewhere = (self_signed / f"{name}.pem" for name in ("own", "same", "elsewhere"))
    with with_certificate(self_signed, "own", port):
        assert consume(worker, f"{url}?ca={own}")["remaining"] == 4
        both = self_signed / "both.pem"
        both.write_text(same.read_text() + own.read_text())
        assert consume(worker, f"{url}?ca={both}")["remaining"] == 3
        # Neither without it, nor with one that only says the same.
        for refused in (url, f"{url}?ca={same}", f"{url}?ca={elsewhere}"):
            worker.client(refused)
            answer = worker.ask("consume", limiter="place", policy=POLICY, key="k", cost=1)
            assert answer["error"] == "unavailable"
            assert "certificate" in answer["message"]
            assert "ca=" in answer["message"]
    with with_certificate(self_signed, "elsewhere", port):
        worker.client(f"{url}?ca={elsewhere}")
        answer = worker.ask("consume", limiter="place", policy=POLICY, key="k", cost=1)
        assert (answer["error"], "subjectAltName" in answer["message"]) == ("unavailable", True)


def test_a_ca_file_that_is_none_is_refused(worker: Worker, tls_port: int, certificates: Path) -> None:
    for name in ("missing.pem", "server.key"):
        worker.client(f"rediss://127.0.0.1:{tls_port}?ca={certificates / name}")
        answer = worker.ask("consume", limiter="place", policy=POLICY, key="k", cost=1)
        assert answer["error"] == "invalid_argument"
        assert name in answer["message"]


def test_the_ca_is_read_once_and_again_when_it_was_renewed(
    worker: Worker, tls_port: int, certificates: Path, tmp_path: Path
) -> None:
    ca, good = tmp_path / "ca.pem", (certificates / "ca.pem").read_text()
    url = f"rediss://127.0.0.1:{tls_port}?ca={ca}"
    # A certificate, but not one that vouches for the server.
    ca.write_text((certificates / "server.pem").read_text())
    worker.client(url)
    answer = worker.ask("consume", limiter="place", policy=POLICY, key="k", cost=1)
    assert (answer["error"], "certificate" in answer["message"]) == ("unavailable", True)
    ca.write_text(good)
    with measure.Stalls() as stalls:
        end = time.monotonic() + 1.1
        while "error" in (answer := worker.ask("consume", limiter="place", policy=POLICY, key="k", cost=1)):
            assert time.monotonic() < end + stalls.worst, answer
    ca.unlink()
    # Another client of the same process, so another connection.
    worker.client(f"{url}&", prefix="other")
    assert worker.decide("consume", "place", POLICY, "k", cost=1)["remaining"] == 4


def test_tls_and_plain_mixed_up_end_in_time(worker: Worker, server: Server, tls_port: int) -> None:
    for url, hint in (
        (f"rediss://127.0.0.1:{server.port}", "does this port speak TLS?"),
        (f"redis://127.0.0.1:{tls_port}", f"127.0.0.1:{tls_port}"),
    ):
        worker.client(url, timeout_ms=300)
        with measure.Stalls() as stalls:
            answer = worker.ask("consume", limiter="place", policy=POLICY, key="k", cost=1)
        assert answer["error"] in {"unavailable", "timeout"}
        assert hint in answer["message"]
        assert (answer["ok_ns"] - answer["invoke_ns"]) / 1e6 < 450 + stalls.worst_ms


def test_unix_socket(worker: Worker, server: Server) -> None:
    assert consume(worker, server.unix_url)["remaining"] == 4
    # The same server, so the same limit.
    assert consume(worker, server.url)["remaining"] == 3
    worker.client("unix:///nowhere/socket")
    answer = worker.ask("consume", limiter="place", policy=POLICY, key="k", cost=1)
    assert (answer["error"], "/nowhere/socket" in answer["message"]) == ("unavailable", True)


def test_database_numbers_are_apart(worker: Worker, server: Server) -> None:
    for number in (0, 3, 15):
        assert consume(worker, f"{server.url}/{number}")["remaining"] == 4
        assert consume(worker, f"{server.unix_url}?db={number}")["remaining"] == 3
    keyspace = server.command("INFO", "keyspace")
    assert [line.split(":")[0] for line in keyspace.splitlines()[1:]] == ["db0", "db3", "db15"]


def test_user_and_password(worker: Worker, server: Server) -> None:
    password = "p@ss/w:rd?#%&"
    server.command("ACL", "SETUSER", "app", "on", f">{password}", "~ql:*", "+@all")
    login = "app:p%40ss%2Fw%3Ard%3F%23%25%26"
    assert consume(worker, f"redis://{login}@127.0.0.1:{server.port}/2")["remaining"] == 4
    server.command("CONFIG", "SET", "requirepass", "only-a-password")
    answer = consume(worker, f"redis://:only-a-password@127.0.0.1:{server.port}")
    assert "only-a-password" not in json.dumps(answer)
