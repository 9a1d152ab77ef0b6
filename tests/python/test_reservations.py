"""Reservations and charges across loops, threads and processes, and those whose caller has gone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from typing import Any

import pytest
import quotalock
from proxy import Proxy
from quotalock import aio
from quotalock.aio import testing
from surface import run

PATIENT = 10.0
NOW = 1_700_000_000_000_000


def test_charges_of_one_tick_travel_together_and_get_their_own_answers(url: str, prefix: str) -> None:
    async def body() -> None:
        with Proxy(int(url.rsplit(":", 1)[1])) as proxy:
            async with aio.Client(proxy.url, prefix=prefix, timeout=PATIENT) as client:
                user, shop = client.limiter("user", "2/hour"), client.limiter("shop", "1000/hour")
                # From now on the server has the scripts.
                await client.consume_all([(user, "first"), (shop, "first")])
                await shop.consume("first")
                requests = proxy.counts.requests
                pairs = [client.consume_all([(user, f"{n % 20}"), (shop, "all", 2)]) for n in range(60)]
                single = [shop.consume(f"other-{n}") for n in range(20)]
                answers: list[Any] = await asyncio.gather(*pairs, *single)
                combined, decisions = answers[:60], answers[60:]
                # Each user has two of three, in the order of the calls; a denial charged the shop nothing.
                assert [answer.allowed for answer in combined] == [True] * 40 + [False] * 20
                assert [answer.decisions[1].remaining for answer in combined[:40]] == list(range(998, 918, -2))
                assert {answer.decisions[1].remaining for answer in combined[40:]} == {920}
                assert {decision.remaining for decision in decisions} == {999}
                assert proxy.counts.requests - requests <= 6
                assert proxy.counts.connections == 1

    run(body)


def test_threads_share_several_keys(url: str, prefix: str) -> None:
    client = quotalock.Client(url, prefix=prefix, timeout=PATIENT)
    user, shop = client.limiter("user", "1000/hour"), client.limiter("shop", "250/hour")
    admitted: list[int] = []

    def work(number: int) -> None:
        calls = (client.consume_all([(user, f"{number}"), (shop, "all")]) for _ in range(100))
        admitted.append(sum(map(bool, calls)))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(admitted) == 250
    assert sum(1000 - user.peek(f"{number}").remaining for number in range(4)) == 250


def test_a_reservation_outlives_its_loop(store_url: str, prefix: str) -> None:
    client = aio.Client(store_url, prefix=prefix, timeout=PATIENT)
    limiter = client.limiter("tokens", "10/hour")
    reservation = asyncio.run(limiter.reserve("k", 8, 600))
    assert asyncio.run(reservation.settle(3)) is True
    assert asyncio.run(reservation.settle(3)) is True
    assert asyncio.run(limiter.peek("k")).remaining == 7
    asyncio.run(client.close())


SETTLE = """
import os, sys, quotalock
client = quotalock.Client(os.environ["URL"], prefix=os.environ["PREFIX"], timeout=10)
reservation = client.limiter("tokens", "10/hour").reservation(*sys.argv[1:])
print(reservation.settle(3), reservation.decision)
"""


def test_another_process_settles_what_is_reserved_here(url: str, prefix: str) -> None:
    async def body() -> None:
        async with aio.Client(url, prefix=prefix, timeout=PATIENT) as client:
            limiter = client.limiter("tokens", "10/hour")
            reservation = await limiter.reserve("k", 8, 600)
            command = [sys.executable, "-c", SETTLE, "k", reservation.id]
            environment = {"URL": url, "PREFIX": prefix}
            assert subprocess.check_output(command, env=environment, text=True) == "True None\n"
            assert (await limiter.peek("k")).remaining == 7
            assert await reservation.cancel() is False

    run(body)


def test_a_forked_child_settles_and_reserves_for_itself(url: str, prefix: str) -> None:
    client = quotalock.Client(url, prefix=prefix, timeout=PATIENT)
    limiter = client.limiter("tokens", "100/hour")
    reservation = limiter.reserve("k", 8, 600)
    children = []
    for _ in range(2):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                settled = reservation.settle(3)
                all_or_none = client.consume_all([(limiter, "k", 2)])
                os.write(writer, f"{settled} {bool(all_or_none)} {limiter.reserve('k', 5, 600).id}".encode())
            os._exit(0)
        os.close(writer)
        children.append((child, reader))
    told = []
    for child, reader in children:
        with open(reader) as pipe:
            told.append(pipe.read().split())
        os.waitpid(child, 0)
    assert [answers[:2] for answers in told] == [["True", "True"]] * 2
    # No two processes give one id twice.
    assert len({reservation.id, limiter.reserve("k", 1, 600).id, *(answers[2] for answers in told)}) == 4
    assert limiter.peek("k").remaining == 100 - 3 - 2 * (2 + 5) - 1


def test_a_forked_child_settles_on_a_loop_of_its_own(url: str, prefix: str) -> None:
    client = aio.Client(url, prefix=prefix, timeout=PATIENT)
    limiter = client.limiter("tokens", "10/hour")
    reservation = asyncio.run(limiter.reserve("k", 8, 600))
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os._exit(0 if asyncio.run(reservation.settle(3)) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert asyncio.run(limiter.peek("k")).remaining == 7
    assert asyncio.run(reservation.settle(3))
    asyncio.run(client.close())


def test_a_reserve_cancelled_in_its_own_tick_holds_nothing(url: str, prefix: str) -> None:
    async def body() -> None:
        async with aio.Client(url, prefix=prefix, timeout=PATIENT) as client:
            limiter = client.limiter("tokens", "100/hour")
            await limiter.peek("k")
            # The first is sent at once; the others wait for the end of the tick, and are gone by then.
            calls = [asyncio.ensure_future(limiter.reserve("k", 5, 600)) for _ in range(10)]
            await asyncio.sleep(0)
            for call in calls[1:]:
                call.cancel()
            reservation = await calls[0]
            assert reservation.decision is not None
            assert reservation.decision.remaining == 95
            assert (await limiter.peek("k")).remaining == 95
            assert await reservation.cancel()
            assert (await limiter.peek("k")).remaining == 100

    run(body)


def test_a_reserve_cancelled_too_late_ends_by_itself(url: str, prefix: str) -> None:
    async def body() -> None:
        with Proxy(int(url.rsplit(":", 1)[1])) as proxy:
            client = aio.Client(proxy.url, prefix=prefix, timeout=PATIENT)
            limiter = client.limiter("tokens", "10/hour")
            await testing.set_time(client, NOW)
            await limiter.peek("k")
            proxy.faults.late = 0.2
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(limiter.reserve("k", 8, 30, "returned"), 0.05)
            proxy.faults.late = 0.0
            # Redis was asked already, and nobody knows the id.
            assert (await limiter.peek("k")).remaining == 2
            await testing.set_time(client, NOW + 30_000_000)
            assert (await limiter.peek("k")).remaining == 10
            await client.close()

    run(body)
