"""Does with quotalock in Python what JSON lines on its input say: `worker.py [aio]`. See workers.py for the protocol."""

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

Answer = dict[str, Any]


def decision(result: Any) -> Any:
    """Takes a result apart as the protocol has it; what is no decision stays as it is."""
    if not hasattr(result, "reset_after"):
        return result
    fields = ("allowed", "limit", "remaining", "cost", "source", "healed")
    shown = {name: getattr(result, name) for name in fields if hasattr(result, name)}
    shown["retry_after_ms"] = None if result.retry_after is None else milliseconds(result.retry_after)
    shown["reset_after_ms"] = milliseconds(result.reset_after)
    if hasattr(result, "rules"):
        shown["rules"] = [decision(rule) for rule in result.rules]
    return shown


def milliseconds(seconds: float) -> int:
    """Rounds up, as the surfaces of the other languages do."""
    return -(-round(seconds * 1e6) // 1000)


class Session:
    """One client and its limiters. `make` makes a client from the fields of a request."""

    def __init__(self, make: Callable[[Answer], Any], *, threads: bool) -> None:
        self.make, self.threads = make, threads
        self.client: Any = None
        self.limiters: dict[tuple[str, str], Any] = {}

    async def do(self, op: str, request: Answer) -> Answer:
        """Carries out one request."""
        if op == "load":
            return await self.load(**request)
        try:
            if op == "client":
                self.client, self.limiters = self.make(request), {}
                return {"result": None}
            return await self.call(op, **request)
        except quotalock.QuotalockError as error:
            shown = [repr(error), traceback.format_exc(), repr(self.client)]
            return {"error": error.code, "class": type(error).__name__, "message": str(error), "shown": shown}

    async def call(self, op: str, limiter: str, policy: str, key: str, **arguments: Any) -> Answer:
        """Makes one call, with the times before and after it."""
        if "duration_ms" in arguments:
            arguments["duration"] = arguments.pop("duration_ms") / 1000
        if (limiter, policy) not in self.limiters:
            self.limiters[limiter, policy] = self.client.limiter(limiter, policy)
        method = getattr(self.limiters[limiter, policy], op)
        invoke = time.monotonic_ns()
        try:
            result = method(bytes.fromhex(key), **arguments)
            if inspect.isawaitable(result):
                result = await result
        except quotalock.QuotalockError as error:
            error.__dict__["ok_ns"] = ok = time.monotonic_ns()
            if op != "attempt":
                raise
            return {"invoke_ns": invoke, "ok_ns": ok, "error": error.code, "message": str(error)}
        return {"invoke_ns": invoke, "ok_ns": time.monotonic_ns(), "result": decision(result)}
