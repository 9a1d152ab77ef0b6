"""Waits among greenlets: `greenlets.py gevent|eventlet URL TEST ...`. Each test fails if a wait stops the others."""

from __future__ import annotations

import functools
import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

LIBRARY, URL, *TESTS = (word for word in sys.argv[1:] if word != "--blocking")
if LIBRARY == "gevent":
    importlib.import_module("gevent.monkey").patch_all()
else:
    importlib.import_module("eventlet").monkey_patch()

import quotalock  # noqa: E402

green: Any = importlib.import_module(LIBRARY)
client = quotalock.Client(URL, prefix=f"greenlets-{time.time_ns()}")
TICK = 0.01


def spawn(function: Callable[[], Any]) -> Any:
    return green.spawn(function)


def join(greenlet: Any) -> Any:
    return greenlet.get() if LIBRARY == "gevent" else greenlet.wait()


class Pauses:
    """The longest pause of a greenlet that wants to run every 10 ms."""

    def __init__(self) -> None:
        self.longest, self.over = 0.0, False
        self.greenlet = spawn(self._run)

    def _run(self) -> None:
        last = time.monotonic()
        while not self.over:
            green.sleep(TICK)
            self.longest, last = max(self.longest, time.monotonic() - last - TICK), time.monotonic()

    def end(self) -> float:
        self.over = True
        join(self.greenlet)
        return self.longest


def holder_in_the_same_thread(make: Callable[[], quotalock.Lock]) -> None:
    """The holder can release only if the waiter lets it run; a waiter that does not would time out."""
    held = make()
    assert held.acquire()
    waiting = spawn(lambda: make().acquire(wait=20.0))
    ticks = 0
    while ticks < 20:
        green.sleep(TICK)
        ticks += 1
    assert held.release()
    assert join(waiting) is True


def locks() -> None:
    kinds: list[Callable[[], quotalock.Lock]] = [
        lambda: client.lock("one"),
        lambda: client.lock("fair", fair=True),
        lambda: client.semaphore("sem", 1),
        lambda: client.write_lock("rw"),
        lambda: client.lock_all(["a", "b"]),
        lambda: quotalock.quorum_lock([quotalock.Client(f"memory://{n}") for n in range(3)], "q"),
    ]
    for make in kinds:
        holder_in_the_same_thread(make)
    # A block, whose lock belongs to its greenlet and not to the thread.
    order = []

    def work(name: str) -> None:
        with client.lock("block", wait=20.0) as lock:
            order.append(name)
            green.sleep(5 * TICK)
            lock.assert_held()
            order.append(name)

    for greenlet in [spawn(functools.partial(work, name)) for name in "abcdef"]:
        join(greenlet)
    assert order[::2] == order[1::2], order
    assert sorted(order[::2]) == list("abcdef")


def loads() -> None:
    for get in (client.cache("pages").get, client.once("jobs").run):
        _load(get)


def _load(get: Callable[[str, Callable[[], str]], bytes | None]) -> None:
    begun = []

    def load() -> str:
        begun.append(1)
        green.sleep(20 * TICK)
        return "value"

    values = [spawn(lambda: get("k", load)) for _ in range(5)]
    assert [join(value) for value in values] == [b"value"] * 5
    assert len(begun) == 1


def limits() -> None:
    limiter = client.limiter("slow", "1/300ms")
    assert limiter.consume("k")
    pauses = Pauses()
    assert limiter.wait("k", timeout=20.0).allowed
    assert limiter.wait("k", timeout=20.0).allowed
    assert pauses.end() < 0.25


def cancelled() -> None:
    """A wait that ends by a timeout or a kill leaves nothing behind."""
    held, waiter = client.lock("gone"), client.lock("gone")
    assert held.acquire()
    timeout = green.Timeout.start_new(0.2) if LIBRARY == "gevent" else green.Timeout(0.2)
    raised = None
    try:
        waiter.acquire(wait=60.0)
    except green.Timeout as error:
        raised = error
    timeout.cancel()
    assert raised is timeout
    killed = spawn(lambda: client.lock("gone").acquire(wait=60.0))
    while client.lock("gone").inspect().waiters == 0:
        green.sleep(TICK)
    killed.kill()
    while client.lock("gone").inspect().waiters > 0:
        green.sleep(TICK)
    assert held.release()
    assert waiter.state == "released"
    assert waiter.acquire()
    assert held.acquire() is False


def many() -> None:
    """More waiters than a pool of threads has; the holder still gets to release."""
    holder_in_the_same_thread(lambda: client.lock("crowd"))
    held = client.lock("many")
    assert held.acquire()

    def take() -> bool:
        with client.lock("many", wait=60.0):
            return True

    waiting = [spawn(take) for _ in range(60)]
    green.sleep(20 * TICK)
    assert held.release()
    assert all(join(one) for one in waiting)


def lost() -> None:
    with client.lock("taken") as lock:
        assert client.lock("taken").force_release() == 1
        # The renewal, after a third of the ttl, notices it; this greenlet waits for that without stopping others.
        assert lock.extend() is False
        assert lock.state == "lost"
        assert lock.lost.is_set()
        raise KeyError


def pauses() -> None:
    """Prints the longest pause, in milliseconds, of the others while one waits five seconds."""
    if "--blocking" in sys.argv:
        import quotalock._greenlets as greenlets

        greenlets.waiter = lambda: None
    held = client.lock("long")
    assert held.acquire()
    measured = Pauses()
    green.sleep(2 * TICK)
    assert client.lock("long").acquire(wait=5.0) is False
    print(f"{measured.end() * 1000:.1f}")


for test in TESTS:
    try:
        globals()[test]()
    except KeyError:
        assert test == "lost"
