"""`serve`: what the state says of real servers, and what the page may change."""

from __future__ import annotations

import os
import socket
import time

import pytest
from cluster import Cluster, slot_of
from console import until
from member import Member
from quotalock import Client
from serving import HOSTILE, logged_in, samples

# Of Laravel's RateLimiter: how often somebody came, and when its window ends.
LARAVEL = "laravel_cache:" + "d41d8cd98f00b204e9800998ecf8427e"


def test_the_state_says_who_is_refused(redis: Member) -> None:
    client = Client(redis.url, timeout=10.0)
    checkout = client.limiter("checkout", "10/minute")
    for key, calls in (("full", 10), ("near", 9), ("far", 2)):
        [checkout.consume(key) for _ in range(calls)]
    client.limiter("login", "5/hour", scope="shop").block("ip:1", 600.0)
    with logged_in(redis.url) as serving:
        state = serving.scanned()
        rows = [(row["limiter"], row["scope"], row["key"], row["state"]) for row in state["denied"]]
        assert rows == [
            ("login", "shop", "ip:1", "blocked"),
            ("checkout", None, "full", "denied"),
            ("checkout", None, "near", "near"),
        ]
        blocked, full, near = state["denied"]
        assert 540_000 < blocked["until_ms"] - state["now_ms"] <= 600_000
        assert (full["why"], full["used_percent"]) == ("10/minute: 0 of 10 left", 100)
        assert (near["until_ms"], near["used_percent"]) == (None, 90)
        assert {row["name"]: row["keys"] for row in state["limiters"]} == {"checkout": 3, "login": 1}
        assert (state["denied_total"], state["is_reported"], state["writes"]) == (3, False, False)
        assert state["limiters"][0]["denied_per_s"] is None
        # What vanishes is gone from the state.
        redis.ask("FLUSHALL")
        serving.until("denied", lambda rows: not rows)
        assert serving.state["denied_total"] == 0


def test_the_state_says_who_holds_and_waits(redis: Member) -> None:
    client = Client(redis.url, timeout=10.0)
    with client.lock("nightly", label="import") as lock, logged_in(redis.url) as serving:
        (row,) = serving.until("locks")
        (holder,) = row["holders"]
        assert (row["name"], row["kind"], row["waiters"], row["permits"]) == ("nightly", "lock", 0, 1)
        assert (holder["host"], holder["process"]) == (socket.gethostname(), os.getpid())
        assert (holder["label"], holder["token"]) == ("import", str(lock.token))
        assert 0 < holder["remaining_ms"] <= 30_000
        state = serving.state
        assert (state["locks_total"], state["scan"]["keys_seen"]) == (1, 1)
        lock.release()
        serving.until("locks", lambda rows: not rows)


def test_the_state_says_how_sales_and_caches_stand(redis: Member) -> None:
    client = Client(redis.url, timeout=10.0)
    sale = client.stock("sneaker")
    sale.open(100)
    sale.take("bob", 7)
    taken = sale.take("eve", 2)
    assert taken.reservation is not None
    sale.confirm(taken.reservation.id)
    client.stock("old", scope="2025").open(5)
    client.stock("old", scope="2025").close()
    client.cache("home", fresh=60.0).get("a", lambda: b"1")
    client.cache("home", fresh=60.0).get("b", lambda: b"2")
    with logged_in(redis.url) as serving:
        state = serving.scanned()
        new, old = state["stocks"]
        assert new == {
            "name": "sneaker", "scope": None, "available": 91, "held": 7, "sold": 2, "total": 100, "phase": "open",
        }  # fmt: skip
        assert (old["name"], old["scope"], old["phase"]) == ("old", "2025", "ended")
        (cache,) = state["caches"]
        assert (cache["name"], cache["entries"], cache["fresh"], cache["stale"]) == ("home", 2, 2, 0)
        assert cache["hits_per_s"] is None
        assert state["stocks_total"] == 2
        # It only looks: the numbers of the sale are as they were.
        assert sale.status().held == 7


