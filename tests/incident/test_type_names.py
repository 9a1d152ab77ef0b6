"""Types of a crate that share a name are found: the lint that looks for them is tried on a copy with one more type."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources that the lint reads."""
    for part in ("core", "cli", "bindings-php", "bindings-python", "bindings-node"):
        shutil.copytree(ROOT / part / "src", tmp_path / part / "src")
    return tmp_path


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the lint on a copy."""
    command = [sys.executable, str(ROOT / "tools/type_names.py"), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_no_name_is_shared(copy: Path) -> None:
    """As the sources are, nothing is said."""
    found = lint(copy)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("file", "line", "name"),
    [
        ("core/src/base/key.rs", "pub(crate) struct Limiter;", "Limiter"),
        ("core/src/call/hint.rs", "type Policy = u8;", "Policy"),
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
    found = lint(copy)
    assert found.returncode == 1
    assert f"2 types are called {name}: " in found.stderr
    assert f"{file}:{number}" in found.stderr


def test_what_is_for_tests_only_does_not_count(copy: Path) -> None:
    """A test may call its types as it likes."""
    path = copy / "core/src/base/key.rs"
    path.write_text(f"{path.read_text()}\n#[cfg(test)]\nmod more {{\nstruct Limiter;\n}}\n")
    assert lint(copy).returncode == 0
