"""`quotalock.testing` for the clients of `quotalock.aio`: the same names, with `await` in front."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _native
from ._wrapper import on_loop

if TYPE_CHECKING:
    from ._client import Client

__all__ = ["get", "put", "set_time"]


async def set_time(client: Client, micros: int | None) -> None:
    """Sets the time at which every later call of this client is decided; see `quotalock.testing.set_time`."""
    _native.set_time(client._native, micros)


async def put(client: Client, redis_key: str | bytes, kind: str, value: str | bytes) -> bool:
    """Replaces what stands at a raw Redis key; see `quotalock.testing.put`."""
    return await on_loop(_native.put)(client._native, redis_key, kind, value)


async def get(client: Client, redis_key: str | bytes) -> tuple[bytes, int | None] | None:
    """Reads what stands at a raw Redis key; see `quotalock.testing.get`."""
    return await on_loop(_native.get)(client._native, redis_key)
