"""Limits requests of a Starlette application, all of them or those of an endpoint.

    from quotalock.starlette import RateLimitMiddleware, install, limit

    app = Starlette(routes=[Route("/login", login)], middleware=[Middleware(RateLimitMiddleware, policy="100/minute")])
    install(app)

    @limit("5/minute", key=lambda request: request.headers["x-user"])
    async def login(request): ...

`RateLimitMiddleware` is that of `quotalock.asgi`, whose functions get a `Request`. `limit` needs `install`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from ._require import require

require("starlette", "0.27", "starlette")

from starlette.applications import Starlette
from starlette.exceptions import HTTPException, WebSocketException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.websockets import WebSocket

from . import asgi
from ._asgi_routes import place_in, places_of
from ._names import (
    Site,
    application,
    declared_in,
    generated_name,
    given_name,
    kind_of,
    name_of,
    numbers,
    place_of,
    site,
)
from ._web import (
    Answer,
    Charge,
    Limiters,
    Proxies,
    checked_client,
    checked_cost,
    checked_function,
    checked_policy,
    combined,
)
from ._whom import BadKey, Key, awaited_key
from .aio import Client

__all__ = ["BadRequest", "Limit", "RateLimitExceeded", "RateLimitMiddleware", "install", "limit"]

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
KeyFunction = Callable[[Any], Key | Awaitable[Key]]


class RateLimitMiddleware(asgi.RateLimitMiddleware):
    """As that of `quotalock.asgi`; `key` and `exempt` get a `Request`, of a WebSocket an `HTTPConnection`."""

    def request(self, scope: asgi.Scope) -> HTTPConnection:
        """What `key` and `exempt` get."""
        return Request(scope) if scope["type"] == "http" else HTTPConnection(scope)


class RateLimitExceeded(HTTPException):
    """A request was refused; `answer` has the decision, the header fields and the problem body."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status, answer.problem["detail"], answer.headers)
        self.answer = answer


class BadRequest(HTTPException):
    """A request sent nothing from which a key can be made: 400. `bad` has the problem body."""

    def __init__(self, bad: BadKey) -> None:
        super().__init__(bad.status, bad.problem["detail"])
        self.bad = bad


class _RefusedHandshake(WebSocketException):
    """A handshake of a WebSocket was refused; an application without `install` closes it with 1008."""

    def __init__(self, refused: RateLimitExceeded | BadRequest) -> None:
        super().__init__(1008, refused.detail)
        self.refused = refused


class _Installed:
    """What the limits of an application need."""

    def __init__(
        self,
        client: Client,
        proxies: Proxies,
        *,
        legacy: bool,
        expose: bool,
        scope: str | None,
        enforce: bool,
        not_found: Limit | None,
    ) -> None:
        self.client = client
        self.limiters = Limiters(client, scope, enforce)
        self.proxies = proxies
        self.legacy = legacy
        self.expose = expose
        self.not_found = not_found
        self.application = application(site().module)


def install(
    app: Starlette,
    client: Client | None = None,
    *,
    trusted_proxies: Iterable[str] = (),
    forwarded_header: str = "X-Forwarded-For",
    legacy_headers: bool = False,
    expose_headers: bool = False,
    scope: str | None = None,
    enforce: bool = True,
    not_found: Limit | None = None,
) -> None:
    """Prepares an application for limits of endpoints: which client asks, and how a refusal looks. It holds for mounted
    applications too, unless they are installed by themselves.

    `client` is a `quotalock.aio.Client` (default: that of the environment). `trusted_proxies` may report a client's
    address in `forwarded_header`. With `expose_headers` scripts of other origins may read the header fields. On a
    cluster, several limits of one request need a `scope`. Without `enforce` every request passes, and the decision says
    which would not have. `not_found` limits the requests that no route takes (404 and 405), all of them together.
    """
    client = checked_client(client, Client, "install")
    proxies = Proxies(trusted_proxies, forwarded_header)
    if not_found is not None and not isinstance(not_found, Limit):
        raise TypeError(f"install: not_found is a Limit, not {not_found!r}")
    app.state.quotalock = _Installed(
        client,
        proxies,
        legacy=legacy_headers,
        expose=expose_headers,
        scope=scope,
        enforce=enforce,
        not_found=not_found,
    )
    app.add_exception_handler(RateLimitExceeded, _refuse)
    app.add_exception_handler(BadRequest, _refuse)
    app.add_exception_handler(_RefusedHandshake, _refuse_handshake)
    app.add_middleware(_Headers, app_of=app)


