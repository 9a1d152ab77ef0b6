"""Each example, started as its readers start it and asked over HTTP."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable

import pytest
from conftest import COMMANDS, App, Reply, Start
from servers import Server

# Each page with a limit of three in two seconds.
PAGES = [(name, "/search") for name in COMMANDS] + [("django", "/api")]
limited = pytest.mark.parametrize(("name", "page"), PAGES)


def until(ready: Callable[[], bool], within: float = 20.0) -> None:
    end = time.monotonic() + within
    while not ready():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def denied(app: App, page: str) -> Reply:
    """The first refusal, after three answers at most of each window that may have begun."""
    began, answered = time.monotonic(), 0
    while True:
        reply = app.get(page)
        if reply.status != 200:
            return reply
        answered += 1
        # One has begun before, and one may begin every two seconds.
        took = time.monotonic() - began
        assert answered <= 3 * (took // 2 + 2), "too little was refused"
        assert took < 60, "nothing was refused"


@limited
def test_from_nothing_to_a_proper_429(start: Start, redis: Server, name: str, page: str) -> None:
    app = start(name, redis.url)
    first = app.get(page)
    assert first.status == 200
    assert "retry-after" not in first.headers
    assert re.search(r'"[^"]+";q=3;w=2', first.headers["ratelimit-policy"])
    assert re.search(r'"[^"]+";r=2;t=2', first.headers["ratelimit"])
    refused = denied(app, page)
    assert refused.status == 429
    assert refused.headers["retry-after"] in ("1", "2")
    assert re.search(r'"[^"]+";r=0;t=[12]', refused.headers["ratelimit"])
    if page != "/api":
        problem = refused.problem
        assert problem["status"] == 429
        assert problem["type"].endswith("quota-exceeded")
        assert problem["violated-policies"]
        assert "127.0.0.1" not in str(problem)
    until(lambda: app.get(page).status == 200)
    assert all(app.get("/health").status == 200 for _ in range(7))


USERS: list[object] = ["", None, [], {}, "x" * 1025, "a\n", "\ud800", True]
SPOILT = [b"", b"{}", b"[]", b"null", b"{", b"\xff", *(json.dumps({"user": user}).encode() for user in USERS)]


@pytest.mark.parametrize("name", ["flask", "fastapi", "starlette", "django"])
def test_a_login_without_a_user_is_a_400_and_one_with_a_user_is_limited(start: Start, redis: Server, name: str) -> None:
    app = start(name, redis.url)
    assert {body: app.post("/login", body).status for body in SPOILT} == dict.fromkeys(SPOILT, 400)
    welcome = json.dumps({"user": "127.0.0.1"}).encode()
    statuses = [app.post("/login", welcome).status for _ in range(60)]
    assert set(statuses) == {200, 429}


@limited
def test_redis_is_away_and_everything_is_refused(start: Start, redis: Server, name: str, page: str) -> None:
    app = start(name, redis.url, "closed")
    assert app.get(page).status == 200
    redis.stop()
    refused = app.get(page)
    assert refused.status == 503
    assert int(refused.headers["retry-after"]) >= 1
    assert "ratelimit" not in refused.headers
    if page != "/api":
        assert refused.problem["type"].endswith("temporary-reduced-capacity")
    assert app.get("/health").status == 200
    redis.start()
    until(lambda: app.get(page).status == 200)


@limited
def test_redis_is_away_and_everything_passes(start: Start, redis: Server, name: str, page: str) -> None:
    app = start(name, redis.url, "open")
    redis.stop()
    replies = [app.get(page) for _ in range(5)]
    assert [reply.status for reply in replies] == [200] * 5
    assert all("ratelimit" not in reply.headers for reply in replies)
    redis.start()
    until(lambda: "ratelimit" in app.get(page).headers)


@limited
def test_redis_is_away_and_each_process_counts(start: Start, redis: Server, name: str, page: str) -> None:
    app = start(name, redis.url, "local")
    redis.stop()
    assert app.get(page).status == 200
    assert denied(app, page).status == 429


@limited
def test_redis_is_away_and_that_is_an_error(start: Start, redis: Server, name: str, page: str) -> None:
    app = start(name, redis.url, "raise")
    redis.stop()
    assert app.get(page).status == 500
    redis.start()
    until(lambda: app.get(page).status == 200)
