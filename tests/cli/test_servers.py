"""How the program reaches servers, and what it tells of their clocks and replicas."""

from __future__ import annotations

import socket
import socketserver
import subprocess
import threading
import time
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest
import quotalock as package
from clock_steps import ClockSteps
from cluster import Cluster
from command import Program
from member import Member, until
from program import free_port
from servers import Server


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    """A folder with a CA, and what it signed for a server and a client."""
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    leaf = ("-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", *leaf)
    for words in (
        ("-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Our CA"),
        ("-keyout", "server.key", "-out", "server.pem", "-subj", "/CN=server", *signed),
    ):
        subprocess.run(["openssl", "req", "-x509", *key, *words], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


def test_tls_with_certificates_of_both_sides(certificates: Path, quotalock: Program) -> None:
    port = free_port()
    names = {"cert": "server.pem", "key": "server.key", "ca-cert": "ca.pem"}
    files = [word for what, name in names.items() for word in (f"--tls-{what}-file", str(certificates / name))]
    with Server("redis-7.0", "--tls-port", str(port), "--tls-auth-clients", "yes", *files) as server:
        server.command("SET", "limit:a:1", "-1")
        path = {name: quote(str(certificates / name), safe="") for name in ("ca.pem", "server.pem", "server.key")}
        url = f"rediss://127.0.0.1:{port}?ca={path['ca.pem']}"
        both = f"{url}&cert={path['server.pem']}&key={path['server.key']}"
        assert quotalock("doctor", "--json", url=both).families() == {"set-nx-decr"}
        # Who does not show a certificate, or trusts nobody, is told so.
        for refused in (url, f"rediss://127.0.0.1:{port}", f"{url}&cert=%2Fnowhere&key=%2Fnowhere"):
            ended = quotalock("doctor", url=refused)
            assert ended.code == 3
            assert f"127.0.0.1:{port}" in ended.error or "/nowhere" in ended.error


def test_a_password_comes_from_a_file(redis: Member, quotalock: Program, tmp_path: Path) -> None:
    redis.ask("ACL", "SETUSER", "filed", "reset", "on", ">geheim", "~*", "&*", "+@all")
    secret = tmp_path / "secret"
    secret.write_text("geheim\n")
    url = f"redis://127.0.0.1:{redis.port}?password_file={quote(str(secret), safe='')}"
    url = url.replace("redis://", "redis://filed:@")
    assert quotalock("doctor", url=url).code == 0
    secret.write_text("falsch\n")
    wrong = quotalock("doctor", url=url)
    secret.unlink()
    gone = quotalock("doctor", url=url)
    assert (wrong.code, gone.code) == (3, 3)
    assert "falsch" not in wrong.error
    assert str(secret) in wrong.error
    assert str(secret) in gone.error


def test_a_server_that_freezes_is_not_waited_for_for_ever(quotalock: Program) -> None:
    with Member("redis-7.0") as server:
        server.ask("PING")
        server.sigstop()
        began = time.monotonic()
        frozen = quotalock("doctor", url=server.url)
        took = time.monotonic() - began
        server.sigcont()
    assert frozen.code == 3
    assert took < 30


def test_a_clock_that_is_wrong_is_told(quotalock: Program) -> None:
    with ClockSteps() as clock, Server("redis-7.0", prefix=clock.prefix) as server:
        assert quotalock("doctor", url=server.url).code == 0
        clock.step(-7_000_000)
        found = quotalock("doctor", "--json", url=server.url)
        assert found.kinds() == {"clock"}
        assert "7.0 s behind this machine's" in str(found.json["findings"])


def test_a_replica_without_its_primary_is_told(quotalock: Program) -> None:
    with Member("redis-7.0") as primary, Member("redis-7.0") as replica:

        def link(state: str) -> None:
            told = partial(replica.info, "replication")
            until(lambda: told().get("master_link_status") == state, f"has no link that is {state}", told)

        replica.ask("REPLICAOF", "127.0.0.1", primary.port)
        link("up")
        well = quotalock("doctor", "--json", url=replica.url)
        assert (well.code, well.json["nodes"][0]["role"]) == (0, "replica")
        primary.kill9()
        link("down")
        found = quotalock("doctor", "--json", url=replica.url)
        assert (found.code, found.kinds()) == (1, {"replication"})


# What looks at keys: of one node it would see a part.
LOOKING = (
    ("top", "--once"),
    ("top", "--once", "--keys"),
    ("locks",),
    ("inspect", "api", "k0"),
    ("inspect", "job0"),
    ("doctor", "--watch", "0"),
    ("doctor", "--fix", "--yes"),
    ("unblock", "api", "k0"),
    ("block", "api", "k0", "--for", "1m"),
    ("stock", "shoes"),
    ("cache", "pages", "k0"),
    ("serve", "--listen", "127.0.0.1:0"),
)


def test_a_node_of_a_cluster_is_refused_by_the_url_of_one_server(quotalock: Program) -> None:
    with Cluster(replicas=3, timeout_ms=60_000) as cluster, package.Client(cluster.url, timeout=10.0) as client:
        limiter = client.limiter("api", "5/hour")
        assert all(limiter.consume(f"k{number}") and client.lock(f"job{number}").acquire() for number in range(9))
        keys = [f"k{number}" for number in range(9)]
        first, second = cluster.primaries()[:2]
        follower = cluster.replicas_of(first)[0]
        second.ask("ACL", "SETUSER", "limited", "on", ">geheim", "~*", "&*", "+@all", "-cluster")
        urls = {node.address: node.url for node in (first, second, follower)}
        urls[second.address + " limited"] = f"redis://limited:geheim@{second.address}"
        for name, url in urls.items():
            node = name.split()[0]
            refused = f"quotalock: {node} is a node of a Redis Cluster: use redis+cluster:// in the url (unavailable)"
            # What every call for a key of another node says.
            charged = [quotalock("consume", "api", key, "--policy", "5/hour", url=url) for key in keys]
            assert {(ended.code, ended.error.strip()) for ended in charged if ended.code != 0} == {(3, refused)}
            for words in LOOKING:
                ended = quotalock(*words, url=url)
                assert (ended.code, ended.out, ended.error.strip()) == (3, "", refused), words


def test_a_cluster_of_one_server_is_whole(quotalock: Program) -> None:
    with Cluster(primaries=1, timeout_ms=60_000) as cluster:
        (node,) = cluster.primaries()
        with package.Client(node.url, timeout=10.0) as client, client.lock("job"):
            for words in (("top", "--once"), ("locks",), ("inspect", "job"), ("doctor", "--watch", "0")):
                ended = quotalock(*words, url=node.url)
                assert (ended.code, ended.error) == (0, ""), words


class Hanging:
    """A server that lets everybody connect, and never answers."""

    def __enter__(self) -> Hanging:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._listener.getsockname()[1]}"


