"""Calls a hostile server and a good one at the same time, in Python: `caller.py [aio]`. See test_hostile.py.

A line of its input is an attack: `bad` and `good` (URLs), `timeout_ms`, `seconds`, and what is asked of the bad one,
`call`: `consume`, or `acquire` with a wait of `wait_ms`. The answer to each is a line with the longest calls and their
number, the codes of the bad one's errors, and of this process how many threads it had at most and how much its memory
grew.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import quotalock
from quotalock import aio

BAD_CALLERS = 3


def status(name: str) -> int:
    """A number that the kernel knows of this process."""
    return int(Path("/proc/self/status").read_text().split(f"{name}:")[1].split()[0])


def begin() -> int:
    """Forgets the peak of the memory; returns what there is now, in KiB."""
    Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")


class Tally:
    """What one side's calls came to."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds
        self.longest_ms, self.calls, self.threads = 0.0, 0, 0
        self.codes: set[str] = set()

    def more(self) -> bool:
        """Whether it is not over yet."""
        return time.monotonic() < self.end

    def note(self, began: float, code: str) -> None:
        """Notes one call."""
        self.longest_ms = max(self.longest_ms, (time.monotonic() - began) * 1e3)
        self.calls += 1
        self.codes.add(code)
        self.threads = max(self.threads, status("Threads"))


def granted(acquired: bool) -> str:
    """What came of an acquisition."""
    return "ok" if acquired else "not_acquired"


def answer(bad: Tally, good: Tally, before: int) -> dict[str, Any]:
    """The answer to one attack."""
    return {
        "bad_ms": bad.longest_ms,
        "bad_calls": bad.calls,
        "codes": sorted(bad.codes),
        "good_ms": good.longest_ms,
        "good_calls": good.calls,
        "good_codes": sorted(good.codes),
        "threads": max(bad.threads, good.threads),
        "grown_kb": status("VmHWM") - before,
    }


def attack(request: dict[str, Any]) -> dict[str, Any]:
    """One attack on threads."""
    timeout = request["timeout_ms"] / 1e3
    with (
        quotalock.Client(request["bad"], timeout=timeout) as bad_client,
        quotalock.Client(request["good"]) as good_client,
    ):
        good_client.limiter("good", "1000000/1s").consume("k")
        before = begin()
        bad, good = Tally(request["seconds"]), Tally(request["seconds"])

        def call_bad() -> None:
            limiter = bad_client.limiter("bad", "5/1h")
            while bad.more():
                began = time.monotonic()
                code = "ok"
                try:
                    if request["call"] == "acquire":
                        code = granted(bad_client.lock("bad").acquire(wait=request["wait_ms"] / 1e3))
                    else:
                        limiter.consume("k")
                except quotalock.QuotalockError as error:
                    code = error.code
                bad.note(began, code)
                time.sleep(0.002)

        def call_good() -> None:
            limiter = good_client.limiter("good", "1000000/1s")
            while good.more():
                began = time.monotonic()
                limiter.consume("k")
                good.note(began, "ok")
                time.sleep(0.002)

        threads = [threading.Thread(target=call_bad) for _ in range(BAD_CALLERS)] + [threading.Thread(target=call_good)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answer(bad, good, before)


async def attack_aio(request: dict[str, Any]) -> dict[str, Any]:
    """One attack on a loop."""
    timeout = request["timeout_ms"] / 1e3
    async with aio.Client(request["bad"], timeout=timeout) as bad_client, aio.Client(request["good"]) as good_client:
        await good_client.limiter("good", "1000000/1s").consume("k")
        before = begin()
        bad, good = Tally(request["seconds"]), Tally(request["seconds"])

        async def call_bad() -> None:
            limiter = bad_client.limiter("bad", "5/1h")
            while bad.more():
                began = time.monotonic()
                code = "ok"
                try:
                    if request["call"] == "acquire":
                        code = granted(await bad_client.lock("bad").acquire(wait=request["wait_ms"] / 1e3))
                    else:
                        await limiter.consume("k")
                except quotalock.QuotalockError as error:
                    code = error.code
                bad.note(began, code)
                await asyncio.sleep(0.002)

        async def call_good() -> None:
            limiter = good_client.limiter("good", "1000000/1s")
            while good.more():
                began = time.monotonic()
                await limiter.consume("k")
                good.note(began, "ok")
                await asyncio.sleep(0.002)

        await asyncio.gather(*(call_bad() for _ in range(BAD_CALLERS)), call_good())
        return answer(bad, good, before)


def main() -> None:
    """Carries out one attack after the other."""
    for line in sys.stdin:
        request = json.loads(line)
        result = asyncio.run(attack_aio(request)) if sys.argv[1:] == ["aio"] else attack(request)
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
