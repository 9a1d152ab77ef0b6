"""`on_decision` and `on_lost`: what is told to whom, how often, on which thread, and what it changes if that fails."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import quotalock
from locks import PATIENT
from quotalock import aio
from surface import Surface, fresh_memory, run

Told = list[tuple[Any, Any]]


@pytest.fixture
def told() -> Told:
    """What `on_decision` was told."""
    return []


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What went to `sys.unraisablehook`: the exception and where it was raised."""
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: seen.append((args.exc_value, args.object)))
    return seen


@pytest.fixture
def telling(surface: Surface, store_url: str, prefix: str, told: Told) -> Iterator[Any]:
    client = surface.module.Client(
        store_url, prefix=prefix, timeout=PATIENT, on_decision=lambda decision, key: told.append((decision, key))
    )
    yield client
    surface.call(client.close)


def test_each_verb_that_charges_or_denies_is_told(surface: Surface, telling: Any, told: Told) -> None:
    limiter = telling.limiter("checkout", "3/hour")
    decided = [
        surface.call(limiter.consume, "a"),
        surface.call(limiter.consume, b"b", 2, request_id="1"),
        surface.call(limiter.consume_up_to, 7, 5),
        surface.call(limiter.require, "a"),
        surface.call(limiter.wait, "a", PATIENT),
    ]
    reservation = surface.call(limiter.reserve, "r", 1, 60.0)
    assert told == [*zip(decided, ["a", b"b", 7, "a", "a"], strict=True), (reservation.decision, "r")]
    del told[:]
    denied = surface.call(limiter.consume, "a")
    with pytest.raises(quotalock.RateLimited) as limited:
        surface.call(limiter.require, "a")
    assert told == [(denied, "a"), (limited.value.decision, "a")]
    assert not denied
    assert all(decision.name == "checkout" for decision, _ in told)


def test_what_decides_nothing_is_not_told(surface: Surface, telling: Any, told: Told) -> None:
    limiter = telling.limiter("checkout", "3/hour")
    for call in (limiter.peek, limiter.reset):
        surface.call(call, "a")
    surface.call(limiter.consume, "a", 0)
    surface.call(limiter.block, "b", 60.0)
    assert told == []
    reservation = surface.call(limiter.reserve, "r", 1, 60.0)
    del told[:]
    surface.call(limiter.refund, "a", 1)
    surface.call(reservation.settle, 1)
    with pytest.raises(quotalock.InvalidArgument):
        surface.call(limiter.consume, "")
    assert told == []
    # It denies whatever is asked for.
    assert not surface.call(limiter.consume, "b", 0)
    assert [key for _, key in told] == ["b"]


def test_of_several_charges_each_is_told_that_counted(surface: Surface, telling: Any, told: Told) -> None:
    user, shop = (telling.limiter(name, policy, scope="s") for name, policy in (("user", "2/hour"), ("shop", "1/hour")))
    trial = telling.limiter("trial", "1/hour", scope="s", enforce=False)
    surface.call(trial.consume, "t")
    del told[:]
    combined = surface.call(telling.consume_all, ((each, key) for each, key in ((user, 42), (shop, b"s"))))
    assert combined
    assert told == [*zip(combined.decisions, [42, b"s"], strict=True)]
    del told[:]
    combined = surface.call(telling.consume_all, [(user, 42), (shop, b"s"), (trial, "t")])
    assert not combined
    # The first would have been admitted: it was neither charged nor denied.
    assert told == [(combined.decisions[1], b"s"), (combined.decisions[2], "t")]


def test_decisions_without_redis_are_told(surface: Surface, url: str, prefix: str, told: Told) -> None:
    def sources(url: str, **options: Any) -> list[str]:
        client = surface.module.Client(
            url, prefix=prefix, on_decision=lambda decision, key: told.append((decision, key)), **options
        )
        limiter = client.limiter("checkout", "2/hour", prefetch=options.pop("prefetch", None))
        for _ in range(4):
            surface.call(limiter.consume, "a")
        surface.call(client.close)
        found = [decision.source for decision, _ in told]
        del told[:]
        return found

    away = "unix:///nonexistent/quotalock.sock"
    assert sources(url, timeout=PATIENT, deny_cache_max=60.0)[-1] == "deny-cache"
    assert sources(fresh_memory()) == ["memory"] * 4
    for how in ("open", "closed", "local"):
        assert set(sources(away, on_error=how)) == {how}


