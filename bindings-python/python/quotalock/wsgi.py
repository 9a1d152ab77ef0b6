"""Limits every request of a WSGI application.

    from quotalock.wsgi import RateLimitMiddleware

    application = RateLimitMiddleware(application, "100/minute")

A refused request gets 429 with `Retry-After` and a problem body (RFC 9457), 503 if Redis is away and the client's
`on_error` is `closed`. Each answer has the fields `RateLimit` and `RateLimit-Policy`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ._native import Client
from ._web import Answer, Key, Proxies, asked_key, checked_client, checked_cost, checked_function, checked_policy

__all__ = ["RateLimitMiddleware"]

WSGIEnvironment = dict[str, Any]
StartResponse = Callable[..., Callable[[bytes], object]]
WSGIApplication = Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]]


class RateLimitMiddleware:
    """A WSGI application around another, which decides before it.

    `policy` is text, or a list of texts. `client` is a `quotalock.Client`; without one it is that of the environment.
    `key` makes a key of the environ; without one it is the client's address, which `trusted_proxies` may tell in
    `forwarded_header`. `exempt` says of an environ that it is not limited. `name` is that of the limiter, `lease` how
    many permits it takes from Redis at once at most.
    """

    def __init__(
        self,
        app: WSGIApplication,
        policy: str | list[str],
        *,
        client: Client | None = None,
        key: Callable[[WSGIEnvironment], Key] | None = None,
        name: str = "http",
        cost: int = 1,
        lease: int | None = None,
        exempt: Callable[[WSGIEnvironment], bool] | None = None,
        trusted_proxies: Iterable[str] = (),
        forwarded_header: str = "X-Forwarded-For",
        legacy_headers: bool = False,
    ) -> None:
        self._app = app
        policy = checked_policy(policy, "RateLimitMiddleware", lease)
        self._limiter = checked_client(client, Client, "RateLimitMiddleware").limiter(name, policy, lease=lease)
        self._proxies = Proxies(trusted_proxies, forwarded_header)
        self._forwarded = f"HTTP_{forwarded_header.upper().replace('-', '_')}"
        self._key = checked_function(key, "key", "RateLimitMiddleware") or self._address
        self._cost = checked_cost(cost, "RateLimitMiddleware")
        self._exempt = checked_function(exempt, "exempt", "RateLimitMiddleware")
        self._legacy = legacy_headers

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answers a request."""
        if self._exempt and self._exempt(environ):
            return self._app(environ, start_response)
        key = asked_key(self._key, environ)
        try:
            answer = Answer(self._limiter.consume(key, self._cost), self._legacy)
        except OSError as away:
            # Servers take an OSError for a client that went away, and answer nothing.
            raise RuntimeError(str(away)) from away
        if answer.refused:
            start_response(f"{answer.status} {answer.reason}", list(answer.refusal_headers.items()))
            return [answer.body]

        def start(status: str, headers: list[tuple[str, str]], *error: Any) -> Callable[[bytes], object]:
            return start_response(status, [*headers, *answer.headers.items()], *error)

        return self._app(environ, start)

    def _address(self, environ: WSGIEnvironment) -> str:
        forwarded = environ.get(self._forwarded)
        return self._proxies.address(environ.get("REMOTE_ADDR"), [forwarded] if forwarded else [])
