"""Lets the last reference to an object of every class go while something unwinds: `unwinding.py FACE ENDING ROUNDS`.

What is on the interpreter's stack goes while the exception is still pending; what a variable names only goes later. So
each ending has the object in a list that is being built. `test_unwinding.py` runs this and looks at how it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import sys
import threading
import time
import uuid
import warnings
import weakref
from collections.abc import Awaitable, Callable, Generator
from typing import Any

import quotalock
from surface import Surface

URL = os.environ.get("URL", "")


def client(surface: Surface) -> Any:
    """One that was used, so that it has a connection, and a driver on a loop."""
    made = surface.module.Client(URL, prefix=f"unwinding-{uuid.uuid4().hex}", timeout=10.0)
    surface.call(made.limiter("used", "1000000/hour").consume, "k")
    return made


def limiter(surface: Surface) -> Any:
    return client(surface).limiter("api", "1000000/hour")


def decision(surface: Surface) -> Any:
    return surface.call(limiter(surface).consume, "k")


def reservation(surface: Surface) -> Any:
    return surface.call(limiter(surface).reserve, "k", 1, 1.0)


def combined(surface: Surface) -> Any:
    made = client(surface)
    return surface.call(made.consume_all, [(made.limiter("api", "1000000/hour"), "k")])


def rule_decision(surface: Surface) -> Any:
    return decision(surface).rules[0]


def rule(surface: Surface) -> Any:
    return surface.module.Rule(1, 60.0)


def handle(surface: Surface) -> Any:
    """A lock that was not acquired yet."""
    return client(surface).lock("e", ttl=1.0)


def lock(surface: Surface) -> Any:
    made = client(surface).lock("e", ttl=1.0)
    assert surface.call(made.acquire)
    return made


def loss(surface: Surface) -> Any:
    made = lock(surface).lost
    if surface.name != "python":
        surface.call(lambda: [made._on_this_loop(), None])
    return made


def inspection(surface: Surface) -> Any:
    return surface.call(lock(surface).inspect)


def holder(surface: Surface) -> Any:
    return inspection(surface).holders[0]


def stock(surface: Surface) -> Any:
    made = client(surface).stock("sale")
    assert surface.call(made.open, 10)
    return made


def taken(surface: Surface) -> Any:
    return surface.call(stock(surface).take, "buyer")


def taken_all(surface: Surface) -> Any:
    made = client(surface)
    sale = made.stock("sale")
    assert surface.call(sale.open, 10)
    return surface.call(made.take_all, [(sale, 1)], "buyer")


def page(surface: Surface) -> Any:
    made = stock(surface)
    assert surface.call(made.take, "buyer")
    return surface.call(made.reservations)


def stock_reservation(surface: Surface) -> Any:
    return taken(surface).reservation


def ledger_entry(surface: Surface) -> Any:
    made = stock(surface)
    assert surface.call(made.take, "buyer")
    return surface.call(made.ledger)[0]


def status(surface: Surface) -> Any:
    return surface.call(stock(surface).status)


def once(surface: Surface) -> Any:
    made = client(surface).once("payments")
    assert surface.call(made.run, "id", lambda: "receipt") == b"receipt"
    return made


def claimed(surface: Surface) -> Any:
    return surface.call(client(surface).once("payments").claim, "id")


def cache(surface: Surface) -> Any:
    made = client(surface).cache("pages")
    assert surface.call(made.get, "k", lambda: "page") == b"page"
    return made


def seen(surface: Surface) -> Any:
    return surface.call(cache(surface).peek, "k")


def pending(surface: Surface) -> Any:
    """The future of a call that is under way, of a client that nobody else has."""
    made = client(surface)
    assert surface.call(made.lock("e", ttl=1.0).acquire)
    return surface.call(lambda: [made.lock("e")._native.acquire(60.0)]).pop()


def carried(surface: Surface, made: Any, loading: Any) -> Any:
    """A load after its first step."""

    async def carry() -> None:
        await made._native._carry(loading)

    assert loading._next() is None
    surface.call(carry)
    return loading


def loading(surface: Surface) -> Any:
    """The load of one who is to load."""
    made = client(surface)
    first = carried(surface, made, made.cache("pages")._native._get("k", None))
    assert first._next() == [0]
    return first


def waiting(surface: Surface) -> Any:
    """The load of one who is about to wait for another."""
    made = client(surface)
    pages = made.cache("pages")._native
    first = carried(surface, made, pages._get("k", None))
    second = carried(surface, made, pages._get_many(["k"], None)[1])
    assert second._next() is None
    del first
    return second


BOTH = [client, limiter, decision, rule_decision, rule, combined, reservation, handle, lock, loss, inspection, holder]
BOTH += [stock, taken, taken_all, stock_reservation, page, ledger_entry, status, once, claimed, cache, seen]
LOOPED = [pending, loading, waiting]
MAKERS = {"python": BOTH, "python-aio": BOTH + LOOPED}


def error(held: list[Any]) -> None:
    with contextlib.suppress(ValueError):
        print([held.pop(), int("x")])


def interrupt(held: list[Any]) -> None:
    ring: Callable[[int], object] = signal.raise_signal
    with contextlib.suppress(KeyboardInterrupt):
        print([held.pop(), ring(signal.SIGINT)])


def close_of_a_generator(held: list[Any]) -> None:
    def body() -> Generator[None, None, None]:
        print([held.pop(), (yield)])

    going = body()
    next(going)
    going.close()


def thrown_into_a_generator(held: list[Any]) -> None:
    def body() -> Generator[None, None, None]:
        print([held.pop(), (yield)])

    going = body()
    next(going)
    with contextlib.suppress(ValueError):
        going.throw(ValueError)


class Box:
    """A cycle, which only the collector ends."""

    def __init__(self, held: Any) -> None:
        self.me, self.held = self, held


def collected(held: list[Any]) -> None:
    try:
        raise ValueError
    except ValueError:
        Box(held.pop())
        gc.collect()


def collected_while_unwinding(held: list[Any]) -> None:
    Box(held.pop())
    before = gc.get_threshold()
    gc.set_threshold(1)
    with contextlib.suppress(ValueError):
        print([{}, [Box(None)], int("x")])
    gc.set_threshold(*before)
    gc.collect()


def in_another_thread(held: list[Any]) -> None:
    thread = threading.Thread(target=error, args=(held,))
    thread.start()
    thread.join()


ANYWHERE = [error, interrupt, close_of_a_generator, thrown_into_a_generator, collected, collected_while_unwinding]
ANYWHERE += [in_another_thread]


async def awaiting(held: list[Any]) -> None:
    print([held.pop(), await asyncio.Event().wait()])


async def cancel(held: list[Any]) -> None:
    task = asyncio.ensure_future(awaiting(held))
    await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def timeout(held: list[Any]) -> None:
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(awaiting(held), 0.001)


async def close_of_a_coroutine(held: list[Any]) -> None:
    going = awaiting(held)
    going.send(None)
    going.close()


async def end_of_an_async_generator(held: list[Any]) -> None:
    async def body() -> Any:
        print([held.pop(), (yield)])

    going = body()
    await going.asend(None)
    await going.aclose()


async def error_of_another_call(held: list[Any]) -> None:
    refused = quotalock.aio.Client("memory://").limiter("api", "1/hour")
    with contextlib.suppress(quotalock.InvalidArgument):
        print([held.pop(), await refused.consume("")])


AWAITED = [cancel, timeout, close_of_a_coroutine, end_of_an_async_generator, error_of_another_call]


async def end_of_its_block(held: list[Any]) -> None:
    with contextlib.suppress(ValueError):
        async with held.pop():
            raise ValueError


def end_of_a_block(held: list[Any]) -> None:
    with contextlib.suppress(ValueError), held.pop():
        raise ValueError


Ending = Callable[[list[Any]], Awaitable[None] | None]
ENDINGS: dict[str, dict[str, Ending]] = {
    "python": {end.__name__: end for end in (*ANYWHERE, end_of_a_block)},
    "python-aio": {end.__name__: end for end in (*ANYWHERE, *AWAITED, end_of_its_block)},
}
WITH_BLOCKS = [client, handle]
KEPT: list[Any] = []


def unwind(surface: Surface, made: Any, end: Ending) -> None:
    held, seen = [made], weakref.ref(made) if hasattr(made, "__weakref__") else None
    del made
    surface.call(end, held)
    assert not held
    assert seen is None or seen() is None


def leave(surface: Surface) -> None:
    """Exits, which unwinds frames that have an object each; as many are left for the interpreter's end."""
    made = [make(surface) for make in MAKERS[surface.name]]
    KEPT.extend(make(surface) for make in MAKERS[surface.name])

    def nest() -> object:
        return [made.pop(), nest() if made else sys.exit(0)]

    async def inside() -> None:
        nest()

    async def silence() -> None:
        # It would tell of futures that nobody awaits.
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)

    if surface.name != "python":
        surface.call(silence)
    surface.call(inside if surface.name != "python" else nest)


def main(face: str, ending: str, rounds: int) -> None:
    # Of locks and reservations that nobody keeps it is told all along, by Python code that runs in the midst of it.
    warnings.showwarning = lambda *_: None
    warnings.simplefilter("always")
    pauses: dict[str, Callable[[float], Awaitable[None] | None]] = {"python": time.sleep, "python-aio": asyncio.sleep}
    with Surface(face) as surface:
        if ending == "exit":
            leave(surface)
        end = ENDINGS[face][ending]
        for make in WITH_BLOCKS if "block" in ending else MAKERS[face]:
            print(make.__name__, flush=True)
            unwind(surface, make(surface), end)
            before = descriptors()
            for _ in range(rounds):
                unwind(surface, make(surface), end)
            # Connections go with their clients, if the loop may run for a moment. The process' thread has some too.
            give_up = time.monotonic() + 10.0
            while descriptors() > before + 2:
                assert time.monotonic() < give_up, f"{descriptors()} descriptors, {before} before"
                surface.call(pauses[face], 0.005)
    print("done")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
