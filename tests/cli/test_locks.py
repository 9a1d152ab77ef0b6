"""`locks`: who holds what and who waits, on all nodes, and taking a lock away."""

from __future__ import annotations

import json
import os
import socket

from cluster import Cluster, slot_of
from console import Console, until
from member import Member


def test_all_locks_are_listed_with_their_holders(everywhere: Console) -> None:
    client = everywhere.client
    with (
        client.lock("sku:42", label="import") as lock,
        client.lock("sku:43"),
        client.read_lock("doc"),
        client.read_lock("doc"),
    ):
        slots = client.semaphore("slots", permits=5, weight=2)
        assert slots.acquire()
        free = client.lock("free")
        free.acquire()
        free.release()
        listed = everywhere.json("locks")
        assert [(one["name"], one["kind"], len(one["holders"])) for one in listed["locks"]] == [
            ("doc", "rw", 2),
            ("sku:42", "lock", 1),
            ("sku:43", "lock", 1),
            ("slots", "semaphore", 1),
        ]
        assert (listed["free"], listed["is_partial"]) == (1, False)
        (holder,) = listed["locks"][1]["holders"]
        assert (holder["host"], holder["pid"]) == (socket.gethostname(), os.getpid())
        assert (holder["label"], holder["token"], holder["permits"]) == ("import", lock.token, 1)
        assert 0 < holder["left_ms"] <= 30_000
        assert [one["name"] for one in everywhere.json("locks", "sku:*")["locks"]] == ["sku:42", "sku:43"]
        assert [one["name"] for one in everywhere.json("locks", "sku:4?")["locks"]] == ["sku:42", "sku:43"]
        assert [one["name"] for one in everywhere.json("locks", "--all", "fr*")["locks"]] == ["free"]
        said = everywhere.says("locks", "sku:42")
        assert said.splitlines()[0].split()[:4] == ["NAME", "KIND", "STATE", "HELD"]
        assert f"process {os.getpid()} on {socket.gethostname()} (import)" in said
        slots.release()


def test_who_waits_is_counted(console: Console) -> None:
    with console.client.lock("x"), console.start("lock", "x", "true") as waiter:
        until(lambda: len(console.json("locks")["locks"][0]["waited_ms"]) == 1)
        waiter.terminate()
        waiter.communicate()


def test_names_are_encoded_as_in_keys(console: Console) -> None:
    for name in ("a{b}%", "a*b", "[x]"):
        with console.client.lock(name):
            pattern = name.replace("*", "\\*").replace("[", "\\[")
            assert [one["name"] for one in console.json("locks", pattern)["locks"]] == [name]


def test_no_lock_is_fine(console: Console) -> None:
    assert console.says("locks") == "no lock is held\n"
    console.client.stock("x").open(1)
    console.client.limiter("x", "1/minute").consume("lock")
    assert console.json("locks", "--all")["locks"] == []


def test_damaged_locks_and_those_that_stay_for_ever_are_findings(console: Console) -> None:
    console.redis.set(f"{console.prefix}:lock:{{damaged}}", "host-1", px=60_000)
    console.redis.lpush(f"{console.prefix}:lock:{{other}}", "host-1")
    lock = console.client.lock("stuck")
    assert lock.acquire()
    console.redis.persist(f"{console.prefix}:lock:{{stuck}}")
    listed = console.json("locks", code=1)["locks"]
    assert [(one["name"], one["state"], one["has_ttl"]) for one in listed] == [
        ("damaged", "damaged", True),
        ("other", "wrong_type", False),
        ("stuck", "held", False),
    ]
    said = console.says("locks", code=1)
    assert "held, no TTL" in said
    lock.release()


def test_a_lock_is_taken_away_only_if_asked_twice(everywhere: Console) -> None:
    lock = everywhere.client.lock("job", ttl=30.0, renew=False)
    assert lock.acquire()
    ended = everywhere.run("locks", "release", "job")
    assert ended.returncode == 2
    assert f"lock job is held by process {os.getpid()} on " in ended.stderr
    assert "--yes" in ended.stderr
    assert lock.extend()
    assert everywhere.json("locks", "release", "job", "--yes")["released"] == 1
    assert not lock.extend()
    token = lock.token
    other = everywhere.client.lock("job")
    assert other.acquire(wait=0.0)
    assert other.token > token
    other.release()
    assert everywhere.json("locks", "release", "job", "--yes")["released"] == 0


