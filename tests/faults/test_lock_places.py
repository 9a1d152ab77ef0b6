"""What the guide says of locks on each kind of Redis: what is forgotten, who notices, and that the token goes on."""

from __future__ import annotations

import concurrent.futures
import contextlib
import time
from collections.abc import Callable, Iterator

import measure
import pytest
import quotalock
from program import free_port
from servers import Server

LONG = 20.0


@pytest.fixture
def primary() -> Iterator[Server]:
    with Server("redis-7.0") as running:
        yield running


@contextlib.contextmanager
def replica_of(primary: Server) -> Iterator[Server]:
    primary.command("CONFIG", "SET", "repl-diskless-sync-delay", "0")
    with Server("redis-7.0", "--replicaof", "127.0.0.1", str(primary.port)) as running:
        until(lambda: f"port={running.port},state=online" in primary.command("INFO", "replication"))
        yield running


@pytest.fixture
def replica(primary: Server) -> Iterator[Server]:
    with replica_of(primary) as running:
        yield running


def lock(server: Server, ttl: float = 30.0, **options: object) -> quotalock.Lock:
    client = quotalock.Client(server.url, timeout=2.0)
    return client.lock("sku:42", ttl, **options)  # type: ignore[arg-type]


def fail_over(primary: Server, replica: Server) -> None:
    """Has the replica take over, as Sentinel would."""
    primary.kill9()
    replica.command("REPLICAOF", "NO", "ONE")


def cut_off(replica: Server) -> None:
    """Has what the primary is told from now on not reach the replica."""
    replica.command("REPLICAOF", "127.0.0.1", str(free_port()))


def until(happens: Callable[[], bool]) -> None:
    give_up = time.monotonic() + LONG
    while not happens():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def assert_both_hold(first: quotalock.Lock, second: quotalock.Lock) -> None:
    assert second.acquire()
    assert first.held
    assert second.held
    # What is left to tell them apart.
    assert first.token is not None
    assert second.token is not None
    assert second.token > first.token


def assert_lost_within(seconds: float, lock: quotalock.Lock) -> None:
    with measure.Stalls() as stalls:
        began = time.monotonic()
        assert lock.lost.wait(LONG)
        took = time.monotonic() - began
    assert took < seconds + stalls.worst


def test_without_persistence_a_restart_forgets_and_the_holder_learns_of_it(primary: Server) -> None:
    # So long that the server is back before the next renewal.
    first = lock(primary, ttl=9.0)
    assert first.acquire()
    primary.kill9()
    primary.start()
    assert_both_hold(first, lock(primary))
    # At its next renewal.
    assert_lost_within(4.5, first)


def test_without_a_renewal_the_holder_learns_of_it_when_it_extends(primary: Server) -> None:
    first = lock(primary, renew=False)
    assert first.acquire()
    primary.command("FLUSHALL")
    assert_both_hold(first, lock(primary))
    assert not first.extend()
    assert first.state == "lost"


def test_an_append_only_file_outlives_a_crash_of_the_server() -> None:
    with Server("redis-7.0", "--appendonly", "yes") as server:
        first = lock(server)
        assert first.acquire()
        server.kill9()
        server.start()
        assert not lock(server).acquire()
        assert first.extend()


def test_a_failover_forgets_what_the_replica_did_not_have(primary: Server, replica: Server) -> None:
    cut_off(replica)
    first = lock(primary)
    assert first.acquire()
    fail_over(primary, replica)
    assert_both_hold(first, lock(replica))


def test_an_acquisition_that_asks_for_a_replica_is_refused_without_it(primary: Server, replica: Server) -> None:
    cut_off(replica)
    first = lock(primary, replicas_ack=1)
    assert not first.acquire()
    # What the primary has of it is taken back.
    until(lambda: not first.inspect().holders)


def test_a_wait_outlasts_a_replica_that_is_away_for_a_while(primary: Server, replica: Server) -> None:
    cut_off(replica)
    first = lock(primary, replicas_ack=1)
    began = time.monotonic()
    assert not first.acquire(0.5)
    assert time.monotonic() - began > 0.5
    with concurrent.futures.ThreadPoolExecutor() as pool:
        acquiring = pool.submit(first.acquire, LONG)
        until(lambda: bool(first.inspect().holders))
        replica.command("REPLICAOF", "127.0.0.1", str(primary.port))
        assert acquiring.result()
    fail_over(primary, replica)
    assert lock(replica).inspect().holders[0].token == first.token


def test_what_the_replica_has_outlives_a_failover(primary: Server, replica: Server) -> None:
    first = lock(primary, replicas_ack=1, ack_timeout=5.0)
    assert first.acquire()
    fail_over(primary, replica)
    assert not lock(replica).acquire()


def test_one_replica_is_not_enough_where_the_other_takes_over(primary: Server, replica: Server) -> None:
    with replica_of(primary) as other:
        cut_off(other)
        first = lock(primary, replicas_ack=1, ack_timeout=5.0)
        assert first.acquire()
        fail_over(primary, other)
        assert_both_hold(first, lock(other))


def test_renewals_ask_no_replica(primary: Server, replica: Server) -> None:
    first = lock(primary, ttl=3.0, replicas_ack=1, ack_timeout=5.0)
    assert first.acquire()
    replica.command("REPLICAOF", "NO", "ONE")
    assert_both_hold(first, lock(replica, wait=LONG))


def test_unless_the_server_does(primary: Server, replica: Server) -> None:
    primary.command("CONFIG", "SET", "min-replicas-to-write", "1")
    first = lock(primary, ttl=3.0, replicas_ack=1, ack_timeout=5.0)
    assert first.acquire()
    replica.command("REPLICAOF", "NO", "ONE")
    # No renewal succeeds any more.
    assert_lost_within(3.0, first)
    assert lock(replica, wait=LONG).acquire()


def test_a_holder_that_is_forced_out_learns_of_it_at_its_next_renewal(primary: Server) -> None:
    first = lock(primary, ttl=9.0)
    assert first.acquire()
    second = lock(primary)
    assert second.force_release() == 1
    assert_both_hold(first, second)
    assert_lost_within(4.5, first)


def test_a_full_server_grants_nothing_but_renews_and_releases(primary: Server) -> None:
    first = lock(primary)
    assert first.acquire()
    primary.command("CONFIG", "SET", "maxmemory", "1")
    with pytest.raises(quotalock.Unavailable, match="full"):
        quotalock.Client(primary.url, timeout=5.0).lock("another").acquire()
    assert first.extend()
    assert first.release()
