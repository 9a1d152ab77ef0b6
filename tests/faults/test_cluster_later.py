"""Bad days of a cluster that find faults still."""

from __future__ import annotations

import time

import measure
import pytest
from cluster import Cluster, slot_of
from cluster_load import LONGER, TIMEOUT_MS, ClusterLoad
from test_cluster import AWAY, BACK_MS, SERVERS, back_ms, check, elsewhere, in_slots, slots_of


@pytest.fixture(params=SERVERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_node_comes_and_goes(name: str) -> None:
    with Cluster(name) as cluster, ClusterLoad(cluster.url) as load:
        slots = [slot_of(key) for key in load.keys[::4]]
        time.sleep(0.5)
        for _ in range(int(2 * LONGER)):
            added = cluster.add_node()
            before = {slot: cluster.owner_of_slot(slot) for slot in slots}
            for slot in slots:
                cluster.migrate_slot(slot, added)
            time.sleep(0.3)
            for slot in slots:
                cluster.migrate_slot(slot, before[slot])
            cluster.remove_node(added)
            time.sleep(0.3)
        history = load.end()
        report = check(load, history, cluster.url)
        assert not report.errors


def test_a_primary_is_paused_and_two_believe_to_be_it(name: str) -> None:
    with Cluster(name, replicas=3) as cluster, ClusterLoad(cluster.url) as load:
        late = []
        for number in range(int(2 * LONGER)):
            time.sleep(1)
            primary = cluster.primaries()[number % 3]
            slots, (replica,) = slots_of(primary), cluster.replicas_of(primary)
            primary.freeze()
            cluster.wait_until_promoted(replica)
            late.append((slots, time.monotonic_ns()))
            time.sleep(1)
            primary.thaw()
            cluster.wait_until_it_serves()
        history = load.end()
        report = check(load, history, cluster.url, forgets=True, errors=AWAY)
        for slots, promoted in late:
            took = back_ms(in_slots(history, slots), promoted)
            print(f"back {took:.0f} ms after the promotion")
            # Those who wait for its answer notice when their time is over.
            assert took <= TIMEOUT_MS + BACK_MS + load.stalls.worst_ms
        # What was sent to it while it was paused is too late when it goes on: it counts nowhere.
        assert report.lost <= 20 * len(late)


def test_a_wrong_password_on_one_node(name: str) -> None:
    with Cluster(name) as cluster, ClusterLoad(cluster.url) as load:
        time.sleep(1)
        node = cluster.primaries()[1]
        slots = slots_of(node)
        node.ask("CONFIG", "SET", "requirepass", "another")
        # Those that were there stay; new ones are refused.
        node.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        began = time.monotonic_ns()
        time.sleep(2)
        ended = time.monotonic_ns()
        node.ask("CONFIG", "SET", "requirepass", "")
        time.sleep(1.5)
        history = load.end()
        report = check(load, history, cluster.url, errors=("unavailable", "not_permitted"))
        refused = [record for record in history if record.get("error") == "not_permitted"]
        assert refused
        assert refused == in_slots(refused, slots)
        assert all(node.address in record["message"] for record in refused)
        others = elsewhere(measure.during(history, began, ended), slots)
        assert not measure.errors(others)
        assert report.unknown < 50