def test_the_kind_is_asked_for_where_several_are_held(console: Console) -> None:
    mutex = console.client.lock("x")
    assert mutex.acquire()
    with console.client.write_lock("x") as writer:
        ended = console.run("locks", "release", "x", "--yes")
        assert ended.returncode == 2
        assert "--kind" in ended.stderr
        assert console.json("locks", "release", "x", "--yes", "--kind", "lock")["released"] == 1
        assert writer.extend()


def test_who_waits_gets_what_was_taken_away(console: Console) -> None:
    permits = console.client.semaphore("slots", permits=2, weight=2, ttl=60.0)
    assert permits.acquire()
    with console.start("lock", "--permits", "2", "slots", "echo", "got it") as waiter:
        until(lambda: console.json("locks")["locks"][0]["waited_ms"])
        assert console.json("locks", "release", "slots", "--yes")["released"] == 1
        assert waiter.communicate(timeout=20)[0] == "got it\n"


def test_of_a_replica_it_is_told_how_old_its_answers_may_be() -> None:
    with Member("redis-7.0") as primary, Member("redis-7.0") as replica:
        replica.ask("REPLICAOF", "127.0.0.1", primary.port)
        console = Console(replica.url, "ql")
        reads = (("top",), ("locks",), ("inspect", "api", "k"))

        def notes(code: int) -> list[list[str]]:
            return [console.json(*words, code=code)["unknown"] for words in reads]

        until(lambda: replica.info("replication").get("master_link_status") == "up")
        place = f"127.0.0.1:{replica.port} is a replica of 127.0.0.1:{primary.port}, and "
        assert notes(0) == [[f"{place}may lag"]] * 3
        assert "nothing is stored" in console.says("inspect", "api", "k")
        primary.kill9()
        until(lambda: replica.info("replication").get("master_link_status") == "down")
        for words, (note,) in zip(reads, notes(1), strict=True):
            assert note.startswith(f"{place}has had no link to it")
            assert console.says(*words, code=1).startswith(f"! {place}has had no link to it")
        console.close()


def test_of_a_cluster_with_a_node_down_the_rest_is_told() -> None:
    with Cluster("redis-7.0", "--cluster-require-full-coverage", "no", timeout_ms=60_000) as cluster:
        console = Console(cluster.url, "ql", in_cluster=True)
        limiter = console.client.limiter("api", "1/hour")
        for key in range(30):
            limiter.consume(str(key))
        owners = {key: cluster.owner_of(f"{{{key}}}") for key in range(30)}
        gone = owners[0]
        reports = cluster.owner_of(f"{console.prefix}:reports")
        stays = next(key for key, owner in owners.items() if owner is not gone)
        # Nobody is asked by way of the one that will be gone.
        console.url = f"redis+cluster://{owners[stays].address}"
        console.client.close()
        gone.kill9()
        top = console.run("--json", "top", "--most", "30")
        assert top.returncode == 1
        assert "keys of one server are missing" in top.stderr
        assert f":{gone.port}" in top.stderr
        told = json.loads(top.stdout)
        assert {int(key["key"]) for key in told["keys"]} == {key for key, owner in owners.items() if owner is not gone}
        # A terminal is cleared before each look, so that what is missing stands in the answer itself.
        for words in (("top",), ("top", "--keys"), ("locks",)):
            said = console.run(*words)
            assert (said.returncode, said.stderr) == (1, "")
            assert said.stdout.startswith("! the keys of one server are missing: ")
            assert f":{gone.port}" in said.stdout
            told = console.json(*words, code=1)
            assert (told["is_partial"], len(told["unknown"])) == (True, 1 + (words == ("top",) and gone is reports))
        assert "no lock is held on the servers that answered" in console.says("locks", code=1)
        assert ("No process reports" in console.says("top", code=1)) == (gone is not reports)
        assert console.found("api", str(stays))["state"] == "denies"
        lost = console.run("inspect", "api", "0")
        assert lost.returncode == 3
        assert f":{gone.port}" in lost.stderr
        console.redis.close()


def test_a_slot_that_moves_is_told_once() -> None:
    with Cluster("redis-7.0", timeout_ms=60_000) as cluster:
        console = Console(cluster.url, "ql", in_cluster=True)
        lock = console.client.lock("job")
        assert lock.acquire()
        slot = slot_of("{job}")
        source = cluster.owner_of_slot(slot)
        to = next(node for node in cluster.primaries() if node is not source)
        cluster.migrate_slot(slot, to)
        assert [one["name"] for one in console.json("locks")["locks"]] == ["job"]
        assert console.found("job")["state"] == "held"
        assert lock.extend()
        lock.release()
        console.close()