def test_a_call_that_fails_is_not_told(surface: Surface, told: Told) -> None:
    away = "unix:///nonexistent/quotalock.sock"
    client = surface.module.Client(away, on_decision=lambda *given: told.append(given))
    with pytest.raises(quotalock.Unavailable):
        surface.call(client.limiter("checkout", "2/hour").consume, "a")
    assert told == []
    surface.call(client.close)


def test_it_runs_on_the_callers_thread_and_in_its_context(surface: Surface, store_url: str, prefix: str) -> None:
    request: contextvars.ContextVar[str] = contextvars.ContextVar("request")
    seen: list[Any] = []

    def on_decision(*_: Any) -> None:
        seen.append((threading.current_thread(), request.get()))

    client = surface.module.Client(store_url, prefix=prefix, timeout=PATIENT, on_decision=on_decision)
    limiter = client.limiter("checkout", "100/hour")
    request.set("one")
    surface.call(limiter.consume, "a")
    assert seen == [(threading.current_thread(), "one")]
    surface.call(client.close)


def test_what_it_raises_changes_nothing_and_is_not_lost(
    surface: Surface, store_url: str, prefix: str, unraisable: list[Any]
) -> None:
    def on_decision(*_: Any) -> None:
        raise ZeroDivisionError("of the hook")

    client = surface.module.Client(store_url, prefix=prefix, timeout=PATIENT, on_decision=on_decision)
    limiter = client.limiter("checkout", "1/hour", scope="s")
    assert surface.call(limiter.consume, "a")
    with pytest.raises(quotalock.RateLimited):
        surface.call(limiter.require, "a")
    assert not surface.call(client.consume_all, [(limiter, "a")])
    assert [(str(error), where) for error, where in unraisable] == [("of the hook", on_decision)] * 3
    surface.call(client.close)


def test_what_is_no_exception_goes_on_its_way(surface: Surface) -> None:
    def on_decision(*_: Any) -> None:
        raise KeyboardInterrupt

    client = surface.module.Client(fresh_memory(), on_decision=on_decision)
    limiter = client.limiter("checkout", "1/hour")
    with pytest.raises(KeyboardInterrupt):
        surface.call(limiter.consume, "a")
    # It was charged.
    assert surface.call(limiter.peek, "a").remaining == 0


def test_it_may_call_the_client(url: str, prefix: str) -> None:
    peeked: list[int] = []

    def on_decision(decision: quotalock.Decision, key: str | bytes | int) -> None:
        if decision.name == "checkout":
            peeked.append(limiter.peek(key).remaining)
            log.consume("all")

    client = quotalock.Client(url, prefix=prefix, timeout=PATIENT, on_decision=on_decision)
    limiter, log = client.limiter("checkout", "3/hour"), client.limiter("log", "100/hour")
    for _ in range(4):
        limiter.consume("a")
    assert peeked == [2, 1, 0, 0]
    assert log.peek("all").remaining == 96


