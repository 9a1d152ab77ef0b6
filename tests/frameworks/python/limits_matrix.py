"""The matrix of ../matrix.json for the Python packages. Started by the Python of target/frameworks it prints a table.

A package builds an application from what a situation declares and answers requests; how often each sender got through
is compared with what its limits allow. Time is stepped, and each situation has a store in memory of its own.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import itertools
import json
import sys
import types
import warnings
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import quotalock
from quotalock import aio
from quotalock.testing import Clock
from starlette.websockets import WebSocket

MATRIX: dict[str, Any] = json.loads((Path(__file__).parents[1] / "matrix.json").read_text())
ROWS: list[str] = [row["id"] for row in MATRIX["rows"]]
_numbers = itertools.count()

# The texts that spoil a key; None is a field that is missing. No header can carry some of them: they come as JSON.
SPOILERS: list[Any] = [None, "", "x" * 1025, ["ada"], {"name": "ada"}, "a\nb", "a\x00", "a\ud800", 10**400, 1.5, True]


@dataclass
class Reply:
    """What a request got; the status of a websocket is 200 if it was accepted."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Asked:
    """A request of a situation."""

    method: str = "GET"
    path: str = "/x"
    address: str = "192.0.2.1"
    # What the client says of itself, as JSON; without any of it there is no body.
    fields: dict[str, Any] = field(default_factory=dict)
    websocket: bool = False

    @property
    def body(self) -> bytes:
        """The JSON."""
        return json.dumps(self.fields).encode() if self.fields else b""


@dataclass(eq=False)
class Rule:
    """A declared limit, and where it stands."""

    policy: str
    method: str = "GET"
    path: str = "/x"
    handler: str = "view"
    own_class: str = ""
    mount: str = ""
    key: str = "address"
    name: str | None = None
    only_method: bool = False
    default: bool = False
    not_found: bool = False
    websocket: bool = False
    own_body: str = ""
    expose_headers: bool = False
    twice: bool = False

    @property
    def full_path(self) -> str:
        """Where it is asked for."""
        return f"{self.mount}{'/' + self.own_class if self.own_class else ''}{self.path}"


def rule_of(given: dict[str, Any]) -> Rule:
    """A limit of the matrix."""
    known = {name.replace("class", "own_class"): value for name, value in given.items()}
    return Rule(**known, only_method="method" in given)


Ask = Callable[[Asked], Reply]


@dataclass
class Package:
    """A package: how it builds an application on a store, and the rows that it has no word for, with the reason."""

    name: str
    build: Callable[[list[Rule], str], tuple[Any, Ask]]
    none: dict[str, str] = field(default_factory=dict)


@dataclass
class Cell:
    """What came of a row: admitted next to allowed, for each sender."""

    shown: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def compare(self, what: str, got: object, wanted: object, right: bool) -> None:
        """Notes a comparison."""
        self.shown.append(f"{what} {got}/{wanted}")
        if not right:
            self.wrong.append(f"{what}: {got}, and {wanted} are allowed")


def play(package: Package, row: str) -> Cell:
    """Plays all situations of a row."""
    described = next(one for one in MATRIX["rows"] if one["id"] == row)
    cell = Cell()
    for situation in described["situations"]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rules = [rule_of(given) for given in situation["limits"].values()]
            client, ask = package.build(rules, f"memory://matrix-{next(_numbers)}")
            _play(situation, rules, Clock(client), ask, cell)
        told = [str(one.message) for one in caught if "have the name" in str(one.message)]
        if "warnings" in situation:
            cell.compare("warnings", len(told), situation["warnings"], len(told) == situation["warnings"])
        # The package warns when limits are declared; what is charged later would be told by the core.
        if late := [one for one in told if not one.startswith("two limits have the name")]:
            cell.wrong.append(f"told when a key is charged: {late}")
    return cell


