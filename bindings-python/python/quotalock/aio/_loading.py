"""Making a value that is missing, on a loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
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
    await _store(client, [got], [loaded])
    return loaded


async def make_many(
    client: LoopClient,
    keys: Sequence[str | bytes],
    tickets: Sequence[Ticket],
    load: Callable[[list[str | bytes]], object],
) -> list[bytes | None]:
    """The values of these keys, which `load` makes."""
    values = await _guarded(client, tickets, _load_many(keys, load))
    await _store(client, tickets, values)
    return values


async def _store(client: LoopClient, tickets: Sequence[Ticket], values: Sequence[bytes | None]) -> None:
    calls, refused = [], None
    for ticket, value in zip(tickets, values, strict=True):
        try:
            calls.append(client._fill(ticket, value))
        except QuotalockError as error:
            # What is refused is nobody else's error.
            calls.append(client._fail(ticket, None))
            refused = error
    results = await _all(calls)
    for failed in (refused, *results):
        if failed is not None:
            raise failed


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
        text = f"{type(error).__name__}: {_text(error)}"
        # The loader's error says more than that nobody could be told of it.
        await _all([client._fail(ticket, text) for ticket in tickets])
        raise
    except BaseException:
        for ticket in tickets:
            ticket._leave()
        raise


def _text(error: Exception) -> str:
    try:
        return str(error)
    except Exception:
        return "?"


async def _all(calls: Sequence[asyncio.Future[bool]]) -> list[BaseException | None]:
    """How calls ended, which are made also if their caller is cancelled meanwhile."""
    ended = asyncio.gather(*calls, return_exceptions=True)
    return [end if isinstance(end, BaseException) else None for end in await asyncio.shield(ended)]
