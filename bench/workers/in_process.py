"""Python of `make bench ONLY=memory`: `in_process.py ours|aio|limits CALLS` prints the CPU nanoseconds of one call."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from itertools import repeat
from typing import Any

KEY = "user:42"
POLICY = "1000000000/hour"


def ours() -> Callable[[str], Any]:
    import quotalock

    return quotalock.Client("memory://").limiter("bench", POLICY).consume


def limits() -> Callable[[str], Any]:
    from limits import parse
    from limits.storage import MemoryStorage
    from limits.strategies import FixedWindowRateLimiter

    limiter, rate = FixedWindowRateLimiter(MemoryStorage()), parse("1000000000/hour")
    return lambda key: limiter.hit(rate, key)


def drive(call: Callable[[str], Any], calls: int) -> float:
    begun = time.process_time_ns()
    for key in repeat(KEY, calls):
        call(key)
    return (time.process_time_ns() - begun) / calls


async def drive_aio(calls: int) -> float:
    from quotalock import aio

    limiter = aio.Client("memory://").limiter("bench", POLICY)
    begun = time.process_time_ns()
    for key in repeat(KEY, calls):
        await limiter.consume(key)
    return (time.process_time_ns() - begun) / calls


def main() -> None:
    contender, calls = sys.argv[1], int(sys.argv[2])
    if contender == "aio":
        print(asyncio.run(drive_aio(calls)))
        return
    call = {"ours": ours, "limits": limits}[contender]()
    drive(call, calls // 10 + 1)
    print(drive(call, calls))


if __name__ == "__main__":
    main()
