"""The same with asyncio: the same names, with `await` in front. Redis: QUOTALOCK_URL."""

import asyncio

from quotalock import aio


async def main() -> None:
    checkout = aio.Client().limiter("checkout", "10/minute;100/hour")
    decision = await checkout.consume("user:42")
    print(f"go ahead, {decision.remaining} left" if decision else f"retry in {decision.retry_after} s")

    # Or in one line, where only the answer matters.
    if await aio.limit("checkout", "user:42", "10/minute;100/hour"):
        print("and again")


asyncio.run(main())
