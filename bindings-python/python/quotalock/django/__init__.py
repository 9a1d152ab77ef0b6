"""Limits requests of a Django project, with the names of django-ratelimit, and a cache backend.

    # settings.py
    QUOTALOCK = {"URL": "redis://127.0.0.1:6379", "ON_ERROR": "closed", "POLICY": "600/minute"}
    MIDDLEWARE = ["quotalock.django.RateLimitMiddleware", ...]
    CACHES = {"default": {"BACKEND": "quotalock.django.QuotalockCache", "LOCATION": "redis://127.0.0.1"}}

    # views.py
    from quotalock.django import ratelimit

    @ratelimit(key="user_or_ip", rate="5/m")
    def login(request): ...

A refused request gets 429 with `Retry-After` and a problem body (RFC 9457), 503 if Redis is away and `ON_ERROR` is
`closed`, and 400 if it sends nothing from which its key can be made. Each answer has the fields `RateLimit` and
`RateLimit-Policy`. `quotalock.drf` has the throttles of Django REST framework.
"""

from __future__ import annotations

from .._require import require

require("django", "4.2", "django")

from ._cache import QuotalockCache
from ._decorator import is_ratelimited, ratelimit
from ._limit import ALL, UNSAFE
from ._middleware import RateLimitMiddleware

__all__ = ["ALL", "UNSAFE", "QuotalockCache", "RateLimitMiddleware", "is_ratelimited", "ratelimit"]
