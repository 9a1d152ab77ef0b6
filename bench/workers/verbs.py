"""The main calls of Quotalock, made by threads of one connection each, or by tasks of one loop; see serve.py.

The argument is that of a `Load`, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import quotalock
from quotalock import aio
from serve import Lane, serve

# What one call consists of: yields what a method of the client returned, and gets its answer.
Steps = Generator[Any, Any, None]
Verb = Callable[[int], Steps]
TEXT = "x" * 100
STOCKS = 10


@dataclass(frozen=True)
class Load:
    """What to call at which servers in turn, on how many keys, and how many callers do it: each a thread with clients
    of its own, or tasks."""

    urls: list[str]
    verb: str
    keys: int
    lanes: int
    threads: bool


def limits(policy: str) -> Callable[[Any, int], Verb]:
    """Consumes from a limiter."""

    def made(client: Any, keys: int) -> Verb:
        limiter = client.limiter("scale", policy)

        def call(number: int) -> Steps:
            yield limiter.consume(f"user:{number % keys}")

        return call

    return made


def locks(client: Any, keys: int) -> Verb:
    """Acquires a lock and releases it."""

    def call(number: int) -> Steps:
        lock = client.lock(f"job:{number}", renew=False)
        yield lock.acquire()
        yield lock.release()

    return call


def sales(client: Any, keys: int) -> Verb:
    """Takes a unit, each for another buyer, and confirms it."""
    stocks, opened = [client.stock(f"sale:{number}", ledger_cap=1000) for number in range(STOCKS)], set()

    def call(number: int) -> Steps:
        at = number % STOCKS
        stock = stocks[at]
        if at not in opened:
            yield stock.open(1 << 50)
            opened.add(at)
        taken = yield stock.take(f"user:{number}")
        yield stock.confirm(taken.reservation.id)

    return call


def claims(client: Any, keys: int) -> Verb:
    """Claims an id, each a new one."""
    once = client.once("scale")

    def call(number: int) -> Steps:
        yield once.claim(f"event:{number}", "host 7")

    return call


def reads(client: Any, keys: int) -> Verb:
    """Gets a value that is fresh; the first calls store it."""
    cache = client.cache("scale", fresh=3600.0, beta=0.0)

    async def load() -> str:
        return TEXT

    loader = load if isinstance(client, aio.Client) else lambda: TEXT

    def call(number: int) -> Steps:
        yield cache.get(f"page:{number % keys}", loader)

    return call


VERBS: dict[str, Callable[[Any, int], Verb]] = {
    "fixed window": limits("fixed-window 1000000000/hour"),
    "token bucket": limits("token-bucket 1000/day"),
    "sliding window": limits("sliding-window 1000000000/hour"),
    "sliding log, allowed": limits("sliding-log 1000/minute"),
    "sliding log, denied": limits("sliding-log 10/hour"),
    "lock: acquire and release": locks,
    "stock: take and confirm": sales,
    "once: a new id": claims,
    "cache: a hit": reads,
}


class Threads:
    """Callers that have a thread and a connection each."""

    def __init__(self, load: Load) -> None:
        made = VERBS[load.verb]
        self.verbs = [
            [made(quotalock.Client(url, timeout=5.0), load.keys) for url in load.urls] for _ in range(load.lanes)
        ]
        self.done = [lane << 32 for lane in range(load.lanes)]

    def round(self, seconds: float, took: list[int]) -> list[Lane]:
        """Keeps all of them busy until the time is over."""
        lanes = [Lane() for _ in self.verbs]
        stop = time.perf_counter_ns() + int(seconds * 1e9)

        def drive(number: int) -> None:
            before, verbs = time.perf_counter_ns(), self.verbs[number]
            while before < stop:
                steps = verbs[self.done[number] % len(verbs)](self.done[number])
                answer = next(steps)
                try:
                    while True:
                        answer = steps.send(answer)
                except StopIteration:
                    self.done[number] += 1
                    lanes[number].calls += 1
                after = time.perf_counter_ns()
                took.append(after - before)
                before = after

        threads = [threading.Thread(target=drive, args=(number,)) for number in range(len(lanes))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return lanes


class Tasks:
    """Callers that are tasks of one loop and share a client."""

    def __init__(self, load: Load) -> None:
        self.verbs = [VERBS[load.verb](aio.Client(url, timeout=5.0), load.keys) for url in load.urls]
        self.lanes, self.done = load.lanes, 0

    async def call(self) -> None:
        """Makes one call."""
        self.done += 1
        steps = self.verbs[self.done % len(self.verbs)](self.done)
        waited = next(steps)
        try:
            while True:
                waited = steps.send(await waited)
        except StopIteration:
            return

    async def round(self, seconds: float, took: list[int], most: int = sys.maxsize) -> list[Lane]:
        """Keeps all of them busy until the time is over, or as many calls were made in all."""
        lanes, stop = [Lane() for _ in range(self.lanes)], time.perf_counter_ns() + int(seconds * 1e9)

        async def drive(lane: Lane) -> None:
            before = time.perf_counter_ns()
            while before < stop and self.done < most:
                await self.call()
                lane.calls += 1
                after = time.perf_counter_ns()
                took.append(after - before)
                before = after

        await asyncio.gather(*map(drive, lanes))
        return lanes


def main() -> None:
    load = Load(**json.loads(sys.argv[1]))
    if load.threads:
        serve("threads", Threads(load).round)
    else:
        loop = asyncio.new_event_loop()

        async def made() -> Tasks:
            return Tasks(load)

        tasks = loop.run_until_complete(made())
        serve("tasks", lambda seconds, took: loop.run_until_complete(tasks.round(seconds, took)))


if __name__ == "__main__":
    main()
