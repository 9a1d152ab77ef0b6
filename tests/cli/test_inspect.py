"""`inspect`: keys that applications made, in words; damaged ones, and those of others."""

from __future__ import annotations

import time

import pytest
from console import Console, until


def test_a_limiter_is_told_rule_by_rule(everywhere: Console) -> None:
    limiter = everywhere.client.limiter("checkout", "3/minute;sliding-log 5/hour")
    limiter.consume("user:42", cost=2)
    limiter.reserve("user:42", 1, ttl=60.0, unsettled="returned")
    found = everywhere.found("checkout", "user:42")
    assert found["what"] == "limiter checkout, key user:42"
    assert found["redis_key"] == f"{everywhere.prefix}:limit:checkout:{{user:42}}"
    assert (found["type"], found["state"], found["findings"]) == ("string", "denies", [])
    assert 0 < found["ttl_ms"] <= 3_600_001
    assert found["memory"] > 0
    peeked = limiter.peek("user:42")
    for told, rule in zip(found["rules"], peeked.rules, strict=True):
        assert (told["allowed"], told["remaining"], told["limit"]) == (rule.allowed, rule.remaining, rule.limit)
        assert abs(told["reset_after_ms"] - rule.reset_after * 1_000) < 5_000
    (held,) = found["reservations"]
    assert (held["amount"], held["unsettled"]) == (1, "returned")
    said = everywhere.says("inspect", "checkout", "user:42")
    assert said.startswith("limiter checkout, key user:42: denies a call that costs 1, next in ")
    assert "a reservation holds 1 for " in said
    assert said == everywhere.says("inspect", found["redis_key"]) or "next in" in said


def test_a_sliding_log_of_many_entries_is_told(console: Console) -> None:
    limiter = console.client.limiter("log", "sliding-log 5000/hour;sliding-log 400/minute")
    for _ in range(300):
        limiter.consume("k")
    assert [rule["remaining"] for rule in console.found("log", "k")["rules"]] == [4_700, 100]


def test_what_is_not_there_is_as_new(console: Console) -> None:
    assert console.json("inspect", "checkout", "nobody") == {"found": [], "is_partial": False, "unknown": []}
    assert "everything is as new" in console.says("inspect", "nothing")
    assert console.json("inspect", f"{console.prefix}:limit:checkout:{{nobody}}") == {
        "found": [],
        "is_partial": False,
        "unknown": [],
    }


def test_a_name_finds_all_that_bear_it(console: Console) -> None:
    console.client.cache("x", fresh=60.0).put("k", b"1")
    console.client.once("x").claim("k")
    console.client.limiter("x", "1/minute").consume("k")
    kinds = [found["what"].split()[0] for found in console.json("inspect", "x", "k")["found"]]
    assert kinds == ["limiter", "cache", "once"]
    with console.client.lock("y"), console.client.semaphore("y", permits=2):
        console.client.stock("y").open(1)
        kinds = [found["what"].split()[0] for found in console.json("inspect", "y")["found"]]
        assert kinds == ["lock", "semaphore", "stock"]


def test_damaged_values_are_findings_and_heal(everywhere: Console) -> None:
    limiter = everywhere.client.limiter("checkout", "3/minute")
    limiter.consume("k")
    key = f"{everywhere.prefix}:limit:checkout:{{k}}"
    value = everywhere.redis.get(key)
    for damaged in (b"42", b"", value[:-3], value + b"x", b"QL\x09" + value[3:], value[:20] + b"\xff" * 20):
        everywhere.redis.set(key, damaged, px=60_000)
        if not damaged:
            continue
        found = everywhere.found("checkout", "k", code=1)
        assert found["state"] == "damaged", damaged
    assert limiter.consume("k").healed
    assert everywhere.found("checkout", "k")["findings"] == []


def test_a_key_without_ttl_is_a_finding(console: Console) -> None:
    limiter = console.client.limiter("checkout", "3/minute")
    limiter.consume("k", cost=2)
    console.redis.persist(f"{console.prefix}:limit:checkout:{{k}}")
    found = console.found("checkout", "k", code=1)
    assert (found["ttl_ms"], found["state"]) == (None, "admits")
    assert "no TTL" in found["findings"][0]
    # A charge does so only in the next window.
    limiter.refund("k", 1)
    assert console.found("checkout", "k")["findings"] == []


@pytest.mark.parametrize("where", ["limit:checkout:{k}", "lock:{k}", "stock:{k}", "cache:c:{k}", "once:o:{k}"])
def test_another_type_of_redis_is_a_finding(console: Console, where: str) -> None:
    key = f"{console.prefix}:{where}"
    console.redis.lpush(key, "x")
    console.redis.expire(key, 60)
    found = console.found(key, code=1)
    assert (found["type"], found["state"]) == ("list", "wrong_type")


