"""A cache as it is often written by hand: GET, and who gets the lock by SET NX PX loads, while the others sleep."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from naive_locks import Connection


def get(server: Connection, key: str, load: Callable[[], str], *, lock_ms: int) -> str:
    """The value of a key; `lock_ms` is how long the lock keeps others from loading."""
    while True:
        value = server.command("GET", key)
        if value is not None:
            return str(value)
        if server.command("SET", f"{key}:lock", "1", "NX", "PX", lock_ms):
            value = load()
            server.command("SET", key, value, "PX", 60_000)
            server.command("DEL", f"{key}:lock")
            return value
        time.sleep(0.05)


def stampede(url: str, readers: int, *, load_ms: int, lock_ms: int) -> int:
    """Has so many threads want one key at once; answers how often it was loaded."""
    loads: list[float] = []
    begin = threading.Barrier(readers)

    def load() -> str:
        loads.append(time.monotonic())
        time.sleep(load_ms / 1000)
        return "value"

    def read() -> None:
        server = Connection(url)
        server.command("PING")
        begin.wait()
        assert get(server, f"naive:{lock_ms}", load, lock_ms=lock_ms) == "value"
        server.close()

    threads = [threading.Thread(target=read) for _ in range(readers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(loads)
