"""Python with threads: one call at a time in each. See `common.py` for the task, `sync_peers.py` for whom."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

from serve import Lane, serve

from compare.workers.common import CHECKED, Calls, Task, checked, task, versions
from compare.workers.sync_peers import LIMITERS, LOCKS


def drive(lane: Lane, keys: Iterator[str], calls: Calls, stop: int, took: list[int]) -> None:
    """Calls until the time is over."""
    (call, judge), clock, made, admitted = calls, time.perf_counter_ns, 0, 0
    before = clock()
    for key in keys:
        if judge(call(key)):
            admitted += 1
        made += 1
        after = clock()
        took.append(after - before)
        before = after
        if after >= stop:
            break
    lane.calls, lane.admitted = made, admitted


def rounds(this: Task, calls: Calls, told: str) -> None:
    lines = this.lines()

    def run(seconds: float, took: list[int]) -> list[Lane]:
        lanes = [Lane() for _ in lines]
        stop = time.perf_counter_ns() + int(seconds * 1e9)
        if len(lanes) == 1:
            drive(lanes[0], lines[0], calls, stop, took)
            return lanes
        threads = [
            threading.Thread(target=drive, args=(lane, keys, calls, stop, took))
            for lane, keys in zip(lanes, lines, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return lanes

    serve(told, run)


def pair(acquire: Any, release: Any) -> Calls:
    """A lock acquired and released, as one call."""

    def call(key: str) -> bool:
        held = acquire(key)
        if held is None:
            return False
        release(held)
        return True

    return call, bool


def main() -> None:
    this = task()
    if this.kind == "lock":
        take, packages = LOCKS[this.client]
        acquire, release = take(this)
        if this.check:
            held = acquire(CHECKED)
            answers = [held is not None, acquire(CHECKED) is not None]
            release(held)
            checked(versions(*packages), [*answers, acquire(CHECKED) is not None])
            return
        rounds(this, pair(acquire, release), versions(*packages))
        return
    make, packages = LIMITERS[this.client]
    call, judge = make(this)
    if this.check:
        checked(versions(*packages), [judge(call(CHECKED)) for _ in range(this.check)])
        return
    rounds(this, (call, judge), versions(*packages))


if __name__ == "__main__":
    main()
