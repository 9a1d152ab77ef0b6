"""What a limiter answers while Redis is away, as `on_error` says, and that it goes back to Redis by itself."""

from __future__ import annotations

import time

import measure
import pytest
from kept import kept_worker
from servers import Server
from workers import Answer, Worker

LIMITER = {"limiter": "away", "policy": "5/1h;50/1d"}
worker = kept_worker


def consume(worker: Worker, cost: int = 1) -> Answer:
    return worker.ask("consume", **LIMITER, key="k", cost=cost)


@pytest.fixture
def away(server: Server) -> Server:
    """A server that was there, and is not."""
    server.stop()
    return server


def check_recovery(worker: Worker, server: Server) -> None:
    server.start()
    with measure.Stalls() as stalls:
        end = time.monotonic() + 1.1
        answer = consume(worker)
        while answer.get("result", {}).get("source") != "redis":
            assert time.monotonic() < end + stalls.worst, f"not back at Redis within 1.1 s: {answer}"
            answer = consume(worker)
    # Redis learns nothing of what was decided without it.
    assert [rule["remaining"] for rule in answer["result"]["rules"]] == [4, 49]


@pytest.mark.parametrize("on_error", ["raise", "open", "closed", "local"])
def test_a_block_or_reset_that_was_not_stored_never_looks_like_one(worker: Worker, away: Server, on_error: str) -> None:
    worker.client(away.url, on_error=on_error)
    for op, arguments in (("block", {"duration_ms": 60_000}), ("reset", {})):
        answer = worker.ask(op, **LIMITER, key="k", **arguments)
        assert answer.get("error") == "unavailable", answer


def test_raise(worker: Worker, away: Server) -> None:
    worker.client(away.url)
    answers = [consume(worker) for _ in range(200)]
    assert {answer["error"] for answer in answers} == {"unavailable"}
    assert measure.median_ms(answers) < 1
    for answer in answers:
        assert f"127.0.0.1:{away.port}" in answer["message"]
    check_recovery(worker, away)


def test_open(worker: Worker, away: Server) -> None:
    worker.client(away.url, on_error="open")
    answers = [consume(worker, cost=3) for _ in range(200)]
    for answer in answers:
        decision = answer["result"]
        assert (decision["allowed"], decision["source"], decision["retry_after_ms"]) == (True, "open", 0)
        assert decision["cost"] == 3
        assert [rule["limit"] for rule in decision["rules"]] == [5, 50]
    assert measure.median_ms(answers) < 1
    assert worker.ask("require", **LIMITER, key="k", cost=1)["result"]["source"] == "open"
    check_recovery(worker, away)


def test_closed(worker: Worker, away: Server) -> None:
    worker.client(away.url, on_error="closed")
    answers = [consume(worker) for _ in range(200)]
    for answer in answers:
        decision = answer["result"]
        assert (decision["allowed"], decision["source"], decision["remaining"]) == (False, "closed", 0)
        # Not never: somebody may come back, and soon.
        assert 1 <= decision["retry_after_ms"] <= 1000
    assert measure.median_ms(answers) < 1
    required = worker.ask("require", **LIMITER, key="k", cost=1)
    assert required["error"] == "limited"
    # Nobody is over any limit.
    assert "Redis could not be asked" in required["message"]
    assert "on_error=closed" in required["message"]
    assert "over" not in required["message"]
    check_recovery(worker, away)


def test_local_holds_the_same_policy(worker: Worker, away: Server) -> None:
    worker.client(away.url, on_error="local")
    answers = [consume(worker) for _ in range(200)]
    assert {answer["result"]["source"] for answer in answers} == {"local"}
    assert [answer["result"]["allowed"] for answer in answers] == [True] * 5 + [False] * 195
    assert 3_590_000 < answers[-1]["result"]["retry_after_ms"] <= 3_600_000
    assert measure.median_ms(answers) < 1
    assert worker.decide("refund", **LIMITER, key="k", amount=2)["remaining"] == 2
    assert worker.decide("peek", **LIMITER, key="k", cost=1)["source"] == "local"
    check_recovery(worker, away)
    # A second absence goes on: three that were counted here, and one by Redis.
    away.stop()
    remaining = consume(worker)["result"]["remaining"]
    assert remaining == 0
    assert consume(worker)["result"]["allowed"] is False


def test_frozen_server_is_answered_for_like_an_absent_one(worker: Worker, server: Server) -> None:
    worker.client(server.url, timeout_ms=500, on_error="local")
    assert consume(worker)["result"]["source"] == "redis"
    server.sigstop()
    with measure.Stalls() as stalls:
        answers = [consume(worker) for _ in range(60)]
    server.sigcont()
    assert {answer["result"]["source"] for answer in answers} == {"local"}
    # Redis has counted one of five.
    assert measure.admitted([{"cost": 1, **answer} for answer in answers]) == 4
    assert measure.slowest_ms(answers) <= 650 + stalls.worst_ms
    assert measure.median_ms(answers) < 1
