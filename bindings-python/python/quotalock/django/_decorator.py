"""The decorator of views."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest

from .._web import Answer, name_of
from ._limit import ALL, UNSAFE, Limit, Rate, ask, blocks, charges
from ._settings import Configuration, configuration, told

View = TypeVar("View", bound=Callable[..., Any])


def ratelimit(
    group: str | None = None,
    key: Any = None,  # noqa: ANN401
    rate: Rate | Callable[[str, HttpRequest], Rate] = None,
    method: str | Iterable[str] | None = ALL,
    block: bool = True,
    *,
    lease: int | None = None,
) -> Callable[[View], View]:
    """Limits a view. The parameters are those of django-ratelimit, but for the `lease`.

    `group` is what shares a count, without one the view. `key` is `ip`, `user`, `user_or_ip`, `get:`, `post:` or
    `header:` with a name, a function of the group and the request, or its dotted path. `rate` is a policy, a pair of a
    limit and seconds, a function of the group and the request, or its path; None is no limit. `method` says for which
    methods it holds. With `block=False` a refused request reaches the view, with `request.limited` true. With a `lease`
    as many permits at most are taken from Redis at once, and spent without a call where this limit decides alone.

    Several of them decide in one call: all are charged or none.
    """

    def decorate(view: View) -> View:
        own = getattr(view, "_quotalock", None)
        # Of ours, and not of a decorator around it that copied the attributes.
        above = own if own is not None and own.outermost is view else None
        limit = Limit(group or name_of(above.view if above else view), key, rate, method, block, lease)
        limits = _Limited(above.view, [limit, *above.limits]) if above else _Limited(view, [limit])
        return cast("View", limits.wrapper())

    return decorate


ratelimit.ALL = ALL  # type: ignore[attr-defined]
ratelimit.UNSAFE = UNSAFE  # type: ignore[attr-defined]


def is_ratelimited(
    request: HttpRequest,
    group: str | None = None,
    fn: Callable[..., Any] | None = None,
    key: Any = None,  # noqa: ANN401
    rate: Rate | Callable[[str, HttpRequest], Rate] = None,
    method: str | Iterable[str] | None = ALL,
    increment: bool = False,
) -> bool:
    """Whether a request is over a limit; `increment` charges it."""
    if group is None and fn is None:
        raise ImproperlyConfigured("is_ratelimited needs a group, or the function fn that has the limit")
    settings = configuration()
    limit = Limit(group or name_of(fn), key, rate, method)
    wanted = limit.charge(request, settings.limiters, settings) if settings.enabled else None
    if wanted is None:
        return False
    limiter, whom, cost = wanted
    decision = limiter.consume(whom, cost) if increment else limiter.peek(whom, cost)
    return not decision.allowed


is_ratelimited.ALL = ALL  # type: ignore[attr-defined]
is_ratelimited.UNSAFE = UNSAFE  # type: ignore[attr-defined]


class _Limited:
    """A view with its limits."""

    def __init__(self, view: Callable[..., Any], limits: list[Limit]) -> None:
        self.view = view
        self.limits = limits
        self.outermost: Callable[..., Any] = view

    def wrapper(self) -> Callable[..., Any]:
        """The view that decides first."""

        @functools.wraps(self.view)
        def limited(request: HttpRequest, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            settings = configuration()
            wanted = charges(request, self.limits, settings.limiters, settings) if settings.enabled else []
            if not wanted:
                _note(request, None)
                return self.view(request, *arguments, **named)
            answer = Answer(ask(settings.client, wanted), settings.legacy)
            if refusal := self._refusal(request, answer, blocks(answer, wanted), settings):
                return refusal
            return told(self.view(request, *arguments, **named), answer)

        @functools.wraps(self.view)
        async def limited_on_loop(request: HttpRequest, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            settings = configuration()
            wanted = charges(request, self.limits, settings.aio_limiters, settings) if settings.enabled else []
            if not wanted:
                _note(request, None)
                return await self.view(request, *arguments, **named)
            answer = Answer(await ask(settings.aio_client, wanted), settings.legacy)
            if refusal := self._refusal(request, answer, blocks(answer, wanted), settings):
                return refusal
            return told(await self.view(request, *arguments, **named), answer)

        self.outermost = limited_on_loop if inspect.iscoroutinefunction(self.view) else limited
        self.outermost.__dict__["_quotalock"] = self
        return self.outermost

    @staticmethod
    def _refusal(request: HttpRequest, answer: Answer, blocked: bool, settings: Configuration) -> Any:  # noqa: ANN401
        _note(request, answer)
        return settings.refusal(request, answer) if blocked else None


def _note(request: HttpRequest, answer: Answer | None) -> None:
    """What the view can see."""
    refused = answer is not None and answer.refused
    request.limited = getattr(request, "limited", False) or refused