def _play(situation: dict[str, Any], rules: list[Rule], clock: Clock, ask: Ask, cell: Cell) -> None:
    admitted: Counter[str] = Counter()
    statuses: dict[str, Counter[str]] = {}
    for number in range(situation["rounds"]):
        clock.advance(situation["every_ms"] / 1000)
        for given in situation["requests"]:
            for asked in _asked(given, rules, number):
                reply = ask(asked)
                sender = given["sender"]
                admitted[sender] += reply.status == 200 and asked.method != "OPTIONS"
                statuses.setdefault(sender, Counter())[str(reply.status)] += 1
                refused = reply.status == 429
                for name in [
                    *situation.get("headers_of_all", ()),
                    *(situation.get("headers_of_refusals", ()) if refused else ()),
                ]:
                    if name not in reply.headers:
                        cell.wrong.append(f"no {name} in an answer with {reply.status}")
                if reply.status >= 500:
                    cell.wrong.append(f"{asked} got {reply.status}")
    for sender, allowed in situation.get("admitted", {}).items():
        cell.compare(sender, admitted[sender], allowed, admitted[sender] == allowed)
    for sender, allowed in situation.get("at_most", {}).items():
        cell.compare(sender, admitted[sender], f"at most {allowed}", admitted[sender] <= allowed)
    for sender, wanted in situation.get("statuses", {}).items():
        cell.compare(sender, dict(statuses[sender]), wanted, statuses[sender] == wanted)
    if only := situation.get("statuses_allowed"):
        got = {status for counts in statuses.values() for status in counts}
        cell.compare("statuses", sorted(got), only, got == {str(status) for status in only})


def _asked(given: dict[str, Any], rules: list[Rule], number: int) -> list[Asked]:
    at = (given.get("class", ""), given.get("mount", ""))
    rule = next((one for one in rules if (one.own_class, one.mount) == at), rules[0])
    path = given.get("path", rule.full_path).replace("{round}", str(number))
    made = Asked(
        method=given.get("method", "GET"),
        path=path,
        address=given.get("address", "192.0.2.1"),
        websocket=given.get("websocket", False),
    )
    if given.get("user") != "{spoiler}":
        made.fields = {name: given[name] for name in ("user", "shop") if name in given}
        return [made]
    spoilt = [{} if spoiler is None else {"user": spoiler} for spoiler in SPOILERS]
    return [Asked(made.method, path, made.address, fields) for fields in [*spoilt, {"other": 1}]]


# Packages of ASGI


async def answer_of(app: Any, asked: Asked) -> Reply:
    """Asks an ASGI application, without a server."""
    reply = Reply(0)

    async def send(message: dict[str, Any]) -> None:
        kind = message["type"]
        if kind.endswith(("response.start", "websocket.accept")):
            headers = message.get("headers") or ()
            reply.headers = {name.decode().lower(): value.decode() for name, value in headers}
            reply.status = message.get("status", 200)
        elif kind == "websocket.close" and reply.status == 0:
            reply.status = 429 if message["code"] == 1008 else 500

    received: Any = iter([{"type": "websocket.connect"}, {"type": "websocket.disconnect", "code": 1000}])

    async def receive() -> dict[str, Any]:
        return next(received) if asked.websocket else {"type": "http.request", "body": asked.body, "more_body": False}

    scope: dict[str, Any] = {
        "type": "websocket" if asked.websocket else "http",
        "method": asked.method,
        "path": asked.path,
        "raw_path": asked.path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"shop.test"), (b"content-type", b"application/json"), (b"x-fields", asked.body)],
        "client": (asked.address, 1),
        "server": ("shop.test", 80),
        "scheme": "ws" if asked.websocket else "http",
        "root_path": "",
        "http_version": "1.1",
        "asgi": {"version": "3.0"},
    }
    if asked.websocket:
        del scope["method"]
    await app(scope, receive, send)
    return reply


def on_a_loop(app: Any) -> Ask:
    """Asks an application on the loop of the matrix."""
    return lambda asked: _loop().run_until_complete(answer_of(app, asked))


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    atexit.register(loop.close)
    return loop


def reader(name: str) -> Callable[[Any], Awaitable[Any]] | None:
    """A key function without a name, which reads a field of the body; None is the address."""
    if name == "address":
        return None
    fields = {"user": lambda request: _field(request, "user"), "shop": lambda request: _field(request, "shop")}
    return fields[name]


