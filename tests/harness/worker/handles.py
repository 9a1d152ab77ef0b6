"""Calls of stocks, onces and caches in Python. The protocol is in workers.py."""

from __future__ import annotations

import asyncio
import inspect
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Answer = dict[str, Any]

# What Python tells in seconds.
TIMES = ("until", "ends", "time", "age", "remaining")


class Failed(Exception):
    """What a loader fails with."""


class Loader:
    """Makes what it is told to make, once the file is there that it is to wait for, and counts how often."""

    def __init__(self, how: Answer) -> None:
        self.how, self.loads = how, 0

    def load(self) -> Any:
        """Loads, and keeps its thread meanwhile."""
        self.loads += 1
        while not self.may_end():
            time.sleep(0.002)
        return self.made()

    async def load_later(self) -> Any:
        """Loads, and lets others go on."""
        self.loads += 1
        while not self.may_end():
            await asyncio.sleep(0.002)
        return self.made()

    def may_end(self) -> bool:
        """Whether nothing holds it up any more."""
        return "until" not in self.how or Path(self.how["until"]).exists()

    def made(self) -> Any:
        """What it is told to make."""
        if "fails" in self.how:
            raise Failed(self.how["fails"])
        return json.loads(self.how["json"]) if "json" in self.how else octets(self.how["value"])


async def call(
    client: Any,
    op: str,
    name: str,
    options: Answer,
    arguments: Answer,
    *,
    threads: bool,
    failure: Callable[..., Answer],
) -> Answer:
    """Makes one call and tells the times before and after it."""
    import quotalock

    kind, method = op.split(".")
    given = {argument: taken(argument, value) for argument, value in seconds(arguments).items()}
    loader = Loader(given.pop("load")) if "load" in given else None
    if loader:
        given["function" if kind == "once" else "load"] = loader.load if threads else loader.load_later
    if kind == "once":
        given["id"] = given.pop("key")
    for pairs in given.keys() & {"takes", "reservations"}:
        given[pairs] = [(client.stock(stock, **seconds(options)), second) for stock, second in given[pairs]]
    handle = client if kind == "client" else getattr(client, kind)(name, **seconds(options))
    answer: Answer = {"invoke_ns": time.monotonic_ns()}
    try:
        result = getattr(handle, method)(**given)
        result = await result if inspect.isawaitable(result) else result
        answer["result"] = json.dumps(result) if method == "get_json" else shown(result)
    except Failed as error:
        answer |= {"error": "own", "message": str(error)}
    except quotalock.QuotalockError as error:
        answer |= failure(error)
    return {**answer, "ok_ns": time.monotonic_ns(), "loads": loader.loads if loader else 0}


def taken(argument: str, value: Any) -> Any:
    """An argument as Python takes it."""
    if argument == "prizes":
        return [octets(prize) for prize in value]
    return octets(value) if argument in ("key", "buyer", "value", "request_id") else value


def octets(value: str | None) -> bytes | None:
    """The bytes of hexadecimal digits."""
    return None if value is None else bytes.fromhex(value)


def seconds(given: Answer) -> Answer:
    """What is given with its durations in seconds."""
    return {n.removesuffix("_ms"): v / 1000 if n.endswith("_ms") else v for n, v in given.items()}


def shown(answer: Any) -> Any:
    """An answer as the protocol has it."""
    match answer:
        case None | bool() | int() | str():
            return answer
        case bytes():
            return answer.hex()
        case list() | tuple():
            return [shown(each) for each in answer]
    fields = {name: getattr(answer, name) for name in dir(answer) if not name.startswith("_")}
    return {f"{n}_ms" if n in TIMES else n: ms(v) if n in TIMES else shown(v) for n, v in fields.items()}


def ms(seconds: float | None) -> int | None:
    """Whole milliseconds, rounded down as moments are in the other languages."""
    return None if seconds is None else round(seconds * 1e6) // 1000
