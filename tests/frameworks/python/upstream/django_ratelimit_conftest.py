"""For the tests of django-ratelimit: its decorator is ours. Theirs raises what it refuses, ours answers it."""

from __future__ import annotations

import functools
import itertools
import json
import os
import time
from collections.abc import Callable
from typing import Any

import django
import pytest
from django.conf import settings

SERVER = json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])["redis-7.0"]

_prefixes = itertools.count()


def pytest_configure() -> None:
    settings.configure(SECRET_KEY="of the tests", DATABASES={}, INSTALLED_APPS=["django_ratelimit"])
    settings.SILENCED_SYSTEM_CHECKS = ["django_ratelimit.E003", "django_ratelimit.W001"]
    django.setup()
    import quotalock.django
    from django.test import SimpleTestCase
    from django_ratelimit import core, decorators, exceptions

    def ratelimit(**options: Any) -> Callable[..., Any]:
        decorate = quotalock.django.ratelimit(**options)

        def raising(view: Callable[..., Any]) -> Callable[..., Any]:
            limited = decorate(view)

            @functools.wraps(limited)
            def call(request: Any, *arguments: Any, **named: Any) -> Any:
                response = limited(request, *arguments, **named)
                if getattr(response, "status_code", 200) == 429:
                    raise exceptions.Ratelimited
                return response

            return call

        return raising

    setattr(ratelimit, "UNSAFE", quotalock.django.UNSAFE)  # noqa: B010
    decorators.ratelimit = ratelimit
    core.is_ratelimited = quotalock.django.is_ratelimited
    # They need no database, and one would have to be made.
    django.test.TestCase = SimpleTestCase


@pytest.fixture(autouse=True)
def own_keys() -> None:
    """Their tests clear the cache in which it counts, and none moves the clock, which stands still."""
    import quotalock.testing
    from quotalock.django._settings import configuration, forget

    settings.QUOTALOCK = {"URL": SERVER, "PREFIX": f"dr-{os.getpid()}-{next(_prefixes)}", "TIMEOUT": 5.0}
    forget()
    quotalock.testing.set_time(configuration().client, int(time.time() * 1_000_000))
