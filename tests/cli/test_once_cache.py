"""`once` and `cache`: what was done, what is there, and who loads it."""

from __future__ import annotations

import threading

import pytest
from console import Console, until


def test_a_once_in_each_of_its_states(everywhere: Console) -> None:
    once = everywhere.client.once("order", ttl=3600.0, lease=60.0, error_ttl=60.0)
    assert everywhere.json("once", "order", "1")["state"] == "open"
    once.claim("1", value=b"a secret")
    done = everywhere.json("once", "order", "1")
    assert (done["state"], done["has_value"], done["bytes"]) == ("done", True, 8)
    assert 3_500_000 < done["served_ms"] <= 3_600_000
    once.claim("2")
    assert "without a value" in everywhere.says("once", "order", "2")
    assert "secret" not in everywhere.says("once", "order", "1")
    running, may_end = threading.Event(), threading.Event()

    def slow() -> bytes:
        running.set()
        may_end.wait()
        return b"x"

    thread = threading.Thread(target=lambda: once.run("3", slow))
    thread.start()
    running.wait()
    assert everywhere.json("once", "order", "3")["state"] == "running"
    assert "who runs it has " in everywhere.says("once", "order", "3")
    may_end.set()
    thread.join()
    assert everywhere.json("once", "order", "3")["state"] == "done"

    def fails() -> bytes:
        raise ValueError("no \x1b money")

    with pytest.raises(ValueError, match="money"):
        once.run("4", fails)
    failed = everywhere.json("once", "order", "4")
    assert failed["state"] == "failed"
    assert "no \x1b money" in failed["error"]
    assert "no \\u{1b} money" in everywhere.says("once", "order", "4")


def test_a_cache_in_each_of_its_states(everywhere: Console) -> None:
    cache = everywhere.client.cache("home", fresh=60.0, stale=60.0)
    assert everywhere.json("cache", "home", "page")["state"] == "nothing"
    cache.put("page", b"x" * 5_000)
    fresh = everywhere.json("cache", "home", "page")
    assert (fresh["state"], fresh["bytes"]) == ("fresh", 5_000)
    assert 50_000 < fresh["fresh_ms"] <= 60_000 < fresh["served_ms"] <= 120_000
    everywhere.client.cache("home", fresh=0.05, stale=60.0).put("old", b"x")
    until(lambda: everywhere.json("cache", "home", "old")["state"] == "stale")
    cache.put("none", None)
    assert "there is no value" in everywhere.says("cache", "home", "none")
    cache.invalidate("page")
    assert everywhere.json("cache", "home", "page")["state"] == "nothing"


def test_damage_is_a_finding(console: Console) -> None:
    for what, key in (("once", f"{console.prefix}:once:o:{{k}}"), ("cache", f"{console.prefix}:cache:o:{{k}}")):
        console.redis.set(key, b"QC\x01 and nothing else", px=60_000)
        assert console.json(what, "o", "k", code=1)["state"] == "damaged"
        console.redis.delete(key)
        console.redis.lpush(key, "x")
        told = console.json(what, "o", "k", code=1)
        assert (told["state"], "fail with wrong_type" in told["findings"][0]) == ("wrong_type", True)
