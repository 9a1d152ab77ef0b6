"""The clusters and Sentinels of the tests themselves: that they do what the other tests do to them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cluster import Cluster, slot_of
from sentinels import Sentinels
from servers import ServerError

SERVERS = ["redis-7.0", "valkey-9.1"]


@pytest.fixture(params=SERVERS)
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with Cluster(request.param, "--appendonly", "yes", "--appendfsync", "always", replicas=3) as running:
        yield running


def test_a_slot_moves_with_its_keys(cluster: Cluster) -> None:
    keys = [f"{{tag}}{number}" for number in range(10)]
    source = cluster.owner_of("tag")
    to = next(node for node in cluster.primaries() if node is not source)
    for key in keys:
        source.ask("SET", key, "here")
    told = []

    def half_way() -> None:
        for key in keys:
            try:
                told.append(source.ask("GET", key))
            except ServerError as refused:
                told.append(str(refused).split(" with ")[1])
        with pytest.raises(ServerError, match="TRYAGAIN"):
            source.ask("MGET", *keys)

    assert cluster.migrate_slot(slot_of("tag"), to, half_way) == len(keys)
    assert told.count("here") == len(keys) // 2
    assert told.count(f"ASK {slot_of('tag')} {to.address}") == len(keys) // 2
    assert cluster.owner_of("tag") is to
    assert to.ask("MGET", *keys) == ["here"] * len(keys)
    with pytest.raises(ServerError, match=f"MOVED {slot_of('tag')} {to.address}"):
        source.ask("GET", keys[0])


def test_a_primary_is_replaced_and_comes_back_to_follow(cluster: Cluster) -> None:
    for number in range(60):
        cluster.owner_of(f"key {number}").ask("SET", f"key {number}", "here")
    killed, frozen, well = cluster.primaries()
    for primary in (killed, frozen, well):
        assert primary.ask("WAIT", 1, 5000) == 1
        (replica,) = cluster.replicas_of(primary)
        if primary is well:
            cluster.promote(replica)
        else:
            primary.kill9() if primary is killed else primary.freeze()
            assert cluster.wait_until_promoted(replica) is replica
        assert replica in cluster.primaries()
    assert cluster.keys() == 60
    cluster.up()
    assert {node.ask("ROLE")[0] for node in (killed, frozen, well)} == {"slave"}
    cluster.down()
    cluster.up()
    assert cluster.keys() == 60


def test_two_take_themselves_for_the_primary(cluster: Cluster) -> None:
    old = cluster.owner_of("key")
    new = cluster.split(old)
    for node in (old, new):
        assert node.ask("SET", "key", node.port) == "OK"
    old.kill9()
    cluster.wait_until_it_serves()
    assert cluster.owner_of("key") is new
    assert new.ask("GET", "key") == str(new.port)


def test_a_node_comes_and_goes(cluster: Cluster) -> None:
    before = cluster.owner_of_slot(7)
    added = cluster.add_node()
    cluster.migrate_slot(7, added)
    assert cluster.owner_of_slot(7) is added
    assert cluster.url.count(added.address) == 1
    with pytest.raises(ServerError, match="has slots"):
        cluster.remove_node(added)
    cluster.migrate_slot(7, before)
    cluster.remove_node(added)
    cluster.wait_until_it_serves()
    assert len(cluster.nodes) == 6


def test_questions_for_the_map_are_counted(cluster: Cluster) -> None:
    first, second = cluster.primaries()[:2]
    first.ask("CLUSTER", "SLOTS")
    first.ask("CLUSTER", "SHARDS")
    second.ask("CLUSTER", "SHARDS")
    counts = cluster.map_requests()
    assert (counts.pop(first.port), counts.pop(second.port)) == (2, 1)
    assert set(counts.values()) == {0}


@pytest.mark.parametrize("announced", ["localhost", ""])
def test_clients_are_led_to_the_proxies(announced: str) -> None:
    with Cluster(primaries=2, proxied=True, host=announced) as cluster:
        first, second = cluster.primaries()
        host = announced or "127.0.0.1"
        with pytest.raises(ServerError, match=f"MOVED 0 {host}:{first.proxy.port if first.proxy else 0}"):
            # The first slot is that of this key.
            second.ask("GET", "{06S}")


@pytest.mark.parametrize("name", SERVERS)
def test_sentinels_replace_a_primary(name: str) -> None:
    with Sentinels(name) as sentinels:
        before = sentinels.primary
        asked = sentinels.failover()
        assert asked is not before
        sentinels.wait_until_it_serves()
        asked.kill9()
        after = sentinels.wait_until_promoted(asked)
        asked.start()
        sentinels.wait_until_it_serves()
        assert sentinels.primary is after
        assert [server.ask("ROLE")[0] for server in sentinels.replicas()] == ["slave", "slave"]
