"""Breaks the core on purpose, one fault at a time, and fails unless the tests turn red for each: those of the core that
its theme names, the history of locks, the attack, those of the Python, the PHP or the Node package, of the program
`quotalock`, or several.

Works on copies of the tracked files, so that a stopped run leaves nothing broken. Run by `make test-mutants`;
`run.py WORD ...` only does those whose description, file or theme has one of the words. `JOBS=1` takes one at a time.
`run.py --texts`, which `make lint` runs, only looks whether what they would change is there.

`found_by.json` remembers which test of the core found each: the next time it runs first, and the others only if it
stays green. The packages for frameworks are tested with what `make test-frameworks` fetches.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from types import ModuleType

import attacks
import caches
import commands
import connections
import doctor
import elsewhere
import frameworks
import leases
import limiters
import locks
import metrics
import node
import php
import python
import reports
import serve
import stocks
from mutant import Mutant

ROOT = Path(__file__).resolve().parents[2]
COPIES = ROOT / "target" / "mutants"
# The tests of the core: a folder is one program, and so is each file next to it.
PROGRAMS = ROOT / "tests/rust/tests"
FOUND_BY = Path(__file__).with_name("found_by.json")
JOBS = int(os.environ.get("JOBS", "2"))
# Each has MUTANTS, and TESTS: those in tests/rust/tests that find them where the unit tests and the vectors do not; of
# the packages those in tests/python, tests/php and tests/node.
THEMES = [
    limiters,
    leases,
    connections,
    locks,
    caches,
    stocks,
    elsewhere,
    attacks,
    python,
    php,
    node,
    doctor,
    serve,
    metrics,
    reports,
]
# Those tests that tell most in least time come first; what follows is only built if they stay green.
FIRST = ("lib", "vectors")
CARGO = ["cargo", "test", "--quiet", "-p", "quotalock", "-p", "quotalock-tests"]
PYTEST = [str(ROOT / ".venv/bin/python"), "-m", "pytest", "-q", "-x"]
THEMES += [frameworks, commands]
# How tests that fail end, by suite; a fault may also have them hang.
RED = {
    "core": (101, 124, 137),
    "history": (1, 124, 137),
    "lua54": (101, 124, 137),
    "attack": (1, 124, 137),
    "python": (1, 124, 137),
    "php": (1, 2, 124, 137, 255),
    "node": (1, 124, 137),
    "cli": (1, 124, 137),
    "frameworks-php": (1, 124, 137),
    "frameworks-python": (1, 124, 137),
    "frameworks-node": (1, 124, 137),
}


class NoTestError(Exception):
    """A mutant that is no program says nothing about the tests, and no more do tests that found no server."""


@dataclass(frozen=True)
class Step:
    """A part of a suite: how it is built, how it is run, and for the core the name of the test."""

    build: list[str]
    run: list[str]
    test: str = ""


class Copy:
    """A copy of what git tracks, with a target folder of its own that stays for the next run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for old in path.iterdir() if path.exists() else ():
            if old.is_dir() and old.name != "target":
                shutil.rmtree(old)
        files = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
        for name in files:
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

    def execute(self, command: list[str]) -> int:
        """Runs a command in the copy, and answers its exit code; 124 if it took longer than 15 minutes."""
        environment = {
            **os.environ,
            "CARGO_TARGET_DIR": str(self.path / "target"),
            # A failing case is not made smaller: nobody reads it.
            "PROPTEST_MAX_SHRINK_ITERS": "0",
            "PYTHONPATH": str(self.path / "bindings-python/python"),
            "QUOTALOCK_TEST_CREW": "rust rust rust rust",
        }
        # So that nothing that it started stays behind.
        bounded = ["timeout", "--kill-after=30", "15m", *command]
        return subprocess.run(bounded, cwd=self.path, env=environment, capture_output=True, check=False).returncode

    def steps(self, suite: str, tests: tuple[str, ...]) -> list[Step]:
        """The parts of a suite, those first that tell most in least time."""
        servers = [sys.executable, str(ROOT / "tests/harness/with_servers.py"), "--"]
        if suite == "lua54":
            servers = [PYTEST[0], "tests/harness/lua54.py", "--"]
        if suite == "history":
            worker = ["cargo", "build", "--quiet", "-p", "quotalock-tests", "--example", "worker"]
            return [Step(worker, [*PYTEST, "tests/faults/test_lock_history.py"])]
        if suite == "node":
            package = ["npm", "run", "build", "--silent", "--prefix", "bindings-node"]
            return [Step(package, [*servers, "node", "--test", *(f"tests/node/{test}.test.mjs" for test in tests)])]
        if suite == "php":
            module = "bindings-php/modules/ratelimit.so"
            build = (
                f"cargo build --quiet -p quotalock-php; install -D {self.path}/target/debug/libratelimit.so {module}"
            )
            php = ["php", "-d", f"extension={self.path}/{module}", "/usr/bin/phpunit", "-c", "tests/php"]
            return [Step(["bash", "-ec", build], [*servers, *php, "--filter", "|".join(tests)])]
        if suite == "python":
            library = "bindings-python/python/quotalock/_native.abi3.so"
            build = f"cargo build --quiet -p quotalock-python; cp {self.path}/target/debug/lib_native.so {library}"
            run = [*servers, *PYTEST, *(f"tests/python/{test}.py" for test in tests)]
            return [Step(["bash", "-ec", build], run)]
        if suite == "cli":
            library = "bindings-python/python/quotalock/_native.abi3.so"
            build = "cargo build --quiet -p quotalock-python -p quotalock-cli"
            build += f"; cp {self.path}/target/debug/lib_native.so {library}"
            run = [*servers, *PYTEST, *(f"tests/cli/{test}.py" for test in tests), "-k", "not 6.2 and not 9.1"]
            return [Step(["bash", "-ec", build], run)]
        if suite.startswith("frameworks-"):
            return [self.step_of_frameworks(suite.removeprefix("frameworks-"), servers)]
        if suite == "attack":
            # The Python package of the copy, beside the machine's own and found before it.
            beside = self.path / "target/attack"
            put = f"mkdir -p {beside}; cp -r bindings-python/python/quotalock {beside}"
            library = f"cp {self.path}/target/release/lib_native.so {beside}/quotalock/_native.abi3.so"
            build = f"cargo build --quiet --release -p quotalock-python; {put}; {library}"
            attack = ["env", f"PYTHONPATH={beside}", PYTEST[0], "tests/attack/run.py", "--seconds", "60"]
            return [Step(["bash", "-ec", build], [*servers, *attack])]
        return [
            Step([*CARGO, *program, "--no-run"], [*servers, *CARGO, *program, *chosen], test)
            for test in tests
            for program, chosen in [in_cargo(test)]
        ]

    def step_of_frameworks(self, language: str, servers: list[str]) -> Step:
        """What frameworks of a language need, and the tests of our packages for them without those of the examples."""
        there, own = ROOT / "target/frameworks", "tests/frameworks"
        # What `make test-frameworks` fetches.
        link = f"mkdir -p {self.path}/target; ln -sfn {there} {self.path}/target/frameworks"
        if language == "node":
            run = [
                "node",
                "--test",
                *(f"{own}/node/{name}.test.mjs" for name in ("middleware", "matrix", "stores", "leases")),
            ]
            build = "npm run build --silent --prefix bindings-node"
        elif language == "python":
            themes = ("names", "matrix", "asgi", "celery", "django", "flask", "leases", "storage_of_limits")
            chosen = [f"{own}/python/test_{name}.py" for name in themes]
            run = [str(there / "python/bin/python"), *PYTEST[1:], "-c", f"{own}/python/pytest.ini", *chosen]
            library = "bindings-python/python/quotalock/_native.abi3.so"
            build = f"cargo build --quiet -p quotalock-python; cp {self.path}/target/debug/lib_native.so {library}"
        else:
            extension = f"{self.path}/target/debug/libratelimit.so"
            run = ["env", f"QUOTALOCK_PHP=php -d extension={extension}", "bash", f"{own}/php/run.sh"]
            module = "bindings-php/modules/ratelimit.so"
            build = f"cargo build --quiet -p quotalock-php; install -D {extension} {module}"
        return Step(["bash", "-ec", f"{link}; {build}"], [*servers, *run])

    def finder(self, suite: str, tests: tuple[str, ...]) -> str | None:
        """Runs a suite; the part that is red (of other suites than the core's, the suite), or none if all is green."""
        for step in self.steps(suite, tests):
            if self.execute(step.build) != 0:
                raise NoTestError("it does not build")
            code = self.execute(step.run)
            if code in RED[suite]:
                return step.test or suite
            if code != 0:
                raise NoTestError(f"the tests of {suite} cannot run, exit code {code}")
        return None

    def survives(self, mutant: Mutant, tests: tuple[str, ...], known: dict[str, str]) -> bool:
        """Whether a suite that must find it passes in spite of it; the copy is as before afterwards."""
        plain = {edit.file: (self.path / edit.file).read_text() for edit in mutant.edits}
        began = time.monotonic()
        blind = []
        try:
            for edit in mutant.edits:
                path = self.path / edit.file
                text = path.read_text()
                path.write_text(text.replace(edit.old, edit.new, 1))
            for suite in mutant.suites:
                found = self.finder(suite, in_order(tests, known.get(mutant.about)) if suite == "core" else tests)
                if found is None:
                    blind.append(suite)
                elif suite == "core":
                    known[mutant.about] = found
        except NoTestError as why:
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


