"""A lock over three servers some of which stand still: one is no matter, and with two the holder learns in time."""

from __future__ import annotations

import time
from collections.abc import Iterator

import measure
import pytest
import quotalock
from servers import Server

TTL = 3.0
LONG = 20.0


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    # With an append-only file they have a vote from the start.
    keeps = ("--appendonly", "yes")
    with Server("redis-7.0", *keeps) as one, Server("redis-6.2", *keeps) as two, Server("valkey-9.1", *keeps) as three:
        yield [one, two, three]


def lock_of(servers: list[Server]) -> quotalock.Lock:
    clients = [quotalock.Client(server.url, timeout=2.0) for server in servers]
    return quotalock.quorum_lock(clients, "sku:42", ttl=TTL, wait=LONG)


def test_it_is_held_and_renewed_while_one_stands_still(servers: list[Server]) -> None:
    lock, other = lock_of(servers), lock_of(servers)
    assert lock.acquire()
    servers[1].sigstop()
    time.sleep(1.5 * TTL)
    assert lock.held
    assert not other.acquire(0.0)
    assert lock.extend()
    assert lock.release()
    assert other.acquire()


def test_one_that_was_away_is_asked_again_so_that_the_next_may_go(servers: list[Server]) -> None:
    lock, other = lock_of(servers), lock_of(servers)
    servers[1].sigstop()
    assert lock.acquire()
    servers[1].sigcont()
    there = quotalock.Client(servers[1].url, timeout=2.0).lock("sku:42")
    give_up = time.monotonic() + LONG
    # A renewal takes it.
    while not there.inspect().holders:
        assert lock.held
        assert time.monotonic() < give_up
        time.sleep(0.02)
    assert there.inspect().holders[0].token == lock.token
    servers[0].sigstop()
    time.sleep(1.5 * TTL)
    assert lock.held
    assert not other.acquire(0.5)
    servers[0].sigcont()
    assert lock.release()
    assert other.acquire()


def test_while_two_stand_still_it_is_lost_at_its_deadline(servers: list[Server]) -> None:
    lock, other = lock_of(servers), lock_of(servers)
    assert lock.acquire()
    assert lock.extend()
    with measure.Stalls() as stalls:
        extended = time.monotonic()
        servers[1].sigstop()
        servers[2].sigstop()
        assert lock.lost.wait(LONG)
        took = time.monotonic() - extended
    assert 0.6 * TTL - stalls.worst < took < 1.2 * TTL + stalls.worst
    with pytest.raises(quotalock.Lost):
        lock.assert_held()
    assert not other.acquire(0.5)
    # Neither late renewals nor late questions of the other take effect.
    servers[1].sigcont()
    servers[2].sigcont()
    assert other.acquire()
    assert lock.state == "lost"
