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
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from . import asgi
from ._web import (
    Answer,
    Key,
    Limiters,
    Proxies,
    Whom,
    awaited_key,
    checked_client,
    checked_cost,
    checked_function,
    checked_policy,
    name_of,
)
from .aio import Client

__all__ = ["Limit", "RateLimitExceeded", "RateLimitMiddleware", "install", "limit"]

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
KeyFunction = Callable[[Any], Key | Awaitable[Key]]


class RateLimitMiddleware(asgi.RateLimitMiddleware):
    """As that of `quotalock.asgi`; `key` and `exempt` get a `Request`."""

    def request(self, scope: asgi.Scope) -> Request:
        """What `key` and `exempt` get."""
        return Request(scope)


class RateLimitExceeded(HTTPException):
    """A request was refused; `answer` has the decision, the header fields and the problem body."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status, answer.problem["detail"], answer.headers)
        self.answer = answer


class _Installed:
    """What the limits of an application need."""

    def __init__(self, client: Client, proxies: Proxies, legacy: bool, scope: str | None, enforce: bool) -> None:
        self.client = client
        self.limiters = Limiters(client, scope, enforce)
        self.proxies = proxies
        self.legacy = legacy


def install(
    app: Starlette,
    client: Client | None = None,
    *,
    trusted_proxies: Iterable[str] = (),
    forwarded_header: str = "X-Forwarded-For",
    legacy_headers: bool = False,
    scope: str | None = None,
    enforce: bool = True,
) -> None:
    """Prepares an application for limits of endpoints: which client asks, and how a refusal looks.

    `client` is a `quotalock.aio.Client`; without one it is that of the environment. `trusted_proxies` may tell a
    client's address in `forwarded_header`. On a cluster, several limits of one request need a `scope`. Without
    `enforce` every request passes, and the decision says which would not have.
    """
    client = checked_client(client, Client, "install")
    proxies = Proxies(trusted_proxies, forwarded_header)
    app.state.quotalock = _Installed(client, proxies, legacy_headers, scope, enforce)
    app.add_exception_handler(RateLimitExceeded, _refuse)
    app.add_middleware(_Headers)


class Limit:
    """A limit of requests: `policy` for each `key`; without one for each client's address.

    Limits of one `name` share what they count. Without one it is the path of the route, or the function. `key` gets the
    request, and may be awaited; so may `exempt_when`, which says of a request that it is not limited. `cost` is what a
    request counts, `lease` how many permits are taken from Redis at once at most, and spent without a call where this
    limit decides alone.
    """

    def __init__(
        self,
        policy: str | list[str],
        *,
        key: KeyFunction | None = None,
        name: str | None = None,
        cost: int = 1,
        exempt_when: Callable[[Any], bool | Awaitable[bool]] | None = None,
        lease: int | None = None,
    ) -> None:
        self.policy = checked_policy(policy, "Limit", lease)
        self.lease = lease
        self.key = checked_function(key, "key", "Limit")
        self.name = name
        self.cost = checked_cost(cost, "Limit")
        self.exempt_when = checked_function(exempt_when, "exempt_when", "Limit")

    async def charge(self, request: HTTPConnection, installed: _Installed) -> tuple[Any, Whom, int] | None:
        """Who is charged what for a request; None if it is not limited."""
        if self.exempt_when is not None and await _awaited(self.exempt_when(request)):
            return None
        limiter = installed.limiters.get(self.name or _route(request), self.policy, self.lease)
        if self.key is None:
            return limiter, asgi.address(request.scope, installed.proxies), self.cost
        return limiter, await awaited_key(self.key, request), self.cost


async def decide(request: HTTPConnection, limits: Iterable[Limit]) -> None:
    """Charges all limits of a request or none, in one call; raises `RateLimitExceeded` if one refuses."""
    installed = getattr(request.app.state, "quotalock", None)
    if not isinstance(installed, _Installed):
        raise RuntimeError("a limit needs quotalock.starlette.install(app), which says who is asked")
    charges = [charge for each in limits if (charge := await each.charge(request, installed))]
    if not charges:
        return
    if len(charges) == 1:
        limiter, key, cost = charges[0]
        answer = Answer(await limiter.consume(key, cost), installed.legacy)
    else:
        answer = Answer(await installed.client.consume_all(charges), installed.legacy)
    request.state.quotalock = answer
    if answer.refused:
        raise RateLimitExceeded(answer)


def limit(
    policy: str | list[str],
    *,
    key: KeyFunction | None = None,
    name: str | None = None,
    cost: int = 1,
    exempt_when: Callable[[Any], bool | Awaitable[bool]] | None = None,
    lease: int | None = None,
) -> Callable[[Endpoint], Endpoint]:
    """Limits an endpoint; see `Limit`. Several of them decide together."""
    added = Limit(policy, key=key, name=name, cost=cost, exempt_when=exempt_when, lease=lease)

    def decorate(endpoint: Endpoint) -> Endpoint:
        added.name = name or name_of(endpoint)
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
            await decide(request, limits)
            return await endpoint(*arguments, **named)

        limited.__quotalock_limits__ = limits  # type: ignore[attr-defined]
        return limited  # type: ignore[return-value]

    return decorate


class _Headers:
    """Adds what was decided to whatever answer an endpoint makes."""

    def __init__(self, app: asgi.App) -> None:
        self._app = app

    async def __call__(self, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        if scope["type"] == "http":
            state = scope.setdefault("state", {})
            send = asgi.with_headers(send, lambda: state["quotalock"].headers if "quotalock" in state else {})
        await self._app(scope, receive, send)


async def _refuse(request: Request, refused: Exception) -> Response:
    if not isinstance(refused, RateLimitExceeded):
        raise refused
    answer = refused.answer
    return Response(answer.body, answer.status, answer.refusal_headers)


def _route(request: HTTPConnection) -> str:
    # Never the path of the request: it may have an id in it, and each would have a limit of its own.
    return getattr(request.scope.get("route"), "path", None) or name_of(request.scope.get("endpoint"))


async def _awaited(value: Any) -> Any:  # noqa: ANN401
    return await value if inspect.isawaitable(value) else value
