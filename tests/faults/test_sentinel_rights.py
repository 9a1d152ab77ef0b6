"""A primary that Sentinels watch, with exactly the rights of SECURITY.md at them and at it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from member import Member
from security import rights
from sentinels import Sentinels
from workers import LANGUAGES, Worker

SECRET = "sw0rdfish"
SENTINEL = "A Sentinel: for its own login"
PRIMARY = "A primary that Sentinels watch: on it and its replicas also"


@pytest.fixture(scope="module", params=["redis-7.0", "valkey-9.1"])
def watched(request: pytest.FixtureRequest) -> Iterator[Sentinels]:
    with Sentinels(request.param, replicas=1) as sentinels:
        yield sentinels


def url(watched: Sentinels, user: str, *lacking: str) -> str:
    """The address for a user whom all know, who has what SECURITY.md lists but these words."""

    def allow(members: list[Member], words: list[str]) -> None:
        for member in members:
            given = [f">{SECRET}" if word.startswith(">") else word for word in words if word not in lacking]
            member.ask("ACL", "SETUSER", user, *given)

    allow(list(watched.sentinels), rights(SENTINEL))
    allow(watched.servers, rights("A server") + rights(PRIMARY))
    place = watched.url.replace("://", f"://{user}:{SECRET}@")
    return f"{place}?sentinel_user={user}&sentinel_password={SECRET}"


def refused(members: list[Member], user: str) -> set[str]:
    """What these refused this user, but for names."""
    entries = [dict(zip(e[::2], e[1::2], strict=True)) for member in members for e in member.ask("ACL", "LOG", 1000)]
    mine = {entry["object"] for entry in entries if entry["username"] == user}
    return {thing for thing in mine if not thing.startswith("client|")}


def consume(worker: Worker) -> dict[str, object]:
    return dict(worker.ask("consume", limiter="n", policy="1000/1h", key="k", cost=1))


def test_the_rights_are_enough(worker: Worker, watched: Sentinels) -> None:
    user = f"enough-{worker.name}"
    worker.client(url(watched, user), timeout_ms=5000)
    assert "error" not in consume(worker)
    assert refused([*watched.sentinels, *watched.servers], user) == set()


def test_the_rights_are_enough_for_a_failover(watched: Sentinels) -> None:
    user = "follows"
    place = url(watched, user)
    with ExitStack() as stack:
        crew = [stack.enter_context(Worker(language)) for language in LANGUAGES]
        for worker in crew:
            worker.client(place, timeout_ms=5000)
            assert "error" not in consume(worker)
        watched.wait_until_it_serves()
        watched.failover()
        give_up = time.monotonic() + 20
        for worker in crew:
            while "error" in (answer := consume(worker)):
                assert answer["error"] in ("unavailable", "timeout"), answer
                assert time.monotonic() < give_up, answer
    assert refused([*watched.sentinels, *watched.servers], user) == set()


@pytest.mark.parametrize("lacking", ["+sentinel|get-master-addr-by-name", "+role"])
def test_a_right_that_lacks_is_named(worker: Worker, watched: Sentinels, lacking: str) -> None:
    worker.client(url(watched, f"lacks{lacking}", lacking), timeout_ms=2000)
    answer = consume(worker)
    assert answer.get("error") == "not_permitted", answer
    assert f"ACL SETUSER <user> {lacking}" in str(answer["message"])


@pytest.mark.parametrize("lacking", ["+subscribe", "&+switch-master", "&+promoted-slave"])
def test_who_may_not_listen_calls_all_the_same(worker: Worker, watched: Sentinels, lacking: str) -> None:
    user = f"deaf{lacking[1:]}"
    worker.client(url(watched, user, lacking), timeout_ms=2000)
    assert "error" not in consume(worker)
    assert refused(list(watched.sentinels), user) == {lacking[1:]}
