"""Making a value that is missing, on a loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeVar

from .._errors import QuotalockError
from .._native import Ticket

if TYPE_CHECKING:
    from ._futures import LoopClient

T = TypeVar("T")

Loaded = str | bytes | None
"""What a loader makes; None: there is no such thing."""


async def make(client: LoopClient, got: bytes | Ticket | None, load: Callable[[], object]) -> bytes | None:
    """The value that was got, or what `load` makes of it."""
    if not isinstance(got, Ticket):
        return got
    loaded = await _guarded(client, [got], _load(load))
    await _finished(client._fill(got, loaded))
    return loaded


async def make_many(
    client: LoopClient,
    keys: Sequence[str | bytes],
    tickets: Sequence[Ticket],
    load: Callable[[list[str | bytes]], object],
) -> list[bytes | None]:
    """The values of these keys, which `load` makes."""
    values = await _guarded(client, tickets, _load_many(keys, load))
    fills = [client._fill(ticket, value) for ticket, value in zip(tickets, values, strict=True)]
    for fill in fills:
        await _finished(fill)
    return values


async def _load(load: Callable[[], object]) -> bytes | None:
    loaded = load()
    return Ticket._value(await loaded if isawaitable(loaded) else loaded)


async def _load_many(keys: Sequence[str | bytes], load: Callable[[list[str | bytes]], object]) -> list[bytes | None]:
    loaded = load(list(keys))
    if isawaitable(loaded):
        loaded = await loaded
    if not isinstance(loaded, Mapping):
        raise TypeError(
            f"the loaded value {loaded!r:.60} is a {type(loaded).__name__}: return a dict of keys and values"
        )
    return [Ticket._value(loaded.get(key)) for key in keys]


async def _guarded(client: LoopClient, tickets: Sequence[Ticket], loading: Coroutine[Any, Any, T]) -> T:
    """What is loaded under these tickets. If that fails, others are told; if it is cancelled, they may load."""
    try:
        return await loading
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        for failed in [client._fail(ticket, text) for ticket in tickets]:
            # The loader's error says more than that nobody could be told of it.
            with suppress(QuotalockError):
                await _finished(failed)
        raise
    except BaseException:
        for ticket in tickets:
            ticket._leave()
        raise


async def _finished(call: Awaitable[bool]) -> None:
    """Waits for a call that is made also if its caller is cancelled meanwhile."""
    future = asyncio.ensure_future(call)
    future.add_done_callback(_retrieve)
    await asyncio.shield(future)


def _retrieve(future: asyncio.Future[bool]) -> None:
    if not future.cancelled():
        future.exception()
