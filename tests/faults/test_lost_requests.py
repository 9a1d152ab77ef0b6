"""A request with an id whose reply is lost is asked for again and charged once; so is a settlement, by its hold."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
import quotalock
from proxy import Faults, Proxy
from quotalock import aio
from servers import Server

CALLS = 200
LIMIT = 1_000_000
FAULTS = {
    "cut": Faults(lose=0.1, spare=1),
    "half": Faults(lose=0.1, spare=1, keep=7),
    "reset": Faults(lose=0.1, spare=1, reset=True),
}
FACES = {"python": quotalock, "aio": aio}


class Lossy:
    """A client behind a proxy that loses replies."""

    def __init__(self, face: ModuleType, server: Server, proxy: Proxy, faults: Faults) -> None:
        self.proxy, self.faults = proxy, faults
        # Patient: each loss costs a connection.
        self.client = face.Client(proxy.url, timeout=5)
        self.log = self.client.limiter("log", f"sliding-log {LIMIT}/1h", scope="shop")
        self.bucket = self.client.limiter("bucket", f"token-bucket {LIMIT}/36500d", scope="shop")

    async def each(self, call: Callable[[int], object]) -> list[Any]:
        """The answers to that many calls while replies get lost; in place of an answer stands its error."""
        self.proxy.faults, before = replace(self.faults), self.proxy.counts.lost
        answers = []
        for n in range(CALLS):
            try:
                answers.append(await reply(call(n)))
            except quotalock.QuotalockError as error:
                answers.append(error)
        self.proxy.faults = Faults()
        assert self.proxy.counts.lost - before >= 5, "too few were lost to tell"
        return answers

    async def used(self) -> int:
        return LIMIT - int((await reply(self.log.peek("k"))).remaining)


async def reply(answer: object) -> Any:
    return await answer if inspect.isawaitable(answer) else answer


@pytest.fixture(params=FACES)
def face(request: pytest.FixtureRequest) -> ModuleType:
    return FACES[request.param]


@pytest.fixture(params=FAULTS)
def fault(request: pytest.FixtureRequest) -> Faults:
    return FAULTS[request.param]


def play(face: ModuleType, server: Server, fault: Faults, body: Callable[[Lossy], Awaitable[None]]) -> None:
    async def main() -> None:
        with Proxy(server.port) as proxy:
            lossy = Lossy(face, server, proxy, fault)
            await body(lossy)
            await reply(lossy.client.close())

    asyncio.run(main())


def test_a_consume_with_an_id_is_charged_once(face: ModuleType, server: Server, fault: Faults) -> None:
    async def body(lossy: Lossy) -> None:
        answers = await lossy.each(lambda n: lossy.log.consume("k", 3, request_id=f"{n}"))
        assert [(a.allowed, a.remaining) for a in answers] == [(True, LIMIT - 3 * (n + 1)) for n in range(CALLS)]
        assert await lossy.used() == 3 * CALLS

    play(face, server, fault, body)


def test_a_refund_with_an_id_is_given_back_once(face: ModuleType, server: Server, fault: Faults) -> None:
    async def body(lossy: Lossy) -> None:
        await reply(lossy.log.consume("k", 5 * CALLS))
        answers = await lossy.each(lambda n: lossy.log.refund("k", 3, request_id=f"{n}"))
        assert [a.remaining for a in answers] == [LIMIT - 5 * CALLS + 3 * (n + 1) for n in range(CALLS)]
        assert await lossy.used() == 2 * CALLS

    play(face, server, fault, body)


def test_a_consume_all_with_an_id_is_charged_once(face: ModuleType, server: Server, fault: Faults) -> None:
    async def body(lossy: Lossy) -> None:
        charges = [(lossy.log, "k", 3), (lossy.bucket, "b", 2)]
        answers = await lossy.each(lambda n: lossy.client.consume_all(charges, request_id=f"{n}"))
        left = [[d.remaining for d in a.decisions] for a in answers]
        assert left == [[LIMIT - 3 * (n + 1), LIMIT - 2 * (n + 1)] for n in range(CALLS)]
        assert await lossy.used() == 3 * CALLS

    play(face, server, fault, body)


def test_a_settlement_is_repeated(face: ModuleType, server: Server, fault: Faults) -> None:
    async def body(lossy: Lossy) -> None:
        held = [await reply(lossy.log.reserve("k", 5, ttl=600)) for _ in range(CALLS)]
        # Less than the estimate, as much, more.
        answers = await lossy.each(lambda n: held[n].settle(4 + n % 3))
        assert answers == [True] * CALLS
        assert await lossy.used() == sum(4 + n % 3 for n in range(CALLS))
        assert not await reply(held[0].settle(9))

    play(face, server, fault, body)


@pytest.mark.parametrize("call", ["consume", "refund", "consume_all", "reserve"])
def test_without_an_id_the_outcome_is_unknown(face: ModuleType, server: Server, call: str) -> None:
    async def body(lossy: Lossy) -> None:
        calls: dict[str, Callable[[int], object]] = {
            "consume": lambda _: lossy.log.consume("k"),
            "refund": lambda _: lossy.log.refund("k", 1),
            "consume_all": lambda _: lossy.client.consume_all([(lossy.log, "k"), (lossy.bucket, "b")]),
            "reserve": lambda _: lossy.log.reserve("k", 1, ttl=600),
        }
        await reply(lossy.log.consume("k", CALLS))
        answers = await lossy.each(calls[call])
        failed = [a for a in answers if isinstance(a, quotalock.QuotalockError)]
        assert {error.code for error in failed} <= {"unavailable", "timeout"}
        counted = abs(await lossy.used() - CALLS)
        assert CALLS - len(failed) <= counted <= CALLS
        # Only replies were lost, one call each.
        assert (len(failed), counted) == (lossy.proxy.counts.lost, CALLS)

    play(face, server, FAULTS["cut"], body)
