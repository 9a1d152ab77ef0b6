"""A Starlette application with limits. Start it with `uvicorn app:app`, and ask for /search more than three times."""

import os
from typing import Any

from quotalock import aio
from quotalock.starlette import RateLimitMiddleware, install, limit
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

# raise, open, closed or local: what happens when Redis is away.
ON_ERROR: Any = os.environ.get("ON_ERROR", "closed")
client = aio.Client(on_error=ON_ERROR)


async def index(request: Request) -> PlainTextResponse:
    return PlainTextResponse("hello\n")


@limit("3/2 seconds")
async def search(request: Request) -> PlainTextResponse:
    return PlainTextResponse("found\n")


async def user(request: Request) -> str:
    """Whom a login is for. A body without a user is a 400."""
    name: str = (await request.json())["user"]
    return name


@limit("20/minute")
@limit("5/minute", key=user)
async def login(request: Request) -> PlainTextResponse:
    return PlainTextResponse("welcome\n")


async def health(request: Request) -> PlainTextResponse:
    return PlainTextResponse("well\n")


def is_not_limited(request: Request) -> bool:
    return request.url.path == "/health"


all_requests = Middleware(RateLimitMiddleware, policy="100/minute;1000/day", client=client, exempt=is_not_limited)
routes = [
    Route("/", index),
    Route("/search", search),
    Route("/health", health),
    Route("/login", login, methods=["POST"]),
]
app = Starlette(routes=routes, middleware=[all_requests])
install(app, client)
