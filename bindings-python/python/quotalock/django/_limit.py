"""One limit of a view: for which requests it holds, by which policy and for whom."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings as project
from django.core.exceptions import ImproperlyConfigured, SuspiciousOperation
from django.http import HttpRequest
from django.utils.module_loading import import_string

from .._errors import InvalidArgument
from .._names import Site, generated_name, given_name, holds_for, kind_of, methods_text, numbers, site
from .._web import Answer, Charge, Combined, Limiters, checked_policy, combined
from .._whom import BadKey, Whom, asked_key, checked_key
from ._settings import Configuration, declared

ALL = None
UNSAFE = ["DELETE", "PATCH", "POST", "PUT"]

# A word, a field of a request, or the dotted path of a function.
KEY = re.compile(r"(ip|user|user_or_ip|(get|post|header):.+|[^:]+\.[^:]+)\Z", re.DOTALL)
KEYS = "there are ip, user, user_or_ip, get:, post: and header: with a name, and functions"

Rate = str | list[str] | tuple[int, int] | None


class NoKey(SuspiciousOperation):
    """A request sent nothing from which a key can be made: Django answers 400."""


@dataclass(eq=False)
class Limit:
    """What a decorator was given. `group` is the developer's name, `place` what has the limit."""

    group: str | None
    place: str
    key: Any
    rate: Rate | Callable[[str, HttpRequest], Rate]
    method: str | Iterable[str] | None = ALL
    block: bool = True
    prefetch: int | None = None
    kind: str = "view"
    site: Site = field(default_factory=site)

    def __post_init__(self) -> None:
        methods = [self.method] if isinstance(self.method, str) else self.method
        self.methods = None if methods is None else frozenset(method.upper() for method in methods)
        self.called = self.group or self.place
        try:
            given_name(self.group, "group")
        except InvalidArgument as error:
            raise ImproperlyConfigured(str(error)) from error
        if isinstance(self.rate, str) and "/" not in self.rate and " " not in self.rate and "." in self.rate:
            self.rate = import_string(self.rate)
        # What can't be is told of when the application starts.
        if self.key and not callable(self.key) and not (isinstance(self.key, str) and KEY.match(self.key)):
            raise ImproperlyConfigured(f"the limit of {self.called}: {self.key!r} is no key: {KEYS}")
        self.fixed = None if callable(self.rate) else self._text(self.rate)
        # A rate that a function returns is one limit, whatever it returns.
        policy = f"by {kind_of(self.rate)}" if callable(self.rate) else self.fixed or ""
        self.identity = (methods_text(self.methods), kind_of(self.key or "none"), policy)
        declared.add(self.group, self.fixed, self.site)

    def charge(self, request: HttpRequest, settings: Configuration, number: int = 0) -> Charge | None:
        """What is charged for a request; None if it is not limited."""
        if not holds_for(request.method or "", self.methods):
            return None
        rate = self._text(self.rate(self.called, request)) if callable(self.rate) else self.fixed
        if rate is None:
            return None
        return Charge(
            self._name(request, number), rate, key_of(request, self.key, self.called, settings), 1, self.prefetch
        )

    def _name(self, request: HttpRequest, number: int) -> str:
        if self.group is not None:
            return self.group
        methods, key, policy = self.identity
        # A namespace is what one set of views is included by, once or several times.
        namespace = getattr(getattr(request, "resolver_match", None), "namespace", "")
        return generated_name(
            application=f"{getattr(project, 'ROOT_URLCONF', '')}:{namespace}",
            place=self.place,
            kind=self.kind,
            methods=methods,
            key=key,
            policy=policy,
            number=number,
        )

    def _text(self, rate: Rate) -> str | None:
        if isinstance(rate, tuple) and len(rate) == 2:
            rate = f"{rate[0]}/{rate[1]}s"
        return None if rate is None else checked_policy(rate, f"the rate of {self.called}", self.prefetch)


def charges(request: HttpRequest, limits: list[Limit], settings: Configuration) -> list[Combined[Limit]]:
    """What is charged for a request, each key of a limiter once."""
    counted = zip(limits, numbers(limit.identity for limit in limits), strict=True)
    found = [(charge, limit) for limit, number in counted if (charge := limit.charge(request, settings, number))]
    return combined(found)


def ask(client: Any, limiters: Limiters, wanted: Sequence[Combined[Any]]) -> Any:  # noqa: ANN401
    """Charges all or none in one call; a client of a loop is awaited."""
    asked = [
        (limiters.get(charge.name, charge.policy, charge.prefetch), charge.key, charge.cost)
        for charge in (one.charge for one in wanted)
    ]
    if len(asked) == 1:
        limiter, key, cost = asked[0]
        return limiter.consume(key, cost)
    return client.consume_all(asked)


def blocks(answer: Answer, wanted: list[Combined[Limit]]) -> bool:
    """Whether one of those that refuse keeps the request from the view."""
    decisions = getattr(answer.decision, "decisions", (answer.decision,))
    return answer.refused and any(
        limit.block
        for one, decision in zip(wanted, decisions, strict=True)
        if not decision.allowed
        for limit in one.limits
    )


def key_of(request: HttpRequest, key: Any, group: str, settings: Configuration) -> Whom:  # noqa: ANN401
    """Whom a request counts for: a function's answer, or what a word names, as django-ratelimit has them."""
    if not key:
        raise ImproperlyConfigured(f"the limit of {group} needs a key: {KEYS}")
    try:
        if callable(key):
            return asked_key(key, group, request)
        word, _, name = key.partition(":")
        if key == "ip":
            return address(request, settings)
        if key == "user_or_ip":
            # A user whose key is a text must not count for the address of another.
            if not request.user.is_authenticated:
                return f"ip:{address(request, settings)}"
            return checked_key(f"user:{request.user.pk}", "request.user.pk")
        if key == "user":
            pk = request.user.pk
            return checked_key(None if pk is None else str(pk), "request.user.pk")
        if name and word in ("get", "post", "header"):
            there = {"get": request.GET, "post": request.POST, "header": request.headers}[word]
            return checked_key(there.get(name), f"the request's {word} {name!r}")
    except BadKey as bad:
        raise NoKey(str(bad)) from bad
    return key_of(request, import_string(key), group, settings)


def address(request: HttpRequest, settings: Configuration) -> str:
    """The client's address."""
    forwarded = request.headers.get(settings.proxies.header)
    return settings.proxies.address(request.META.get("REMOTE_ADDR"), [forwarded] if forwarded else [])


__all__ = ["ALL", "UNSAFE", "Limit", "NoKey", "address", "ask", "blocks", "charges", "key_of"]
