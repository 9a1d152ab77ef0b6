"""Consumes in Python: `worker.py URL PREFETCH SECONDS IN_FLIGHT [asyncio]`; tells how many decisions in what time.

BENCH_POLICY is the policy, unless it is one that admits all.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time

import quotalock
import quotalock.aio

POLICY = os.environ.get("BENCH_POLICY", "1000000000/h")
# So many calls between two looks at the clock.
CALLS = 100


def main(url: str, prefetch: int | None, seconds: float) -> None:
    with quotalock.Client(url, timeout=5.0) as client:
        limiter = client.limiter("bench", POLICY, prefetch=prefetch)
        for _ in range(1_000):
            limiter.consume("k")
        print("ready", flush=True)
        sys.stdin.readline()
        calls, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < seconds:
            for _ in range(CALLS):
                limiter.consume("k")
            calls += CALLS
        print(json.dumps([calls, time.perf_counter() - begin]), flush=True)


async def looped(url: str, prefetch: int | None, seconds: float, in_flight: int) -> None:
    async with quotalock.aio.Client(url, timeout=5.0) as client:
        limiter = client.limiter("bench", POLICY, prefetch=prefetch)
        for _ in range(1_000):
            await limiter.consume("k")
        print("ready", flush=True)
        sys.stdin.readline()
        begin = time.perf_counter()

        async def caller() -> int:
            calls = 0
            while time.perf_counter() - begin < seconds:
                for _ in range(CALLS):
                    await limiter.consume("k")
                calls += CALLS
            return calls

        calls = sum(await asyncio.gather(*(caller() for _ in range(in_flight))))
        print(json.dumps([calls, time.perf_counter() - begin]), flush=True)


if __name__ == "__main__":
    where, prefetch, seconds, in_flight = sys.argv[1:5]
    if sys.argv[5:] == ["asyncio"]:
        asyncio.run(looped(where, int(prefetch) or None, float(seconds), int(in_flight)))
    else:
        main(where, int(prefetch) or None, float(seconds))