def test_the_state_says_what_is_stuck(redis: Member) -> None:
    redis.ask("SET", "limit:buy:42", "-1")
    redis.ask("SET", LARAVEL + ":timer", str(int(time.time()) + 60))
    redis.ask("SET", "product:1", "a thing of the shop")
    client = Client(redis.url, timeout=10.0)
    client.limiter("checkout", "10/minute").consume("user:1")
    redis.ask("PERSIST", "ql:limit:checkout:{user:1}")
    with logged_in(redis.url) as serving:
        state = serving.scanned()
        assert [(row["key"], row["kind"], row["family"], row["state"]) for row in state["without_ttl"]] == [
            ("limit:buy:42", "negative_counter", "SET NX EX, then DECR", "looks"),
            ("ql:limit:checkout:{user:1}", "no_ttl", "Quotalock", "looks"),
            (LARAVEL + ":timer", "maybe_stuck", "Laravel's RateLimiter", "may"),
        ]
        assert (state["without_ttl_total"], state["stuck_total"], state["looks_stuck_total"]) == (3, 0, 2)
        assert "quotalock_keys_stuck{" not in serving.metrics()
        # Calls that are denied prove the one; the other is proven by its pair, and its own time.
        redis.ask("SET", LARAVEL, "61")
        redis.ask("SET", LARAVEL + ":timer", str(int(time.time()) - 600))

        def is_proven() -> bool:
            redis.ask("DECR", "limit:buy:42")
            return bool(serving.state["stuck_total"] == 2)

        assert until(is_proven)
        proven = [row["key"] for row in serving.state["without_ttl"] if row["state"] == "stuck"]
        assert proven == [LARAVEL + ":timer", "limit:buy:42"]
        assert until(lambda: 'quotalock_keys_stuck{family="set-nx-decr"} 1' in serving.metrics())
        redis.ask("RPUSH", "ql:limit:checkout:{user:2}", "x")

        def fails() -> list[str]:
            return [row["means"] for row in serving.state["without_ttl"] if row["kind"] == "wrong_type"]

        assert until(lambda: fails() and "fails with wrong_type" in fails()[0])


def test_a_name_speaks_to_nobody(redis: Member) -> None:
    client = Client(redis.url, timeout=10.0)
    with client.lock(HOSTILE, label=HOSTILE.replace("\n", "").replace("\x1b", "")), logged_in(redis.url) as serving:
        client.limiter(HOSTILE, "1/hour").consume(HOSTILE)
        client.limiter("binary", "1/hour").consume(b"\xff\x00")
        redis.ask("SET", f"limit:{HOSTILE}:1", "-1")
        state = serving.scanned()
        assert HOSTILE in [row["name"] for row in state["locks"]]
        assert {row["key"] for row in state["denied"]} == {HOSTILE, "\\xff\\u{0}"}
        body = serving.get("/api/state").body.decode()
        assert not any(character in body for character in "\x1b\u202e\n\x00")
        assert serving.get("/api/state").headers["content-type"] == "application/json"


def test_the_page_may_end_blocks_and_take_locks_away(redis: Member) -> None:
    client = Client(redis.url, timeout=10.0)
    login = client.limiter("login", "5/hour", scope="shop")
    login.block(b"ip:\xff", 600.0)
    lock = client.lock(HOSTILE)
    assert lock.acquire()
    with logged_in(redis.url, "--allow-writes") as serving:
        (denied,), (held,) = serving.until("denied"), serving.until("locks")
        done = serving.post("/api/unblock", {"id": denied["id"]})
        assert (done.status, done.json["changed"]) == (200, True)
        assert login.consume(b"ip:\xff").allowed
        assert serving.post("/api/unblock", {"id": denied["id"]}).json["changed"] is False
        done = serving.post("/api/release", {"id": held["id"]})
        assert (done.status, done.json["changed"]) == (200, True)
        other = client.lock(HOSTILE)
        assert other.acquire(wait=0.0)
        other.release()
        for path, wrong in (
            ("/api/unblock", held["id"]), ("/api/release", denied["id"]), ("/api/unblock", "zz"), ("/api/release", ""),
            ("/api/release", b"product:1".hex()), ("/api/unblock", b"ql:request:a:{b}:c".hex()),
        ):  # fmt: skip
            answer = serving.post(path, {"id": wrong})
            assert (answer.status, answer.code) == (400, "invalid_argument"), (path, wrong)
        assert samples(serving.metrics(), "quotalock_serve_writes_total") == {(): 2}
        _, said = serving.ended()
    lines = [line for line in said.splitlines() if "127.0.0.1: " in line]
    assert "unblocked: ip:\\xff of limiter login" in lines[0]
    assert "released: lock x\\u{1b}[2J" in next(line for line in lines if "released" in line)


def test_without_allow_writes_it_only_shows(redis: Member) -> None:
    client = Client(redis.url, timeout=10.0)
    client.limiter("login", "5/hour").block("ip:1", 600.0)
    with client.lock("nightly"), logged_in(redis.url) as serving:
        (denied,), (held,) = serving.until("denied"), serving.until("locks")
        for path, row in (("/api/unblock", denied), ("/api/release", held)):
            answer = serving.post(path, {"id": row["id"]})
            assert (answer.status, answer.code) == (403, "read_only")
        assert not client.limiter("login", "5/hour").peek("ip:1").allowed
        assert client.lock("nightly").inspect().holders


