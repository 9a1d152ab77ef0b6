"""Limits requests of a Flask application, with the names of flask-limiter.

    from flask import Flask
    from quotalock.flask import Limiter, get_remote_address

    app = Flask(__name__)
    limiter = Limiter(get_remote_address, app=app, default_limits=["200 per day", "50 per hour"])

    @app.route("/login")
    @limiter.limit("5/minute")
    def login(): ...

All limits of a request are decided in one call: all are charged or none. A refused request gets 429 with `Retry-After`
and a problem body (RFC 9457), 503 if Redis is away and `on_error` is `closed`. Each answer has the fields `RateLimit`
and `RateLimit-Policy`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar, cast

from ._require import require

require("flask", "2.2", "flask")

from flask import Blueprint, Flask, Response, current_app, g, request

from ._errors import InvalidArgument
from ._flask_limit import Limit, Limits, methods_of
from ._flask_refused import RateLimitExceeded, TemporarilyReduced
from ._native import Client
from ._web import Answer, Key, Limiters, Proxies, Whom, asked_key, checked_client, checked_function, name_of

__all__ = ["Limiter", "RateLimitExceeded", "TemporarilyReduced", "get_remote_address"]

Decorated = TypeVar("Decorated", bound="Callable[..., Any] | Blueprint")
KeyFunction = Callable[[], Key]


def get_remote_address() -> str:
    """The address of whoever connected. Behind proxies give a `Limiter` its `trusted_proxies`, and no key function."""
    return _NO_PROXIES.address(request.remote_addr, [])


# Whoever connected is the client.
_NO_PROXIES = Proxies()


class Limiter:
    """The limits of an application.

    `key_func` names whom a request counts for; without one it is the client's address, which `trusted_proxies` may tell
    in `forwarded_header`. `default_limits` hold for each route that has no limits of its own, `application_limits` for
    all routes together. `storage_uri`, `key_prefix`, `timeout` and `on_error` are `url`, `prefix`, `timeout` and
    `on_error` of a `quotalock.Client`, unless a `client` is given. On a cluster, several limits of one request need a
    `scope`. Without `enforce` every request passes, and the decision says which would not have.
    """

    def __init__(
        self,
        key_func: KeyFunction | None = None,
        *,
        app: Flask | None = None,
        default_limits: Limits = (),
        application_limits: Limits = (),
        default_limits_per_method: bool = False,
        default_limits_exempt_when: Callable[[], bool] | None = None,
        default_limits_cost: int | Callable[[], int] = 1,
        client: Client | None = None,
        storage_uri: str | None = None,
        key_prefix: str = "ql",
        timeout: float = 0.5,
        on_error: Literal["raise", "open", "closed", "local"] = "raise",
        headers_enabled: bool = True,
        legacy_headers: bool = False,
        trusted_proxies: Iterable[str] = (),
        forwarded_header: str = "X-Forwarded-For",
        scope: str | None = None,
        enforce: bool = True,
        enabled: bool = True,
    ) -> None:
        # It can be called, so as a key function nobody would notice it, and nothing would be limited.
        if isinstance(key_func, Flask):
            raise InvalidArgument("Limiter: give the application by its name: Limiter(app=app)")
        self.enabled = enabled
        made = client or Client(storage_uri, key_prefix, timeout, on_error)
        self.client = checked_client(made, Client, "Limiter")
        self._limiters = Limiters(self.client, scope, enforce)
        self._proxies = Proxies(trusted_proxies, forwarded_header)
        self._key_func = checked_function(key_func, "key_func", "Limiter") or self._address
        self._headers_enabled = headers_enabled
        self._legacy = legacy_headers
        self._filters: list[Callable[[], bool]] = []
        self._blueprints: dict[str, list[Limit]] = {}
        self._exempt: set[str] = set()
        self._defaults = Limit.several(
            default_limits,
            "default_limits",
            cost=default_limits_cost,
            per_method=default_limits_per_method,
            exempt_when=default_limits_exempt_when,
        )
        self._application = Limit.several(application_limits, "application_limits", scope="application")
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Limits the requests of an application."""
        app.extensions["quotalock"] = self
        app.before_request(self._before)
        app.after_request(self._after)

    def limit(
        self,
        limit_value: str | list[str] | Callable[[], str],
        *,
        key_func: KeyFunction | None = None,
        per_method: bool = False,
        methods: Iterable[str] | None = None,
        error_message: str | None = None,
        exempt_when: Callable[[], bool] | None = None,
        override_defaults: bool = True,
        cost: int | Callable[[], int] = 1,
        scope: str | None = None,
        lease: int | None = None,
    ) -> Callable[[Decorated], Decorated]:
        """Limits a view, a blueprint or a function that is called in a request. `limit_value` may be a function that
        tells the policy of a request. `override_defaults` leaves the default limits out. With a `lease` as many permits
        at most are taken from Redis at once, and spent without a call where this limit decides alone."""
        limit = Limit(
            limit_value,
            "limit",
            key_func=key_func,
            per_method=per_method,
            methods=methods_of(methods),
            error_message=error_message,
            exempt_when=exempt_when,
            override_defaults=override_defaults,
            cost=cost,
            scope=scope,
            lease=lease,
        )
        return functools.partial(self._decorated, limit)

    def shared_limit(
        self,
        limit_value: str | list[str] | Callable[[], str],
        scope: str,
        *,
        key_func: KeyFunction | None = None,
        error_message: str | None = None,
        exempt_when: Callable[[], bool] | None = None,
        override_defaults: bool = True,
        cost: int | Callable[[], int] = 1,
        lease: int | None = None,
    ) -> Callable[[Decorated], Decorated]:
        """Limits whatever has a shared limit of this `scope`, all of it together; see `limit`."""
        return self.limit(
            limit_value,
            key_func=key_func,
            error_message=error_message,
            exempt_when=exempt_when,
            override_defaults=override_defaults,
            cost=cost,
            scope=scope,
            lease=lease,
        )

    def exempt(self, obj: Decorated) -> Decorated:
        """Leaves a view or a blueprint without limits."""
        if isinstance(obj, Blueprint):
            self._exempt.add(obj.name)
        else:
            obj.__dict__["__quotalock_exempt__"] = True
        return obj

    def request_filter(self, function: Callable[[], bool]) -> Callable[[], bool]:
        """Adds a function which says of a request that it is not limited."""
        self._filters.append(function)
        return function

    @property
    def current_answer(self) -> Answer | None:
        """What was decided last about the current request."""
        return cast("Answer | None", g.get("_quotalock_answer"))

    def _decorated(self, limit: Limit, obj: Decorated) -> Decorated:
        if isinstance(obj, Blueprint):
            self._blueprints.setdefault(obj.name, []).append(limit)
            return obj
        limits: list[Limit] = obj.__dict__.setdefault("__quotalock_limits__", [])
        limits.insert(0, limit)
        if len(limits) > 1:
            return obj

        @functools.wraps(obj)
        def limited(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            # Those of the view were decided about before.
            self._decide([each for each in limits if each not in g.get("_quotalock_done", ())], name_of(obj))
            return current_app.ensure_sync(obj)(*arguments, **named)

        return cast("Decorated", limited)

    def _before(self) -> None:
        endpoint = request.endpoint
        if endpoint is None or endpoint == "static" or endpoint.endswith(".static"):
            return
        view = current_app.view_functions.get(endpoint)
        if getattr(view, "__quotalock_exempt__", False) or self._exempt.intersection(request.blueprints):
            return
        own = list(getattr(view, "__quotalock_limits__", ()))
        own += [limit for blueprint in request.blueprints for limit in self._blueprints.get(blueprint, ())]
        g._quotalock_done = own
        override = any(limit.override_defaults for limit in own)
        self._decide([*self._application, *(() if override else self._defaults), *own], endpoint)

    def _decide(self, limits: list[Limit], place: str) -> None:
        if not self.enabled or any(says() for says in self._filters):
            return
        charges: dict[tuple[str, Whom], tuple[Any, Whom, int]] = {}
        messages: dict[tuple[str, Whom], str | None] = {}
        for limit in limits:
            if not limit.holds(request.method):
                continue
            key_func = limit.key_func or self._key_func
            key = asked_key(key_func)
            name, policy = limit.named(place, request.method), limit.policy()
            if (name, key) in charges:
                name = f"{name}:{policy}"
            charges.setdefault((name, key), (self._limiters.get(name, policy, limit.lease), key, limit.price()))
            messages.setdefault((name, key), limit.error_message)
        if not charges:
            return
        if len(charges) == 1:
            limiter, key, cost = next(iter(charges.values()))
            answer = Answer(limiter.consume(key, cost), self._legacy)
        else:
            answer = Answer(self.client.consume_all(charges.values()), self._legacy)
        g._quotalock_answer = answer
        if answer.refused:
            refusing = zip(messages.values(), getattr(answer.decision, "decisions", (answer.decision,)), strict=True)
            message = next((message for message, one in refusing if not one.allowed), None)
            raise (TemporarilyReduced(answer) if answer.status == 503 else RateLimitExceeded(answer, message))

    def _after(self, response: Response) -> Response:
        answer = self.current_answer
        if answer is not None and (self._headers_enabled or answer.refused):
            for name, value in answer.headers.items():
                response.headers.setdefault(name, value)
        return response

    def _address(self) -> str:
        return self._proxies.address(request.remote_addr, request.headers.getlist(self._proxies.header))
