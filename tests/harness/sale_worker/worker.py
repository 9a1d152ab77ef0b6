"""Takes units and settles them in Python and writes down what came of it: `worker.py SETUP [aio]`. See sale_load.py."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any

Record = dict[str, Any]


class Lane:
    """One taker: one call after the other, each with a line in the history."""

    def __init__(self, setup: Record, client: Any, number: int, *, sleeps: bool) -> None:
        self.setup, self.client, self.sleeps = setup, client, sleeps
        self.name = f"{setup['proc']} {number}"
        self.file = os.open(setup["path"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.luck = random.Random(f"{setup['seed']}-{number}")
        self.stocks = {name: client.stock(name) for name in setup["mix"]}

    async def run(self) -> None:
        """Takes at random, for ever."""
        for request in range(sys.maxsize):
            await self.buy(f"{self.name} {request}")

    async def buy(self, request: str) -> None:
        """Takes units once, of one stock or of several; then sells them, lets them go, or forgets them."""
        several = self.luck.random() < self.setup["baskets"]
        names = self.luck.sample(self.setup["mix"], self.luck.randint(2, 3) if several else 1)
        buyer, hold = f"buyer {self.luck.randrange(self.setup['buyers'])}", self.luck.uniform(0.02, 0.3)
        takes = [(self.stocks[name], self.luck.randint(1, 3)) for name in names]
        record = {"proc": self.setup["proc"], "stocks": names, "buyer": buyer, "request": request}
        suffix = "_all" if several else ""
        self.write({**record, "op": f"take{suffix}", "outcome": "begun"})

        def take() -> Any:
            if several:
                return self.client.take_all(takes, buyer, hold=hold, request_id=request)
            return takes[0][0].take(buyer, takes[0][1], hold=hold, request_id=request)

        held = reservations(await self.answered({**record, "op": f"take{suffix}"}, take))
        if not held:
            return
        await self.sleep(self.luck.choice([0.0, self.luck.uniform(0, hold), hold]))
        if self.luck.random() < 0.1:
            await self.answered({**record, "op": f"take{suffix}"}, take)
        how = self.luck.random()
        verb = "confirm" if how < self.setup["confirms"] else "cancel" if how < 0.6 else None
        if verb is None:
            return
        settling = {**record, "op": f"{verb}{suffix}", "reservations": held}
        pairs = [(self.stocks[name], id) for name, id in zip(names, held, strict=True)]
        if several:
            await self.answered(settling, lambda: getattr(self.client, f"{verb}_all")(pairs))
        else:
            await self.answered(settling, lambda: getattr(pairs[0][0], verb)(held[0]))

    async def answered(self, record: Record, call: Callable[[], Any]) -> Any:
        """Calls until there is an answer, and writes down each."""
        while True:
            try:
                answer = call()
                answer = await answer if inspect.isawaitable(answer) else answer
            except Exception as error:
                self.write({**record, "outcome": getattr(error, "code", repr(error))})
                if getattr(error, "code", "") not in ("unavailable", "timeout"):
                    raise
                await self.sleep(0.01)
                continue
            if isinstance(answer, bool):
                self.write({**record, "outcome": str(answer).lower()})
            else:
                self.write({**record, "outcome": answer.outcome, "reservations": reservations(answer)})
            return answer

    def write(self, record: Record) -> None:
        """Adds a line to the history, at once."""
        os.write(self.file, json.dumps(record).encode() + b"\n")

    async def sleep(self, seconds: float) -> None:
        """Sleeps as takers of its kind do."""
        if self.sleeps:
            time.sleep(seconds)
        else:
            await asyncio.sleep(seconds)


def reservations(answer: Any) -> list[str]:
    """The ids of what a take answered."""
    held = answer.reservations if hasattr(answer, "reservations") else [answer.reservation]
    return [each.id for each in held if each]


async def main() -> None:
    """Runs all lanes, each in a thread of its own or all in this one."""
    import quotalock
    import quotalock.aio

    setup, aio = json.loads(sys.argv[1]), sys.argv[2:] == ["aio"]
    package: Any = quotalock.aio if aio else quotalock
    client = package.Client(setup["url"], prefix=setup["prefix"], timeout=setup["timeout_ms"] / 1000)
    lanes = [Lane(setup, client, number, sleeps=not aio) for number in range(setup["lanes"])]
    if aio:
        await asyncio.gather(*(lane.run() for lane in lanes))
    else:
        await asyncio.gather(*(asyncio.to_thread(asyncio.run, lane.run()) for lane in lanes))


if __name__ == "__main__":
    asyncio.run(main())
