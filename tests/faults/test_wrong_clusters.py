"""Clusters and addresses that do not fit each other: an error that names the host and the cure, in time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import quotalock
from cluster import Cluster, slot_of
from servers import Server
from workers import LANGUAGES, Worker
from wrong import called, fails


@pytest.fixture(scope="module")
def workers() -> Iterator[list[Worker]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Worker(language)) for language in LANGUAGES]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(primaries=2) as running:
        yield running


def test_a_cluster_has_no_databases(workers: list[Worker], cluster: Cluster) -> None:
    fails(workers, f"{cluster.url}/1", "invalid_argument", "database", "leave it out")


def test_a_cluster_url_that_leads_to_a_plain_server(workers: list[Worker], server: Server) -> None:
    fails(workers, f"redis+cluster://127.0.0.1:{server.port}", "unavailable", f"127.0.0.1:{server.port}", "redis://")
    assert server.command("DBSIZE") == "0"


def test_a_plain_url_that_leads_to_a_node(workers: list[Worker], cluster: Cluster) -> None:
    first, second = cluster.primaries()
    key = next(f"k{n}" for n in range(100) if cluster.owner_of(f"k{n}") is second)
    address = first.address
    fails(workers, f"redis://{address}", "unavailable", address, "Cluster", "redis+cluster://", key=key)
    assert cluster.keys() == 0


def test_seeds_of_different_clusters(workers: list[Worker], cluster: Cluster) -> None:
    """Which of them it is nobody can know; it is one of them and stays that one."""
    with Cluster(primaries=1) as other:
        here, there = cluster.primaries()[0].address, other.primaries()[0].address
        fails(workers, f"redis+cluster://{here},{there}", "invalid_argument", here, there, "different clusters")
        assert (cluster.keys(), other.keys()) == (0, 0)


def test_a_map_with_a_hole(workers: list[Worker]) -> None:
    with Cluster(primaries=2) as cluster:
        for node in cluster.nodes:
            node.ask("CLUSTER", "DELSLOTS", slot_of("hole"))
        fails(workers, cluster.url, "unavailable", str(slot_of("hole")), "slot", key="hole")
        for worker in workers:
            for key in ("a", "b", "c", "d"):
                answer = called(worker, cluster.url, key)
                assert "error" not in answer, answer


def test_a_hole_that_is_filled_is_found() -> None:
    with Cluster(primaries=2) as cluster, quotalock.Client(cluster.url, prefix="p", timeout=1.0) as client:
        owner = cluster.owner_of("hole")
        for node in cluster.nodes:
            node.ask("CLUSTER", "DELSLOTS", slot_of("hole"))
        limiter = client.limiter("l", "1000/h")
        with pytest.raises(quotalock.Unavailable, match=str(slot_of("hole"))):
            limiter.consume("hole")
        owner.ask("CLUSTER", "ADDSLOTS", slot_of("hole"))
        cluster.wait_until_it_serves()
        give_up = time.monotonic() + 5
        while True:
            try:
                assert limiter.consume("hole").allowed
                return
            except quotalock.Unavailable:
                assert time.monotonic() < give_up
                time.sleep(0.05)


def test_a_host_that_does_not_resolve_from_here(workers: list[Worker]) -> None:
    with Cluster(primaries=2, host="redis.invalid") as cluster:
        first, second = cluster.primaries()
        key = next(f"k{n}" for n in range(100) if cluster.owner_of(f"k{n}") is second)
        fails(
            workers,
            f"redis+cluster://{first.address}",
            "unavailable",
            f"redis.invalid:{second.port}",
            "host_map=",
            key=key,
        )
        ports = ",".join(f"redis.invalid:{node.port}=127.0.0.1:{node.port}" for node in cluster.nodes)
        for worker in workers:
            for key in ("a", "b", "c", "d"):
                answer = called(worker, f"{cluster.url}?host_map={ports}", key)
                assert answer.get("result", {}).get("allowed"), answer
