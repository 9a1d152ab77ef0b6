#!/usr/bin/env python3
"""Runs the suites on the versions that people have: `matrix.py [ROW ...]`, by name as in the table, such as `node-24`.

A row is a version of a language, or a server in place of Redis 7.0, with the suites that depend on it; `newest` has
the newest of all at once. Two suites run beside each other, and alone those that freeze and kill servers by the clock.
Prints the last lines of each suite, all of one that failed, and a table at the end. The exit code is 1 when a test
failed, was skipped or did not run.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import versions
from fetch import HOME, ROOT, VersionError

# What a row has in place of what `make test` runs on.
Parts = dict[str, str]
ROWS: dict[str, tuple[tuple[str, ...], Parts]] = {
    "redis-8.0": (("rust", "python", "php", "node"), {"redis-7.0": "redis-8.0"}),
    "redis-8.2": (("rust",), {"redis-7.0": "redis-8.2"}),
    "valkey-8.1": (("rust", "python", "php", "node"), {"redis-7.0": "valkey-8.1"}),
    "python-3.11": (("python",), {"python": "3.11"}),
    "python-3.13": (("python",), {"python": "3.13"}),
    "python-3.14": (("python",), {"python": "3.14"}),
    "python-3.15": (("python",), {"python": "3.15"}),
    "python-3.13t": (("free-threaded",), {"python": "3.13t"}),
    "php-8.2": (("php",), {"php": "8.2"}),
    "php-8.2-zts": (("php", "threads"), {"php": "8.2-zts"}),
    "php-8.4": (("php",), {"php": "8.4"}),
    "php-8.5": (("php",), {"php": "8.5"}),
    "php-8.6": (("php",), {"php": "8.6"}),
    "node-20": (("node",), {"node": "20"}),
    "node-22": (("node",), {"node": "22"}),
    "node-24": (("node",), {"node": "24"}),
    "node-26": (("node",), {"node": "26"}),
    "bun": (("bun",), {}),
    "deno": (("deno",), {}),
    "frameworks": (("frameworks", "upstream"), {}),
    "frameworks-php": (("frameworks-php",), {"php": "8.4"}),
    "newest": (
        ("interop", "faults"),
        {"python": "3.13", "php": "8.4", "node": "24", "redis-7.0": "redis-8.0", "valkey-9.1": "valkey-8.1"},
    ),
}
# What tests of Python do not run without a GIL: those of gevent and eventlet, which have no wheel for it, and those of
# mypy. Such a Python does not use the allocator of C either, whose counts other tests compare.
NOT_FREE_THREADED = (
    "--ignore=tests/python/test_greenlets.py",
    "--ignore=tests/python/test_leaks.py",
    "--deselect=tests/python/test_api.py::test_the_stub_says_what_the_module_has",
)
# What tests of Node do not run in Bun: those of the build and of another runtime.
NOT_BUN = ("declarations", "deno")
# What tests of Node run in Deno, each file in a worker of its own. The others are about Node's own modules and loop, or
# about files outside of the package.
DENO = (
    "vectors",
    "locks",
    "lock-endings",
    "lock-errors",
    "lock-loss",
    "quorum",
    "stocks",
    "reservations",
    "caches",
    "cache-errors",
    "charges",
    "charge-errors",
    "constructors",
    "denials",
    "errors",
    "fake-timers",
    "hooks",
    "metrics",
    "one-name",
    "opentelemetry",
    "own-loop",
    "secrets",
    "signals",
    "texts",
)
ALONE = ("faults",)
AT_ONCE = 2
ENDS_WITHIN = "40m"
LAST_LINES = 5
# The lines in which the runners of Rust, Python, PHP, Node, Bun and Deno say how it ended, and how each of them counts.
CLOSING = (
    r"^test result: .*$|^.* in \d+\.\d+s.*$|^. (?:pass|fail|cancelled|skipped|todo) \d+$"
    r"|^OK \(\d+ tests, .*$|^Tests: \d+, .*$|^ *\d+ (?:pass|fail|skip|todo|errors?)$|^(?:ok|FAILED) \| \d+ passed.*$"
)
COUNTS = {
    "passed": r"(\d+) pass(?:ed)?\b|pass (\d+)|OK \((\d+) tests",
    "failed": r"(\d+) (?:fail(?:ed)?\b|error)|(?:fail|cancelled) (\d+)|(?:Errors|Failures|Warnings|Risky): (\d+)",
    "skipped": r"(\d+) (?:skip(?:ped)?\b|todo|ignored|xfailed|xpassed|deselected)|(?:skipped|todo) (\d+)"
    r"|(?:Skipped|Incomplete): (\d+)",
}
# When not all of them passed, PHPUnit counts them all.
ALL = r"^Tests: (\d+), "


@dataclass
class Job:
    """A suite of a row: what it runs, and once it has ended, how that went."""

    row: str
    suite: str
    command: list[str]
    environment: dict[str, str]
    folder: Path = ROOT
    counts: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    trouble: str = ""

    @property
    def log(self) -> Path:
        """The file of its output."""
        return HOME / "logs" / f"{self.row}-{self.suite}"

    def ended(self, code: int) -> None:
        """Counts its tests and prints how it ended: it passed only if they all ran and passed."""
        output = self.log.read_text(errors="replace").strip()
        closing = re.findall(CLOSING, output, re.MULTILINE)
        if self.suite in ("free-threaded", "upstream"):
            # Tests that are left out are named there, each with the reason; one of them others expect to fail.
            closing = [re.sub(r", \d+ (?:deselected|xfailed)", "", line) for line in closing]
        for what, pattern in COUNTS.items():
            found = re.findall(pattern, "\n".join(closing))
            self.counts[what] = sum(int(number) for groups in found for number in groups if number)
        for tests in re.findall(ALL, "\n".join(closing), re.MULTILINE):
            self.counts["passed"] += int(tests) - self.counts["failed"] - self.counts["skipped"]
        if code != 0:
            self.trouble = f"FAILED, exit code {code}"
        elif self.counts["failed"] or self.counts["skipped"] or not self.counts["passed"]:
            self.trouble = f"FAILED: {self.counts}"
        print(f"\n=== {self.row}, {self.suite}: {self.trouble or 'passed'}", flush=True)
        print(output if self.trouble else "\n".join(closing[-LAST_LINES:]), flush=True)


def main(names: list[str]) -> int:
    """Prepares the rows and runs their suites."""
    if unknown := set(names) - ROWS.keys():
        print(f"matrix: no row is called {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, _leave)
    (HOME / "logs").mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    jobs: list[Job] = []
    missing: dict[str, str] = {}
    for name in names or ROWS:
        suites, parts = ROWS[name]
        try:
            jobs += [_job(name, suite, parts) for suite in suites]
        except VersionError as error:
            missing[name] = str(error)
            print(f"\n=== {name}: {error}", flush=True)
    _run([job for job in jobs if job.suite not in ALONE], AT_ONCE)
    _run([job for job in jobs if job.suite in ALONE], 1)
    passed = _table(jobs, missing)
    print(f"make matrix: {'all passed' if passed else 'FAILED'}, {time.monotonic() - began:.0f} s")
    return 0 if passed else 1


def _job(row: str, suite: str, parts: Parts) -> Job:
    """Finds or makes what the row runs on, and says how its suite is run there."""
    found = versions.programs(parts)
    environment = dict(found.environment)
    named = {"php": found.php, "node": found.node}
    stand_ins = {asked: server for asked, server in parts.items() if asked.startswith(("redis", "valkey"))}
    for asked, server in stand_ins.items():
        binary = versions.server(server)
        if asked == "redis-7.0":
            named["redis-server"] = binary
    # By these names tests start what they need, and workers of other languages.
    folder = HOME / "bin" / row
    folder.mkdir(parents=True, exist_ok=True)
    for name, program in named.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(program)
    environment["PATH"] = f"{folder}:{os.environ['PATH']}"
    environment["QUOTALOCK_PHP_EXTENSION"] = str(found.extension)
    environment["QUOTALOCK_TEST_STAND_INS"] = " ".join(f"{asked}={server}" for asked, server in stand_ins.items())
    if suite in ("bun", "deno"):
        return _elsewhere(row, suite, environment | {"NO_COLOR": "1"})
    if suite in ("frameworks", "upstream"):
        tests = "tests/frameworks/python"
        ours = ["-m", "pytest", "-q", "-c", f"{tests}/pytest.ini", tests]
        arguments = ours if suite == "frameworks" else [f"{tests}/upstream/run.py"]
        return Job(row, suite, [str(versions.frameworks()), *arguments], environment)
    if suite == "frameworks-php":
        versions.php_frameworks()
        environment["QUOTALOCK_PHP"] = f"{found.php} -d extension={found.extension}"
        return Job(row, suite, [str(ROOT / "tests/frameworks/php/run.sh"), "--newest"], environment)
    command = {
        "rust": ["cargo", "test", "--quiet", "--no-fail-fast"],
        "php": [str(found.php), "-d", f"extension={found.extension}", str(found.phpunit), "-c", "tests/php"],
        "free-threaded": [str(found.python), "-m", "pytest", "-q", "tests/python", *NOT_FREE_THREADED],
        "node": [str(found.node), "--test", *sorted(map(str, (ROOT / "tests/node").glob("*.test.*")))],
    }.get(suite, [str(found.python), "-m", "pytest", "-q", f"tests/{suite}"])
    return Job(row, suite, command, environment)


def _elsewhere(row: str, suite: str, environment: dict[str, str]) -> Job:
    """Says how the tests of Node are run in another runtime than Node."""
    names = {path.name.removesuffix(".test.mjs"): path for path in sorted((ROOT / "tests/node").glob("*.test.mjs"))}
    if suite == "bun":
        files = [f"./{path.relative_to(ROOT)}" for name, path in names.items() if name not in NOT_BUN]
        return Job(row, suite, [str(versions.bun()), "test", "--timeout", "200000", *files], environment)
    program, folder = versions.deno()
    options = ["--no-check", "--allow-all", "--no-lock", "--node-modules-dir=manual"]
    files = [str(names[name].relative_to(ROOT)) for name in DENO]
    return Job(row, suite, [str(program), "test", *options, *files], environment, folder)


def _run(jobs: list[Job], at_once: int) -> None:
    """Runs the jobs, so many at once, and stops them when this program is told to stop."""
    waiting = list(jobs)
    running: dict[int, tuple[Job, subprocess.Popen[bytes], float]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                job = waiting.pop(0)
                process = _start(job)
                running[process.pid] = job, process, time.monotonic()
            # Not yet taken away, so that the process itself can do it.
            done = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
            if done is None:
                continue
            job, process, began = running.pop(done.si_pid)
            job.seconds = time.monotonic() - began
            job.ended(process.wait())
    finally:
        for _, process, _ in running.values():
            process.terminate()
        for _, process, _ in running.values():
            process.wait()


def _start(job: Job) -> subprocess.Popen[bytes]:
    print(f"matrix: {job.row}, {job.suite}", flush=True)
    # As `make test` runs them: with servers of their own, and an end.
    limits = ["setpriv", "--pdeathsig", "TERM", "--", "timeout", "--foreground", "--kill-after=30", ENDS_WITHIN]
    servers = [sys.executable, str(ROOT / "tests/harness/with_servers.py"), "--"]
    # Cargo must not look for make's job slots.
    inherited = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS")}
    with job.log.open("wb") as log:
        return subprocess.Popen(
            [*limits, *servers, *job.command],
            cwd=job.folder,
            env=inherited | job.environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def _table(jobs: list[Job], missing: dict[str, str]) -> bool:
    """Prints a line for each suite of each row, and tells whether all is well."""
    print(f"\n{'runs on':14} {'suite':14} {'passed':>7} {'failed':>7} {'skipped':>7} {'seconds':>8}")
    for job in jobs:
        counts = [job.counts[what] for what in COUNTS]
        numbers = " ".join(f"{count:7}" for count in counts)
        print(f"{job.row:14} {job.suite:14} {numbers} {job.seconds:8.0f}{'  ' + job.trouble if job.trouble else ''}")
    for row, why in missing.items():
        print(f"{row:14} DID NOT RUN: {why.splitlines()[0]}")
    for suite in dict.fromkeys(job.suite for job in jobs):
        totals = {job.row: sum(job.counts.values()) for job in jobs if job.suite == suite}
        if len(set(totals.values())) > 1:
            print(f"{suite} did not run the same tests everywhere: {totals}")
            missing[suite] = "some tests"
    return not missing and not any(job.trouble for job in jobs)


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
