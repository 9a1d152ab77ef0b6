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
        self.setup, self.sleeps = setup, sleeps
        self.name = f"{setup['proc']} {number}"
        self.file = os.open(setup["path"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.luck = random.Random(f"{setup['seed']}-{number}")
        self.stocks = {name: client.stock(name) for name in setup["mix"]}

    async def run(self) -> None:
        """Takes at random, for ever."""
        for request in range(sys.maxsize):
            await self.buy(f"{self.name} {request}")

    async def buy(self, request: str) -> None:
        """Takes units once; then sells them, lets them go, or forgets them."""
        name, buyer = self.luck.choice(self.setup["mix"]), f"buyer {self.luck.randrange(self.setup['buyers'])}"
        record = {"proc": self.setup["proc"], "stock": name, "buyer": buyer, "request": request}
        stock, quantity, hold = self.stocks[name], self.luck.randint(1, 3), self.luck.uniform(0.02, 0.3)
        self.write({**record, "op": "take", "outcome": "begun"})

        def take() -> Any:
            return stock.take(buyer, quantity, hold=hold, request_id=request)

        taken = await self.answered({**record, "op": "take"}, take)
        if taken.reservation is None:
            return
        await self.sleep(self.luck.choice([0.0, self.luck.uniform(0, hold), hold]))
        if self.luck.random() < 0.1:
            await self.answered({**record, "op": "take"}, take)
        id, how = taken.reservation.id, self.luck.random()
        record["reservation"] = id
        if how < self.setup["confirms"]:
            await self.answered({**record, "op": "confirm"}, lambda: stock.confirm(id))
        elif how < 0.6:
            await self.answered({**record, "op": "cancel"}, lambda: stock.cancel(id))

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
                held = {"reservation": answer.reservation.id} if answer.reservation else {}
                self.write({**record, "outcome": answer.outcome, **held})
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
