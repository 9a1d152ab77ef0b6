"""Plants the faults of `mutants.toml`, one at a time, and fails unless the tests that each names turn red.

The faults are those that no tool finds by itself: in a script, in a script and its twin alike, in a package. Works on
copies of the tracked files, so a stopped run leaves nothing broken.

`run.py WORD ...` plants those whose description or file has one of the words, `run.py --find` only looks for the code
that they would change. `JOBS=1` takes one at a time. Packages for frameworks are tested with what
`make test SUITE=frameworks` fetches.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parents[2]
COPIES = ROOT / "target" / "mutants"
JOBS = int(os.environ.get("JOBS", "2"))
SERVERS = [sys.executable, str(ROOT / "tests/harness/with_servers.py"), "--"]
LUA54 = [str(ROOT / ".venv/bin/python"), "tests/harness/lua54.py", "--"]
PYTEST = [str(ROOT / ".venv/bin/python"), "-m", "pytest", "-q", "-x"]
NATIVE = "bindings-python/python/quotalock/_native.abi3.so"
BUILD_PYTHON = "cargo build --quiet -p quotalock-python; cp {target}/debug/lib_native.so " + NATIVE
MODULE = "bindings-php/modules/ratelimit.so"
BUILD_PHP = "cargo build --quiet -p quotalock-php; install -D {target}/debug/libratelimit.so " + MODULE
BUILD_NODE = "npm run build --silent --prefix bindings-node"
# How tests end that fail, by their runner. A fault may also have them hang; another code says that they never ran.
RED = {"cargo": (101,), "python": (1,), "php": (1, 2, 255), "node": (1,)}
HUNG = (124, 137)
# A fault that needs longer than this has not been found.
MINUTES = 15
# The start of a definition: its indentation and its name. Scripts also have sections.
DEFINITION = re.compile(
    r"^( *)(?:[a-z(): ]* )??(?:fn|function|def|class|impl|struct|interface|-->) ?&?(\w+)"
    r"|^( *)(?:async |static |get |#)*(\w+)\(.*\) \{$"
    r"|^( *)(?:const|let) (\w+) = .*=>",
)


class NoTestError(Exception):
    """A mutant that is no program says nothing about the tests, and neither do tests that found no server."""


@dataclass(frozen=True)
class Change:
    """In `file`, within the definition `in` (the whole file without it), the first `find` becomes `put`.

    White space matches any white space.
    """

    file: str
    within: str
    find: str
    put: str

    def apply(self, text: str) -> str:
        """The text with the fault.

        Raises `LookupError` if the place is not there.
        """
        begin, end = region(text, self.within) if self.within else (0, len(text))
        pattern = r"\s+".join(re.escape(word) for word in self.find.split())
        found = re.compile(pattern).search(text, begin, end)
        if not found:
            raise LookupError(f"{self.file} has no {self.find!r} in {self.within or 'it'}")
        return text[: found.start()] + self.put + text[found.end() :]


@dataclass(frozen=True)
class Mutant:
    """A fault, and the tests each of which must find it by itself: a suite and what it runs of it."""

    about: str
    red: tuple[str, ...]
    changes: tuple[Change, ...]

    def is_about(self, word: str) -> bool:
        """Whether the description or a file has the word."""
        return any(word in text for text in (self.about, *(change.file for change in self.changes)))


def definition(line: str) -> tuple[int, str] | None:
    """The indentation and the name of what the line begins to define."""
    if not (found := DEFINITION.match(line)):
        return None
    indent, name = next((i, n) for i, n in zip(*[iter(found.groups())] * 2, strict=True) if n)
    return len(indent), name


def region(text: str, name: str) -> tuple[int, int]:
    """Where the definition of a name begins and ends: at the next one that is not within it."""
    lines = text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    heads = [(number, found) for number, line in enumerate(lines) if (found := definition(line))]
    for number, (indent, known) in heads:
        if known == name:
            ends = (later for later, (other, _) in heads if later > number and other <= indent)
            return starts[number], starts[next(ends, len(lines))]
    raise LookupError(f"nothing defines {name}")


def read() -> list[Mutant]:
    """The faults of `mutants.toml`."""
    entries: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("mutants.toml").read_text())["mutant"]
    return [
        Mutant(
            entry["about"],
            tuple(entry["red"]),
            tuple(Change(c["file"], c.get("in", ""), c["find"], c["put"]) for c in entry["changes"]),
        )
        for entry in entries
    ]


class Copy:
    """A copy of what git tracks, with a target folder of its own that stays for the next run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for old in path.iterdir() if path.exists() else ():
            if old.is_dir() and old.name != "target":
                shutil.rmtree(old)
        for name in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines():
            source, target = ROOT / name, path / name
            if source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                # With new times: cargo must not take what an earlier, stopped run built for this.
                shutil.copyfile(source, target)
        # What `make setup` installs beside them.
        (path / "bindings-node/node_modules").symlink_to(ROOT / "bindings-node/node_modules")
        (path / "node_modules").mkdir()
        (path / "node_modules/quotalock").symlink_to(path / "bindings-node")
        for name in ("ioredis", "@sinonjs"):
            (path / "node_modules" / name).symlink_to(ROOT / "bindings-node/node_modules" / name)
        # What `make test SUITE=frameworks` fetches.
        (path / "target").mkdir(exist_ok=True)
        fetched = path / "target/frameworks"
        fetched.unlink(missing_ok=True)
        fetched.symlink_to(ROOT / "target/frameworks")

    def execute(self, command: list[str]) -> int:
        """Runs a command in the copy, and answers its exit code; 124 if it took too long."""
        environment = {
            **os.environ,
            "CARGO_TARGET_DIR": str(self.path / "target"),
            # A failing case is not made smaller: nobody reads it.
            "PROPTEST_MAX_SHRINK_ITERS": "0",
            "PYTHONPATH": str(self.path / "bindings-python/python"),
            "QUOTALOCK_TEST_CREW": "rust rust rust rust",
        }
        # So that nothing that it started stays behind.
        bounded = ["timeout", "--kill-after=30", f"{MINUTES}m", *command]
        return subprocess.run(bounded, cwd=self.path, env=environment, capture_output=True, check=False).returncode

    def step(self, suite: str, tests: list[str]) -> tuple[str, list[str], str]:
        """How tests are built, how they are run, and by which runner."""
        php = ["php", "-d", f"extension={self.path}/{MODULE}"]
        there, own = ROOT / "target/frameworks", "tests/frameworks"
        match suite:
            case "rust" | "lua54":
                of = ["cargo", "test", "--quiet", "-p", "quotalock", "-p", "quotalock-tests"]
                build, run = [*of, "--no-run", *in_cargo(tests)], [*of, *in_cargo(tests)]
                return " ".join(build), [*(LUA54 if suite == "lua54" else SERVERS), *run], "cargo"
            case "history":
                build = "cargo build --quiet -p quotalock-tests --example worker"
                return build, [*PYTEST, "tests/faults/test_lock_history.py"], "python"
            case "attack":
                return (
                    BUILD_PYTHON,
                    [*SERVERS, PYTEST[0], "tests/attack/run.py", "--seconds", "60", "--most", "700"],
                    "python",
                )
            case "python":
                return BUILD_PYTHON, [*SERVERS, *PYTEST, *(f"tests/python/{test}.py" for test in tests)], "python"
            case "cli":
                run = [*SERVERS, *PYTEST, *(f"tests/cli/{test}.py" for test in tests), "-k", "not 6.2 and not 9.1"]
                return f"cargo build --quiet -p quotalock-cli; {BUILD_PYTHON}", run, "python"
            case "php":
                run = [*SERVERS, *php, "/usr/bin/phpunit", "-c", "tests/php", "--filter", "|".join(tests)]
                return BUILD_PHP, run, "php"
            case "node":
                files = [f"tests/node/{test}.test.mjs" for test in tests]
                return BUILD_NODE, [*SERVERS, "node", "--test", *files], "node"
            case "frameworks-node":
                files = [f"{own}/node/{test}.test.mjs" for test in tests]
                return BUILD_NODE, [*SERVERS, "node", "--test", *files], "node"
            case "frameworks-python":
                files = [f"{own}/python/test_{test}.py" for test in tests]
                run = [str(there / "python/bin/python"), *PYTEST[1:], "-c", f"{own}/python/pytest.ini", *files]
                return BUILD_PYTHON, [*SERVERS, *run], "python"
            case "frameworks-php":
                run = ["env", f"QUOTALOCK_PHP={' '.join(php)}", "bash", f"{own}/php/run.sh", *tests]
                return BUILD_PHP, [*SERVERS, *run], "php"
        raise NoTestError(f"there is no suite {suite}")

    def is_red(self, tests: str) -> bool:
        """Whether tests fail.

        Raises `NoTestError` if they cannot be built or run.
        """
        suite, *chosen = tests.split()
        build, run, runner = self.step(suite, chosen)
        if self.execute(["bash", "-ec", build.format(target=self.path / "target")]) != 0:
            raise NoTestError("it does not build")
        code = self.execute(run)
        if code not in (0, *RED[runner], *HUNG):
            raise NoTestError(f"{tests} cannot run, exit code {code}")
        return code != 0

    def survives(self, mutant: Mutant) -> bool:
        """Whether tests that must find it pass in spite of it; the copy is as before afterwards."""
        plain = {change.file: (self.path / change.file).read_text() for change in mutant.changes}
        began = time.monotonic()
        try:
            for change in mutant.changes:
                path = self.path / change.file
                path.write_text(change.apply(path.read_text()))
            blind = [tests for tests in mutant.red if not self.is_red(tests)]
        except (NoTestError, LookupError) as why:
            print(f"NO TEST   {mutant.about}: {why}", flush=True)
            return True
        finally:
            for name, text in plain.items():
                (self.path / name).write_text(text)
        took = f"{time.monotonic() - began:.0f} s"
        if blind:
            print(f"SURVIVED  {mutant.about}: {' and '.join(blind)} stayed green ({took})", flush=True)
        else:
            print(f"caught    {mutant.about} ({took})", flush=True)
        return bool(blind)


