"""Functions that tell the password: asked when a connection logs in, asked again when the server refuses, and whatever
they do, their callers hear of it and nobody else is kept waiting."""

from __future__ import annotations

import json
import time
from pathlib import Path

import measure
import pytest
import quotalock
from cluster import Cluster
from sentinels import Sentinels
from servers import Server
from workers import CONCURRENT, Answer, Worker

POLICY = "100000/1h"
OLD, NEW = "0ld-sw0rdfish", "n3w-tuna"
RIGHTS = ("on", "resetkeys", "~*", "&*", "+@all")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "told"


def asked(file: Path) -> int:
    """How often the function was asked."""
    marks = file.with_name(f"{file.name}.asked")
    return len(marks.read_text()) if marks.exists() else 0


def consume(worker: Worker, key: str = "k") -> Answer:
    answer = worker.ask("consume", limiter="place", policy=POLICY, key=key, cost=1)
    for secret in (OLD, NEW):
        assert secret not in json.dumps(answer)
    return answer


def admitted(worker: Worker, key: str = "k") -> int:
    answer = consume(worker, key)
    assert "error" not in answer, answer
    return int(answer["result"]["remaining"])


@pytest.fixture
def app(server: Server, file: Path) -> str:
    """The URL of a user whose password the file holds."""
    server.command("ACL", "SETUSER", "app", f">{OLD}", *RIGHTS)
    file.write_text(OLD)
    return f"redis://app@127.0.0.1:{server.port}"


def rotate(server: Server, file: Path | None = None) -> None:
    """The server takes another password from now on and hangs up on who had the old one; perhaps it is told."""
    if file is not None:
        file.write_text(NEW)
    server.command("ACL", "SETUSER", "app", "resetpass", f">{NEW}")
    server.command("CLIENT", "KILL", "USER", "app")
    time.sleep(measure.SEEN)


def test_a_changed_password_is_asked_for_without_a_failed_call(
    worker: Worker, server: Server, app: str, file: Path
) -> None:
    worker.client(app, password=file)
    assert asked(file) == 0
    assert admitted(worker) == 99_999
    assert admitted(worker) == 99_998
    assert asked(file) == 1
    # Another password, of which a connection that stays need not know.
    file.write_text(NEW)
    server.command("ACL", "SETUSER", "app", f">{NEW}", f"<{OLD}")
    assert admitted(worker) == 99_997
    assert asked(file) == 1
    rotate(server)
    assert admitted(worker) == 99_996
    assert asked(file) == 2


def test_what_the_function_throws_its_callers_get(worker: Worker, server: Server, app: str, file: Path) -> None:
    file.write_text("!no token today")
    worker.client(app, password=file)
    for _ in range(2):
        answer = consume(worker)
        assert (answer["error"], answer["message"]) == ("own", "!no token today")
    assert server.command("DBSIZE") == "0"
    file.write_text(OLD)
    with measure.Stalls() as stalls:
        end = time.monotonic() + 1.1
        while "error" in (answer := consume(worker)):
            assert answer["error"] == "own"
            assert time.monotonic() < end + stalls.worst
    assert answer["result"]["remaining"] == 99_999


def test_a_password_that_stays_wrong_is_not_asked_for_in_a_storm(
    worker: Worker, server: Server, app: str, file: Path
) -> None:
    worker.client(app, password=file)
    admitted(worker)
    rotate(server)
    begin = time.monotonic()
    for _ in range(200):
        answer = consume(worker)
        assert answer["error"] == "not_permitted"
        assert f"127.0.0.1:{server.port} refused the user or password of the password function" in answer["message"]
    # Once a second, and the first time and once more at the beginning.
    assert asked(file) <= 3 + time.monotonic() - begin


def test_an_empty_password_is_none(worker: Worker, app: str, file: Path) -> None:
    file.write_text("")
    worker.client(app, password=file)
    answer = consume(worker)
    assert answer["error"] == "not_permitted"
    assert "the password function returned no password" in answer["message"]
    assert "it is empty" in answer["message"]


