"""Several keys in a cluster: without a common scope they cannot be decided at once, and nothing less is done."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
import quotalock
from servers import Server


@pytest.fixture(scope="module")
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
    with quotalock.Client(cluster.url, timeout=10.0) as client:
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
    with quotalock.Client(cluster.url, timeout=10.0) as client:
        day, minute = client.limiter("day", "10/day"), client.limiter("minute", "3/minute")
        assert [client.consume_all([(day, "42"), (minute, "42")]).allowed for _ in range(4)] == [True] * 3 + [False]
        assert day.peek("42").remaining == 7


def test_stocks_of_several_slots_are_taken_together_only_with_a_scope(cluster: Server) -> None:
    with quotalock.Client(cluster.url, timeout=10.0) as client:
        shirt, cap = client.stock("shirt"), client.stock("cap")
        shirt.open(2)
        cap.open(2)
        for request_id in (None, "r1"):
            with pytest.raises(quotalock.CrossSlot, match=r"take_all from stock .cap., stock .shirt.*one scope"):
                client.take_all([(shirt, 1), (cap, 1)], "ann", request_id=request_id)
        held = [stock.take("ann").reservation for stock in (shirt, cap)]
        pairs = [(stock, each.id) for stock, each in zip((shirt, cap), held, strict=True) if each]
        with pytest.raises(quotalock.CrossSlot, match="scope"):
            client.confirm_all(pairs)
        assert all(stock.confirm(id) for stock, id in pairs)

        scoped = [client.stock(name, scope="shop") for name in ("shirt", "cap")]
        assert all(stock.open(2) and stock.take("ann", request_id="r") for stock in scoped)
        assert client.take_all([(stock, 1) for stock in scoped], "ann", request_id="r1")
        assert [stock.close() for stock in scoped] == [True, True]


def test_locks_of_several_slots_are_asked_for_one_by_one(cluster: Server) -> None:
    with (
        quotalock.Client(cluster.url, timeout=10.0) as client,
        pytest.raises(quotalock.CrossSlot, match="one by one"),
        client.lock_all(["shirt", "cap"]),
    ):
        pass
