"""Failovers by Sentinel while three languages call: the primary is found anew, and all calls are accounted for."""

from __future__ import annotations

import time

import measure
import pytest
import quotalock
from accounts import settle
from cluster_load import LONGER, ClusterLoad, counted
from sentinels import Sentinels

SERVERS = ["redis-7.0", "valkey-9.1"]
AWAY = ("unavailable", "timeout")
BESIDE_MS, BACK_MS = 50, 100
# Between two looks of the harness.
LOOKS_NS = 50_000_000


@pytest.fixture(params=SERVERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def back_ms(history: list[dict[str, object]], promoted_ns: int) -> float:
    """How long after the promotion the first call succeeded, in the language in which it took longest."""
    found = [0.0]
    for proc in {record["proc"] for record in history}:
        mine = [record for record in history if record["proc"] == proc and "error" not in record]
        found.append((min(t for r in mine if isinstance(t := r["ok_ns"], int) and t > promoted_ns) - promoted_ns) / 1e6)
    return max(found)


def test_failover_after_failover(name: str) -> None:
    with Sentinels(name) as sentinels, ClusterLoad(sentinels.url) as load:
        promoted, blind = [], []
        for number in range(int(3 * LONGER)):
            time.sleep(0.3)
            before = sentinels.primary
            match number % 3:
                case 0:
                    sentinels.failover()
                case 1:
                    before.kill9()
                    sentinels.wait_until_promoted(before)
                case _:
                    before.freeze()
                    sentinels.wait_until_promoted(before)
            promoted.append(time.monotonic_ns())
            # A primary that is well goes on until Sentinel tells of the next one, and nobody can know better.
            blind.append((sentinels.turned_ns - LOOKS_NS, promoted[-1]))
            time.sleep(0.3)
            if before.frozen:
                before.thaw()
            elif not before.runs:
                before.start()
            sentinels.wait_until_it_serves()
        time.sleep(1)
        history = load.end()
        report = settle(history, counted(sentinels.url, history), forgets=True, errors=AWAY)
        took = [back_ms(history, moment) for moment in promoted]
        slowest = measure.slowest_ms(history)
        meanwhile = sum(measure.admitted(measure.during(history, *span)) for span in blind)
        print(report, f"{meanwhile} of them before Sentinel told of the next primary, back after {took} ms", sep="\n")
        print(f"slowest {slowest:.0f} ms, stalls {load.stalls.worst_ms:.0f} ms")
        assert not report.problems, report
        assert slowest <= load.timeout_ms + BESIDE_MS + load.stalls.worst_ms
        assert max(took) <= BACK_MS + load.stalls.worst_ms
        # And what was under way, or no replica had been told of.
        assert report.lost <= meanwhile + 60 * len(promoted)


def test_a_primary_whose_writers_pause_is_replaced_without_a_loss(name: str) -> None:
    with Sentinels(name) as sentinels, ClusterLoad(sentinels.url) as load:
        time.sleep(1)
        before = sentinels.primary
        before.ask("CLIENT", "PAUSE", 5000, "WRITE")
        # Its replicas have all that it has.
        sentinels.wait_until_it_serves()
        sentinels.failover()
        promoted = time.monotonic_ns()
        time.sleep(1)
        history = load.end()
        report = settle(history, counted(sentinels.url, history), errors=AWAY)
        print(report, f"back after {back_ms(history, promoted):.0f} ms", sep="\n")
        assert not report.problems, report


def test_sentinels_that_are_gone_or_behind_are_passed_over(name: str) -> None:
    """One is dead, one stands still with what it knew before the failover."""
    with Sentinels(name, sentinels=5) as sentinels:
        url, lagging, dead = sentinels.url, sentinels.sentinels[0], sentinels.sentinels[1]
        dead.kill9()
        lagging.freeze()
        before = sentinels.primary
        sentinels.failover()
        lagging.thaw()
        with quotalock.Client(url, timeout=2.0) as client, measure.Stalls() as stalls:
            began = time.monotonic()
            assert client.limiter("l", "10/h").consume("k").remaining == 9
            assert time.monotonic() - began < 2.0 + stalls.worst
        assert sentinels.primary is not before
        assert sentinels.primary.ask("DBSIZE") == 1
