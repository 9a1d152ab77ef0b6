"""200 readers of three languages want one key at once: it is loaded once, whoever dies meanwhile.

The loader takes half a second.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import quotalock
from servers import ROOT, Server
from stampede import Record, Stampede
from workers import LANGUAGES

HERE = Path(__file__).parent
READERS = {"python": 60, "aio": 60, "php": 20, "node": 60}
LOAD_MS = 500
# As Server.command answers it.
NIL = "-1"
LEASE_MS = 1_500
DEFAULTS = json.loads((ROOT / "tests/spec/api.json").read_text())["defaults"]["cache"]
SETUP: dict[str, Any] = {
    "prefix": "stampede",
    "load_ms": LOAD_MS,
    "wait_ms": 20_000,
    "lease_ms": 10_000,
    "spread_ms": 0,
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("redis-7.0") as running:
        yield running


@pytest.fixture(autouse=True)
def empty(server: Server) -> None:
    server.command("FLUSHALL")


def put(server: Server, fresh: float, stale: float) -> int:
    """Stores an old value, and answers when it is no longer fresh, by the monotonic clock in nanoseconds."""
    with quotalock.Client(server.url, prefix="stampede") as client:
        client.cache("pages", fresh=fresh, stale=stale).put("key", b"old")
    return time.monotonic_ns() + int(fresh * 1e9)


def test_a_value_that_has_expired_is_loaded_once(server: Server) -> None:
    with Stampede(server.url, READERS, fresh_ms=60_000, stale_ms=0, **SETUP) as stampede:
        # So that it ends when they come.
        expired = put(server, 0.3, 0.0)
        stampede.go(at_ns=expired + 1_000_000)
        gets = stampede.end()
        (load,) = stampede.loads()
    assert len(gets) == sum(READERS.values()) == 200
    assert {each.get("value") for each in gets} == {f"loaded by {load['proc']}"}
    # A hint tells those who wait; it is not to be missed by all.
    waited = [(each["done_ns"] - load["at_ns"]) / 1e6 - LOAD_MS for each in gets if each["proc"] != load["proc"]]
    print(
        f"of 200 readers 1 loaded; the others had the value {median(waited):.1f} ms after it, at last {max(waited):.1f}"
    )


@pytest.mark.parametrize(
    ("language", "lease"), [*((each, {"lease_ms": LEASE_MS}) for each in LANGUAGES), ("python", {})]
)
def test_a_loader_that_is_killed_is_followed_by_exactly_one(
    server: Server, language: str, lease: dict[str, int]
) -> None:
    # Nobody says how long to wait: that is longer than the lease, also where nobody says how long that is.
    setup = {name: value for name, value in SETUP.items() if name not in ("wait_ms", "lease_ms")} | lease
    lease_ms = lease.get("lease_ms", DEFAULTS["lease_ms"])
    with Stampede(server.url, READERS, fresh_ms=60_000, stale_ms=0, **setup) as stampede:
        # The others come once it has begun: who is first is no matter of who is faster.
        began = stampede.go([language])
        killed = stampede.kill_loader()
        stampede.go([each for each in READERS if each != language])
        gets = stampede.end()
        first, second = stampede.loads()
    assert killed == language
    living = 200 - (1 if language == "php" else READERS[language])
    assert len(gets) == living
    assert {each.get("value") for each in gets} == {f"loaded by {second['proc']}"}
    after = (second["at_ns"] - first["at_ns"]) / 1e6
    # The lease counts from when Redis gave it, after the first was asked for and before its loader was called.
    assert (second["at_ns"] - began) / 1e6 >= lease_ms
    print(f"the second load began {after:.0f} ms after the first, whose lease was {lease_ms} ms")


def test_who_finds_a_stale_value_has_it_at_once(server: Server) -> None:
    # Not all in the same instant: that would measure the machine. And all before it is loaded.
    setup = {**SETUP, "spread_ms": 400, "load_ms": 8 * LOAD_MS}
    with Stampede(server.url, READERS, fresh_ms=60_000, stale_ms=60_000, **setup) as stampede:
        old = put(server, 0.1, 60.0)
        stampede.go(at_ns=old + 1_000_000)
        gets = stampede.end()
        (load,) = stampede.loads()
    values = [each.get("value") for each in gets]
    # Only who loads waits for what it loads.
    assert values.count("old") == 199
    assert values.count(f"loaded by {load['proc']}") == 1
    for language in READERS:
        print(language, shown([each for each in gets if each["proc"] == language]))


def test_a_lock_by_hand_beside_it(server: Server) -> None:
    loads = {lock_ms: loads_by_hand(server, 50, lock_ms) for lock_ms in (200, 10_000)}
    print(f"loads with GET and SET NX PX by hand, by the lock's ttl in ms: {loads}")
    # A lock that ends before the load has; with one that is long enough, whoever dies keeps all others waiting as long.
    assert loads[200] > 1
    assert loads[10_000] == 1


def test_symfony_cache_beside_it(server: Server) -> None:
    loads = {machines: loads_by_symfony(server, 20, machines) for machines in (1, 3)}
    print(f"loads with Symfony Cache, by the number of machines: {loads}")
    # It locks files, so that each machine loads.
    assert loads == {1: 1, 3: 3}


def test_laravel_s_cache_beside_it(server: Server) -> None:
    plain, locked = by_laravel(server), by_laravel(server, 10, 5)
    print(f"Cache::remember of Laravel: {plain}; within Cache::lock: {locked}")
    assert plain["loads"] > 10
    assert locked["loads"] == 1


def test_laravel_s_lock_whose_holder_is_killed(server: Server) -> None:
    # First with the seconds of its documentation, then with a wait that is longer than the lock.
    failing, patient = by_laravel(server, 10, 5, "kill"), by_laravel(server, 2, 20, "kill")
    print(f"Cache::lock whose holder is killed, for 10 s and waiting for 5: {failing}; for 2 s and 20: {patient}")
    assert (failing["loads"], failing["threw"]) == (1, {"Illuminate\\Contracts\\Cache\\LockTimeoutException": 19})
    assert (patient["loads"], patient["got"]) == (2, 19)


def by_laravel(server: Server, *how: object) -> Record:
    """Has 20 readers want one key, under a lock of so many seconds for which they wait for so many."""
    server.command("FLUSHALL")
    words = [str(word) for word in (server.port, 20, LOAD_MS, *how)]
    done = subprocess.run(["php", str(HERE / "laravel_cache.php"), *words], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    told: Record = json.loads(done.stdout)
    return told


def loads_by_symfony(server: Server, readers: int, machines: int) -> int:
    words = [str(number) for number in (server.port, readers, machines, LOAD_MS)]
    done = subprocess.run(["php", str(HERE / "symfony_cache.php"), *words], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    return int(done.stdout)


def loads_by_hand(server: Server, readers: int, lock_ms: int) -> int:
    """Has so many threads want one key of a cache as it is often written: who gets the lock loads, the others sleep."""
    loads = []
    key, begin = f"by hand {lock_ms}", threading.Barrier(readers)

    def read() -> None:
        begin.wait()
        while server.command("GET", key) == NIL:
            if server.command("SET", f"{key}:lock", "1", "NX", "PX", str(lock_ms)) != NIL:
                # Another may have loaded between this reader's look and its lock.
                if server.command("GET", key) == NIL:
                    loads.append(key)
                    time.sleep(LOAD_MS / 1000)
                    server.command("SET", key, "value", "PX", "60000")
                server.command("DEL", f"{key}:lock")
                return
            time.sleep(0.05)

    threads = [threading.Thread(target=read) for _ in range(readers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(loads)


def shown(gets: list[Record]) -> str:
    """What `make bench ONLY=cache` measures, beside a round trip."""
    stale = sorted((each["done_ns"] - each["invoke_ns"]) / 1e6 for each in gets if each.get("value") == "old")
    return f"stale value: p50 {median(stale):.2f} ms, at last {stale[-1]:.2f} ms of {len(stale)}"
