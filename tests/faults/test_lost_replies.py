"""Replies get lost on the way: the outcome is unknown, and said to be; nothing is sent twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import measure
import pytest
import quotalock
from proxy import Faults, Proxy
from servers import Server
from workers import Worker

LIMIT = 1_000_000
POLICY = f"{LIMIT}/1h"
MIX = [{"limiter": "lost", "policy": POLICY, "key": "k", "costs": [1]}]

CONCURRENCY = [("python", 1), ("python", 8), ("aio", 1), ("aio", 8), ("node", 1), ("node", 8), ("php", 1)]
FAULTS = {
    "cut": Faults(lose=0.02, spare=1),
    "half": Faults(lose=0.02, spare=1, keep=7),
    "reset": Faults(lose=0.02, spare=1, reset=True),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("worker", "in_flight"), CONCURRENCY, indirect=["worker"])
def test_lost_replies_are_errors_and_charged_at_most_once(
    worker: Worker, server: Server, fault: str, in_flight: int
) -> None:
    with Proxy(server.port) as proxy:
        worker.client(proxy.url, timeout_ms=5000)
        # The server knows the script from now on: a lost reply that says otherwise would be of a call that did not run.
        worker.decide("peek", "lost", POLICY, "k", cost=1)
        proxy.faults = replace(FAULTS[fault])
        worker.begin_load(MIX, seconds=60, calls=1000, in_flight=in_flight)
        history = worker.end_load(within=70)
        lost, proxy.faults = proxy.counts.lost, Faults()
        failed = measure.errors(history)
        succeeded = len(history) - len(failed)
        assert len(history) == 1000
        assert {record["error"] for record in failed} == {"unavailable"}
        assert all("may or may not have been counted" in record["message"] for record in failed)
        used = LIMIT - worker.decide("peek", "lost", POLICY, "k", cost=1)["remaining"]
        if in_flight == 1:
            # Only replies were lost, one call each, so each of them was charged, once.
            assert (len(failed), used) == (lost, 1000)
        assert lost > 0
        # With several on one connection, its end may come before a request was read.
        assert succeeded + lost <= used <= succeeded + len(failed)


def test_a_peek_survives_a_lost_reply(worker: Worker, server: Server) -> None:
    """It changes nothing, so it may be asked again."""
    with Proxy(server.port) as proxy:
        worker.client(proxy.url, timeout_ms=5000)
        worker.decide("peek", "lost", POLICY, "k", cost=1)
        proxy.faults = Faults(lose=1.0, at_most=1)
        assert worker.decide("peek", "lost", POLICY, "k", cost=1)["remaining"] == LIMIT
        assert proxy.counts.lost == 1


@pytest.mark.parametrize("verb", ["consume", "refund", "consume_all"])
def test_a_request_is_remembered_until_it_is_repeated_no_more(server: Server, verb: str) -> None:
    """However short the memory for requests is, and however late the second try."""
    with Proxy(server.port) as proxy, quotalock.Client(proxy.url, timeout=5.0, request_memory=0.001) as client:
        limiter = client.limiter("repeated", "9/hour")
        calls: dict[str, Callable[[str], object]] = {
            "consume": lambda id: limiter.consume("k", request_id=id),
            "refund": lambda id: limiter.refund("k", 1, request_id=id),
            "consume_all": lambda id: client.consume_all([(limiter, "k")], request_id=id),
        }
        limiter.consume("k", 4)
        # The first time the script is not there yet.
        calls[verb]("first")
        proxy.faults = Faults(lose=1.0, at_most=1, late=0.05)
        calls[verb]("second")
        assert proxy.counts.lost == 1
        proxy.faults = Faults()
        assert limiter.peek("k").remaining == (7 if verb == "refund" else 3)
