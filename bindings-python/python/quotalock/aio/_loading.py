"""Making a value that is missing, on a loop. What is next the native half says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._native import Client, Loading

Loaded = str | bytes | None
"""What a loader makes; None: there is no such thing."""


async def run(
    client: Client, loading: Loading, make: Callable[[list[int]], Awaitable[list[Any]]]
) -> tuple[bytes | None, ...]:
    """The values of a load; `make` makes those that are this caller's to make. If it fails, others are told; if it is
    cancelled, they may load."""
    try:
        while not isinstance(todo := loading._next(), tuple):
            if todo is None:
                await client._carry(loading)
                continue
            try:
                loading._loaded(await make(todo))
            except Exception as error:
                loading._failed(f"{type(error).__name__}: {_text(error)}")
                await asyncio.shield(client._carry(loading))
                raise
            # It is stored also if its caller is cancelled meanwhile.
            await asyncio.shield(client._carry(loading))
        return todo
    finally:
        loading._leave()


async def run_one(client: Client, loading: Loading, load: Callable[[], object]) -> bytes | None:
    """The value of a load of one key."""

    async def make(_: list[int]) -> list[Any]:
        return [await awaited(load())]

    (value,) = await run(client, loading, make)
    return value


async def run_many(
    client: Client,
    loading: Loading,
    keys: Sequence[str | bytes],
    load: Callable[[list[Any]], object],
) -> tuple[bytes | None, ...]:
    """The values of a load of these keys; `load` makes a mapping."""

    async def make(missing: list[int]) -> list[Any]:
        wanted = [keys[at] for at in missing]
        loaded = await awaited(load(list(wanted)))
        if not isinstance(loaded, Mapping):
            raise TypeError(
                f"the loaded value {loaded!r:.60} is a {type(loaded).__name__}: return a dict of keys and values"
            )
        return [loaded.get(key) for key in wanted]

    return await run(client, loading, make)


async def awaited(made: object) -> object:
    """What a function made, or what that comes to."""
    return await made if isawaitable(made) else made


def _text(error: Exception) -> str:
    try:
        return str(error)
    except Exception:
        return "?"
