"""One limit of a view: for which requests it holds, by which policy and for whom."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ImproperlyConfigured, SuspiciousOperation
from django.http import HttpRequest
from django.utils.module_loading import import_string

from .._web import Answer, Limiters, Whom, asked_key, checked_key, checked_policy
from ._settings import Configuration

ALL = None
UNSAFE = ["DELETE", "PATCH", "POST", "PUT"]

# A word, a field of a request, or the dotted path of a function.
KEY = re.compile(r"(ip|user|user_or_ip|(get|post|header):.+|[^:]+\.[^:]+)\Z", re.DOTALL)
KEYS = "there are ip, user, user_or_ip, get:, post: and header: with a name, and functions"

Rate = str | list[str] | tuple[int, int] | None
Charge = tuple[Any, Whom, int]


@dataclass(eq=False)
class Limit:
    """What a decorator was given; `group` is the name of the limiter."""

    group: str
    key: Any
    rate: Rate | Callable[[str, HttpRequest], Rate]
    method: str | Iterable[str] | None = ALL
    block: bool = True
    lease: int | None = None

    def __post_init__(self) -> None:
        methods = [self.method] if isinstance(self.method, str) else self.method
        self.methods = None if methods is None else sorted(method.upper() for method in methods)
        if isinstance(self.rate, str) and "/" not in self.rate and " " not in self.rate and "." in self.rate:
            self.rate = import_string(self.rate)
        # What can't be is told of when the application starts.
        if self.key and not callable(self.key) and not (isinstance(self.key, str) and KEY.match(self.key)):
            raise ImproperlyConfigured(f"the limit of {self.group}: {self.key!r} is no key: {KEYS}")
        self.fixed = None if callable(self.rate) else self._text(self.rate)

    def charge(self, request: HttpRequest, limiters: Limiters, settings: Configuration) -> Charge | None:
        """Who is charged what for a request; None if it is not limited."""
        if self.methods is not None and request.method not in self.methods:
            return None
        rate = self._text(self.rate(self.group, request)) if callable(self.rate) else self.fixed
        if rate is None:
            return None
        name = f"{self.group}:{','.join(self.methods)}" if self.methods else self.group
        return limiters.get(name, rate, self.lease), key_of(request, self.key, self.group, settings), 1

    def _text(self, rate: Rate) -> str | None:
        if isinstance(rate, tuple) and len(rate) == 2:
            rate = f"{rate[0]}/{rate[1]}s"
        return None if rate is None else checked_policy(rate, f"the rate of {self.group}", self.lease)


def charges(
    request: HttpRequest, limits: Iterable[Limit], limiters: Limiters, settings: Configuration
) -> list[tuple[Charge, Limit]]:
    """Who is charged what for a request, each key of a limiter once."""
    found: dict[tuple[str, Whom], tuple[Charge, Limit]] = {}
    for limit in limits:
        if charge := limit.charge(request, limiters, settings):
            limiter, key, cost = charge
            if (limiter.name, key) in found:
                limiter = limiters.get(f"{limiter.name}:{limiter.policy}", limiter.policy)
            found.setdefault((limiter.name, key), ((limiter, key, cost), limit))
    return list(found.values())


def ask(client: Any, wanted: list[tuple[Charge, Limit]]) -> Any:  # noqa: ANN401
    """Charges all or none in one call; a client of a loop is awaited."""
    if len(wanted) == 1:
        limiter, key, cost = wanted[0][0]
        return limiter.consume(key, cost)
    return client.consume_all([charge for charge, _ in wanted])


def blocks(answer: Answer, wanted: list[tuple[Charge, Limit]]) -> bool:
    """Whether one of those that refuse keeps the request from the view."""
    decisions = getattr(answer.decision, "decisions", (answer.decision,))
    return answer.refused and any(
        limit.block for (_, limit), decision in zip(wanted, decisions, strict=True) if not decision.allowed
    )


def key_of(request: HttpRequest, key: Any, group: str, settings: Configuration) -> Whom:  # noqa: ANN401
    """Whom a request counts for: a function's answer, or what a word names, as django-ratelimit has them."""
    if not key:
        raise ImproperlyConfigured(f"the limit of {group} needs a key: {KEYS}")
    if callable(key):
        return asked_key(key, group, request)
    word, _, field = key.partition(":")
    if key == "ip" or (key == "user_or_ip" and not request.user.is_authenticated):
        return address(request, settings)
    if key in ("user", "user_or_ip"):
        return checked_key(request.user.pk, "request.user.pk")
    if field and word in ("get", "post", "header"):
        there = {"get": request.GET, "post": request.POST, "header": request.headers}[word]
        if value := there.get(field):
            return str(value)
        raise SuspiciousOperation(f"the request has no {word} {field}, by which it is limited")
    return key_of(request, import_string(key), group, settings)


def address(request: HttpRequest, settings: Configuration) -> str:
    """The client's address."""
    forwarded = request.headers.get(settings.proxies.header)
    return settings.proxies.address(request.META.get("REMOTE_ADDR"), [forwarded] if forwarded else [])


__all__ = ["ALL", "UNSAFE", "Limit", "address", "ask", "blocks", "charges", "key_of"]