def in_cargo(test: str) -> tuple[list[str], list[str]]:
    """How cargo is told of a test of the core: the program that has it, and what it runs of that."""
    if test == "lib":
        return ["--lib"], []
    for program in ("all", "waits"):
        if any((PROGRAMS / program / name).exists() for name in (f"{test}.rs", test)):
            return ["--test", program], ["--", f"{test}::"]
    return ["--test", test], []


def in_order(tests: tuple[str, ...], found_by: str | None) -> tuple[str, ...]:
    """The tests of the core for a mutant: the one that found it the last time, then the quick ones, then the others."""
    found = (found_by,) if found_by in (*FIRST, *tests) else ()
    return (*found, *(test for test in (*FIRST, *tests) if test not in found))


def is_green(copy: Copy, chosen: list[tuple[Mutant, ModuleType]]) -> bool:
    """Whether all that is to turn red is green without any mutant; says what is not."""
    suites = {(suite, theme.TESTS if suite != "history" else ()) for mutant, theme in chosen for suite in mutant.suites}
    for suite, tests in sorted(suites):
        try:
            found = copy.finder(suite, in_order(tests, None) if suite == "core" else tests)
            why = f"the tests of {suite} fail: {found}" if found else ""
        except NoTestError as error:
            why = str(error)
        if why:
            print(f"without any mutant {why}: mend that first")
            return False
    return True


