"""What the recipes say goes wrong without them, with the numbers that they name."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator

import pytest
import quotalock
from quotalock.testing import Clock


@pytest.fixture
def client() -> Iterator[quotalock.Client]:
    with quotalock.Client(f"memory://{uuid.uuid4()}") as client:
        yield client


def admitted(limiter: quotalock.Limiter, calls: int) -> int:
    return sum(limiter.consume("key").allowed for _ in range(calls))


def test_login_limits_a_check_before_the_charge_admits_all(client: quotalock.Client) -> None:
    logins = client.limiter("login", "sliding-log 5/15 minutes")
    checked = [logins.peek("ada").allowed for _ in range(100)]
    for _ in range(100):
        logins.consume("ada")
    assert (sum(checked), admitted(client.limiter("other", "sliding-log 5/15 minutes"), 100)) == (100, 5)


def test_login_limits_a_fixed_window_admits_nine_in_fifteen_minutes(client: quotalock.Client) -> None:
    clock = Clock(client)
    found = []
    for name, policy in (("window", "5/15 minutes"), ("log", "sliding-log 5/15 minutes")):
        logins = client.limiter(name, policy)
        logins.consume("key")
        clock.advance(14 * 60 + 59)
        before = admitted(logins, 10)
        clock.advance(1)
        # Without the first, which is 15 minutes ago by now.
        found.append(before + admitted(logins, 10))
    assert found == [9, 5]


def test_api_plans_two_calls_charge_the_day_for_what_the_minute_denies(client: quotalock.Client) -> None:
    minute, day = client.limiter("minute", "3/minute"), client.limiter("day", "calendar-window 1000/day")
    plan = client.limiter("plan", "3/minute;calendar-window 1000/day")
    # It stands still, so that no day ends meanwhile.
    Clock(client)
    for _ in range(600):
        day.consume("acme")
        minute.consume("acme")
        plan.consume("acme")
    assert (day.peek("acme").remaining, plan.peek("acme").rules[1].remaining) == (400, 997)


def test_api_plans_an_upgrade_keeps_what_was_used_today(client: quotalock.Client) -> None:
    Clock(client)
    client.limiter("api", "1000/minute;calendar-window 1000/day").consume("acme", 900)
    # It only looks, so that it does not warn of two policies.
    pro = client.limiter("api", "100/minute;calendar-window 100000/day").peek("acme")
    assert pro.rules[1].remaining == 99_100


def test_llm_token_budget_charged_afterwards_is_spent_twenty_times(client: quotalock.Client) -> None:
    tokens = client.limiter("tokens", "10000/hour")
    begun = [4_000 for _ in range(50) if tokens.peek("key")]
    assert sum(begun) == 200_000
    estimates = client.limiter("estimates", "10000/hour")
    assert sum(estimates.consume("key", 4_000).allowed for _ in range(50)) == 2


@pytest.mark.parametrize(("wait", "runs"), [(60.0, 5), (None, 2)])
def test_cron_on_one_server_a_lock_lets_others_run_the_job_too(
    client: quotalock.Client, wait: float | None, runs: int
) -> None:
    ran = []

    def nightly() -> None:
        lock = client.lock("nightly")
        if lock.acquire(wait=wait):
            ran.append(lock.token)
            lock.release()

    if wait is None:
        # The clock of the second server is later than the job took.
        nightly()
        nightly()
    else:
        servers = [threading.Thread(target=nightly) for _ in range(5)]
        for server in servers:
            server.start()
        for server in servers:
            server.join()
    assert len(ran) == runs
    done = [client.once("jobs").run("nightly:2026-11-24", lambda: "done") for _ in range(5)]
    assert done == [b"done"] * 5


def test_webhooks_once_a_claim_before_the_work_loses_what_failed(client: quotalock.Client) -> None:
    events = client.once("stripe")
    assert events.claim("evt_1").first
    assert not events.claim("evt_1").first
    tried = []

    def fulfil() -> str:
        tried.append("evt_2")
        if len(tried) == 1:
            raise ConnectionError
        return "done"

    with pytest.raises(ConnectionError):
        events.run("evt_2", fulfil)
    assert (events.run("evt_2", fulfil), len(tried)) == (b"done", 2)


def test_outgoing_api_calls_the_most_in_any_minute(client: quotalock.Client) -> None:
    clock = Clock(client)
    found = {}
    for name, policy in (
        ("window", "100/minute"),
        ("log", "sliding-log 100/minute"),
        ("bucket", "token-bucket 95/minute capacity 5"),
    ):
        partner = client.limiter(name, policy)
        times = []
        partner.consume("key")
        clock.advance(59)
        for second in range(120):
            times += [second] * admitted(partner, 200)
            clock.advance(1)
        found[name] = max(sum(first <= time < first + 60 for time in times) for first in range(60))
    assert found["window"] == 199
    assert found["log"] == 100
    assert found["bucket"] <= 100
