"""Types of a crate that share a name are found: the lint that looks for them is tried on a copy with one more type."""

from __future__ import annotations

from pathlib import Path

import pytest
from lints import copied, lint


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources that the lint reads."""
    return copied(tmp_path)


def test_no_name_is_shared(copy: Path) -> None:
    """As the sources are, nothing is said."""
    found = lint("type_names.py", copy)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("file", "line", "name"),
    [
        ("core/src/key.rs", "pub(crate) struct Limiter;", "Limiter"),
        ("wire/src/call/hint.rs", "type Engine = u8;", "Engine"),
        ("cli/src/words.rs", "enum ScanPage {}", "ScanPage"),
        ("bindings-php/src/exception.rs", "pub(super) trait LoadResult {}", "LoadResult"),
        ("bindings-python/src/exception.rs", "struct Client<'a>(&'a str);", "Client"),
        ("bindings-node/src/look.rs", "pub unsafe trait Channel {}", "Channel"),
    ],
)
def test_a_shared_name_is_found_with_its_places(copy: Path, file: str, line: str, name: str) -> None:
    """One more type of that name is enough."""
    path = copy / file
    path.write_text(f"{path.read_text()}\n{line}\n")
    number = path.read_text().splitlines().index(line) + 1
    found = lint("type_names.py", copy)
    assert found.returncode == 1
    assert f"2 types are called {name}: " in found.stderr
    assert f"{file}:{number}" in found.stderr


def test_what_is_for_tests_only_does_not_count(copy: Path) -> None:
    """A test may call its types as it likes."""
    path = copy / "core/src/key.rs"
    path.write_text(f"{path.read_text()}\n#[cfg(test)]\nmod more {{\nstruct Limiter;\n}}\n")
    assert lint("type_names.py", copy).returncode == 0