async def _field(request: Any, name: str) -> Any:
    return (await request.json())[name]


def places(rules: list[Rule]) -> dict[tuple[str, str, str, str], list[Rule]]:
    """The limits of each route."""
    found: dict[tuple[str, str, str, str], list[Rule]] = {}
    for rule in rules:
        if not rule.default and not rule.not_found:
            found.setdefault((rule.mount, rule.own_class, rule.path, rule.method), []).append(rule)
    return found


def build_fastapi(rules: list[Rule], url: str) -> tuple[Any, Ask]:
    """Limits as dependencies."""
    from fastapi import APIRouter, Depends, FastAPI
    from quotalock import fastapi
    from starlette.responses import PlainTextResponse

    client, app = aio.Client(url), FastAPI()
    nowhere = next((fastapi.Limit(rule.policy) for rule in rules if rule.not_found), None)
    fastapi.install(app, client, not_found=nowhere, expose_headers=any(rule.expose_headers for rule in rules))
    mounts: dict[str, FastAPI] = {"": app}
    for (mount, own_class, path, method), here in places(rules).items():
        made = [fastapi.Limit(rule.policy, key=reader(rule.key), name=rule.name) for rule in here]
        made += [one for one, rule in zip(made, here, strict=True) if rule.twice]
        if mount not in mounts:
            mounts[mount] = FastAPI()
            app.mount(mount, mounts[mount])
        router = APIRouter(prefix=f"/{own_class}" if own_class else "")
        depends = [Depends(one) for one in made]
        if here[0].websocket:

            async def socket(websocket: WebSocket) -> None:
                await websocket.accept()

            router.websocket(path, dependencies=depends)(socket)
        else:

            async def view() -> str:
                return "seen"

            router.add_api_route(path, view, methods=[method], dependencies=depends)
            if method == "GET":
                router.add_api_route(path, view, methods=["HEAD"], dependencies=depends)
        mounts[mount].include_router(router)
        if here[0].own_body:
            body = here[0].own_body

            async def slowly(request: Any, refused: Any, body: str = body) -> PlainTextResponse:
                return PlainTextResponse(body, headers={"Retry-After": refused.answer.headers["Retry-After"]})

            app.add_exception_handler(fastapi.RateLimitExceeded, slowly)
    return client, on_a_loop(app)


def build_starlette(rules: list[Rule], url: str) -> tuple[Any, Ask]:
    """Limits as decorators; classes inherit their handler."""
    from quotalock import starlette
    from starlette.applications import Starlette
    from starlette.endpoints import HTTPEndpoint
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse
    from starlette.routing import Mount, Route, WebSocketRoute

    client = aio.Client(url)
    routes: dict[str, list[Any]] = {}
    for (mount, own_class, path, method), here in places(rules).items():

        async def view(request: Request) -> PlainTextResponse:
            return PlainTextResponse("seen")

        async def socket(websocket: WebSocket) -> None:
            await websocket.accept()

        async def get(self: Any, request: Request) -> PlainTextResponse:
            return PlainTextResponse("seen")

        function: Any = socket if here[0].websocket else get if own_class else view
        for rule in here:
            decorate = starlette.limit(rule.policy, key=reader(rule.key), name=rule.name)
            function = decorate(decorate(function)) if rule.twice else decorate(function)
        if here[0].websocket:
            route: Any = WebSocketRoute(path, function)
        elif own_class:
            base = type("Base", (HTTPEndpoint,), {"get": function})
            route = Route(f"/{own_class}{path}", type(own_class, (base,), {}))
        else:
            route = Route(path, function, methods=[method])
        routes.setdefault(mount, []).append(route)
    flat = [*routes.pop("", []), *(Mount(mount, routes=within) for mount, within in routes.items())]
    app = Starlette(routes=flat)
    nowhere = next((starlette.Limit(rule.policy) for rule in rules if rule.not_found), None)
    starlette.install(app, client, not_found=nowhere, expose_headers=any(rule.expose_headers for rule in rules))
    if body := rules[0].own_body:

        async def slowly(request: Request, refused: Any) -> PlainTextResponse:
            return PlainTextResponse(body)

        app.add_exception_handler(starlette.RateLimitExceeded, slowly)
    return client, on_a_loop(app)


