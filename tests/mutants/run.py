"""Breaks the core on purpose, one fault at a time, and fails unless the tests turn red for each: those of the core that
its theme names, the history of locks, the attack, those of the Python or the Node package, or several.

Works on a copy of the tracked files, so that a stopped run leaves nothing broken. Run by `make test-mutants`;
`run.py WORD ...` only does those whose description, file or theme has one of the words.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import attacks
import caches
import connections
import limiters
import locks
import node
import python
import stocks
from mutant import Mutant

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / "target" / "mutants"
# Each has MUTANTS, and TESTS: those in tests/rust/tests that find them where the unit tests and the vectors do not; of
# the packages those in tests/python and tests/node.
THEMES = [limiters, connections, locks, caches, stocks, attacks, python, node]
# Those tests that tell most in least time come first; what follows is only built if they stay green.
FIRST = ["--lib", "--test", "vectors"]
CARGO = ["cargo", "test", "--quiet", "-p", "quotalock", "-p", "quotalock-tests"]
SERVERS = [sys.executable, str(ROOT / "tests/harness/with_servers.py"), "--"]
WORKER = ["cargo", "build", "--quiet", "-p", "quotalock-tests", "--example", "worker"]
HISTORY = [str(ROOT / ".venv/bin/python"), "-m", "pytest", "-q", "tests/faults/test_lock_history.py"]
# The Python package of the copy, beside the machine's own and found before it.
PACKAGE = COPY / "target/attack"
PUT = f"mkdir -p {PACKAGE} && cp -r bindings-python/python/quotalock {PACKAGE}"
LIBRARY = f"cp {COPY}/target/release/lib_native.so {PACKAGE}/quotalock/_native.abi3.so"
NATIVE = ["bash", "-c", f"cargo build --quiet --release -p quotalock-python && {PUT} && {LIBRARY}"]
ATTACK = ["env", f"PYTHONPATH={PACKAGE}", HISTORY[0], "tests/attack/run.py", "--seconds", "60"]
# How tests that fail end, by suite; a fault may also have them hang.
RED = {
    "core": (101, 124, 137),
    "history": (1, 124, 137),
    "attack": (1, 124, 137),
    "python": (1, 124, 137),
    "node": (1, 124, 137),
}
NODE_PACKAGE = ["npm", "run", "build", "--silent", "--prefix", "bindings-node"]
NODE = ["node", "--test"]
PYTHON_PACKAGE = [
    "bash",
    "-ec",
    "cargo build --quiet -p quotalock-python"
    "; cp target/debug/lib_native.so bindings-python/python/quotalock/_native.abi3.so",
]
PYTHON = [str(ROOT / ".venv/bin/python"), "-m", "pytest", "-q", "-x"]


def copy_tree() -> None:
    """Copies what git tracks, and keeps the copy's own target folder for the next run."""
    for old in COPY.iterdir() if COPY.exists() else ():
        if old.is_dir() and old.name != "target":
            shutil.rmtree(old)
    files = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    for name in files:
        source, target = ROOT / name, COPY / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            # With new times: cargo must not take what an earlier, stopped run built for this.
            shutil.copyfile(source, target)
    # What `make setup` installs beside them.
    (COPY / "bindings-node/node_modules").symlink_to(ROOT / "bindings-node/node_modules")
    (COPY / "node_modules").mkdir()
    (COPY / "node_modules/quotalock").symlink_to(COPY / "bindings-node")
    for name in ("ioredis", "@sinonjs"):
        (COPY / "node_modules" / name).symlink_to(ROOT / "bindings-node/node_modules" / name)


class NoTestError(Exception):
    """A mutant that is no program says nothing about the tests, and no more do tests that found no server."""


