"""What is left of a sale by whatever else writes its key does no harm to others."""

from __future__ import annotations

import quotalock
from servers import Server


def test_a_damaged_sale_does_not_keep_redis_busy() -> None:
    with Server("redis-7.0") as server, quotalock.Client(server.url) as client:
        stock = client.stock("sale")
        stock.open(1)
        # As the script writes it, but for its time, which lies after all that a hold may end at.
        number = "\0" * 8
        state = "QS\1\0" + number * 9 + "\0" * 7 + "\x7f" + number * 4
        server.command("HSET", stock.redis_keys[0].decode(), "", state)
        assert stock.take("buyer").outcome == "sold_out"
