"""Python with threads: Quotalock, or redis-py with hiredis."""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Callable
from importlib.metadata import version
from itertools import cycle
from operator import attrgetter
from typing import Any

from serve import Lane, Setup, serve, setup, turned, was_admitted

Call = Callable[[str], Any]
Judge = Callable[[Any], bool]


def quotalock_calls(setup: Setup) -> tuple[list[str], Call, Judge]:
    import quotalock

    client = quotalock.Client(setup.url, prefix=setup.prefix, timeout=5.0, deny_cache_max=0)
    limiter = client.limiter("bench", setup.policy)
    return setup.own_keys(), limiter.consume, attrgetter("allowed")


def redis_py_calls(setup: Setup) -> tuple[list[str], Call, Judge]:
    import redis

    evalsha, argv = redis.Redis(port=setup.port).evalsha, setup.argv
    sha = str(redis.Redis(port=setup.port, decode_responses=True).script_load(setup.script_text()))
    return setup.raw_keys(), lambda key: evalsha(sha, 1, key, *argv), was_admitted


def drive(lane: Lane, keys: list[str], call: Call, judge: Judge, stop: int, took: list[int]) -> None:
    """Calls until the time is over."""
    clock, calls, admitted = time.perf_counter_ns, 0, 0
    before = clock()
    for key in cycle(keys):
        if judge(call(key)):
            admitted += 1
        calls += 1
        after = clock()
        took.append(after - before)
        before = after
        if after >= stop:
            break
    lane.calls, lane.admitted = calls, admitted


def main() -> None:
    this = setup()
    keys, call, judge = {"quotalock": quotalock_calls, "raw": redis_py_calls}[this.client](this)

    def run(seconds: float, took: list[int]) -> list[Lane]:
        lanes = [Lane() for _ in range(this.lanes)]
        stop = time.perf_counter_ns() + int(seconds * 1e9)
        threads = [
            threading.Thread(target=drive, args=(lane, turned(keys, number, this.lanes), call, judge, stop, took))
            for number, lane in enumerate(lanes)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return lanes

    packages = ("quotalock",) if this.client == "quotalock" else ("redis", "hiredis")
    serve(", ".join([f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in packages)]), run)


if __name__ == "__main__":
    main()
