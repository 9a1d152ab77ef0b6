"""Limits that take a prefetch: in every package ten requests take about one call, and the first beyond the limit is
refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
import quotalock
from asgi import Answer, asked
from django.core.exceptions import ImproperlyConfigured
from django.test import RequestFactory, override_settings
from fastapi import Depends, FastAPI
from flask import Flask
from quotalock import aio, asgi, celery, drf, fastapi, starlette, wsgi
from quotalock.django import RateLimitMiddleware, ratelimit
from quotalock.flask import Limiter
from rest_framework.response import Response
from rest_framework.views import APIView
from servers import Server
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from test_asgi import plain
from test_django import seen

POLICY = "200/hour"
# So many requests, and which statuses they got.
Ask = Callable[[int], list[int]]


def of_wsgi(url: str, stack: ExitStack) -> Ask:
    def application(environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [])
        return [b""]

    limited = wsgi.RateLimitMiddleware(application, POLICY, client=quotalock.Client(url, timeout=10.0), prefetch=10)
    told: list[int] = []

    def start(status: str, fields: Any) -> Any:
        told.append(int(status[:3]))

    def ask(count: int) -> list[int]:
        for _ in range(count):
            limited({"REMOTE_ADDR": "192.0.2.1"}, start)
        return told[-count:]

    return ask


def of_flask(url: str, stack: ExitStack) -> Ask:
    app = Flask(__name__)
    limiter = Limiter(app=app, client=quotalock.Client(url, timeout=10.0))
    app.add_url_rule("/", "index", limiter.limit(POLICY, prefetch=10)(lambda: "found"))
    client = app.test_client()
    return lambda count: [client.get("/").status_code for _ in range(count)]


def on_a_loop(app: Any) -> Ask:
    async def asked_for(count: int) -> list[Answer]:
        return [await asked(app, "/", "192.0.2.1", {}) for _ in range(count)]

    return lambda count: [answer.status for answer in asyncio.run(asked_for(count))]


def of_asgi(url: str, stack: ExitStack) -> Ask:
    return on_a_loop(asgi.RateLimitMiddleware(plain, POLICY, client=aio.Client(url, timeout=10.0), prefetch=10))


def of_starlette(url: str, stack: ExitStack) -> Ask:
    @starlette.limit(POLICY, prefetch=10)
    async def index(request: Any) -> PlainTextResponse:
        return PlainTextResponse("found")

    app = Starlette(routes=[Route("/", index)])
    starlette.install(app, aio.Client(url, timeout=10.0))
    return on_a_loop(app)


def of_fastapi(url: str, stack: ExitStack) -> Ask:
    app = FastAPI()
    fastapi.install(app, aio.Client(url, timeout=10.0))
    app.get("/", dependencies=[Depends(fastapi.Limit(POLICY, prefetch=10))])(lambda: "found")
    return on_a_loop(app)


def of_django(view: Callable[[], Any]) -> Callable[[str, ExitStack], Ask]:
    def made(url: str, stack: ExitStack) -> Ask:
        stack.enter_context(
            override_settings(QUOTALOCK={"URL": url, "TIMEOUT": 10.0, "PREFETCH": 10, "POLICY": POLICY})
        )
        asked = view()
        return lambda count: [asked(RequestFactory().get("/")).status_code for _ in range(count)]

    return made


class Throttle(drf.AnonRateThrottle):
    """Whose limit takes a prefetch."""

    rate = POLICY
    prefetch = 10


class View(APIView):  # type: ignore[misc]
    """A throttled view."""

    throttle_classes = (Throttle,)

    def get(self, request: Any) -> Response:
        return Response("found")


def of_celery(url: str, stack: ExitStack) -> Ask:
    task: Callable[[], int] = celery.rate_limited(POLICY, client=quotalock.Client(url, timeout=10.0), prefetch=10)(
        lambda: 200
    )

    def ask(count: int) -> list[int]:
        told = []
        for _ in range(count):
            try:
                told.append(task())
            except quotalock.RateLimited:
                told.append(429)
        return told

    return ask


PACKAGES = {
    "wsgi": of_wsgi,
    "flask": of_flask,
    "asgi": of_asgi,
    "starlette": of_starlette,
    "fastapi": of_fastapi,
    "django's decorator": of_django(lambda: ratelimit(key="ip", rate=POLICY, prefetch=10)(seen)),
    "django's middleware": of_django(lambda: RateLimitMiddleware(seen)),
    "drf": of_django(lambda: View.as_view()),
    "celery": of_celery,
}


@pytest.mark.parametrize("package", PACKAGES)
def test_ten_requests_take_a_call(package: str, redis: Server) -> None:
    with ExitStack() as stack:
        ask = PACKAGES[package](redis.url, stack)
        # A prefetch begins small, and ends small when little is left.
        assert ask(50) == [200] * 50
        redis.called()
        assert ask(100) == [200] * 100
        assert abs(redis.called()["evalsha"] - 10) <= 1
        assert ask(51) == [200] * 50 + [429]


def test_a_lease_that_cannot_be_is_told_of_at_the_start() -> None:
    client, loop = quotalock.Client("memory://leases"), aio.Client("memory://leases")
    app = Flask(__name__)
    for made in (
        lambda: wsgi.RateLimitMiddleware(plain, "10/hour", client=client, prefetch=11),  # type: ignore[arg-type]
        lambda: asgi.RateLimitMiddleware(plain, "10/hour", client=loop, prefetch=11),
        lambda: fastapi.Limit("sliding-log 10/hour", prefetch=2),
        lambda: Limiter(app=app, client=client).limit("10/hour", prefetch=1),
        lambda: celery.rate_limited("10/hour", client=client, prefetch=11),
        lambda: ratelimit(key="ip", rate="10/hour", prefetch=11)(seen),
    ):
        with pytest.raises(quotalock.InvalidArgument, match=r"^\S.*: .*prefetch"):
            made()
    with (
        pytest.raises(ImproperlyConfigured, match=r"settings\.QUOTALOCK: POLICY: .*prefetch"),
        override_settings(QUOTALOCK={"URL": "memory://leases", "POLICY": "10/hour", "PREFETCH": 11}),
    ):
        RateLimitMiddleware(seen)
