"""A slot that stays on its way, as after a move that was broken off: calls that can spare their second key succeed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from cluster import Cluster, slot_of
from cluster_node import Node
from workers import LANGUAGES, Answer, Worker

SERVERS = ["redis-7.0", "valkey-9.1"]
TIMEOUT_MS = 1000
CACHE = {"fresh_ms": 600_000, "stale_ms": 0}


@pytest.fixture(scope="module")
def crew() -> Iterator[list[Worker]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Worker(language)) for language in LANGUAGES]


def result(answer: Answer, what: str) -> object:
    assert "error" not in answer, f"{what}: {answer}"
    return answer["result"]


def begin_move(cluster: Cluster, slot: int) -> tuple[Node, Node]:
    """Announces a move of which nothing is done yet."""
    source = cluster.owner_of_slot(slot)
    to = next(node for node in cluster.primaries() if node is not source)
    to.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id)
    source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", to.id)
    return source, to


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize("moved", [False, True])
def test_caches_and_once_work_while_their_slot_is_on_its_way(name: str, moved: bool, crew: list[Worker]) -> None:
    with Cluster(name) as cluster:
        for number, worker in enumerate(crew):
            made = worker.client(cluster.url, prefix="moving", timeout_ms=TIMEOUT_MS)
            assert "error" not in made, made
            key = f"k{number}"
            slot = slot_of(key)
            loader = {"value": "first"}
            put = {"value": "second"}
            result(worker.call("cache.get", "home", CACHE, key=key, load=loader), f"{worker.name}, before")
            source, to = begin_move(cluster, slot)
            if moved:
                cluster.move_keys(slot, source, to, 1000)
            what = f"{worker.name}, {'after' if moved else 'before'} the keys moved"
            fresh = worker.call("cache.get", "home", CACHE, key=key, load={"fails": "it was fresh"})
            assert result(fresh, f"{what}, a fresh value") == b"first".hex(), fresh
            result(worker.call("cache.put", "home", CACHE, key=key, **put), f"{what}, put")
            fresh = worker.call("cache.get", "home", CACHE, key=key, load={"fails": "it was put"})
            assert result(fresh, f"{what}, what was put") == b"second".hex(), fresh
            new = worker.call("once.run", "orders", {}, id=key, function=loader)
            result(new, f"{what}, once")
            # What needs both keys says what to do.
            consume = {"limiter": "l", "policy": "10/1h", "key": key, "cost": 1}
            if not moved:
                result(worker.ask("consume", **consume), f"{what}, one key")
            refused = worker.ask("consume", **consume, request_id="r")
            if "error" in refused:
                assert refused["error"] == "unavailable", refused
                assert "redis-cli --cluster fix" in refused["message"], refused
            # What was made meanwhile is at the target, so the move is ended, not taken back.
            cluster.move_keys(slot, source, to, 1000)
            for node in (to, source, *(node for node in cluster.primaries() if node not in (to, source))):
                node.ask("CLUSTER", "SETSLOT", slot, "NODE", to.id)
            result(worker.ask("consume", **consume, request_id="r"), f"{what}, at the end")
