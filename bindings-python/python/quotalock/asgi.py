"""Limits every request of an ASGI application.

    from quotalock.asgi import RateLimitMiddleware

    app = RateLimitMiddleware(app, "100/minute")

A refused request gets 429 with `Retry-After` and a problem body (RFC 9457), 503 if Redis is away and the client's
`on_error` is `closed`, and 400 for a request from which `key` can make no key. Each answer has the fields `RateLimit`
and `RateLimit-Policy`. The lifespan passes, and so do WebSockets unless `websockets` is true.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from ._asgi_routes import place_in
from ._names import application, declared_in, generated_name, given_name, kind_of, packaged, site
from ._web import EXPOSE, Answer, Proxies, checked_client, checked_cost, checked_function, checked_policy
from ._whom import BadKey, Key, Whom, awaited_key
from .aio import Client

__all__ = ["RateLimitMiddleware"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class RateLimitMiddleware:
    """An ASGI application around another, which decides before it.

    `policy` is text, or a list of texts. `client` is a `quotalock.aio.Client` (default: that of the environment). `key`
    makes a key of the scope, and may be awaited (default: the client's address, which `trusted_proxies` may report in
    `forwarded_header`). `exempt` says of a scope that it is not limited. `name` is that of the limiter (default: a
    generated one, of the application, its mount, the kind of key and the policy). A request that passes limits of one
    name twice is charged once. `prefetch` is how many permits it takes from Redis at once at most. With `websockets`
    handshakes are limited too. With `expose_headers` scripts of other origins may read the header fields.
    """

    def __init__(
        self,
        app: App,
        policy: str | list[str],
        *,
        client: Client | None = None,
        key: Callable[[Any], Key | Awaitable[Key]] | None = None,
        name: str | None = None,
        cost: int = 1,
        prefetch: int | None = None,
        exempt: Callable[[Any], bool] | None = None,
        trusted_proxies: Iterable[str] = (),
        forwarded_header: str = "X-Forwarded-For",
        legacy_headers: bool = False,
        websockets: bool = False,
        expose_headers: bool = False,
    ) -> None:
        self._app = app
        self._policy = checked_policy(policy, "RateLimitMiddleware", prefetch)
        self._client = checked_client(client, Client, "RateLimitMiddleware")
        self._prefetch = prefetch
        self._proxies = Proxies(trusted_proxies, forwarded_header)
        self._key = checked_function(key, "key", "RateLimitMiddleware")
        self._cost = checked_cost(cost, "RateLimitMiddleware")
        self._exempt = checked_function(exempt, "exempt", "RateLimitMiddleware")
        self._legacy = legacy_headers
        self._expose = expose_headers
        self._kinds = ("http", "websocket") if websockets else ("http",)
        made = site()
        self._name = given_name(name, "RateLimitMiddleware")
        declared_in(repr(self._client)).add(self._name, self._policy, made)
        # What a framework makes, it makes when the first request comes: then the mount distinguishes it, and no number.
        self._application = application(f"{made.module}:middleware") if made.module and not name else ""
        self._limiters: dict[str, Any] = {}

    @property
    def routes(self) -> Any:  # noqa: ANN401
        """Those of the application, if it has routes."""
        return getattr(self._app, "routes", [])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] not in self._kinds:
            await self._app(scope, receive, send)
            return
        request = self.request(scope)
        if self._exempt and self._exempt(request):
            await self._app(scope, receive, send)
            return
        try:
            key = address(scope, self._proxies) if self._key is None else await awaited_key(self._key, request)
        except BadKey as bad:
            await refuse(scope, send, bad.status, raw(bad.headers), bad.body)
            return
        limiter = self._limiter(scope)
        if not charges_first(scope, limiter.name, limiter.policy, key):
            await self._app(scope, receive, send)
            return
        answer = Answer(await limiter.consume(key, self._cost), self._legacy, self._expose)
        if answer.refused:
            await refuse(scope, send, answer.status, raw(answer.refusal_headers), answer.body)
            return
        # That of a limit of the endpoint says more.
        state = scope.setdefault("state", {})
        await self._app(scope, receive, with_headers(send, lambda: state.get("quotalock", answer)))

    def request(self, scope: Scope) -> Any:  # noqa: ANN401
        """What `key` and `exempt` get: the scope."""
        return scope

    def _limiter(self, scope: Scope) -> Any:  # noqa: ANN401
        name = self._name
        if name is None:
            place = place_in(scope)
            name = generated_name(
                application=self._application or _title(scope.get("app")),
                place=place.path if place else "all",
                kind="middleware",
                key=kind_of(self._key),
                policy=self._policy,
            )
        limiter = self._limiters.get(name)
        if limiter is None:
            limiter = self._limiters[name] = packaged(self._client.limiter(name, self._policy, prefetch=self._prefetch))
        return limiter


def _title(app: Any) -> str:  # noqa: ANN401
    """What distinguishes an application whose middleware a framework makes: what `install` calls it, or its title."""
    installed = getattr(getattr(app, "state", None), "quotalock", None)
    return str(getattr(installed, "application", "") or getattr(app, "title", ""))


def charges_first(scope: Scope, name: str, policy: str, key: Whom) -> bool:
    """Whether a request passes a limit for the first time: one that it passes twice is charged once."""
    charged: set[tuple[str, str, Whom]] = scope.setdefault("quotalock.charged", set())
    charge = (name, policy, key)
    first = charge not in charged
    charged.add(charge)
    return first


def address(scope: Scope, proxies: Proxies) -> str:
    """The address of the client of a scope."""
    peer = scope.get("client")
    wanted = proxies.header.encode()
    forwarded = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == wanted]
    return proxies.address(peer[0] if peer else None, forwarded)


async def refuse(scope: Scope, send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    """Answers a request without the application. A handshake of a WebSocket gets the same answer if the server can send
    one, else it is closed with 1008 before it is accepted, which servers answer with 403."""
    prefix = "http"
    if scope["type"] == "websocket":
        if "websocket.http.response" not in (scope.get("extensions") or {}):
            await send(
                {"type": "websocket.close", "code": 1008, "reason": "rate limited" if status != 400 else "bad key"}
            )
            return
        prefix = "websocket.http"
    await send({"type": f"{prefix}.response.start", "status": status, "headers": headers})
    await send({"type": f"{prefix}.response.body", "body": body})


def raw(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    """Header fields as ASGI sends them."""
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


def with_headers(send: Send, answer: Callable[[], Answer | None]) -> Send:
    """A `send` that adds header fields to the answer, as they are when it starts."""

    # Not a coroutine function, which would only await another for each piece of a body.
    def sending(message: Message) -> Awaitable[None]:
        if message["type"] in ("http.response.start", "websocket.accept") and (told := answer()) is not None:
            message = {**message, "headers": with_fields(list(message.get("headers") or ()), told)}
        return send(message)

    return sending


def with_fields(fields: list[tuple[bytes, bytes]], answer: Answer) -> list[tuple[bytes, bytes]]:
    """Header fields with those of an answer, as far as they are not there yet."""
    names = {name.lower() for name, _ in fields}
    fields = [*fields, *(field for field in raw(answer.headers) if field[0] not in names)]
    field = EXPOSE.lower().encode()
    there = b", ".join(value for name, value in fields if name.lower() == field)
    exposing = answer.exposing(there.decode("latin-1"))
    if not exposing:
        return fields
    return [(name, value) for name, value in fields if name.lower() != field] + raw({EXPOSE: exposing})
