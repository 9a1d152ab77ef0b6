"""Makes the calls that it is given, and writes what its client told: `hooks.py [aio] URL PREFIX CALLS`."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from typing import Any

import quotalock
from quotalock import aio

told: list[Any] = []


def on_decision(decision: quotalock.Decision, key: str | bytes | int) -> None:
    numbers = (decision.limit, decision.remaining, decision.cost)
    told.append([decision.name, decision.allowed, decision.would_deny, decision.source, *numbers, key])


def on_lost(lock: Any) -> None:
    told.append(["lost", *lock.names])


async def main(module: Any, url: str, prefix: str, calls: list[list[Any]]) -> None:
    async def done(function: Any, *arguments: Any) -> Any:
        answer = function(*arguments)
        return await answer if inspect.isawaitable(answer) else answer

    hooks = {"on_decision": on_decision, "on_lost": on_lost}
    # Which denials come from memory must not hang on the time between two calls.
    client = module.Client(url, prefix=prefix, timeout=10.0, deny_cache_max=60.0, **hooks)
    limiters = {
        name: client.limiter(name, policy, "s", name != "trial")
        for name, policy in {"checkout": "4/hour", "trial": "1/hour"}.items()
    }
    for verb, limiter, key, *amounts in calls:
        told.append(verb)
        if verb == "lose":
            lock = client.lock(key)
            await done(lock.acquire)
            await done(lock.force_release)
            await done(lock.release)
        elif verb == "consume_all":
            await done(client.consume_all, [(limiters[name], each) for name, each in key])
        else:
            ttl = [60.0] if verb == "reserve" else []
            try:
                await done(getattr(limiters[limiter], verb), key, *amounts, *ttl)
            except quotalock.QuotalockError as error:
                told.append(error.code)
    await done(client.close)


what = sys.argv[1:]
module = aio if what[0] == "aio" else quotalock
asyncio.run(main(module, what[-3], what[-2], json.loads(what[-1])))
print(json.dumps(told))
