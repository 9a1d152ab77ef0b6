"""One name with two policies that charge one key within a period: the process warns once, with both places."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

# In a process of its own: a name is warned of once in each.
_BEGINNING = """
import asyncio
import os
import warnings
import quotalock
from quotalock import aio

warnings.simplefilter("always")
URL = os.environ["QUOTALOCK_URL"]
PREFIX = f"names{os.getpid()}"
client = quotalock.Client(URL, prefix=PREFIX, timeout=10.0)

def loose():
    return client.limiter("search", "100/minute")

def strict():
    return client.limiter("search", "5/hour")

"""
_LINES = _BEGINNING.count("\n")


def line_of(text: str) -> int:
    return _BEGINNING[: _BEGINNING.index(text)].count("\n") + 1


def run(script: str, url: str, folder: Path) -> list[str]:
    """What a program warns of: `category: message`, each."""
    program = folder / "program.py"
    program.write_text(f"{_BEGINNING}with warnings.catch_warnings(record=True) as found:\n{indented(script)}\n" + _END)
    environment = {**os.environ, "QUOTALOCK_URL": url}
    command = [sys.executable, str(program)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


_END = """
for warning in found:
    print(f"{warning.category.__name__}: {warning.message}")
"""


def indented(script: str) -> str:
    return "\n".join(f"    {line}" for line in script.strip("\n").splitlines())


def url_of(server: str, request: pytest.FixtureRequest) -> str:
    return "memory://names" if server == "memory" else str(request.getfixturevalue("url"))


WAYS: Iterable[tuple[str, str]] = [
    ("consume", "for limiter in (loose(), strict()): limiter.consume('alice')"),
    ("require", "for limiter in (loose(), strict()): limiter.require('alice')"),
    ("a limiter for each call", "for _ in range(3): loose().consume('alice'); strict().consume('alice')"),
    ("consume_all", "for limiter in (loose(), strict()): client.consume_all([(limiter, 'alice')])"),
    ("reserve", "for limiter in (loose(), strict()): limiter.reserve('alice', 1, 60.0).settle(1)"),
    ("request ids", "for limiter in (loose(), strict()): limiter.consume('alice', request_id=limiter.policy)"),
]


@pytest.mark.parametrize("server", ["memory", "redis"])
@pytest.mark.parametrize(("way", "script"), WAYS)
def test_two_policies_on_one_key_are_warned_of_once(
    way: str, script: str, server: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    again = "\nfor limiter in (loose(), strict(), loose()): limiter.consume('alice'); limiter.consume('bob')"
    at_once = "\nassert found, 'no warning came with the calls themselves'"
    [told] = run(script + at_once + again, url_of(server, request), tmp_path)
    found = re.fullmatch(
        r'UserWarning: two limiters have the name "search" and charged the key "alice" within a period: '
        r"one by (.*) \((.*)\), one by (.*) \((.*)\)\. They share .*",
        told,
    )
    assert found, (way, told)
    file = tmp_path / "program.py"
    policies = ("100/minute", "5/hour")
    expected = {policy: f"{file}:{line_of(policy)}" for policy in policies}
    # In either order: what was charged before the second limiter was made is not known.
    assert {found[1]: found[2], found[3]: found[4]} == expected


@pytest.mark.parametrize("server", ["memory", "redis"])
def test_loops_warn_too(server: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    script = """
async def main():
    async with aio.Client(URL, prefix=PREFIX, timeout=10.0) as client:
        limiters = [client.limiter("search", policy) for policy in ("100/minute", "5/hour")]
        for _ in range(3):
            for limiter in limiters:
                await limiter.consume("alice")
