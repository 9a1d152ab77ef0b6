"""What a client is told to tell: `on_decision` and `on_lost`."""

from __future__ import annotations

import inspect


def refuse_coroutines(what: str, given: object) -> None:
    """Raises `TypeError` for a coroutine function, because its coroutine would not be awaited."""
    if inspect.iscoroutinefunction(given) or inspect.iscoroutinefunction(getattr(given, "__call__", None)):  # noqa: B004
        raise TypeError(f"{what} {given!r} is a coroutine function, and is not awaited: give a plain function")
