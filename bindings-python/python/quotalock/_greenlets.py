"""Whether a wait shall let other greenlets run: gevent or eventlet has replaced Python's sockets."""

from __future__ import annotations

import sys
from collections.abc import Callable

# For how long a greenlet waits before it looks whether its process was forked.
_LOOK = 1.0


def waiter() -> Callable[[int], None] | None:
    """The function that waits until a descriptor can be read, for about a second at most, while other greenlets run.

    None if nothing is patched, or if this is the hub itself, which must not wait.
    """
    monkey = sys.modules.get("gevent.monkey")
    if monkey is not None and monkey.is_module_patched("socket"):
        return _gevent()
    patcher = sys.modules.get("eventlet.patcher")
    if patcher is not None and patcher.is_monkey_patched("socket"):
        return _eventlet()
    return None


def _gevent() -> Callable[[int], None] | None:
    import gevent  # type: ignore[import-untyped]
    from gevent.socket import wait_read  # type: ignore[import-untyped]

    if gevent.getcurrent() is gevent.get_hub():
        return None

    def wait(fd: int) -> None:
        with gevent.Timeout(_LOOK, False):
            wait_read(fd)

    return wait


def _eventlet() -> Callable[[int], None] | None:
    import eventlet  # type: ignore[import-untyped]
    from eventlet import hubs

    if eventlet.getcurrent() is hubs.get_hub().greenlet:
        return None

    def wait(fd: int) -> None:
        with eventlet.Timeout(_LOOK, False):
            hubs.trampoline(fd, read=True)

    return wait
