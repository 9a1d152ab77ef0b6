"""For each line of its input, calls of each feature in a thread and on a loop, `turns.py URL`. Answers with a line."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys

import quotalock
import quotalock.aio
from soak_load import call, call_on_loop, options


async def main(url: str) -> None:
    """Calls until the input ends."""
    luck = random.Random(1)
    with quotalock.Client(url, **options()) as client:
        async with quotalock.aio.Client(url, **options()) as on_loop:
            for _ in sys.stdin:
                for number in range(6):
                    with contextlib.suppress(quotalock.QuotalockError):
                        call(client, number, luck)
                    with contextlib.suppress(quotalock.QuotalockError):
                        await call_on_loop(on_loop, number, luck)
                print(flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
