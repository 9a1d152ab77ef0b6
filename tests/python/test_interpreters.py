"""Sub-interpreters: one interpreter of a process has the package; the others are refused, and nothing crashes."""

from __future__ import annotations

import subprocess
import sys

import pytest

IN = """
import sys
try:
    import _interpreters as interpreters
    make, run = (lambda: interpreters.create("legacy")), (lambda which, code: interpreters.exec(which, code))
except ImportError:
    import _xxsubinterpreters as interpreters
    make, run = (lambda: interpreters.create(isolated=False)), interpreters.run_string
TRY = '''
try:
    import quotalock
    quotalock.Client("memory://").limiter("a", "1/s").consume("k")
    print("imported")
except ImportError as error:
    print("refused:", error)
'''
"""
SECOND = "which = make()\nrun(which, TRY)\ninterpreters.destroy(which)\n"
FIRST_MAIN = IN + "exec(TRY)\n" + 3 * SECOND + "exec(TRY)\n"
FIRST_OTHER = IN + SECOND + "exec(TRY)\nrun(make(), TRY)\n"


@pytest.mark.parametrize(
    ("program", "imported", "refused"), [(FIRST_MAIN, 2, 3), (FIRST_OTHER, 1, 2)], ids=["main", "other"]
)
@pytest.mark.parametrize("rounds", [1, pytest.param(5, marks=pytest.mark.long)])
def test_one_interpreter_has_the_package(program: str, imported: int, refused: int, rounds: int) -> None:
    for _ in range(rounds):
        # One is left to the end of the process on purpose, of which Python warns from 3.14 on.
        command = [sys.executable, "-W", "ignore:remaining subinterpreters", "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        lines = done.stdout.splitlines()
        assert [line.startswith("refused: quotalock is imported by interpreter ") for line in lines].count(
            True
        ) == refused
        assert lines.count("imported") == imported
        assert all("processes of their own" in line for line in lines if line != "imported")