class Limit:
    """A limit of requests: `policy` for each `key`; without one for each client's address.

    Limits of one `name` share what they count (default: a generated one, of the application and its mounts, the route
    with its methods, the kind of key and the policy). `key` gets the request, and may be awaited; so may `exempt_when`,
    which says of a request that it is not limited. A request from which `key` makes no key is answered with 400. `cost`
    is what a request counts, `prefetch` how many permits are taken from Redis at once at most, and spent without a call
    where this limit decides alone.
    """

    def __init__(
        self,
        policy: str | list[str],
        *,
        key: KeyFunction | None = None,
        name: str | None = None,
        cost: int = 1,
        exempt_when: Callable[[Any], bool | Awaitable[bool]] | None = None,
        prefetch: int | None = None,
    ) -> None:
        self.policy = checked_policy(policy, "Limit", prefetch)
        self.prefetch = prefetch
        self.key = checked_function(key, "key", "Limit")
        self.name = given_name(name, "Limit")
        self.cost = checked_cost(cost, "Limit")
        self.exempt_when = checked_function(exempt_when, "exempt_when", "Limit")
        self.site: Site = site()
        self._identity = (self.policy, kind_of(self.key))

    async def charge(self, request: HTTPConnection, installed: _Installed, place: _LimitedPlace) -> Charge | None:
        """What is charged for a request; None if it is not limited."""
        if self.exempt_when is not None and await _awaited(self.exempt_when(request)):
            return None
        key = (
            asgi.address(request.scope, installed.proxies) if self.key is None else await awaited_key(self.key, request)
        )
        return Charge(self.name or place.name(self, installed), self.policy, key, self.cost, self.prefetch)


class _LimitedPlace:
    """Where in an application limits stand."""

    def __init__(self, path: str, methods: str, kind: str, limits: Iterable[Limit]) -> None:
        self._path = path
        self._methods = methods
        self._kind = kind
        unnamed = [limit for limit in limits if limit.name is None]
        self._numbers = dict(zip(unnamed, numbers(limit._identity for limit in unnamed), strict=True))

    def name(self, limit: Limit, installed: _Installed) -> str:
        """The name of a limit that has none."""
        policy, key = limit._identity
        return generated_name(
            application=installed.application,
            place=self._path,
            kind=self._kind,
            methods=self._methods,
            key=key,
            policy=policy,
            number=self._numbers.get(limit, 0),
        )


async def decide(request: HTTPConnection, limits: Iterable[Limit], place: _LimitedPlace | None = None) -> None:
    """Charges all limits of a request or none, in one call; raises `RateLimitExceeded` if one refuses."""
    installed = _installed_for(request)
    place = place or _dependencies(request)
    try:
        charges = [(charge, each) for each in limits if (charge := await each.charge(request, installed, place))]
    except BadKey as bad:
        raise _raised(request, BadRequest(bad)) from bad
    wanted = [
        one.charge
        for one in combined(charges)
        if asgi.charges_first(request.scope, one.charge.name, one.charge.policy, one.charge.key)
    ]
    if not wanted:
        return
    answer = Answer(await _ask(installed, wanted), installed.legacy, installed.expose)
    request.state.quotalock = answer
    if answer.refused:
        request.scope["quotalock.refused"] = True
        raise _raised(request, RateLimitExceeded(answer))


async def _ask(installed: _Installed, wanted: list[Charge]) -> Any:  # noqa: ANN401
    charges = [(installed.limiters.get(one.name, one.policy, one.prefetch), one.key, one.cost) for one in wanted]
    if len(charges) == 1:
        limiter, key, cost = charges[0]
        return await limiter.consume(key, cost)
    return await installed.client.consume_all(charges)


