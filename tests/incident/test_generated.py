"""What is written from api/surface.toml is up to date, and the lint that checks it names a file that is not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def tool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs the tool."""
    command = [sys.executable, str(ROOT / "tools/api"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with the surface and all that is written from it."""
    shutil.copytree(ROOT / "api", tmp_path / "api")
    done = tool(tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return tmp_path


def written(folder: Path) -> dict[str, bytes]:
    """The files that the tool wrote to a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "surface.toml"
    }


def change(folder: Path, old: str, new: str) -> None:
    """Replaces what stands once in the surface."""
    path = folder / "api/surface.toml"
    assert path.read_text().count(old) == 1
    path.write_text(path.read_text().replace(old, new))


def test_all_files_are_up_to_date(copy: Path) -> None:
    """The tool writes exactly what the repository has, whatever hash seed it runs with."""
    assert tool("--check").stderr == ""
    assert tool("--check").returncode == 0
    files = written(copy)
    assert files
    assert all(text.isascii() and text.decode().replace("\n", "").isprintable() for text in files.values())
    assert files == {name: (ROOT / name).read_bytes() for name in files}


def checked(folder: Path, *names: str) -> None:
    """A check names exactly these files."""
    done = tool("--check", folder)
    assert done.returncode == (1 if names else 0)
    assert done.stderr == "".join(f"{name} is out of date: run `python3 tools/api`\n" for name in names)


def test_a_file_that_is_out_of_date_is_named(copy: Path) -> None:
    """Changed or missing; a check writes nothing, and the tool mends it."""
    files = written(copy)
    for name, text in files.items():
        (copy / name).write_bytes(text + b"\n")
    checked(copy, *sorted(files))
    for name in files:
        (copy / name).unlink()
    checked(copy, *sorted(files))
    assert tool(copy).returncode == 0
    assert written(copy) == files
    for name in ("bindings-node/index.d.ts", "docs/reference/consume.md"):
        (copy / name).write_bytes(files[name][:-2])
        checked(copy, name)
        (copy / name).write_bytes(files[name])
    checked(copy)


def test_a_page_of_no_verb_is_removed(copy: Path) -> None:
    """A page stays no longer than its verb."""
    path = copy / "docs/reference/devour.md"
    path.write_text("# devour\n")
    checked(copy, "docs/reference/devour.md")
    assert tool(copy).returncode == 0
    assert not path.exists()


def test_an_option_of_locks_is_one_line(copy: Path) -> None:
    """Each language gets it, in each method that makes a lock."""
    line = 'fair = { type = "bool"'
    change(copy, line, f'patience = {{ type = "duration", default = "2 s", doc = "How patient it is." }}\n{line}')
    assert tool("--check", copy).returncode == 1
    assert tool(copy).returncode == 0
    files = {name: text.decode() for name, text in written(copy).items()}
    assert files["bindings-python/python/quotalock/_native.pyi"].count("patience: float = 2.0") == 5
    assert files["bindings-node/index.d.ts"].count("readonly patienceMs?: number | undefined") == 1
    assert files["bindings-python/python/quotalock/aio/_plain.py"].count("patience: float = 2.0") == 5
    # Five in the class, five in its interface.
    assert files["docs/reference/lock.md"].count("* `patience`: How patient it is (default: 2 s).") == 1
    assert files["tests/spec/api.json"].count('"patience"') == 6
    assert files["bindings-php/ratelimit.stub.php"].count("int $patienceMs = 2000") == 10
    # What each binding makes locks with, which is not compiled here.
    assert files["bindings-python/src/lock_makers.rs"].count("patience=2.0") == 5
    assert files["bindings-python/src/lock_makers.rs"].count("self.options.patience") == 1
    assert files["bindings-php/src/lock_makers.rs"].count("patienceMs = 2000") == 5
    assert files["bindings-php/src/lock_makers.rs"].count("patience: self.patienceMs.micros(") == 1
    assert files["bindings-node/src/lock_makers.rs"].count("options.patience") == 1
    assert files["bindings-node/lib/lock_makers.js"].count("'patienceMs'") == 3


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "need a common {LimiterOptions.scope}",
            "need a common {LimiterOptions.room}",
            "{LimiterOptions.room} is no name",
        ),
        ('after = "wait"', 'after = "waits"', "waits"),
        ('returns = "StockStatus"', 'returns = "StockState"', "StockState is no type"),
        ('after = "wait"', 'behind = "wait"', "fair has behind, which nothing reads"),
        ("\nmost = {", '\nleast = { type = "int" }\nmost = {', "no method has least"),
    ],
)
def test_a_name_that_the_surface_has_not_is_refused(copy: Path, old: str, new: str, reason: str) -> None:
    """A reference is never written as it stands."""
    change(copy, old, new)
    done = tool(copy)
    assert done.returncode == 1
    assert reason in done.stderr