# Every command that asks a server: those that look at all keys, at one, and those that have the core ask too.
OF_ALL: tuple[tuple[str, ...], ...] = (
    ("top", "--once"),
    ("top", "--once", "--keys"),
    ("locks",),
    ("doctor", "--watch", "0"),
)
LOOKING_AT_ONE: tuple[tuple[str, ...], ...] = (
    ("inspect", "api", "{key}"),
    ("inspect", "{key}"),
    ("cache", "pages", "{key}"),
    ("once", "jobs", "{key}"),
)
OF_ONE: tuple[tuple[str, ...], ...] = (
    *LOOKING_AT_ONE,
    ("peek", "api", "{key}", "--policy", "5/hour"),
    ("consume", "api", "{key}", "--policy", "5/hour"),
    ("block", "api", "{key}", "--for", "1m"),
    ("unblock", "api", "{key}"),
    ("reset", "api", "{key}"),
    ("stock", "{key}"),
    ("locks", "release", "{key}", "--yes"),
    ("lock", "-n", "{key}", "--", "true"),
)


def of_one(words: tuple[str, ...], key: str) -> list[str]:
    return [word.format(key=key) for word in words]


@pytest.mark.parametrize("scheme", ["redis", "rediss", "redis+cluster", "password", "redis+sentinel"])
def test_a_server_that_never_answers_is_waited_for_as_long_as_is_said(scheme: str, quotalock: Program) -> None:
    with Hanging() as server:
        url = f"{scheme}://{server.address}/" + ("main" if scheme == "redis+sentinel" else "")
        if scheme == "password":
            url = f"redis://:geheim@{server.address}"
        for words in (*OF_ALL, *OF_ONE):
            # As it never answers, each command that ends has given up.
            ended = quotalock("--server-timeout", "200ms", *of_one(words, "k"), url=url)
            assert (ended.code, ended.out) == (3, ""), words
            assert server.address in ended.error, words


class FallsSilent(socketserver.ThreadingTCPServer):
    """A server with 300 locks that answers until it is asked for their values."""

    daemon_threads = True

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            answers = {b"PING": b"+PONG\r\n", b"INFO": b"$0\r\n\r\n", b"CLIENT": b"+OK\r\n"}
            keys = b"".join(b"$%d\r\n%s\r\n" % (len(key), key) for key in (b"ql:lock:{%d}" % n for n in range(300)))
            answers[b"SCAN"] = b"*2\r\n$1\r\n0\r\n*300\r\n" + keys
            while line := self.rfile.readline():
                words = []
                for _ in range(int(line[1:])):
                    length = int(self.rfile.readline()[1:])
                    words.append(self.rfile.read(length + 2)[:-2])
                self.wfile.write(answers.get(words[0].upper(), b""))


def test_a_server_that_falls_silent_is_waited_for_once_and_not_for_each_question(quotalock: Program) -> None:
    with FallsSilent(("127.0.0.1", 0), FallsSilent.Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        # 601 questions are sent at once: to wait for each would take ten minutes.
        ended = quotalock("--server-timeout", "1s", "locks", url=f"redis://127.0.0.1:{server.server_address[1]}")
        server.shutdown()
    assert (ended.code, ended.out) == (3, "")
    assert "did not answer in time" in ended.error


def test_how_long_a_server_is_waited_for_has_bounds(quotalock: Program) -> None:
    for given in ("0", "999us", "61m", "5"):
        ended = quotalock("--server-timeout", given, "locks", url="redis://127.0.0.1:1")
        assert ended.code == 2
        assert "--server-timeout" in ended.error


def test_a_command_about_a_key_asks_the_node_that_has_it(quotalock: Program) -> None:
    # Whoever waits for what hangs does so for an hour.
    with Cluster(timeout_ms=600_000) as cluster, Hanging() as seed:
        frozen, *healthy = cluster.primaries()
        keys = [next(f"k{n}" for n in range(10_000) if cluster.owner_of(f"k{n}") is node) for node in healthy]
        every = cluster.url
        frozen.freeze()
        for url in (every, every.replace("//", f"//{seed.address},")):
            for words in (*LOOKING_AT_ONE, ("inspect", "ql:limit:api:{{{key}}}")):
                for key in keys:
                    ended = quotalock("--server-timeout", "1h", *of_one(words, key), url=url)
                    assert ended.code == 0, (words, ended)
        # What asks all nodes tells which one is missing.
        for words in OF_ALL[:3]:
            ended = quotalock("--server-timeout", "500ms", "--json", *words, url=every)
            assert (ended.code, ended.json["is_partial"]) == (1, True), words
            assert frozen.address in str(ended.json["unknown"])
        frozen.thaw()