asyncio.run(main())
"""
    [told] = run(script, url_of(server, request), tmp_path)
    line = _LINES + 4
    assert f"100/minute ({tmp_path}/program.py:{line})" in told, told
    assert f"5/hour ({tmp_path}/program.py:{line})" in told, told


def test_the_one_line_warns_too(tmp_path: Path) -> None:
    script = 'for policy in ("3/hour", "2/hour", "3/hour"): quotalock.limit("login", "alice", policy)'
    [told] = run(script, "memory://", tmp_path)
    line = _LINES + 2
    assert f"2/hour ({tmp_path}/program.py:{line}), one by 3/hour ({tmp_path}/program.py:{line})" in told


def test_plans_of_users_are_not_warned_of(tmp_path: Path) -> None:
    script = """
for user in range(300):
    for _ in range(2):
        client.limiter("api", f"{10 * (user % 3 + 1)}/minute").consume(f"user:{user}")
        client.limiter("api", f"{10 * (user % 3 + 1)}/minute").peek("user:0")
"""
    assert run(script, "memory://", tmp_path) == []


def test_a_forked_process_goes_on_with_what_its_parent_knew(tmp_path: Path) -> None:
    script = """
first = loose()
first.consume("alice")
if os.fork() == 0:
    second = strict()
    second.consume("alice")
    first.consume("alice")
    print(f"child: {[str(warning.message) for warning in found]}", flush=True)
    os._exit(0)
os.wait()
"""
    [child] = run(script, "memory://", tmp_path)
    both = [f"{policy} ({tmp_path}/program.py:" for policy in ("100/minute", "5/hour")]
    assert child.startswith("child: ['two limiters"), child
    assert all(part in child for part in both), child


def test_a_package_that_has_warned_is_enough(tmp_path: Path) -> None:
    script = """
from quotalock.wsgi import RateLimitMiddleware
for policy in ("9/hour", "8/hour"):
    RateLimitMiddleware(None, policy, name="api", key=lambda _: "alice", client=client)._limiter.consume("alice")
"""
    [told] = run(script, "memory://", tmp_path)
    assert told.startswith('UserWarning: two limits have the name "api"'), told


ANSWERED: Iterable[tuple[str, str]] = [
    ("consume", "consume('alice').allowed is True"),
    ("require", "require('alice').allowed is True"),
    ("wait", "wait('alice', timeout=1.0).allowed is True"),
    ("consume_up_to", "consume_up_to('alice', 2).cost == 2"),
    ("reserve", "reserve('alice', 2, 60.0).settle(1) or True"),
    ("request ids", "consume('alice', request_id='r').allowed is True"),
]


@pytest.mark.parametrize("server", ["memory", "redis"])
@pytest.mark.parametrize(("way", "answered"), ANSWERED)
def test_who_makes_an_exception_of_it_gets_the_decision(
    way: str, answered: str, server: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    # The call has charged, so that it must not raise. As what an `on_decision` raises, the exception goes to the hook.
    script = f"""
import sys
warnings.simplefilter("error")
unraisable = []
sys.unraisablehook = lambda args: unraisable.append(args.exc_value)
loose().consume("alice")
limiter = strict()
loose().consume("alice")
assert unraisable == []
assert limiter.{answered}
assert limiter.peek("alice").remaining < 5, "it was charged"
for error in unraisable:
    print(f"{{type(error).__name__}}: {{error}}")
"""
    [told] = run(script, url_of(server, request), tmp_path)
    assert told.startswith('UserWarning: two limiters have the name "search" and charged the key "alice"'), (way, told)


def test_who_makes_an_exception_of_it_gets_the_decisions_of_several_keys(tmp_path: Path) -> None:
    script = """
import sys
warnings.simplefilter("error")
unraisable = []
sys.unraisablehook = lambda args: unraisable.append(args.exc_value)
loose().consume("alice")
both = client.consume_all([(strict(), "alice"), (client.limiter("other", "1/minute"), "alice")])
again = client.consume_all([(loose(), "alice")])
assert both.allowed and again.allowed
for error in unraisable:
    print(f"{type(error).__name__}: {error}")
"""
    [told] = run(script, "memory://", tmp_path)
    assert told.startswith("UserWarning: two limiters"), told
