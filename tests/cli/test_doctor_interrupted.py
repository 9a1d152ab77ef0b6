"""`--fix` and `--undo`, ended at every step: whatever was done until then, an undo brings back what was."""

from __future__ import annotations

import resource
import signal
import subprocess
import threading
from collections.abc import Callable
from typing import Any

import pytest
from command import Program
from member import Member
from planted import leave_ended
from proxy import Proxy

# More than are noted at once.
NAMES = [f"sku:{number}" for number in range(130)]
FIX = ("doctor", "--fix", "symfony-lock", "--json", "--watch", "50ms", "--undo-file", "undo.jsonl")
UNDO = ("doctor", "--undo", "undo.jsonl", "--json")


class Steps(Proxy):
    """Counts what passes in either direction, and does something just before one of these steps."""

    def __init__(self, upstream: int, at: int = 0, act: Callable[[], bool] = lambda: True) -> None:
        super().__init__(upstream)
        self.steps, self._at, self._act, self._counting = 0, at, act, threading.Lock()

    def passes(self) -> bool:
        """Whether the next chunk passes."""
        with self._counting:
            self.steps += 1
            return self._act() if self.steps == self._at else True

    def _up(self, pair: Any) -> None:
        self._through(pair, pair.client, pair.server)

    def _down(self, pair: Any) -> None:
        self._through(pair, pair.server, pair.client)

    def _through(self, pair: Any, source: Any, target: Any) -> None:
        try:
            while chunk := source.recv(1 << 20):
                if not self.passes():
                    break
                target.sendall(chunk)
        except OSError:
            pass
        pair.shut()


def run(quotalock: Program, server: Member, words: tuple[str, ...], at: int = 0, how: str = "") -> int:
    """Runs the program, and ends it so just before a step; how many steps there were."""
    started = threading.Event()

    def act() -> bool:
        started.wait(10)
        if how == "cut":
            return False
        process.send_signal(signal.SIGKILL if how == "kill" else signal.SIGINT)
        if how == "kill":
            process.wait(10)
        return how != "kill"

    steps = Steps(server.port, at, act)
    with steps:
        command = quotalock.command(*words, url=steps.url)
        process = subprocess.Popen(
            command, cwd=quotalock.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8"
        )
        started.set()
        error = process.communicate(timeout=60)[1]
        assert "panicked" not in error
        return steps.steps


def state(server: Member) -> dict[str, tuple[bytes, int]]:
    """The values, and whether each has a TTL."""
    each = "{redis.call('DUMP', name), math.min(redis.call('PTTL', name), 0)}"
    script = f"local told = {{}} for at, name in ipairs(KEYS) do told[at] = {each} end return told"
    told = server.ask("EVAL", script, len(NAMES), *NAMES)
    return {name: (value, ttl) for name, (value, ttl) in zip(NAMES, told, strict=True)}


@pytest.mark.parametrize("how", ["kill", "cut", "stop"])
def test_a_fix_that_ends_at_any_step_is_taken_back(how: str, redis: Member, quotalock: Program) -> None:
    leave_ended(redis, *NAMES)
    before, path = state(redis), quotalock.folder / "undo.jsonl"
    total = run(quotalock, redis, FIX)
    assert total > 20
    assert all(ttl == 0 for _, ttl in state(redis).values())
    ended_between = 0
    for at in range(1, total + 1):
        if path.exists():
            assert quotalock(*UNDO).code == 0
            path.unlink()
        assert state(redis) == before, f"after {how} at step {at - 1}"
        run(quotalock, redis, FIX, at, how)
        changed = {name for name, (_, ttl) in state(redis).items() if ttl == 0}
        noted = path.read_text() if path.exists() else ""
        assert all(f'"key":"{name}"' in noted for name in changed)
        ended_between += 0 < len(changed) < len(NAMES)
    assert ended_between > 0
    assert quotalock(*UNDO).code == 0
    assert state(redis) == before


@pytest.mark.parametrize("how", ["kill", "cut", "stop"])
def test_an_undo_that_ends_at_any_step_goes_on(how: str, redis: Member, quotalock: Program) -> None:
    leave_ended(redis, *NAMES)
    before = state(redis)
    run(quotalock, redis, FIX)
    expiring = {name: redis.ask("PTTL", name) for name in NAMES}
    total = run(quotalock, redis, UNDO)
    assert state(redis) == before
    for at in range(1, total + 1):
        # What the fix left, but for the moment at which it ends.
        (quotalock.folder / "undo.jsonl").unlink()
        run(quotalock, redis, FIX)
        run(quotalock, redis, UNDO, at, how)
        assert quotalock(*UNDO).code == 0
        assert state(redis) == before, f"after {how} at step {at}"
    assert all(0 < ttl <= 3_600_000 for ttl in expiring.values())


def test_a_disk_that_is_full_at_any_byte_leaves_what_an_undo_brings_back(redis: Member, quotalock: Program) -> None:
    leave_ended(redis, *NAMES)
    before, path = state(redis), quotalock.folder / "undo.jsonl"
    assert quotalock(*FIX).code == 0
    length = path.stat().st_size
    for most in [*range(0, length, length // 15), length - 1]:
        assert quotalock(*UNDO).code == 0
        path.unlink()

        def small(most: int = most) -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        command = quotalock.command(*FIX)
        ended = subprocess.run(
            command, cwd=quotalock.folder, preexec_fn=small, capture_output=True, encoding="utf-8", check=False
        )
        assert (ended.returncode, "undo file" in ended.stderr) == (1, True)
        changed = {name for name, (_, ttl) in state(redis).items() if ttl == 0}
        assert len(changed) < len(NAMES)
        whole = path.read_text().rpartition("\n")[0]
        assert all(f'"key":"{name}"' in whole for name in changed)
    assert quotalock(*UNDO).code == 0
    assert state(redis) == before


def test_of_a_file_that_ends_in_a_line_the_lines_before_it_are_undone(redis: Member, quotalock: Program) -> None:
    leave_ended(redis, *NAMES)
    path = quotalock.folder / "undo.jsonl"
    assert quotalock(*FIX).code == 0
    text = path.read_text()
    for length in range(len(text) - 250, len(text), 17):
        path.write_text(text[:length])
        assert quotalock(*UNDO).code == 0
    path.write_text(text)
    assert quotalock(*UNDO).json["undone"]["refused"] == 0
    assert {ttl for _, ttl in state(redis).values()} == {-1}