def test_a_clock_that_went_back_is_a_finding(console: Console) -> None:
    lock = console.client.lock("x")
    assert lock.acquire()
    key = f"{console.prefix}:lock:{{x}}"
    value = bytearray(console.redis.get(key))
    # When it was granted: behind the head and the holder's id, deadline, ttl and token.
    at = 17 + 16 + 24
    value[at : at + 8] = (time.time_ns() // 1000 + 3_600_000_000).to_bytes(8, "little")
    console.redis.set(key, bytes(value), keepttl=True)
    assert "clock that went back" in console.found("x", code=1)["findings"][0]
    lock.release()


def test_keys_of_others_are_told_and_not_judged(console: Console) -> None:
    key = f"other-{console.prefix}"
    console.redis.set(key, "1")
    found = console.found(key)
    assert (found["state"], found["type"], found["findings"]) == ("foreign", "string", [])
    console.redis.delete(key)


@pytest.mark.parametrize("key", [b"a\x1b[2J\x1b]0;title\x07\xff\n", "b\x9b2J\u202ec{%}\x7f\u2028".encode()])
def test_names_cannot_speak_to_the_terminal(console: Console, key: bytes) -> None:
    console.client.limiter("evil\x1b[2J", "1/minute").consume(key)
    for words in (("inspect", b"evil\x1b[2J", key), ("top",), ("peek", b"evil\x1b[2J", key, "-p", "1/minute")):
        for flag in ((), ("--json",)):
            ended = console.run(*flag, *words)
            assert ended.returncode in (0, 10)
            assert all(c == "\n" or (c.isprintable() and c != "\u202e") for c in ended.stdout), ended.stdout
            assert "evil" in ended.stdout
    assert "evil\\u{1b}[2J" in console.says("top")


def test_binary_keys_are_found_by_their_bytes(console: Console) -> None:
    limiter = console.client.limiter("checkout", "3/minute")
    for key in (b"\xff\xfe", b"{}%:", "ключ".encode(), b" ", b"-x", b"'\"$(x)"):
        limiter.consume(key)
        assert console.json("peek", "-p", "3/minute", "checkout", "--", key)["remaining"] == 2
        assert console.found("checkout", "--", key)["state"] == "admits"


def test_a_key_that_vanishes_while_it_is_looked_at_is_not_there(console: Console) -> None:
    limiter = console.client.limiter("checkout", "1/30ms")
    for _ in range(15):
        limiter.consume("k")
        for words in (("inspect", "checkout", "k"), ("top",), ("locks",)):
            ended = console.run("--json", *words)
            assert (ended.returncode, ended.stderr) == (0, "")


def test_a_right_that_lacks_is_told(console: Console) -> None:
    limiter = console.client.limiter("checkout", "3/minute")
    limiter.consume("k")
    user = console.prefix
    console.redis.acl_setuser(
        user, enabled=True, passwords=["+s3cret"], keys=["*"], categories=["+@all"], commands=["-memory"]
    )
    url = console.url.replace("redis://", f"redis://{user}:s3cret@")
    assert console.found("--url", url, "checkout", "k")["memory"] is None
    console.redis.acl_setuser(user, enabled=True, keys=["*"], categories=["+@all"], commands=["-scan", "-getrange"])
    for words in (("inspect", "checkout", "k"), ("top",), ("locks",)):
        ended = console.run("--url", url, *words)
        assert ended.returncode == 3
        assert "right" in ended.stderr
        assert "s3cret" not in ended.stderr
    ended = console.run("--url", url.replace("s3cret", "wr0ng"), "top")
    assert ended.returncode == 3
    assert "wr0ng" not in ended.stderr
    console.redis.acl_deluser(user)


def test_what_lies_beside_is_told(console: Console) -> None:
    console.client.stock("sale").open(1)
    console.client.limiter("checkout", "3/minute").consume("k", request_id="r1")
    for key in ("stock:{sale}:ledger", "request:checkout:{k}:consume:r1"):
        assert console.found(f"{console.prefix}:{key}")["state"] == "beside"


def test_a_lock_is_told_with_its_waiters(console: Console) -> None:
    with console.client.lock("x", label="import"), console.start("lock", "x", "true") as waiter:
        until(lambda: len(console.found("x")["waiters"]) == 1)
        found = console.found("x")
        (holder,) = found["holders"]
        assert (found["state"], holder["label"]) == ("held", "import")
        assert ", 1 other waiting" in console.says("inspect", "x")
        waiter.terminate()
        waiter.communicate()
