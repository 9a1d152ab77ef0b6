"""The middleware: a limit of every request, and the header fields of what others decided about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from .._web import Answer, Combined
from ._limit import Limit, ask, charges
from ._settings import configuration, told


class RateLimitMiddleware:
    """Limits every request by `POLICY` of `settings.QUOTALOCK`, for each `KEY`. Without a `POLICY` it only adds the
    header fields of what the throttles of `quotalock.drf` decided."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]) -> None:
        self._get_response: Callable[[HttpRequest], Any] = get_response
        # Of a wrong setting it tells when the application starts.
        of_all = configuration()
        self._limits = (
            [Limit(None, "all", of_all.key, of_all.policy, prefetch=of_all.prefetch, kind="middleware")]
            if of_all.policy
            else []
        )
        self._on_loop = iscoroutinefunction(get_response)
        if self._on_loop:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:  # noqa: ANN401
        """Answers a request."""
        if self._on_loop:
            return self._answer(request)
        settings = configuration()
        wanted = self._charges(request)
        answer = settings.answer(ask(settings.client, settings.limiters, wanted)) if wanted else None
        if answer is not None and answer.refused:
            return settings.refusal(request, answer)
        return _told(request, self._get_response(request), answer)

    async def _answer(self, request: HttpRequest) -> HttpResponseBase:
        settings = configuration()
        wanted = self._charges(request)
        answer = settings.answer(await ask(settings.aio_client, settings.aio_limiters, wanted)) if wanted else None
        if answer is not None and answer.refused:
            return settings.refusal(request, answer)
        return _told(request, await self._get_response(request), answer)

    def _charges(self, request: HttpRequest) -> list[Combined[Limit]]:
        # A project that lists the middleware twice charges once.
        if not configuration().enabled or getattr(request, "_quotalock_passed", False):
            return []
        request._quotalock_passed = True
        return charges(request, self._limits, configuration())


def _told(request: HttpRequest, response: HttpResponseBase, answer: Answer | None) -> HttpResponseBase:
    # That of a view or a throttle says more than that of all requests.
    for known in (getattr(request, "quotalock_answer", None), answer):
        if known is not None:
            told(response, known)
    return response
