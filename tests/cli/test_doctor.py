"""`doctor` on servers that are well, on those that are not, and what it does with what it finds."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from cluster import Cluster
from command import Program
from conftest import Servers
from member import Member, until
from planted import ENDED_MS, healthy, leave_ended, lines
from quotalock import Client, WrongType
from sentinels import Sentinels

# What the program needs to look, without a right to change anything.
READER = ["+info", "+time", "+dbsize", "+scan", "+pttl", "+getrange", "+zscore", "+type", "+ping", "+client|setname"]


def users(server: Member, *rights: str) -> str:
    """A user with these rights; the URL to log in as."""
    server.ask("ACL", "SETUSER", "few", "reset", "on", ">pass%word", "~*", "&*", *rights)
    return f"redis://few:pass%25word@127.0.0.1:{server.port}"


def test_nothing_of_a_healthy_server_is_flagged(server: Member, quotalock: Program) -> None:
    healthy(server, 14_000)
    client = Client(server.url, timeout=10.0)
    for number in range(1_500):
        client.limiter("checkout", "10/minute;sliding-log 3/s").consume(f"user:{number}", request_id=f"r{number}")
        client.cache("pages").put(f"page:{number}", b"x" * number)
    limiter = client.limiter("api", "token-bucket 10/s;sliding-window 9/h")
    with client.lock("import"), client.semaphore("slots", permits=2):
        limiter.block("bad", 60)
        limiter.reserve("big", 2, ttl=30)
        client.stock("shoes").open(100, per_buyer=2)
        client.stock("shoes").take("ada", 1)
        client.once("mail").claim("1")
        found = quotalock("doctor", "--json")
    client.close()
    assert (found.code, found.kinds()) == (0, set()), found.out
    assert found.json["keys_seen"] > 17_000
    assert found.json["complete"]
    assert "Nothing is stuck" in quotalock("doctor").out


def test_what_of_ours_would_heal_is_told_and_lives_no_longer_than_it_says(server: Member, quotalock: Program) -> None:
    client = Client(server.url, timeout=10.0)
    limiter = client.limiter("checkout", "10/minute")
    for name in ("lost", "number", "torn", "well"):
        limiter.consume(name)
    key = "ql:limit:checkout:{%s}"
    client.stock("shoes").open(100)
    server.ask("PERSIST", "ql:stock:{shoes}")
    server.ask("PERSIST", key % "lost")
    server.ask("SET", key % "number", -37412)
    value = server.ask("GET", key % "torn")
    server.ask("SET", key % "torn", value[:-3], "PX", 60_000)
    found = quotalock("doctor", "--json")
    groups = [finding for finding in found.json["findings"] if "family" in finding]
    told = Counter({"no_ttl": 0, "damaged": 0})
    for group in groups:
        told[group["kind"]] += group["count"]
    assert (found.code, told) == (1, {"no_ttl": 2, "damaged": 2}), groups
    assert found.families() == {"quotalock"}
    quotalock("doctor", "--fix", "--yes", "--allow-short-ttl")
    assert 50_000 < server.ask("PTTL", key % "lost") <= 62_000
    # A sale must not end because a guess was too short, and what is damaged is nobody's.
    assert server.ask("PTTL", "ql:stock:{shoes}") == -1
    assert server.ask("PTTL", key % "number") == -1
    assert limiter.consume("number").healed
    client.close()


# Keys of ours, which of their calls needs them, and of what type another application made them.
OF_OTHER_TYPES: list[tuple[str, Callable[[Client], object], tuple[str, ...]]] = [
    ("ql:limit:checkout:{k}", lambda client: client.limiter("checkout", "9/s").consume("k"), ("RPUSH", "x")),
    ("ql:lock:{k}", lambda client: client.lock("k").acquire(), ("SADD", "x")),
    ("ql:sem:{k}", lambda client: client.semaphore("k", permits=2).acquire(), ("HSET", "x", "y")),
    ("ql:rw:{k}", lambda client: client.read_lock("k").acquire(), ("ZADD", "1", "__write__")),
    ("ql:cache:c:{k}", lambda client: client.cache("c").put("k", b""), ("RPUSH", "x")),
    ("ql:once:o:{k}", lambda client: client.once("o").claim("k"), ("RPUSH", "x")),
    ("ql:stock:{k}", lambda client: client.stock("k").open(1), ("SET", "x")),
    ("ql:stock:{k}:holds", lambda client: client.stock("k").open(1), ("RPUSH", "x")),
    ("ql:stock:{k}:ledger", lambda client: client.stock("k").open(1), ("RPUSH", "x")),
    ("ql:stock:{k}:take:{b}:r", lambda client: client.stock("k").take("b", request_id="r"), ("RPUSH", "x")),
    (
        "ql:request:n:{k}:consume:r",
        lambda client: client.limiter("n", "9/s").consume("k", request_id="r"),
        ("RPUSH", "x"),
    ),
]


@pytest.mark.parametrize("ttl", [None, 600])
@pytest.mark.parametrize(("key", "call", "write"), OF_OTHER_TYPES, ids=[key for key, *_ in OF_OTHER_TYPES])
def test_a_key_of_ours_of_another_type_is_told_as_one_that_makes_calls_fail(
    key: str,
    call: Callable[[Client], object],
    write: tuple[str, ...],
    ttl: int | None,
    server: Member,
    quotalock: Program,
) -> None:
    client = Client(server.url, timeout=10.0)
    if ":take:" in key:
        client.stock("k").open(1)
    command, *values = write
    server.ask(command, key, *values)
    if ttl:
        server.ask("EXPIRE", key, ttl)
    with pytest.raises(WrongType):
        call(client)
    found = quotalock("doctor", "--json")
    (wrong,) = [finding for finding in found.json["findings"] if finding["kind"] == "wrong_type"]
    assert (found.code, wrong["count"], wrong["state"], wrong["fix"]) == (1, 1, "stuck", None)
    assert "fails with wrong_type" in wrong["means"]
    assert [example.startswith(f"{key} is a Redis ") for example in wrong["examples"]] == [True]
    # By commands, where no script may run.
    few = users(server, *READER, "+lindex", "+zrange")
    assert "wrong_type" in quotalock("doctor", "--json", url=few).kinds()
    inspected = quotalock("inspect", "--json", key)
    (told,) = inspected.json["found"]
    assert (inspected.code, told["state"]) == (1, "wrong_type")
    assert "fail with wrong_type" in told["findings"][0]
    assert len(told["findings"]) == 1
    server.ask("DEL", key)
    call(client)
    client.close()


def test_where_calls_replace_another_type_nothing_is_told(server: Member, quotalock: Program) -> None:
    server.ask("RPUSH", "ql:cache:c:{k}:wait", "x")
    server.ask("EXPIRE", "ql:cache:c:{k}:wait", 600)
    client = Client(server.url, timeout=10.0)
    assert client.cache("c").get("k", lambda: b"loaded") == b"loaded"
    assert "wrong_type" not in quotalock("doctor", "--json").kinds()
    client.close()


def test_reports_that_are_lost_are_told(server: Member, quotalock: Program) -> None:
    server.ask("RPUSH", "ql:reports", "x")
    found = quotalock("doctor", "--json")
    (wrong,) = [finding for finding in found.json["findings"] if not finding["is_note"]]
    assert (wrong["kind"], wrong["means"].startswith("what processes report is lost")) == ("wrong_type", True)
    assert "report is lost" in quotalock("inspect", "ql:reports").out


def test_a_fix_notes_what_it_does_first_and_is_taken_back(server: Member, quotalock: Program) -> None:
    names = [f"sku:{number}" for number in range(250)]
    leave_ended(server, *names)
    server.ask("SET", "stock:42", -3)
    shown = quotalock("doctor")
    assert shown.code == 1
    assert "250 keys are stuck, without a TTL: sku:*" in shown.out
    assert "--fix symfony-lock: a TTL of 1h" in shown.out
    assert all(server.ask("PTTL", name) == -1 for name in server.ask("KEYS", "*"))
    values = {name: server.ask("ZRANGE", name, 0, -1, "WITHSCORES") for name in names}

    fixed = quotalock("doctor", "--fix", "--yes", "--undo-file", "undo.jsonl")
    assert "TTLs given: 250 keys" in fixed.out
    path = quotalock.folder / "undo.jsonl"
    assert path.stat().st_mode & 0o777 == 0o600
    noted = lines(path.read_text())
    assert {line["key"] for line in noted} == set(names)
    assert all(3_590_000 < server.ask("PTTL", name) <= 3_600_000 for name in names)
    assert server.ask("PTTL", "stock:42") == -1

    # What lives otherwise by now is left alone: written since, gone. A value that was added to keeps what was added.
    server.ask("SET", names[0], 1, "EX", 60)
    server.ask("DEL", names[1])
    server.ask("ZADD", names[2], 1, "more")
    taken = quotalock("doctor", "--undo", "undo.jsonl", "--json").json["undone"]
    assert (taken["done"], taken["changed_meanwhile"], taken["restored"]) == (248, 2, 0)
    assert 0 < server.ask("PTTL", names[0]) <= 60_000
    assert server.ask("EXISTS", names[1]) == 0
    assert server.ask("ZCARD", names[2]) == 3
    assert all(server.ask("PTTL", name) == -1 for name in names[2:])
    assert all(server.ask("ZRANGE", name, 0, -1, "WITHSCORES") == values[name] for name in names[3:])
    again = quotalock("doctor", "--undo", "undo.jsonl", "--json").json["undone"]
    assert (again["done"], again["unchanged"], again["changed_meanwhile"]) == (0, 247, 3)


def test_undo_puts_back_what_has_ended_since_and_nothing_else(server: Member, quotalock: Program) -> None:
    names = [f"sku:{number}" for number in range(6)]
    leave_ended(server, *names)
    values = {name: server.ask("DUMP", name) for name in names}
    fixed = quotalock("doctor", "--fix", "--yes", "--allow-short-ttl", "--undo-file", "undo.jsonl")
    assert fixed.code == 0
    until(lambda: server.ask("DBSIZE") == 0, "does not end", lambda: server.ask("KEYS", "*"))
    # Written since by others: that stays, with a TTL and without.
    server.ask("SET", names[0], "new", "EX", 60)
    server.ask("SET", names[1], "new")
    taken = quotalock("doctor", "--undo", "undo.jsonl", "--json").json["undone"]
    assert (taken["done"], taken["restored"], taken["changed_meanwhile"]) == (4, 4, 2)
    assert {server.ask("GET", name) for name in names[:2]} == {"new"}
    assert {name: server.ask("DUMP", name) for name in names[2:]} == {name: values[name] for name in names[2:]}
    assert {server.ask("PTTL", name) for name in names[1:]} == {-1}


def test_a_file_that_is_there_is_not_overwritten_and_one_that_ends_in_the_middle_is_read(
    redis: Member, quotalock: Program
) -> None:
    leave_ended(redis, "limit:a:1")
    path = quotalock.folder / "undo.jsonl"
    path.write_text("mine")
    failed = quotalock("doctor", "--fix", "--yes", "--undo-file", "undo.jsonl")
    assert (failed.code, path.read_text(), redis.ask("PTTL", "limit:a:1")) == (1, "mine", -1)
    assert "undo.jsonl" in failed.error
    assert quotalock("doctor", "--undo", "undo.jsonl", "--json").json["undone"]["done"] == 0
    path.write_text('mine\n{"key": "a"}\n')
    assert quotalock("doctor", "--undo", "undo.jsonl").code == 2
    assert quotalock("doctor", "--undo", "nowhere").code == 1


def test_a_full_disk_ends_a_fix_before_a_key_is_changed_that_is_not_noted(redis: Member, quotalock: Program) -> None:
    leave_ended(redis, *(f"sku:{number}" for number in range(1_000)))

    def small() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))

    command = quotalock.command("doctor", "--fix", "--yes", "--undo-file", "undo.jsonl")
    ended = subprocess.run(
        command, cwd=quotalock.folder, preexec_fn=small, capture_output=True, encoding="utf-8", check=False
    )
    assert ended.returncode == 1
    assert "undo file" in ended.stderr
    changed = {name for name in redis.ask("KEYS", "*") if redis.ask("PTTL", name) != -1}
    assert 0 < len(changed) < 1_000
    text = (quotalock.folder / "undo.jsonl").read_text()
    assert changed <= {line["key"] for line in lines(text[: text.rindex("\n")])}
    taken = quotalock("doctor", "--undo", "undo.jsonl", "--json").json["undone"]
    assert taken["done"] == len(changed)


def test_ctrl_c_in_the_middle_leaves_an_undo_file_that_is_right(redis: Member, quotalock: Program) -> None:
    # So many that it is still at work when the signal comes, also if that comes late.
    count = 60_000
    script = (
        f"for i = 1, ARGV[1] do redis.call('ZADD', 'sku:' .. i, '{ENDED_MS}', '__write__', '{ENDED_MS}', 'token') end"
    )
    redis.ask("EVAL", script, 0, count, within=60.0)
    path = quotalock.folder / "undo.jsonl"
    command = quotalock.command("doctor", "--fix", "--yes", "--undo-file", "undo.jsonl", "--rate", "1000000")
    with subprocess.Popen(command, cwd=quotalock.folder, stdout=subprocess.PIPE, encoding="utf-8") as process:
        give_up = time.monotonic() + 60
        while time.monotonic() < give_up and not (path.exists() and path.stat().st_size > 20_000):
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        out = process.communicate(timeout=60)[0]
    assert process.returncode == 130, out
    assert "stopped before the end" in out
    without = "if redis.call('PTTL', 'sku:' .. i) == -1 then n = n - 1 end"
    given = redis.ask("EVAL", f"local n = tonumber(ARGV[1]) for i = 1, ARGV[1] do {without} end return n", 0, count)
    assert 0 < given < count
    assert given <= len(lines(path.read_text())) <= given + 100
    assert quotalock("doctor", "--undo", "undo.jsonl", "--json").json["undone"]["done"] == given


def test_without_a_terminal_nothing_is_changed_without_yes(redis: Member, quotalock: Program) -> None:
    leave_ended(redis, "limit:a:1")
    refused = quotalock("doctor", "--fix", stdin="y\n")
    assert (refused.code, redis.ask("PTTL", "limit:a:1")) == (2, -1)
    assert "--yes" in refused.error
    assert json.loads(quotalock("doctor", "--fix", "--json").error)["error"]["code"] == "needs_yes"


def at_a_terminal(quotalock: Program, answer: str, meanwhile: Callable[[], object] = lambda: None) -> tuple[int, bytes]:
    """Runs a fix, does something while it asks, and answers: how it ended, and what was shown."""
    mine, theirs = os.openpty()
    command = quotalock.command("doctor", "--fix")
    process = subprocess.Popen(command, cwd=quotalock.folder, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = b""
    try:
        while b"[y/N]" not in seen:
            assert select.select([mine], [], [], 30)[0], seen
            seen += os.read(mine, 4_096)
        meanwhile()
        os.write(mine, answer.encode())
        return process.wait(30), seen
    finally:
        os.close(mine)


@pytest.mark.parametrize(("answer", "changed"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_a_terminal_is_asked(answer: str, changed: bool, redis: Member, quotalock: Program) -> None:
    leave_ended(redis, "limit:a:1")
    code, seen = at_a_terminal(quotalock, answer)
    assert code == (0 if changed else 1)
    assert b"limit:a:*" in seen
    assert b"\x1b[" in seen
    assert (redis.ask("PTTL", "limit:a:1") > 0) == changed


def test_ctrl_c_is_an_answer(redis: Member, quotalock: Program) -> None:
    leave_ended(redis, "limit:a:1")
    healthy(redis, 1_000)
    with subprocess.Popen(
        quotalock.command("doctor", "--rate", "1"), stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        until(lambda: "quotalock" in redis.ask("CLIENT", "LIST"), "does not look", lambda: redis.ask("CLIENT", "LIST"))
        process.send_signal(signal.SIGINT)
        out = process.communicate(timeout=60)[0]
    assert (process.returncode, "looked at some keys" in out) == (130, True)
    # The terminal sends it to whoever has it as its own.
    mine, theirs = os.openpty()
    command = ["setsid", "--ctty", "--wait", *quotalock.command("doctor", "--fix")]
    asked = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = b""
    while b"[y/N]" not in seen:
        assert select.select([mine], [], [], 30)[0], seen
        seen += os.read(mine, 4_096)
    os.write(mine, b"\x03")
    assert asked.wait(60) == 130
    assert redis.ask("PTTL", "limit:a:1") == -1
    os.close(mine)


def test_what_is_not_any_more_what_was_shown_is_left_alone(server: Member, quotalock: Program) -> None:
    names = [f"sku:{number}" for number in range(5)]
    leave_ended(server, *names)

    def meanwhile() -> None:
        server.ask("PEXPIRE", names[0], 9_999_000)
        server.ask("SET", names[1], "text")
        server.ask("DEL", names[2])
        server.ask("ZADD", names[3], ENDED_MS + 1, "__write__")

    assert at_a_terminal(quotalock, "y\n", meanwhile)[0] == 0
    left = {name for name in server.ask("KEYS", "*") if server.ask("PTTL", name) == -1}
    assert left == {names[1], names[3]}
    assert server.ask("PTTL", names[0]) > 9_000_000
    assert 0 < server.ask("PTTL", names[4]) <= 3_600_000


def test_names_cannot_speak_to_the_terminal(redis: Member, quotalock: Program) -> None:
    name = "limit:\x1b]0;owned\x07\x1b[2J\n:\udcff1"
    leave_ended(redis, name)
    shown = quotalock("doctor")
    assert "\x1b" not in shown.out
    assert "\x07" not in shown.out
    assert "\\u{1b}[2J" in shown.out
    quotalock("doctor", "--fix", "--yes")
    assert redis.ask("PTTL", name) > 0
    (path,) = quotalock.folder.glob("quotalock-undo-*.jsonl")
    assert quotalock("doctor", "--undo", str(path), "--json").json["undone"]["done"] == 1
    assert redis.ask("PTTL", name) == -1


def test_who_reads_may_go(redis: Member, quotalock: Program) -> None:
    redis.ask("SET", "limit:a:1", -1)
    with subprocess.Popen(
        quotalock.command("doctor", "--watch", "100ms"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(30) == 1


def test_no_server_and_a_wrong_password_end_with_3(redis: Member, quotalock: Program) -> None:
    away = quotalock("doctor", url="redis://:geheim@127.0.0.1:1")
    assert away.code == 3
    assert "127.0.0.1:1" in away.error
    redis.ask("ACL", "SETUSER", "few", "reset", "on", ">right", "~*", "+@all")
    for url in (f"redis://few:geheim@127.0.0.1:{redis.port}", f"redis://nobody:geheim@127.0.0.1:{redis.port}"):
        refused = quotalock("doctor", "--json", url=url)
        assert (refused.code, json.loads(refused.error)["error"]["code"]) == (3, "not_permitted")
        assert f"127.0.0.1:{redis.port}" in refused.error
        assert "geheim" not in refused.error + refused.out + away.error
    assert quotalock("doctor", url="memory://").code == 2
    assert quotalock("doctor", url="redis://:geheim@host:port").code == 2


def test_rights_that_are_missing_are_named_and_the_rest_is_looked_at(server: Member, quotalock: Program) -> None:
    leave_ended(server, "limit:a:1")
    full = quotalock("doctor", "--json", url=users(server, *READER))
    assert "symfony-lock" in full.families()
    for without, named in (("+scan", "SCAN"), ("+info", "INFO"), ("+time", "TIME"), ("+pttl", "PTTL")):
        rights = [right for right in READER if right != without]
        found = quotalock("doctor", "--json", url=users(server, *rights))
        (lacks,) = (finding for finding in found.json["findings"] if finding["kind"] == "rights")
        assert (found.code, named in lacks["what"]) == (1, True), lacks
        assert ("symfony-lock" in found.families()) == (without not in ("+scan", "+pttl"))
    # Inside of a script the refusal has other words.
    rights = [right for right in READER if right != "+getrange"]
    found = quotalock("doctor", "--json", url=users(server, *rights, "+eval"))
    assert "keys were not read" in str(found.json["findings"])
    # By a script, and by commands, the same is found; and a user that may not write changes nothing.
    scripted = quotalock(
        "doctor", "--json", url=users(server, *READER, "+eval", "+eval_ro" if "6.2" not in server.name else "+eval")
    )
    assert scripted.families() == full.families()
    fixed = quotalock("doctor", "--fix", "--yes", "--json", url=users(server, *READER))
    assert (fixed.code, fixed.json["fixed"]["done"], fixed.json["fixed"]["refused"]) == (1, 0, 1)
    assert server.ask("PTTL", "limit:a:1") == -1


def test_keys_that_may_not_be_read_are_counted(server: Member, quotalock: Program) -> None:
    server.ask("SET", "limit:a:1", -1)
    server.ask("SET", "secret:1", -1)
    url = users(server, *READER, "resetkeys", "~limit:*")
    found = quotalock("doctor", "--json", "--watch", "100ms", url=url)
    (lacks,) = (finding for finding in found.json["findings"] if finding["kind"] == "rights")
    assert "1 keys were not read" in lacks["what"]
    assert "set-nx-decr" in found.families()


def test_a_server_that_is_not_well_is_told(redis: Member, quotalock: Program) -> None:
    used = int(redis.info("memory")["used_memory"])
    redis.ask("CONFIG", "SET", "maxmemory", used + 1_000_000)
    redis.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    try:
        found = quotalock("doctor", "--json")
    finally:
        redis.ask("CONFIG", "SET", "maxmemory", 0)
        redis.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
    assert found.code == 1
    assert "eviction" in found.kinds()


def tells_of_replicas(node: Member) -> bool:
    """Whether clients are led to a replica of each primary."""
    return all(len(places) == 4 for places in node.ask("CLUSTER", "SLOTS"))


def test_all_nodes_of_a_cluster_are_looked_at_and_one_that_is_down_is_told(quotalock: Program) -> None:
    with Cluster(replicas=3, timeout_ms=60_000) as cluster:
        first = cluster.primaries()[0]
        url = cluster.url
        for node in cluster.primaries():
            slot_keys = (f"limit:sku:{number}" for number in range(10_000))
            name = next(name for name in slot_keys if cluster.owner_of(name) is node)
            leave_ended(node, name)
            assert node.ask("WAIT", 1, 10_000) == 1
        # A replica is told of when others have heard how far it is.
        for node in cluster.primaries():
            until(partial(tells_of_replicas, node), "tells of no replicas", partial(node.ask, "CLUSTER", "SLOTS"))
        found = quotalock("doctor", "--json", url=url)
        (group,) = (finding for finding in found.json["findings"] if finding.get("family") == "symfony-lock")
        assert (group["count"], len(found.json["nodes"])) == (3, 6)
        # Its replica has its keys.
        follower = cluster.replicas_of(first)[0]
        first.kill9()
        found = quotalock("doctor", "--json", url=url)
        (group,) = (finding for finding in found.json["findings"] if finding.get("family") == "symfony-lock")
        assert group["count"] == 3
        assert f"127.0.0.1:{first.port}" in str(found.json["findings"])
        # Without it they are missing, and it says so.
        follower.kill9()
        found = quotalock("doctor", "--fix", "--yes", "--undo-file", "undo.jsonl", "--json", url=url)
        assert (found.code, found.json["complete"], found.json["fixed"]["done"]) == (1, False, 2)
        assert "unreachable" in found.kinds()
        assert quotalock("doctor", "--undo", "undo.jsonl", "--json", url=url).json["undone"]["done"] == 2


def test_sentinels_lead_to_all_servers_and_a_socket_does(all_servers: Servers, quotalock: Program) -> None:
    with Sentinels(replicas=1) as sentinels:
        leave_ended(sentinels.primary, "limit:a:1")
        assert sentinels.primary.ask("WAIT", 1, 10_000) == 1
        found = quotalock("doctor", "--fix", "--yes", "--json", url=sentinels.url)
        assert (found.code, found.json["fixed"]["done"], len(found.json["nodes"])) == (0, 1, 2)
        assert sentinels.primary.ask("PTTL", "limit:a:1") > 0
    server = all_servers["redis-7.0"]
    server.ask("FLUSHALL")
    server.ask("SELECT", 3)
    server.ask("SET", "limit:a:1", -1)
    server.ask("SELECT", 0)
    assert quotalock("doctor", "--json", "--watch", "0", url=f"{server.unix_url}?db=3").families() == {"set-nx-decr"}
    assert quotalock("doctor", url=f"{server.unix_url}").code == 0


def test_the_rate_and_the_most_keys_are_kept_to(redis: Member, quotalock: Program) -> None:
    healthy(redis, 2_000)
    began = time.monotonic()
    assert quotalock("doctor", "--rate", "1000", "--json").json["complete"]
    assert 1.8 < time.monotonic() - began < 20
    some = quotalock("doctor", "--max-keys", "500", "--json").json
    assert (500 <= some["keys_seen"] < 1_500, some["complete"]) == (True, False)


def test_keys_may_vanish_while_they_are_looked_at(server: Member, quotalock: Program, tmp_path: Path) -> None:
    script = "for i = 1, 30000 do redis.call('SET', 'limit:sku:' .. i, -1, 'PX', 1 + i % 400) end"
    server.ask("EVAL", script, 0)
    assert quotalock("doctor", "--rate", "60000", "--watch", "0").code == 0
