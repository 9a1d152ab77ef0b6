"""The checker of locks finds what is known to be wrong with locks written by hand, and nothing in one without a fault.

Each of them is watched as ours are, with the faults that bring its own to light.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import measure
import pytest
from lock_history import Report, check, check_immortals, check_liveness
from lock_load import Load, lock
from programs import PYTHON
from proxy import Proxy
from servers import Server
from trouble import Trouble, ttls

BY_HAND = Path(__file__).with_name("naive_locks.py")
TTL = 50
MUTEX = lock("lock", "solo", ttl_ms=TTL)
SEMAPHORE = lock("semaphore", "three", ttl_ms=TTL, permits=3)


@dataclass(frozen=True)
class Mutant:
    """A fault, what brings it to light, and the promises that are seen to be broken."""

    name: str
    faults: list[str]
    broken: set[str]
    seconds: float = 1.5
    mix: list[dict[str, object]] = field(default_factory=lambda: [MUTEX])
    remembers: bool = True


MUTANTS = [
    Mutant(
        "none",
        ["delay_replies", "delay_requests", "lose_replies", "freeze_worker", "kill_one", "kill_granted"],
        set(),
        4,
    ),
    Mutant("none", ["flush_all"], set(), remembers=False),
    Mutant("release-anyones", ["freeze_worker"], {"exclusion"}),
    Mutant("deadline-from-reply", ["delay_replies"], {"exclusion"}, 2.5),
    Mutant("ignores-deadline", [], {"exclusion"}, 2.5),
    Mutant("get-then-del", ["delay_replies_a_little"], {"exclusion"}, 3),
    Mutant("set-then-expire", ["kill_granted"], {"liveness", "immortal"}),
    Mutant("incr-token", ["flush_all"], {"token"}, remembers=False),
    Mutant("counter", ["kill_one"], {"liveness", "immortal"}, mix=[SEMAPHORE]),
    Mutant("counter-with-ttl", [], {"exclusion"}, mix=[SEMAPHORE]),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_is_known_to_be_wrong_is_found(mutant: Mutant) -> None:
    report = watch(mutant)
    print(report, dict(report.outcomes))
    assert report.grants.total() >= (1 if mutant.broken else 20)
    assert mutant.broken <= report.kinds, report
    assert mutant.broken or not report.problems, report


def watch(mutant: Mutant) -> Report:
    crew = [mutant.name] * 5
    commands = {mutant.name: [*PYTHON, str(BY_HAND), mutant.name]}
    with (
        Server("redis-7.0") as server,
        Proxy(server.port) as proxy,
        Load(mutant.mix, lanes={mutant.name: 1}, commands=commands) as load,
        measure.Stalls() as stalls,
    ):
        for name in crew:
            load.start(name, proxy.url)
        load.wait_until_busy()
        wait_for_a_grant(load)
        trouble = Trouble(load, server, proxy)
        trouble.run(mutant.seconds, *(getattr(trouble, fault) for fault in mutant.faults))
        load.kill()
        report = check(load.history(), server_remembers=mutant.remembers)
        if "liveness" in mutant.broken or not mutant.broken:
            late = int(stalls.worst_ms * 1e6)
            probes = load.probe(crew[:1], server.url, wait_ms=1_500 if mutant.broken else 5_000)
            check_liveness(probes, lambda names: load.within_ns(names) + late, report)
        check_immortals(ttls(server), report)
    return report


def wait_for_a_grant(load: Load) -> None:
    """On a machine that is busy with other things the first calls may all time out: of these nothing can be told."""
    give_up = time.monotonic() + 10
    while not check(load.history()).grants:
        assert time.monotonic() < give_up, "nobody is granted a lock"
        time.sleep(0.05)