def build_middleware(rules: list[Rule], url: str) -> tuple[Any, Ask]:
    """The middleware of Starlette, around mounted applications, or several around one."""
    from quotalock.starlette import RateLimitMiddleware
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse
    from starlette.routing import Mount, Route, WebSocketRoute

    async def view(request: Request) -> PlainTextResponse:
        return PlainTextResponse("seen")

    async def socket(websocket: WebSocket) -> None:
        await websocket.accept()

    keys: dict[str, Any] = {
        "address": None,
        # A middleware leaves the body to the application.
        "user": lambda request: json.loads(request.headers["x-fields"])["user"],
        "shop": lambda request: json.loads(request.headers["x-fields"])["shop"],
    }
    client = aio.Client(url)
    app = Starlette()
    for place in dict.fromkeys((rule.mount, rule.path) for rule in rules):
        here = [rule for rule in rules if (rule.mount, rule.path) == place]
        within = app if here[0].mount == "" and len({rule.path for rule in rules}) == 1 else Starlette()
        within.router.routes.append(WebSocketRoute("/x", socket) if here[0].websocket else Route("/x", view))
        for rule in here:
            for _ in range(2 if rule.twice else 1):
                within.add_middleware(
                    RateLimitMiddleware,
                    policy=rule.policy,
                    client=client,
                    key=keys[rule.key],
                    name=rule.name,
                    websockets=rule.websocket,
                    expose_headers=rule.expose_headers,
                )
        if within is not app:
            app.router.routes.append(Mount(here[0].mount or here[0].path, within))
    ask = on_a_loop(app)
    if any(rule.mount or len({one.path for one in rules}) == 1 for rule in rules):
        return client, ask
    return client, lambda asked: ask(Asked(asked.method, asked.path + "/x", asked.address, asked.fields))


# Packages of WSGI


def wsgi_reply(app: Any, asked: Asked) -> Reply:
    """Asks a WSGI application, without a server."""
    from werkzeug.test import Client

    replied = Client(app).open(
        asked.path,
        method=asked.method,
        environ_overrides={"REMOTE_ADDR": asked.address},
        data=asked.body,
        content_type="application/json",
    )
    return Reply(replied.status_code, {name.lower(): value for name, value in replied.headers.items()})


