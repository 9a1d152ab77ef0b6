"""What the pages on frameworks say of the packages that people come from, tried on these packages; and that both count
side by side while they are swapped."""

from __future__ import annotations

import threading
from typing import Any

import flask_limiter
import pytest
import quotalock
import quotalock.flask
import slowapi
from asgi import ask
from django.core.cache import caches
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory, override_settings
from fastapi import FastAPI, Request
from flask import Flask
from quotalock import drf
from quotalock.django import ratelimit
from redis import Redis
from rest_framework import response, throttling
from rest_framework.views import APIView
from servers import Server
from slowapi.errors import RateLimitExceeded

requests = RequestFactory()


def stored(redis: Server) -> dict[str, int]:
    """All keys, each with the milliseconds that are left to it."""
    with Redis.from_url(redis.url) as server:
        found = [(key, server.pttl(key)) for key in server.keys("*")]
    return {key.decode(): ttl for key, ttl in found}


def keys(redis: Server) -> set[str]:
    """The first words of all keys."""
    # Without what follows the place in a generated name.
    return {key.split("/")[0].split(":{")[0].split(":*:")[0] for key in stored(redis)}


def flask(limiters: Any, policy: str, **options: Any) -> tuple[Flask, Any]:
    app = Flask(__name__)
    limiter = limiters.Limiter(lambda: "ada", app=app, **options)
    app.add_url_rule("/", "index", limiter.limit(policy, scope="index")(lambda: "yes"))
    return app, limiter


def statuses(app: Flask, count: int) -> list[int]:
    with app.test_client() as client:
        return [client.get("/").status_code for _ in range(count)]


def test_flask_limiter_charges_other_limits_for_what_one_refuses(redis: Server) -> None:
    left = {}
    for limiters in (flask_limiter, quotalock.flask):
        app, limiter = flask(limiters, "9/minute;1/hour", storage_uri=redis.url)
        assert statuses(app, 3) == [200, 429, 429]
        if limiters is quotalock.flask:
            left["ours"] = limiter.client.limiter("index", "9/minute;1/hour").peek("ada").rules[0].remaining
        else:
            (window,) = (key for key in stored(redis) if "minute" in key)
            with Redis.from_url(redis.url) as server:
                left["theirs"] = 9 - int(server.get(window) or 0)
    assert left == {"theirs": 6, "ours": 8}


def test_flask_limiter_and_ours_count_apart(redis: Server) -> None:
    old, _ = flask(flask_limiter, "2/hour", storage_uri=redis.url)
    new, _ = flask(quotalock.flask, "2/hour", storage_uri=redis.url)
    assert (statuses(old, 3), statuses(new, 3)) == ([200, 200, 429],) * 2
    assert keys(redis) == {"LIMITS:LIMITER", "ql:limit:index"}
    assert all(ttl > 0 for ttl in stored(redis).values())


def test_what_flask_limiter_sends(redis: Server) -> None:
    app, _ = flask(flask_limiter, "1/hour", storage_uri=redis.url)
    with app.test_client() as client:
        assert "X-RateLimit-Limit" not in client.get("/").headers
        refused = client.get("/")
    assert (refused.status_code, refused.mimetype) == (429, "text/html")
    assert "Retry-After" not in refused.headers


def test_a_limit_of_a_month_is_written_in_days() -> None:
    app, _ = flask(flask_limiter, "1/month", storage_uri="memory://")
    assert statuses(app, 1) == [200]
    for words in ("1/month", "1/year"):
        with pytest.raises(quotalock.InvalidPolicy, match="unit"):
            flask(quotalock.flask, words, storage_uri="memory://predecessor")


