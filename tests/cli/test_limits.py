"""Commands about limits: the program beside an application that uses the same keys."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import signal
import subprocess

import pytest
from console import PATIENCE, Console, until
from servers import Server


def test_it_counts_where_the_application_counts(everywhere: Console) -> None:
    limiter = everywhere.client.limiter("checkout", "3/minute")
    asking = ("checkout", "user:42", "--policy", "3/minute")
    assert limiter.consume("user:42").remaining == 2
    assert everywhere.json("peek", *asking)["remaining"] == 2
    assert everywhere.json("consume", *asking)["remaining"] == 1
    assert limiter.consume("user:42").remaining == 0
    assert everywhere.says("consume", *asking, code=10).startswith(
        "denied: user:42 of limiter checkout, cost 1; retry in "
    )
    denied = everywhere.json("peek", *asking, code=10)
    assert (denied["allowed"], denied["blocked"]) == (False, False)
    assert 0 < denied["retry_after_ms"] <= 60_000
    assert limiter.peek("user:42").remaining == 0
    assert everywhere.says("reset", "checkout", "user:42") == "forgotten: user:42 of limiter checkout\n"
    assert limiter.peek("user:42").remaining == 3
    assert everywhere.json("reset", "checkout", "user:42")["reset"] is False


def test_more_than_the_limit_is_never_admitted(console: Console) -> None:
    said = console.says("peek", "checkout", "k", "-p", "3/minute;10/hour", "--cost", "5", code=10)
    assert "never admitted" in said
    assert "3/minute: 3 of 3 left, as new, never" in said
    assert console.json("peek", "checkout", "k", "-p", "3/minute", "--cost", "5", code=10)["retry_after_ms"] is None


@pytest.mark.parametrize(
    "policy", ["3/minute", "sliding-log 3/minute;token-bucket 5/hour capacity 7", "sliding-window 9/day"]
)
def test_a_block_is_ended_and_what_was_counted_stays(everywhere: Console, policy: str) -> None:
    limiter = everywhere.client.limiter("checkout", policy)
    limiter.consume("user:42")
    before = [rule.remaining for rule in limiter.peek("user:42").rules]
    assert everywhere.says("block", "checkout", "user:42", "--for", "1h30m").startswith("blocked for 1h30m")
    assert 5_300 < limiter.peek("user:42").retry_after <= 5_400
    assert [rule.remaining for rule in limiter.peek("user:42").rules] == before
    assert everywhere.json("peek", "checkout", "user:42", "-p", policy, code=10)["blocked"] is True
    assert everywhere.found("checkout", "user:42")["state"] == "blocked"
    unblocked = everywhere.json("unblock", "checkout", "user:42")
    assert unblocked["was_blocked"] is True
    assert 5_300_000 < unblocked["block_left_ms"] <= 5_400_000
    until(lambda: limiter.peek("user:42").allowed)
    assert [rule.remaining for rule in limiter.peek("user:42").rules] == before
    assert everywhere.says("unblock", "checkout", "user:42").startswith("was not blocked")
    # The policy is that of the application, and of nobody else.
    assert [
        rule["rule"].replace("1 ", "") for rule in everywhere.found("checkout", "user:42")["rules"]
    ] == policy.split(";")


def test_a_key_that_nobody_used_is_blocked_too(console: Console) -> None:
    console.says("block", "checkout", "new", "--for", "10m")
    limiter = console.client.limiter("checkout", "3/minute")
    denied = limiter.consume("new")
    assert not denied.allowed
    assert 590 < denied.retry_after <= 600
    console.says("unblock", "checkout", "new")
    until(lambda: limiter.peek("new").allowed)
    assert limiter.consume("new").remaining == 2


def test_a_limiter_with_a_scope_is_another_one(console: Console) -> None:
    limiter = console.client.limiter("checkout", "3/minute", scope="shop")
    limiter.consume("k")
    assert console.json("peek", "checkout", "k", "-p", "3/minute", "--scope", "shop")["remaining"] == 2
    assert console.json("peek", "checkout", "k", "-p", "3/minute")["remaining"] == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("peek", "checkout", "k"), "--policy"),
        (("peek", "checkout", "k", "-p", "3 apples"), "rule"),
        (("peek", "checkout", "", "-p", "3/minute"), "key is empty"),
        (("peek", "", "k", "-p", "3/minute"), "name is empty"),
        (("peek", "checkout", "k" * 1025, "-p", "3/minute"), "1025 bytes"),
        (("block", "checkout", "k", "--for", "10"), "no unit"),
        (("block", "checkout", "k", "--for", "0"), "duration"),
        (("block", "checkout", "k", "--for", "-5s"), "--for"),
        (("consume", "checkout", "k", "-p", "3/minute", "--cost", "many"), "--cost"),
    ],
)
def test_wrong_usage_says_what_is_wrong(console: Console, words: tuple[str, ...], said: str) -> None:
    ended = console.run(*words)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert ended.stdout == ""


def test_no_server_is_told_without_a_password() -> None:
    away = Console("redis://:s3cret@127.0.0.1:1", "ql")
    for words in [
        ("peek", "checkout", "k", "-p", "3/minute"),
        ("unblock", "checkout", "k"),
        ("inspect", "x"),
        ("locks",),
        ("stock", "x"),
        ("once", "o", "x"),
        ("top",),
        ("lock", "x", "true"),
        ("locks", "release", "x"),
    ]:
        ended = away.run(*words)
        assert ended.returncode == 3, words
        assert "127.0.0.1:1" in ended.stderr
        assert "s3cret" not in ended.stderr + ended.stdout
        assert (
            json.loads(away.run("--json", *words).stderr.splitlines()[-1])["error"]["code"]
            in ("unavailable", "timeout")
            or words[0] == "lock"
        )


def test_the_memory_of_another_process_is_no_server(console: Console) -> None:
    ended = console.run("--url", "memory://", "peek", "checkout", "k", "-p", "3/minute")
    assert ended.returncode == 2
    assert "memory://" in ended.stderr


def test_top_shows_who_would_be_denied(everywhere: Console) -> None:
    limiter = everywhere.client.limiter("api", "10/minute")
    for key, cost in {"idle": 1, "near": 9, "full": 10}.items():
        limiter.consume(key, cost=cost)
    everywhere.client.limiter("login", "5/hour").block("bad", 3600.0)
    top = everywhere.json("top")
    assert [(key["limiter"], key["key"], key["state"]) for key in top["keys"]] == [
        ("login", "bad", "blocked"),
        ("api", "full", "at limit"),
        ("api", "near", "near"),
    ]
    assert (top["looked_at"], top["denied"], top["damaged"], top["without_ttl"]) == (4, 2, 0, 0)
    assert [key["key"] for key in everywhere.json("top", "login")["keys"]] == ["bad"]
    assert [key["key"] for key in everywhere.json("top", "--most", "1")["keys"]] == ["bad"]
    said = everywhere.says("top")
    assert "4 keys of limiters: 2 denied now, 1 near the limit" in said
    assert "\x1b" not in said


def test_top_counts_what_is_damaged_or_stays_for_ever(console: Console) -> None:
    limiter = console.client.limiter("api", "10/minute")
    limiter.consume("stuck", cost=10)
    console.redis.persist(f"{console.prefix}:limit:api:{{stuck}}")
    console.redis.set(f"{console.prefix}:limit:api:{{damaged}}", "42", px=60_000)
    console.redis.lpush(f"{console.prefix}:limit:api:{{list}}", "42")
    top = console.json("top", code=1)
    assert (top["looked_at"], top["damaged"], top["without_ttl"]) == (3, 2, 2)


def test_a_prefix_is_no_pattern(console: Console) -> None:
    everybody = Console(console.url, "[a-z]*")
    console.client.limiter("api", "1/minute").consume("k")
    everybody.client.limiter("a*", "1/minute").consume("k")
    everybody.client.limiter("ab", "1/minute").consume("k")
    assert everybody.json("top")["looked_at"] == 2
    assert everybody.json("top", "a*")["looked_at"] == 1
    everybody.client.limiter("a*", "1/minute").reset("k")
    everybody.client.limiter("ab", "1/minute").reset("k")
    everybody.close()


def test_a_reader_that_goes_away_is_no_error(console: Console) -> None:
    limiter = console.client.limiter("api", "1/minute")
    for key in range(2_000):
        limiter.consume(f"a-long-name-of-a-key-{key:05}")
    process = console.start("top", "--most", "2000")
    assert process.stdout
    assert process.stderr
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(PATIENCE) == 0
    assert process.stderr.read() == ""
    process.stderr.close()


def test_a_full_disk_is_told(console: Console) -> None:
    with open("/dev/full", "w") as full:
        ended = console.run("top", capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert ended.returncode == 1
    assert "cannot write" in ended.stderr


def test_top_is_live_on_a_terminal_and_ends_by_ctrl_c(console: Console) -> None:
    limiter = console.client.limiter("api", "10/minute")
    limiter.consume("first", cost=10)
    master, slave = pty.openpty()
    process = subprocess.Popen(
        console.command("top", "--every", "100ms"), stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    )
    os.close(slave)
    seen = b""

    def shows(words: bytes) -> bool:
        nonlocal seen
        if select.select([master], [], [], 0.1)[0]:
            seen += os.read(master, 65536)
        return words in seen

    until(lambda: shows(b"first"))
    limiter.consume("second", cost=10)
    until(lambda: shows(b"second"))
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) in (0, 130, -signal.SIGINT)
    os.close(master)
    assert b"panic" not in seen


def test_a_server_that_goes_away_in_the_middle_ends_top() -> None:
    with Server("redis-7.0") as server:
        console = Console(server.url, "ql")
        console.client.limiter("api", "10/minute").consume("first", cost=10)
        master, slave = pty.openpty()
        process = subprocess.Popen(
            console.command("top", "--every", "100ms"), stdin=slave, stdout=slave, stderr=subprocess.PIPE, text=True
        )
        os.close(slave)
        until(lambda: select.select([master], [], [], 0.1)[0] and b"first" in os.read(master, 65536))
        console.close()
        server.kill9()
        with contextlib.suppress(OSError):
            while os.read(master, 65536):
                pass
        _, said = process.communicate(timeout=PATIENCE)
        os.close(master)
        assert process.returncode == 3
        assert server.url.rpartition(":")[2] in said
