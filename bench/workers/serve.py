"""What the Python workers share: rounds are asked for on the input, one a line, and their figures go to the output.

Every worker, in every language, is started with one JSON argument (`Setup`), says in a line what it is, and then reads
how many seconds the next round shall last. The CPU it counts is that of the calls, not of working out the figures.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# A consume script replies 1, now, healed, block left, wait, remaining and reset, of 8 bytes each; a raw client's caller
# reads it so.
BLOCK_LEFT_AND_WAIT, NONE = slice(24, 40), bytes(16)


@dataclass(frozen=True)
class Setup:
    """What to call, and how many calls are under way at a time (`lanes`)."""

    client: str
    port: int
    prefix: str
    policy: str
    keys: int
    lanes: int
    script: str
    argv: list[str]
    scheme: str = "redis"

    @property
    def url(self) -> str:
        """The server's address."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def own_keys(self) -> list[str]:
        """The keys as a user of Quotalock names them."""
        return [f"user:{number}" for number in range(self.keys)]

    def raw_keys(self) -> list[str]:
        """The keys as Redis gets them, of the same length as Quotalock makes them; made before the clock runs."""
        return [f"{self.prefix}:limit:bench:{{user:{number}}}" for number in range(self.keys)]

    def script_text(self) -> str:
        """The Lua text of the script."""
        return Path(self.script).read_text()


@dataclass
class Lane:
    """What one line of calls, each made when the one before was answered, has to tell."""

    calls: int = 0
    admitted: int = 0


def turned(keys: Sequence[str], lane: int, lanes: int) -> list[str]:
    """The keys in a circle that begins elsewhere for each lane, so that lanes do not meet on a key."""
    start = len(keys) * lane // lanes
    return [*keys[start:], *keys[:start]]


def was_admitted(reply: Any) -> bool:
    """Reads the answer out of a raw reply."""
    return bool(reply[BLOCK_LEFT_AND_WAIT] == NONE)


def serve(versions: str, run: Callable[[float, list[int]], Sequence[Lane]]) -> None:
    """Makes rounds to the end of the input. `run` makes one, and appends the nanoseconds that calls took."""
    print(json.dumps({"versions": versions}), flush=True)
    for line in sys.stdin:
        took: list[int] = []
        begun, used, main = time.perf_counter(), cpu_us(), main_us()
        lanes = [*run(float(line), took)]
        # On a busy machine no call may end within a round of an instant.
        while not took:
            lanes += run(float(line), took)
        seconds, used, main = time.perf_counter() - begun, cpu_us() - used, main_us() - main
        took.sort()
        figures = {
            "calls": sum(lane.calls for lane in lanes),
            "admitted": sum(lane.admitted for lane in lanes),
            "seconds": seconds,
            "cpu_us": used,
            "main_us": main,
            "p50_us": took[len(took) // 2] / 1000,
            "p99_us": took[len(took) * 99 // 100] / 1000,
            "p999_us": took[len(took) * 999 // 1000] / 1000,
        }
        print(json.dumps(figures), flush=True)


def cpu_us() -> float:
    """The CPU this process has used, in user space and in the kernel."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return (usage.ru_utime + usage.ru_stime) * 1e6


def main_us() -> float:
    """The CPU that the main thread, of asyncio the loop's, has used."""
    pid = os.getpid()
    return int(Path(f"/proc/self/task/{pid}/schedstat").read_text().split()[0]) / 1000


def setup() -> Setup:
    """Reads the argument."""
    return Setup(**json.loads(sys.argv[1]))
