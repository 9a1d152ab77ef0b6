"""What a client does on loops: one socket each, nothing left behind, and no call of a caller that has gone."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

import anyio
import pytest
import quotalock
from conftest import LOOPS
from locks import until_left_alone
from proxy import Proxy
from quotalock import aio
from quotalock.aio import testing
from servers import Server
from surface import run

PATIENT = 10.0

pytestmark = pytest.mark.usefixtures("each_loop")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def proxied(url: str) -> Proxy:
    return Proxy(int(url.rsplit(":", 1)[1]))


def test_calls_of_one_tick_go_out_together_on_one_connection(url: str, prefix: str) -> None:
    async def body() -> None:
        with proxied(url) as proxy:
            client = aio.Client(proxy.url, prefix=prefix, timeout=PATIENT)
            limiter = client.limiter("tick", "1000/hour")
            # The server knows the scripts from now on: calls that it must be told one for come behind the others.
            await asyncio.gather(*(limiter.consume("first") for _ in range(10)))
            requests = proxy.counts.requests
            decisions = await asyncio.gather(*(limiter.consume("k") for _ in range(100)))
            assert [decision.remaining for decision in decisions] == list(reversed(range(900, 1000)))
            # The first goes alone, since nobody knew of the others; what goes in one write may be read in two.
            assert proxy.counts.requests - requests <= 4
            assert proxy.counts.connections == 1
            await client.close()

    run(body)


def test_every_way_to_await_a_call(url: str, prefix: str) -> None:
    async def body() -> None:
        async with aio.Client(url, prefix=prefix, timeout=PATIENT) as client:
            limiter = client.limiter("ways", "100/hour")
            call = limiter.consume
            assert (await call("k")).remaining == 99
            assert (await asyncio.create_task(call("k"))).remaining == 98
            assert (await asyncio.wait_for(call("k"), PATIENT)).remaining == 97
            assert (await asyncio.shield(call("k"))).remaining == 96
            assert {d.remaining for d in await asyncio.gather(call("k"), call("k"))} == {95, 94}
            for done in asyncio.as_completed([call("k")]):
                assert (await done).remaining == 93

    run(body)
    lazy = aio.Client(url, prefix=prefix, timeout=PATIENT).limiter("ways", "100/hour").consume("k")
    assert asyncio.run(lazy).remaining == 92


def test_a_client_is_used_by_one_loop_after_the_other(url: str, prefix: str) -> None:
    client = aio.Client(url, prefix=prefix, timeout=PATIENT)
    limiter = client.limiter("loops", "100/hour")
    asyncio.run(limiter.consume("k"))
    before = descriptors()
    for number in range(20):
        assert asyncio.run(limiter.consume("k")).remaining == 98 - number
    assert descriptors() <= before
    asyncio.run(client.close())


def test_a_client_is_used_by_loops_of_several_threads(url: str, prefix: str) -> None:
    client = aio.Client(url, prefix=prefix, timeout=PATIENT)
    limiter = client.limiter("threads", "1000/hour")
    admitted: list[int] = []

    async def body() -> None:
        decisions = await asyncio.gather(*(limiter.consume("k") for _ in range(300)))
        admitted.append(sum(decision.allowed for decision in decisions))

    threads = [threading.Thread(target=run, args=(body,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(admitted) == 1000


def test_a_client_that_is_dropped_leaves_the_loop(url: str, prefix: str) -> None:
    async def body() -> None:
        before = descriptors()
        for _ in range(10):
            await aio.Client(url, prefix=prefix, timeout=PATIENT).limiter("dropped", "100/hour").consume("k")
            await asyncio.sleep(0)
        gc.collect()
        await asyncio.sleep(0)
        assert descriptors() <= before

    run(body)


def test_a_closed_loop_is_not_kept_alive_by_a_dropped_client(url: str, prefix: str) -> None:
    async def body() -> weakref.ref[Any]:
        client = aio.Client(url, prefix=prefix, timeout=PATIENT)
        await client.limiter("dropped", "100/hour").consume("k")
        return weakref.ref(asyncio.get_running_loop())

    closed = run(body)
    gc.collect()
    assert closed() is None


def test_close_ends_calls_under_way(prefix: str) -> None:
    async def body() -> None:
        with Server("redis-7.0") as server:
            client = aio.Client(server.url, prefix=prefix, timeout=PATIENT)
            limiter = client.limiter("close", "100/hour")
            await limiter.consume("k")
            before = descriptors()
            server.sigstop()
            calls = [asyncio.create_task(limiter.consume("k")) for _ in range(3)]
            await asyncio.sleep(0.01)
            await client.close()
            for call in calls:
                with pytest.raises(quotalock.Closed):
                    await call
            server.sigcont()
            assert descriptors() == before - 3

    run(body)


def test_close_from_another_thread(url: str, prefix: str) -> None:
    client = aio.Client(url, prefix=prefix, timeout=PATIENT)

    async def body() -> None:
        limiter = client.limiter("close", "1/minute")
        await limiter.consume("k")
        waiting = asyncio.create_task(limiter.wait("k", 100))
        await asyncio.sleep(0.01)
        await asyncio.get_running_loop().run_in_executor(None, lambda: asyncio.run(client.close()))
        with pytest.raises(quotalock.Closed):
            await waiting

    run(body)


def test_a_lost_connection_is_made_again_on_a_descriptor_of_the_same_number(url: str, prefix: str) -> None:
    async def body() -> None:
        with proxied(url) as proxy:
            client = aio.Client(proxy.url, prefix=prefix, timeout=PATIENT)
            limiter = client.limiter("again", "100/hour")
            for number in range(10):
                assert (await limiter.consume("k")).remaining == 99 - number
                proxy.hang_up()
                # The loop sees that the peer has gone, or the next call does.
                if number % 2:
                    await asyncio.sleep(0.01)
                else:
                    time.sleep(0.01)
            assert proxy.counts.connections == 10
            await client.close()

    run(body)


def test_a_connection_lost_in_the_middle_of_a_write_is_made_again(url: str, prefix: str) -> None:
    async def body() -> None:
        with proxied(url) as proxy:
            client = aio.Client(proxy.url, prefix=prefix, timeout=PATIENT)
            limiter = client.limiter("again", "1000000/hour")
            await limiter.consume("k")
            proxy.faults.late = 2.0
            calls = [asyncio.create_task(limiter.consume("x" * 1000)) for _ in range(10_000)]
            # More than the socket takes while nobody reads: the loop waits for writing too.
            await asyncio.sleep(0.3)
            proxy.hang_up()
            ended = await asyncio.gather(*calls, return_exceptions=True)
            assert any(isinstance(end, quotalock.Unavailable) for end in ended)
            proxy.faults.late = 0.0
            assert (await limiter.consume("k")).remaining == 999_998
            await client.close()

    run(body)


def test_wait_sleeps_on_the_loop_and_others_go_on(store_url: str, prefix: str) -> None:
    async def body() -> None:
        async with aio.Client(store_url, prefix=prefix, timeout=PATIENT) as client:
            limiter = client.limiter("wait", "1/2s")
            began = time.monotonic()
            assert await limiter.consume("k")
            waiting = asyncio.create_task(limiter.wait("k", 20))
            ticks = 0
            while not waiting.done():
                await asyncio.sleep(0.01)
                ticks += 1
            assert await waiting
            assert time.monotonic() - began >= 1.9
            assert ticks > 5

    run(body)


def test_a_loop_whose_timers_ring_early(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of uvloop do, by less than a millisecond."""

    async def body() -> None:
        event_loop = asyncio.get_running_loop()
        later = event_loop.call_later

        def early(delay: float, *rest: Any, **named: Any) -> asyncio.TimerHandle:
            return later(max(0.0, delay - 0.002), *rest, **named)

        monkeypatch.setattr(event_loop, "call_later", early, raising=False)
        async with aio.Client("memory://", prefix=prefix) as client:
            limiter = client.limiter("early", "1/20ms")
            for _ in range(10):
                assert await asyncio.wait_for(limiter.wait("k", PATIENT), PATIENT)

    run(body)


