"""Names of limits: two limits have two names, every process generates the same, a developer's name stays as given."""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import quotalock
from asgi import ask
from django.http import HttpResponse
from django.test import RequestFactory, override_settings
from django.utils.decorators import method_decorator
from django.views import View
from fastapi import APIRouter, Depends, FastAPI
from flask import Blueprint, Flask
from limits_matrix import Asked, answer_of
from quotalock import aio, asgi, fastapi, starlette
from quotalock._names import generated_name, given_name, kind_of, methods_text, numbers, place_of
from quotalock.celery import rate_limited
from quotalock.django import ratelimit
from quotalock.flask import Limiter, RateLimitExceeded
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Host, Mount, Route
from starlette.websockets import WebSocket

_numbers = itertools.count()


def memory() -> str:
    return f"memory://names-{next(_numbers)}"


# What could be mistaken for something else, in whichever part it stands.
TRICKY = ["", "a", "a:b", "b", ":", "~", '"', "a,b", "é", "x" * 300, "x" * 301, "a\\", "{a}", "<a>", "None", "0"]


def test_other_parts_have_other_names() -> None:
    named: Callable[..., str] = generated_name
    parts = ("application", "place", "kind", "methods", "key", "policy")
    found: dict[str, tuple[str, ...]] = {}
    for values in itertools.islice(itertools.product(TRICKY[:5], repeat=len(parts)), 20_000):
        name = named(**dict(zip(parts, values, strict=True)))
        assert found.setdefault(name, values) == values
    for part, value in itertools.product(parts, TRICKY):
        given = dict.fromkeys(parts, "a") | {part: value}
        name = named(**given)
        assert found.setdefault(name, tuple(given.values())) == tuple(given.values())
    assert named(**dict.fromkeys(parts, "a"), number=1) not in found


@pytest.mark.parametrize("value", TRICKY)
def test_a_name_is_short_and_readable(value: str) -> None:
    name = generated_name(application=value, place=value, kind=value, methods=value, key=value, policy=value)
    assert len(name) <= 128
    assert name.isascii()
    assert name.isprintable()
    assert not set(name) & set(" {}%\"'")
    quotalock.Client("memory://").limiter(name, "1/s").consume("ada")


def test_no_name_of_a_developer_is_a_generated_one() -> None:
    assert given_name("search", "here") == "search"
    assert given_name(None, "here") is None
    refused: list[Any] = ["~search", "", 5]
    for name in refused:
        with pytest.raises(quotalock.InvalidArgument, match="here: a name is a text"):
            given_name(name, "here")
    for make in (
        lambda: Limiter(app=Flask(__name__), client=quotalock.Client(memory())).shared_limit("1/s", scope="~a"),
        lambda: fastapi.Limit("1/s", name="~a"),
        lambda: rate_limited("1/s", name="~a", client=quotalock.Client(memory())),
        lambda: ratelimit("~a", key="ip", rate="1/s")(lambda request: HttpResponse("")),
        lambda: asgi.RateLimitMiddleware(lambda *_: None, "1/s", name="~a", client=aio.Client(memory())),  # type: ignore[arg-type]
    ):
        with pytest.raises(Exception, match="does not begin with ~"):
            make()


def by(field: str) -> Any:
    return lambda request: request[field]


def by_function(read: Any) -> Any:
    def key(request: Any) -> Any:
        return read(request)

    return key


class Reads:
    """Whose method is a key function."""

    def user(self, request: Any) -> Any:
        return request["user"]

    def shop(self, request: Any) -> Any:
        return request["shop"]


class ReadsToo(Reads):
    """Another class with the same methods."""


FUNCTIONS: list[Any] = [
    None,
    "ip",
    lambda request: request["user"],
    lambda request: request["shop"],
    lambda request: request["user"] * 2,
    lambda request: request["user"] * 2.5,
    lambda request: request["user"] in {"ada", "bob"},
    lambda request, field="user": request[field],
    lambda request, field="shop": request[field],
    by("user"),
    by("shop"),
    by_function(by),
    by_function(by_function),
    functools.partial(by, "user"),
    functools.partial(by, "shop"),
    functools.partial(by, field="shop"),
    Reads().user,
    Reads().shop,
    ReadsToo().user,
    by,
    by_function,
]


def test_two_functions_have_two_kinds() -> None:
    kinds = [kind_of(function) for function in FUNCTIONS]
    assert len(set(kinds)) == len(kinds)


def test_each_process_generates_the_same_names() -> None:
    program = "import json, test_names; print(json.dumps([test_names.kind_of(one) for one in test_names.FUNCTIONS]))"
    for seed in ("1", "2"):
        told = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join([str(Path(__file__).parent), *sys.path])},
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(told.stdout) == [kind_of(one) for one in FUNCTIONS]


