"""What the packages for ASGI, Starlette and FastAPI decide, whom they count for, and what they refuse at the start."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pytest
import quotalock
from asgi import ask
from fastapi import Depends, FastAPI, Response
from quotalock import aio, asgi, fastapi, starlette, wsgi
from quotalock.testing import Clock
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

_numbers = itertools.count()


async def plain(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"seen"})


def memory() -> aio.Client:
    return aio.Client(f"memory://asgi-{next(_numbers)}")


def test_the_middleware_limits_every_request() -> None:
    client = memory()
    clock = Clock(client)
    app = asgi.RateLimitMiddleware(plain, "2/minute", client=client, legacy_headers=True, name="http")
    first = ask(app, "/")
    assert (first.status, first.body) == (200, b"seen")
    assert first.headers["ratelimit-policy"] == '"http";q=2;w=60'
    assert first.headers["ratelimit"] == '"http";r=1;t=60'
    assert first.headers["x-ratelimit-remaining"] == "1"
    refused = ask(app, "/", "/")
    assert refused.status == 429
    assert refused.headers["retry-after"] == "60"
    assert refused.headers["content-type"] == "application/problem+json"
    assert json.loads(refused.body)["violated-policies"] == ["http"]
    assert ask(app, "/", peer="192.0.2.2").status == 200
    clock.advance(60)
    assert ask(app, "/").status == 200


def test_websockets_and_the_lifespan_pass() -> None:
    passed: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        passed.append(scope["type"])

    limited = asgi.RateLimitMiddleware(app, "1/minute", client=memory())
    for kind in ("websocket", "lifespan"):
        _finish(limited({"type": kind}, _no, _no))  # type: ignore[arg-type]
    assert passed == ["websocket", "lifespan"]


async def _no(*_: object) -> None:
    raise AssertionError("nobody asks")


def _finish(call: Any) -> None:
    with pytest.raises(StopIteration):
        call.send(None)


@pytest.mark.parametrize("nothing", [None, "", True])
def test_a_key_function_that_returns_nothing_is_a_400(nothing: Any, warned: pytest.LogCaptureFixture) -> None:
    app = asgi.RateLimitMiddleware(plain, "1/minute", client=memory(), key=lambda scope: nothing)
    refused = ask(app, "/")
    assert (refused.status, json.loads(refused.body)["status"]) == (400, 400)
    assert re.search(r"test_asgi.*as the key", warned.text)


def test_a_forwarded_address_counts_only_from_a_proxy_that_was_named() -> None:
    alone = asgi.RateLimitMiddleware(plain, "1/minute", client=memory())
    behind = asgi.RateLimitMiddleware(plain, "1/minute", client=memory(), trusted_proxies=["192.0.2.0/24"])
    for app, expected in ((alone, 429), (behind, 200)):
        ask(app, "/", x_forwarded_for="198.51.100.1")
        assert ask(app, "/", x_forwarded_for="198.51.100.2").status == expected


def test_what_cannot_be_is_told_of_at_the_start() -> None:
    with pytest.raises(quotalock.InvalidPolicy, match="RateLimitMiddleware"):
        asgi.RateLimitMiddleware(plain, "many")
    with pytest.raises(quotalock.InvalidPolicy, match="Limit"):
        fastapi.Limit("10/fortnight")
    with pytest.raises(TypeError, match=r"quotalock\.aio\.Client"):
        asgi.RateLimitMiddleware(plain, "1/s", client=quotalock.Client("memory://"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"quotalock\.aio\.Client"):
        fastapi.install(FastAPI(), quotalock.Client("memory://"))  # type: ignore[arg-type]
    wrong: list[dict[str, Any]] = [{"cost": 0}, {"key": "ip"}, {"exempt": True}]
    for options in wrong:
        (name,) = options
        with pytest.raises(quotalock.InvalidArgument, match=f"RateLimitMiddleware: {name} is a"):
            asgi.RateLimitMiddleware(plain, "1/minute", **options)
        with pytest.raises(quotalock.InvalidArgument, match=f"RateLimitMiddleware: {name} is a"):
            wsgi.RateLimitMiddleware(plain, "1/minute", **options)  # type: ignore[arg-type]
        with pytest.raises(quotalock.InvalidArgument, match=f"Limit: {name}.* is a"):
            fastapi.Limit("1/minute", **{"exempt_when" if name == "exempt" else name: options[name]})
    with pytest.raises(quotalock.InvalidArgument, match="give it a Limit, or several"):
        fastapi.Limits()
    with pytest.raises(TypeError, match="async def"):
        starlette.limit("1/s")(lambda request: None)


def test_starlette_limits_an_endpoint_by_all_its_limits_at_once() -> None:
    async def user(request: Request) -> str:
        return request.query_params["user"]

    @starlette.limit("1/minute", key=user)
    @starlette.limit("3/hour", key=lambda request: "all", name="all")
    async def search(request: Request) -> PlainTextResponse:
        return PlainTextResponse("found")

    app = Starlette(routes=[Route("/search/{page}", search)])
    starlette.install(app, memory())
    assert ask(app, "/search/1?user=ada").status == 200
    # Another page is the same endpoint.
    assert ask(app, "/search/2?user=ada", "/search/3?user=ada").status == 429
    assert ask(app, "/search/1?user=bob").status == 200
    last = ask(app, "/search/1?user=eve")
    assert last.status == 200
    assert last.headers["ratelimit-policy"].count(";q=") == 2
    assert ask(app, "/search/1?user=dan").status == 429


def fastapi_app() -> tuple[FastAPI, aio.Client]:
    app, client = FastAPI(), memory()
    fastapi.install(app, client)
    return app, client


def test_fastapi_limits_by_a_dependency() -> None:
    app, client = fastapi_app()
    clock = Clock(client)

    @app.get("/items/{item}", dependencies=[Depends(fastapi.Limit("2/minute"))])
    async def items(item: str) -> Response:
        # Its headers too, though it is made by hand.
        return Response("seen")

    first = ask(app, "/items/1")
    assert re.fullmatch(r'"~/items/<item>:GET:address:[0-9a-f]{20}";r=1;t=60', first.headers["ratelimit"])
    refused = ask(app, "/items/2", "/items/3")
    assert refused.status == 429
    assert refused.headers["retry-after"] == "60"
    assert json.loads(refused.body)["status"] == 429
    clock.advance(60)
    assert ask(app, "/items/1").status == 200


def test_fastapi_decides_by_several_limits_at_once() -> None:
    app, _ = fastapi_app()
    user = fastapi.Limit("1/minute", key=lambda request: request.headers["user"], name="user")
    everybody = fastapi.Limit("2/minute", key=lambda request: "all", name="all", cost=1)
    staff = fastapi.Limit("1/hour", exempt_when=lambda request: True)

    @app.get("/", dependencies=[Depends(fastapi.Limits(user, everybody, staff))])
    async def index() -> str:
        return "seen"

    assert [ask(app, "/", user=name).status for name in ("ada", "ada", "ada", "bob", "eve")] == [
        200,
        429,
        429,
        200,
        429,
    ]


def test_a_dry_run_denies_no_request_and_counts_those_that_would_be_denied() -> None:
    app = FastAPI()
    fastapi.install(app, memory(), enforce=False)

    @app.get("/", dependencies=[Depends(fastapi.Limit("1/minute", name="fastapi-dry-run"))])
    async def index() -> str:
        return "found"

    assert [ask(app, "/").status for _ in range(3)] == [200] * 3
    counted = 'quotalock_decisions_total{limiter="fastapi-dry-run",result="would_deny",source="memory"} 2\n'
    assert counted in quotalock.prometheus()


def test_a_limit_without_install_says_so() -> None:
    app = FastAPI()

    @app.get("/", dependencies=[Depends(fastapi.Limit("2/minute"))])
    async def index() -> str:
        return "seen"

    with pytest.raises(RuntimeError, match="install"):
        ask(app, "/")
