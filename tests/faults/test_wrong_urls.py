"""URLs that cannot be: every language says so when the client is made, with the cure, and shows no login."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from cluster import Cluster
from workers import LANGUAGES, Worker
from wrong import called

SECRET = "sw0rdfish"
SEEDS = "redis+cluster://10.0.0.1:6379"
WATCHED = "redis+sentinel://10.0.0.1:26379"

REFUSED = [
    ("redis+cluster://", "no host"),
    (f"redis+cluster://app:{SECRET}@", "no host"),
    (f"{SEEDS},", "no host"),
    (f"{SEEDS},,10.0.0.2:6379", "no host"),
    (f"{SEEDS},10.0.0.2:0", "from 1 to 65535"),
    (f"{SEEDS},10.0.0.2:65536", "from 1 to 65535"),
    (f"{SEEDS},::1:6379", "[::1]:6379"),
    (f"{SEEDS},[::1", "without ']'"),
    (f"{SEEDS},[::1]6379", "odd after ']'"),
    (f"{SEEDS},app:{SECRET}@10.0.0.2", "give the login once"),
    (f"redis+cluster://app:{SECRET}@10.0.0.1,app:{SECRET}@10.0.0.2", "give the login once"),
    (f"{SEEDS}/3", "leave it out"),
    *(
        (f"{SEEDS}?host_map={odd}", "host_map=10.0.0.1:6379=127.0.0.1:7001")
        for odd in ("", "x", "=", "a=", "=b", "a=b,", "a:0=b", "a=b:x", "a=b:99999", "::1=b")
    ),
    (f"redis://10.0.0.1?host_map={SECRET}=b", "redis+cluster:// also host_map"),
    ("redis://::1:6379", "[::1]:6379"),
    ("redis://fe80::1", "[::1]:6379"),
    ("redis://10.0.0.1:0", "from 1 to 65535"),
    ("redis+sentinel:///shop", "no host"),
    (WATCHED, "names no primary"),
    (f"{WATCHED}/", "names no primary"),
    (f"{WATCHED},/shop", "no host"),
    (f"{WATCHED}:1/shop", "[::1]:6379"),
    (f"{WATCHED},::1:26379/shop", "[::1]:6379"),
    (f"{WATCHED}/shop/x", "not a number"),
    (f"{WATCHED}/sh op", "invalid name of a primary"),
    (f"{WATCHED}/shop?sentinel_user=app", "sentinel_password"),
    (f"rediss://10.0.0.1?cert=/{SECRET}", "without key="),
]


@pytest.fixture(scope="module")
def workers() -> Iterator[list[Worker]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Worker(language)) for language in LANGUAGES]


@pytest.mark.parametrize(("url", "cure"), REFUSED)
def test_a_url_that_cannot_be(workers: list[Worker], url: str, cure: str) -> None:
    for worker in workers:
        answer = called(worker, url)
        assert answer.get("error") == "invalid_argument", answer
        assert cure in answer["message"]
        assert answer["message"].startswith('url "redis')
        assert SECRET not in answer["message"] + answer["shown"]


def test_seeds_that_are_named_twice_are_one(worker: Worker) -> None:
    with Cluster(primaries=1) as cluster:
        (node,) = cluster.primaries()
        url = f"redis+cluster://{node.address},{node.address},localhost:{node.port}/0"
        assert called(worker, url)["result"]["allowed"]


def test_ipv6_addresses_of_seeds_and_servers(worker: Worker) -> None:
    with Cluster("redis-7.0", "--bind", "127.0.0.1", "::1", primaries=1) as cluster:
        (node,) = cluster.primaries()
        for url in (f"redis+cluster://[::1]:{node.port}", f"redis+cluster://[::1]:{node.port},{node.address}"):
            assert called(worker, url)["result"]["allowed"]
        # The servers call themselves so, too: a client that began elsewhere is led there.
        node.ask("CONFIG", "SET", "cluster-announce-ip", "::1")
        assert called(worker, cluster.url)["result"]["allowed"]
        lines = node.ask("CLIENT", "LIST").splitlines()
        assert any("name=quotalock" in line and "laddr=[::1]" in line for line in lines)
