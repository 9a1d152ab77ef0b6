"""Both faces of the package, called the same way: blocking, and on a loop of their own."""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any

import quotalock
import quotalock.testing
from quotalock import aio
from quotalock.aio import testing as aio_testing

_memories = itertools.count()


def fresh_memory() -> str:
    """The URL of memory that no other test has: all clients of `memory://` share it."""
    return f"memory://{next(_memories)}"


class Surface:
    """`call` runs a method or function of the package and returns its answer."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module: Any = quotalock if name == "python" else aio
        self.testing: Any = quotalock.testing if name == "python" else aio_testing
        self._loop = asyncio.new_event_loop() if name != "python" else None
        if self._loop is not None:
            # Of a step that a busy machine made slow, a loop in debug mode would speak on stderr.
            self._loop.slow_callback_duration = 60.0

    def call(self, function: Any, *args: Any, **options: Any) -> Any:
        if self._loop is None:
            return function(*args, **options)

        async def inside() -> Any:
            answer = function(*args, **options)
            return await answer if inspect.isawaitable(answer) else answer

        return self._loop.run_until_complete(inside())

    def __enter__(self) -> Surface:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None:
            self._loop.close()


SURFACES = ("python", "python-aio")


# Runs a coroutine on a new loop. The fixture `each_loop` puts uvloop's in its place.
on_new_loop: Callable[[Coroutine[Any, Any, Any]], Any] = asyncio.run


def run(body: Callable[[], Awaitable[Any]]) -> Any:
    """What a coroutine function returns, on a loop of its own."""

    async def main() -> Any:
        return await body()

    return on_new_loop(main())
