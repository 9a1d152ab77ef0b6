"""What `QUOTALOCK` in the settings of a project says."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string

from .. import aio
from .._names import Declared
from .._native import Client
from .._web import EXPOSE, Answer, Decided, Limiters, Proxies, checked_policy

# Each name with its default. Those of a client have its defaults.
DEFAULTS: dict[str, Any] = {
    "URL": None,
    "PREFIX": "ql",
    "TIMEOUT": 0.5,
    "ON_ERROR": "raise",
    "REPORT": False,
    "ON_DECISION": None,
    "ON_LOST": None,
    "POLICY": None,
    "KEY": "ip",
    "PREFETCH": None,
    "TRUSTED_PROXIES": (),
    "FORWARDED_HEADER": "X-Forwarded-For",
    "IPV6_PREFIX": 64,
    "LEGACY_HEADERS": False,
    "EXPOSE_HEADERS": False,
    "SCOPE": None,
    "ENFORCE": True,
    "ENABLED": True,
    "VIEW": None,
}


class Configuration:
    """The settings with their defaults, checked, and what they make."""

    def __init__(self, given: dict[str, Any]) -> None:
        if unknown := set(given) - set(DEFAULTS):
            names = ", ".join(sorted(unknown))
            raise ImproperlyConfigured(f"settings.QUOTALOCK has no {names}: there are {', '.join(DEFAULTS)}")
        self._values = {**DEFAULTS, **given}
        values = self._values
        self.enabled: bool = values["ENABLED"]
        self.key: str | Callable[..., Any] = values["KEY"]
        self.prefetch: int | None = values["PREFETCH"]
        self._legacy: bool = values["LEGACY_HEADERS"]
        self._expose: bool = values["EXPOSE_HEADERS"]
        try:
            self.proxies = Proxies(values["TRUSTED_PROXIES"], values["FORWARDED_HEADER"], values["IPV6_PREFIX"])
            self.policy = values["POLICY"] and checked_policy(values["POLICY"], "POLICY", self.prefetch)
            self.client = Client(**self._of_client, **self._hooks)
        except (ImportError, TypeError, ValueError) as error:
            raise ImproperlyConfigured(f"settings.QUOTALOCK: {error}") from error
        self.view: Callable[[HttpRequest, Answer], HttpResponse] | None = _function(values["VIEW"] or None)

    @property
    def _of_client(self) -> dict[str, Any]:
        return {name.lower(): self._values[name] for name in ("URL", "PREFIX", "TIMEOUT", "ON_ERROR", "REPORT")}

    @property
    def _hooks(self) -> dict[str, Any]:
        return {name.lower(): _function(self._values[name]) for name in ("ON_DECISION", "ON_LOST")}

    @cached_property
    def aio_client(self) -> aio.Client:
        """The client of asynchronous views."""
        return aio.Client(**self._of_client, **self._hooks)

    @cached_property
    def limiters(self) -> Limiters:
        """The limiters of synchronous views."""
        return Limiters(self.client, self._values["SCOPE"], self._values["ENFORCE"])

    @cached_property
    def aio_limiters(self) -> Limiters:
        """The limiters of asynchronous views."""
        return Limiters(self.aio_client, self._values["SCOPE"], self._values["ENFORCE"])

    def answer(self, decision: Decided) -> Answer:
        """The answer to a client about a decision."""
        return Answer(decision, self._legacy, self._expose)

    def refusal(self, request: HttpRequest, answer: Answer) -> HttpResponse:
        """The response to a refused request."""
        if self.view is not None:
            response = told(self.view(request, answer), answer)
            if response.status_code == 200:
                response.status_code = answer.status
            return response
        return HttpResponse(answer.body, status=answer.status, headers=answer.refusal_headers)


def _function(given: Any) -> Any:  # noqa: ANN401
    """A function, or that of a dotted path."""
    return import_string(given) if isinstance(given, str) else given


def told(response: Any, answer: Answer) -> Any:  # noqa: ANN401
    """A response with the fields of an answer, as far as it has none yet."""
    if isinstance(response, HttpResponseBase):
        for name, value in answer.headers.items():
            response.headers.setdefault(name, value)
        if exposing := answer.exposing(response.headers.get(EXPOSE, "")):
            response.headers[EXPOSE] = exposing
    return response


# The groups that views were given.
declared = Declared()
_of_project: Configuration | None = None


def configuration() -> Configuration:
    """The project's configuration, made at the first use."""
    global _of_project
    _of_project = _of_project or Configuration(getattr(settings, "QUOTALOCK", {}))
    return _of_project


def forget() -> None:
    """Reads the settings again at the next use: tests override them."""
    global _of_project
    _of_project = None
    declared.clear()


def _changed(*, setting: str, **others: object) -> None:
    if setting == "QUOTALOCK":
        forget()


setting_changed.connect(_changed, dispatch_uid="quotalock")
