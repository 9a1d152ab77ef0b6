"""Does with quotalock in Python what JSON lines on its input say: `worker.py [aio]`. The protocol is in workers.py."""

from __future__ import annotations

import asyncio
import inspect
import json
import random
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import quotalock
import quotalock.aio
from worker import handles

Answer = dict[str, Any]


def decision(answered: object) -> object:
    """Takes a result apart as the protocol has it; what is no decision stays as it is."""
    result: Any = answered
    if not hasattr(result, "reset_after"):
        return answered
    fields = ("allowed", "limit", "remaining", "cost", "source", "healed")
    shown = {name: getattr(result, name) for name in fields if hasattr(result, name)}
    # Rounded up, as the surfaces of the other languages do.
    for name, seconds in (("retry_after_ms", result.retry_after), ("reset_after_ms", result.reset_after)):
        shown[name] = None if seconds is None else -(-round(seconds * 1e6) // 1000)
    if hasattr(result, "rules"):
        shown["rules"] = [decision(rule) for rule in result.rules]
    return shown


class Session:
    """One client and its limiters. `make` makes a client from the fields of a request."""

    def __init__(self, make: Callable[[Answer], object], *, threads: bool) -> None:
        self.make, self.threads = make, threads
        self.client: Any = None
        self.limiters: dict[tuple[str, str], Any] = {}

    async def do(self, op: str, request: Answer) -> Answer:
        """Carries out one request."""
        if op == "load":
            return await self.load(**request)
        if "." in op:
            return await handles.call(self.client, op, **request, threads=self.threads, failure=self.failure)
        if op != "client":
            return await self.call(op, **request)
        try:
            self.client, self.limiters = self.make(request), {}
        except quotalock.QuotalockError as error:
            return self.failure(error)
        return {"result": None}

    def failure(self, error: quotalock.QuotalockError) -> Answer:
        """Shows an error in every form in which a person may meet it."""
        shown = "\n".join([repr(error), traceback.format_exc(), repr(self.client)])
        return {"error": error.code, "class": type(error).__name__, "message": str(error), "shown": shown}

    async def call(self, op: str, limiter: str, policy: str, key: str, **arguments: Any) -> Answer:
        """Makes one call and tells the times before and after it."""
        if "duration_ms" in arguments:
            arguments["duration"] = arguments.pop("duration_ms") / 1000
        invoke = time.monotonic_ns()
        try:
            if (limiter, policy) not in self.limiters:
                self.limiters[limiter, policy] = self.client.limiter(limiter, policy)
            invoke = time.monotonic_ns()
            result = getattr(self.limiters[limiter, policy], op)(bytes.fromhex(key), **arguments)
            if inspect.isawaitable(result):
                result = await result
        except quotalock.QuotalockError as error:
            return {"invoke_ns": invoke, "ok_ns": time.monotonic_ns(), **self.failure(error)}
        return {"invoke_ns": invoke, "ok_ns": time.monotonic_ns(), "result": decision(result)}

    async def load(
        self, mix: list[Answer], seconds: float, calls: int, in_flight: int, pause_us: int, seed: int, path: str
    ) -> Answer:
        """Consumes what `mix` offers at random, for a time or a number of calls, and writes the history to `path`."""
        end = time.monotonic_ns() + int(seconds * 1e9)
        history: list[Answer] = []

        async def run(number: int) -> None:
            luck = random.Random(f"{seed}-{number}")
            for _ in range(calls // in_flight):
                if time.monotonic_ns() >= end:
                    break
                entry = luck.choice(mix)
                cost = luck.choice(entry["costs"])
                answer = await self.call("consume", entry["limiter"], entry["policy"], entry["key"], cost=cost)
                answer.pop("shown", None)
                history.append({**entry, "cost": cost, **answer})
                if pause_us:
                    await asyncio.sleep(luck.random() * 2e-6 * pause_us)

        if self.threads:
            await asyncio.gather(*(asyncio.to_thread(asyncio.run, run(number)) for number in range(in_flight)))
        else:
            await asyncio.gather(*(run(number) for number in range(in_flight)))
        with open(path, "w") as file:
            file.writelines(json.dumps(record) + "\n" for record in history)
        return {"result": len(history)}


async def serve(session: Session) -> None:
    """Answers request after request, to the end of the input."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        request = json.loads(line)
        print(json.dumps(await session.do(request.pop("op"), request)), flush=True)


def main() -> None:
    """Serves with the client that the command line asks for."""
    aio = sys.argv[1:] == ["aio"]
    package: Any = quotalock.aio if aio else quotalock

    def make(request: Answer) -> object:
        timeout = request["timeout_ms"] / 1000
        return package.Client(request["url"], prefix=request["prefix"], timeout=timeout, on_error=request["on_error"])

    asyncio.run(serve(Session(make, threads=not aio)))


if __name__ == "__main__":
    main()