def test_equal_limits_of_one_place_are_numbered_in_their_order() -> None:
    assert numbers(["a", "b", "a", "a", "b"]) == [0, 0, 1, 2, 1]
    assert methods_text(None) == ""
    assert methods_text(["post", "GET", "HEAD"]) == methods_text(["GET", "POST"]) == "GET,POST"


def test_a_method_belongs_to_the_class_that_it_is_called_on() -> None:
    assert place_of(Reads.user, Reads()) == f"{__name__}.Reads.user"
    assert place_of(Reads.user, ReadsToo()) == f"{__name__}.ReadsToo.user"
    assert place_of(by, Reads()) == f"{__name__}.by"


# What frameworks do with routes


def statuses(app: Any, path: str, count: int, **headers: str) -> list[int]:
    return [ask(app, path, **headers).status for _ in range(count)]


def test_a_router_that_is_included_twice_has_two_limits() -> None:
    app, router = FastAPI(), APIRouter(prefix="/shops")
    fastapi.install(app, aio.Client(memory()))

    @router.get("/{shop}", dependencies=[Depends(fastapi.Limit("2/hour"))])
    async def show(shop: str) -> str:
        return "seen"

    app.include_router(router, prefix="/v1")
    app.include_router(router, prefix="/v2/{tenant}")
    assert statuses(app, "/v1/shops/1", 3) == [200, 200, 429]
    # Whatever a client writes into a path, it is one limit.
    assert [ask(app, f"/v2/{n}/shops/{n}").status for n in range(3)] == [200, 200, 429]


def test_an_application_that_is_mounted_twice_has_two_limits_however_its_path_is_written() -> None:
    app, shop = FastAPI(), FastAPI()
    fastapi.install(app, aio.Client(memory()))

    @shop.get("/{item}", dependencies=[Depends(fastapi.Limit("2/hour")), Depends(fastapi.Limit("2/hour"))])
    async def show(item: str) -> str:
        return "seen"

    app.mount("/a", shop)
    app.mount("/of/{tenant}", shop)
    assert statuses(app, "/a/a", 3) == [200, 200, 429]
    assert [ask(app, f"/of/{n}/of").status for n in range(3)] == [200, 200, 429]


def test_hosts_are_mounts() -> None:
    @starlette.limit("2/hour")
    async def show(request: Request) -> PlainTextResponse:
        return PlainTextResponse("seen")

    inner = [Route("/x", show)]
    app = Starlette(routes=[Host("a.test", Mount("", routes=inner)), Host("{tenant}.test", Mount("", routes=inner))])
    starlette.install(app, aio.Client(memory()))
    assert statuses(app, "/x", 3, host="a.test") == [200, 200, 429]
    assert [ask(app, "/x", host=f"b{n}.test:80").status for n in range(3)] == [200, 200, 429]


def test_a_blueprint_is_limited_by_whatever_name_it_is_registered() -> None:
    app = Flask(__name__)
    limiter = Limiter(app=app, client=quotalock.Client(memory()))
    inner, outer = Blueprint("inner", __name__, url_prefix="/inner"), Blueprint("outer", __name__, url_prefix="/outer")
    inner.add_url_rule("/x", "x", lambda: "seen")
    limiter.limit("2/hour")(inner)
    outer.register_blueprint(inner)
    app.register_blueprint(outer)
    app.register_blueprint(inner, name="again", url_prefix="/again")
    client = app.test_client()
    for path in ("/outer/inner/x", "/again/x"):
        assert [client.get(path).status_code for _ in range(3)] == [200, 200, 429]


def test_a_function_is_limited_without_an_application() -> None:
    limiter = Limiter(client=quotalock.Client(memory()))
    mail: Any = limiter.limit("1/hour")(lambda: "sent")
    with Flask(__name__).test_request_context(environ_base={"REMOTE_ADDR": "192.0.2.1"}):
        assert mail() == "sent"
        with pytest.raises(RateLimitExceeded):
            mail()


def test_two_limiters_of_one_application_limit_what_each_was_given() -> None:
    app = Flask(__name__)
    tight, wide = (Limiter(app=app, client=quotalock.Client(memory())) for _ in range(2))
    app.add_url_rule("/", "index", tight.limit("2/hour")(wide.limit("3/hour")(lambda: "seen")))
    client = app.test_client()
    assert [client.get("/").status_code for _ in range(3)] == [200, 200, 429]


def test_a_view_may_answer_for_what_it_calls() -> None:
    app = Flask(__name__)
    limiter = Limiter(app=app, client=quotalock.Client(memory()))
    mail: Any = limiter.limit("1/hour")(lambda: "sent")

    @app.get("/")
    def view() -> str:
        try:
            return str(mail())
        except Exception:
            return "not now"

    client = app.test_client()
    assert [(client.get("/").status_code, client.get("/").text)] == [(200, "not now")]


def test_a_status_that_a_handler_sets_stays() -> None:
    app = Flask(__name__)
    Limiter(app=app, client=quotalock.Client(memory()), default_limits=["1/hour"])
    app.add_url_rule("/", "index", lambda: "seen")
    app.register_error_handler(429, lambda error: ("elsewhere", 503))
    client = app.test_client()
    assert [client.get("/").status_code for _ in range(2)] == [200, 503]


