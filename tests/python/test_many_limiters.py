"""Limiters that are made of what users send: the package keeps a bounded number of them, and warns once."""

from __future__ import annotations

import os
import subprocess
import sys

# In a process of its own: the names fill its metrics.
_BEGINNING = """
import warnings
import quotalock
from quotalock._web import Limiters

warnings.simplefilter("always")
"""


def run(script: str) -> None:
    environment = {**os.environ, "QUOTALOCK_URL": "memory://"}
    command = [sys.executable, "-c", _BEGINNING + script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def test_limit_keeps_1024_limiters_and_warns_once() -> None:
    run("""
with warnings.catch_warnings(record=True) as found:
    for number in range(4_000):
        assert quotalock.limit(f"/users/{number}", "k", "5/hour").remaining == 4
    assert quotalock.limit("/users/0", "k", "5/hour").remaining == 3, "what was counted is not forgotten"
assert [warning.category for warning in found] == [UserWarning], found
assert "more than 1024 limiters" in str(found[0].message)
assert "/users/" in str(found[0].message)
assert found[0].filename == "<string>", found[0].filename
""")


def test_packages_keep_4096_limiters_and_warn_once() -> None:
    run("""
limiters = Limiters(quotalock.Client("memory://many"), None, True)
with warnings.catch_warnings(record=True) as found:
    for number in range(6_000):
        limiters.get(f"/users/{number}", "5/hour")
assert len(found) == 1, found
assert "more than 4096 limiters" in str(found[0].message)
assert limiters.get.cache_info().currsize == 4_096
""")