@pytest.mark.parametrize("language", CONCURRENT[:3])
def test_many_callers_ask_once(language: str, server: Server, app: str, file: Path) -> None:
    with Worker(language) as worker:
        worker.client(app, password=file)
        for lane in range(12):
            how = {"policy": POLICY}
            worker.begin_call("limiter.consume", "place", how, lane=lane, key=f"k{lane}", cost=1)
        for lane in range(12):
            assert "error" not in worker.end(lane)
        assert asked(file) == 1


def test_what_else_connects_has_the_password_too(worker: Worker, server: Server, app: str, file: Path) -> None:
    """Renewing and waiting are done by connections of their own."""
    worker.client(app, password=file)
    assert worker.call("lock.acquire", "n")["result"] is True
    assert worker.call("lock.release", "n")["result"] is True
    assert worker.call("cache.get", "n", {}, key="k", load={"value": "v"})["result"] == b"v".hex()
    assert worker.call("once.claim", "n", {}, id="k", value="v")["result"]["first"] is True
    rotate(server, file)
    assert worker.call("lock.acquire", "n", {"wait_ms": 1000})["result"] is True
    assert worker.call("cache.get", "n", {}, key="k2", load={"value": "v"})["result"] == b"v".hex()
    assert asked(file) == 2


@pytest.mark.parametrize("language", CONCURRENT[:3])
def test_a_lock_is_renewed_with_the_next_password(language: str, server: Server, app: str, file: Path) -> None:
    """In a program that blocks, the next call of anything brings the answer; loops answer by themselves."""
    with Worker(language) as worker:
        worker.client(app, password=file)
        ttl_ms = 3000
        assert worker.call("lock.acquire", "n", {"ttl_ms": ttl_ms})["result"] is True
        rotate(server, file)
        end = time.monotonic() + 2 * ttl_ms / 1000
        while time.monotonic() < end:
            time.sleep(0.05)
            if language == "python":
                admitted(worker)
        assert worker.call("lock.release", "n", {"ttl_ms": ttl_ms})["result"] is True
        assert asked(file) == 2


def test_a_cluster_asks_for_all_its_servers(worker: Worker, file: Path) -> None:
    with Cluster(primaries=2) as cluster:
        for node in cluster.nodes:
            node.ask("ACL", "SETUSER", "app", f">{OLD}", *RIGHTS)
        file.write_text(OLD)
        worker.client(cluster.url.replace("://", "://app@"), password=file)
        for key in ("a", "b", "c", "d"):
            admitted(worker, key)
        assert asked(file) == 1
        file.write_text(NEW)
        for node in cluster.nodes:
            node.ask("ACL", "SETUSER", "app", "resetpass", f">{NEW}")
            node.ask("CLIENT", "KILL", "USER", "app")
        time.sleep(measure.SEEN)
        for key in ("a", "b", "c", "d"):
            admitted(worker, key)
        assert asked(file) == 2


def test_sentinels_do_not_get_the_password_of_the_server(worker: Worker, file: Path) -> None:
    with Sentinels(replicas=0) as sentinels:
        sentinels.primary.ask("ACL", "SETUSER", "app", f">{OLD}", *RIGHTS)
        file.write_text(OLD)
        worker.client(sentinels.url.replace("://", "://app@"), password=file)
        admitted(worker)
        file.write_text("!none")
        sentinels.primary.ask("ACL", "SETUSER", "app", "resetpass", f">{NEW}")
        sentinels.primary.ask("CLIENT", "KILL", "USER", "app")
        time.sleep(measure.SEEN)
        assert consume(worker)["error"] == "own"


def test_what_cannot_be(server: Server) -> None:
    with pytest.raises(quotalock.InvalidArgument, match="has a password and a function that tells it"):
        quotalock.Client(f"redis://:{OLD}@127.0.0.1:{server.port}", password=lambda: NEW)
    with pytest.raises(quotalock.InvalidArgument, match="has no password"):
        quotalock.Client("memory://", password=lambda: NEW)
