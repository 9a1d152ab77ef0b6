"""Which class each bad day raises, on both faces. What a limiter does on such days is tested in tests/faults."""

from __future__ import annotations

import http.server
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

import measure
import pytest
import quotalock
from servers import Server
from surface import Surface, fresh_memory


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("redis-7.0") as server:
        server.command("ACL", "SETUSER", "reader", "on", ">secret", "~*", "+@all", "-evalsha", "-eval")
        server.command("CONFIG", "SET", "requirepass", "swordfish")
        yield server


def error_of(surface: Surface, url: str, kind: type[quotalock.QuotalockError], **options: Any) -> str:
    """Makes a call that must fail with `kind`, and returns the message."""
    client = surface.module.Client(url, **{"timeout": 10.0, **options})
    with pytest.raises(kind) as caught:
        surface.call(client.limiter("checkout", "1/minute").consume, "user:42")
    assert type(caught.value) is kind
    assert "swordfish" not in f"{caught.value} {caught.value!r}"
    surface.call(client.close)
    return str(caught.value)


def with_login(server: Server, login: str) -> str:
    return server.url.replace("redis://", f"redis://{login}@")


@pytest.mark.parametrize("login", [":guess", "app:swordfish"])
def test_a_wrong_password_is_not_permitted(surface: Surface, server: Server, login: str) -> None:
    message = error_of(surface, with_login(server, login), quotalock.NotPermitted)
    assert str(server.port) in message
    assert "guess" not in message


def test_a_missing_password_is_not_permitted(surface: Surface, server: Server) -> None:
    assert str(server.port) in error_of(surface, server.url, quotalock.NotPermitted)


def test_a_lacking_command_is_named(surface: Surface, server: Server) -> None:
    message = error_of(surface, with_login(server, "reader:secret"), quotalock.NotPermitted)
    assert "evalsha" in message.lower()


def test_a_port_where_nobody_listens_is_unavailable(surface: Surface) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        assert str(port) in error_of(surface, f"redis://127.0.0.1:{port}", quotalock.Unavailable)


class Quiet(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def test_something_else_than_redis_is_unavailable(surface: Surface) -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), Quiet) as web:
        thread = threading.Thread(target=web.serve_forever, args=(0.01,))
        thread.start()
        message = error_of(surface, f"redis://127.0.0.1:{web.server_port}", quotalock.Unavailable)
        assert str(web.server_port) in message
        web.shutdown()
        thread.join()


def test_silence_is_a_timeout(surface: Surface) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        with measure.Stalls() as stalls:
            began = time.monotonic()
            error_of(surface, f"redis://127.0.0.1:{mute.getsockname()[1]}", quotalock.Timeout, timeout=0.2)
            took = time.monotonic() - began
        assert 0.2 <= took < 2 + stalls.worst


def test_a_frozen_server_is_a_timeout_and_works_again_after_it(surface: Surface, prefix: str) -> None:
    with Server("redis-7.0") as server:
        patient, client = (surface.module.Client(server.url, prefix=prefix, timeout=timeout) for timeout in (10.0, 0.2))
        counted, checkout = (each.limiter("checkout", "10/minute") for each in (patient, client))

        def remaining() -> int:
            """What the impatient one is answered as soon as it is."""
            give_up = time.monotonic() + 10
            while True:
                try:
                    return int(surface.call(checkout.peek, "user:42").remaining)
                except (quotalock.Timeout, quotalock.Unavailable):
                    assert time.monotonic() < give_up

        assert surface.call(counted.consume, "user:42").remaining == 9
        assert remaining() == 9
        server.sigstop()
        with pytest.raises(quotalock.Timeout) as caught:
            surface.call(checkout.consume, "user:42")
        assert "user:42" in str(caught.value)
        server.sigcont()
        # The call that timed out was not counted when the server went on.
        assert surface.call(counted.consume, "user:42").remaining == 8
        assert remaining() == 8
        surface.call(client.close)
        surface.call(patient.close)


def test_a_full_server_is_unavailable(surface: Surface, prefix: str) -> None:
    with Server("redis-7.0") as server:
        server.command("CONFIG", "SET", "maxmemory", "1")
        message = error_of(surface, server.url, quotalock.Unavailable, prefix=prefix)
    assert "memory" in message


def test_a_key_of_another_type_is_named(surface: Surface, store_url: str, prefix: str) -> None:
    client = surface.module.Client(store_url, prefix=prefix, timeout=10.0)
    checkout = client.limiter("checkout", "1/minute")
    surface.call(surface.testing.put, client, checkout.redis_key("user:42"), "list", "x")
    with pytest.raises(quotalock.WrongType) as caught:
        surface.call(checkout.consume, "user:42")
    assert "{user:42}" in str(caught.value)


def test_the_incident_heals(surface: Surface, store_url: str, prefix: str) -> None:
    client = surface.module.Client(store_url, prefix=prefix, timeout=10.0)
    checkout = client.limiter("checkout", "1/minute")
    redis_key = checkout.redis_key("hot-item")
    surface.call(surface.testing.put, client, redis_key, "string", "-37412")
    assert surface.call(surface.testing.get, client, redis_key) == (b"-37412", None)
    decision = surface.call(checkout.consume, "hot-item")
    assert (decision.allowed, decision.healed) == (True, True)
    _, ttl_ms = surface.call(surface.testing.get, client, redis_key)
    assert ttl_ms > 0


@pytest.mark.parametrize(("on_error", "allowed"), [("open", True), ("closed", False), ("local", True)])
def test_on_error_answers_in_place_of_redis(surface: Surface, on_error: str, allowed: bool) -> None:
    client = surface.module.Client("redis://127.0.0.1:1", on_error=on_error)
    checkout = client.limiter("checkout", "1/minute")
    # All clients of the process count together.
    key = f"user:{uuid.uuid4()}"
    decision = surface.call(checkout.consume, key)
    assert (decision.allowed, decision.source) == (allowed, on_error)
    with pytest.raises(quotalock.Unavailable):
        surface.call(checkout.block, key, 60)


def test_require_raises_with_its_decision(surface: Surface) -> None:
    checkout = surface.module.Client(fresh_memory()).limiter("checkout", "1/minute")
    assert surface.call(checkout.require, "user:42").allowed
    with pytest.raises(quotalock.RateLimited) as caught:
        surface.call(checkout.require, "user:42")
    decision = caught.value.decision
    assert isinstance(decision, quotalock.Decision)
    assert not decision.allowed
    assert 50 < (decision.retry_after or 0) <= 60
    assert "user:42" in str(caught.value)