def test_a_cancelled_wait_never_charges(store_url: str, prefix: str) -> None:
    async def body() -> None:
        async with aio.Client(store_url, prefix=prefix, timeout=PATIENT) as client:
            limiter = client.limiter("wait", "1/200ms")
            assert await limiter.consume("k")
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(limiter.wait("k", 5), 0.05)
            await asyncio.sleep(0.4)
            assert (await limiter.peek("k")).remaining == 1

    run(body)


def test_a_call_cancelled_while_connecting_is_not_sent(prefix: str) -> None:
    async def body() -> None:
        with Server("redis-7.0") as server:
            client = aio.Client(server.url, prefix=prefix, timeout=PATIENT)
            limiter = client.limiter("cancel", "100/hour")
            server.sigstop()
            calls = [asyncio.create_task(limiter.consume("k")) for _ in range(5)]
            await asyncio.sleep(0.05)
            for call in calls[1:]:
                call.cancel()
            server.sigcont()
            assert (await calls[0]).remaining == 99
            assert (await limiter.peek("k")).remaining == 99
            await client.close()

    run(body)


def test_calls_cancelled_in_their_own_tick_are_not_sent(url: str, prefix: str) -> None:
    async def body() -> None:
        async with aio.Client(url, prefix=prefix, timeout=PATIENT) as client:
            limiter = client.limiter("cancel", "100/hour")
            await limiter.consume("k")
            # The first is sent at once; the others wait for the end of the tick, and are gone by then.
            calls = [asyncio.ensure_future(limiter.consume("k")) for _ in range(20)]
            await asyncio.sleep(0)
            for call in calls[1:]:
                call.cancel()
            assert (await calls[0]).remaining == 98
            assert (await limiter.peek("k")).remaining == 98

    run(body)