def test_what_the_user_may_not_is_named(redis: Member) -> None:
    Client(redis.url, timeout=10.0).limiter("checkout", "1/hour").consume("user:1")
    rights = ("+scan", "+pttl", "+getrange", "+time", "+dbsize")
    redis.ask("ACL", "SETUSER", "few", "reset", "on", ">right", "~ql:*", *rights)
    url = redis.url.replace("redis://", "redis://few:right@")
    with logged_in(url) as serving:
        problems = serving.until("problems", lambda problems: len(problems) >= 3)
        told = " ".join(problems)
        assert "the user lacks the right to INFO" in told
        assert "reports of decisions are missing" in told
        assert "XRANGE" in told.upper()
        # What it may see it sees.
        (row,) = serving.until("denied")
        assert row["key"] == "user:1"
        (node,) = serving.state["nodes"]
        assert (node["answers"], node["memory_used"]) == (True, None)
        # Then the password changes.
        redis.ask("ACL", "SETUSER", "few", "resetpass", ">other")
        redis.ask("CLIENT", "KILL", "USER", "few")
        told = serving.until("problems", lambda problems: "does not let us in" in " ".join(problems))
        assert "right" not in " ".join(told).replace("the right", "")
        serving.until("denied", lambda rows: not rows)


def test_a_server_that_comes_and_goes(redis: Member) -> None:
    Client(redis.url, timeout=10.0).limiter("checkout", "1/hour").consume("user:1")
    with logged_in(redis.url) as serving:
        serving.until("denied")
        redis.kill9()
        serving.until("nodes", lambda nodes: not any(node["answers"] for node in nodes))
        assert redis.address in " ".join(serving.until("problems"))
        # What was known may be wrong by now.
        serving.until("denied", lambda rows: not rows)
        redis.start()
        redis.ask("FLUSHALL")
        serving.until("nodes", lambda nodes: all(node["answers"] for node in nodes))
        serving.until("problems", lambda problems: not problems)


@pytest.mark.parametrize("gone", ["kill9", "freeze"])
def test_of_a_cluster_with_a_node_down_the_rest_is_shown(gone: str) -> None:
    with Cluster() as cluster:
        client = Client(cluster.url, timeout=10.0)
        names = [f"lock:{number}" for number in range(12)]
        locks = [client.lock(name, ttl=600.0) for name in names]
        assert all(lock.acquire() for lock in locks)
        with logged_in(cluster.url) as serving:
            serving.until("locks", lambda rows: len(rows) == len(names))
            lost = cluster.primaries()[0]
            theirs = {name for name in names if cluster.owner_of_slot(slot_of(name)) is lost}
            assert theirs
            assert theirs != set(names)
            getattr(lost, gone)()
            began = time.monotonic()
            nodes = serving.until("nodes", lambda nodes: not all(node["answers"] for node in nodes))
            # The others do not wait for it.
            assert time.monotonic() - began < 8
            assert [node["address"] for node in nodes if not node["answers"]] == [lost.address]
            assert sum(node["ok"] for node in nodes) == 2
            rows = serving.until("locks", lambda rows: len(rows) == len(names) - len(theirs))
            assert {row["name"] for row in rows} == set(names) - theirs
            assert lost.address in " ".join(serving.until("problems"))
            if gone == "freeze":
                lost.thaw()
                serving.until("locks", lambda rows: len(rows) == len(names))


def test_pages_of_a_list(redis: Member) -> None:
    client = Client(redis.url, timeout=10.0)
    limiter = client.limiter("checkout", "1/hour")
    [limiter.consume(f"user:{number}") for number in range(250)]
    with logged_in(redis.url) as serving:
        serving.until("denied_total", lambda total: total == 250)
        state = serving.state
        assert len(state["denied"]) == 100
        rows, at = [], 0
        while True:
            page = serving.get(f"/api/keys?list=denied&from={at}").json
            assert (page["from"], page["total"]) == (at, 250)
            rows += page["rows"]
            at += len(page["rows"])
            if not page["more"]:
                break
        assert len({row["key"] for row in rows}) == 250
        assert serving.get("/api/keys?list=denied&from=9999").json["rows"] == []
        for wrong in ("", "?list=all", "?list=denied&from=-1", "?list=denied&more=1"):
            answer = serving.get("/api/keys" + wrong)
            assert (answer.status, answer.code) == (400, "invalid_argument"), wrong


def test_it_starts_before_its_server(redis: Member) -> None:
    redis.kill9()
    with logged_in(redis.url) as serving:
        assert redis.address in " ".join(serving.until("problems"))
        redis.start()
        serving.until("problems", lambda problems: not problems)
