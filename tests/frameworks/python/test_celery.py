"""What the decorators for Celery do, with a worker of each kind of thread, and where there is no queue."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from typing import Any

import celery
import pytest
import quotalock
from celery.contrib.testing.worker import start_worker
from quotalock import aio
from quotalock.celery import rate_limited, single_instance
from quotalock.testing import Clock
from servers import Server

_numbers = itertools.count()


def memory() -> quotalock.Client:
    return quotalock.Client(f"memory://celery-{next(_numbers)}")


@pytest.fixture
def app() -> Iterator[celery.Celery]:
    made = celery.Celery("tests", broker="memory://", backend="cache+memory://")
    made.conf.update(task_always_eager=False, broker_connection_retry_on_startup=False, worker_prefetch_multiplier=1)
    yield made
    made.close()


def test_a_task_that_has_to_wait_goes_back_to_the_queue(app: celery.Celery) -> None:
    ran: list[tuple[str, float]] = []

    @app.task(bind=True)
    @rate_limited("2/1s", key=lambda shop: shop, jitter=0.0, client=memory())
    def send(self: Any, shop: str) -> str:
        assert self.request.retries == 0
        ran.append((shop, time.monotonic()))
        return f"sent to {shop}"

    with start_worker(app, pool="solo", perform_ping_check=False, shutdown_timeout=30):
        began = time.monotonic()
        results = [send.delay("a") for _ in range(4)] + [send.delay("b")]
        assert [result.get(timeout=30) for result in results] == ["sent to a"] * 4 + ["sent to b"]
    times = [at for shop, at in ran if shop == "a"]
    # A window begins with its first task, which was not sent before.
    assert times[2] - began >= 1.0
    assert times[3] - began >= 1.0


def test_only_one_worker_runs_it_at_a_time(app: celery.Celery) -> None:
    running, release = threading.Event(), threading.Event()
    client = memory()

    @app.task
    @single_instance(key=lambda shop: shop, client=client)
    def reindex(shop: str) -> str:
        running.set()
        assert release.wait(30)
        return "done"

    with start_worker(app, pool="threads", concurrency=3, perform_ping_check=False, shutdown_timeout=30):
        first = reindex.delay("a")
        assert running.wait(30)
        assert reindex.delay("a").get(timeout=30) is None
        other = reindex.delay("b")
        release.set()
        assert (first.get(timeout=30), other.get(timeout=30)) == ("done", "done")
        assert reindex.delay("a").get(timeout=30) == "done"


def test_one_that_is_running_may_be_put_back(app: celery.Celery) -> None:
    client = memory()
    holder = client.lock("celery:work:all")
    assert holder.acquire()

    @app.task
    @single_instance(name="celery:work", if_running="requeue", again_in=0.1, client=client)
    def work() -> str:
        return "done"

    with start_worker(app, pool="solo", perform_ping_check=False, shutdown_timeout=30):
        result = work.delay()
        with pytest.raises(celery.exceptions.TimeoutError):
            result.get(timeout=0.5)
        holder.release()
        assert result.get(timeout=30) == "done"
    # Without a queue it is skipped.
    with client.lock("celery:work:all"):
        assert work() is None


def test_a_task_that_lost_its_lock_fails(app: celery.Celery) -> None:
    client = memory()
    ran: list[str] = []

    @app.task(autoretry_for=(quotalock.Lost,), retry_backoff=False, default_retry_delay=0, max_retries=3)
    @single_instance(name="work", client=client)
    def again() -> str:
        ran.append("again")
        if len(ran) == 1:
            client.lock("work:all").force_release()
        return "done"

    @app.task
    @single_instance(name="work", client=client)
    def losing() -> str:
        client.lock("work:all").force_release()
        return "done"

    @app.task
    @single_instance(name="work", client=client)
    def failing() -> str:
        client.lock("work:all").force_release()
        raise KeyError("its own")

    with start_worker(app, pool="solo", perform_ping_check=False, shutdown_timeout=30):
        with pytest.raises(quotalock.Lost, match=r"work lost its lock while it ran.*ttl"):
            losing.delay().get(timeout=30)
        with pytest.raises(KeyError, match="its own"):
            failing.delay().get(timeout=30)
        assert again.delay().get(timeout=30) == "done"
    assert ran == ["again"] * 2


def test_a_task_that_ends_while_redis_is_down_was_alone(redis: Server) -> None:
    @single_instance(client=quotalock.Client(redis.url, timeout=2.0))
    def work() -> str:
        redis.stop()
        return "done"

    assert work() == "done"


def test_no_name_and_key_lock_what_others_lock() -> None:
    client = memory()
    inner: Any = single_instance(name="sync:shop", key=lambda: "1", client=client)(lambda: "ran")
    outer: Any = single_instance(name="sync", key=lambda: "shop:1", client=client)(lambda: inner())
    assert outer() == "ran"
    octets: Any = single_instance(name="sync", key=lambda: b"shop:%FF", client=client)(lambda: "ran")
    text: Any = single_instance(name="sync", key=lambda: "shop:\xff", client=client)(lambda: octets())
    assert text() == "ran"


@pytest.mark.parametrize("name", ["é" * 100, "two\r\nlines", "tab\t\x7f\x85"])
def test_any_name_makes_a_label(name: str) -> None:
    own = memory()
    assert single_instance(client=own, name=name)(lambda: 7)() == 7


def test_two_limits_of_a_task_count_apart() -> None:
    client = memory()
    limits = [rate_limited("2/hour", key=key, client=client) for key in (lambda shop: shop, lambda shop: "all")]

    @limits[0]
    @limits[1]
    def send(shop: str) -> str:
        return "sent"

    assert [send("all"), send("all")] == ["sent", "sent"]
    with pytest.raises(quotalock.RateLimited):
        send("all")


def test_a_direct_call_raises(app: celery.Celery) -> None:
    client = memory()
    clock = Clock(client)

    @app.task
    @rate_limited("1/minute", client=client)
    def send() -> str:
        return "sent"

    assert send() == "sent"
    with pytest.raises(quotalock.RateLimited, match=r"1/minute: again in 60\.000 s"):
        send()
    clock.advance(60)
    assert send() == "sent"


def test_a_key_function_that_gives_nothing_is_an_error() -> None:
    nothing = rate_limited("1/minute", key=lambda: None, client=memory())(lambda: "sent")  # type: ignore[arg-type, return-value]
    with pytest.raises(quotalock.InvalidArgument, match=r"test_celery.*as the key"):
        nothing()  # type: ignore[no-untyped-call]


def test_what_cannot_be_is_told_of_at_the_start() -> None:
    with pytest.raises(quotalock.InvalidPolicy, match="rate_limited"):
        rate_limited("many", client=memory())
    with pytest.raises(quotalock.InvalidArgument, match="rate_limited: cost is a whole number"):
        rate_limited("1/minute", cost=0, client=memory())
    with pytest.raises(quotalock.InvalidArgument, match="rate_limited: key is a function"):
        rate_limited("1/minute", key="shop", client=memory())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="if_running"):
        single_instance(if_running="wait", client=memory())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="is not awaited"):
        single_instance(client=aio.Client("memory://"))  # type: ignore[arg-type]
