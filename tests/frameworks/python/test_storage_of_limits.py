"""The storage for the package `limits`, as flask-limiter and slowapi use it: by its URL alone."""

from __future__ import annotations

import logging
import time

import flask_limiter
import limits.storage
import limits.strategies
import pytest
import quotalock
import quotalock.limits
import slowapi
from asgi import ask
from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse
from flask import Flask
from servers import Server
from slowapi.errors import RateLimitExceeded


def flask_app(uri: str, **options: object) -> tuple[Flask, flask_limiter.Limiter]:
    app = Flask(__name__)
    limiter = flask_limiter.Limiter(lambda: "ada", app=app, storage_uri=uri, default_limits=["2/minute"], **options)
    app.add_url_rule("/", "view", lambda: "seen")
    return app, limiter


def statuses(app: Flask, count: int) -> list[int]:
    with app.test_client() as client:
        return [client.get("/").status_code for _ in range(count)]


@pytest.mark.parametrize("strategy", ["fixed-window", "moving-window", "sliding-window-counter"])
def test_flask_limiter_works_by_the_url_alone(url: str, prefix: str, strategy: str) -> None:
    options = {"prefix": prefix, "timeout": 10.0}
    app, _ = flask_app(url.replace("redis://", "quotalock://"), strategy=strategy, storage_options=options)
    again, _ = flask_app(url.replace("redis://", "quotalock://"), strategy=strategy, storage_options=options)
    # Another process would see the same.
    assert statuses(app, 1) + statuses(again, 2) == [200, 200, 429]


def test_slowapi_works_by_the_url_alone(url: str, prefix: str) -> None:
    uri = url.replace("redis://", "quotalock://")
    limiter = slowapi.Limiter(
        key_func=lambda: "ada", storage_uri=uri, storage_options={"prefix": prefix, "timeout": 10.0}
    )
    app = FastAPI()
    app.state.limiter = limiter
    app.add_exception_handler(RateLimitExceeded, slowapi._rate_limit_exceeded_handler)

    @app.get("/")
    @limiter.limit("2/minute")
    def view(request: Request) -> PlainTextResponse:
        return PlainTextResponse("seen")

    assert [ask(app, "/").status for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize(
    ("on_error", "expected"),
    [("raise", [500] * 3), ("open", [200] * 3), ("closed", [429] * 3), ("local", [200, 200, 429])],
)
def test_redis_is_away(redis: Server, on_error: str, expected: list[int]) -> None:
    app, limiter = flask_app(redis.url.replace("redis://", "quotalock://"), storage_options={"on_error": on_error})
    redis.stop()
    assert statuses(app, 3) == expected
    assert not limiter.storage.check()
    redis.start()


def test_a_count_that_lost_its_ttl_ends_and_gets_another(redis: Server) -> None:
    seconds = 3
    storage = limits.storage.storage_from_string(redis.url.replace("redis://", "quotalock://"), timeout=10.0)
    assert isinstance(storage, limits.storage.Storage)
    assert storage.incr("ada", seconds) == 1
    key = quotalock.Client(redis.url).limiter("limits:count", "1/minute").redis_key("ada").decode()
    assert redis.command("PERSIST", key) == "1"
    until = time.monotonic() + 30
    while storage.get("ada") > 0:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert storage.incr("ada", seconds) == 1
    assert 0 < int(redis.command("PTTL", key)) <= 1000 * seconds + 2


def test_forgetting_everything_is_refused_with_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    storage = limits.storage.storage_from_string("quotalock+memory://")
    with pytest.raises(NotImplementedError, match="all keys at once"):
        storage.reset()
    _, limiter = flask_app("quotalock+memory://")
    with caplog.at_level(logging.WARNING, "flask-limiter"):
        limiter.reset()
    assert "does not support being reset" in caplog.text


def test_what_cannot_be_is_told_of_at_the_start() -> None:
    for uri in ("quotalock://host:port", "quotalock+tls://", "quotalock+unix://"):
        with pytest.raises(quotalock.InvalidArgument):
            limits.storage.storage_from_string(uri)
    with pytest.raises(quotalock.InvalidArgument, match="on_error"):
        limits.storage.storage_from_string("quotalock://", on_error="shut")
    with pytest.raises(limits.errors.ConfigurationError):
        limits.storage.storage_from_string("quotalock+tsl://")


def test_a_key_counts_for_each_strategy_by_itself_and_is_cleared_for_all() -> None:
    storage = limits.storage.storage_from_string("quotalock+memory://of-clear")
    item = limits.parse("1/minute")
    kinds = [kind(storage) for kind in limits.strategies.STRATEGIES.values()]
    for limiter in kinds:
        assert limiter.hit(item, "ada")
        assert not limiter.hit(item, "ada")
    for limiter in kinds:
        limiter.clear(item, "ada")
        assert limiter.hit(item, "ada")


@pytest.mark.parametrize("key", ["x" * 2000, "a\ud800", "a\n\x00", "é" * 1000])
def test_a_key_that_a_client_spoils_is_counted(key: str) -> None:
    storage = limits.storage.storage_from_string("quotalock+memory://of-spoilt-keys")
    item = limits.parse("2/minute")
    for kind in limits.strategies.STRATEGIES.values():
        limiter = kind(storage)
        assert [limiter.hit(item, key) for _ in range(3)] == [True, True, False]
        assert limiter.hit(item, key + "y")
        assert limiter.get_window_stats(item, key).remaining == 0
        limiter.clear(item, key)
        assert limiter.hit(item, key)
