"""One decision is one round trip and one command, however many rules it has; a denial writes nothing."""

from __future__ import annotations

import pytest
from proxy import Proxy
from servers import Server
from workers import Worker

CALLS = 40
POLICIES = {
    1: "100/1h",
    2: "100/1h;calendar-window 1000/1d",
    5: "100/1h;200/2h;300/3h;calendar-window 1000/1d;calendar-window 5000/1w",
}


@pytest.mark.parametrize("rules", POLICIES)
def test_a_decision_is_one_command_and_one_round_trip(worker: Worker, server: Server, rules: int) -> None:
    policy = POLICIES[rules]
    with Proxy(server.port) as proxy:
        worker.client(proxy.url)
        # The first call connects, and the server learns the script.
        worker.decide("consume", "trips", policy, "first", cost=1)
        server.called()
        requests, replies = proxy.counts.requests, proxy.counts.replies

        for _ in range(CALLS):
            assert worker.decide("consume", "trips", policy, "k", cost=1)["allowed"]
        # What runs inside the script is counted too: one look at the clock, one read, one write.
        assert server.called() == {"evalsha": CALLS, "time": CALLS, "getrange": CALLS, "set": CALLS}

        # A lower cost than the last that was denied: that of one as high would be remembered.
        for cost in range(60 + CALLS, 60, -1):
            assert not worker.decide("consume", "trips", policy, "k", cost=cost)["allowed"]
            assert worker.decide("peek", "trips", policy, "k", cost=1)["allowed"]
        assert server.called() == {"evalsha": 2 * CALLS, "time": 2 * CALLS, "getrange": 2 * CALLS}

        assert proxy.counts.requests - requests == 3 * CALLS
        assert proxy.counts.replies - replies == 3 * CALLS
        assert proxy.counts.connections == 1


def test_calls_of_one_tick_share_a_round_trip(server: Server) -> None:
    """asyncio and Node: what is asked at once travels at once."""
    for language in ("aio", "node"):
        with Worker(language) as worker, Proxy(server.port) as proxy:
            worker.client(proxy.url)
            worker.decide("consume", "tick", "1000000/1h", "first", cost=1)
            requests = proxy.counts.requests
            mix = [{"limiter": "tick", "policy": "1000000/1h", "key": "k", "costs": [1]}]
            worker.begin_load(mix, seconds=10, calls=2000, in_flight=50)
            assert len(worker.end_load(within=15)) == 2000
            assert proxy.counts.requests - requests < 2000 / 10
            assert proxy.counts.connections == 1
