"""Asking a function for the password, on the loop of who waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from ._loading import awaited

if TYPE_CHECKING:
    from .._native import PasswordQuestion

_asking: set[asyncio.Task[None]] = set()


def ask(function: Callable[[], object], question: PasswordQuestion) -> None:
    """Has the running loop ask; the native half calls this."""
    task = asyncio.get_running_loop().create_task(_ask(function, question))
    # A loop holds its tasks weakly.
    _asking.add(task)
    task.add_done_callback(_asking.discard)


async def _ask(function: Callable[[], object], question: PasswordQuestion) -> None:
    try:
        told = await awaited(function())
    except StopIteration as error:
        # No future takes one.
        question._fail(RuntimeError(f"the password function raised {error!r}"))
    except asyncio.CancelledError:
        question._fail(RuntimeError("the password function was cancelled"))
        raise
    except BaseException as error:
        question._fail(error)
    else:
        question._answer(told)
