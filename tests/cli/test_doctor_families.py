"""`doctor` knows the keys of each library, and `--fix` lets the application work again."""

from __future__ import annotations

import pytest
from command import Program
from member import Member
from planted import LIMITERS, LOCKS, NEVER_HEAL, WINDOW, Library, by_hand


@pytest.mark.parametrize(("word", "family"), LIMITERS.items())
def test_a_stuck_limiter_of_a_real_library_is_found_and_works_again(
    word: str, family: str, redis: Member, quotalock: Program
) -> None:
    with Library(word, redis) as library:
        library.stick("limit:sku:42")
        if word in NEVER_HEAL:
            assert not library.is_admitted_within("limit:sku:42", WINDOW + 0.5)
        found = quotalock("doctor", "--json")
        assert found.code == 1
        assert family in found.families(), found.out
        fixed = quotalock("doctor", "--fix", "--yes", "--ttl", "500ms", "--json")
        assert fixed.json["fixed"]["done"] > 0
        assert fixed.json["fixed"]["refused"] == 0
        assert library.is_admitted_within("limit:sku:42", 30)
    assert all(redis.ask("PTTL", name) != -1 for name in redis.ask("KEYS", "*"))


@pytest.mark.parametrize(("word", "family"), LOCKS.items())
def test_a_stuck_lock_of_a_real_library_is_found_and_ends(
    word: str, family: str, redis: Member, quotalock: Program
) -> None:
    with Library(word, redis) as library:
        library.hold("lock:import")
    found = quotalock("doctor", "--json")
    assert (found.code, found.families()) == (1, {family}), found.out
    fixed = quotalock("doctor", "--fix", "--yes", "--lock-ttl", "90s", "--json")
    assert (fixed.code, fixed.json["fixed"]["done"]) == (0, 1)
    (name,) = (name for name in redis.ask("KEYS", "*") if "import" in name)
    assert 80_000 < redis.ask("PTTL", name) <= 90_000


def test_a_lock_of_redis_py_without_a_word_in_its_name_is_told_and_left_alone(
    redis: Member, quotalock: Program
) -> None:
    with Library("redis-py", redis) as library:
        library.hold("nightly")
    found = quotalock("doctor", "--fix", "--yes", "--json")
    assert (found.code, found.families(), found.json["fixed"]) == (1, {"redis-py-lock"}, None)
    assert redis.ask("PTTL", "nightly") == -1
    assert quotalock("doctor", "--fix", "--yes", "--also", "night*").code == 0
    assert redis.ask("PTTL", "nightly") > 0


def test_keys_as_other_libraries_write_them_are_known(server: Member, quotalock: Program) -> None:
    planted = by_hand(server)
    found = quotalock("doctor", "--json")
    assert found.code == 1
    assert found.families() == set(planted.values())
    shown = " ".join(str(finding.get("examples")) for finding in found.json["findings"])
    assert all(name in shown for name in planted)
    quotalock("doctor", "--fix", "--yes")
    told = {name: server.ask("PTTL", name) for name in planted}
    assert {name for name, ttl in told.items() if ttl == -1} == {"login_attempts:10.0.0.1", "stock:42"}
    assert 15_000 < told[next(name for name in planted if name.startswith("@upstash"))] <= 20_000
    assert 55_000 < told["api:10.0.0.1:60"] <= 60_000
    assert 110_000 < told["LIMITS:{LIMITER/10.0.0.1/5/1/minute}/-1"] <= 120_000
    assert 3_500_000 < told["bull:mail:7:lock"] <= 3_600_000
