"""Failovers by Sentinel, one after the other, of primaries that are well."""

from __future__ import annotations

import time

import measure
import pytest
from accounts import settle
from cluster_load import LONGER, ClusterLoad, counted
from sentinels import Sentinels
from test_sentinel import AWAY, BACK_MS, BESIDE_MS, SERVERS, back_ms


@pytest.fixture(params=SERVERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_failover_after_failover(name: str) -> None:
    times, promoted = int(10 * LONGER), []
    with Sentinels(name) as sentinels, ClusterLoad(sentinels.url, seconds=60 + 8 * times) as load:
        for number in range(times):
            time.sleep(0.3)
            before = sentinels.primary
            if number % 5 == 3:
                before.kill9()
                sentinels.wait_until_promoted(before)
            else:
                sentinels.failover()
            promoted.append(time.monotonic_ns())
            time.sleep(0.3)
            if not before.runs:
                before.start()
            sentinels.wait_until_it_serves()
        time.sleep(1)
        history = load.end()
        report = settle(history, counted(sentinels.url, history), forgets=True, errors=AWAY)
        took = [back_ms(history, moment) for moment in promoted]
        slowest = measure.slowest_ms(history)
        print(report, f"slowest {slowest:.0f} ms, back after {[round(t) for t in took]} ms", sep="\n")
        assert not report.problems, report
        assert slowest <= load.timeout_ms + BESIDE_MS + load.stalls.worst_ms
        assert max(took) <= BACK_MS + load.stalls.worst_ms
        # What no replica had been told of when the primary was replaced.
        assert report.lost <= 40 * times
