"""Limits every request of an ASGI application.

    from quotalock.asgi import RateLimitMiddleware

    app = RateLimitMiddleware(app, "100/minute")

A refused request gets 429 with `Retry-After` and a problem body (RFC 9457), 503 if Redis is away and the client's
`on_error` is `closed`. Each answer has the fields `RateLimit` and `RateLimit-Policy`. WebSockets and the lifespan pass.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from ._web import (
    Answer,
    Key,
    Proxies,
    awaited_key,
    checked_client,
    checked_cost,
    checked_function,
    checked_policy,
)
from .aio import Client

__all__ = ["RateLimitMiddleware"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class RateLimitMiddleware:
    """An ASGI application around another, which decides before it.

    `policy` is text, or a list of texts. `client` is a `quotalock.aio.Client`; without one it is that of the
    environment. `key` makes a key of the scope, and may be awaited; without one it is the client's address, which
    `trusted_proxies` may tell in `forwarded_header`. `exempt` says of a scope that it is not limited. `name` is that of
    the limiter, `lease` how many permits it takes from Redis at once at most.
    """

    def __init__(
        self,
        app: App,
        policy: str | list[str],
        *,
        client: Client | None = None,
        key: Callable[[Any], Key | Awaitable[Key]] | None = None,
        name: str = "http",
        cost: int = 1,
        lease: int | None = None,
        exempt: Callable[[Any], bool] | None = None,
        trusted_proxies: Iterable[str] = (),
        forwarded_header: str = "X-Forwarded-For",
        legacy_headers: bool = False,
    ) -> None:
        self._app = app
        policy = checked_policy(policy, "RateLimitMiddleware", lease)
        self._limiter = checked_client(client, Client, "RateLimitMiddleware").limiter(name, policy, lease=lease)
        self._proxies = Proxies(trusted_proxies, forwarded_header)
        self._key = checked_function(key, "key", "RateLimitMiddleware")
        self._cost = checked_cost(cost, "RateLimitMiddleware")
        self._exempt = checked_function(exempt, "exempt", "RateLimitMiddleware")
        self._legacy = legacy_headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = self.request(scope)
        if self._exempt and self._exempt(request):
            await self._app(scope, receive, send)
            return
        key = address(scope, self._proxies) if self._key is None else await awaited_key(self._key, request)
        answer = Answer(await self._limiter.consume(key, self._cost), self._legacy)
        if answer.refused:
            headers = raw(answer.refusal_headers)
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            await send({"type": "http.response.body", "body": answer.body})
            return
        # That of a limit of the endpoint says more.
        state = scope.setdefault("state", {})
        await self._app(scope, receive, with_headers(send, lambda: state.get("quotalock", answer).headers))

    def request(self, scope: Scope) -> Any:  # noqa: ANN401
        """What `key` and `exempt` get: the scope."""
        return scope


def address(scope: Scope, proxies: Proxies) -> str:
    """The address of the client of a scope."""
    peer = scope.get("client")
    wanted = proxies.header.encode()
    forwarded = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == wanted]
    return proxies.address(peer[0] if peer else None, forwarded)


def raw(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    """Header fields as ASGI sends them."""
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


def with_headers(send: Send, headers: Callable[[], dict[str, str]]) -> Send:
    """A `send` that adds header fields to the answer, as they are when it starts."""

    # Not a coroutine function, which would only await another for each piece of a body.
    def sending(message: Message) -> Awaitable[None]:
        if message["type"] == "http.response.start":
            fields = list(message.get("headers", ()))
            there = {name.lower() for name, _ in fields}
            fields += [field for field in raw(headers()) if field[0] not in there]
            message = {**message, "headers": fields}
        return send(message)

    return sending