def test_a_call_that_is_cancelled_is_not_told(url: str, prefix: str, told: Told) -> None:
    async def body() -> None:
        client = aio.Client(url, prefix=prefix, timeout=PATIENT, on_decision=lambda *given: told.append(given))
        limiter = client.limiter("checkout", "1/hour")
        task = asyncio.create_task(limiter.consume("a"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert told == []
        await client.close()

    run(body)


@pytest.mark.parametrize("option", ["on_decision", "on_lost"])
def test_what_cannot_be_called_is_refused(surface: Surface, option: str) -> None:
    async def coroutine(*_: Any) -> None: ...

    class Caller:
        async def __call__(self, *_: Any) -> None: ...

    with pytest.raises(TypeError, match=f"^{option} 5 is an int: give a function$"):
        surface.module.Client(fresh_memory(), **{option: 5})
    for wrong in (coroutine, Caller()):
        with pytest.raises(TypeError, match=f"^{option} .* is a coroutine function, and is not awaited: give a plain"):
            surface.module.Client(fresh_memory(), **{option: wrong})


def test_a_client_whose_hook_knows_it_is_collected(surface: Surface) -> None:
    class Shop:
        def __init__(self) -> None:
            self.client = surface.module.Client(fresh_memory(), on_decision=self.tell, on_lost=self.tell)
            self.limiter = self.client.limiter("checkout", "1/hour")
            self.lock = self.client.lock("sku:42")

        def tell(self, *_: Any) -> None: ...

    found = weakref.ref(Shop())
    gc.collect()
    assert found() is None


def lose(surface: Surface, client: Any, name: str) -> None:
    """Takes a lock from whoever has it."""
    assert surface.call(client.lock(name).force_release) == 1


@pytest.mark.parametrize("how", ["extend", "wait", "release", "with"])
def test_a_loss_is_told_once(surface: Surface, store_url: str, prefix: str, how: str) -> None:
    lost: list[Any] = []
    client = surface.module.Client(store_url, prefix=prefix, timeout=PATIENT, on_lost=lost.append)
    lock = client.lock("sku:42")

    def end_with() -> None:
        with pytest.raises(quotalock.Lost):
            _in_a_block(surface, lock, lambda: lose(surface, client, "sku:42"))

    if how == "with":
        end_with()
    else:
        assert surface.call(lock.acquire)
        lose(surface, client, "sku:42")
        if how == "extend":
            assert not surface.call(lock.extend)
        elif how == "wait":
            assert not surface.call(lock.extend)
            assert surface.call(lock.lost.wait)
        assert not surface.call(lock.release)
    _await(surface, lost)
    assert lost == [lock]
    assert lock.state == "released"
    # The next grant is another matter.
    assert surface.call(lock.acquire)
    assert surface.call(lock.release)
    assert lost == [lock]
    surface.call(client.close)


def _await(surface: Surface, told: list[Any]) -> None:
    """Lets a loop tell what it is about to tell."""

    async def until_told() -> None:
        until = time.monotonic() + PATIENT
        while not told and time.monotonic() < until:
            await asyncio.sleep(0.005)

    if surface.name != "python":
        surface.call(until_told)


def _in_a_block(surface: Surface, lock: Any, body: Callable[[], None]) -> None:
    if surface.name == "python":
        with lock:
            body()
        return

    async def inside() -> None:
        async with lock:
            # Another client: this loop runs.
            await lock.force_release()

    surface.call(inside)


def test_a_loss_by_time_is_told(surface: Surface, store_url: str, prefix: str) -> None:
    lost: list[Any] = []
    client = surface.module.Client(store_url, prefix=prefix, timeout=PATIENT, on_lost=lost.append)
    lock = client.lock("sku:42", ttl=2.0, renew=False)
    assert surface.call(lock.acquire)
    if surface.name == "python":
        until = time.monotonic() + PATIENT
        while lock.held and time.monotonic() < until:
            time.sleep(0.005)
    else:
        # The loop tells, though nobody looks.
        _await(surface, lost)
    assert lost == [lock]
    surface.call(client.close)


def test_an_adopted_lock_is_one_of_its_client(surface: Surface, store_url: str, prefix: str) -> None:
    lost: list[Any] = []
    client = surface.module.Client(store_url, prefix=prefix, timeout=PATIENT, on_lost=lost.append)
    giver = client.lock("sku:42")
    assert surface.call(giver.acquire)
    taker = surface.call(client.adopt, giver.handover())
    lose(surface, client, "sku:42")
    assert not surface.call(taker.extend)
    _await(surface, lost)
    assert lost == [taker]
    surface.call(client.close)


def test_closing_a_client_loses_what_it_holds(surface: Surface, store_url: str, prefix: str) -> None:
    lost: list[Any] = []
    client = surface.module.Client(store_url, prefix=prefix, timeout=PATIENT, on_lost=lost.append)
    lock = client.lock("sku:42")
    assert surface.call(lock.acquire)
    surface.call(client.close)
    assert lock.state == "lost"
    if surface.name == "python":
        assert lost == [lock]


def test_what_on_lost_raises_changes_nothing(
    surface: Surface, store_url: str, prefix: str, unraisable: list[Any]
) -> None:
    def on_lost(_: Any) -> None:
        raise ZeroDivisionError("of the hook")

    client = surface.module.Client(store_url, prefix=prefix, timeout=PATIENT, on_lost=on_lost)
    lock = client.lock("sku:42")
    assert surface.call(lock.acquire)
    lose(surface, client, "sku:42")
    assert not surface.call(lock.extend)
    _await(surface, unraisable)
    assert lock.state == "lost"
    assert [(str(error), where) for error, where in unraisable] == [("of the hook", on_lost)]
    surface.call(client.close)
