"""A FastAPI application whose limiter the environment names: 100 a day for the query `k`."""

from __future__ import annotations

import os
from typing import Any

from fastapi import Depends, FastAPI, HTTPException, Request

POLICY = "100/day"
URL = os.environ["COMPARE_REDIS"]


def by_query(request: Any) -> str:
    return str(request.query_params["k"])


def bare() -> Any:
    app = FastAPI()

    @app.get("/")
    async def index() -> str:
        return "found\n"

    return app


def quotalock_asgi() -> Any:
    from quotalock import aio
    from quotalock.starlette import RateLimitMiddleware

    return RateLimitMiddleware(bare(), POLICY, client=aio.Client(URL), key=by_query)


def quotalock_depends() -> Any:
    from quotalock import aio
    from quotalock.fastapi import Limit, install

    app = FastAPI()
    install(app, aio.Client(URL))

    @app.get("/", dependencies=[Depends(Limit(POLICY, key=by_query))])
    async def index() -> str:
        return "found\n"

    return app


def slowapi() -> Any:
    from slowapi import Limiter, _rate_limit_exceeded_handler
    from slowapi.errors import RateLimitExceeded

    app = FastAPI()
    limiter = Limiter(by_query, storage_uri=URL)
    app.state.limiter = limiter
    app.add_exception_handler(RateLimitExceeded, _rate_limit_exceeded_handler)

    @app.get("/")
    @limiter.limit(POLICY)
    async def index(request: Request) -> str:
        return "found\n"

    return app


def limits() -> Any:
    from limits import parse
    from limits.aio.strategies import FixedWindowRateLimiter
    from limits.storage import storage_from_string

    app = FastAPI()
    storage: Any = storage_from_string(f"async+{URL}", implementation="redispy")
    limiter, item = FixedWindowRateLimiter(storage), parse(POLICY)

    async def limited(request: Request) -> None:
        if not await limiter.hit(item, "web", by_query(request)):
            raise HTTPException(429)

    @app.get("/", dependencies=[Depends(limited)])
    async def index() -> str:
        return "found\n"

    return app


_apps = {
    "bare": bare,
    "quotalock-asgi": quotalock_asgi,
    "quotalock-depends": quotalock_depends,
    "slowapi": slowapi,
    "limits": limits,
}
application = _apps[os.environ["COMPARE_PEER"]]()
