"""docs/commands.md is the help of the program, and the examples in the help are commands that it accepts."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import commands
import pytest
from command import ENDS_WITHIN, PROGRAM

HELP = dict(commands.commands(PROGRAM))
# Longer lines are wrapped.
WIDTH = 100
UNREACHABLE = "unix:///nonexistent/redis.sock"


def examples(text: str) -> list[str]:
    """The lines below `Examples:`."""
    return text.partition("\nExamples:\n")[2].splitlines()


def test_the_page_is_what_the_program_prints() -> None:
    assert commands.PAGE.read_text() == commands.page(PROGRAM), "run 'make commands'"
    assert len(HELP) > 15


@pytest.mark.parametrize("words", HELP, ids=" ".join)
def test_the_help_of_a_command_has_examples_that_the_program_accepts(words: tuple[str, ...], tmp_path: Path) -> None:
    lines = examples(HELP[words])
    assert 1 <= len(lines) <= 4
    (tmp_path / "access.log").write_text('{"time": 1700000000, "ip": "203.0.113.9"}\n')
    for line in lines:
        assert len(line) <= WIDTH
        example, *meaning = re.split(r" {4,}", line.strip())
        assert len(meaning) <= 1
        called, *arguments = shlex.split(example)
        assert (called, *arguments[: len(words)]) == ("quotalock", *words)
        # `serve` ends at once if it cannot listen there.
        arguments += ["--listen", "nowhere"] if words == ("serve",) else []
        ran = subprocess.run(
            [PROGRAM, *arguments],
            cwd=tmp_path,
            env=os.environ | {"QUOTALOCK_URL": UNREACHABLE},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ENDS_WITHIN,
            check=False,
        )
        # The program writes `error:` if it does not understand its arguments, and `quotalock:` if it fails later.
        assert not ran.stderr.startswith("error:"), (example, ran.stderr)
