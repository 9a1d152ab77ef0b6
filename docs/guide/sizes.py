"""What a sale and a cache take of a server's memory: the tables of `stock-failures.md` and `cache.md`."""

from __future__ import annotations

import quotalock
import redis
from layout import table
from servers import Server

# Debian's, with an allocator whose sizes do not depend on what was allocated before.
SERVER = "redis-7.0"
# So many that what a table has room for hardly counts.
COUNT = 10_000
# Of a buyer's name; with it all have seven digits.
FIRST = 1_000_000
UUID = "3f9c1a52-7f4e-4f0b-9d0b-0c5a3f1e2d77"
PRIZE = "SALE-42-{:07}"
VALUES = (0, 100, 1_000, 10_000, 1_000_000)


def stock() -> str:
    """The bytes of a sale, and of each of what it grows by."""
    with Server(SERVER) as server, quotalock.Client(server.url) as client, redis.Redis.from_url(server.url) as raw:

        def size(key: bytes) -> int:
            return int(raw.memory_usage(key, samples=0) or 0)

        sale = client.stock("sale:42", ledger_cap=100 * COUNT)
        sale.open(COUNT)
        hash_, holds, ledger = sale.redis_keys
        opened, first_entry = size(hash_), size(ledger)
        ids = [taken.reservation.id for n in range(COUNT) if (taken := sale.take(f"user:{FIRST + n}")).reservation]
        buyers, held, written = size(hash_) - opened, size(holds), size(ledger) - first_entry
        before = set(raw.keys())
        sale.confirm(ids[0])
        (settled,) = set(raw.keys()) - before
        coupons = client.stock("coupons")
        coupons.open(COUNT, prizes=[PRIZE.format(n) for n in range(COUNT)])
        prizes = size(coupons.redis_keys[0]) - opened
        before = set(raw.keys()) | set(coupons.redis_keys)
        coupons.take(f"user:{FIRST}", request_id=UUID)
        (taken_once,) = set(raw.keys()) - before
        rows = [
            ["a sale that was opened", f"{opened + first_entry:,}"],
            ["an open hold", _each(held)],
            ["a buyer who holds or has bought", _each(buyers)],
            ["an entry of the ledger about a reservation", _each(written)],
            [f"a free prize of {len(PRIZE.format(0))} bytes", _each(prizes)],
            ["a confirmation or a cancellation that is remembered", f"{size(settled):,}"],
            ["a take of a prize whose request id, a UUID, is remembered", f"{size(taken_once):,}"],
        ]
        return table(["", "bytes"], rows)


def _each(size: int) -> str:
    """Of one, to the next twenty: the levels of a sorted set are drawn by lot, and times make a stream's ids."""
    return f"about {20 * round(size / COUNT / 20)}"


def cache() -> str:
    """The bytes of an entry by the size of its value, and of one after `invalidate`."""
    with (
        Server(SERVER) as server,
        quotalock.Client(server.url, timeout=10.0) as client,
        redis.Redis.from_url(server.url) as raw,
    ):
        pages, key = client.cache("pages"), "sku:42"
        rows = []
        for length in VALUES:
            pages.put(key, b"x" * length)
            rows.append([f"an entry with a value of {length:,} bytes", f"{raw.memory_usage(pages.redis_key(key)):,}"])
        pages.invalidate(key)
        rows.append(["an entry after `invalidate`", f"{raw.memory_usage(pages.redis_key(key)):,}"])
        return table(["", "bytes"], rows)