def execute(command: list[str]) -> int:
    """Runs a command in the copy, and answers its exit code; 124 if it took longer than 15 minutes."""
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(COPY / "target"),
        # A failing case is not made smaller: nobody reads it.
        "PROPTEST_MAX_SHRINK_ITERS": "0",
        "PYTHONPATH": str(COPY / "bindings-python/python"),
        "QUOTALOCK_TEST_CREW": "rust rust rust rust",
    }
    # So that nothing that it started stays behind.
    bounded = ["timeout", "--kill-after=30", "15m", *command]
    return subprocess.run(bounded, cwd=COPY, env=environment, capture_output=True, check=False).returncode


def steps(suite: str, tests: tuple[str, ...]) -> list[tuple[list[str], list[str]]]:
    """What builds, and what runs, one part of a suite after the other."""
    if suite == "history":
        return [(WORKER, HISTORY)]
    if suite == "node":
        return [(NODE_PACKAGE, [*SERVERS, *NODE, *(f"tests/node/{test}.test.mjs" for test in tests)])]
    if suite == "python":
        return [(PYTHON_PACKAGE, [*SERVERS, *PYTHON, *(f"tests/python/{test}.py" for test in tests)])]
    if suite == "attack":
        return [(NATIVE, [*SERVERS, *ATTACK])]
    later = [word for test in tests for word in ("--test", test)]
    return [([*CARGO, *chosen, "--no-run"], [*SERVERS, *CARGO, *chosen]) for chosen in (FIRST, later)]


def passes(suite: str, tests: tuple[str, ...]) -> bool:
    """Runs one of the suites in the copy, with these of the tests of the core or of a package; true if it is green."""
    for build, run in steps(suite, tests):
        if execute(build) != 0:
            raise NoTestError("it does not build")
        code = execute(run)
        if code in RED[suite]:
            return False
        if code != 0:
            raise NoTestError(f"the tests of {suite} cannot run, exit code {code}")
    return True


def survives(mutant: Mutant, tests: tuple[str, ...]) -> bool:
    """Whether a suite that must find it passes in spite of it; the copy is as before afterwards."""
    plain = {edit.file: (COPY / edit.file).read_text() for edit in mutant.edits}
    began = time.monotonic()
    try:
        for edit in mutant.edits:
            path = COPY / edit.file
            text = path.read_text()
            if edit.old not in text:
                print(f"STALE     {mutant.about}: {edit.file} has no {edit.old!r}", flush=True)
                return True
            path.write_text(text.replace(edit.old, edit.new, 1))
        blind = [suite for suite in mutant.suites if passes(suite, tests)]
    except NoTestError as why:
        print(f"NO TEST   {mutant.about}: {why}", flush=True)
        return True
    finally:
        for name, text in plain.items():
            (COPY / name).write_text(text)
    took = f"{time.monotonic() - began:.0f} s"
    if blind:
        print(f"SURVIVED  {mutant.about}: {' and '.join(blind)} stayed green ({took})", flush=True)
    else:
        print(f"caught    {mutant.about} ({took})", flush=True)
    return bool(blind)


def main(words: list[str]) -> int:
    """Runs every mutant, or those with one of the words; the plain copy must pass first."""
    chosen = [
        (mutant, theme)
        for theme in THEMES
        for mutant in theme.MUTANTS
        if not words or any(word in f"{mutant.about} {mutant.file} {theme.__name__}" for word in words)
    ]
    if not chosen:
        print(f"no mutant is about {', '.join(words)}")
        return 1
    copy_tree()
    suites = {(suite, theme.TESTS if suite != "history" else ()) for mutant, theme in chosen for suite in mutant.suites}
    for suite, tests in sorted(suites):
        try:
            why = "" if passes(suite, tests) else f"the tests of {suite} ({', '.join(tests)}) fail"
        except NoTestError as error:
            why = str(error)
        if why:
            print(f"without any mutant {why}: mend that first")
            return 1
    survived = sum(survives(mutant, theme.TESTS) for mutant, theme in chosen)
    print(f"{len(chosen) - survived} passed, {survived} failed")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
