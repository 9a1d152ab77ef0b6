"""A server of each test's own, to be killed and frozen, and a worker in every language."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers import Server
from workers import LANGUAGES, Worker


@pytest.fixture(params=LANGUAGES)
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    with Worker(request.param) as process:
        yield process


@pytest.fixture
def server() -> Iterator[Server]:
    with Server("redis-7.0") as running:
        yield running


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CA of our own; `server` (127.0.0.1, localhost) and `client`, which it signed; and `stranger`."""
    folder = tmp_path_factory.mktemp("tls")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    names = "subjectAltName=IP:127.0.0.1,DNS:localhost"

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", "req", "-x509", *key, *words], cwd=folder, check=True, capture_output=True)

    openssl("-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Quotalock test CA")
    leaf = ("-addext", names, "-addext", "basicConstraints=critical,CA:FALSE")
    ours = ("-CA", "ca.pem", "-CAkey", "ca.key")
    for name, signed in (("server", ours), ("client", ours), ("stranger", ())):
        openssl(*signed, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}", *leaf)
    return folder
