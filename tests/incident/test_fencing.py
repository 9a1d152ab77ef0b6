"""The fencing examples, against SQLite and PostgreSQL: what comes too late is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from guides import patient_example
from needs import EXTENSION, ROOT
from postgres import Postgres

EXAMPLES = {
    "python/fencing.py": [sys.executable],
    "php/fencing.php": ["php", "-d", f"extension={EXTENSION}"],
}
PRINTED = """\
the first makes sure that it holds the lock, and is stopped before it writes
the second holds it: 120 written
the first goes on: 90 refused
the first knows: lost
the second again: 130 refused
above the floor: 130 written
price: 130
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with Postgres() as running:
        yield running


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_late_write_is_refused_by_sqlite(example: str, server_url: str) -> None:
    assert run(example, server_url, "") == PRINTED


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_late_write_is_refused_by_postgresql(example: str, server_url: str, postgres: Postgres) -> None:
    assert run(example, server_url, postgres.dsn if example.startswith("php") else postgres.url) == PRINTED


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_guide_shows_the_same_guard(example: str) -> None:
    guard = "UPDATE stock SET price = :price, fence = :token WHERE id = :id AND fence < :token"
    assert guard in (ROOT / "examples" / example).read_text()
    assert f"\n{guard};\n" in (ROOT / "docs/guide/fencing-tokens.md").read_text()


def run(example: str, url: str, database: str) -> str:
    done = subprocess.run(
        [*EXAMPLES[example], str(patient_example(example))],
        env=os.environ | {"QUOTALOCK_URL": url, "DATABASE": database},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
