"""Limiters that are made of what users send: not too many are kept, and that is warned of once."""

from __future__ import annotations

import warnings

import pytest
import quotalock
from quotalock._web import Limiters


def test_limit_keeps_1024_limiters_and_warns_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUOTALOCK_URL", "memory://")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for number in range(4_000):
            assert quotalock.limit(f"/users/{number}", "k", "5/hour").remaining == 4
        assert quotalock.limit("/users/0", "k", "5/hour").remaining == 3, "what was counted is not forgotten"
    assert [warning.category for warning in found] == [UserWarning]
    assert "more than 1024 limiters" in str(found[0].message)
    assert "/users/" in str(found[0].message)
    assert found[0].filename == __file__


def test_what_packages_keep_has_a_bound_and_is_warned_of_once() -> None:
    limiters = Limiters(quotalock.Client("memory://many"), None, True)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for number in range(6_000):
            limiters.get(f"/users/{number}", "5/hour")
    assert len(found) == 1
    assert "more than 4096 limiters" in str(found[0].message)
    assert limiters.get.cache_info().currsize == 4_096
