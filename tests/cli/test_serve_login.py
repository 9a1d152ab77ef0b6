"""`serve`: who gets in, and what is tried to get in without."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from conftest import SERVERS
from console import PROGRAM
from serving import TOKEN, Serving, logged_in

URL = SERVERS["redis-7.0"]
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
GUARDED = ("/api/state", "/api/events", "/api/keys?list=locks", "/api/session", "/metrics")


@pytest.fixture
def serving() -> Iterator[Serving]:
    with Serving(URL, "--allow-writes") as serving:
        yield serving


def test_nothing_is_told_without_the_token(serving: Serving) -> None:
    for path in GUARDED:
        answer = serving.get(path)
        assert (answer.status, answer.code) == (401, "not_logged_in"), path
        for wrong in ("x", f"quotalock-{serving.port}=", f"quotalock-{serving.port}=" + "0" * 64, f"other={TOKEN}"):
            assert serving.get(path, Cookie=wrong).status == 401
    page = serving.get("/")
    assert (page.status, page.headers["location"], page.body) == (303, "/login", b"")
    assert serving.get("/login").status == 200
    assert serving.get("/healthz").body == b"ok\n"
    for path in ("/api/unblock", "/api/release", "/logout"):
        assert serving.ask("POST", path, {"id": "00"}).status == 401


def test_the_token_opens_a_session_that_ends(serving: Serving) -> None:
    answer = serving.login()
    name, *attributes = answer.headers["set-cookie"].split("; ")
    assert attributes == ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"]
    assert re.fullmatch(rf"quotalock-{serving.port}=[0-9a-f]{{64}}", name)
    assert answer.json == {"csrf": serving.csrf, "writes": True}
    assert all(serving.get(path).status == 200 for path in ("/", "/api/state", "/api/session", "/metrics"))
    assert serving.get("/api/session").json == answer.json
    cookie = serving.cookie
    assert serving.login().headers["set-cookie"].split(";")[0] != cookie
    left = serving.post("/logout")
    assert (left.status, "Max-Age=0" in left.headers["set-cookie"]) == (204, True)
    assert serving.get("/api/state").status == 401
    assert serving.get("/api/state", Cookie=cookie).status == 200


def test_who_came_by_tls_keeps_the_cookie_to_it(serving: Serving) -> None:
    answer = serving.ask("POST", "/login", {"token": TOKEN}, Origin=f"https://{serving.host}")
    assert answer.headers["set-cookie"].endswith("; Secure")


def test_guesses_are_limited(serving: Serving) -> None:
    for guess in ("", "x", TOKEN[:-1], TOKEN + "x", TOKEN.upper()):
        answer = serving.login(guess)
        assert (answer.status, answer.code) == (401, "wrong_token"), guess
    for token in ("x", TOKEN):
        answer = serving.login(token)
        assert (answer.status, answer.code) == (429, "too_many_attempts")
        assert 0 < int(answer.headers["retry-after"]) <= 60
    # The same for who guesses at /metrics, but a scrape with the token is not locked out by those of others.
    assert serving.get("/metrics", Authorization="Bearer x").status == 429
    assert serving.get("/metrics", Authorization=f"Bearer {TOKEN}").status == 200


def test_guesses_at_metrics_are_counted_too(serving: Serving) -> None:
    for _ in range(5):
        assert serving.get("/metrics", Authorization="Bearer x").status == 401
    assert serving.login().status == 429


def test_a_flood_of_guesses_locks_no_scrape_out_and_stays_slow(serving: Serving) -> None:
    for _ in range(5):
        serving.get("/metrics", Authorization="Bearer x")
    began, guesses = time.monotonic(), 0
    with ThreadPoolExecutor(8) as crowd:
        flood = [crowd.submit(serving.get, "/metrics", Authorization=f"Bearer guess-{n}") for n in range(40)]
        assert serving.get("/metrics", Authorization=f"Bearer {TOKEN}").status == 200
        guesses = sum(guess.result().status == 429 for guess in flood)
    assert guesses == 40
    # 25 ms between two looks.
    assert time.monotonic() - began >= 41 * 0.025


def test_half_open_requests_delay_nobody(serving: Serving) -> None:
    """Each would keep its place for 30 s."""
    serving.login()
    with ExitStack() as stack:
        many = [stack.enter_context(socket.create_connection(("127.0.0.1", serving.port))) for _ in range(300)]
        for one in many:
            with contextlib.suppress(OSError):
                one.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        assert serving.get("/healthz").body == b"ok\n"
        assert serving.get("/api/state").status == 200
        # The oldest are ended, long before their 30 s are over: an address has room for 64 of them.
        for one in many[:200]:
            one.settimeout(20)
            with contextlib.suppress(ConnectionError):
                while one.recv(1_000):
                    pass
        # Those that came last wait for the rest of their requests: none ended by its own time.
        one = many[-1]
        one.settimeout(0.2)
        with pytest.raises(TimeoutError):
            one.recv(1)


def test_scrapes_are_not(serving: Serving) -> None:
    for _ in range(40):
        assert serving.get("/metrics", Authorization=f"Bearer {TOKEN}").status == 200
    assert serving.get("/metrics", Authorization=f"Basic {TOKEN}").status == 401


def test_a_post_from_elsewhere_does_nothing(serving: Serving) -> None:
    serving.login()
    for path in ("/api/unblock", "/api/release", "/logout", "/login"):
        theirs = ("", "null", "http://evil.example", f"http://localhost:{serving.port}", f"http://{serving.host}.evil")
        for origin in theirs:
            answer = serving.post(path, {"id": "00", "token": TOKEN}, Origin=origin)
            assert (answer.status, answer.code) == (403, "wrong_origin"), (path, origin)
    for path in ("/api/unblock", "/api/release", "/logout"):
        for shown in ("", "x", "0" * 64, serving.cookie.split("=")[1]):
            answer = serving.post(path, {"id": "00"}, X_Quotalock=shown)
            assert (answer.status, answer.code) == (403, "wrong_origin"), (path, shown)
    # A form of another page cannot say that it is JSON.
    with serving.asked("POST", "/login", b'{"token": "%s"}' % TOKEN.encode(), Content_Type="text/plain") as form:
        assert form.status == 400
    assert serving.get("/api/state").status == 200


def test_a_name_that_was_made_to_lead_here_is_not_ours(serving: Serving) -> None:
    serving.login()
    others = ("evil.example", f"evil.example:{serving.port}", "127.0.0.1.evil.example", "", "localhost@evil.example")
    for host in others:
        for path in ("/", "/login", "/api/state", "/metrics", "/healthz", "/assets/main.js"):
            answer = serving.get(path, Host=host)
            assert (answer.status, answer.code) == (421, "wrong_host"), (host, path)
    for host in (f"localhost:{serving.port}", "localhost", "127.0.0.1", "LOCALHOST"):
        assert serving.get("/api/state", Host=host).status == 200


def test_another_name_can_be_given() -> None:
    with Serving(URL, "--host", "quotalock.shop.example") as serving:
        assert serving.get("/healthz", Host="quotalock.shop.example").status == 200
        login = serving.ask(
            "POST", "/login", {"token": TOKEN}, Host="quotalock.shop.example", Origin="https://quotalock.shop.example"
        )
        assert login.status == 200
        assert serving.get("/healthz", Host="other.shop.example").status == 421


def test_a_path_names_an_asset_or_nothing(serving: Serving) -> None:
    for path in (
        "/assets/../Cargo.toml",
        "/assets/..%2f..%2fCargo.toml",
        "/assets/%2e%2e/%2e%2e/etc/passwd",
        "/assets//etc/passwd",
        "/assets/main.js%00",
        "/assets/",
        "/../../etc/passwd",
        "//etc/passwd",
        "/nothing",
        "/api/",
        "/.env",
    ):
        answer = serving.get(path)
        assert (answer.status, answer.code) == (404, "not_found"), path
        assert b"root:" not in answer.body
    assert serving.get("/assets/main.js").headers["content-type"] == "text/javascript; charset=utf-8"
    for method in ("PUT", "DELETE", "TRACE", "OPTIONS"):
        answer = serving.ask(method, "/api/state", Origin=f"http://{serving.host}")
        assert answer.status == 405, method
        assert "access-control-allow-origin" not in answer.headers


def test_every_answer_says_what_a_browser_may_do(serving: Serving) -> None:
    serving.login()
    paths = ("/", "/login", "/assets/main.js", "/api/state", "/metrics", "/nothing", "/assets/x", "/healthz")
    for answer in (*map(serving.get, paths), serving.get("/", Host="evil.example"), serving.post("/login", {})):
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "server" not in answer.headers


def test_what_is_posted_is_small_and_as_expected(serving: Serving) -> None:
    for body in (b"", b"{}", b"[", b'{"token": 1}', b'{"token": "x", "more": 1}', b'{"token": "%s"}' % (b"x" * 9_000)):
        with serving.asked("POST", "/login", body, Content_Type="application/json") as answer:
            assert answer.status == 400, body[:20]
    with socket.create_connection(("127.0.0.1", serving.port), timeout=30) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000 + b"\r\n\r\n")
        assert plain.recv(100).split()[1] in (b"400", b"431")
    # It lives on.
    assert serving.get("/healthz").status == 200


def test_a_token_is_made_and_printed_once() -> None:
    with Serving(URL, token="") as serving:
        assert serving.program.stderr is not None
        made = serving.program.stderr.readline().split()[-1]
        assert re.fullmatch("[0-9a-f]{64}", made)
        assert serving.login("x" * 64).status == 401
        assert serving.login(made).status == 200
        code, said = serving.ended()
    assert (code, made in said) == (0, False)


def refused(*words: str, token: str = "", url: str = URL) -> str:
    """Why it does not start."""
    environment = os.environ | {"QUOTALOCK_URL": url, "QUOTALOCK_SERVE_TOKEN": token}
    ended = subprocess.run(
        [PROGRAM, "serve", *words], env=environment, capture_output=True, text=True, timeout=30, check=False
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    return ended.stderr


def test_what_cannot_be_served_is_told_at_once(serving: Serving) -> None:
    in_use = refused("--listen", serving.host)
    assert f"port {serving.port} of 127.0.0.1 is in use: give another with --listen" in in_use
    assert "has fewer than 16 characters" in refused(token="short")
    other = refused("--listen", "0.0.0.0:0")
    assert "QUOTALOCK_SERVE_TOKEN" in other
    assert "TLS" in other
    assert "write it as 127.0.0.1:7070" in refused("--listen", "nonsense")
    assert "memory://" in refused(url="memory://")
    assert "geheim" not in refused(url="redis://:geheim@localhost:1/x")


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_cleanly_with_browsers_that_look(by: signal.Signals) -> None:
    with logged_in(URL) as serving, serving.asked("GET", "/api/events") as events:
        assert events.readline() == b"event: state\n"
        began = time.monotonic()
        code, _ = serving.ended(by)
        assert (code, time.monotonic() - began < 10) == (0, True)
        # The stream ends as one that is complete, and the port is free.
        assert events.read().endswith(b"\n\n")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", serving.port))


def test_no_password_is_in_anything_that_it_says(tmp_path: Path) -> None:
    with Serving("redis://user:geheim@127.0.0.1:1/0", folder=tmp_path) as serving:
        serving.login()
        state = serving.until("problems")
        assert any("127.0.0.1:1" in problem for problem in state)
        told = str(serving.state) + serving.metrics() + serving.get("/").body.decode()
        code, said = serving.ended()
    assert code == 0
    assert "geheim" not in told + said
    assert TOKEN not in told + said