def in_cargo(tests: list[str]) -> list[str]:
    """How cargo is told of tests of the core: the programs that have them, and what it runs of those."""
    if tests == ["lib"]:
        return ["--lib"]
    programs, modules = set(), []
    for test in tests:
        # A folder is one program, and so is each file next to it.
        paths = [path for end in ("", ".rs") for path in (ROOT / "tests/rust/tests").glob(f"*/{test}{end}")]
        folder = paths[0].parent.name if paths else None
        programs.add(f"--test={folder or test}")
        modules += [f"{test}::"] if folder else []
    return [*sorted(programs), *(["--", *modules] if modules else [])]


def main(words: list[str]) -> int:
    """Plants every fault, or those with one of the words; the tests must be green without any."""
    mutants = read()
    missing = []
    for change in (change for mutant in mutants for change in mutant.changes):
        try:
            change.apply((ROOT / change.file).read_text())
        except (LookupError, FileNotFoundError) as why:
            missing.append(f"{change.file}: {why}")
    if missing or words == ["--find"]:
        print("\n".join(missing) or f"{len(mutants)} faults have their place")
        return 1 if missing else 0
    chosen = [mutant for mutant in mutants if not words or any(map(mutant.is_about, words))]
    if not chosen:
        print(f"no fault is about {', '.join(words)}")
        return 1
    copies: Queue[Copy] = Queue()
    for number in range(min(JOBS, len(chosen))):
        copies.put(Copy(COPIES / str(number)))
    for tests in sorted({tests for mutant in chosen for tests in mutant.red}):
        try:
            if not copies.queue[0].is_red(tests):
                continue
            problem = f"{tests} is red"
        except NoTestError as error:
            problem = str(error)
        print(f"without any fault {problem}: mend that first")
        return 1

    def run(mutant: Mutant) -> bool:
        copy = copies.get()
        try:
            return copy.survives(mutant)
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(JOBS) as pool:
        survived = sum(pool.map(run, chosen))
    print(f"{len(chosen) - survived} passed, {survived} failed")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
