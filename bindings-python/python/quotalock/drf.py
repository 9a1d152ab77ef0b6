"""The throttles of Django REST framework, with its names and settings.

    REST_FRAMEWORK = {
        "DEFAULT_THROTTLE_CLASSES": ["quotalock.drf.AnonRateThrottle", "quotalock.drf.UserRateThrottle"],
        "DEFAULT_THROTTLE_RATES": {"anon": "100/day", "user": "10/minute;1000/day"},
    }

All throttles of a view decide in one call: all are charged or none. A refused request gets 429 with `Retry-After`, 503
if Redis is away and `ON_ERROR` of `settings.QUOTALOCK` is `closed`, and 400 if it sends nothing from which its key can
be made. Throttles of one class, scope and rate share what they count, in all views. With
`quotalock.django.RateLimitMiddleware` each answer has the fields `RateLimit` and `RateLimit-Policy`.
"""

from __future__ import annotations

from typing import Any

from ._require import require

require("djangorestframework", "3.14", "drf")

from django.conf import settings as project
from django.http import HttpRequest
from rest_framework import throttling
from rest_framework.exceptions import APIException, ParseError
from rest_framework.request import Request
from rest_framework.settings import api_settings

from ._names import Site, generated_name, given_name, name_of
from ._web import Answer, Charge, checked_policy, combined
from ._whom import BadKey, checked_key, read_key
from .django._limit import address, ask
from .django._settings import configuration, declared

__all__ = ["AnonRateThrottle", "ScopedRateThrottle", "SimpleRateThrottle", "TemporarilyReduced", "UserRateThrottle"]

# What can't be is told of when the application starts.
for _scope, _rate in api_settings.DEFAULT_THROTTLE_RATES.items():
    if _rate is not None:
        checked_policy(_rate, f"REST_FRAMEWORK['DEFAULT_THROTTLE_RATES'][{_scope!r}]")


class TemporarilyReduced(APIException):
    """Redis could not be asked, and `ON_ERROR` is `closed`: 503, with `Retry-After`."""

    status_code = 503
    default_code = "temporary-reduced-capacity"

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.problem["detail"])
        self.wait = int(answer.headers["Retry-After"])


class NoKey(ParseError):
    """A request sent nothing from which a key can be made: 400."""


class SimpleRateThrottle(throttling.SimpleRateThrottle):
    """A throttle by `rate`, which is a policy, for each key that `get_cache_key` makes; None is no limit. `prefetch` is
    how many permits are taken from Redis at once at most, and spent without a call where a throttle decides alone.
    Throttles of one `name` share what they count (default: a generated one, of the project, the class, the scope and
    the policy)."""

    prefetch: int | None = None
    name: str | None = None
    _decision: Any = None

    def parse_rate(self, rate: str | None) -> tuple[int | None, int | None]:
        """Returns nothing: a policy may have several rules."""
        return (None, None)

    def get_ident(self, request: Request) -> str:
        """The client's address: by `NUM_PROXIES` if that is set, else by `TRUSTED_PROXIES` of `settings.QUOTALOCK`."""
        if api_settings.NUM_PROXIES is not None:
            return str(super().get_ident(request))
        return address(request, configuration())

    def allow_request(self, request: Request, view: Any) -> bool:  # noqa: ANN401
        """Whether this throttle admits a request."""
        charge = self._charge(request, view)
        if charge is None or not configuration().enabled:
            return True
        of_request: HttpRequest = request._request
        decided = getattr(of_request, "_quotalock_decided", {})
        if charge not in decided:
            decided = self._decide(of_request, [charge, *self._beside(request, view)])
        # Once: the next dispatch of this request is another one.
        self._decision = decided.pop(charge)
        return bool(self._decision.allowed)

    def wait(self) -> float | None:
        """After how many seconds the request would be admitted."""
        return None if self._decision is None else float(self._decision.retry_after)

    def _prepare(self, view: object) -> None:
        """Takes what it needs of a view."""

    def _charge(self, request: Request, view: Any) -> Charge | None:  # noqa: ANN401
        """What this throttle charges; None if it does not hold."""
        self._prepare(view)
        if getattr(self, "rate", None) is None:
            return None
        own = type(self)
        try:
            key = read_key(self.get_cache_key, request, view)
            if key is None:
                return None
            whom = checked_key(key, f"{own.__name__}.get_cache_key")
        except BadKey as bad:
            raise NoKey(str(bad.problem["detail"])) from bad
        rate = checked_policy(self.rate, f"the rate of {own.__name__}", self.prefetch)
        return Charge(self._named(rate), rate, whom, 1, self.prefetch)

    def _named(self, rate: str) -> str:
        own = type(self)
        if self.name is not None:
            named = given_name(self.name, own.__name__)
            declared.add(named, rate, Site(own.__module__, own.__qualname__, 0))
            return self.name
        return generated_name(
            application=str(getattr(project, "ROOT_URLCONF", "")),
            place=self.scope or own.__name__,
            kind="throttle",
            key=name_of(own),
            policy=rate,
        )

    def _beside(self, request: Request, view: Any) -> list[Charge]:  # noqa: ANN401
        """What the other throttles of the view charge, to decide about all of it at once."""
        others = view.get_throttles() if hasattr(view, "get_throttles") else []
        if len(others) == 1 and type(others[0]) is type(self):
            return []
        charges = [other._charge(request, view) for other in others if isinstance(other, SimpleRateThrottle)]
        return [charge for charge in charges if charge is not None]

    @staticmethod
    def _decide(request: HttpRequest, charges: list[Charge]) -> dict[Charge, Any]:
        settings = configuration()
        wanted = combined((charge, charge) for charge in dict.fromkeys(charges))
        answer = settings.answer(ask(settings.client, settings.limiters, wanted))
        request.quotalock_answer = answer
        if answer.status == 503:
            raise TemporarilyReduced(answer)
        decisions = getattr(answer.decision, "decisions", (answer.decision,))
        decided = {charge: one for each, one in zip(wanted, decisions, strict=True) for charge in each.limits}
        request._quotalock_decided = decided
        return decided


class AnonRateThrottle(SimpleRateThrottle, throttling.AnonRateThrottle):
    """Limits requests of anonymous clients, by their address."""


class UserRateThrottle(SimpleRateThrottle, throttling.UserRateThrottle):
    """Limits requests of each user, and of anonymous clients by their address."""

    def get_cache_key(self, request: Request, view: Any) -> str:  # noqa: ANN401
        """The key: a user whose key is a text must not count for the address of another."""
        return _user_or_address(self, request)


class ScopedRateThrottle(SimpleRateThrottle, throttling.ScopedRateThrottle):
    """Limits requests of views with the same `throttle_scope`; others pass."""

    def get_cache_key(self, request: Request, view: Any) -> str:  # noqa: ANN401
        """The key: the user, or the address of an anonymous client."""
        return _user_or_address(self, request)

    def _prepare(self, view: object) -> None:
        self.scope = getattr(view, self.scope_attr, None)
        self.rate = self.get_rate() if self.scope else None


def _user_or_address(throttle: SimpleRateThrottle, request: Request) -> str:
    signed_in = request.user and request.user.is_authenticated
    return f"user:{request.user.pk}" if signed_in else f"ip:{throttle.get_ident(request)}"
