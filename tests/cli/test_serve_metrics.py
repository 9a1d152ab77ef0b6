"""`serve`: numbers, from reports, from what processes count, and from keys, in the state and for Prometheus."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from console import until
from member import Member
from quotalock import Client
from serving import HOSTILE, logged_in, samples


def report(redis: Member, decisions: str, *denied: str, limiter: str = "login") -> None:
    """A process reports, as the client's option `report` has it do."""
    fields = ["v", "1", "host", "web-1", "pid", "7", "by", "python/0.1.0", "ms", "1000", "lost", "0"]
    fields += ["limiter", limiter, "decisions", decisions]
    for key in denied:
        fields += ["key", key, "denied", "50 0 1500 5/minute"]
    redis.ask("XADD", "ql:reports", "*", *fields)


def test_decisions_come_from_reports(redis: Member) -> None:
    limiter = Client(redis.url, timeout=10.0).limiter("login", "5/hour")
    [limiter.consume("ip:1") for _ in range(5)]
    with logged_in(redis.url) as serving:
        # The key is known before the reports come: what they tell of it is over soon after the last of them.
        serving.scanned()

        def reported() -> Any:
            report(redis, "allowed redis 100, denied deny-cache 50, error redis 2", "ip:1")
            time.sleep(0.2)
            (told,) = serving.state["limiters"] or [{}]
            return told if (told.get("allowed_per_s") or 0) >= 100 else None

        row: Any = until(reported)
        assert row["name"] == "login"
        assert row["denied_per_s"] == row["allowed_per_s"] / 2
        assert row["by_source"]["deny-cache"] == row["denied_per_s"]
        assert row["would_deny_per_s"] == 0
        times = [point[0] for point in row["history"]]
        assert times == sorted(set(times))
        state = serving.state
        assert state["is_reported"] is True
        assert state["denied"][0]["per_s"] > 0
        count = redis.ask("XLEN", "ql:reports")

        def all_are_counted() -> bool:
            totals = samples(serving.metrics(), "quotalock_reported_decisions_total")
            return bool(totals[("login", "allowed", "redis")] == 100 * count)

        # The newest reports are read within a second.
        until(all_are_counted)
        # What is no report is no matter.
        redis.ask("XADD", "ql:reports", "*", "v", "99", "limiter", "x")
        report(redis, "nonsense", limiter=HOSTILE)
        assert until(lambda: len(serving.state["limiters"]) == 2)


def test_metrics_are_as_prometheus_reads_them(redis: Member) -> None:
    client = Client(redis.url, timeout=10.0)
    [client.limiter(name, "2/hour").consume("k") for name in ("a", HOSTILE) for _ in range(2)]
    redis.ask("SET", "limit:buy:42", "-1")
    client.stock("sneaker").open(9)
    with client.lock("a-lock"), logged_in(redis.url) as serving:
        serving.scanned()
        text = serving.metrics()
        assert samples(text, "quotalock_node_up") == {(redis.address, "primary"): 1}
        assert samples(text, "quotalock_keys_limited") == {("refused",): 2, ("near",): 0}
        assert samples(text, "quotalock_locks_held") == {(): 1}
        assert samples(text, "quotalock_keys_without_ttl") == {("set-nx-decr",): 1}
        assert samples(text, "quotalock_stock_units")[("available",)] == 9
        assert samples(text, "quotalock_serve_writes_total") == {(): 0}
        assert len(samples(text, "quotalock_limiter_keys")) == 2
        # No key, lock or sale is in any of it.
        assert not any(name in text for name in ("buy:42", "a-lock", "sneaker", "{k}", "\x1b"))


def test_what_processes_count_is_told_too(redis: Member, tmp_path: Path) -> None:
    file = tmp_path / "metrics"
    program = """
import sys, time, quotalock
client = quotalock.Client(sys.argv[1], timeout=10.0)
home = client.cache("home", fresh=3600.0)
while True:
    home.get("a", lambda: b"1")
    time.sleep(0.02)
"""
    environment = os.environ | {"QUOTALOCK_METRICS_FILE": str(file)}
    with (
        logged_in(redis.url, "--metrics-file", str(file)) as serving,
        subprocess.Popen([sys.executable, "-c", program, redis.url], env=environment) as shop,
    ):
        (cache,) = serving.until("caches", lambda rows: rows and (rows[0]["hits_per_s"] or 0) > 1)
        assert (cache["name"], cache["stale_per_s"] or 0) == ("home", 0)
        assert samples(serving.metrics(), "quotalock_cache_gets_total")[("home", "loaded")] == 1
        shop.kill()
        serving.until("caches", lambda rows: rows[0]["hits_per_s"] == 0)
        assert serving.state["caches"][0]["entries"] == 1


@pytest.mark.parametrize(("fails", "returns"), [("kill9", "start"), ("freeze", "thaw")])
def test_what_a_server_that_does_not_answer_had_is_unknown_and_not_fine(fails: str, returns: str) -> None:
    """Zeros would say that no key is stuck and nobody is denied."""
    with closing(Member("redis-7.0")) as redis:
        redis.start()
        redis.ask("SET", "limit:buy:42", "-1")
        with logged_in(redis.url) as serving:
            before = serving.scanned()
            assert before["scan"]["unknown_since_ms"] is None
            assert samples(serving.metrics(), "quotalock_keys_unknown_since_timestamp_seconds") == {(): 0}
            getattr(redis, fails)()
            scan = serving.until("scan", lambda scan: scan["unknown_since_ms"])
            assert scan["unknown_since_ms"] >= before["scan"]["at_ms"]
            state = until(lambda: (now := serving.state)["nodes"] and now["problems"] and now)
            assert any("is unknown since" in problem for problem in state["problems"])
            text = serving.metrics()
            assert samples(text, "quotalock_keys_unknown_since_timestamp_seconds")[()] > 0
            for series in ("keys_stuck", "keys_limited", "locks_held", "limiter_keys", "keys_without_ttl"):
                assert f"quotalock_{series}" not in text, series
            getattr(redis, returns)()
            serving.until("scan", lambda scan: scan["unknown_since_ms"] is None)
