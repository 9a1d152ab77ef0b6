"""Limits requests of a Flask application, with the names of flask-limiter.

    from flask import Flask
    from quotalock.flask import Limiter, get_remote_address

    app = Flask(__name__)
    limiter = Limiter(get_remote_address, app=app, default_limits=["200 per day", "50 per hour"])

    @app.route("/login")
    @limiter.limit("5/minute")
    def login(): ...

All limits of a request are decided in one call: all are charged or none. A refused request gets 429 with `Retry-After`
and a problem body (RFC 9457), 503 if Redis is away and `on_error` is `closed`, and 400 if a key function can make no
key of it. Each answer has the fields `RateLimit` and `RateLimit-Policy`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar, cast

from ._require import require

require("flask", "2.2", "flask")

from flask import Blueprint, Flask, Response, current_app, g, request
from werkzeug.routing import RequestRedirect

from ._errors import InvalidArgument
from ._flask_limit import Limit, Limits, Place, methods_of
from ._flask_refused import NoKey, RateLimitExceeded, Refused, TemporarilyReduced
from ._names import application, declared_in, holds_for, kind_of, place_of
from ._native import Client
from ._web import EXPOSE, Answer, Charge, Limiters, Proxies, checked_client, checked_function, combined
from ._whom import BadKey, Key, Whom, asked_key

__all__ = ["Limiter", "NoKey", "RateLimitExceeded", "TemporarilyReduced", "get_remote_address"]

Decorated = TypeVar("Decorated", bound="Callable[..., Any] | Blueprint")
KeyFunction = Callable[[], Key]


def get_remote_address() -> str:
    """The address at the other end of the socket. Behind proxies give a `Limiter` its `trusted_proxies` instead."""
    return _NO_PROXIES.address(request.remote_addr, [])


# Whoever connected is the client.
_NO_PROXIES = Proxies()


class Limiter:
    """The limits of an application.

    `key_func` returns the key of a request (default: the client's address, which `trusted_proxies` may report in
    `forwarded_header`). `default_limits` hold for each request that no limit of its own view or blueprint holds for,
    `application_limits` for all views together, `not_found_limits` for all requests together that no route takes (404
    and 405). `storage_uri`, `key_prefix`, `timeout` and `on_error` are `url`, `prefix`, `timeout` and `on_error` of a
    `quotalock.Client`, unless a `client` is given. With `expose_headers` scripts of other origins may read the header
    fields. On a cluster, several limits of one request need a `scope`. Without `enforce` every request passes, and the
    decision says which would not have.
    """

    def __init__(
        self,
        key_func: KeyFunction | None = None,
        *,
        app: Flask | None = None,
        default_limits: Limits = (),
        application_limits: Limits = (),
        not_found_limits: Limits = (),
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
        expose_headers: bool = False,
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
        self._key_func: KeyFunction | None = checked_function(key_func, "key_func", "Limiter")
        self._key_kind = kind_of(self._key_func)
        self._headers_enabled = headers_enabled
        self._legacy = legacy_headers
        self._expose = expose_headers
        self._declared = declared_in(repr(self.client))
        self._filters: list[Callable[[], bool]] = []
        # By themselves, not by their names: one may be registered under another name, or within another.
        self._blueprints: dict[Any, list[Limit]] = {}
        self._exempt: set[Any] = set()
        self._defaults = Limit.several(
            default_limits,
            "default_limits",
            cost=default_limits_cost,
            per_method=default_limits_per_method,
            exempt_when=default_limits_exempt_when,
        )
        self._application = Limit.several(application_limits, "application_limits")
        self._not_found = Limit.several(not_found_limits, "not_found_limits")
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Limits the requests of an application."""
        app.extensions["quotalock"] = self
        names: dict[Limiter, str] = app.extensions.setdefault("quotalock.applications", {})
        if self in names:
            return
        names[self] = application(app.name)
        app.before_request(self._before)
        app.after_request(self._after)
        handle = app.handle_user_exception

        def handle_user_exception(error: Exception) -> Any:  # noqa: ANN401
            answered = handle(error)
            return _with_status(answered, error) if isinstance(error, (Refused, NoKey)) else answered

        app.handle_user_exception = handle_user_exception  # type: ignore[method-assign, assignment]

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
        prefetch: int | None = None,
    ) -> Callable[[Decorated], Decorated]:
        """Limits a view, a blueprint or a function that is called in a request. `limit_value` may be a function that
        returns the policy of a request. `methods` are those that it is for (default: all; GET includes HEAD).
        `override_defaults` leaves the default limits out for these methods. Limits of one `scope` share what they count
        (default: a generated name, of the application, the view, the methods, the kind of key and the policy). With
        `prefetch` as many permits at most are taken from Redis at once, and spent without a call where this limit
        decides alone."""
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
            prefetch=prefetch,
            owner=self,
        )
        self._declared.add(None if per_method else scope, limit.fixed, limit.site)
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
        prefetch: int | None = None,
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
            prefetch=prefetch,
        )

    def exempt(self, obj: Decorated) -> Decorated:
        """Leaves a view or a blueprint without limits."""
        if isinstance(obj, Blueprint):
            self._exempt.add(obj)
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
            self._blueprints.setdefault(obj, []).append(limit)
            return obj
        limits: list[Limit] = obj.__dict__.setdefault("__quotalock_limits__", [])
        limits.insert(0, limit)
        if len(limits) > 1:
            return obj

        @functools.wraps(obj)
        def limited(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            # Those of the view were decided about before.
            done = g.get("_quotalock_done", ())
            names = current_app.extensions.get("quotalock.applications", {})
            for limiter in dict.fromkeys(each.owner for each in limits):
                here = [each for each in limits if each.owner is limiter and each not in done]
                if here and limiter._limits():
                    place = Place(names.get(limiter, current_app.name), "function", place_of(obj, *arguments))
                    limiter._decide(limiter._charges(here, place))
            return current_app.ensure_sync(obj)(*arguments, **named)

        return cast("Decorated", limited)

    def _before(self) -> None:
        if not self._limits():
            return
        endpoint, named = request.endpoint, current_app.extensions["quotalock.applications"][self]
        if endpoint is None:
            if not isinstance(request.routing_exception, RequestRedirect):
                self._decide(self._charges(self._not_found, Place(named, "not found", "not_found")))
            return
        if endpoint == "static" or endpoint.endswith(".static"):
            return
        view = current_app.view_functions.get(endpoint)
        blueprints = [current_app.blueprints[name] for name in request.blueprints if name in current_app.blueprints]
        if getattr(view, "__quotalock_exempt__", False) or self._exempt.intersection(blueprints):
            return
        of_view = [limit for limit in getattr(view, "__quotalock_limits__", ()) if limit.owner is self]
        of_blueprints = [limit for blueprint in blueprints for limit in self._blueprints.get(blueprint, ())]
        g._quotalock_done = [*g.get("_quotalock_done", ()), *of_view]
        charges = self._charges(self._application, Place(named, "application", "application"))
        rule = request.url_rule
        # What Flask answers by itself, a browser asks before each request to another origin.
        if request.method != "OPTIONS" or not getattr(rule, "provide_automatic_options", False):
            own = [*of_view, *of_blueprints]
            if not any(limit.override_defaults and holds_for(request.method, limit.methods) for limit in own):
                charges += self._charges(self._defaults, Place(named, "default", endpoint))
            charges += self._charges(of_view, Place(named, "view", endpoint))
            charges += self._charges(of_blueprints, Place(named, "blueprint", endpoint))
        self._decide(charges)

    def _limits(self) -> bool:
        """Whether the current request is limited at all."""
        return self.enabled and not any(says() for says in self._filters)

    def _charges(self, limits: list[Limit], place: Place) -> list[tuple[Charge, Limit]]:
        """What the limits of a place charge for the current request."""
        names = place.names(limits, self._key_kind, request.method)
        return [
            (Charge(name, limit.policy(), self._key(limit), limit.price(), limit.prefetch), limit)
            for name, limit in zip(names, limits, strict=True)
            if limit.holds(request.method)
        ]

    def _key(self, limit: Limit) -> Whom:
        function = limit.key_func or self._key_func
        if function is None:
            return self._proxies.address(request.remote_addr, request.headers.getlist(self._proxies.header))
        try:
            return asked_key(function)
        except BadKey as bad:
            raise NoKey(bad) from bad

    def _decide(self, charges: list[tuple[Charge, Limit]]) -> None:
        wanted = combined(charges)
        if not wanted:
            return
        asked = [
            (self._limiters.get(charge.name, charge.policy, charge.prefetch), charge.key, charge.cost)
            for charge in (one.charge for one in wanted)
        ]
        if len(asked) == 1:
            limiter, key, cost = asked[0]
            answer = Answer(limiter.consume(key, cost), self._legacy, self._expose)
        else:
            answer = Answer(self.client.consume_all(asked), self._legacy, self._expose)
        g._quotalock_answer = answer
        if answer.refused:
            decisions = getattr(answer.decision, "decisions", (answer.decision,))
            refusing = [one for one, decision in zip(wanted, decisions, strict=True) if not decision.allowed]
            messages = (limit.error_message for one in refusing for limit in one.limits)
            message = next((message for message in messages if message is not None), None)
            raise (TemporarilyReduced(answer) if answer.status == 503 else RateLimitExceeded(answer, message))

    def _after(self, response: Response) -> Response:
        answer = self.current_answer
        if answer is not None and (self._headers_enabled or answer.refused):
            for name, value in answer.headers.items():
                response.headers.setdefault(name, value)
            if exposing := answer.exposing(", ".join(response.headers.getlist(EXPOSE))):
                response.headers[EXPOSE] = exposing
        return response


def _with_status(answered: Any, refused: Refused | NoKey) -> Any:  # noqa: ANN401
    """What an error handler returned, with the status of the refusal unless the handler set one."""
    if isinstance(answered, tuple) and (len(answered) == 3 or (len(answered) == 2 and isinstance(answered[1], int))):
        return answered
    response = current_app.make_response(answered)
    if response.status_code == 200:
        response.status_code = refused.code or 429
    return response
