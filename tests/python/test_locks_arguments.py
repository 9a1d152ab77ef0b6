"""What a lock cannot be made of, and what its calls cannot be given."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import quotalock
from surface import Surface

BAD_TIMES = [math.nan, math.inf, -0.001, True, "1", 1e300, 10**400]
BAD_OPTIONS: list[tuple[str, Any]] = [
    *(("ttl", ttl) for ttl in (0, 0.009, 7 * 86400 + 1, *BAD_TIMES)),
    *(("wait", wait) for wait in BAD_TIMES),
    *(("max_hold", hold) for hold in (0, *BAD_TIMES)),
    *(("token_above", floor) for floor in (-1, 2**52 + 1, 1.0, True, "1")),
    *(("replicas_ack", acks) for acks in (-1, 1, 2**32 - 1, 2**40, 1.5, False)),
    ("label", "x" * 129),
    *(("label", f"a{control}b") for control in "\n\r\t\0\x7f\x85"),
]


@pytest.mark.parametrize(("option", "value"), BAD_OPTIONS)
def test_a_bad_option_is_refused(local: Any, option: str, value: Any) -> None:
    for make in (partial(local.lock, "a"), partial(local.semaphore, "a", 2)):
        with pytest.raises(quotalock.InvalidArgument, match=option) as caught:
            make(**{option: value})
        assert caught.value.code == "invalid_argument"
        assert isinstance(caught.value, ValueError)


MAKERS: list[tuple[str, tuple[Any, ...]]] = [
    ("lock", ("a",)),
    ("lock_all", (["a"],)),
    ("semaphore", ("a", 2)),
    ("read_lock", ("a",)),
    ("write_lock", ("a",)),
    ("quorum_lock", ([], "a")),
]


@pytest.mark.parametrize(("name", "needed"), MAKERS)
def test_an_option_that_there_is_not_is_a_type_error(name: str, needed: tuple[Any, ...]) -> None:
    """All that make locks read their options alike, and say what Python says of its own functions."""
    client = quotalock.Client("memory://")
    make: Any = getattr(client, name, None) or quotalock.quorum_lock
    # As many as the contract has, which test_api.py compares.
    options = len(inspect.signature(make).parameters) - len(needed)
    with pytest.raises(TypeError, match=rf"{name}\(\) got an unexpected keyword argument 'tll'"):
        make(*needed, tll=1.0)
    with pytest.raises(TypeError, match=rf"{name}\(\) got multiple values for argument 'ttl'"):
        make(*needed, *[1] * options, ttl=1.0)
    with pytest.raises(TypeError, match=r"takes from \d+ to \d+ positional arguments but \d+ were given"):
        make(*needed, *[None] * (options + 1))
    with pytest.raises(TypeError, match="missing"):
        make(*needed[:-1])
    for flag in ("renew", "fair") if name != "quorum_lock" else ("renew",):
        with pytest.raises(TypeError, match=f"{flag} 1 is an int: give a bool"):
            make(*needed, **{flag: 1})
    with pytest.raises(TypeError, match="label 1 is an int: give a str"):
        make(*needed, label=1)


def test_options_are_the_same_by_position_and_by_name() -> None:
    client = quotalock.Client("memory://")
    assert client.lock("a", 12.5).ttl == client.lock(ttl=12.5, name="a").ttl == 12.5
    assert client.semaphore("a", 2, 1, 12.5).ttl == client.semaphore("a", permits=2, ttl=12.5).ttl == 12.5
    assert client.lock("a", None).ttl == 30.0  # type: ignore[arg-type]
    with pytest.raises(quotalock.InvalidArgument, match="weight"):
        client.semaphore("a", 2, 3)
    with pytest.raises(quotalock.InvalidArgument, match="label"):
        client.lock("a", 30.0, 0.0, False, True, 3600.0, 0, "x" * 129)


@pytest.mark.parametrize("name", ["", b"", "x" * 2048, b"x" * 1025, "\ud800"])
def test_a_bad_name_is_refused(local: Any, name: Any) -> None:
    makers: list[Callable[[], Any]] = [
        lambda: local.lock(name),
        lambda: local.lock_all(["a", name]),
        lambda: local.semaphore(name, 2),
        lambda: local.read_lock(name),
        lambda: local.write_lock(name),
    ]
    for make in makers:
        with pytest.raises(quotalock.InvalidArgument) as caught:
            make()
        assert caught.value.code == "invalid_argument"


@pytest.mark.parametrize("name", [42, None, ["a"], bytearray(b"a")])
def test_a_name_of_another_type_is_a_type_error(local: Any, name: Any) -> None:
    for make in (local.lock, local.read_lock, lambda name: local.lock_all([name])):
        with pytest.raises(TypeError, match="give a str or bytes"):
            make(name)


def test_bad_names_and_permits_are_refused(local: Any) -> None:
    for names in ([], ["a", b"a"], [str(number) for number in range(101)]):
        with pytest.raises(quotalock.InvalidArgument):
            local.lock_all(names)
    for no_names in ("ab", b"ab", 42, None):
        with pytest.raises(TypeError, match="give a list"):
            local.lock_all(no_names)
    for permits, weight in ((0, 1), (2, 0), (2, 3), (2**31, 1), (-1, 1), (True, 1), (1.0, 1), (2, "1")):
        with pytest.raises(quotalock.InvalidArgument):
            local.semaphore("pool", permits, weight)


@pytest.mark.parametrize("time", [-1, *BAD_TIMES])
def test_a_bad_time_of_a_call_is_refused(surface: Surface, local: Any, time: Any) -> None:
    lock = local.lock("a")
    for verb in (lock.acquire, lock.extend):
        with pytest.raises(quotalock.InvalidArgument):
            surface.call(verb, time)
    assert surface.call(lock.acquire)
    for floor in (-1, 2**53, 1.5, None):
        with pytest.raises(quotalock.InvalidArgument):
            lock.raise_floor(floor)


def test_an_unknown_option_is_a_type_error(local: Any) -> None:
    with pytest.raises(TypeError):
        local.lock("a", timeout=1)
    with pytest.raises(TypeError):
        local.lock("a", fair="yes")
