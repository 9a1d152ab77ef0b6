"""Readers of one key in Python: `worker.py SETUP [aio]`. See stampede.py."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
import threading
import time
from typing import Any

SETUP = json.loads(sys.argv[1])
AIO = sys.argv[2:] == ["aio"]


class Reader:
    """Asks once, at the moment that is set for all."""

    def __init__(self, cache: Any, number: int) -> None:
        self.cache, self.number = cache, number

    def write(self, record: dict[str, Any]) -> None:
        """Adds a line to the history, at once."""
        file = os.open(SETUP["path"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, json.dumps({"proc": SETUP["proc"], "reader": self.number, **record}).encode() + b"\n")
        os.close(file)

    async def run(self) -> None:
        """Connects, says that it is ready, and reads."""
        await self.maybe(self.cache.peek("warm"))
        self.write({"op": "ready"})
        while not os.path.exists(SETUP["go"]):
            await self.sleep(0.005)
        with open(SETUP["go"]) as file:
            begin = json.load(file)[SETUP["proc"]] + SETUP["spread_ms"] * 1_000_000 * self.number // SETUP["readers"]
        await self.sleep((begin - time.monotonic_ns()) / 1e9)
        invoke = time.monotonic_ns()
        try:
            load: Any = self.load_later if AIO else self.load
            value = await self.maybe(self.cache.get("key", load, **times("wait")))
            got = {"value": value.decode()}
        except Exception as error:
            got = {"error": getattr(error, "code", repr(error))}
        self.write({"op": "get", "invoke_ns": invoke, "done_ns": time.monotonic_ns(), **got})

    def load(self) -> bytes:
        """Takes its time."""
        self.write({"op": "load", "pid": os.getpid(), "at_ns": time.monotonic_ns()})
        time.sleep(SETUP["load_ms"] / 1000)
        return f"loaded by {SETUP['proc']}".encode()

    async def load_later(self) -> bytes:
        """As `load`, and lets others go on."""
        self.write({"op": "load", "pid": os.getpid(), "at_ns": time.monotonic_ns()})
        await asyncio.sleep(SETUP["load_ms"] / 1000)
        return f"loaded by {SETUP['proc']}".encode()

    async def maybe(self, answer: Any) -> Any:
        """The answer of a call of either kind."""
        return await answer if inspect.isawaitable(answer) else answer

    async def sleep(self, seconds: float) -> None:
        """Sleeps as readers of its kind do."""
        if AIO:
            await asyncio.sleep(max(0.0, seconds))
        else:
            time.sleep(max(0.0, seconds))


def times(*names: str) -> dict[str, float]:
    """What is set of these."""
    return {name: SETUP[f"{name}_ms"] / 1000 for name in names if f"{name}_ms" in SETUP}


async def main() -> None:
    """Runs all readers, each in a thread of its own or all in this one."""
    import quotalock
    import quotalock.aio

    package: Any = quotalock.aio if AIO else quotalock
    client = package.Client(SETUP["url"], prefix=SETUP["prefix"], timeout=5.0)
    cache = client.cache("pages", beta=0.0, **times("fresh", "stale", "lease"))
    readers = [Reader(cache, number) for number in range(SETUP["readers"])]
    if AIO:
        await asyncio.gather(*(reader.run() for reader in readers))
        return
    threads = [threading.Thread(target=lambda reader=reader: asyncio.run(reader.run())) for reader in readers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    asyncio.run(main())
