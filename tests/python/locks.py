"""What the tests of locks have in common."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any

import quotalock
from quotalock import aio
from surface import Surface

# Tests share two cores with builds and other suites: what comes may come late.
PATIENT = 10.0
SOON = 1.0


def hold(surface: Surface, lock: Any, body: Callable[[], Any] = lambda: None) -> Any:
    """Runs `body` in the block of a lock."""

    async def inside() -> Any:
        async with lock as entered:
            assert entered is lock
            answer = body()
            return await answer if inspect.isawaitable(answer) else answer

    if surface.name == "python":
        with lock as entered:
            assert entered is lock
            return body()
    return surface.call(inside)


def wait_until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENT
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.005)


async def until_left_alone(lock: aio.Lock) -> None:
    """Nobody holds it and nobody waits for it, or will: a held one that leaked is renewed for ever."""
    await _until(lock, lambda seen: (seen.holders, seen.waiters) == ((), 0))


async def until_awaited(lock: aio.Lock) -> None:
    """Somebody waits for it, and the loop has read that: a connection's answers come in order."""
    await _until(lock, lambda seen: seen.waiters > 0)


async def _until(lock: aio.Lock, is_so: Callable[[quotalock.Inspection], bool]) -> None:
    give_up = time.monotonic() + PATIENT
    while not is_so(seen := await lock.inspect()):
        assert time.monotonic() < give_up, seen
        await asyncio.sleep(0.01)
