"""Imports that go round in a circle are found: the lint that looks for them is tried on a copy with one more import."""

from __future__ import annotations

from pathlib import Path

import pytest
from lints import copied, lint


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources that the lint reads."""
    return copied(tmp_path)


def test_there_is_no_circle(copy: Path) -> None:
    """As the sources are, nothing is said."""
    found = lint("imports.py", copy)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("file", "line", "edge"),
    [
        ("core/src/key.rs", "use crate::limiter::Limiter;", "key -> limiter"),
        ("wire/src/call/command.rs", "use crate::{session::{Session}, base::error};", "call::command -> session"),
        (
            "wire/src/session/exchange.rs",
            "fn f() { crate::reactor::thread::hang_up(1) }",
            "session::exchange -> reactor::thread",
        ),
        ("cli/src/words.rs", "use crate::output::table;", "words -> output"),
        ("bindings-php/src/exception.rs", "use crate::client::Client;", "exception -> client"),
        ("bindings-python/src/exception.rs", "use crate::{decision::Decision};", "exception -> decision"),
        ("bindings-python/src/caller.rs", "fn f(_: crate::link::LoopDriver) {}", "caller -> link"),
        ("bindings-python/src/carrier.rs", "use crate::client::Client;", "carrier -> client"),
        (
            "bindings-python/python/quotalock/aio/_stock.py",
            "from ._client import Client",
            "quotalock.aio._stock -> quotalock.aio._client",
        ),
        (
            "bindings-python/python/quotalock/aio/_client.py",
            "from . import testing",
            "quotalock.aio._client -> quotalock.aio.testing",
        ),
        ("bindings-node/src/look.rs", "use crate::channel::Channel;", "look -> channel"),
        ("bindings-node/lib/errors.js", "require('./client.js')", "lib/errors.js -> lib/client.js"),
    ],
)
def test_a_circle_is_found_and_its_edge_named(copy: Path, file: str, line: str, edge: str) -> None:
    """One import upwards is enough."""
    path = copy / file
    path.write_text(f"{path.read_text()}\n{line}\n")
    found = lint("imports.py", copy)
    number = path.read_text().splitlines().index(line) + 1
    assert found.returncode == 1
    assert f"{file}:{number}: {edge}" in found.stderr


def test_what_only_tests_import_does_not_count(copy: Path) -> None:
    """A test may look at whatever is above it."""
    path = copy / "core/src/key.rs"
    path.write_text(f"{path.read_text()}\n#[cfg(test)]\nmod more {{ use crate::limiter::Limiter; }}\n")
    assert lint("imports.py", copy).returncode == 0
