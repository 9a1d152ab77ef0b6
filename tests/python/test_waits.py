"""One client whose callers wait for a lock, and for a value that another loads: neither is in the other's way."""

from __future__ import annotations

import threading
import time

import quotalock

SOON = 3.0


def client(url: str, prefix: str) -> quotalock.Client:
    return quotalock.Client(url, prefix=prefix, timeout=5)


def wait_for_a_lock(waiting: quotalock.Client, other: quotalock.Client, name: str) -> None:
    """Waits until the other one releases it."""
    with other.lock(name):
        taken = threading.Thread(target=waiting.lock(name).acquire, args=(30,))
        taken.start()
        while not other.lock(name).inspect().waiters:
            time.sleep(0.005)
        begin = time.monotonic()
    taken.join(SOON)
    assert not taken.is_alive()
    assert time.monotonic() - begin < SOON


def wait_for_a_value(waiting: quotalock.Client, other: quotalock.Client, key: str) -> None:
    """Waits until the other one has loaded it."""
    begun, end = threading.Event(), threading.Event()

    def load() -> bytes:
        begun.set()
        end.wait(30)
        return b"v"

    loading = threading.Thread(target=other.cache("c").get, args=(key, load))
    loading.start()
    assert begun.wait(30)
    values: list[bytes | None] = []
    taken = threading.Thread(target=lambda: values.append(waiting.cache("c").get(key, load, wait=30)))
    taken.start()
    # Long enough to be told to wait.
    time.sleep(0.2)
    end.set()
    taken.join(SOON)
    assert values == [b"v"]
    loading.join()


def test_a_wait_for_a_value_after_one_for_a_lock(url: str, prefix: str) -> None:
    with client(url, prefix) as waiting, client(url, prefix) as other:
        wait_for_a_lock(waiting, other, "n")
        wait_for_a_value(waiting, other, "k")


def test_a_wait_for_a_lock_after_one_for_a_value(url: str, prefix: str) -> None:
    with client(url, prefix) as waiting, client(url, prefix) as other:
        wait_for_a_value(waiting, other, "k")
        wait_for_a_lock(waiting, other, "n")
        wait_for_a_value(waiting, other, "k2")
