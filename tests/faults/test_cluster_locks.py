"""Locks of every language through failovers: what a failover forgets may be held twice, but tokens never go back."""

from __future__ import annotations

import time

import measure
import pytest
from cluster import Cluster, slot_of
from cluster_load import LONGER
from lock_history import check, check_liveness
from lock_load import Load, lock
from sentinels import Sentinels

TTL = 300
NAMES = [f"lock {number}" for number in range(6)]
# Fair ones and waiters too: who waits is told by another node than the one that it asked.
MIX = [lock("lock", name, ttl_ms=TTL, renew=number % 3 == 1, fair=number % 3 == 2) for number, name in enumerate(NAMES)]
CREW = ["python", "php", "node"]
SERVERS = ["redis-7.0", "valkey-9.1"]
# Redis loses what was not replicated yet, and gives what it lost again.
FAILOVERS = int(4 * LONGER)


@pytest.mark.parametrize("name", SERVERS)
def test_tokens_never_go_back_in_a_cluster(name: str) -> None:
    with Cluster(name, replicas=3) as cluster, Load(MIX, timeout_ms=1500) as load, measure.Stalls() as stalls:
        for language in CREW:
            load.start(language, cluster.url)
        load.wait_until_busy()
        for number in range(FAILOVERS):
            primary = cluster.primaries()[number % 3]
            (replica,) = cluster.replicas_of(primary)
            match number % 4:
                case 0:
                    primary.kill9()
                case 1:
                    primary.freeze()
                case 2:
                    cluster.promote(replica)
                case _:
                    cluster.promote(replica, "TAKEOVER")
            cluster.wait_until_promoted(replica)
            time.sleep(0.7)
            cluster.up()
        load.kill()
        report = check(load.history(), server_remembers=False)
        late = int(stalls.worst_ms * 1e6)
        check_liveness(load.probe(CREW, cluster.url), lambda names: load.within_ns(names) + late, report)
        print(report, dict(report.grants), dict(report.outcomes), sep="\n")
        assert not report.problems, report
        assert report.grants.total() >= 40
        assert {grant.split()[0] for grant in report.grants} == set(CREW)


@pytest.mark.parametrize("name", SERVERS)
def test_tokens_never_go_back_with_sentinel(name: str) -> None:
    with Sentinels(name) as sentinels, Load(MIX, timeout_ms=1500) as load, measure.Stalls() as stalls:
        for language in CREW:
            load.start(language, sentinels.url)
        load.wait_until_busy()
        for number in range(FAILOVERS):
            before = sentinels.primary
            if number % 2:
                before.kill9()
                sentinels.wait_until_promoted(before)
            else:
                sentinels.failover()
            time.sleep(0.5)
            if not before.runs:
                before.start()
            sentinels.wait_until_it_serves()
        load.kill()
        report = check(load.history(), server_remembers=False)
        late = int(stalls.worst_ms * 1e6)
        check_liveness(load.probe(CREW, sentinels.url), lambda names: load.within_ns(names) + late, report)
        print(report, dict(report.grants), dict(report.outcomes), sep="\n")
        assert not report.problems, report
        assert report.grants.total() >= 40


@pytest.mark.parametrize("name", SERVERS)
def test_without_a_failover_nothing_is_held_twice(name: str) -> None:
    """Slots that move take their locks along, with who waits for them; a promotion by hand loses nothing either."""
    with Cluster(name, replicas=3) as cluster, Load(MIX, timeout_ms=1500) as load, measure.Stalls() as stalls:
        for language in CREW:
            load.start(language, cluster.url)
        load.wait_until_busy()
        for number in range(int(12 * LONGER)):
            key = f"history:lock:{{{NAMES[number % len(NAMES)]}}}"
            source = cluster.owner_of(key)
            to = next(node for node in cluster.primaries() if node is not source)
            cluster.migrate_slot(slot_of(key), to, lambda: time.sleep(0.02))
            time.sleep(0.1)
        load.kill()
        report = check(load.history())
        late = int(stalls.worst_ms * 1e6)
        check_liveness(load.probe(CREW, cluster.url), lambda names: load.within_ns(names) + late, report)
        print(report, dict(report.grants), dict(report.outcomes), sep="\n")
        assert not report.problems, report
        assert report.grants.total() >= 40
