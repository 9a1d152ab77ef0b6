"""`doctor` knows the keys of each library; `--fix` lets the application work again where that is proven."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from command import Program
from libraries import PEERS_PYTHON
from member import Member
from planted import LIMITERS, LOCKS, NEVER_HEAL, WINDOW, Library, by_hand
from servers import ROOT

# What --fix may prove, by the word of the library; the others heal by themselves, or do not state their limit.
PROVEN = {"article", "limits"}
SHA = "1574bddb75c78a6fd2251d61e2993b5146201319"


@contextmanager
def in_use(library: Library, key: str) -> Iterator[None]:
    """Calls go on while something is done."""
    ended = threading.Event()

    def call() -> None:
        while not ended.wait(0.005):
            library.consume(key)

    calling = threading.Thread(target=call)
    calling.start()
    try:
        yield
    finally:
        ended.set()
        calling.join()


@pytest.mark.parametrize(("word", "family"), LIMITERS.items())
def test_a_stuck_limiter_of_a_real_library_is_found_and_works_again(
    word: str, family: str, redis: Member, quotalock: Program
) -> None:
    with Library(word, redis) as library:
        library.stick("limit:sku:42")
        if word in NEVER_HEAL:
            assert not library.is_admitted_within("limit:sku:42", WINDOW + 0.5)
        found = quotalock("doctor", "--json", "--watch", "100ms")
        assert family in found.families(), found.out
        if word not in PROVEN:
            fixed = quotalock("doctor", "--fix", "--yes", "--json", "--watch", "100ms")
            assert fixed.json["fixed"] is None
            return
        # However slow the machine is: it ends as soon as it has seen enough.
        with in_use(library, "limit:sku:42"):
            fixed = quotalock(
                "doctor", "--fix", family, "--ttl", "500ms", "--allow-short-ttl", "--watch", "1h", "--json"
            )
        assert fixed.json["fixed"]["done"] > 0
        assert fixed.json["fixed"]["refused"] == 0
        # The key of `limits` states its window, a minute here.
        assert library.is_admitted_within("limit:sku:42", 90)


def test_a_timer_of_laravels_that_is_over_is_proven_by_its_pair_and_its_hash(redis: Member, quotalock: Program) -> None:
    with Library("laravel", redis) as library:
        library.stick(f"-cache-{SHA}")
        assert not library.is_admitted_within(f"-cache-{SHA}", WINDOW + 0.5)
        (timer,) = (name for name in redis.ask("KEYS", "*:timer"))
        # As if it had ended long ago: clocks differ by less than a minute.
        redis.ask("DECRBY", timer, 120)
        assert not library.is_admitted_within(f"-cache-{SHA}", 0.2)
        lone = redis.ask("GETDEL", timer.removesuffix(":timer"))
        alone = quotalock("doctor", "--fix", "--yes", "--json", "--watch", "200ms")
        assert (alone.json["fixed"], redis.ask("PTTL", timer)) == (None, -1)
        redis.ask("SET", timer.removesuffix(":timer"), lone)
        fixed = quotalock("doctor", "--fix", "laravel-limiter", "--json", "--watch", "200ms", "--allow-short-ttl")
        assert fixed.json["fixed"]["done"] == 1
        assert library.is_admitted_within(f"-cache-{SHA}", 30)


@pytest.mark.parametrize(("word", "family"), LOCKS.items())
def test_a_stuck_lock_of_a_real_library_is_found_and_ends(
    word: str, family: str, redis: Member, quotalock: Program
) -> None:
    with Library(word, redis) as library:
        library.hold("lock:import")
    (name,) = (name for name in redis.ask("KEYS", "*") if "import" in name)
    # Its holder may be at work: only a record that is over proves that it is not.
    fixed = quotalock("doctor", "--fix", "--yes", "--json", "--watch", "200ms")
    assert (fixed.families(), fixed.json["fixed"]) == ({family}, None), fixed.out
    assert redis.ask("PTTL", name) == -1


def test_a_lock_of_symfonys_that_is_over_ends(redis: Member, quotalock: Program) -> None:
    with Library("symfony", redis) as library:
        library.hold("yearly-report")
    (name,) = redis.ask("KEYS", "*yearly-report*")
    for member in redis.ask("ZRANGE", name, 0, -1):
        redis.ask("ZINCRBY", name, -3_600_000, member)
    fixed = quotalock("doctor", "--fix", "symfony-lock", "--json", "--watch", "200ms")
    assert fixed.json["fixed"]["done"] == 1
    assert 3_590_000 < redis.ask("PTTL", name) <= 3_600_000


def test_keys_as_other_libraries_write_them_are_known(server: Member, quotalock: Program) -> None:
    planted = by_hand(server)
    found = quotalock("doctor", "--fix", "--yes", "--json", "--watch", "200ms")
    assert found.code == 1
    assert found.families() == set(planted.values())
    shown = " ".join(str(finding.get("examples")) for finding in found.json["findings"])
    assert all(name in shown for name in planted)
    assert {server.ask("PTTL", name) for name in planted} == {-1}


def test_keys_that_python_libraries_write_themselves_are_known(redis: Member, quotalock: Program) -> None:
    maker = ROOT / "tests/cli/made_by_libraries.py"
    made = subprocess.run(
        [PEERS_PYTHON, str(maker), str(redis.port)], capture_output=True, encoding="utf-8", check=False, timeout=60
    )
    assert made.returncode == 0, made.stderr
    families = dict(line.split(" ", 1)[::-1] for line in made.stdout.splitlines())
    assert len(families) >= 10
    for name in redis.ask("KEYS", "*"):
        redis.ask("PERSIST", name)
    found = quotalock("doctor", "--fix", "--yes", "--json", "--watch", "200ms")
    told = {
        example.split(" = ")[0]: finding["family"]
        for finding in found.json["findings"]
        for example in finding.get("examples", ())
    }
    assert {name: told.get(name) for name in families} == families
    assert found.json["fixed"] is None
