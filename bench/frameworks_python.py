"""One of the applications that `frameworks_web.py` measures: `BENCH_APP` names it, such as `flask theirs`. Each limits
by the query, `BENCH_LIMIT` a minute, on the Redis of `BENCH_REDIS`, and answers with headers if the other of its pair
does; those called `leased` are ours with prefetch, those called `bare` don't limit."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from fastapi import Request, Response

POLICY = f"{os.environ['BENCH_LIMIT']}/minute"
URL = os.environ["BENCH_REDIS"]
_name, _whose = os.environ["BENCH_APP"].split()
PREFETCH: dict[str, Any] = {"prefetch": 50} if _whose == "leased" else {}


def flask(whose: str) -> Any:
    """flask-limiter, or `quotalock.flask`."""
    from flask import Flask, request

    app = Flask(__name__)

    def index() -> str:
        return "found\n"

    if whose != "bare":
        limiters = import_module("flask_limiter" if whose == "theirs" else "quotalock.flask")
        limiter = limiters.Limiter(lambda: request.args["k"], app=app, storage_uri=URL, headers_enabled=True)
        index = limiter.limit(POLICY, **PREFETCH)(index)
    app.get("/")(index)
    return app


def fastapi(whose: str) -> Any:
    """slowapi, or `quotalock.fastapi`."""
    from fastapi import Depends, FastAPI

    app = FastAPI()
    if whose == "bare":

        @app.get("/")
        async def bare_index() -> str:
            return "found\n"

        return app
    if whose != "theirs":
        from quotalock import aio
        from quotalock.fastapi import Limit, install

        install(app, aio.Client(URL))
        limit = Limit(POLICY, key=lambda request: request.query_params["k"], **PREFETCH)

        @app.get("/", dependencies=[Depends(limit)])
        async def index() -> str:
            return "found\n"

        return app
    from slowapi import Limiter, _rate_limit_exceeded_handler
    from slowapi.errors import RateLimitExceeded

    limiter = Limiter(lambda request: request.query_params["k"], storage_uri=URL, headers_enabled=True)
    app.state.limiter = limiter
    app.add_exception_handler(RateLimitExceeded, _rate_limit_exceeded_handler)

    @app.get("/")
    @limiter.limit(POLICY)
    async def their_index(request: Request, response: Response) -> str:
        return "found\n"

    return app


def drf(whose: str) -> Any:
    """A throttle of Django REST framework on Django's cache in Redis, or one of `quotalock.drf`."""
    from django.conf import settings

    settings.configure(
        SECRET_KEY="of a measurement",
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF=__name__,
        INSTALLED_APPS=["rest_framework"],
        CACHES={"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": URL}},
        QUOTALOCK={"URL": URL},
        REST_FRAMEWORK={
            "UNAUTHENTICATED_USER": None,
            "DEFAULT_AUTHENTICATION_CLASSES": [],
            "DEFAULT_THROTTLE_RATES": {"query": POLICY},
        },
    )
    from django.core.wsgi import get_wsgi_application

    application = get_wsgi_application()
    from django.urls import path
    from rest_framework.response import Response
    from rest_framework.views import APIView

    throttles = import_module("rest_framework.throttling" if whose == "theirs" else "quotalock.drf")

    class ByQuery(throttles.SimpleRateThrottle):  # type: ignore[name-defined]
        scope = "query"
        prefetch = PREFETCH.get("prefetch")

        def get_cache_key(self, request: Any, view: Any) -> str:
            return f"throttle_query_{request.query_params['k']}"

    class Index(APIView):
        throttle_classes = () if whose == "bare" else (ByQuery,)

        def get(self, request: Any) -> Any:
            return Response("found")

    urlpatterns.append(path("", Index.as_view()))
    return application


urlpatterns: list[Any] = []
application = {"flask": flask, "fastapi": fastapi, "drf": drf}[_name](_whose)