def stale() -> list[str]:
    """What a fault would change and is not in its file any more."""
    return [
        f"{mutant.about}: {edit.file} has no {edit.old!r}"
        for theme in THEMES
        for mutant in theme.MUTANTS
        for edit in mutant.edits
        if not (ROOT / edit.file).is_file() or edit.old not in (ROOT / edit.file).read_text()
    ]


def main(words: list[str]) -> int:
    """Runs every mutant, or those with one of the words; the plain copy must pass first."""
    if problems := stale():
        print("\n".join(problems))
        return 1
    if words == ["--texts"]:
        return 0
    chosen = [
        (mutant, theme)
        for theme in THEMES
        for mutant in theme.MUTANTS
        if not words or any(word in f"{mutant.about} {mutant.file} {theme.__name__}" for word in words)
    ]
    if not chosen:
        print(f"no mutant is about {', '.join(words)}")
        return 1
    copies: Queue[Copy] = Queue()
    for number in range(min(JOBS, len(chosen))):
        copies.put(Copy(COPIES / str(number)))
    if not is_green(copies.queue[0], chosen):
        return 1
    of_today = {mutant.about for theme in THEMES for mutant in theme.MUTANTS}
    before: dict[str, str] = json.loads(FOUND_BY.read_text()) if FOUND_BY.exists() else {}
    known = {about: test for about, test in before.items() if about in of_today}
    writing = threading.Lock()

    def run(mutant: Mutant, theme: ModuleType) -> bool:
        copy = copies.get()
        try:
            return copy.survives(mutant, theme.TESTS, known)
        finally:
            copies.put(copy)
            with writing:
                # A copy, since the others note what they find meanwhile.
                FOUND_BY.write_text(json.dumps(known.copy(), indent=2, sort_keys=True, ensure_ascii=False) + "\n")

    with ThreadPoolExecutor(JOBS) as pool:
        survived = sum(pool.map(run, *zip(*chosen, strict=True)))
    print(f"{len(chosen) - survived} passed, {survived} failed")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