def _raised(request: HTTPConnection, refused: RateLimitExceeded | BadRequest) -> Exception:
    return _RefusedHandshake(refused) if request.scope["type"] == "websocket" else refused


def _installed_for(request: HTTPConnection) -> _Installed:
    for installed in (getattr(request.app.state, "quotalock", None), request.scope.get("quotalock.installed")):
        if isinstance(installed, _Installed):
            return installed
    raise RuntimeError("a limit needs quotalock.starlette.install(app), which says who is asked")


def _dependencies(request: HTTPConnection) -> _LimitedPlace:
    """The place of the limits that a route has as dependencies."""
    place = place_in(request.scope)
    if place is None:
        # Of a router that is none of Starlette's. Never the path of the request: each id in it would have a limit.
        route = request.scope.get("route")
        path = getattr(route, "path", None) or name_of(request.scope.get("endpoint"))
        return _LimitedPlace(path, str(request.scope.get("method", "")), "route", ())
    if "dependencies" not in place.notes:
        place.notes["dependencies"] = _LimitedPlace(
            place.path, place.methods_text, "route", _limits_of(getattr(place.route, "dependant", None))
        )
    found: _LimitedPlace = place.notes["dependencies"]
    return found


def _limits_of(dependant: Any) -> list[Limit]:  # noqa: ANN401
    """The limits among the dependencies of FastAPI, in their order."""
    found: list[Limit] = []
    for one in getattr(dependant, "dependencies", ()):
        call = getattr(one, "call", None)
        several = getattr(call, "limits", None)
        found += [call] if isinstance(call, Limit) else []
        found += [limit for limit in several if isinstance(limit, Limit)] if isinstance(several, tuple) else []
        found += _limits_of(one)
    return list(dict.fromkeys(found))


