"""Python's asyncio: as many calls in flight as there are lanes, on one loop. See `common.py` and `aio_peers.py`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from serve import Lane, serve

from compare.workers.aio_peers import LIMITERS
from compare.workers.common import CHECKED, Calls, checked, task, versions

# So many lanes, at most, watch the clock: reading it must not become part of what is measured.
WATCHED = 10


class Rounds:
    """Makes rounds on one loop, so that connections live from the first to the last."""

    def __init__(self, lines: list[Iterator[str]], calls: Calls) -> None:
        self.lines, self.calls, self.running = lines, calls, False

    async def round(self, seconds: float, took: list[int]) -> list[Lane]:
        """Keeps every lane busy until the time is over."""
        lanes = [Lane() for _ in self.lines]
        self.running = True
        asyncio.get_running_loop().call_later(seconds, self.stop)
        step = max(1, len(lanes) // WATCHED)
        drives = [self.drive if number % step else self.watched for number in range(len(lanes))]
        await asyncio.gather(
            *(drive(lane, keys, took) for drive, lane, keys in zip(drives, lanes, self.lines, strict=True))
        )
        return lanes

    def stop(self) -> None:
        self.running = False

    async def drive(self, lane: Lane, keys: Iterator[str], took: list[int]) -> None:
        (call, judge), made, admitted = self.calls, 0, 0
        for key in keys:
            if judge(await call(key)):
                admitted += 1
            made += 1
            if not self.running:
                break
            # Who answers without a call to the server must leave the loop a turn now and then.
            if not made % 64:
                await asyncio.sleep(0)
        lane.calls, lane.admitted = made, admitted

    async def watched(self, lane: Lane, keys: Iterator[str], took: list[int]) -> None:
        """As `drive`, and times each call."""
        (call, judge), made, admitted, clock = self.calls, 0, 0, time.perf_counter_ns
        for key in keys:
            before = clock()
            if judge(await call(key)):
                admitted += 1
            took.append(clock() - before)
            made += 1
            if not self.running:
                break
            if not made % 64:
                await asyncio.sleep(0)
        lane.calls, lane.admitted = made, admitted


def main() -> None:
    this = task()
    loop = asyncio.new_event_loop()
    make, packages = LIMITERS[this.client]

    async def answers() -> list[bool]:
        call, judge = await make(this)
        return [judge(await call(CHECKED)) for _ in range(this.check)]

    if this.check:
        checked(versions(*packages), loop.run_until_complete(answers()))
        return

    async def begin() -> Rounds:
        return Rounds(this.lines(), await make(this))

    rounds = loop.run_until_complete(begin())
    serve(versions(*packages), lambda seconds, took: loop.run_until_complete(rounds.round(seconds, took)))


if __name__ == "__main__":
    main()
