"""Sentinels and addresses that do not fit each other: an error that names the host and the cure, in time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from program import free_port
from sentinels import Sentinels
from servers import Server
from workers import LANGUAGES, Worker
from wrong import called, fails


@pytest.fixture(scope="module")
def workers() -> Iterator[list[Worker]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Worker(language)) for language in LANGUAGES]


@pytest.fixture(scope="module")
def sentinels() -> Iterator[Sentinels]:
    with Sentinels(replicas=1) as running:
        yield running


def test_a_name_that_sentinel_does_not_know(workers: list[Worker], sentinels: Sentinels) -> None:
    fails(workers, sentinels.url.replace("/shop", "/shpo"), "invalid_argument", sentinels.sentinels[0].address, "shpo")


def test_no_sentinel_answers(workers: list[Worker]) -> None:
    one, two = free_port(), free_port()
    url = f"redis+sentinel://127.0.0.1:{one},127.0.0.1:{two}/shop"
    fails(workers, url, "unavailable", f"127.0.0.1:{one}", f"127.0.0.1:{two}", "Sentinel")


def test_sentinels_that_stand_still(workers: list[Worker]) -> None:
    with Sentinels(replicas=1) as sentinels:
        for each in sentinels.sentinels:
            each.freeze()
        places = [each.address for each in sentinels.sentinels]
        fails(workers, sentinels.url, "unavailable timeout", "Sentinel", "shop", *places)


def test_a_plain_server_in_place_of_a_sentinel(workers: list[Worker], server: Server) -> None:
    url = f"redis+sentinel://127.0.0.1:{server.port}/shop"
    fails(workers, url, "invalid_argument", f"127.0.0.1:{server.port}", "no Sentinel", "redis://")


def test_a_wrong_password_for_one_of_the_two(workers: list[Worker]) -> None:
    """The message says which."""
    with Sentinels(replicas=0) as sentinels:
        for each in sentinels.sentinels:
            each.ask("SENTINEL", "SET", sentinels.master, "auth-pass", "right")
            each.ask("ACL", "SETUSER", "default", "resetpass", ">told")
        sentinels.primary.ask("CONFIG", "SET", "requirepass", "right")
        wrong, right = sentinels.url.replace("://", "://:wrong@"), sentinels.url.replace("://", "://:right@")
        server, sentinel = sentinels.primary.address, sentinels.sentinels[0].address
        fails(workers, f"{wrong}?sentinel_password=told", "not_permitted", server, "password")
        fails(workers, f"{right}?sentinel_password=lies", "not_permitted", sentinel, "sentinel_password")
        for worker in workers:
            assert called(worker, f"{right}?sentinel_password=told")["result"]["allowed"]
