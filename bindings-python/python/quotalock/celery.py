"""Limits how often Celery runs a task in all workers together, and keeps it from running twice at a time.

    from quotalock.celery import rate_limited, single_instance

    @app.task
    @rate_limited("10/second", key=lambda shop, order: shop)
    def send(shop, order): ...

    @app.task
    @single_instance(key=lambda shop: shop, ttl=60.0)
    def reindex(shop): ...

Put the decorators below `app.task`. Celery's own `rate_limit` counts in each worker for itself.
"""

from __future__ import annotations

import contextlib
import functools
import random
import re
from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast
from urllib.parse import quote

from ._require import require

require("celery", "5.2", "celery")

from celery import Task, current_task
from celery.exceptions import Ignore

from ._errors import Lost, QuotalockError, RateLimited
from ._names import declared_in, generated_name, given_name, kind_of, name_of, packaged, place_of, site
from ._native import Client, Lock
from ._web import checked_client, checked_cost, checked_function, checked_policy
from ._whom import Key, Whom, asked_key

__all__ = ["rate_limited", "single_instance"]

Function = TypeVar("Function", bound=Callable[..., Any])


def rate_limited(
    policy: str | list[str],
    *,
    key: Callable[..., Key] | None = None,
    name: str | None = None,
    cost: int = 1,
    prefetch: int | None = None,
    jitter: float = 1.0,
    client: Client | None = None,
) -> Callable[[Function], Function]:
    """Runs a task only as often as a policy admits, in all workers together; if `key` is given, for each key.

    A task that has to wait goes back to the queue, with the same id, for as long as the decision says and up to
    `jitter` seconds more; that counts as no retry, and no worker waits. `key` gets the task's arguments. Limiters of
    one `name` share what they count (default: a generated one, of the task, the kind of key and the policy).
    `prefetch` is how many permits a worker takes from Redis at once at most. `client` is a `quotalock.Client` (default:
    that of the environment).

    Raises `RateLimited` where there is no queue: in a direct call, with `task_always_eager`, and for a cost that the
    policy never admits.
    """
    policy = checked_policy(policy, "rate_limited", prefetch)
    checked_function(key, "key", "rate_limited")
    checked_cost(cost, "rate_limited")
    client = checked_client(client, Client, "rate_limited")
    declared_in(repr(client)).add(given_name(name, "rate_limited"), policy, site())

    def decorate(function: Function) -> Function:
        named = name or generated_name(
            application="celery", place=place_of(function), kind="task", key=_kind(key), policy=policy
        )
        limiter = packaged(client.limiter(named, policy, prefetch=prefetch))

        @functools.wraps(function)
        def limited(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            decision = limiter.consume(_key(key, arguments, named), cost)
            if decision.allowed:
                return function(*arguments, **named)
            task = _queued()
            if task is None or decision.retry_after is None:
                after = "" if decision.retry_after is None else f": again in {decision.retry_after:.3f} s"
                raise RateLimited(f"{limiter.name} is over {limiter.policy}{after}", decision)
            raise _again(task, decision.retry_after + random.uniform(0.0, jitter))

        return cast("Function", limited)

    return decorate


def single_instance(
    *,
    key: Callable[..., Key] | None = None,
    name: str | None = None,
    ttl: float = 30.0,
    wait: float = 0.0,
    max_hold: float = 3600.0,
    if_running: Literal["skip", "requeue"] = "skip",
    again_in: float = 5.0,
    client: Client | None = None,
) -> Callable[[Function], Function]:
    """Runs a task only while no other worker runs it; if `key` is given, with the same key.

    The lock is renewed while the task runs, for `max_hold` seconds at most, and ends `ttl` seconds after a worker was
    killed. A task that finds it running for `wait` seconds is skipped: it succeeds with None. With
    `if_running="requeue"` it goes back to the queue for `again_in` seconds; a direct call is skipped all the same.
    `key` gets the task's arguments. Tasks of one `name` exclude each other (default: a generated one, of the task and
    the kind of key).

    Raises `Lost` after a task that was not alone all the time, because its lock was taken away, `max_hold` was over or
    Redis was down for longer than the `ttl`: the task fails, although its function returned. With
    `autoretry_for=(quotalock.Lost,)` it runs again.
    """
    client = checked_client(client, Client, "single_instance")
    if if_running not in ("skip", "requeue"):
        raise ValueError(f'single_instance: if_running is "skip" or "requeue", not {if_running!r}')

    checked_function(key, "key", "single_instance")
    given_name(name, "single_instance")

    def decorate(function: Function) -> Function:
        named_so = name or generated_name(
            application="celery", place=place_of(function), kind="single_instance", key=_kind(key), policy=""
        )
        label = _label(name or name_of(function))

        @functools.wraps(function)
        def alone(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            whose = f"{named_so}:{_part(_key(key, arguments, named))}"
            lock = client.lock(whose, ttl=ttl, wait=wait, max_hold=max_hold, label=label)
            if not lock.acquire():
                task = _queued()
                if if_running == "requeue" and task is not None:
                    raise _again(task, again_in)
                return None
            try:
                returned = function(*arguments, **named)
            except BaseException:
                with contextlib.suppress(QuotalockError):
                    lock.release()
                raise
            _end(lock, label)
            return returned

        return cast("Function", alone)

    return decorate


def _key(key: Callable[..., Key] | None, arguments: tuple[Any, ...], named: dict[str, Any]) -> Whom:
    if key is None:
        return "all"
    # A bound task is the first argument of the function, and none of its caller's.
    own = arguments[1:] if arguments and isinstance(arguments[0], Task) else arguments
    return asked_key(key, *own, **named)


def _kind(key: Callable[..., Key] | None) -> str:
    return "all" if key is None else kind_of(key)


def _part(key: Whom) -> str:
    """A key as the last part of a lock's name: without a colon, so that no other name and key give the same."""
    if isinstance(key, bytes):
        return quote(key, safe="")
    return key.replace("%", "%25").replace(":", "%3A")


def _label(name: str) -> str:
    """A name as the label of a lock has it: 128 bytes at most, and no control characters."""
    printed = re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", name)
    return printed.encode(errors="replace")[:128].decode(errors="ignore")


def _end(lock: Lock, label: str) -> None:
    """Releases a lock; raises if it was not held until now."""
    certain, failed = lock.held, None
    try:
        certain = lock.release()
    except QuotalockError as error:
        # Redis is down: the release is sent again, and until now the lock was held.
        failed = error
    if not certain:
        raise Lost(
            f"{label} lost its lock while it ran, so another worker may have run it too: check what it did, and give "
            f"it a ttl and a max_hold that are longer than it takes"
        ) from failed


def _queued() -> Any:  # noqa: ANN401
    """The task that a worker runs, None where there is no queue."""
    request = getattr(current_task, "request", None)
    if request is None or request.called_directly or request.is_eager:
        return None
    return current_task


def _again(task: Any, seconds: float) -> Ignore:  # noqa: ANN401
    """Puts a task back into its queue, and returns what ends it here."""
    request = task.request
    task.signature_from_request(
        request, request.args, request.kwargs, countdown=seconds, retries=request.retries
    ).apply_async()
    return Ignore()
