"""The same for asyncio: type-checked by mypy, and run by `test_surface.py`."""

import asyncio

from quotalock import aio


async def main() -> None:
    # Of a step that a busy machine made slow, a loop in debug mode would speak on stderr.
    asyncio.get_running_loop().slow_callback_duration = 60.0
    async with aio.Client("memory://") as client:
        checkout = client.limiter("checkout", "10/minute;100/hour")
        decision = await checkout.consume("user:42")
        print(decision.allowed, decision.remaining, decision.retry_after)

        tasks = [asyncio.create_task(checkout.consume("user:42")) for _ in range(3)]
        first, *others = await asyncio.gather(*tasks)
        print(first.remaining, [other.remaining for other in others])

        both = await client.consume_all([(checkout, "user:43"), (client.limiter("ip", "9/s"), b"10.0.0.1", 2)])
        print(both.allowed, [each.remaining for each in both.decisions])
        reservation: aio.Reservation = await checkout.reserve("user:43", 5, ttl=30)
        settled: bool = await checkout.reservation(reservation.key, reservation.id).settle(4)
        print(settled, reservation.decision)

        async with client.lock("sku:42", wait=0.1, cancel_on_loss=True) as lock:
            lock.assert_held()
            print(lock.held, lock.state, lock.lost.is_set(), await lock.extend(60), (await lock.inspect()).waiters)
            watch = asyncio.create_task(lock.lost.wait())
        was_lost: bool = await watch
        pool: aio.Lock = client.semaphore("pool", 3)
        print(was_lost, await pool.acquire(), await pool.acquire(1) if not pool.held else None, await pool.release())

        existed: bool = await checkout.reset("user:42")
        print(existed, await asyncio.wait_for(checkout.peek("user:42", cost=2), 1.0))
        await aio.testing.set_time(client, 1_700_000_000_000_000)
    if await aio.limit("checkout", "user:42", "10/minute"):
        print("welcome")


asyncio.run(main())
