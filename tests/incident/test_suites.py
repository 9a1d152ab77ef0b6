"""The parts of suites that the Makefile names are there: for a name that no test has, cargo runs nothing and passes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests/rust/tests"


def words(variable: str) -> list[str]:
    """What a variable of the Makefile stands for."""
    command = ["make", "--no-print-directory", f"--eval=words: ; @echo $({variable})", "words"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


def names(program: str) -> set[str]:
    """The names of a program's modules and tests at its top, as cargo has them."""
    text = (TESTS / program / "main.rs").read_text()
    modules = re.findall(r"^mod (\w+);", text, re.MULTILINE)
    return {f"{module}::" for module in modules} | {*re.findall(r"^fn (\w+)\(", text, re.MULTILINE)}


@pytest.mark.parametrize(("variable", "end"), [("RANDOM", "::"), ("ELSEWHERE", "")])
def test_each_part_of_a_longer_run_is_there(variable: str, end: str) -> None:
    """Each is the beginning of a name."""
    known = names("all") | names("vectors")
    parts = [f"{word}{end}" for word in words(variable)]
    assert len(parts) > 5
    assert [part for part in parts if not any(name.startswith(part) for name in known)] == []


def test_each_file_of_node_that_has_a_longer_run_is_there() -> None:
    """Each name is a file."""
    files = words("LONG_NODE")
    assert files
    assert all((ROOT / f"tests/node/{name}.test.mjs").is_file() for name in files)
