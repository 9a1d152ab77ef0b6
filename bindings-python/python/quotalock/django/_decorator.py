"""The decorator of views."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from asgiref.sync import iscoroutinefunction
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest

from .._names import name_of, place_of, site
from .._web import Answer
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
    prefetch: int | None = None,
) -> Callable[[View], View]:
    """Limits a view. The parameters are those of django-ratelimit, but for `prefetch`.

    Views of one `group` share what they count, for all methods and keys (default: a generated name, of the project, the
    namespace, the view with its class, the methods, the kind of key and the policy). `key` is `ip`, `user`,
    `user_or_ip`, `get:`, `post:` or `header:` with a name, a function of the group and the request, or its dotted path.
    `rate` is a policy, a pair of a limit and seconds, a function of the group and the request, or its path; None is no
    limit. `method` says for which methods it holds; GET includes HEAD. With `block=False` a refused request reaches the
    view, with `request.limited` true. With `prefetch` as many permits at most are taken from Redis at once, and spent
    without a call where this limit decides alone.

    Several of them decide in one call: all are charged or none.
    """

    where = site()
    # `method_decorator` decorates for each request.
    made: dict[str, Limit] = {}

    def decorate(view: View) -> View:
        own = getattr(view, "_quotalock", None)
        # Of ours, and not of a decorator around it that copied the attributes.
        above = own if own is not None and own.outermost is view else None
        place = _place(above.view if above else view)
        if place not in made:
            made[place] = Limit(group, place, key, rate, method, block, prefetch, site=where)
        limit = made[place]
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
    limit = Limit(group, _place(fn) if fn is not None else "", key, rate, method, site=site())
    charge = limit.charge(request, settings) if settings.enabled else None
    if charge is None:
        return False
    limiter = settings.limiters.get(charge.name, charge.policy)
    decision = limiter.consume(charge.key, charge.cost) if increment else limiter.peek(charge.key, charge.cost)
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
            wanted = charges(_request(request, self.view), self.limits, settings) if settings.enabled else []
            if not wanted:
                _note(request, None)
                return self.view(request, *arguments, **named)
            answer = settings.answer(ask(settings.client, settings.limiters, wanted))
            if refusal := self._refusal(request, answer, blocks(answer, wanted), settings):
                return refusal
            return told(self.view(request, *arguments, **named), answer)

        @functools.wraps(self.view)
        async def limited_on_loop(request: HttpRequest, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            settings = configuration()
            wanted = charges(_request(request, self.view), self.limits, settings) if settings.enabled else []
            if not wanted:
                _note(request, None)
                return await self.view(request, *arguments, **named)
            answer = settings.answer(await ask(settings.aio_client, settings.aio_limiters, wanted))
            if refusal := self._refusal(request, answer, blocks(answer, wanted), settings):
                return refusal
            return told(await self.view(request, *arguments, **named), answer)

        self.outermost = limited_on_loop if _is_on_loop(self.view) else limited
        self.outermost.__dict__["_quotalock"] = self
        return self.outermost

    @staticmethod
    def _refusal(request: HttpRequest, answer: Answer, blocked: bool, settings: Configuration) -> Any:  # noqa: ANN401
        _note(request, answer)
        return settings.refusal(request, answer) if blocked else None


def _bound_to(view: Any) -> Any:  # noqa: ANN401
    """The object whose method a view is; `method_decorator` makes a partial of it for each request."""
    return getattr(getattr(view, "func", view), "__self__", None)


def _place(view: Any) -> str:  # noqa: ANN401
    """The name of a view: of a class-based one its class, which need not be the one that defines its function."""
    of_class = getattr(view, "view_class", None) or getattr(view, "cls", None)
    if of_class is not None:
        return name_of(of_class)
    owner = _bound_to(view)
    return place_of(view) if owner is None else place_of(view, owner)


def _is_on_loop(view: Any) -> bool:  # noqa: ANN401
    # The `dispatch` of an asynchronous class is a function that returns what is awaited.
    is_dispatch = getattr(view, "__name__", "") == "dispatch"
    return iscoroutinefunction(view) or bool(is_dispatch and getattr(_bound_to(view), "view_is_async", False))


def _request(given: Any, view: Any) -> HttpRequest:  # noqa: ANN401
    if not hasattr(given, "META"):
        raise TypeError(f"the limit of {_place(view)} got {given!r} for a request: on a method use method_decorator")
    return cast("HttpRequest", given)


def _note(request: HttpRequest, answer: Answer | None) -> None:
    """What the view can see."""
    refused = answer is not None and answer.refused
    request.limited = getattr(request, "limited", False) or refused
