"""The throttles of Django REST framework, with its names and settings.

    REST_FRAMEWORK = {
        "DEFAULT_THROTTLE_CLASSES": ["quotalock.drf.AnonRateThrottle", "quotalock.drf.UserRateThrottle"],
        "DEFAULT_THROTTLE_RATES": {"anon": "100/day", "user": "10/minute;1000/day"},
    }

All throttles of a view decide in one call: all are charged or none. A refused request gets 429 with `Retry-After`, 503
if Redis is away and `ON_ERROR` of `settings.QUOTALOCK` is `closed`. With `quotalock.django.RateLimitMiddleware` each
answer has the fields `RateLimit` and `RateLimit-Policy`.
"""

from __future__ import annotations

from typing import Any

from ._require import require

require("djangorestframework", "3.14", "drf")

from django.http import HttpRequest
from rest_framework import throttling
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.settings import api_settings

from ._web import Answer, Whom, checked_key, checked_policy
from .django._limit import address
from .django._settings import configuration

__all__ = ["AnonRateThrottle", "ScopedRateThrottle", "SimpleRateThrottle", "TemporarilyReduced", "UserRateThrottle"]

# The name of a limiter, its policy and lease, and whom it counts for.
Charge = tuple[str, str, int | None, Whom]

# What can't be is told of when the application starts.
for _scope, _rate in api_settings.DEFAULT_THROTTLE_RATES.items():
    if _rate is not None:
        checked_policy(_rate, f"REST_FRAMEWORK['DEFAULT_THROTTLE_RATES'][{_scope!r}]")


class TemporarilyReduced(APIException):
    """Nobody could be asked, and `ON_ERROR` is `closed`: 503, with `Retry-After`."""

    status_code = 503
    default_code = "temporary-reduced-capacity"

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.problem["detail"])
        self.wait = int(answer.headers["Retry-After"])


class SimpleRateThrottle(throttling.SimpleRateThrottle):
    """A throttle by `rate`, which is a policy, for each key that `get_cache_key` makes; None is no limit. `lease` is
    how many permits are taken from Redis at once at most, and spent without a call where a throttle decides alone."""

    lease: int | None = None
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
            decided = self._decide(of_request, {charge: None, **self._beside(request, view)})
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
        key = self.get_cache_key(request, view)
        if key is None:
            return None
        own = type(self).__name__
        rate = checked_policy(self.rate, f"the rate of {own}", self.lease)
        return f"drf:{self.scope or own}", rate, self.lease, checked_key(key, f"{own}.get_cache_key")

    def _beside(self, request: Request, view: Any) -> dict[Charge, None]:  # noqa: ANN401
        """What the other throttles of the view charge, to decide about all of it at once."""
        others = view.get_throttles() if hasattr(view, "get_throttles") else []
        if len(others) == 1 and type(others[0]) is type(self):
            return {}
        charges = [other._charge(request, view) for other in others if isinstance(other, SimpleRateThrottle)]
        return {charge: None for charge in charges if charge is not None}

    @staticmethod
    def _decide(request: HttpRequest, wanted: dict[Charge, None]) -> dict[Charge, Any]:
        settings = configuration()
        charges = [(settings.limiters.get(name, policy, lease), key) for name, policy, lease, key in wanted]
        if len(charges) == 1:
            limiter, key = charges[0]
            decision: Any = limiter.consume(key)
            decisions = [decision]
        else:
            decision = settings.client.consume_all(charges)
            decisions = decision.decisions
        answer = Answer(decision, settings.legacy)
        request.quotalock_answer = answer
        if answer.status == 503:
            raise TemporarilyReduced(answer)
        decided = dict(zip(wanted, decisions, strict=True))
        request._quotalock_decided = decided
        return decided


class AnonRateThrottle(SimpleRateThrottle, throttling.AnonRateThrottle):
    """Limits requests of anonymous clients, by their address."""


class UserRateThrottle(SimpleRateThrottle, throttling.UserRateThrottle):
    """Limits requests of each user, and of anonymous clients by their address."""


class ScopedRateThrottle(SimpleRateThrottle, throttling.ScopedRateThrottle):
    """Limits requests of views with the same `throttle_scope`; others pass."""

    def _prepare(self, view: object) -> None:
        self.scope = getattr(view, self.scope_attr, None)
        self.rate = self.get_rate() if self.scope else None
