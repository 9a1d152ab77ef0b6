"""Workers of every language take and give back locks while all goes wrong that may; their history is checked.

Faults are done in turn and one at a time; the last of them is the end of all workers in the midst of what they do.
"""

from __future__ import annotations

import os

import measure
import pytest
from clock_steps import ClockSteps
from lock_history import Report, check, check_immortals, check_liveness
from lock_load import Load, lock
from proxy import Proxy
from servers import Server
from trouble import Trouble, ttls

TTL = 150
ALL = 1 << 31
MIX = [
    lock("lock", "solo", ttl_ms=TTL),
    lock("lock", "solo", ttl_ms=TTL, renew=True),
    lock("lock", "solo", ttl_ms=TTL, fair=True),
    lock("lock_all", "solo", "duo", ttl_ms=TTL),
    lock("lock", "duo", ttl_ms=TTL),
    lock("semaphore", "three", ttl_ms=TTL, permits=3),
    lock("semaphore", "three", ttl_ms=TTL, permits=3, renew=True),
    lock("semaphore", "three", ttl_ms=TTL, permits=3, weight=2),
    lock("read_lock", "book", ttl_ms=TTL, permits=ALL),
    lock("read_lock", "book", ttl_ms=TTL, permits=ALL, renew=True),
    lock("write_lock", "book", ttl_ms=TTL, permits=ALL, weight=ALL),
]
AOF = ("--appendonly", "yes", "--appendfsync", "always")
# Mutants of the core are watched with those workers that are built in a minute.
CREW = os.environ.get("QUOTALOCK_TEST_CREW", "rust python aio php php node").split()


@pytest.mark.parametrize("remembers", [True, False], ids=["a server that remembers", "a server that forgets"])
def test_history(remembers: bool) -> None:
    with (
        ClockSteps() as clock,
        Server("redis-7.0", *(AOF if remembers else ()), prefix=clock.prefix) as server,
        Proxy(server.port) as proxy,
        Load(MIX) as load,
        measure.Stalls() as stalls,
    ):
        for language in CREW:
            load.start(language, proxy.url)
        load.wait_until_busy()
        trouble = Trouble(load, server, proxy, clock)
        network = [trouble.lose_replies, trouble.delay_replies, trouble.delay_requests, trouble.hang_up]
        if remembers:
            still = [trouble.freeze_worker, trouble.freeze_server, trouble.flush_scripts]
            # Late replies twice: what is wrong by their lateness is seen only if the next holder's came in time.
            trouble.run(18, *network, trouble.delay_replies, *still, trouble.crash, trouble.step_back)
        else:
            # A clock that leaps forward ends leases early; one that was set back would give old tokens after a crash.
            trouble.run(8, *network, trouble.flush_all, trouble.crash, trouble.step_forward)
        load.kill()
        history = load.history()
        report = check(history, server_remembers=remembers)
        probes = load.probe(CREW, server.url)
        late = int(stalls.worst_ms * 1e6)
        check_liveness(probes, lambda names: load.within_ns(names) + late, report)
        check_immortals(ttls(server), report)
    show(report, trouble)
    assert not report.problems, report
    # A lock that is never granted keeps all other promises.
    assert all(of_language(report, language) >= 10 for language in CREW), report.grants
    assert report.grants.total() >= 100


def of_language(report: Report, language: str) -> int:
    return sum(count for name, count in report.grants.items() if name.split()[0] == language)


def show(report: Report, trouble: Trouble) -> None:
    """For whoever runs this with `pytest -s`, and for the report of a failure."""
    print(report, dict(report.grants), dict(report.outcomes), dict(trouble.done), sep="\n")