def limit(
    policy: str | list[str],
    *,
    key: KeyFunction | None = None,
    name: str | None = None,
    cost: int = 1,
    exempt_when: Callable[[Any], bool | Awaitable[bool]] | None = None,
    prefetch: int | None = None,
) -> Callable[[Endpoint], Endpoint]:
    """Limits an endpoint; see `Limit`. Several of them decide together."""
    added = Limit(policy, key=key, name=name, cost=cost, exempt_when=exempt_when, prefetch=prefetch)

    def decorate(endpoint: Endpoint) -> Endpoint:
        if limits := getattr(endpoint, "__quotalock_limits__", None):
            limits.insert(0, added)
            return endpoint
        if not inspect.iscoroutinefunction(endpoint):
            raise TypeError(f"limit asks on the loop, so {name_of(endpoint)} must be a coroutine function (async def)")
        limits = [added]

        @functools.wraps(endpoint)
        async def limited(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            given = [*arguments, *named.values()]
            request = next((value for value in given if isinstance(value, HTTPConnection)), None)
            if request is None:
                raise TypeError(f"{name_of(endpoint)} has a limit, so it needs a parameter for the request")
            await decide(request, limits, _decorated(request, endpoint, arguments, limits))
            return await endpoint(*arguments, **named)

        limited.__quotalock_limits__ = limits  # type: ignore[attr-defined]
        return limited  # type: ignore[return-value]

    return decorate


def _decorated(
    request: HTTPConnection, endpoint: Callable[..., Any], arguments: tuple[Any, ...], limits: list[Limit]
) -> _LimitedPlace:
    """The place of the limits of a decorated function: its route and its name."""
    function, place = place_of(endpoint, *arguments), place_in(request.scope)
    if place is None:
        return _LimitedPlace(function, "", "function", limits)
    if function not in place.notes:
        place.notes[function] = _LimitedPlace(place.path, place.methods_text, f"function {function}", limits)
    found: _LimitedPlace = place.notes[function]
    return found


class _Headers:
    """Adds what was decided to whatever answer an endpoint makes, and limits what no route takes."""

    def __init__(self, app: asgi.App, app_of: Starlette) -> None:
        self._app = app
        self._installed: _Installed = app_of.state.quotalock
        # When the application starts, and so knows its routes.
        declared = declared_in(repr(self._installed.client))
        for place in places_of(app_of.router):
            route = place.route
            found = [*_limits_of(getattr(route, "dependant", None)), *_limits_on(getattr(route, "endpoint", None))]
            for limit in [*found, *([self._installed.not_found] if self._installed.not_found else ())]:
                declared.add(limit.name, limit.policy, limit.site)

    async def __call__(self, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        scope.setdefault("quotalock.installed", self._installed)
        send = asgi.with_headers(send, lambda: state.get("quotalock"))
        if scope["type"] == "http":
            send = _Answering(self, scope, send)
        await self._app(scope, receive, send)

    async def not_found(self, scope: asgi.Scope) -> Answer | BadKey | None:
        """What is decided about a request that no route takes; None if it is not limited."""
        limit, installed = self._installed.not_found, self._installed
        if limit is None:
            return None
        try:
            charge = await limit.charge(Request(scope), installed, _LimitedPlace("not_found", "", "", ()))
        except BadKey as bad:
            return bad
        if charge is None:
            return None
        answer = Answer(await _ask(installed, [charge]), installed.legacy, installed.expose)
        scope["state"]["quotalock"] = answer
        return answer


class _Answering:
    """The answer to one request as it is sent."""

    def __init__(self, headers: _Headers, scope: asgi.Scope, send: asgi.Send) -> None:
        self._headers = headers
        self._scope = scope
        self._send = send
        self._replaced = False

    async def __call__(self, message: asgi.Message) -> None:
        if self._replaced:
            return
        if message["type"] == "http.response.start":
            if self._scope.get("quotalock.refused") and message["status"] == 200:
                # A handler of the developer's, which left the status to the framework.
                message = {**message, "status": self._scope["state"]["quotalock"].status}
            elif _is_unrouted(self._scope, message["status"]):
                decided = await self._headers.not_found(self._scope)
                if isinstance(decided, BadKey) or (decided is not None and decided.refused):
                    self._replaced = True
                    fields = decided.headers if isinstance(decided, BadKey) else decided.refusal_headers
                    await asgi.refuse(self._scope, self._send, decided.status, asgi.raw(fields), decided.body)
                    return
        await self._send(message)


def _is_unrouted(scope: asgi.Scope, status: int) -> bool:
    """Whether a request got its 404 or 405 because no route takes it."""
    endpoint = scope.get("endpoint")
    is_mount = not (inspect.isroutine(endpoint) or inspect.isclass(endpoint) or isinstance(endpoint, functools.partial))
    return status == 405 or (status == 404 and (endpoint is None or is_mount))


def _limits_on(endpoint: Any) -> list[Limit]:  # noqa: ANN401
    """The limits that decorators put on a function, or on the functions of a class."""
    if inspect.isclass(endpoint):
        return [limit for function in vars(endpoint).values() for limit in _limits_on(function)]
    limits = getattr(endpoint, "__quotalock_limits__", ())
    return [limit for limit in limits if isinstance(limit, Limit)] if isinstance(limits, list) else []


async def _refuse(request: Request, refused: Exception) -> Response:
    if isinstance(refused, RateLimitExceeded):
        return Response(refused.answer.body, refused.answer.status, refused.answer.refusal_headers)
    if isinstance(refused, BadRequest):
        return Response(refused.bad.body, refused.bad.status, refused.bad.headers)
    raise refused


async def _refuse_handshake(socket: WebSocket, refused: Exception) -> None:
    if not isinstance(refused, _RefusedHandshake):
        raise refused
    why = refused.refused
    if isinstance(why, RateLimitExceeded):
        fields, body = why.answer.refusal_headers, why.answer.body
    else:
        fields, body = why.bad.headers, why.bad.body
    # Starlette before 0.37 lets no such answer pass.
    scope = socket.scope if hasattr(socket, "send_denial_response") else {**socket.scope, "extensions": {}}
    await asgi.refuse(scope, socket.send, why.status_code, asgi.raw(fields), body)


async def _awaited(value: Any) -> Any:  # noqa: ANN401
    return await value if inspect.isawaitable(value) else value
