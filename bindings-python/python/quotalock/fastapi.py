"""Limits requests of a FastAPI application by a dependency.

    from fastapi import Depends, FastAPI
    from quotalock.fastapi import Limit, install

    app = FastAPI()
    install(app)

    @app.get("/", dependencies=[Depends(Limit("10/minute"))])
    async def index(): ...

A refused request gets 429 with `Retry-After` and a problem body (RFC 9457), 503 if Redis is away and the client's
`on_error` is `closed`, and 400 for a request from which a `key` makes no key. Each answer has the fields `RateLimit`
and `RateLimit-Policy`. The handshake of a WebSocket is refused with the same answer, or closed with 1008 if the server
cannot send one. To limit the whole application without a dependency use `RateLimitMiddleware`.
"""

# No annotations as texts: FastAPI before 0.106 does not look into the module of an object that it depends on.

from ._require import require

require("fastapi", "0.100", "fastapi")

from starlette.requests import HTTPConnection

from . import starlette
from ._errors import InvalidArgument
from .starlette import BadRequest, RateLimitExceeded, RateLimitMiddleware, install

__all__ = ["BadRequest", "Limit", "Limits", "RateLimitExceeded", "RateLimitMiddleware", "install"]


class Limit(starlette.Limit):
    """A dependency that limits requests: see `quotalock.starlette.Limit`. For several of a request use `Limits`."""

    async def __call__(self, request: HTTPConnection) -> None:
        """Decides about a request, or about the handshake of a WebSocket."""
        await starlette.decide(request, [self])


class Limits:
    """A dependency that decides by several limits in one call: all of them are charged or none."""

    def __init__(self, *limits: Limit) -> None:
        if not limits or not all(isinstance(limit, Limit) for limit in limits):
            raise InvalidArgument(f"Limits: give it a Limit, or several: {limits!r}")
        self.limits = limits

    async def __call__(self, request: HTTPConnection) -> None:
        """Decides about a request, or about the handshake of a WebSocket."""
        await starlette.decide(request, self.limits)
