"""Processes of this version and of the next one on the same keys, under load.

No count is lost, no lock is granted twice, and nothing is stuck. An older process fails with `newer_version` at each
value that a newer one wrote, and changes nothing.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence

import next_format
import pytest
from accounts import settle
from lock_history import check, check_immortals, check_liveness
from lock_load import LANES, Load, lock
from servers import Server
from trouble import ttls
from workers import COMMANDS, LANGUAGES, Answer, Worker

POLICIES = {
    "fixed": "100000000/hour",
    "log": "sliding-log 100000/hour",
    "bucket": "token-bucket 100000/30days",
    "both": "100000000/hour;sliding-window 100000000/day",
}
MIX = [{"limiter": name, "policy": policy, "key": name, "costs": [1]} for name, policy in POLICIES.items()]
LOCKS = [
    lock("lock", "solo", ttl_ms=2_000),
    lock("lock", "solo", ttl_ms=2_000, fair=True),
    lock("semaphore", "three", ttl_ms=2_000, permits=3),
    lock("lock_all", "solo", "duo", ttl_ms=2_000),
]
ORDERS = [tuple(LANGUAGES), tuple(reversed(LANGUAGES))]


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What starts a worker of the next version."""
    return next_format.commands(tmp_path_factory.mktemp("next"))


@pytest.fixture(params=["redis-6.2", "redis-7.0", "valkey-9.1"])
def upgraded(request: pytest.FixtureRequest) -> Iterator[Server]:
    with Server(request.param) as running:
        yield running


def ended(worker: Worker) -> list[Answer]:
    worker.stop_load()
    history = worker.end_load(within=30)
    worker.close()
    return history


@pytest.mark.parametrize("order", ORDERS, ids=["in order", "in reverse"])
def test_no_count_is_lost(upgraded: Server, newer: dict[str, list[str]], order: Sequence[str]) -> None:
    def begun(command: str | list[str]) -> Worker:
        worker = Worker(command)
        assert "error" not in worker.client(upgraded.url, prefix="up")
        worker.begin_load(MIX, seconds=60, seed=random.randrange(1 << 30))
        return worker

    running = {language: begun(language) for language in order}
    time.sleep(1)
    history = []
    for language in order:
        # The new process starts before the old one ends, as in a deployment.
        running[f"next-{language}"] = begun(newer[f"next-{language}"])
        time.sleep(0.7)
        history += ended(running.pop(language))
    time.sleep(0.5)
    history += [record for language in order for record in ended(running.pop(f"next-{language}"))]
    refused = [record for record in history if record.get("error") == "newer_version"]
    assert {record["proc"] for record in refused} <= set(order), "only this version is refused"
    with Worker(newer["next-python"]) as judge:
        judge.client(upgraded.url, prefix="up")
        counted = {}
        for name, policy in POLICIES.items():
            result = judge.decide("peek", name, policy, name)
            counted[name, policy, name.encode().hex()] = min(r["limit"] - r["remaining"] for r in result["rules"])
    report = settle(history, counted, errors=["newer_version"])
    print(report)
    assert not report.problems, report
    assert refused, "the versions met at no key"
    assert all(r["result"]["allowed"] for r in history if "error" not in r), "no limit was reached"
    assert report.admitted > 1_000


def granted(load: Load, name: str, times: int = 1) -> None:
    """Returns when a worker has been granted so many locks."""

    def grants() -> int:
        made = (record for record in load.history() if record["proc"] == name and record["op"] == "acquire")
        return sum(record["outcome"] == "ok" for record in made)

    give_up = time.monotonic() + 60
    while grants() < times:
        assert time.monotonic() < give_up, f"{name} was granted {grants()} locks"
        time.sleep(0.05)


@pytest.mark.parametrize("order", ORDERS, ids=["in order", "in reverse"])
def test_no_lock_is_granted_twice(upgraded: Server, newer: dict[str, list[str]], order: Sequence[str]) -> None:
    both = {**COMMANDS, **newer}
    lanes = {**LANES, **{f"next-{language}": LANES[language] for language in LANGUAGES}}
    with Load(LOCKS, lanes=lanes, commands=both, timeout_ms=5_000) as load:
        names = {language: load.start(language, upgraded.url) for language in order}
        newcomers: list[str] = []
        for name in names.values():
            granted(load, name)
        for language in order:
            newcomers.append(load.start(f"next-{language}", upgraded.url))
            granted(load, newcomers[-1])
            load.kill_one(names[language])
        for name in newcomers:
            granted(load, name, times=3)
        load.kill()
        history = load.history()
        refused = [record for record in history if record["outcome"] == "newer_version"]
        assert refused
        assert not any(record["proc"].startswith("next-") for record in refused), "only this version is refused"
        # What is refused changes nothing: a lease that could not be released ends by itself.
        kept = [
            {**record, "outcome": "unavailable"} if record["outcome"] == "newer_version" else record
            for record in history
        ]
        report = check(kept)
        probes = load.probe([f"next-{language}" for language in order], upgraded.url)
        check_liveness(probes, load.within_ns, report)
        check_immortals(ttls(upgraded), report)
    print(report, dict(report.grants), f"{len(refused)} refused", sep="\n")
    assert not report.problems, report
    assert {name.split()[0] for name in report.grants} >= {*order, *(f"next-{language}" for language in order)}


def test_what_else_is_stored_is_refused_and_kept(upgraded: Server, newer: dict[str, list[str]]) -> None:
    """Stock, once, cache, request ids: first the next version, then this one; then the other way round."""
    with Worker(newer["next-python"]) as next_one, Worker("python") as this_one:
        for worker in (next_one, this_one):
            worker.client(upgraded.url, prefix="else")

        def result(worker: Worker, op: str, name: str, options: Answer | None = None, **arguments: object) -> object:
            answer = worker.call(op, name, options, **arguments)
            return answer.get("error") or answer["result"]

        # This version opens and sells; the next one goes on with what is there; then this one is refused.
        assert result(this_one, "stock.open", "s", quantity=5) is True
        sold = this_one.call("stock.take", "s", buyer="a")["result"]
        assert sold
        assert isinstance(result(next_one, "stock.take", "s", buyer="b"), dict)
        assert result(this_one, "stock.take", "s", buyer="c") == "newer_version"
        status = next_one.call("stock.status", "s")["result"]
        assert (status["available"], status["held"]) == (3, 2)

        first = this_one.call("once.claim", "o", {}, id="1", value=b"a")["result"]
        assert first["first"] is True
        again = next_one.call("once.claim", "o", {}, id="1", value=b"b")["result"]
        assert again["first"] is False
        next_one.call("once.claim", "o", {}, id="2", value=b"a")
        assert result(this_one, "once.claim", "o", {}, id="2", value=b"b") == "newer_version"
