"""`make figures`: measures the figures of the guides and writes them into these, with those of the benchmarks.

The memory is that of a real server, the worst cases are found in virtual time, and speeds are read from docs/data. None
depends on this machine's speed: `tests/incident/test_guide.py` compares.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import benchmark_charts
import quotalock
import redis
import speeds
from layout import put, table
from quotalock import testing
from traffic import ALGORITHMS, ROOT

sys.path.insert(0, str(ROOT / "tests" / "harness"))

from servers import Server
from sizes import SERVER, cache, stock

HERE = Path(__file__).resolve().parent
GUIDE = HERE / "algorithms.md"
# A moment that is a multiple of every period in use here, in microseconds.
EDGE = 1_699_999_200_000_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
KEY = "user:42"
# How many admissions a log holds.
LOGS = (10, 100, 10_000)
GROWING = (100, 4_000)
RESERVATIONS = 100


def main() -> int:
    for name, (guide, block) in BLOCKS.items():
        guide.write_text(put(guide.read_text(), name, block()))
    for name, chart in benchmark_charts.charts(speeds.DATA):
        (ROOT / "docs/images" / name).write_text(chart)
    return 0


def memory() -> str:
    """What `MEMORY USAGE` says of the key of each kind of state, and for how many admissions or reservations."""
    with Server(SERVER) as server:
        sizes = _memory_of(server.url)
        least, most = _admissions_of_logs(server.url)
    rows = [[name, f"{size:,}", f"{size / parts:.1f}" if parts > 1 else ""] for name, size, parts in sizes]
    name = f"a `sliding-log` of {GROWING[0]} to {GROWING[1]:,} admissions, as it grows and shrinks"
    rows.insert(-3, [name, "", f"{least:.1f} to {most:.1f}"])
    return table(["state of one key", "bytes", "of each"], rows)


def _memory_of(url: str) -> list[tuple[str, int, int]]:
    client, server = quotalock.Client(url), redis.Redis.from_url(url)
    testing.set_time(client, EDGE)
    sizes = []

    def measure(name: str, key: bytes | str, parts: int = 1) -> None:
        sizes.append((name, int(server.memory_usage(key, samples=0) or 0), parts))
        server.flushall()

    counter = client.limiter("checkout", "10/minute").redis_key(KEY)
    server.set(counter, 1, px=60_000)
    measure("for comparison: a number with a TTL", counter)
    policies = [f"{algorithm} 10/minute" for algorithm in ALGORITHMS if algorithm != "sliding-log"]
    for policy in [*policies, "10/minute;100/hour"]:
        limiter = client.limiter("checkout", policy)
        limiter.consume(KEY)
        measure(f"`{policy}`", limiter.redis_key(KEY))
    for entries in LOGS:
        limiter = client.limiter("checkout", f"sliding-log {entries}/hour")
        for number in range(entries):
            testing.set_time(client, EDGE + number)
            limiter.require(KEY)
        measure(f"`sliding-log {entries}/hour` with {entries:,} admissions", limiter.redis_key(KEY), entries)
    testing.set_time(client, EDGE)
    limiter = client.limiter("checkout", f"{RESERVATIONS}/minute")
    for count in (1, RESERVATIONS):
        for _ in range(count):
            limiter.reserve(KEY, 1, 60)
        measure(f"`{limiter.policy}` with {count} open reservation{'s' * (count > 1)}", limiter.redis_key(KEY), count)
    limiter.consume(KEY, request_id="3f9c1a52-7f4e-4f0b-9d0b-0c5a3f1e2d77")
    server.delete(limiter.redis_key(KEY))
    (request,) = server.keys()
    measure("a remembered request id (a UUID), with one rule", request)
    return sizes


def _admissions_of_logs(url: str) -> tuple[float, float]:
    """The least and the most that an admission takes while a log grows to a size and, as two leave for each that comes,
    shrinks again.
    """
    client, server = quotalock.Client(url), redis.Redis.from_url(url)
    limiter = client.limiter("checkout", f"sliding-log {GROWING[1]}/hour")
    times = [EDGE + number for number in range(GROWING[1])]
    times += [time + 60 * MINUTE for time in times[1::2]]
    sizes = []
    for number, time in enumerate(times):
        testing.set_time(client, time)
        live = GROWING[1] - limiter.require(KEY).remaining
        if live >= GROWING[0] and number % 5 == 0:
            sizes.append(int(server.memory_usage(limiter.redis_key(KEY), samples=0) or 0) / live)
    return min(sizes), max(sizes)


def worst() -> str:
    """The worst that callers found who ask again at the very moment at which `retry_after` says."""
    rows = []
    for limit in (10, 1):
        for algorithm in ALGORITHMS:
            policy = f"{algorithm} {limit}/minute"
            # A burst at an edge of the calendar and just before one, both in a new window and late in one.
            runs = [press(policy, start, opened) for start in (EDGE, EDGE - 1) for opened in (False, True)]
            moment, minute = (max(_most(times, length) for times, _ in runs) for length in (SECOND, MINUTE))
            wait = max(longest for _, longest in runs) / SECOND
            times = runs[0][0]
            late = sum(EDGE + 50 * MINUTE <= time < EDGE + 100 * MINUTE for time in times) / 50
            rows.append([f"`{policy}`", str(minute), str(moment), f"{late:g}", f"{wait:g} s"])
    head = ["policy", "most in any minute", "most in any second", "a minute in the long run", "longest wait"]
    return table(head, rows)


def press(policy: str, start: int, opened: bool) -> tuple[list[int], int]:
    """Asks for one at a time, again as soon as it can be admitted, for 100 minutes from a start; maybe with one call
    long before, which opens a window that ends just after the start. Tells when it was admitted and the longest wait.
    """
    # One of its own each time: nothing of the last one is left.
    client = quotalock.Client("memory://pressed")
    limiter = client.limiter("pressed", policy)
    now, longest = start, 0
    times = []
    if opened:
        testing.set_time(client, start - MINUTE + 1)
        if limiter.consume(KEY):
            times.append(start - MINUTE + 1)
    while now < start + 100 * MINUTE:
        testing.set_time(client, now)
        decision = limiter.consume(KEY)
        if decision.allowed:
            times.append(now)
        elif decision.retry_after is not None:
            wait = round(decision.retry_after * SECOND)
            longest = max(longest, wait)
            now += wait
    return times, longest


def _most(times: Sequence[int], length: int) -> int:
    """The most of these times in any stretch of this length; its end does not belong to it."""
    first, most = 0, 0
    for last, time in enumerate(times):
        while times[first] <= time - length:
            first += 1
        most = max(most, last - first + 1)
    return most


# Each block that is measured: which guide it is in, and what makes it.
BLOCKS: dict[str, tuple[Path, Callable[[], str]]] = {
    "memory": (HERE / "limiter-internals.md", memory),
    "worst": (GUIDE, worst),
    "stock": (HERE / "stock-failures.md", stock),
    "cache": (HERE / "cache.md", cache),
    **speeds.BLOCKS,
}

if __name__ == "__main__":
    sys.exit(main())
