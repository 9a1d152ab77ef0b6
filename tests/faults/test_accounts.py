"""That the accounts find what is wrong, and that calls with a request id are counted once, in every language."""

from __future__ import annotations

import time
from typing import Any

import pytest
from accounts import settle
from cluster_load import ClusterLoad, counted
from proxy import Faults, Proxy
from servers import Server
from workers import LANGUAGES, Worker

POLICY = "1000000/1h"
WHICH = ("l", POLICY, "6b")
GONE = "127.0.0.1 went away during the call: it may or may not have been counted"


def call(at: int, *, error: str = "", message: str = GONE, allowed: bool = True, **more: str) -> dict[str, Any]:
    told = {"error": error, "message": message} if error else {"result": {"allowed": allowed}}
    about = {"proc": "me", "limiter": "l", "policy": POLICY, "key": "6b", "cost": 1}
    return {**about, "invoke_ns": at, "ok_ns": at + 1, **told, **more}


LOST = call(2, error="unavailable")
REFUSED = call(3, error="unavailable", message="127.0.0.1 could not be reached")
WRONG = call(4, error="not_permitted", message="127.0.0.1 refused the password")


@pytest.mark.parametrize(
    ("history", "counted", "problems"),
    [
        ([call(1), call(2, allowed=False)], 1, []),
        ([call(1)], 2, ["twice"]),
        ([call(1)], 0, ["forgotten"]),
        ([call(1), LOST], 1, []),
        ([call(1), LOST], 2, []),
        ([call(1), LOST], 3, ["twice"]),
        ([call(1), REFUSED], 2, ["twice"]),
        ([call(1, error="timeout", message="late")], 1, []),
        ([LOST | {"request_id": "a"}, call(5, request_id="a")], 1, []),
        ([LOST | {"request_id": "a"}, call(5, request_id="a")], 2, ["twice"]),
        ([LOST | {"request_id": "a"}], 1, ["unknown"]),
        ([LOST | {"request_id": "a"}, REFUSED | {"request_id": "a"}], 1, ["unknown"]),
        ([LOST | {"request_id": "a"}, WRONG | {"request_id": "a"}], 1, []),
        ([LOST | {"request_id": "a"}, WRONG | {"request_id": "a"}], 2, ["twice"]),
        ([call(1, error="internal", message="?")], 0, ["error"]),
    ],
)
def test_what_is_wrong_is_found(history: list[dict[str, Any]], counted: int, problems: list[str]) -> None:
    report = settle(history, {WHICH: counted}, errors=["unavailable", "timeout", "not_permitted"])
    assert [problem.split(":")[0] for problem in report.problems] == problems


def test_what_a_failover_loses_is_stated() -> None:
    report = settle([call(1), call(2), LOST], {WHICH: 1}, forgets=True, errors=["unavailable"])
    assert (report.problems, report.lost, report.unknown) == ([], 1, 1)


@pytest.mark.parametrize("language", LANGUAGES)
def test_calls_with_a_request_id_are_counted_once(language: str, server: Server) -> None:
    keys = [f"k{n}" for n in range(6)]
    mix = [{"limiter": "l", "policy": POLICY, "key": key, "costs": [1, 2], "once": key < "k3"} for key in keys]
    with Proxy(server.port) as proxy, Worker(language) as worker:
        worker.client(proxy.url)
        worker.decide("peek", "l", POLICY, "k", cost=1)
        proxy.faults = Faults(lose=0.05, spare=1)
        worker.begin_load(mix, seconds=10, calls=400, in_flight=4)
        history = worker.end_load(within=30)
        proxy.faults = Faults()
        counted = {
            ("l", POLICY, key.encode().hex()): 1_000_000 - worker.decide("peek", "l", POLICY, key, cost=1)["remaining"]
            for key in keys
        }
        report = settle(history, counted, errors=["unavailable"])
        assert not report.problems, report
        assert report.calls == 400
        # Those without an id.
        assert report.unknown > 0


def test_the_accounts_of_three_languages_are_in_order() -> None:
    """On one server that remembers, is killed, and comes back."""
    with Server("redis-7.0", "--appendonly", "yes", "--appendfsync", "always") as server:
        with ClusterLoad(server.url) as load:
            time.sleep(1)
            server.kill9()
            time.sleep(0.3)
            server.start()
            time.sleep(1.5)
            history = load.end()
        report = settle(history, counted(server.url, history), errors=["unavailable", "timeout"])
        assert not report.problems, report
        assert report.errors
        assert {record["proc"] for record in history} == {"python", "php", "node"}
