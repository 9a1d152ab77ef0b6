"""The last reference to an object may go anywhere: while an exception is on its way, a generator is closed, garbage is
collected or the interpreter ends. The interpreter and the exception live through it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import quotalock
import unwinding
from quotalock import _native, aio
from surface import Surface

PROGRAM = Path(unwinding.__file__)
# How the interpreter runs, and how often each ending is played.
MODES = [
    ("plain", 3),
    pytest.param("plain", 10, marks=pytest.mark.long),
    pytest.param("dev", 3, marks=pytest.mark.long),
]
CASES = [(face, ending) for face, endings in unwinding.ENDINGS.items() for ending in endings]


def run(mode: str, url: str, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, *(["-X", "dev"] if mode == "dev" else []), str(PROGRAM), *arguments]
    environment, pipe = {**os.environ, "URL": url}, subprocess.PIPE
    ended = subprocess.run(command, env=environment, stdout=pipe, stderr=subprocess.STDOUT, text=True, timeout=120)
    return ended.returncode, "\n".join(ended.stdout.splitlines()[-30:])


@pytest.mark.parametrize(("mode", "rounds"), MODES)
@pytest.mark.parametrize(("face", "ending"), CASES)
def test_unwinds(face: str, ending: str, mode: str, rounds: int, url: str) -> None:
    code, output = run(mode, url, face, ending, str(rounds))
    assert (code, output[-4:]) == (0, "done"), output


@pytest.mark.parametrize(("mode", "rounds"), MODES)
@pytest.mark.parametrize("face", unwinding.ENDINGS)
def test_exits(face: str, mode: str, rounds: int, url: str) -> None:
    for _ in range(rounds):
        assert run(mode, url, face, "exit", "1") == (0, "")


def test_every_class_is_among_them(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unwinding, "URL", url)
    made: set[type] = set()
    for face, makers in unwinding.MAKERS.items():
        with Surface(face) as surface:
            made.update(type(make(surface)) for make in makers)
    modules = [(quotalock, quotalock.__all__), (aio, aio.__all__), (_native, list(vars(_native)))]
    there = {each for module, names in modules for name in names if isinstance(each := getattr(module, name), type)}
    # A driver and a question for a password go with their client and its loop.
    not_made = {each for each in there - made if not issubclass(each, Exception)}
    assert not_made == {_native.LoopDriver, _native.PasswordQuestion}
