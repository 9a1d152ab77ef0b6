"""`make commands`: writes docs/commands.md, the help that `quotalock` prints of itself and of each command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/commands.md"
HEAD = """# Commands of `quotalock`

<!-- Written by `make commands` from the help of the program. -->

[The guide to the command line](guide/cli.md) explains the commands with examples and their output. Options that all
commands have are listed only in this first part.
"""
# What a command's help repeats of the program's.
EVERYWHERE = ("--url", "--prefix", "--server-timeout", "--json", "--help", "--version")


def help_of(program: Path, *command: str) -> str:
    """What the program prints, without the values that the environment has."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("QUOTALOCK_")}
    ran = subprocess.run(
        [program, *command, "--help"], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    return re.sub(r"[ \t]+$", "", ran.stdout, flags=re.MULTILINE).strip()


def names(text: str) -> list[str]:
    """The commands that a help lists."""
    listed = text.partition("\nCommands:\n")[2].partition("\n\n")[0]
    return [name for name in re.findall(r"^  ([a-z-]+) ", listed, re.MULTILINE) if name != "help"]


def commands(program: Path) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each command, and each of its own commands, with its help."""
    for name in names(help_of(program)):
        text = help_of(program, name)
        yield (name,), text
        yield from (((name, below), help_of(program, name, below)) for below in names(text))


def own(text: str) -> str:
    """A command's help without the options that every command has."""
    entries = re.split(r"\n(?=\n? {2,6}(?:-\w, )?--\w|\n\S)", text)
    kept = [entry for entry in entries if not re.match(rf"\n? {{2,6}}(?:-\w, )?(?:{'|'.join(EVERYWHERE)})\b", entry)]
    return re.sub(r"\n+Options:\s*(?=\n\n|$)", "", re.sub(r"\n{3,}", "\n\n", "\n".join(kept))).strip()


def page(program: Path) -> str:
    """The whole page."""
    whole = help_of(program)
    parts = [HEAD, f"```text\n{whole}\n```\n"]
    parts += [f"## {' '.join(words)}\n\n```text\n{own(text)}\n```\n" for words, text in commands(program)]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(Path(sys.argv[1])))
