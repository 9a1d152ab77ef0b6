"""docs/commands.md is the help of the program."""

from __future__ import annotations

import commands
from command import PROGRAM


def test_the_page_is_what_the_program_prints() -> None:
    assert commands.PAGE.read_text() == commands.page(PROGRAM), "run 'make commands'"
    assert len(commands.names(commands.help_of(PROGRAM))) > 12
