"""A WSGI application with a limit. Start it with `gunicorn app:application`, and ask for / more than three times."""

import os
from collections.abc import Callable, Iterable
from typing import Any

import quotalock
from quotalock.wsgi import RateLimitMiddleware

# raise, open, closed or local: what happens when Redis is away.
ON_ERROR: Any = os.environ.get("ON_ERROR", "closed")
ANSWERS = {"/": b"hello\n", "/search": b"found\n", "/health": b"well\n"}


def pages(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    body = ANSWERS.get(environ["PATH_INFO"])
    start_response("200 OK" if body else "404 Not Found", [("Content-Type", "text/plain")])
    return [body or b"nothing\n"]


def is_not_limited(environ: dict[str, Any]) -> bool:
    return str(environ["PATH_INFO"]) == "/health"


application = RateLimitMiddleware(
    pages,
    "3/2 seconds",
    client=quotalock.Client(on_error=ON_ERROR),
    exempt=is_not_limited,
)