def test_slowapi_blocks_its_loop_and_counts_apart(redis: Server) -> None:
    asked_on = []

    def who(request: Request) -> str:
        asked_on.append(threading.current_thread())
        return "ada"

    limiter = slowapi.Limiter(key_func=who, storage_uri=redis.url)
    app = FastAPI()
    app.state.limiter = limiter
    app.add_exception_handler(RateLimitExceeded, slowapi._rate_limit_exceeded_handler)

    @app.get("/")
    @limiter.limit("1/hour")
    async def index(request: Request) -> str:
        return "yes"

    assert [ask(app, "/").status for _ in range(2)] == [200, 429]
    assert keys(redis) == {"LIMITS:LIMITER"}
    # It is asked where the loop runs, with a client that blocks.
    assert set(asked_on) == {threading.current_thread()}
    assert type(limiter._storage).__module__ == "limits.storage.redis"
    with pytest.raises(Exception, match='No "request" or "websocket" argument'):
        limiter.limit("1/hour")(lambda: "yes")


def seen(request: HttpRequest) -> HttpResponse:
    return HttpResponse("yes")


@pytest.fixture
def project(redis: Server) -> Any:
    cache = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": redis.url}
    with override_settings(CACHES={"default": cache}, QUOTALOCK={"URL": redis.url}):
        yield redis
        caches["default"].close()


def test_what_django_ratelimit_does(project: Server) -> None:
    from django_ratelimit.core import get_usage
    from django_ratelimit.decorators import ratelimit as theirs
    from django_ratelimit.exceptions import Ratelimited

    view = theirs(key="ip", rate="2/h")(seen)
    assert [view(requests.get("/")).status_code for _ in range(2)] == [200, 200]
    with pytest.raises(Ratelimited) as refused:
        view(requests.get("/"))
    assert isinstance(refused.value, PermissionDenied)
    usage: Any = get_usage(requests.get("/"), fn=seen, key="ip", rate="2/h")
    # The refused one counted.
    assert usage["count"] == 3
    ours = ratelimit(key="ip", rate="2/h")(seen)
    assert [ours(requests.get("/")).status_code for _ in range(3)] == [200, 200, 429]
    assert {key[:6] for key in keys(project)} == {":1:rl:", "ql:lim"}
    # All who lack the header are one.
    by_header = theirs(key="header:x-user", rate="1/h")(lambda request: seen(request))
    assert by_header(requests.get("/", REMOTE_ADDR="10.0.0.1")).status_code == 200
    with pytest.raises(Ratelimited):
        by_header(requests.get("/", REMOTE_ADDR="10.0.0.2"))
    refusing = ratelimit(key="header:x-user", rate="1/h")(seen)
    with pytest.raises(Exception, match="x-user") as bad:
        refusing(requests.get("/"))
    assert isinstance(bad.value, SuspiciousOperation)


def test_what_the_throttles_of_drf_do(project: Server) -> None:
    def throttle(base: Any, name: str, rate: str) -> Any:
        return type(name, (base.AnonRateThrottle,), {"rate": rate, "scope": name})

    for module, left in ((throttling, 0), (drf, 1)):
        wide, tight = throttle(module, "wide", "2/hour"), throttle(module, "tight", "1/hour")

        class Both(APIView):
            throttle_classes = (wide, tight)

            def get(self, request: Any) -> Any:
                return response.Response("yes")

        class Wide(APIView):
            throttle_classes = (wide,)

            def get(self, request: Any) -> Any:
                return response.Response("yes")

        both, one = Both.as_view(), Wide.as_view()
        assert [both(requests.get("/")).status_code for _ in range(2)] == [200, 429]
        assert [one(requests.get("/")).status_code for _ in range(2)].count(200) == left
    assert {key.split("_")[0] for key in keys(project)} == {":1:throttle", "ql:limit:~wide", "ql:limit:~tight"}


def test_drf_believes_whoever_forwards(project: Server) -> None:
    statuses = {}
    for module in (throttling, drf):

        class Limited(APIView):
            throttle_classes = (type("once", (module.AnonRateThrottle,), {"rate": "1/hour", "scope": "once"}),)

            def get(self, request: Any) -> Any:
                return response.Response("yes")

        view = Limited.as_view()
        asked = [requests.get("/", HTTP_X_FORWARDED_FOR=f"203.0.113.{last}") for last in (1, 2)]
        statuses[module] = [view(request).status_code for request in asked]
    assert statuses == {throttling: [200, 200], drf: [200, 429]}
