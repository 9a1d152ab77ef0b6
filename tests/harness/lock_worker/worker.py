"""Takes and gives back locks in Python and writes down what came of it: `worker.py SETUP [aio]`. See lock_load.py."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

Record = dict[str, Any]
Answer = bool | Awaitable[bool]
MS = 1_000_000


class Handle(Protocol):
    """What is asked of a lock here."""

    @property
    def held(self) -> bool:
        """Whether it says so."""

    @property
    def remaining(self) -> float:
        """For how many seconds it will."""

    @property
    def token(self) -> int | None:
        """The fencing token."""

    def acquire(self, wait: float) -> Answer:
        """Takes it, waiting for so many seconds."""

    def extend(self) -> Answer:
        """Keeps it for its ttl from now."""

    def release(self) -> Answer:
        """Gives it back."""


class Lane:
    """One caller: one call after the other, each with a line in the history. `make` makes a handle for an entry."""

    def __init__(self, setup: Record, number: int, make: Callable[[Record], Handle], *, sleeps: bool) -> None:
        self.setup, self.number, self.make, self.sleeps = setup, number, make, sleeps
        self.file = os.open(setup["path"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.luck = random.Random(f"{setup['seed']}-{number}")
        self.handles: dict[int, Handle] = {}
        self.grant = 0

    async def run(self) -> None:
        """Takes locks at random, for ever, or with `once` each of the mix one time."""
        mix = self.setup["mix"]
        if self.setup["once"]:
            for entry in mix:
                await self.take(self.make(entry), entry, self.setup["once"], hold=False)
            return
        while True:
            at = self.luck.randrange(len(mix))
            if at not in self.handles:
                self.handles[at] = self.make(mix[at])
            wait = self.luck.choice([0, mix[at]["ttl_ms"] / 5, mix[at]["ttl_ms"] * 2])
            if not await self.take(self.handles[at], mix[at], wait, hold=True):
                await self.sleep(self.luck.uniform(1, 10))

    async def take(self, lock: Handle, entry: Record, wait_ms: float, *, hold: bool) -> bool:
        """Acquires, holds for a time that likes the edges, and releases."""
        self.grant += 1
        got = await self.call("acquire", entry, lock, lock.acquire, wait_ms / 1000)
        if got and hold:
            how, ttl = self.luck.random(), entry["ttl_ms"]
            if how < 0.4:
                await self.sleep(self.luck.uniform(0, ttl / 3))
            elif how < 0.6:
                await self.sleep(lock.remaining * 1000 + self.luck.uniform(-4, 4))
            elif how < 0.75:
                await self.sleep(ttl + self.luck.uniform(-4, 4))
            else:
                await self.sleep(lock.remaining * 1000 * self.luck.choice([self.luck.random(), 0.95, 1]))
                await self.call("extend", entry, lock, lock.extend)
                await self.sleep(self.luck.choice([self.luck.uniform(0, ttl / 3), lock.remaining * 1000]))
        if got:
            await self.call("release", entry, lock, lock.release)
        return got

    async def call(self, op: str, entry: Record, lock: Handle, method: Callable[..., Answer], *wait: float) -> bool:
        """Makes one call and writes it down."""
        record = {"proc": self.setup["proc"], "lane": self.number, "grant": self.grant, "op": op}
        record |= {name: entry[name] for name in ("names", "permits", "weight")}
        record["invoke_ns"] = time.monotonic_ns()
        if op == "release":
            record["held"] = lock.held
            # Whoever is killed in the middle of it may have released.
            self.write({**record, "done_ns": record["invoke_ns"], "outcome": "begun"})
        try:
            answer = method(*wait)
            done = await answer if inspect.isawaitable(answer) else answer
            outcome = "ok" if done else "no"
        except Exception as error:
            if not hasattr(error, "code"):
                raise
            done, outcome = False, error.code
        record |= {"done_ns": time.monotonic_ns(), "outcome": outcome}
        if done and op != "release":
            looked, remaining = time.monotonic_ns(), int(lock.remaining * 1000 * MS)
            record |= {"token": lock.token, "until_ns": looked + remaining if remaining else 0}
        self.write(record)
        return bool(done)

    def write(self, record: Record) -> None:
        """Adds a line to the history, at once."""
        os.write(self.file, json.dumps(record).encode() + b"\n")

    async def sleep(self, ms: float) -> None:
        """Sleeps as callers of its kind do."""
        if self.sleeps:
            time.sleep(max(0, ms) / 1000)
        else:
            await asyncio.sleep(max(0, ms) / 1000)


async def run(setup: Record, make: Callable[[Record], Handle], *, threads: bool) -> None:
    """Runs all lanes, each in a thread of its own or all in this one."""
    lanes = [Lane(setup, number, make, sleeps=threads) for number in range(setup["lanes"])]
    if threads:
        await asyncio.gather(*(asyncio.to_thread(asyncio.run, lane.run()) for lane in lanes))
    else:
        await asyncio.gather(*(lane.run() for lane in lanes))


def main() -> None:
    """Runs with the client that the command line asks for."""
    import quotalock
    import quotalock.aio

    setup, aio = json.loads(sys.argv[1]), sys.argv[2:] == ["aio"]
    package: Any = quotalock.aio if aio else quotalock
    client: Any = package.Client(setup["url"], prefix=setup["prefix"], timeout=setup["timeout_ms"] / 1000)

    def make(entry: Record) -> Handle:
        options = {"ttl": entry["ttl_ms"] / 1000, "renew": entry["renew"], "fair": entry["fair"]}
        names = [entry["names"]] if entry["kind"] == "lock_all" else entry["names"]
        if entry["kind"] == "semaphore":
            options |= {"permits": entry["permits"], "weight": entry["weight"]}
        handle: Handle = getattr(client, entry["kind"])(*names, **options)
        return handle

    asyncio.run(run(setup, make, threads=not aio))


if __name__ == "__main__":
    main()
