"""Asks an ASGI application, without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Answer:
    """What it sent."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


def ask(app: Any, *paths: str, peer: str = "192.0.2.1", **headers: str) -> Answer:
    """The answer to the last of several requests, one after the other on a loop of their own."""
    answers: list[Answer] = []

    async def all_of_them() -> None:
        for path in paths:
            answers.append(await asked(app, path, peer, headers))

    asyncio.run(all_of_them())
    return answers[-1]


def hang_up(app: Any, path: str, **headers: str) -> Answer:
    """The answer to a client that hangs up after the first part of the body. The loop goes on, as a server's does."""

    async def to_the_end() -> Answer:
        answer = await asked(app, path, "192.0.2.1", headers, hangs_up=True)
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)
        return answer

    return asyncio.run(to_the_end())


async def asked(
    app: Callable[..., Awaitable[None]], path: str, peer: str, headers: dict[str, str], hangs_up: bool = False
) -> Answer:
    """The answer to a request."""
    answer = Answer()
    sent, gone = asyncio.Event(), asyncio.Event()

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            answer.body += message.get("body", b"")
            if hangs_up:
                gone.set()

    async def receive() -> dict[str, Any]:
        if sent.is_set():
            await gone.wait()
            return {"type": "http.disconnect"}
        sent.set()
        return {"type": "http.request", "body": b"", "more_body": False}

    path, _, query = path.partition("?")
    given = [(name.replace("_", "-").lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": given}
    scope |= {
        "client": (peer, 1),
        "server": ("testserver", 80),
        "scheme": "http",
        "root_path": "",
        "http_version": "1.1",
    }
    await app(scope, receive, send)
    return answer