def build_wsgi(rules: list[Rule], url: str) -> tuple[Any, Ask]:
    """The middleware, around the applications of a dispatcher, or several around one."""
    from quotalock.wsgi import RateLimitMiddleware
    from werkzeug.middleware.dispatcher import DispatcherMiddleware

    def view(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("200 OK" if environ["PATH_INFO"] in ("/x", "") else "404 Not Found", [])
        return [b"seen"]

    def field(name: str) -> Any:
        if name == "address":
            return None
        fields = {
            "user": lambda environ: json.loads(environ["wsgi.input"].read())["user"],
            "shop": lambda environ: json.loads(environ["wsgi.input"].read())["shop"],
        }

        def again(environ: dict[str, Any]) -> Any:
            environ["wsgi.input"].seek(0)
            return fields[name](environ)

        return again

    client = quotalock.Client(url)
    mounted: dict[str, Any] = {}
    for rule in rules:
        mount = rule.mount or (rule.path if rule.path != "/x" else "")
        inner = mounted.get(mount, view)
        for _ in range(2 if rule.twice else 1):
            inner = RateLimitMiddleware(
                inner,
                rule.policy,
                client=client,
                key=field(rule.key),
                name=rule.name,
                expose_headers=rule.expose_headers,
            )
        mounted[mount] = inner
    app = DispatcherMiddleware(mounted.pop("", view), mounted) if any(mounted) else mounted[""]
    return client, lambda asked: wsgi_reply(app, asked)


def build_flask(rules: list[Rule], url: str) -> tuple[Any, Ask]:
    """Limits of views; classes are blueprints, mounts are applications of a dispatcher."""
    from flask import Blueprint, Flask, request
    from quotalock.flask import Limiter
    from werkzeug.middleware.dispatcher import DispatcherMiddleware

    client = quotalock.Client(url)
    defaults = [rule.policy for rule in rules if rule.default]
    nowhere = [rule.policy for rule in rules if rule.not_found]
    exposed = any(rule.expose_headers for rule in rules)

    def application() -> tuple[Flask, Limiter]:
        app = Flask("shop")
        return app, Limiter(
            app=app, client=client, default_limits=defaults, not_found_limits=nowhere, expose_headers=exposed
        )

    outer = application()
    apps = {rule.mount: outer if rule.mount == "" else application() for rule in rules}
    grouped = places(rules)
    paths: dict[tuple[str, str, str], list[Rule]] = {}
    for (mount, own_class, path, _), here in grouped.items():
        paths.setdefault((mount, own_class, path), []).extend(here)
    for (mount, own_class, path), here in paths.items():
        app, limiter = apps[mount]

        def view() -> str:
            return "seen"

        function: Any = view
        for rule in here:
            keys: dict[str, Any] = {
                "address": None,
                "user": lambda: request.get_json()["user"],
                "shop": lambda: request.get_json()["shop"],
            }
            decorate = limiter.limit(
                rule.policy,
                key_func=keys[rule.key],
                methods=[rule.method] if rule.only_method else None,
                scope=rule.name,
            )
            function = decorate(decorate(function)) if rule.twice else decorate(function)
        router: Any = Blueprint(own_class, __name__, url_prefix=f"/{own_class}") if own_class else app
        endpoint = "view" if own_class else here[0].handler if path == "/search" else path.strip("/")
        router.add_url_rule(path, endpoint, function, methods=["GET", "POST"])
        if own_class:
            app.register_blueprint(router)
        if body := here[0].own_body:
            app.register_error_handler(429, lambda error, body=body: body)
    outer[0].add_url_rule("/elsewhere", "elsewhere", lambda: "seen")
    mounts: dict[str, Any] = {mount: app for mount, (app, _) in apps.items() if mount}
    whole = DispatcherMiddleware(outer[0], mounts) if mounts else outer[0]
    return client, lambda asked: wsgi_reply(whole, asked)


# Django


def build_django(rules: list[Rule], url: str) -> tuple[Any, Ask]:
    """Limits of views; classes inherit from one view, mounts are namespaces that include the same views."""
    from django.core.handlers.wsgi import WSGIHandler
    from django.http import HttpResponse, HttpResponseNotFound
    from django.test import override_settings
    from django.urls import include, path
    from django.utils.decorators import method_decorator
    from django.views import View
    from quotalock.django import ratelimit
    from quotalock.django._settings import configuration

    def view(request: Any) -> HttpResponse:
        return HttpResponse("seen")

    def nothing(request: Any, exception: Any) -> HttpResponse:
        return HttpResponseNotFound("nothing")

    class Base(View):  # type: ignore[misc]
        """Whose handler other classes inherit."""

        def get(self, request: Any) -> HttpResponse:
            return HttpResponse("seen")

        def options(self, request: Any) -> HttpResponse:
            return HttpResponse("")

    keys = {
        "address": "ip",
        "user": lambda group, request: json.loads(request.body)["user"],
        "shop": lambda group, request: json.loads(request.body)["shop"],
    }
    urls = types.ModuleType(f"urls_{next(_numbers)}")
    patterns: dict[str, list[Any]] = {}
    paths: dict[tuple[str, str, str], list[Rule]] = {}
    for (mount, own_class, at, _), here in places(rules).items():
        paths.setdefault((mount, own_class, at), []).extend(here)
    for (mount, own_class, at), here in paths.items():
        limits = [
            ratelimit(
                rule.name,
                key=keys[rule.key],
                rate=rule.policy,
                method=rule.method if rule.only_method else None,
            )
            for rule in here
            for _ in range(2 if rule.twice else 1)
        ]
        function: Any = view
        if own_class:
            function = method_decorator(limits, name="dispatch")(type(own_class, (Base,), {})).as_view()
        else:
            for decorate in limits:
                function = decorate(function)
        full = f"{own_class}{at}" if own_class else at.strip("/")
        patterns.setdefault(mount, []).append(path(full, function))
    urls.urlpatterns = [  # type: ignore[attr-defined]
        *patterns.pop("", []),
        *(
            path(f"{mount.strip('/')}/", include((within, "shop"), mount.strip("/")))
            for mount, within in patterns.items()
        ),
    ]
    nowhere = next((rule for rule in rules if rule.not_found), None)
    limited = ratelimit(key="ip", rate=nowhere.policy)(nothing) if nowhere else nothing
    urls.handler404 = limited  # type: ignore[attr-defined]
    sys.modules[urls.__name__] = urls
    settings: dict[str, Any] = {"URL": url, "EXPOSE_HEADERS": any(rule.expose_headers for rule in rules)}
    if body := rules[0].own_body:
        settings["VIEW"] = lambda request, answer: HttpResponse(body)
    override = override_settings(QUOTALOCK=settings, ROOT_URLCONF=urls.__name__, MIDDLEWARE=[])
    override.enable()
    handler = WSGIHandler()
    return configuration().client, lambda asked: wsgi_reply(handler, asked)


def build_drf(rules: list[Rule], url: str) -> tuple[Any, Ask]:
    """Throttles; classes are throttles of one scope."""
    from django.core.handlers.wsgi import WSGIHandler
    from django.test import override_settings
    from django.urls import path
    from quotalock import drf
    from quotalock.django._settings import configuration
    from rest_framework.response import Response
    from rest_framework.views import APIView

    def throttle(rule: Rule) -> type:
        def get_cache_key(self: Any, request: Any, view: Any) -> Any:
            return request._request.META["REMOTE_ADDR"] if rule.key == "address" else request.data[rule.key]

        title = f"{rule.method.title()}By{rule.key.title()}{rule.own_class}"
        names = {"scope": "api", "rate": rule.policy, "name": rule.name, "get_cache_key": get_cache_key}
        return type(title, (drf.SimpleRateThrottle,), names)

    urls = types.ModuleType(f"urls_{next(_numbers)}")
    urls.urlpatterns = []  # type: ignore[attr-defined]
    paths: dict[str, list[Rule]] = {}
    for rule in rules:
        paths.setdefault(rule.full_path, []).append(rule)
    for at, here in paths.items():
        throttles = {rule: throttle(rule) for rule in here}

        class OfPath(APIView):  # type: ignore[misc]
            """A view whose throttles depend on the method."""

            authentication_classes = ()
            permission_classes = ()
            of_path = throttles

            def get_throttles(self) -> list[Any]:
                method = self.request.method.replace("HEAD", "GET")
                return [made() for rule, made in self.of_path.items() if not rule.only_method or rule.method == method]

            def get(self, request: Any) -> Response:
                return Response("seen")

            def post(self, request: Any) -> Response:
                return Response("seen")

        urls.urlpatterns.append(path(at.strip("/"), OfPath.as_view()))
    sys.modules[urls.__name__] = urls
    middleware = ["quotalock.django.RateLimitMiddleware"]
    settings = {"URL": url, "EXPOSE_HEADERS": any(rule.expose_headers for rule in rules)}
    override_settings(QUOTALOCK=settings, ROOT_URLCONF=urls.__name__, MIDDLEWARE=middleware).enable()
    handler = WSGIHandler()
    return configuration().client, lambda asked: wsgi_reply(handler, asked)


# Without HTTP


def build_celery(rules: list[Rule], url: str) -> tuple[Any, Ask]:
    """Tasks, called directly; a task is refused by an exception."""
    from quotalock.celery import rate_limited

    client = quotalock.Client(url)
    tasks: dict[str, Any] = {}
    for own, here in itertools.groupby(rules, lambda rule: rule.full_path):

        class Owner:
            """Whose name the task has."""

        def send(address: str, fields: dict[str, Any]) -> str:
            return "sent"

        send.__qualname__ = f"send_{own.strip('/').replace('/', '_')}"
        function: Any = send
        for rule in here:
            keys = {
                "address": lambda address, fields: address,
                "user": lambda address, fields: fields["user"],
                "shop": lambda address, fields: fields["shop"],
            }
            function = rate_limited(rule.policy, key=keys[rule.key], name=rule.name, client=client)(function)
        tasks[own] = function

    def ask(asked: Asked) -> Reply:
        try:
            tasks[asked.path](asked.address, asked.fields)
        except quotalock.RateLimited:
            return Reply(429)
        except quotalock.InvalidArgument:
            return Reply(400)
        return Reply(200)

    return client, ask


ASGI_ONLY = "WSGI has no websockets"
ROUTES = "a middleware knows no routes"
NOT_HTTP = "a task is no request"
PACKAGES = [
    Package("fastapi", build_fastapi, {"defaults": "a route has the limits that it depends on"}),
    Package("starlette", build_starlette, {"defaults": "an endpoint has the limits of its decorators"}),
    Package(
        "middleware (ASGI)",
        build_middleware,
        {
            "two_methods": ROUTES,
            "two_classes": ROUTES,
            "defaults": ROUTES,
            "name_of_a_view": ROUTES,
            "own_body": "the middleware answers by itself",
            "head_and_options": "limits every request",
        },
    ),
    Package(
        "middleware (WSGI)",
        build_wsgi,
        {
            "two_methods": ROUTES,
            "two_classes": ROUTES,
            "defaults": ROUTES,
            "name_of_a_view": ROUTES,
            "own_body": "the middleware answers by itself",
            "head_and_options": "limits every request",
            "websocket": ASGI_ONLY,
        },
    ),
    Package("flask", build_flask, {"websocket": ASGI_ONLY}),
    Package(
        "django",
        build_django,
        {
            "defaults": "a view has the limits of its decorators; the middleware counts by itself",
            "websocket": "Django has no websockets",
        },
    ),
    Package(
        "drf",
        build_drf,
        {
            "mounts": "a throttle counts by its class and scope, in all views",
            "defaults": "DEFAULT_THROTTLE_CLASSES are replaced by those of a view",
            "twice_on_the_way": "a view asks each of its throttles once",
            "name_of_a_view": "a throttle is named by its class and scope",
            "not_found": "no view, no throttle",
            "websocket": "Django has no websockets",
            "own_body": "the exception handler makes the answer",
        },
    ),
    Package(
        "celery",
        build_celery,
        dict.fromkeys(
            [
                "two_methods",
                "mounts",
                "twice_on_the_way",
                "defaults",
                "name_of_a_view",
                "head_and_options",
                "not_found",
                "websocket",
                "own_body",
                "other_origin",
            ],
            NOT_HTTP,
        ),
    ),
]


def cell_of(package: Package, row: str) -> Cell | str:
    """What came of a row; why there is none."""
    return package.none.get(row) or play(package, row)


def main() -> int:
    """Prints the table; 0 if every cell is right."""
    failed = 0
    print("| row | package | admitted/allowed |\n|---|---|---|")
    for row in ROWS:
        for package in PACKAGES:
            cell = cell_of(package, row)
            if isinstance(cell, str):
                print(f"| {row} | {package.name} | none: {cell} |")
                continue
            wrong = f" WRONG: {'; '.join(cell.wrong)}" if cell.wrong else ""
            failed += bool(wrong)
            print(f"| {row} | {package.name} | {', '.join(cell.shown)}{wrong} |")
    return int(failed > 0)


if __name__ == "__main__":
    import logging

    root = Path(__file__).parents[3]
    sys.path += [str(root / "tools"), str(root / "tests/harness")]
    from conftest import pytest_configure

    logging.disable(logging.CRITICAL)
    pytest_configure()
    sys.exit(main())
