"""Limits every request of a WSGI application.

    from quotalock.wsgi import RateLimitMiddleware

    application = RateLimitMiddleware(application, "100/minute")

A refused request gets 429 with `Retry-After` and a problem body (RFC 9457), 503 if Redis is away and the client's
`on_error` is `closed`, and 400 if `key` can make no key of it. Each answer has the fields `RateLimit` and
`RateLimit-Policy`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ._names import application, declared_in, generated_name, given_name, kind_of, packaged, site
from ._native import Client
from ._web import EXPOSE, Answer, Proxies, checked_client, checked_cost, checked_function, checked_policy
from ._whom import BadKey, Key, asked_key

__all__ = ["RateLimitMiddleware"]

WSGIEnvironment = dict[str, Any]
StartResponse = Callable[..., Callable[[bytes], object]]
WSGIApplication = Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]]


class RateLimitMiddleware:
    """A WSGI application around another, which decides before it.

    `policy` is text, or a list of texts. `client` is a `quotalock.Client` (default: that of the environment). `key`
    makes a key of the environ (default: the client's address, which `trusted_proxies` may report in
    `forwarded_header`). `exempt` says of an environ that it is not limited. `name` is that of the limiter (default: a
    generated one, of the module that makes this, the kind of key and the policy). A request that passes limits of one
    name twice is charged once. `prefetch` is how many permits it takes from Redis at once at most. With
    `expose_headers` scripts of other origins may read the header fields.
    """

    def __init__(
        self,
        app: WSGIApplication,
        policy: str | list[str],
        *,
        client: Client | None = None,
        key: Callable[[WSGIEnvironment], Key] | None = None,
        name: str | None = None,
        cost: int = 1,
        prefetch: int | None = None,
        exempt: Callable[[WSGIEnvironment], bool] | None = None,
        trusted_proxies: Iterable[str] = (),
        forwarded_header: str = "X-Forwarded-For",
        legacy_headers: bool = False,
        expose_headers: bool = False,
    ) -> None:
        self._app = app
        policy = checked_policy(policy, "RateLimitMiddleware", prefetch)
        client = checked_client(client, Client, "RateLimitMiddleware")
        made = site()
        declared_in(repr(client)).add(given_name(name, "RateLimitMiddleware"), policy, made)
        self._limiter = packaged(
            client.limiter(name or _generated(made.module, key, policy), policy, prefetch=prefetch)
        )
        self._proxies = Proxies(trusted_proxies, forwarded_header)
        self._forwarded = f"HTTP_{forwarded_header.upper().replace('-', '_')}"
        self._key = checked_function(key, "key", "RateLimitMiddleware")
        self._cost = checked_cost(cost, "RateLimitMiddleware")
        self._exempt = checked_function(exempt, "exempt", "RateLimitMiddleware")
        self._legacy = legacy_headers
        self._expose = expose_headers

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answers a request."""
        if self._exempt and self._exempt(environ):
            return self._app(environ, start_response)
        try:
            key = self._address(environ) if self._key is None else asked_key(self._key, environ)
        except BadKey as bad:
            start_response("400 Bad Request", list(bad.headers.items()))
            return [bad.body]
        charged = environ.setdefault("quotalock.charged", set())
        charge = (self._limiter.name, self._limiter.policy, key)
        if charge in charged:
            return self._app(environ, start_response)
        charged.add(charge)
        try:
            answer = Answer(self._limiter.consume(key, self._cost), self._legacy, self._expose)
        except OSError as away:
            # Servers take an OSError for a client that went away, and answer nothing.
            raise RuntimeError(str(away)) from away
        if answer.refused:
            start_response(f"{answer.status} {answer.reason}", list(answer.refusal_headers.items()))
            return [answer.body]

        def start(status: str, headers: list[tuple[str, str]], *error: Any) -> Callable[[bytes], object]:
            return start_response(status, _with_fields(headers, answer), *error)

        return self._app(environ, start)

    def _address(self, environ: WSGIEnvironment) -> str:
        forwarded = environ.get(self._forwarded)
        return self._proxies.address(environ.get("REMOTE_ADDR"), [forwarded] if forwarded else [])


def _generated(module: str, key: object, policy: str) -> str:
    return generated_name(
        application=application(f"{module}:middleware"), place="all", kind="middleware", key=kind_of(key), policy=policy
    )


def _with_fields(headers: list[tuple[str, str]], answer: Answer) -> list[tuple[str, str]]:
    there = {name.lower() for name, _ in headers}
    headers = [*headers, *(field for field in answer.headers.items() if field[0].lower() not in there)]
    exposing = answer.exposing(", ".join(value for name, value in headers if name.lower() == EXPOSE.lower()))
    if not exposing:
        return headers
    return [field for field in headers if field[0].lower() != EXPOSE.lower()] + [(EXPOSE, exposing)]