def test_classes_of_django_have_limits_of_their_own() -> None:
    with override_settings(QUOTALOCK={"URL": memory()}):

        @method_decorator(ratelimit(key="ip", rate="2/h"), name="dispatch")
        class A(View):  # type: ignore[misc]
            """A limited class."""

            def get(self, request: Any) -> HttpResponse:
                return HttpResponse("seen")

        class B(A):
            """It inherits the limit, and counts by itself."""

        class C(View):  # type: ignore[misc]
            """Limited where it becomes a view."""

            def get(self, request: Any) -> HttpResponse:
                return HttpResponse("seen")

        class D(C):
            """As it is."""

        limited = ratelimit(key="ip", rate="2/h")
        for view in (A.as_view(), B.as_view(), limited(C.as_view()), limited(D.as_view())):
            assert [view(RequestFactory().get("/")).status_code for _ in range(3)] == [200, 200, 429]
        with pytest.raises(TypeError, match="method_decorator"):
            limited(A.get)(A(), RequestFactory().get("/"))


def test_an_asynchronous_class_of_django_is_limited_on_its_loop() -> None:
    with override_settings(QUOTALOCK={"URL": memory()}):

        @method_decorator(ratelimit(key="ip", rate="2/h"), name="dispatch")
        class Asynchronous(View):  # type: ignore[misc]
            """Its dispatch is a function that returns what is awaited."""

            async def get(self, request: Any) -> HttpResponse:
                return HttpResponse("seen")

        async def asked() -> list[tuple[int, bool]]:
            view: Any = Asynchronous.as_view()
            answers = [await view(RequestFactory().get("/")) for _ in range(3)]
            return [(answer.status_code, "RateLimit" in answer.headers) for answer in answers]

        assert asyncio.run(asked()) == [(200, True), (200, True), (429, True)]


def test_a_user_whose_key_looks_like_an_address_is_no_address() -> None:
    class User:
        """Whose primary key is a text."""

        is_authenticated = True
        pk = "192.0.2.1"

    class Nobody:
        """Not signed in."""

        is_authenticated = False

    view: Any = ratelimit(group="login", key="user_or_ip", rate="2/h")(lambda request: HttpResponse("seen"))
    with override_settings(QUOTALOCK={"URL": memory()}):
        for user, address in ((User(), "192.0.2.9"), (Nobody(), "192.0.2.1")):
            for expected in (200, 200, 429):
                request: Any = RequestFactory().get("/", REMOTE_ADDR=address)
                request.user = user
                assert view(request).status_code == expected


@pytest.mark.parametrize(("extensions", "expected"), [({}, ["websocket.close"]), (None, ["websocket.close"])])
def test_a_refused_websocket_is_closed_before_it_is_accepted(extensions: Any, expected: list[str]) -> None:
    assert _handshakes(extensions) == (["websocket.accept"], expected, 1008)


def test_a_refused_websocket_gets_429_where_the_server_can_send_it() -> None:
    first, second, status = _handshakes({"websocket.http.response": {}})
    assert (first, second, status) == (
        ["websocket.accept"],
        ["websocket.http.response.start", "websocket.http.response.body"],
        429,
    )


def _handshakes(extensions: Any) -> tuple[list[str], list[str], int]:
    app = FastAPI()
    fastapi.install(app, aio.Client(memory()))

    @app.websocket("/", dependencies=[Depends(fastapi.Limit("1/hour"))])
    async def socket(websocket: WebSocket) -> None:
        await websocket.accept()

    async def shaken() -> list[dict[str, Any]]:
        sent: list[dict[str, Any]] = []

        async def keeping(scope: Any, receive: Any, send: Any) -> None:
            async def noted(message: Any) -> None:
                sent.append(message)
                await send(message)

            await app({**scope, "extensions": extensions}, receive, noted)

        await answer_of(keeping, Asked(path="/", websocket=True))
        return sent

    first, second = asyncio.run(shaken()), asyncio.run(shaken())
    answered: Any = second[0].get("status", second[0].get("code"))
    return [one["type"] for one in first], [one["type"] for one in second], int(answered)


def test_a_list_of_exposed_fields_is_added_to() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"access-control-expose-headers", b"X-Total, ratelimit")],
            }
        )
        await send({"type": "http.response.body", "body": b""})

    limited = asgi.RateLimitMiddleware(app, "1/hour", client=aio.Client(memory()), expose_headers=True)
    assert (
        ask(limited, "/").headers["access-control-expose-headers"]
        == "X-Total, ratelimit, RateLimit-Policy, Retry-After"
    )
    refused = ask(limited, "/")
    assert (refused.status, refused.headers["access-control-expose-headers"]) == (
        429,
        "RateLimit, RateLimit-Policy, Retry-After",
    )
