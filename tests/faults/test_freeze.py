"""Redis stands still, or requests take too long to reach it: no call hangs, and none takes effect later."""

from __future__ import annotations

import time

import measure
import pytest
from proxy import Proxy
from servers import Server
from workers import Answer, Worker

POLICY = "1000000/1h"
MIX = [{"limiter": "freeze", "policy": POLICY, "key": "k", "costs": [1]}]
TIMEOUT_MS = 500
BACK_WITHIN = 1.1
CONCURRENCY = [("python", 1), ("python", 16), ("aio", 16), ("node", 1), ("node", 16), ("php", 1)]


def peek_when_back(worker: Worker) -> Answer:
    """Asks until the breaker has let a call through."""
    with measure.Stalls() as stalls:
        end = time.monotonic() + BACK_WITHIN
        while True:
            answer = worker.ask("peek", limiter="freeze", policy=POLICY, key="k", cost=1)
            if "error" not in answer or time.monotonic() > end + stalls.worst:
                assert "error" not in answer, answer
                return answer


def used(answer: Answer) -> int:
    remaining: int = answer["result"]["remaining"]
    return 1_000_000 - remaining


@pytest.mark.parametrize(("worker", "in_flight"), CONCURRENCY, indirect=["worker"])
def test_frozen_for_two_seconds_under_load(worker: Worker, server: Server, in_flight: int) -> None:
    worker.client(server.url, timeout_ms=TIMEOUT_MS)
    with measure.Stalls() as stalls:
        worker.begin_load(MIX, seconds=60.0, in_flight=in_flight, pause_us=500)
        time.sleep(0.5)
        server.sigstop()
        frozen = time.monotonic_ns()
        time.sleep(2.0)
        thawed = time.monotonic_ns()
        server.sigcont()
        # From then on, whatever was late before.
        time.sleep(2.5)
        worker.stop_load()
        history = worker.end_load(within=15)

    failed = measure.errors(history)
    assert {record["error"] for record in failed} <= {"unavailable", "timeout"}
    assert measure.slowest_ms(history) <= TIMEOUT_MS + 150 + stalls.worst_ms
    # Two timeouts tell the breaker: that of the call under way, and that of the new connection after it.
    knowing = measure.during(history, frozen + (2 * TIMEOUT_MS + 150) * 1_000_000, thawed)
    assert len(knowing) > 100
    assert measure.median_ms(knowing) < 5
    first = min(record["ok_ns"] for record in history if record["ok_ns"] > thawed and "error" not in record)
    assert (first - thawed) / 1e9 <= BACK_WITHIN + stalls.worst
    # Of the calls that nobody answered only those may count that had reached the server before it froze.
    unknown = [record for record in failed if record["invoke_ns"] < frozen]
    assert len(unknown) <= in_flight
    succeeded = len(history) - len(failed)
    assert succeeded <= used(peek_when_back(worker)) <= succeeded + len(unknown)


def test_a_call_that_timed_out_is_not_charged_after_the_thaw(worker: Worker, server: Server) -> None:
    worker.client(server.url, timeout_ms=TIMEOUT_MS)
    worker.decide("consume", "freeze", POLICY, "k", cost=1)
    server.sigstop()
    with measure.Stalls() as stalls:
        answers = [worker.ask("consume", limiter="freeze", policy=POLICY, key="k", cost=1) for _ in range(3)]
    # The estimate of the server's clock is at most a reply's travel behind: the deadline has certainly passed.
    server.sigcont()
    assert answers[0]["error"] == answers[1]["error"] == "timeout"
    assert measure.slowest_ms(answers[:2]) <= TIMEOUT_MS + 150 + stalls.worst_ms
    assert used(peek_when_back(worker)) == 1
    assert worker.decide("consume", "freeze", POLICY, "k", cost=1)["remaining"] == 1_000_000 - 2


def test_idle_connections_do_not_cost_a_timeout_each(worker: Worker, server: Server) -> None:
    """A burst of threads leaves connections behind; when the server freezes they are all equally dead."""
    worker.client(server.url, timeout_ms=TIMEOUT_MS)
    worker.begin_load(MIX, seconds=0.3, in_flight=16)
    worker.end_load(within=15)
    server.sigstop()
    with measure.Stalls() as stalls:
        answers = [worker.ask("consume", limiter="freeze", policy=POLICY, key="k", cost=1) for _ in range(20)]
    server.sigcont()
    assert {answer["error"] for answer in answers} <= {"timeout", "unavailable"}
    assert measure.slowest_ms(answers[:2]) <= TIMEOUT_MS + 150 + stalls.worst_ms
    assert measure.slowest_ms(answers[2:]) < 100 + stalls.worst_ms
    assert measure.median_ms(answers[2:]) < 1


def test_a_call_that_timed_out_in_a_pause_is_not_charged_after_it(worker: Worker, server: Server) -> None:
    """`CLIENT PAUSE`, as at a planned failover: the server takes the command and holds it back."""
    worker.client(server.url, timeout_ms=TIMEOUT_MS)
    worker.decide("consume", "freeze", POLICY, "k", cost=1)
    server.command("CLIENT", "PAUSE", "60000", "WRITE")
    answer = worker.ask("consume", limiter="freeze", policy=POLICY, key="k", cost=1)
    assert answer["error"] == "timeout"
    # The server goes by its clock, of which the client has an estimate.
    time.sleep(0.1)
    server.command("CLIENT", "UNPAUSE")
    assert used(peek_when_back(worker)) == 1


def test_a_request_that_arrives_late_is_refused(worker: Worker, server: Server) -> None:
    with Proxy(server.port) as proxy:
        worker.client(proxy.url, timeout_ms=TIMEOUT_MS)
        worker.decide("consume", "freeze", POLICY, "k", cost=1)
        proxy.faults.late = 0.7
        answer = worker.ask("consume", limiter="freeze", policy=POLICY, key="k", cost=1)
        assert answer["error"] == "timeout", answer
        # Let it arrive: the proxy passes on what the client sent before it gave up.
        time.sleep(0.4)
        proxy.faults.late = 0.0
        assert int(server.command("EVAL", "return 7", "0")) == 7
        assert used(peek_when_back(worker)) == 1


def test_a_slow_reply_is_a_timeout_and_never_answers_the_next_call(worker: Worker, server: Server) -> None:
    with Proxy(server.port) as proxy:
        worker.client(proxy.url, timeout_ms=TIMEOUT_MS)
        for n in range(1, 4):
            key, policy = f"slow {n}", f"{n}00/1h"
            worker.decide("consume", "freeze", policy, key, cost=1)
            proxy.faults.delay = 0.6
            answer = worker.ask("consume", limiter="freeze", policy=policy, key=key, cost=1)
            assert answer["error"] == "timeout"
            proxy.faults.delay = 0.0
            # The late reply is still on its way when the next call is made.
            other = worker.decide("consume", "freeze", POLICY, f"other {n}", cost=1)
            assert (other["limit"], other["remaining"]) == (1_000_000, 999_999)
            # What timed out had run in time: whoever asks hears of it.
            assert worker.decide("peek", "freeze", policy, key, cost=1)["remaining"] == n * 100 - 2
