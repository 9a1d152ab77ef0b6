"""Does with quotalock in Python what JSON lines on its input say: `worker.py [aio]`. The protocol is in workers.py."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import queue
import random
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import quotalock
import quotalock.aio

Answer = dict[str, Any]
API = json.loads((Path(__file__).resolve().parents[2] / "spec/api.json").read_text())
# Rounded up, as the surfaces of the other languages do; moments are rounded down.
WAITS = {"retry_after", "reset_after"}
# How often a load makes a call that has a request id, and after which errors again.
TRIES, AGAIN = 500, ("unavailable", "timeout")


class Failed(Exception):
    """What a loader fails with."""


class Loader:
    """Makes what it is told to make once it has taken its time, and counts how often; `tell` hears when it begins."""

    def __init__(self, how: Answer, tell: Callable[[Answer], None]) -> None:
        self.how, self.tell, self.loads = how, tell, 0

    def load(self) -> Any:
        """Loads, and keeps its thread meanwhile."""
        self.begin()
        while not self.may_end():
            time.sleep(0.002)
        return self.made()

    async def load_later(self) -> Any:
        """Loads, and lets others go on."""
        self.begin()
        while not self.may_end():
            await asyncio.sleep(0.002)
        return self.made()

    def begin(self) -> None:
        """Counts and says that it has begun."""
        self.loads, self.end = self.loads + 1, time.monotonic() + self.how.get("takes_ms", 0) / 1000
        self.tell({"loads": self.loads, "at_ns": time.monotonic_ns()})

    def may_end(self) -> bool:
        """Whether nothing holds it up any more."""
        return time.monotonic() >= self.end and ("until" not in self.how or Path(self.how["until"]).exists())

    def made(self) -> Any:
        """What it is told to make."""
        if "fails" in self.how:
            raise Failed(self.how["fails"])
        return json.loads(self.how["json"]) if "json" in self.how else octets(self.how["value"])


def teller(path: str | None, *, aio: bool) -> Callable[[], Any] | None:
    """What tells the password in a file and marks that it was asked; what begins with a '!' it fails with."""

    def told() -> str:
        with Path(f"{path}.asked").open("a") as asked:
            asked.write("?")
        text = Path(str(path)).read_text()
        if text.startswith("!"):
            raise Failed(text)
        return text

    async def awaited() -> str:
        await asyncio.sleep(0.01)
        return told()

    return None if path is None else awaited if aio else told


class Session:
    """One client and its handles. `make` makes a client from the fields of a request."""

    def __init__(self, make: Callable[[Answer], object], *, threads: bool) -> None:
        self.make, self.threads = make, threads
        self.client: Any = None
        self.handles: dict[str, Any] = {}
        self._output = threading.Lock()

    async def serve(self, request: Answer) -> None:
        """Carries out one request and answers it; what is no error of quotalock ends the process."""
        lane = request.pop("lane")
        try:
            self.tell(lane, await self.do(lane, **request))
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    def tell(self, lane: int, answer: Answer) -> None:
        """Writes a line."""
        line = json.dumps({"lane": lane, **answer}) + "\n"
        with self._output:
            sys.stdout.write(line)
            sys.stdout.flush()

    async def do(self, lane: int, op: str, **request: Any) -> Answer:
        """Carries out one request."""
        if op == "load":
            return await self.load(lane, **request)
        if op != "client":
            return await self.call(lane, op, **request)
        try:
            self.client, self.handles = self.make(request), {}
        except quotalock.QuotalockError as error:
            return self.failure(error)
        return {"result": None}

    def failure(self, error: Exception) -> Answer:
        """Shows an error in every form in which a person may meet it."""
        shown = "\n".join([repr(error), traceback.format_exc(), repr(self.client)])
        code = getattr(error, "code", None)
        if code is None:
            raise error
        return {"error": code, "class": type(error).__name__, "message": str(error), "shown": shown}

    async def call(
        self,
        lane: int,
        op: str,
        name: object = "",
        options: Answer | None = None,
        arguments: Answer | None = None,
        *,
        at_ns: int = 0,
        look: tuple[str, ...] = (),
        announce: bool = False,
    ) -> Answer:
        """Makes one call and tells the times before and after it."""
        kind, method = op.split(".")
        options, answer = seconds(options or {}), Answer()
        loader = None
        invoke = time.monotonic_ns()
        try:
            adopts = method == "adopt"
            handle = self.client if adopts else self.handle(lane, kind, name, options)
            given = seconds(arguments or {})
            for pairs in given.keys() & {"takes", "reservations"}:
                given[pairs] = [(self.client.stock(stock, **options), second) for stock, second in given[pairs]]
            for by in given.keys() & {"load", "function"}:
                loader = Loader(given[by], lambda begun: self.tell(lane, {"begun": begun}))
                given[by] = loader.load if self.threads else loader.load_later
            await self.sleep(at_ns)
            invoke = time.monotonic_ns()
            if announce:
                self.tell(lane, {"begun": {"at_ns": invoke, **seen(handle, look)}})
            result = getattr(handle, method)(**given)
            result = await result if inspect.isawaitable(result) else result
            if adopts:
                handle = self.handles[json.dumps([lane, kind, name, options])] = result
                result = True
            answer["ok_ns"] = time.monotonic_ns()
            answer["result"] = json.dumps(result) if method == "get_json" else shown(result)
            if look:
                answer["seen"] = {"at_ns": time.monotonic_ns(), **seen(handle, look)}
        except Failed as error:
            answer |= {"error": "own", "message": str(error)}
        except Exception as error:
            answer |= {"ok_ns": time.monotonic_ns()} | self.failure(error)
        return {"invoke_ns": invoke, "ok_ns": time.monotonic_ns(), **answer, "loads": loader.loads if loader else 0}

    def handle(self, lane: int, kind: str, name: object, options: Answer) -> Any:
        """The handle of these options; each lane has its own."""
        if kind == "client":
            return self.client
        which = json.dumps([lane, kind, name, options])
        if which not in self.handles:
            self.handles[which] = getattr(self.client, kind)(name, **options)
        return self.handles[which]

    async def sleep(self, until_ns: int) -> None:
        """Sleeps as callers of its kind do."""
        left = (until_ns - time.monotonic_ns()) / 1e9
        if left > 0 and self.threads:
            time.sleep(left)
        elif left > 0:
            await asyncio.sleep(left)

    async def load(
        self,
        lane: int,
        mix: list[Answer],
        seconds: float,
        calls: int,
        in_flight: int,
        pause_us: int,
        seed: int,
        path: str,
    ) -> Answer:
        """Consumes what `mix` offers at random, for a time or a number of calls, and writes the history to `path`."""
        end = time.monotonic_ns() + int(seconds * 1e9)
        history: list[Answer] = []

        async def run(number: int) -> None:
            luck = random.Random(f"{seed}-{number}")
            for _ in range(calls // in_flight):
                if time.monotonic_ns() >= end or not os.path.exists(path):
                    break
                entry = luck.choice(mix)
                cost = luck.choice(entry["costs"])
                arguments = {"key": {"hex": entry["key"]}, "cost": cost}
                options: Answer = {option: entry[option] for option in ("policy", "prefetch") if option in entry}
                once = {"request_id": os.urandom(12).hex()} if entry.get("once") else {}
                tries = TRIES if once else 1
                while tries:
                    answer = await self.call(lane, "limiter.consume", entry["limiter"], options, arguments | once)
                    answer.pop("shown", None)
                    history.append({**entry, "cost": cost, **once, **answer})
                    tries = tries - 1 if answer.get("error") in AGAIN else 0
                    await asyncio.sleep(0.02 if tries else 0)
                if pause_us:
                    await asyncio.sleep(luck.random() * 2e-6 * pause_us)

        if self.threads:
            await asyncio.gather(*(asyncio.to_thread(asyncio.run, run(number)) for number in range(in_flight)))
        else:
            await asyncio.gather(*(run(number) for number in range(in_flight)))
        with open(path, "w") as file:
            file.writelines(json.dumps(record) + "\n" for record in history)
        return {"result": len(history)}


def seconds(given: Answer) -> Answer:
    """What is given as Python takes it: durations in seconds, bytes for `hex`."""
    return {n.removesuffix("_ms"): v / 1000 if n.endswith("_ms") else octets(v) for n, v in given.items()}


def octets(value: Any) -> Any:
    """The bytes of what is given in hexadecimal, also in a list."""
    if isinstance(value, list):
        return [octets(each) for each in value]
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) and "hex" in value else value


def shown(answer: Any) -> Any:
    """An answer as the protocol has it."""
    match answer:
        case None | bool() | int() | str():
            return answer
        case bytes():
            return answer.hex()
        case list() | tuple():
            return [shown(each) for each in answer]
    kind = type(answer).__name__
    return seen(answer, API["types"][kind]["properties"] if kind in API["types"] else vars(answer), whole=True)


def seen(subject: Any, names: Any, *, whole: bool = False) -> Answer:
    """These properties, with durations in milliseconds."""
    fields: Answer = {}
    for name in names:
        value = getattr(subject, name)
        known = {name, *(f"{each.__name__}.{name}" for each in type(subject).__mro__)}
        if known.isdisjoint(API["durations"]):
            fields[name] = shown(value)
        elif value is None or not whole:
            fields[f"{name}_ms"] = value and value * 1000
        else:
            micros = round(value * 1e6)
            fields[f"{name}_ms"] = -(-micros // 1000) if name in WAITS else micros // 1000
    return fields


def serve(session: Session) -> None:
    """Answers request after request, to the end of the input: each lane in its order, and all at once."""
    if not session.threads:
        asyncio.run(_serve_in_loop(session))
        return
    lanes: dict[int, queue.SimpleQueue[Answer | None]] = {}
    threads = []

    async def serve_lane(requests: queue.SimpleQueue[Answer | None]) -> None:
        while (request := requests.get()) is not None:
            await session.serve(request)

    for line in sys.stdin:
        request = json.loads(line)
        lane = request["lane"]
        if lane not in lanes:
            lanes[lane] = queue.SimpleQueue()
            threads.append(threading.Thread(target=asyncio.run, args=[serve_lane(lanes[lane])]))
            threads[-1].start()
        lanes[lane].put(request)
    for requests in lanes.values():
        requests.put(None)
    for thread in threads:
        thread.join()


async def _serve_in_loop(session: Session) -> None:
    last: dict[int, asyncio.Task[None]] = {}

    async def after(task: asyncio.Task[None] | None, request: Answer) -> None:
        if task:
            await task
        await session.serve(request)

    while line := await asyncio.to_thread(sys.stdin.readline):
        request = json.loads(line)
        lane = request["lane"]
        last[lane] = asyncio.create_task(after(last.get(lane), request))
    await asyncio.gather(*last.values())


def main() -> None:
    """Serves with the client that the command line asks for."""
    aio = sys.argv[1:] == ["aio"]
    package: Any = quotalock.aio if aio else quotalock

    def make(request: Answer) -> object:
        timeout = request["timeout_ms"] / 1000
        password = teller(request["password"], aio=aio)
        given = {"prefix": request["prefix"], "on_error": request["on_error"], "password": password}
        return package.Client(request["url"], timeout=timeout, **given)

    serve(Session(make, threads=not aio))


if __name__ == "__main__":
    main()
