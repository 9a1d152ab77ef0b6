"""Several keys in a cluster: without a common scope they cannot be decided at once, and nothing less is done."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
import quotalock
from servers import Server


@pytest.fixture
def cluster() -> Iterator[Server]:
    """A cluster of one node, which has all slots."""
    with Server("redis-7.0", "--cluster-enabled", "yes") as node:
        node.command("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
        end = time.monotonic() + 10
        while "cluster_state:ok" not in node.command("CLUSTER", "INFO"):
            assert time.monotonic() < end, "the cluster does not come up"
            time.sleep(0.01)
        yield node


def test_keys_of_several_slots_are_charged_together_only_with_a_scope(cluster: Server) -> None:
    with quotalock.Client(cluster.url) as client:
        user, address = client.limiter("user", "10/minute"), client.limiter("address", "3/minute")
        for request_id in (None, "r1"):
            with pytest.raises(quotalock.CrossSlot, match="scope") as raised:
                client.consume_all([(user, "42"), (address, "10.0.0.1")], request_id=request_id)
            assert raised.value.code == "cross_slot"
        # Neither was charged, and each can be alone.
        assert (user.peek("42").remaining, address.peek("10.0.0.1").remaining) == (10, 3)
        assert (user.consume("42").remaining, address.consume("10.0.0.1").remaining) == (9, 2)
        assert [user.consume("42", request_id="r2").remaining for _ in range(2)] == [8, 8]

        user, address = (
            client.limiter("user", "10/minute", scope="shop"),
            client.limiter("address", "3/minute", scope="shop"),
        )
        for request_id in (None, "r1", "r1"):
            both = client.consume_all([(user, "42"), (address, "10.0.0.1")], request_id=request_id)
            assert both.allowed
        assert [decision.remaining for decision in both.decisions] == [8, 1]


def test_one_key_of_one_slot_needs_no_scope(cluster: Server) -> None:
    """The key itself is the hash tag."""
    with quotalock.Client(cluster.url) as client:
        day, minute = client.limiter("day", "10/day"), client.limiter("minute", "3/minute")
        assert [client.consume_all([(day, "42"), (minute, "42")]).allowed for _ in range(4)] == [True] * 3 + [False]
        assert day.peek("42").remaining == 7
