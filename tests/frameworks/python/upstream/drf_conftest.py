"""In the place of the conftest of Django REST framework: its throttles are ours, at the time that its tests fake.

For a test that fakes none the clock stands still: some send four requests within a second.
"""

from __future__ import annotations

import itertools
import json
import os
import time

import django
import pytest
from django.conf import settings

SERVER = json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])["redis-7.0"]
# Some of theirs begin at the epoch, which is no time of today.
LATER = 1_000_000_000

_prefixes = itertools.count()


def pytest_configure() -> None:
    settings.configure(
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        SECRET_KEY="of the tests",
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        ROOT_URLCONF="tests.urls",
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "rest_framework"],
    )
    django.setup()
    import quotalock.drf
    import quotalock.testing
    from quotalock.django._settings import configuration
    from rest_framework import throttling

    allow = quotalock.drf.SimpleRateThrottle.allow_request

    def at_its_time(throttle: quotalock.drf.SimpleRateThrottle, request: object, view: object) -> bool:
        micros = int((LATER + throttle.timer()) * 1_000_000)
        quotalock.testing.set_time(configuration().client, micros)
        return allow(throttle, request, view)

    setattr(quotalock.drf.SimpleRateThrottle, "allow_request", at_its_time)  # noqa: B010
    for name in ("AnonRateThrottle", "ScopedRateThrottle", "SimpleRateThrottle", "UserRateThrottle"):
        setattr(throttling, name, getattr(quotalock.drf, name))


@pytest.fixture(autouse=True)
def standing_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    import quotalock.drf

    now = time.time()
    monkeypatch.setattr(quotalock.drf.SimpleRateThrottle, "timer", staticmethod(lambda: now))


@pytest.fixture(autouse=True)
def own_keys() -> None:
    """Their tests clear the cache in which their throttles count."""
    from quotalock.django._settings import forget

    settings.QUOTALOCK = {"URL": SERVER, "PREFIX": f"drf-{os.getpid()}-{next(_prefixes)}", "TIMEOUT": 5.0}
    forget()