def test_cancelled_calls_take_no_answer_of_others(url: str, prefix: str) -> None:
    async def body() -> None:
        async with aio.Client(url, prefix=prefix, timeout=PATIENT) as client:
            limiter = client.limiter("cancel", "100000/hour")
            for number in range(200):
                calls = [asyncio.create_task(limiter.consume(f"{number}-{key}")) for key in range(20)]
                await asyncio.sleep(0)
                for call in calls[::2]:
                    call.cancel()
                answers = await asyncio.gather(*calls, return_exceptions=True)
                assert all(isinstance(answer, asyncio.CancelledError) for answer in answers[::2])
                assert [answer.remaining for answer in answers[1::2]] == [99_999] * 10  # type: ignore[union-attr]

    run(body)


def test_scopes_and_task_groups_of_anyio(store_url: str, prefix: str) -> None:
    async def body() -> None:
        async with aio.Client(store_url, prefix=prefix, timeout=PATIENT) as client:
            lock, other = client.lock("sku:42"), client.lock("sku:42")
            assert await lock.acquire()
            with anyio.move_on_after(0.05) as scope:
                await other.acquire(20)
            assert scope.cancelled_caught
            assert await lock.release()
            limiter = client.limiter("anyio", "100/hour")
            async with anyio.create_task_group() as group:
                for _ in range(40):
                    group.start_soon(limiter.consume, "k")
            assert (await limiter.peek("k")).remaining == 60
            # The acquisition that its scope cancelled keeps nothing: what it is granted meanwhile it gives back.
            await until_left_alone(other)
            assert await other.acquire()

    for name in LOOPS:
        anyio.run(body, backend_options={"use_uvloop": name == "uvloop"})
        prefix += "+"


def test_a_loop_that_watches_no_sockets_is_refused_clearly(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Windows' Proactor loop."""

    def refuse(*_: object) -> None:
        raise NotImplementedError

    event_loop = asyncio.SelectorEventLoop()
    monkeypatch.setattr(event_loop, "add_reader", refuse)
    limiter = aio.Client("redis://127.0.0.1:1").limiter("windows", "1/minute")
    with pytest.raises(NotImplementedError, match="SelectorEventLoop"):
        event_loop.run_until_complete(limiter.consume("k"))
    event_loop.close()


def test_no_context_of_a_caller_is_kept(url: str, prefix: str) -> None:
    class Session:
        """What a request keeps in its context."""

    variable: contextvars.ContextVar[Session] = contextvars.ContextVar("session")

    async def body() -> None:
        client = aio.Client(url, prefix=prefix, timeout=PATIENT)
        limiter = client.limiter("context", "100/hour")

        async def request() -> weakref.ref[Session]:
            session = Session()
            variable.set(session)
            await limiter.consume("k")
            return weakref.ref(session)

        kept = await asyncio.create_task(request())
        await asyncio.sleep(0)
        gc.collect()
        assert kept() is None
        await client.close()

    run(body)


def test_a_time_of_ones_own_on_a_loop(store_url: str, prefix: str) -> None:
    async def body() -> None:
        async with aio.Client(store_url, prefix=prefix, timeout=PATIENT) as client:
            limiter = client.limiter("time", "1/minute")
            await testing.set_time(client, 1_700_000_000_000_000)
            assert await limiter.consume("k")
            await testing.set_time(client, 1_700_000_059_999_999)
            assert (await limiter.consume("k")).retry_after == 0.000001
            await testing.set_time(client, 1_700_000_060_000_000)
            assert await limiter.consume("k")

    run(body)


UNCLOSED = """
import asyncio, os
from quotalock import aio
client = aio.Client(os.environ["URL"], timeout=10)
limiter = client.limiter("unclosed", "1000000/hour")
async def main():
    # Of a step that a busy machine made slow, a loop in debug mode would speak on stderr.
    asyncio.get_running_loop().slow_callback_duration = 60
    for _ in range(3):
        await asyncio.gather(*(limiter.consume("k") for _ in range(10)))
asyncio.run(main())
asyncio.run(main())
print("done")
"""


def test_nothing_warns_of_a_client_that_was_not_closed(url: str) -> None:
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", UNCLOSED]
    done = subprocess.run(command, env={"URL": url}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
