"""A primary that is cut off from the other servers, not from its clients: its replica takes over, and calls follow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from cluster import Cluster
from cluster_node import Node
from member import until
from workers import LANGUAGES, Answer, Worker

SERVERS = ["redis-7.0", "valkey-9.1"]
TIMEOUT_MS = 2000
PLENTY = "1000000/1h"
# A cluster without a server for some of its slots serves the others, or none: the latter is what servers do by default.
PARTLY, WHOLLY = (), ("--cluster-require-full-coverage", "yes")
# So many clients choose each seed with near certainty.
NEWCOMERS = 12


@pytest.fixture(scope="module")
def crew() -> Iterator[list[Worker]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Worker(language)) for language in LANGUAGES]


@pytest.fixture(params=SERVERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Parted:
    """A cluster, the primary that is cut off, the replica that takes over, and a key of theirs."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.url = cluster, cluster.url
        self.old = cluster.primaries()[0]
        (self.new,) = cluster.replicas_of(self.old)
        self.key = next(f"k{n}" for n in range(100) if cluster.owner_of(f"k{n}") is self.old)

    def client(self, worker: Worker, url: str = "", timeout_ms: int = TIMEOUT_MS) -> None:
        made = worker.client(url or self.url, prefix="parted", timeout_ms=timeout_ms)
        assert "error" not in made, made

    def call(self, worker: Worker) -> Answer:
        return worker.ask("consume", limiter=worker.name, policy=PLENTY, key=self.key, cost=1)

    def succeeds(self, worker: Worker, when: str) -> None:
        answer = self.call(worker)
        assert "error" not in answer, f"{worker.name}, {when}: {answer}"

    def cut(self, *with_it: Node) -> None:
        """Returns once the primary that is cut off says so."""
        self.cluster.cut(self.old, *with_it)
        until(lambda: state(self.old) == "fail", "the primary goes on", lambda: self.old.info("cluster"))

    def promoted(self) -> None:
        """Returns once the replica took over, and serves."""
        self.cluster.wait_until_promoted(self.new)
        until(lambda: state(self.new) == "ok", "the replica does not serve", lambda: self.new.info("cluster"))


def state(node: Node) -> str:
    return node.info("cluster")["cluster_state"]


@pytest.mark.parametrize("covered", [PARTLY, WHOLLY])
def test_the_first_call_after_the_promotion_succeeds(name: str, covered: tuple[str, ...], crew: list[Worker]) -> None:
    with Cluster(name, *covered, replicas=3, parted=True) as cluster:
        parted = Parted(cluster)
        for worker in crew:
            parted.client(worker)
            parted.succeeds(worker, "before")
        parted.cut()
        parted.promoted()
        for worker in crew:
            parted.succeeds(worker, "after the promotion")
        # And it stays so, whomever the map is asked of.
        for _ in range(NEWCOMERS):
            for worker in crew:
                parted.succeeds(worker, "later")


@pytest.mark.parametrize("covered", [PARTLY, WHOLLY])
def test_a_call_that_was_refused_before_is_not_a_bar(name: str, covered: tuple[str, ...], crew: list[Worker]) -> None:
    """What a client learned while nobody served the key is forgotten when somebody does."""
    with Cluster(name, *covered, replicas=3, parted=True, timeout_ms=3000) as cluster:
        parted = Parted(cluster)
        for worker in crew:
            parted.client(worker, timeout_ms=200)
            parted.succeeds(worker, "before")
        parted.cut()
        for worker in crew:
            assert parted.call(worker).get("error") in (None, "unavailable", "timeout")
        parted.promoted()
        for worker in crew:
            parted.client(worker)
            parted.succeeds(worker, "after the promotion")


def test_new_clients_do_not_believe_the_one_that_is_cut_off(name: str, crew: list[Worker]) -> None:
    with Cluster(name, replicas=3, parted=True) as cluster:
        parted = Parted(cluster)
        parted.cut()
        parted.promoted()
        for worker in crew:
            for number in range(NEWCOMERS):
                parted.client(worker)
                parted.succeeds(worker, f"client {number}")
            # It knows the others, though it is alone.
            parted.client(worker, f"redis+cluster://{parted.old.address}")
            parted.succeeds(worker, "by the one that is cut off")


def test_a_replica_that_is_cut_off_too_is_not_the_last_word(name: str, crew: list[Worker]) -> None:
    """Two replicas, one on each side."""
    with Cluster(name, replicas=6, parted=True) as cluster:
        old = cluster.primaries()[0]
        near, far = cluster.replicas_of(old)
        parted = Parted.__new__(Parted)
        parted.cluster, parted.url, parted.old, parted.new = cluster, cluster.url, old, far
        parted.key = next(f"k{n}" for n in range(100) if cluster.owner_of(f"k{n}") is old)
        for worker in crew:
            parted.client(worker)
            parted.succeeds(worker, "before")
        parted.cut(near)
        parted.promoted()
        for worker in crew:
            parted.succeeds(worker, "after the promotion")


def test_a_partition_that_heals_halfway(name: str, crew: list[Worker]) -> None:
    with Cluster(name, replicas=3, parted=True) as cluster:
        parted = Parted(cluster)
        for worker in crew:
            parted.client(worker)
            parted.succeeds(worker, "before")
        parted.cut()
        parted.promoted()
        others = [node for node in cluster.nodes if node not in (parted.old, parted.new)]
        steps: list[tuple[str, Callable[[], None]]] = [
            (f"one of {len(others)} others sees it again", lambda: cluster.heal(parted.old, others[0])),
            ("another sees it again", lambda: cluster.heal(parted.old, others[1])),
            ("and is cut off from it once more", lambda: cluster.cut(parted.old)),
            ("all see it again", cluster.heal),
        ]
        for step, happens in steps:
            happens()
            for _ in range(NEWCOMERS):
                for worker in crew:
                    parted.succeeds(worker, step)
        cluster.wait_until_it_serves()
        for worker in crew:
            parted.succeeds(worker, "healed")
            parted.client(worker)
            parted.succeeds(worker, "healed, a new client")
